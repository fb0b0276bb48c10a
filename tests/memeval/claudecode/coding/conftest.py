"""Fixtures for the coding families, without network."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from memeval.benchmarks.source import Sources
from memeval.claudecode.families import FamilyOptions
from memeval.core.calls import Budget, Stop
from memeval.models.guarded import ModelCache
from memeval.registry import Catalog
from memeval.run.plan import RunContext

OptionsOf = Callable[..., FamilyOptions]


@pytest.fixture
def options_of(tmp_path: Path) -> OptionsOf:
    def make(data: Path | None = None, **options: Any) -> FamilyOptions:
        sources = Sources(cache=tmp_path / "datasets", offline=True)
        context = RunContext(Catalog.default(environ={}), ModelCache(tmp_path / "cache"), Budget(), Stop(), sources)
        return FamilyOptions(context, data, options=options)

    return make


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
