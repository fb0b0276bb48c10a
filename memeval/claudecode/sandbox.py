"""Manage the folders of a sequence in an arm, hide this installation from it, and detect access to gold answers.

    <root>/work/…        working folders; never inside a repository, and the same path for all sessions of a sequence
    <root>/now/          the current state: config (CLAUDE_CONFIG_DIR), home (HOME), memoryd (MEMORYD_HOME)
    <root>/kept/         the state after the last completed step, put in place by one rename
    <root>/q-<id>/       the state of one question: a copy of `kept`, removed when the question ends

An interrupted step leaves `now` in an unknown state, so the next start restores `kept`.

The folders of the plugin's source and of the interpreter may contain this platform with its gold answers. Sessions
therefore get a copy of the shipped plugin files, and a small script in place of the interpreter.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import memoryd
from memeval.claudecode.contract import SessionResult
from memeval.core.errors import ConfigError

_NOT_KEPT = shutil.ignore_patterns("run", "*.sock", "*.lock", "daemon.out", "tmp", ".cache", "statsig", "shell-snapshots")
MARK = "steps.json"


@dataclass(frozen=True, slots=True)
class State:
    """The folders that a session reads from and writes to."""

    folder: Path

    @property
    def config(self) -> Path:
        """CLAUDE_CONFIG_DIR."""
        return self.folder / "config"

    @property
    def memory_home(self) -> Path:
        """MEMORYD_HOME."""
        return self.folder / "memoryd"

    @property
    def temporary(self) -> Path:
        """TMPDIR. The path is short because sockets are created in it, and their paths are limited to about 100 bytes."""
        return Path(tempfile.gettempdir()) / f"mb-{short_hash(str(self.folder))}"

    def make(self) -> State:
        """Create missing folders and empty the temporary folder."""
        for name in ("config", "home", "memoryd"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700)
        return self

    def remove(self) -> None:
        """Remove the state."""
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)

    def variables(self) -> dict[str, str]:
        """Return the environment variables that direct a session to the state."""
        return {
            "HOME": str(self.folder / "home"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_TMPDIR": str(self.temporary),
            "TMPDIR": str(self.temporary),
            "MEMORYD_HOME": str(self.memory_home),
        }

    def project(self, cwd: Path) -> Path:
        """Return the folder in which the client stores the logs and the memory of a working folder."""
        return self.config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))

    def transcript(self, session_id: str) -> Path | None:
        """Find the log of a session in any project folder."""
        return next(iter(sorted((self.config / "projects").glob(f"*/{session_id}.jsonl"))), None) if session_id else None

    def builtin_memory(self) -> dict[str, str]:
        """Read the files of Claude Code's own memory. Return their texts, keyed by path within `projects`."""
        root = self.config / "projects"
        files = sorted(path for path in root.glob("*/memory/**/*") if path.is_file())
        return {str(path.relative_to(root)): path.read_text("utf-8", "replace") for path in files}


class Sandbox:
    """The sandbox of one sequence in one arm."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self._kept = root / "kept"

    def begin(self, done: tuple[str, ...]) -> bool:
        """Restore the saved state after the steps `done`. If there is none, leave an empty state and return False."""
        self.work.mkdir(parents=True, exist_ok=True)
        if done and self._kept_steps() != list(done):
            return False
        if not done:
            shutil.rmtree(self._kept, ignore_errors=True)
        self._restore(self.now)
        return True

    @property
    def now(self) -> State:
        """Return the state that carries over from step to step."""
        return State(self.root / "now")

    def keep(self, done: tuple[str, ...]) -> None:
        """Save the current state as the one after the steps `done`. No process may be running in it."""
        fresh = self.root / "fresh"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(self.now.folder, fresh, symlinks=True, ignore=_NOT_KEPT)
        (fresh / MARK).write_text(json.dumps(list(done)), "utf-8")
        old = self.root / "old"
        shutil.rmtree(old, ignore_errors=True)
        if self._kept.exists():
            self._kept.rename(old)
        fresh.rename(self._kept)
        shutil.rmtree(old, ignore_errors=True)

    def fork(self, name: str) -> State:
        """Create a separate state from a copy of the saved one."""
        state = State(self.root / f"q-{short_hash(name)}")
        self._restore(state)
        return state

    def drop(self, state: State) -> None:
        """Remove a state."""
        state.remove()

    def drop_unsaved(self) -> None:
        """Remove the working folders and the current state, but not the saved one."""
        self.now.remove()
        for folder in (self.work, self.root / "old", self.root / "fresh"):
            shutil.rmtree(folder, ignore_errors=True)

    def _restore(self, state: State) -> None:
        shutil.rmtree(state.folder, ignore_errors=True)
        if self._kept.exists():
            shutil.copytree(self._kept, state.folder, symlinks=True)
        elif (self.root / "old").exists():  # Interrupted between the two renames.
            shutil.copytree(self.root / "old", state.folder, symlinks=True)
        state.make()

    def _kept_steps(self) -> list[str]:
        """Return the steps completed before the state was saved."""
        for folder in (self._kept, self.root / "old"):
            try:
                steps = json.loads((folder / MARK).read_text("utf-8"))
            except (OSError, ValueError):
                continue  # Nothing was saved here, or the save was interrupted.
            return [str(step) for step in steps]
        return []


def short_hash(text: str) -> str:
    """Return twelve hex digits of a hash, so that paths are short and don't reveal their purpose."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def default_root(environ: Mapping[str, str]) -> Path:
    """Return the default folder of sandboxes, separate from the platform's data."""
    cache = environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(cache) / "memeval-sandboxes"


