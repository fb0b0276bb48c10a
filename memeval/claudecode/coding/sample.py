"""The data of `sample-code`: one TOML file for each repository, with its files, tasks, hidden tests and gold patches.

name, description
fact      what the first task tells and the later ones need
needs     texts that must be known to solve a later task; no prompt but the first, and no file, has them
guess     [a, b]: with b in place of a the gold patch is a good guess, which hidden tests must refuse
[files]   the repository, the same at the start of every task
[[tasks]] id, prompt, tests (a module of unittest cases), gold (a unified diff)
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval.errors import DataError

DATA = Path(__file__).parents[2] / "data" / "sample_code"


@dataclass(frozen=True, slots=True)
class SampleTask:
    """A task. `tests` and `gold` are never in a folder that an agent works in."""

    id: str
    prompt: str
    tests: str
    gold: str


@dataclass(frozen=True, slots=True)
class SampleRepository:
    """A repository and its sequence of tasks."""

    name: str
    description: str
    fact: str
    needs: tuple[str, ...]
    guess: tuple[str, str]
    files: Mapping[str, str]
    tasks: tuple[SampleTask, ...]

    def visible_tests(self) -> dict[str, str]:
        """The repository's own tests, as they were before an agent came."""
        return {path: text for path, text in self.files.items() if path.startswith("tests/")}


def load_all(folder: Path = DATA) -> list[SampleRepository]:
    """All repositories, by name. Raises DataError naming the file and what is wrong."""
    found = [load(path) for path in sorted(folder.glob("*.toml"))]
    if not found:
        raise DataError(f"{folder} holds no .toml file.", fix="Install memeval again, or correct --data.")
    return found


def load(path: Path) -> SampleRepository:
    """One repository. Raises DataError."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
        first, second = raw["guess"]
        return SampleRepository(
            name=raw["name"],
            description=raw["description"],
            fact=raw["fact"],
            needs=tuple(raw["needs"]),
            guess=(first, second),
            files=dict(raw["files"]),
            tasks=tuple(_task(task) for task in raw["tasks"]),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"{path}: {type(error).__name__}: {error}.", fix="Repair the file; docs/run_bench.md says how.") from None


def _task(raw: Mapping[str, Any]) -> SampleTask:
    return SampleTask(id=raw["id"], prompt=raw["prompt"].strip(), tests=raw["tests"], gold=raw["gold"])


def data_hash(folder: Path = DATA) -> str:
    """SHA-256 over the files, by name."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.toml")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
