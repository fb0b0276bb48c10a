"""Measure the speed of the Markdown store: durable writes, a sync without changes, and searches.

    python -m benchmarks.store [--sizes 1000,10000,100000] [--queries 200] [--json FILE]

Texts are generated from a Zipf-like vocabulary with project names, paths and identifiers, so that common and rare words occur
as in real notes. A write counts once its file is synced to disk.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.synthetic import Texts
from memoryd.core.clock import SystemClock
from memoryd.core.paths import Paths
from memoryd.core.types import Query
from memoryd.stores.markdown import MarkdownStore

WRITES = 200


def milliseconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1_000


def percentiles(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=20, method="inclusive")
    return {"p50_ms": round(statistics.median(times), 2), "p95_ms": round(cuts[-1], 2)}


def measure(size: int, queries: int, folder: Path) -> dict[str, object]:
    texts = Texts(size)
    store = MarkdownStore(Paths(folder), SystemClock())
    items = [texts.item(number) for number in range(size)]
    bulk = milliseconds(lambda: store.write_many(items)) / 1_000
    single = [milliseconds(partial(store.write, texts.item(size + number))) for number in range(WRITES)]
    store.sync()
    quiet = milliseconds(store.sync)
    questions = [texts.question() for _ in range(queries)]
    for text in questions[:10]:
        store.search(Query(text=text), 8)
    plain = [milliseconds(partial(store.search, Query(text=text), 8)) for text in questions]
    scoped = [milliseconds(partial(store.search, Query(text=text, project="project-3"), 8)) for text in questions]
    newest = [milliseconds(lambda: store.search(Query(project="project-3"), 8)) for _ in range(20)]
    flush = milliseconds(store.flush)
    rebuild = milliseconds(store.rebuild) / 1_000
    store.close()
    return {
        "size": size,
        "write_many_per_s": round(size / bulk),
        "write": percentiles(single),
        "search": percentiles(plain),
        "search_in_project": percentiles(scoped),
        "newest": percentiles(newest),
        "sync_unchanged_ms": round(quiet, 1),
        "inverted_index_ms": round(flush, 1),
        "rebuild_s": round(rebuild, 1),
        "index_mb": round(sum(path.stat().st_size for path in (folder / "index").iterdir()) / 1e6, 1),
    }


COLUMNS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("memories", lambda row: f"{row['size']:,}"),
    ("write_many/s", lambda row: f"{row['write_many_per_s']:,}"),
    ("write p50/p95", lambda row: pair(row["write"])),
    ("search p50/p95", lambda row: pair(row["search"])),
    ("in project p50/p95", lambda row: pair(row["search_in_project"])),
    ("newest p50", lambda row: f"{row['newest']['p50_ms']:.1f}"),
    ("sync", lambda row: f"{row['sync_unchanged_ms']:.0f}"),
    ("json", lambda row: f"{row['inverted_index_ms']:.0f}"),
    ("rebuild s", lambda row: f"{row['rebuild_s']:.1f}"),
    ("index MB", lambda row: f"{row['index_mb']:.1f}"),
)


def pair(times: dict[str, float]) -> str:
    return f"{times['p50_ms']:.1f} / {times['p95_ms']:.1f}"


def table(results: list[dict[str, object]]) -> str:
    lines = [[name for name, _ in COLUMNS], *([show(row) for _, show in COLUMNS] for row in results)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the speed of the Markdown store.")
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of memories, separated by commas")
    parser.add_argument("--queries", type=int, default=200, help="searches per size")
    parser.add_argument("--folder", type=Path, help="where to create the scratch homes (default: the system's temporary folder)")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    options = parser.parse_args(arguments)
    results = []
    for size in (int(size) for size in options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="memoryd-bench-", dir=options.folder) as folder:
            print(f"measuring {size:,} memories …", file=sys.stderr)
            results.append(measure(size, options.queries, Path(folder)))
    print("Markdown store; times in ms unless stated otherwise; every write synced to disk")
    print(table(results))
    if options.json:
        machine = {"python": platform.python_version(), "system": platform.platform(), "processor": platform.machine()}
        options.json.write_text(json.dumps({"machine": machine, "stores": {"markdown": results}}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
