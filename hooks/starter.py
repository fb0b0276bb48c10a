"""Starting a daemon from a hook or from the MCP pump, and what is known about the first setup."""

import os
import signal
import sys
import time

import environment
import protocol

ATTEMPT_SECONDS = 10.0
STAMP_SECONDS = 0.05  # the folder is marked as changed by the stamp itself, at nearly the same time
LOG_LIMIT = 1_000_000
SECRET_ENDINGS = ("API_KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS", "ACCESS_KEY")
KEPT_SECRETS = ("OPENROUTER_API_KEY", "OPENAI_API_KEY")  # the user may have chosen an endpoint as reader


def daemon_environment(env, home):
    """The client's environment without its credentials: the daemon lives longer than the session.

    The plugin's options stay out too. They come with each event, and a copy that is as old as the daemon would
    overrule them.
    """
    kept = {}
    for name, value in env.items():
        secret = name.upper().endswith(SECRET_ENDINGS) or name == "ANTHROPIC_CUSTOM_HEADERS"
        ours = name in KEPT_SECRETS or name.startswith("MEMORYD_")
        if (ours or not secret) and not name.startswith(protocol.OPTION_PREFIX):
            kept[name] = value
    kept["MEMORYD_HOME"] = home
    if protocol.wants_login(home, env):  # it takes them out of its environment into its memory, and gives them to model runs only
        for line in os.fsdecode(protocol.login_lines(env)).splitlines():
            name, _, value = line.partition("=")
            kept[name] = value
    return kept


def _modified(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def may_try(home):
    """Whether it is this process's turn to start a daemon: one attempt in ATTEMPT_SECONDS, whoever makes it.

    An attempt that gave a daemon does not count: that one has ended since. It shows by the folder, which changed when
    the daemon made its socket or removed it. What is started once too often ends at the daemon's lock.
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
        return False  # another process is at it, or the home can't be written and no daemon could live there
    return True


def _open_log(home):
    path = os.path.join(home, "logs", "launcher.log")
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if os.path.exists(path) and os.path.getsize(path) > LOG_LIMIT:
        os.replace(path, path + ".1")
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def start_daemon(home, env):
    """Start `bin/memoryd daemon` in a process session of its own; its process id, or 0 if this call started none.

    It survives the client, whose hooks and servers are killed with it. Nothing is waited for.
    """
    if not may_try(home):
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
        return 0  # the caller logs that nothing was started


def _spawn(command, env, output):
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        nothing = subprocess.DEVNULL
        # Windows has no sh by itself: run the launcher behind the script directly.
        command = [sys.executable, "-I", "-S", environment.launcher_path(), *command[2:]]
        return subprocess.Popen(command, env=env, stdin=nothing, stdout=output, stderr=output, creationflags=flags).pid
    actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, output, target) for target in (1, 2)]
    defaults = [signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD]
    try:
        return os.posix_spawn(command[0], command, env, file_actions=actions, setsid=True, setsigdef=defaults)
    except NotImplementedError:  # a C library without POSIX_SPAWN_SETSID
        return _fork(command, env, output)


def _fork(command, env, output):
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
        os._exit(127)  # the child must not go on as a second hook


def start_problem(home):
    """Why the last daemon could not start, as it wrote it down; nothing once the configuration was changed after that."""
    try:
        path = os.path.join(home, "run", "start-problem")
        config = os.path.join(home, "config.toml")
        if os.path.exists(config) and os.stat(config).st_mtime > os.stat(path).st_mtime:
            return ""
        with open(path, encoding="utf-8", errors="replace") as stream:
            return f"memoryd can't start, memory is off: {stream.read(2000).strip()}"
    except OSError:
        return ""


def setup_message(home, env):
    """What to tell the user at the session's start about an environment that is not ready; empty when it is."""
    if environment.find_ready(env, home):
        return start_problem(home)
    log = os.path.join(home, "logs", "launcher.log")
    status = environment.read_status(env, home)
    if status.get("state") == "failed":
        return f"memoryd could not be set up: {status.get('message', '')} Details: {log}"
    if environment.no_python():
        return "memoryd needs Python 3.11 or newer (or uv, which brings its own). Memory is off until one is on PATH."
    return f"memoryd is being set up (once, about a minute). This session goes on without memory. Progress: {log}"
