"""How the shared folder reaches the other machines: by a git repository, or by whatever keeps a plain folder the same.

The git repository is cloned below the home folder and used for nothing else, so it can be reset to what the others pushed: the
engine writes again what is missing. git runs without hooks and without asking for passwords.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Protocol

from memoryd.core.errors import InputError, StoreError
from memoryd.core.files import make_private_dir
from memoryd.core.text import one_line, shorten

log = logging.getLogger(__name__)
GIT_SECONDS = 120.0
BRANCH = "main"
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}://|[^@/\s]{1,80}@[^:/\s]{1,200}:)\S", re.IGNORECASE)
_UNSAFE = re.compile(r"(?:ext|fd)::|-", re.IGNORECASE)
_PASSWORD = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,20}://)[^/@\s]{1,300}@", re.IGNORECASE)
_QUIET = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.symlinks=false"),
    *("-c", "core.autocrlf=false", "-c", "core.quotePath=false", "-c", "commit.gpgSign=false"),
    *("-c", "gc.auto=0", "-c", "protocol.ext.allow=never"),
)
_AUTHOR = ("-c", "user.name=memoryd", "-c", "user.email=memoryd@localhost")


class Transport(Protocol):
    """Brings the shared folder up to date, and passes on what was written to it."""

    @property
    def root(self) -> Path:
        """The shared folder on this machine."""
        ...

    def pull(self) -> None:
        """Get what the other machines wrote."""
        ...

    def push(self, what: str) -> bool:
        """Pass on changes. Return False if another machine was faster; then pull and merge again."""
        ...


class SharedFolder:
    """A folder that something else keeps the same on all machines, such as a file service or a network drive."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def root(self) -> Path:
        """The folder."""
        return self._root

    def pull(self) -> None:
        """Check that the folder is there. An unmounted drive must not look like an empty folder."""
        if not self._root.is_dir():
            raise StoreError(f"The shared folder {self._root} is missing.", fix="Mount it or start the file service.")

    def push(self, what: str) -> bool:
        """Do nothing: the folder is passed on by itself."""
        return True


class GitRepository:
    """A clone of the user's repository below the home folder."""

    def __init__(self, address: str, clone: Path) -> None:
        self._address = address
        self._clone = clone

    @property
    def root(self) -> Path:
        """The working tree of the clone."""
        return self._clone

    def pull(self) -> None:
        """Reset the clone to what was pushed. Nothing is lost, since the clone holds only what memory can write again."""
        if not (self._clone / ".git").is_dir():
            shutil.rmtree(self._clone, ignore_errors=True)
            make_private_dir(self._clone)
            self._git("init", "--quiet", f"--initial-branch={BRANCH}")
        self._git("remote", "remove", "origin", check=False)
        self._git("remote", "add", "origin", self._address)
        self._git("fetch", "--quiet", "--no-tags", "--prune", "origin")
        branch = self._branch()
        if branch:
            self._git("checkout", "--quiet", "--force", "-B", branch, f"origin/{branch}")
            self._git("clean", "--quiet", "--force", "-d", "-x")

    def push(self, what: str) -> bool:
        """Commit and push. Return False if the remote branch has moved on."""
        self._git("add", "--all")
        if not self._git("status", "--porcelain"):
            return True
        self._git(*_AUTHOR, "commit", "--quiet", "--no-verify", "-m", what)
        branch = self._git("symbolic-ref", "--short", "HEAD").strip() or BRANCH
        done = self._run("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        if done.returncode == 0:
            return True
        stderr = done.stderr.decode("utf-8", "replace")
        if any(
            word in stderr for word in ("rejected", "fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref")
        ):
            return False
        raise self._failed("push", stderr)

    def _branch(self) -> str:
        """Return the remote's only or usual branch, or an empty string if the repository is empty."""
        found = self._git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin").split()
        names = [name for name in found if name != "HEAD"]
        return next((name for name in (BRANCH, "master") if name in names), names[0] if names else "")

    def _git(self, *arguments: str, check: bool = True) -> str:
        done = self._run(*arguments)
        if done.returncode and check:
            raise self._failed(arguments[0], done.stderr.decode("utf-8", "replace"))
        return done.stdout.decode("utf-8", "replace")

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_DIR", "GIT_WORK", "GIT_INDEX"))
        }
        environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_SSH_COMMAND": _ssh(os.environ)}
        try:
            return subprocess.run(  # noqa: S603 - fixed commands; the address was checked and is the user's own
                ["git", *_QUIET, "-C", str(self._clone), *arguments],  # noqa: S607
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GIT_SECONDS,
                env=environment,
                check=False,
            )
        except FileNotFoundError as error:
            raise StoreError("git is not installed.", fix="Install git, or use a plain shared folder.") from error
        except subprocess.TimeoutExpired as error:
            raise StoreError(f"git {arguments[0]} took longer than {GIT_SECONDS:.0f} s.", fix="Check the network.") from error

    def _failed(self, command: str, stderr: str) -> StoreError:
        what = shorten(one_line(without_password(stderr)), 300)
        return StoreError(
            f"git {command} failed: {what}", fix="Check the address, the network and your access to the repository."
        )


def _ssh(environment: os._Environ[str]) -> str:
    """Return an ssh command that fails where it would ask for a password."""
    return environment.get("GIT_SSH_COMMAND") or "ssh -o BatchMode=yes"


def without_password(text: str) -> str:
    """Return the text without user names and passwords in addresses."""
    return _PASSWORD.sub(r"\g<scheme>", text)


def target_of(text: str, folder: Path) -> str:
    """Return what to sync with: the address of a repository, or an absolute path.

    Raises:
        InputError: It is neither an address nor an existing folder.
    """
    if _UNSAFE.match(text):
        raise InputError(f"{shorten(text, 80)} is not an address of a repository.", fix="Use ssh, https, or a path.")
    if _ADDRESS.match(text):
        return text
    path = (folder / Path(text).expanduser()).resolve()
    if not path.is_dir():
        raise InputError(f"There is no folder {path}.", fix="Create it first, or give the address of a git repository.")
    return str(path)


def is_repository(target: str) -> bool:
    """Return whether the target is reached by git: an address, or the folder of a bare repository."""
    if _ADDRESS.match(target):
        return True
    path = Path(target)
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def transport_of(target: str, clone: Path) -> Transport:
    """Return the transport for a target."""
    return GitRepository(target, clone) if is_repository(target) else SharedFolder(Path(target))
