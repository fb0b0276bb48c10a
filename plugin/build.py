"""Build memoryd's environment, once and under a lock.

The environment is created in its final folder. It is ready only once its marker file exists, which is written last.
The operating system releases the lock of a killed build, and the next build deletes the remains. A failed build is
repeated only after a back-off. The plugin's folder is not modified: sources are copied before the build.
"""

import glob
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import environment

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any

READY = "memoryd is ready: sessions are remembered from now on. /memoryd:memory-status shows its status."
FIRST_RETRY_SECONDS = 60.0
LONGEST_RETRY_SECONDS = 86_400.0
BUSY, NOT_YET, FAILED = 75, 75, 1  # 75 is EX_TEMPFAIL.
PROBE = "import os, sys; print(sys.version_info[0] * 100 + sys.version_info[1]); print(os.path.realpath(sys.executable))"


class SetupError(Exception):
    """Raised when there is no environment. `code` is the exit code for this case."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """Log progress to launcher.log or the terminal (both are stderr here)."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} setup: {text}", file=sys.stderr, flush=True)


def write_file(path: str, text: str) -> None:
    """Replace a small file atomically."""
    handle, temporary = tempfile.mkstemp(prefix=".", dir=os.path.dirname(path))
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(temporary, path)


def _lock(path: str, wait: bool) -> "IO[bytes] | None":
    """Acquire the lock and return the open file. If another build holds the lock and `wait` is false, return None."""
    stream = open(path, "a+b")  # noqa: SIM115 - held by the caller
    # Build steps inherit the lock. A step that outlives a killed build continues to write and must exclude other builds.
    os.set_inheritable(stream.fileno(), True)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(stream.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        stream.close()
        return None
    return stream


def ensure(env: "Mapping[str, str]", home: str, wait: bool) -> str:
    """Return the interpreter of a ready environment, building it if necessary.

    If `wait` is false, don't wait for another running build. Raises SetupError.
    """
    problem = environment.package_problem(environment.plugin_root())
    if problem:
        raise SetupError(problem)
    data = environment.data_folder(env, home)
    os.makedirs(data, 0o700, exist_ok=True)
    lock = _lock(os.path.join(data, "setup.lock"), wait)
    if lock is None:
        raise SetupError("another process is already setting up memoryd.", BUSY)
    with lock:
        python = environment.find_ready(env, home)
        if python:
            return python
        folder = environment.venv_folder(env, home, environment.plugin_root())
        status = environment.read_status(env, home)
        if status.get("environment") != os.path.basename(folder):
            status = {}  # The state is from other sources, so their failures don't count.
        if not wait and status.get("state") == "failed" and time.time() < status.get("retry_at", 0):
            raise SetupError(f"setup failed: {status.get('message')} It will be retried later.", NOT_YET)
        return _build_and_record(folder, data, status)


def _build_and_record(folder: str, data: str, status: "dict[str, Any]") -> str:
    attempts = status.get("attempts", 0) + 1
    name = os.path.basename(folder)
    _record(data, name, "building", "The environment is being built.", attempts)
    started = time.monotonic()
    try:
        _build(folder, data)
    except (SetupError, OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        _record(data, name, "failed", str(error), attempts)
        say(f"failed: {error}")
        raise SetupError(f"setup failed: {error}") from error
    seconds = time.monotonic() - started
    _record(data, name, "ready", f"Built in {seconds:.0f} s.", 0)
    write_file(os.path.join(data, "announce"), READY)
    say(f"ready after {seconds:.0f} s: {folder}")
    remove_unused(data, folder)
    return environment.bin_python(folder)


def _record(data: str, name: str, state: str, message: str, attempts: int) -> None:
    now = time.time()
    delay = min(FIRST_RETRY_SECONDS * 2.0 ** min(max(attempts - 1, 0), 20), LONGEST_RETRY_SECONDS)
    value = {"environment": name, "state": state, "message": message, "since": now, "attempts": attempts}
    if state == "failed":
        value["retry_at"] = now + delay
    write_file(os.path.join(data, "setup.json"), json.dumps(value))


def _build(folder: str, data: str) -> None:
    for path in [folder, *glob.glob(os.path.join(glob.escape(data), "build-*"))]:
        if os.path.exists(path):
            say(f"removing {path}, which is left over from an interrupted build")
            shutil.rmtree(path)
    work = tempfile.mkdtemp(prefix="build-", dir=data)
    try:
        source = _copy_sources(environment.plugin_root(), os.path.join(work, "source"))
        make_environment(folder, source, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    _run([environment.bin_python(folder), "-I", "-c", "import memoryd"], work=data)
    write_file(os.path.join(folder, environment.MARKER), "")


def _copy_sources(root: str, target: str) -> str:
    for name in environment.source_files(root):
        path = os.path.join(target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(os.path.join(root, name), path)
    return target


def make_environment(folder: str, source: str, work: str) -> None:
    """Create a virtual environment and install memoryd. Use uv if it is available and works, otherwise venv and pip."""
    uv = environment.on_path("uv")
    if uv:
        try:
            _run([uv, "venv", "--quiet", "--no-project", "--python", ">=3.11", folder], work)
            _run([uv, "pip", "install", "--quiet", "--python", environment.bin_python(folder), source], work)
            return
        except SetupError as error:
            say(f"uv failed, so venv and pip are tried: {error}")
            shutil.rmtree(folder, ignore_errors=True)
    python = find_python()
    try:
        _run([python, "-I", "-m", "venv", folder], work)
    except SetupError as error:
        raise SetupError(f"{error} On Debian and Ubuntu, install python3-venv. Or install uv.") from error
    options = ["--disable-pip-version-check", "--no-input", "--quiet"]
    _run([environment.bin_python(folder), "-I", "-m", "pip", "install", *options, source], work)


def _run(command: "list[str]", work: str) -> None:
    """Run a step of the build and copy its output to stderr. Raises SetupError with the last lines of the output."""
    say(" ".join(command))
    done = subprocess.run(  # The steps inherit the lock (close_fds).
        command,
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=False,
        check=False,
    )
    output = done.stdout.decode("utf-8", "replace").strip()
    if output:
        print(output, file=sys.stderr, flush=True)
    if done.returncode:
        last = " ".join(line.strip() for line in output.splitlines()[-3:]) or "no output"
        raise SetupError(f"{os.path.basename(command[0])} failed with exit code {done.returncode}: {last[-300:]}")


def probe(python: str) -> "tuple[int, str]":
    """Return the version (as 311) and the real path of an interpreter, or (0, '') if it does not run."""
    try:
        done = subprocess.run([python, "-I", "-S", "-c", PROBE], capture_output=True, timeout=10, stdin=subprocess.DEVNULL)
        number, path = done.stdout.decode().splitlines()
        return int(number), path
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0, ""


def find_python() -> str:
    """Return a recent enough interpreter. Raises SetupError with the versions found."""
    wanted = environment.OLDEST[0] * 100 + environment.OLDEST[1]
    seen = set()
    for candidate in environment.python_candidates():
        number, path = probe(candidate)
        if number >= wanted:
            return path
        if number:
            seen.add(f"{number // 100}.{number % 100}")
    found = f" (found {', '.join(sorted(seen))})" if seen else ""
    raise SetupError(f"memoryd needs Python 3.11 or newer{found}. Install it, or uv, which installs it.")


def _keep_file(path: str, text: str, mode: int = 0o600) -> None:
    """Write the file if its content differs. A failure is only logged, because memoryd also runs without the file."""
    try:
        with open(path, encoding="utf-8") as stream:
            if stream.read() == text:
                return
    except (OSError, ValueError):
        pass  # The file is missing or unreadable, so write it.
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        write_file(path, text)
        os.chmod(path, mode)
    except OSError as error:
        say(f"{path} can't be written: {error}")


def cache_interpreter(env: "Mapping[str, str]", home: str, python: str) -> None:
    """Cache the path of the real interpreter behind `python` for the hooks. A shim is too slow for them."""
    real = os.path.realpath(sys.executable if env.get("MEMORYD_PYTHON") else python)
    _keep_file(os.path.join(environment.data_folder(env, home), "python"), real + "\n")


def keep_command(env: "Mapping[str, str]", home: str) -> None:
    """Create a stable `memoryd` command in the home folder, because the plugin's path changes with every update."""
    data = env.get("CLAUDE_PLUGIN_DATA")
    if not data or sys.platform == "win32":
        return
    launcher = os.path.join(environment.plugin_root(), "plugin", "bin", "memoryd")
    lines = [
        "#!/bin/sh",
        "# Written by memoryd's plugin.",
        f"MEMORYD_HOME=${{MEMORYD_HOME:-{shlex.quote(home)}}}",
        f"CLAUDE_PLUGIN_DATA={shlex.quote(data)}",
        "export MEMORYD_HOME CLAUDE_PLUGIN_DATA",
        # After an uninstallation, nothing may be built in the folder of the removed plugin.
        f'if [ ! -d "$CLAUDE_PLUGIN_DATA" ] || [ ! -x {shlex.quote(launcher)} ]; then',
        '    echo "The memoryd plugin is no longer installed." >&2',
        '    echo "Your memories are still in $MEMORYD_HOME/memories. To remove them and this command: rm -r $MEMORYD_HOME" >&2',
        "    exit 1",
        "fi",
        f'exec {shlex.quote(launcher)} "$@"',
    ]
    text = "\n".join(lines) + "\n"
    _keep_file(os.path.join(home, "bin", "memoryd"), text, 0o700)


def _commands() -> "str | None":
    """Return the command lines of all processes as one text, or None if they can't be listed."""
    try:
        return subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, timeout=10).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return None


def remove_unused(data: str, current: str) -> None:
    """Remove the environments of other versions that no process uses."""
    commands = _commands()
    for name in os.listdir(data):
        path = os.path.join(data, name)
        if not name.startswith("venv-") or path == current or commands is None or path + os.sep in commands:
            continue
        say(f"removing {path}")
        shutil.rmtree(path, ignore_errors=True)
