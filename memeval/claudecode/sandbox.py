"""Where a sequence of an arm lives: its own configuration folder, home, temporary folder and memory, and copies of its state.

    <root>/work/…        working folders; never inside a repository, and the same path for all sessions of a sequence
    <root>/now/          the state as it is: config (CLAUDE_CONFIG_DIR), home (HOME), memoryd (MEMORYD_HOME)
    <root>/kept/         the state after the last step that ended, put in place by one rename
    <root>/q-<id>/       the state of one question, begun as a copy of `kept`; removed when it has ended

A step that was interrupted leaves `now` in an unknown state; the next start begins from `kept` again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memeval.errors import ConfigError

_NOT_KEPT = shutil.ignore_patterns("run", "*.sock", "*.lock", "daemon.out", "tmp", ".cache", "statsig", "shell-snapshots")
MARK = "steps.json"


@dataclass(frozen=True, slots=True)
class State:
    """The folders that a session reads and writes."""

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
        """TMPDIR. A short path: sockets of programs in the sandbox lie there, and their paths have a limit of about 100 bytes."""
        return Path(tempfile.gettempdir()) / f"mb-{short_hash(str(self.folder))}"

    def make(self) -> State:
        """Make what is missing; the temporary folder anew."""
        for name in ("config", "home", "memoryd"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700)
        return self

    def remove(self) -> None:
        """Remove it all."""
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)

    def variables(self) -> dict[str, str]:
        """For the environment of a session."""
        return {
            "HOME": str(self.folder / "home"),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "CLAUDE_CODE_TMPDIR": str(self.temporary),
            "TMPDIR": str(self.temporary),
            "MEMORYD_HOME": str(self.memory_home),
        }

    def project(self, cwd: Path) -> Path:
        """Where the client keeps logs and memory of a working folder."""
        return self.config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(cwd))

    def transcript(self, session_id: str) -> Path | None:
        """The log of a session, wherever the client put it."""
        return next(iter(sorted((self.config / "projects").glob(f"*/{session_id}.jsonl"))), None) if session_id else None

    def builtin_memory(self) -> dict[str, str]:
        """The files of Claude Code's own memory: path within `projects`, text."""
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
        """Bring the state to what it was after the steps `done`; False when that is not at hand, and nothing is there then."""
        self.work.mkdir(parents=True, exist_ok=True)
        if done and self._kept_steps() != list(done):
            return False
        if not done:
            shutil.rmtree(self._kept, ignore_errors=True)
        self._restore(self.now)
        return True

    @property
    def now(self) -> State:
        """The state that is carried from step to step."""
        return State(self.root / "now")

    def keep(self, done: tuple[str, ...]) -> None:
        """Keep the state as that after the steps `done`. Nothing may be running in it."""
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
        """A state of its own, begun as what is kept."""
        state = State(self.root / f"q-{short_hash(name)}")
        self._restore(state)
        return state

    def drop(self, state: State) -> None:
        """Remove a state."""
        state.remove()

    def drop_all_but_kept(self) -> None:
        """Remove working folders and the state in use; what was kept last stays."""
        self.now.remove()
        for folder in (self.work, self.root / "old", self.root / "fresh"):
            shutil.rmtree(folder, ignore_errors=True)

    def _restore(self, state: State) -> None:
        shutil.rmtree(state.folder, ignore_errors=True)
        if self._kept.exists():
            shutil.copytree(self._kept, state.folder, symlinks=True)
        elif (self.root / "old").exists():  # ended between the two renames
            shutil.copytree(self.root / "old", state.folder, symlinks=True)
        state.make()

    def _kept_steps(self) -> list[str]:
        """The steps after which the state was kept."""
        for folder in (self._kept, self.root / "old"):
            try:
                steps = json.loads((folder / MARK).read_text("utf-8"))
            except (OSError, ValueError):
                continue
            return [str(step) for step in steps]
        return []


def short_hash(text: str) -> str:
    """Twelve hex digits: paths stay short, and say nothing of what they are for."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def default_root(environ: Mapping[str, str]) -> Path:
    """Where sandboxes lie unless --work-dir says otherwise; not beside the data that the platform keeps."""
    cache = environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(cache) / "memeval-sandboxes"


def check_root(root: Path) -> Path:
    """Make the folder. Raises ConfigError if the client would read a project's instructions from above it."""
    root = root.expanduser().absolute()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{root} can't be made: {error.strerror}.", fix="Name another folder with --work-dir.") from error
    root = root.resolve()
    for folder in (root, *root.parents):
        for name in (".git", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".mcp.json"):
            if (folder / name).exists():
                raise ConfigError(
                    f"{folder / name} would be read by every session under {root}.", fix="Name a folder outside with --work-dir."
                )
    if not os.access(root, os.W_OK):
        raise ConfigError(f"{root} is not writable.", fix="Name another folder with --work-dir.")
    return root
