"""Start a daemon from a hook or the MCP proxy, and report the state of the first setup."""

import os
import signal
import sys
import time

import environment
import protocol

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ATTEMPT_SECONDS = 10.0
STAMP_SECONDS = 0.05  # Creating the stamp also changes the folder's modification time, at nearly the same moment.
LOG_LIMIT = 1_000_000
SECRET_ENDINGS = ("API_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "ACCESS_KEY")
KEPT_SECRETS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY")  # The user may have chosen an endpoint as the reader.


def daemon_environment(env: "Mapping[str, str]", home: str) -> "dict[str, str]":
    """Return the client's environment without credentials, because the daemon outlives the session.

    The plugin's options are removed as well. They arrive with each event, and an outdated copy would override them.
    """
    kept = {}
    for name, value in env.items():
        secret = name.upper().endswith(SECRET_ENDINGS) or name == "ANTHROPIC_CUSTOM_HEADERS"
        ours = name in KEPT_SECRETS or name.startswith("MEMORYD_")
        if (ours or not secret) and not name.startswith(protocol.OPTION_PREFIX) and name != "MEMORYD_CLIENT":
            kept[name] = value
    kept["MEMORYD_HOME"] = home
    if protocol.wants_login(home, env):  # The daemon keeps these in memory only, for model runs.
        for line in os.fsdecode(protocol.login_lines(env)).splitlines():
            name, _, value = line.partition("=")
            kept[name] = value
    return kept


def _modified(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def may_start_daemon(home: str) -> bool:
    """Return whether this process may start a daemon. Only one attempt is allowed per ATTEMPT_SECONDS, across all processes.

    A successful attempt does not count, because its daemon has ended since then. It is recognised by the folder's
    modification time, which changes when the daemon creates or removes its socket. The daemon's lock prevents a
    second daemon.
    """
    stamp = os.path.join(home, "run", "start.stamp")
    tried = _modified(stamp)
    came_up = _modified(os.path.dirname(stamp)) > tried + STAMP_SECONDS
    if tried and not came_up and abs(time.time() - tried) < ATTEMPT_SECONDS:
        return False
    try:
        os.makedirs(os.path.dirname(stamp), 0o700, exist_ok=True)
        if tried:
            os.unlink(stamp)
        os.close(os.open(stamp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False  # Another process is starting a daemon, or the home folder is not writable.
    return True


def _open_log(home: str) -> int:
    path = os.path.join(home, "logs", "launcher.log")
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if os.path.exists(path) and os.path.getsize(path) > LOG_LIMIT:
        os.replace(path, path + ".1")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def start_daemon(home: str, env: "Mapping[str, str]") -> int:
    """Start `bin/memoryd daemon` in its own process session. Doesn't wait for it.

    The daemon must survive the client, which kills its hooks and servers when it exits.

    Returns:
        The process id, or 0 if this call started none.
    """
    if not may_start_daemon(home):
        return 0
    launcher = os.path.join(environment.plugin_root(), "plugin", "bin", "memoryd")
    command = ["/bin/sh", launcher, "daemon"]
    try:
        output = _open_log(home)
        try:
            return _spawn(command, daemon_environment(env, home), output)
        finally:
            os.close(output)
    except OSError:
        return 0  # The caller logs that no daemon was started.


def _spawn(command: "list[str]", env: "Mapping[str, str]", output: int) -> int:
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        nothing = subprocess.DEVNULL
        # Windows has no sh, so run the Python launcher directly.
        command = [sys.executable, "-I", "-S", environment.launcher_path(), *command[2:]]
        return subprocess.Popen(command, env=env, stdin=nothing, stdout=output, stderr=output, creationflags=flags).pid
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, output, target) for target in (1, 2)]
    defaults = [signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD]
    try:
        return os.posix_spawn(command[0], command, env, file_actions=actions, setsid=True, setsigdef=defaults)
    except NotImplementedError:  # The C library lacks POSIX_SPAWN_SETSID.
        return _fork(command, env, output)


def _fork(command: "list[str]", env: "Mapping[str, str]", output: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execve(command[0], command, env)
    finally:
        os._exit(127)  # The child must not continue as a second hook.


def start_problem(home: str) -> str:
    """Return why the last daemon could not start. Empty if the configuration has changed since then."""
    try:
        path = os.path.join(home, "run", "start-problem")
        config = os.path.join(home, "config.toml")
        if os.path.exists(config) and os.stat(config).st_mtime > os.stat(path).st_mtime:
            return ""
        with open(path, encoding="utf-8", errors="replace") as stream:
            return f"memoryd can't start, memory is off: {stream.read(2000).strip()}"
    except OSError:
        return ""


def setup_message(home: str, env: "Mapping[str, str]") -> str:
    """Return the message for the user at the start of a session. Empty if the environment is ready."""
    if environment.find_ready(env, home):
        return start_problem(home)
    problem = environment.package_problem(environment.plugin_root())
    if problem:
        return f"Memory is off: {problem}"
    log = os.path.join(home, "logs", "launcher.log")
    status = environment.read_status(env, home)
    if status.get("state") == "failed":
        return f"memoryd could not be set up: {status.get('message', '')} Details: {log}"
    if environment.no_python():
        return "memoryd needs Python 3.11 or newer (or uv, which installs it). Memory is off until one is on PATH."
    return f"memoryd is being set up (once, about a minute). This session continues without memory. Progress: {log}"
