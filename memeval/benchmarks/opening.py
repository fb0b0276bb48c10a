"""Open benchmarks from their specs and describe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from memeval import registry
from memeval.benchmarks.base import FileBenchmark
from memeval.benchmarks.source import Sources
from memeval.core.protocols import Benchmark
from memeval.core.types import EMPTY, Case, Question
from memeval.specs import BenchmarkSpec, SourceSpec


def known_options(spec: BenchmarkSpec) -> frozenset[str] | None:
    """Return the names of the options of the benchmark's loader, or None if it declares none. Raises ConfigError."""
    kind = registry.benchmark_loader.get(spec.effective_loader)
    return frozenset(kind.OPTIONS) if isinstance(kind, type) and issubclass(kind, FileBenchmark) else None


def open_benchmark(
    spec: BenchmarkSpec, data: Path | None = None, *, options: Mapping[str, Any] = EMPTY, sources: Sources | None = None
) -> Benchmark:
    """Find or fetch the data and open it with the loader.

    `data` is the path of a local copy. Raises DataError or ConfigError.
    """
    source = (sources or Sources()).resolve(spec, data)
    return cast(Benchmark, registry.benchmark_loader.get(spec.effective_loader)(spec, source, options))


_ORDER = ("cases", "sessions", "turns", "questions")


def describe(spec: BenchmarkSpec, benchmark: Benchmark | None = None) -> dict[str, Any]:
    """Describe a benchmark from its YAML file as plain JSON values.

    With `benchmark`, all of its data is read to count sizes. `categories` explains the benchmark's own categories
    (such as LoCoMo's numbers) and their unified types.
    """
    meanings = spec.metadata.get("categories", {})
    facts: dict[str, Any] = {
        "name": spec.name,
        "display_name": spec.display_name or spec.name,
        "description": spec.description,
        "licence": spec.licence,
        "citation": spec.citation,
        "homepage": spec.homepage,
        "source": _source(spec.source),
        "loader": spec.effective_loader,
        "options": dict(spec.options),
        "ingestion": str(spec.ingestion),
        "judge": spec.judge.name,
        "metrics": list(spec.metrics),
        "retrieval": {"k": list(spec.retrieval.k), "levels": list(spec.retrieval.levels), "variant": spec.retrieval.variant},
        "categories": {
            name: {"type": str(kind), "meaning": str(meanings.get(name, ""))} for name, kind in spec.question_types.items()
        },
        "notes": [str(note) for note in spec.metadata.get("notes", ())],
        "published": {key: spec.metadata[key] for key in _ORDER if key in spec.metadata},
    }
    if benchmark is not None:
        facts["counts"] = count(benchmark)
        facts["data_hash"] = benchmark.data_hash()
    return facts


def count(benchmark: Benchmark) -> dict[str, Any]:
    """Count the contents of all cases, their evidence, and their questions by unified type and by category."""
    sizes: Counter[str] = Counter(dict.fromkeys(_ORDER, 0))
    kinds: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    evidence: Counter[str] = Counter(dict.fromkeys(("with_sessions", "with_turns", "unresolved_entries", "without_answer"), 0))
    for case in benchmark.cases():
        sizes.update(_sizes(case))
        for question in case.questions:
            kinds[question.type.value] += 1
            categories[question.category] += 1
            evidence.update(_evidence(question))
    return {
        **sizes,
        "by_type": dict(sorted(kinds.items())),
        "by_category": dict(sorted(categories.items())),
        "evidence": dict(evidence),
    }


def _sizes(case: Case) -> dict[str, int]:
    turns = sum(len(session.turns) for session in case.sessions)
    return {"cases": 1, "sessions": len(case.sessions), "turns": turns, "questions": len(case.questions)}


def _evidence(question: Question) -> dict[str, int]:
    return {
        "with_sessions": int(bool(question.evidence_sessions)),
        "with_turns": int(bool(question.evidence_turns)),
        "unresolved_entries": len(question.metadata.get("unresolved_evidence", ())),
        "without_answer": int(not question.answers),
    }


def _source(source: SourceSpec) -> dict[str, Any]:
    files = [{"path": file.path, "url": file.url, "sha256": file.sha256} for file in source.files]
    return {
        "type": str(source.type),
        "dataset": source.dataset,
        "revision": source.revision if source.dataset else "",
        "path": source.path,
        "files": files,
        "instructions": source.instructions,
    }
