"""Read the governance block that the daemon cached, for a SessionStart event that the daemon can't answer in time."""

import os
from hashlib import sha256

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping


def _real_git_dir(dot_git: str) -> "str | None":
    """Return the common git directory that a `.git` file refers to, or None."""
    with open(dot_git, encoding="utf-8", errors="replace") as stream:
        text = stream.read(65536).strip()
    if not text.startswith("gitdir:"):
        return None
    git_dir = os.path.realpath(os.path.join(os.path.dirname(dot_git), text[len("gitdir:") :].strip()))
    pointer = os.path.join(git_dir, "commondir")
    if not os.path.isfile(pointer):
        return git_dir
    with open(pointer, encoding="utf-8", errors="replace") as stream:
        return os.path.realpath(os.path.join(git_dir, stream.read(65536).strip()))


def project_key(cwd: str) -> str:
    """Return the real path of the git common directory of `cwd`, or of `cwd` itself outside git.

    Must match memoryd.core.project.find_git.
    """
    start = folder = os.path.realpath(cwd)
    while True:
        dot_git = os.path.join(folder, ".git")
        if os.path.isdir(dot_git):
            return os.path.realpath(dot_git)
        if os.path.isfile(dot_git):
            common = _readable_git_dir(dot_git)
            if common:
                return common
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent


def _readable_git_dir(dot_git: str) -> "str | None":
    try:
        return _real_git_dir(dot_git)
    except OSError:
        return None


def cache_path(home: str, cwd: str) -> str:
    """Return the path of the cached answer for the project of `cwd`."""
    name = sha256(os.fsencode(project_key(cwd))).hexdigest() + ".json"
    return os.path.join(home, "run", "governance", name)


def is_wanted(env: "Mapping[str, str]") -> bool:
    """Return whether the environment allows injection at the start of a session."""
    for name in ("MEMORYD_INJECT_SESSION", "CLAUDE_PLUGIN_OPTION_INJECT_SESSION"):
        if env.get(name):
            return env[name].strip().lower() not in ("0", "false", "no", "off")
    return True


def is_closed(home: str, cwd: str) -> bool:
    """Return whether memory is off or excluded in the folder itself, regardless of the settings of its repository.

    The daemon writes the file (see memoryd.recall.injection). The nearest switch decides.
    """
    noted = os.path.join(home, "run", "governance", "closed")
    try:
        with open(noted, "rb") as stream:
            lines = stream.read(1_000_000).splitlines()
        if _is_newer(os.path.join(home, "config.toml"), noted):
            return True  # It may exclude the folder, and no daemon has read it yet.
    except OSError:
        return False
    signs = {line[1:]: line[:1] for line in lines}
    excluded = {line[1:] for line in lines if line[:1] == b"!"}
    for path in {os.path.abspath(cwd), os.path.realpath(cwd)}:
        switch = b""
        folder = os.fsencode(path)
        while True:
            if folder in excluded:
                return True
            switch = switch or signs.get(folder, b"").replace(b"!", b"")
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
        if switch == b"-":
            return True
    return False


def _is_newer(path: str, other: str) -> bool:
    try:
        return os.stat(path).st_mtime_ns > os.stat(other).st_mtime_ns
    except OSError:
        return False


def cached_answer(home: str, env: "Mapping[str, str]", cwd: str) -> bytes:
    """Return the cached answer, or an empty one if there is none."""
    if not is_wanted(env) or is_closed(home, cwd):
        return b""
    try:
        with open(cache_path(home, cwd), "rb") as stream:
            answer = stream.read(1_000_000).strip()
    except OSError:
        return b""
    return answer if answer.startswith(b'{"') and answer.endswith(b"}") else b""
