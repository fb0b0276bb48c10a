"""Measure the speed of the vector store and of the embedder. `python -m benchmarks.vector [--json] [--sizes 1000,10000]`.

The index part uses clustered random vectors of 384 dimensions from a stub, so that only the store is measured. The embedder part
uses the default model on generated sentences. Times are in milliseconds, rates per second.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.core.config import Settings
from memoryd.core.protocols import FloatArray
from memoryd.core.types import MemoryItem, Query
from memoryd.embed import make_embedder, warm
from memoryd.stores.hnsw import hnsw_available
from memoryd.stores.vector import VectorStore
from memoryd.stores.vector_cache import MATRIX_BYTES

DIMENSIONS = 384
CLUSTERS = 200
SPREAD = 0.7
PROJECTS = 20
QUERIES = 40
WORDS = "the build cache of project service uses port token queue index before each deploy we run tests and never push".split()


class StubEmbedder:
    """An embedder that returns precomputed vectors. A text has the form `NUMBER …`."""

    name = "stub-384"
    dimensions = DIMENSIONS

    def __init__(self, count: int) -> None:
        random = np.random.default_rng(0)
        centres = random.normal(size=(CLUSTERS, DIMENSIONS))
        vectors = centres[random.integers(0, CLUSTERS, count)] + SPREAD * random.normal(size=(count, DIMENSIONS))
        self._vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of the texts' numbers."""
        found: FloatArray = self._vectors[[int(text.split(" ", 1)[0]) for text in texts]]
        return found

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries in the same way as texts."""
        return self.embed(texts)


def item(number: int) -> MemoryItem:
    """Return a memory of ordinary size."""
    words = " ".join(WORDS[(number + i) % len(WORDS)] for i in range(25))
    return MemoryItem(content=f"{number} {words}", id=f"mem_{number:012x}", project=f"p{number % PROJECTS}", tags=("bench",))


def times(run: Callable[[int], object], count: int = QUERIES) -> dict[str, float]:
    """Return p50 and p95 of calls with different arguments, in milliseconds, and separately the first call, which loads."""
    first = _clock(run, 0)
    rest = sorted(_clock(run, n) for n in range(1, count + 1))
    return {"first": first, "p50": statistics.median(rest), "p95": rest[int(len(rest) * 0.95) - 1]}


def _clock(run: Callable[[int], object], argument: int) -> float:
    start = time.perf_counter()
    run(argument)
    return round((time.perf_counter() - start) * 1000, 2)


def bench_store(count: int, folder: Path) -> dict[str, Any]:
    """Return the write rate and the search times at one size, for each search method."""
    embedder = StubEmbedder(count + QUERIES + 1)
    path = folder / f"vector-{count}.db"
    store = VectorStore(path, embedder, ann_threshold=10**9)
    start = time.perf_counter()
    store.write_many(item(n) for n in range(count))
    result: dict[str, Any] = {"rows": count, "writes_per_second": round(count / (time.perf_counter() - start))}
    result["matrix"] = search_times(store, count)
    store.close()
    table = VectorStore(path, embedder, ann_threshold=10**9, matrix_bytes=0)
    result["table"] = search_times(table, count)
    result["digests_ms"] = _clock(lambda _: table.digests(), 0)
    if hnsw_available() and count >= 10_000:
        result["hnsw"] = bench_hnsw(path, embedder, count, table)
    table.close()
    result["disk_mb"] = round(path.stat().st_size / 2**20, 1)
    return result


def search_times(store: VectorStore, count: int) -> dict[str, Any]:
    """Return search times without a filter, and within one of twenty projects."""
    return {
        "all": times(lambda n: store.search(Query(text=f"{count + n}"), 8)),
        "project": times(lambda n: store.search(Query(text=f"{count + n} p", project=f"p{n % PROJECTS}"), 8)),
        "after_a_write": times(lambda n: (store.write(item(n)), store.search(Query(text=f"{count + n}"), 8)), 10),
    }


def bench_hnsw(path: Path, embedder: StubEmbedder, count: int, exact: VectorStore) -> dict[str, Any]:
    """Return the build rate, the search times, and the recall against exact search."""
    store = VectorStore(path, embedder, ann_threshold=1)
    start = time.perf_counter()
    store.rebuild_ann()
    rate = round(count / (time.perf_counter() - start))
    shares = []
    for n in range(QUERIES):
        query = Query(text=f"{count + n}")
        truth = {hit.item.id for hit in exact.search(query, 10)}
        shares.append(len(truth & {hit.item.id for hit in store.search(query, 10)}) / 10)
    result = {"build_per_second": rate, "recall_at_10": round(statistics.mean(shares), 3), **search_times(store, count)}
    result["file_mb"] = round(path.with_suffix(".hnsw").stat().st_size / 2**20, 1)
    store.close()
    return result


def bench_embedder(folder: Path) -> dict[str, Any]:
    """Return texts per second, alone and with writes to the store, and the time of one query."""
    embedder = make_embedder(Settings(home=folder))
    load = _clock(lambda _: warm(embedder), 0)
    texts = [item(n).content for n in range(300)]
    start = time.perf_counter()
    embedder.embed(texts)
    rate = len(texts) / (time.perf_counter() - start)
    store = VectorStore(folder / "texts.db", embedder)
    start = time.perf_counter()
    store.write_many(item(1_000 + n) for n in range(300))
    written = 300 / (time.perf_counter() - start)
    store.close()
    query = times(lambda n: embedder.embed_queries([f"which port does service {n} use?"]))
    return {"model": embedder.name, "load_ms": load, "texts_per_second": round(rate), "writes_per_second": round(written)} | {
        "query_ms": query
    }


def main() -> None:
    """Run the benchmark and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", default="1000,10000,100000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        report: dict[str, Any] = {
            "machine": f"{platform.machine()}, Python {platform.python_version()}",
            "matrix_mb": MATRIX_BYTES // 2**20,
            "embedder": bench_embedder(folder),
            "store": [bench_store(int(size), folder) for size in options.sizes.split(",")],
        }
    print(json.dumps(report, indent=2) if options.json else as_text(report))


def as_text(report: dict[str, Any]) -> str:
    """Return the report as lines of text."""
    e = report["embedder"]
    lines = [
        f"embedder {e['model']}: load {e['load_ms']} ms, {e['texts_per_second']} texts/s, {e['writes_per_second']} writes/s, "
        f"query p50 {e['query_ms']['p50']} p95 {e['query_ms']['p95']} ms"
    ]
    for size in report["store"]:
        lines.append(f"{size['rows']:>7} rows: {size['writes_per_second']} writes/s, {size['disk_mb']} MB")
        for way in ("matrix", "table", "hnsw"):
            lines += [f"        {way:6} {kind:13} {_line(size[way][kind])}" for kind in KINDS if way in size]
        if ann := size.get("hnsw"):
            lines.append(
                f"        hnsw   built {ann['build_per_second']} rows/s, {ann['file_mb']} MB, recall@10 {ann['recall_at_10']}"
            )
    return "\n".join(lines)


KINDS = ("all", "project", "after_a_write")


def _line(t: dict[str, float]) -> str:
    return f"p50 {t['p50']:7.2f} ms  p95 {t['p95']:7.2f} ms  first {t['first']:7.2f} ms"


if __name__ == "__main__":
    main()