def check_root(root: Path) -> Path:
    """Create the root folder. Raises ConfigError if the client would read a project's instructions from a parent folder."""
    root = root.expanduser().absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{root} can't be created: {error.strerror}.", fix="Give another folder with --work-dir.") from error
    root = root.resolve()
    for folder in (root, *root.parents):
        for name in (".git", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".mcp.json"):
            if (folder / name).exists():
                raise ConfigError(
                    f"Every session under {root} would read {folder / name}.", fix="Give a folder outside with --work-dir."
                )
    if not os.access(root, os.W_OK):
        raise ConfigError(f"{root} is not writable.", fix="Give another folder with --work-dir.")
    return root


SHIPPED = (".claude-plugin", "plugin.json", ".mcp.json", "pyproject.toml", "hooks", "plugin", "commands", "skills", "agents")
"""Top-level files and folders of a plugin that the client or its hooks read. Nothing else is copied."""
FOR_PEOPLE = ("cli", "console", "demo", "doctor")
"""Parts of memoryd that sessions never use."""
_LEFT_OUT = ("__pycache__", ".DS_Store")


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged copy of the plugin, with a hash of all its inputs: the plugin's files and memoryd's code."""

    folder: Path
    digest: str


def stage(plugin: Path, root: Path) -> Staged:
    """Copy the plugin to the sandbox root unless the same content is already there. Several runs may call this at once."""
    files = sorted(_files(plugin))
    shipped = _digest(plugin, files)
    folder = root / f"plugin-{shipped[:12]}"
    if not folder.is_dir():
        fresh = root / f"plugin-{secrets.token_hex(6)}"
        for file in files:
            target = fresh / file.relative_to(plugin)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        try:
            fresh.rename(folder)
        except OSError:  # Created by another run in the meantime.
            shutil.rmtree(fresh)
    code = Path(memoryd.__file__).parent
    sources = [file for ending in ("*.py", "*.js") for file in code.rglob(ending)]
    acting = sorted(file for file in sources if file.relative_to(code).parts[0].removesuffix(".py") not in FOR_PEOPLE)
    return Staged(folder, hashlib.sha256(f"{shipped}{_digest(code, acting)}".encode()).hexdigest())


def _files(plugin: Path) -> Iterator[Path]:
    for name in SHIPPED:
        top = plugin / name
        found = top.rglob("*") if top.is_dir() else [top]
        yield from (path for path in found if path.is_file() and not set(_LEFT_OUT) & set(path.parts))


def _digest(top: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(top)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def interpreter(root: Path) -> str:
    """Return the interpreter that runs memoryd in sessions."""
    if sys.platform == "win32":
        return sys.executable
    script = root / "python"
    text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
    if not script.is_file() or script.read_text("utf-8") != text:
        fresh = root / f"python-{secrets.token_hex(6)}"
        fresh.write_text(text, "utf-8")
        fresh.chmod(0o700)
        fresh.replace(script)
    return str(script)


def outside_path(path: str) -> str:
    """Return PATH without this program's virtual environment, because the platform can be imported from there."""
    if sys.prefix == sys.base_prefix:
        return path
    own = Path(sys.prefix).resolve()
    kept = [part for part in path.split(os.pathsep) if part and not Path(part).resolve().is_relative_to(own)]
    base = str(Path(sys.base_prefix) / ("Scripts" if sys.platform == "win32" else "bin"))
    return os.pathsep.join([*kept, *([] if base in kept else [base])])


SAMPLES = "memeval/data/"
"""The samples shipped with the platform, wherever it is installed."""


def contamination(result: SessionResult, places: Iterable[Path | None]) -> str:
    """Return why a session can't be graded: a call that mentioned or showed a data folder.

    Returns an empty string if there was no such call.
    """
    signs = [SAMPLES, *(str(place.expanduser().absolute()) for place in places if place is not None)]
    for call in result.tool_calls:
        if any(sign in text for sign in signs for text in (str(dict(call.arguments)), call.result)):
            return "the session accessed the folder with the gold answers"
    return ""


def check_apart(root: Path, folders: Mapping[str, Path]) -> None:
    """Check that data and results are outside the sandbox root, where sessions could find them. Raises ConfigError."""
    for what, folder in folders.items():
        place = folder.expanduser().absolute().resolve()
        if place.is_relative_to(root):
            raise ConfigError(f"The {what} at {place} are visible to sessions.", fix="Give a folder outside with --work-dir.")
