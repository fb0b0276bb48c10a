"""From a spec to a benchmark whose cases can be read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.benchmarks.source import Sources
from memeval.protocols import Benchmark
from memeval.specs import BenchmarkSpec
from memeval.types import EMPTY


def open_benchmark(
    spec: BenchmarkSpec, data: Path | None = None, *, options: Mapping[str, Any] = EMPTY, sources: Sources | None = None
) -> Benchmark:
    """Find or fetch the data (`data`: the user's own copy) and give it to the loader. Raises DataError, ConfigError."""
    source = (sources or Sources()).resolve(spec, data)
    return cast(Benchmark, registry.benchmark_loader.get(spec.effective_loader)(spec, source, options))
