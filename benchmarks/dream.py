"""Measure the cost of planning a dream. `python -m benchmarks.dream [--json] [--sizes 1000,10000,100000] [--words]`.

Memories are assembled from sentence fragments with distinct subjects, spread over 20 projects. A tenth are copies in
other words or capitals, and one in fifty contradicts an earlier memory. Vectors have 384 dimensions and are random,
but close together for copies and contradictions. With `--words`, there are none. Planning runs in one process, and
its Python code on one core. Memory is the peak of the process. The precision and recall of the default model on both
halves of the labelled pairs are printed as well.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from memoryd.core.protocols import FloatArray
from memoryd.core.types import Kind, MemoryItem, Source
from memoryd.daemon.process import SWITCH_SECONDS
from memoryd.dream.plan import Action
from memoryd.dream.planner import collector_paused, make_plan

NOW = datetime(2026, 6, 1, tzinfo=UTC)
PAUSE = 0.005
DIMENSIONS = 384
PROJECTS = 20
COPIES = 0.1
CONTRADICTIONS = 0.02
JITTER = 0.3
SPREAD = 1.2
CLUSTERS = 400
SUBJECTS = "parser importer gateway scheduler mailer indexer ledger exporter planner tracker renderer archiver".split()
AREAS = "billing search shipping catalog payroll fraud tax audit media chat maps fleet pricing support loyalty returns".split()
VERBS = "reads writes caches retries validates drops batches signs compresses streams rotates mirrors".split()
OBJECTS = "orders invoices tokens events sessions blobs rows messages thumbnails contracts metrics drafts".split()
MANNERS = [
    "at startup",
    "on every push",
    "in one transaction",
    "through the queue",
    "with a lock held",
    "before the nightly job",
    "after a failed deploy",
    "behind a feature flag",
    "over a plain socket",
    "within the worker",
]
OPENINGS = ["", "Note that ", "As of the last release ", "According to the log, "]


def statement(random_: random.Random, number: int) -> str:
    """Return a sentence about a unique subject with the number in its name, because real facts have distinct names."""
    name = f"{random_.choice(AREAS)}-{number % 9973:x}"
    parts = [random_.choice(p) for p in (SUBJECTS, VERBS, OBJECTS, MANNERS)]
    return f"The {name} {parts[0]} {parts[1]} {parts[2]} {parts[3]}"


def memories(count: int, seed: int = 0) -> tuple[list[MemoryItem], dict[str, FloatArray]]:
    """Return memories with their vectors."""
    random_, noise = random.Random(seed), np.random.default_rng(seed)
    centres = noise.normal(size=(CLUSTERS, DIMENSIONS))
    items: list[MemoryItem] = []
    vectors = np.empty((count, DIMENSIONS), dtype=np.float32)
    for number in range(count):
        draw = random_.random()
        near = random_.randrange(number) if number > PROJECTS and draw < COPIES + CONTRADICTIONS else -1
        items.append(_item(number, items[near] if near >= 0 else None, draw < COPIES, random_))
        base = vectors[near] if near >= 0 else centres[number % CLUSTERS] + SPREAD * noise.normal(size=DIMENSIONS)
        jitter = JITTER if near >= 0 else 0.0
        vectors[number] = base / np.linalg.norm(base) + jitter * noise.normal(size=DIMENSIONS) / math.sqrt(DIMENSIONS)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return items, {item.id: vector for item, vector in zip(items, vectors, strict=True)}


def _item(number: int, like: MemoryItem | None, copy: bool, random_: random.Random) -> MemoryItem:
    made = NOW - timedelta(minutes=10 * (100_000 - number) / 60)
    fresh = MemoryItem(
        statement(random_, number),
        id=f"mem_{number:012x}",
        kind=random_.choice((Kind.FACT, Kind.RULE, Kind.FIX)),
        source=random_.choice((Source.USER, Source.AGENT_STEP)),
        project=f"p{number % PROJECTS}",
        session=f"s{number // 30}",
        created_at=made,
    )
    if like is None:
        return fresh
    said = like.content
    text = random_.choice(OPENINGS) + said + random_.choice(("", ".")) if copy else said.replace("The ", "Never: the ", 1)
    return replace(like, id=fresh.id, content=text, created_at=made, session=fresh.session)


def measure(size: int, words: bool) -> dict[str, Any]:
    """Return the seconds and counts of one plan."""
    items, vectors = memories(size)
    start = time.perf_counter()
    with collector_paused(), waiting_thread() as stops:
        plan = make_plan(items, now=NOW, vectors=None if words else vectors)
    seconds = time.perf_counter() - start
    created = sum(change.action is Action.CREATE for change in plan.changes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "memories": size,
        "seconds": round(seconds, 2),
        "merged": created,
        "dropped": plan.dropped,
        "peak_mb": round(peak),
    } | {
        "longest_stop_ms": round(1000 * max(stops)),
        "median_stop_ms": round(1000 * statistics.median(stops), 1),
    }


@contextmanager
def waiting_thread() -> Iterator[list[float]]:
    """Yield the delays, in seconds, of a thread scheduled to run every 5 ms, like a thread that answers hooks."""
    stops, done = [0.0], threading.Event()

    def wait() -> None:
        while not done.is_set():
            start = time.perf_counter()
            done.wait(PAUSE)
            stops.append(max(0.0, time.perf_counter() - start - PAUSE))

    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield stops
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(before)


def exponent(rows: Sequence[dict[str, Any]]) -> float:
    """Return the growth exponent of the time: the slope of log(seconds) over log(size), from the first to the last size."""
    first, last = rows[0], rows[-1]
    return math.log(last["seconds"] / max(first["seconds"], 1e-3)) / math.log(last["memories"] / first["memories"])


def labelled_scores() -> dict[str, str]:
    """Return precision and recall of the default model on the labelled pairs."""
    from memoryd.embed.onnx import OnnxEmbedder
    from tests.memoryd.dream import labelled

    pairs = labelled.load()
    texts = labelled.texts(pairs)
    vectors = dict(zip(texts, OnnxEmbedder().embed(texts), strict=True))
    out = {}
    for name, training in (("training", True), ("held out", False)):
        half = [pair for pair in pairs if pair.is_training is training]
        for how, given in (("model", vectors), ("words only", None)):
            merges, conflicts = labelled.scores(half, given)
            out[f"{name}, {how}, merges"], out[f"{name}, {how}, contradictions"] = str(merges), str(conflicts)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--no-labelled", action="store_true", help="leave out the labelled pairs")
    arguments = parser.parse_args()
    rows = [measure(int(size), arguments.words) for size in arguments.sizes.split(",")]
    scores = {} if arguments.no_labelled else labelled_scores()
    report = {"plans": rows, "exponent": round(exponent(rows), 2) if len(rows) > 1 else None, "labelled": scores}
    if arguments.json:
        print(json.dumps(report, indent=1))
        return
    for row in rows:
        print(
            "{memories:>8} memories  {seconds:>8.2f} s  {merged:>6} merged  {dropped:>6} dropped  {peak_mb:>6} MB peak"
            "  another thread waits {median_stop_ms} ms (median), {longest_stop_ms} ms (worst)".format(**row)
        )
    print(f"growth: seconds ~ memories^{report['exponent']}")
    for name, score in scores.items():
        print(f"{name}: {score}")


if __name__ == "__main__":
    main()
