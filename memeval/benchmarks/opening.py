"""From a spec to a benchmark whose cases can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.benchmarks.source import Sources
from memeval.core.protocols import Benchmark
from memeval.core.types import EMPTY
from memeval.specs import BenchmarkSpec


def known_options(spec: BenchmarkSpec) -> frozenset[str] | None:
    """Names of the options that the benchmark's loader takes; None when it does not tell. Raises ConfigError."""
    told = getattr(registry.benchmark_loader.get(spec.effective_loader), "OPTIONS", None)
    return None if told is None else frozenset(told)


def open_benchmark(
    spec: BenchmarkSpec, data: Path | None = None, *, options: Mapping[str, Any] = EMPTY, sources: Sources | None = None
) -> Benchmark:
    """Find or fetch the data (`data`: the user's own copy) and give it to the loader. Raises DataError, ConfigError."""
    source = (sources or Sources()).resolve(spec, data)
    return cast(Benchmark, registry.benchmark_loader.get(spec.effective_loader)(spec, source, options))
