"""A generated repository, and the state of each definition in it, known without looking at any file."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from memoryd.citations.check import CodeState
from memoryd.citations.cite import cite
from memoryd.citations.repository import head_commit
from memoryd.core.types import Citation, Kind, Passage

WORDS = "ledger parcel invoice route sensor tariff cache queue widget badge crane harbor locker meadow signal turbine".split()


def git(root: Path, *arguments: str) -> str:
    """Run git with its own identity."""
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@dataclass(frozen=True)
class Unit:
    """One function: its file and the version of its body."""

    path: str
    version: int


@dataclass
class Branch:
    """The functions of a branch by name, and the numbers of the commits in its history."""

    units: dict[str, Unit] = field(default_factory=dict)
    history: set[int] = field(default_factory=set)
    past: list[dict[str, Unit]] = field(default_factory=list)


@dataclass(frozen=True)
class Learnt:
    """A memory about a function, learnt at a commit on a branch."""

    name: str
    unit: Unit
    branch: str
    number: int
    cites: tuple[Citation, ...]


class GeneratedRepository:
    """Makes random commits: edits, renames (some with edits), deletions, moves of functions, branches, reverts and merges."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.branches = {"main": Branch()}
        self.current = "main"
        self.learnt: list[Learnt] = []
        self.commits = 0
        self._fresh = 0
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for _ in range(8):
            self._new_file()
        self._commit()

    @property
    def here(self) -> Branch:
        return self.branches[self.current]

    def _body(self, name: str, version: int) -> str:
        lines = [f"    {WORDS[(version + n) % len(WORDS)]}_{n} = value * {version * 7 + n} + len('{name}')" for n in range(4)]
        return "\n".join([f"def {name}(value):", *lines, f"    return {version}", ""])

    def _write(self) -> None:
        """Write the branch's files from the model."""
        files: dict[str, list[str]] = {}
        for name, unit in sorted(self.here.units.items()):
            files.setdefault(unit.path, [f'"""Helpers of {name.rpartition("_")[0]}."""\n']).append(self._body(name, unit.version))
        for old in git(self.root, "ls-files").splitlines():
            if old not in files:
                (self.root / old).unlink(missing_ok=True)
        for path, parts in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("\n\n".join(parts), "utf-8")

    def _commit(self) -> None:
        self._write()
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "--allow-empty", "-m", f"step {self.commits}")
        self.here.history.add(self.commits)
        self.here.past.append(dict(self.here.units))
        self.commits += 1

    def _new_file(self) -> None:
        self._fresh += 1
        path = f"src/{self.random.choice(WORDS)}_{self._fresh}.py"
        for _ in range(4):
            self._fresh += 1
            self.here.units[f"{self.random.choice(WORDS)}_{self.random.choice(WORDS)}_{self._fresh}"] = Unit(path, 1)

    def step(self) -> None:
        """Make one commit, on this branch or another one."""
        self.random.choices(
            [self._edit, self._rename, self._rename_and_edit, self._delete_file, self._delete, self._move, self._new_file,
             self._revert, self._branch, self._switch, self._merge],
            [22, 12, 8, 4, 8, 8, 8, 8, 6, 10, 5],
        )[0]()  # fmt: skip
        self._commit()

    def _any_path(self) -> str:
        return self.random.choice(sorted({unit.path for unit in self.here.units.values()}))

    def _any_name(self) -> str:
        return self.random.choice(sorted(self.here.units))

    def _edit(self, name: str = "") -> None:
        name = name or self._any_name()
        self.here.units[name] = replace(self.here.units[name], version=self.commits + 100)

    def _rename(self) -> list[str]:
        self._fresh += 1
        path, new = self._any_path(), f"lib/{self.random.choice(WORDS)}_{self._fresh}.py"
        moved = [name for name, unit in self.here.units.items() if unit.path == path]
        self.here.units |= {name: replace(self.here.units[name], path=new) for name in moved}
        return moved

    def _rename_and_edit(self) -> None:
        self._edit(self._rename()[0])

    def _delete_file(self) -> None:
        path = self._any_path()
        left = {name: unit for name, unit in self.here.units.items() if unit.path != path}
        self.here.units = left or self.here.units

    def _delete(self) -> None:
        if len(self.here.units) > 8:
            del self.here.units[self._any_name()]

    def _move(self) -> None:
        name = self._any_name()
        self.here.units[name] = replace(self.here.units[name], path=self._any_path())

    def _revert(self) -> None:
        self.here.units = dict(self.here.past[-2 if len(self.here.past) > 1 else -1])

    def _branch(self) -> None:
        if len(self.branches) < 4:
            name = f"topic-{len(self.branches)}"
            git(self.root, "checkout", "-q", "-b", name)
            self.branches[name] = Branch(dict(self.here.units), set(self.here.history), list(self.here.past))
            self.current = name

    def _switch(self) -> None:
        self.checkout(self.random.choice(sorted(self.branches)))

    def checkout(self, name: str) -> None:
        """Switch to a branch."""
        git(self.root, "checkout", "-q", name)
        self.current = name

    def _merge(self) -> None:
        """Merge this branch into main if main has not changed since, so that the outcome is certain."""
        topic, name = self.here, self.current
        if name == "main" or not self.branches["main"].history <= topic.history:
            return
        self.checkout("main")
        git(self.root, "merge", "-q", "--no-ff", "-m", f"step {self.commits}", name)
        self.branches["main"] = Branch(dict(topic.units), set(topic.history), list(topic.past))

    def learn(self) -> None:
        """Learn something about a function, as the day dream would from a session that read its file."""
        name = self.random.choice(sorted(self.here.units))
        unit = self.here.units[name]
        passage = Passage((), cwd=str(self.root))
        cites = cite(f"{name}() in {unit.path} rounds before it sums.", Kind.FACT, passage, head_commit(str(self.root)))
        number = max(self.here.history)
        self.learnt.append(Learnt(name, unit, self.current, number, cites))

    def expected(self, learnt: Learnt) -> CodeState:
        """Return the state of the function, from the model alone."""
        now = self.here.units.get(learnt.name)
        if now is not None and now.version == learnt.unit.version:
            return CodeState.UNCHANGED if now.path == learnt.unit.path else CodeState.MOVED
        if learnt.number not in self.here.history:
            holding = [branch for branch in self.branches.values() if learnt.number in branch.history]
            if any(branch.units.get(learnt.name) == learnt.unit for branch in holding):
                return CodeState.OTHER_BRANCH
        return CodeState.GONE if now is None else CodeState.CHANGED
