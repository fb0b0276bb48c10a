"""Start services in containers with `docker compose`, unless they are already running, and poll their health path."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence

from memeval.core.errors import DependencyError, ProviderError
from memeval.specs import ProviderSpec

START_SECONDS = 600.0
PROBE_SECONDS = 5.0
POLL_SECONDS = 1.0


def run_command(command: Sequence[str], timeout: float) -> tuple[int, str]:
    """Run a program and return its exit code (124 on timeout) and its output. Raises OSError if the program is missing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return 124, f"no exit after {timeout:g} s"
    return done.returncode, (done.stderr or done.stdout).strip()


Run = Callable[[Sequence[str], float], tuple[int, str]]


class ComposeService:
    """The container service in a spec.

    `sleep` waits between probes. `stop` only stops containers started by this object, and keeps their data.
    """

    def __init__(self, spec: ProviderSpec, sleep: Callable[[float], None], run: Run = run_command) -> None:
        assert spec.docker is not None and spec.connection is not None
        self._name = spec.display_name or spec.name
        self._docker = spec.docker
        self._url = spec.connection.base_url.rstrip("/") + spec.docker.health_path
        self._file = spec.origin.path.parent / spec.docker.compose
        self._sleep = sleep
        self._run = run
        self._started = False

    def ensure(self) -> None:
        """Start the service unless it is running, and wait for it.

        Raises DependencyError if Docker is missing, and ProviderError if the service fails to start.
        """
        if self._answers():
            return
        self._start()
        self._started = True
        end = time.monotonic() + self._docker.health_timeout
        while not self._answers():
            if time.monotonic() >= end:
                problem = f"{self._name} did not respond at {self._url} within {self._docker.health_timeout:g} s"
                raise ProviderError(f"{problem}.", fix=f"See: docker compose -f {self._file} logs")
            self._sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop the containers that `ensure` started."""
        if self._started:
            self._run(self._compose("stop"), START_SECONDS)
            self._started = False

    def _start(self) -> None:
        start = f"Start Docker, or start {self._name} yourself and set its address (tried: {self._url})."
        if shutil.which("docker") is None:
            raise DependencyError(f"{self._name} runs in a container, but docker is not installed.", fix=start)
        if not self._file.is_file():
            raise DependencyError(f"There is no compose file {self._file}.", fix="Correct docker.compose.")
        try:
            code, output = self._run(["docker", "info", "--format", "{{.ServerVersion}}"], PROBE_SECONDS * 4)
            if code != 0:
                raise DependencyError(f"{self._name} requires Docker, whose engine does not respond: {_last(output)}", fix=start)
            code, output = self._run(self._compose("up", "-d"), START_SECONDS)
        except OSError as error:
            raise DependencyError(f"docker can't be run: {error}.", fix=start) from error
        if code != 0:
            raise ProviderError(
                f"{self._name} could not be started: {_last(output)}", fix=f"Try: {' '.join(self._compose('up'))}"
            )

    def _compose(self, *words: str) -> list[str]:
        service = [self._docker.service] if self._docker.service else []
        return ["docker", "compose", "-f", str(self._file), *words, *service]

    def _answers(self) -> bool:
        if not self._url.startswith(("http://", "https://")):
            raise ProviderError(f"{self._url!r} is not an HTTP address.", fix="Correct connection.baseUrl.")
        try:
            with urllib.request.urlopen(self._url, timeout=PROBE_SECONDS) as answer:
                return bool(200 <= answer.status < 300)
        except (urllib.error.URLError, OSError):
            return False


def _last(output: str) -> str:
    return output.splitlines()[-1] if output else "no output"
