"""Small files in the official formats, and loaders with the shipped specs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memeval.benchmarks.opening import open_benchmark
from memeval.core.protocols import Benchmark
from memeval.registry import BUILT_IN
from memeval.specs import BenchmarkSpec, load_benchmark_spec

Open = Callable[..., Benchmark]


def shipped(name: str) -> BenchmarkSpec:
    return load_benchmark_spec(BUILT_IN / "benchmarks" / f"{name}.yaml", {})


def put(path: Path, value: Any) -> Path:
    """Write a value as JSON, or a text unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.fixture
def load(tmp_path: Path) -> Open:
    """`load(benchmark, value)` writes the value to a file and opens it. A Path is opened unchanged."""

    def opened(name: str, value: Any, **options: Any) -> Benchmark:
        path = value if isinstance(value, Path) else put(tmp_path / "data.json", value)
        return open_benchmark(shipped(name), path, options=options)

    return opened
