"""Measure the growth of costs with the number of memories: writing, recall, day dream, dream, daemon, index and reindexing.

    python -m benchmarks.scale [--sizes 1000,10000,100000] [--rank maxsim] [--json FILE]

For each size, one seeded store is created (see benchmarks/synthetic.py for the origin of its vectors) and measured,
partly in this process and partly through a separate daemon. The growth exponent of a figure between two sizes is the
slope of its logarithm over that of the size: 0 means constant, 1 means proportional. Baselines of the same run: bare
Python, one file written and synced, all files read and searched for the words of a query, JSON parsed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from benchmarks import synthetic
from benchmarks.transcript import MB, Log, write_log
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings, load_settings
from memoryd.core.files import write_atomic
from memoryd.core.state import State
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.relay import send_hook
from memoryd.daydream.pipeline import DayDream
from memoryd.embed import make_embedder, make_encoder, warm
from memoryd.service import Orchestrator

QUERIES = 120
WARM_UP = 15
SINGLE_WRITES = 60
EMBEDDED_WRITES = 192
SYNCED_FILES = 50
LOG_MB = 20
FIRST_LOG_MB = 1
IDLE_SECONDS = 3.0
READY_SECONDS = 30.0
SCANS = 3
Figures = dict[str, float]

# Name: (unit, description, whether a growth exponent is meaningful).
SHOWN: dict[str, tuple[str, str, bool]] = {
    "python_ms": ("ms", "bare python process (baseline)", False),
    "sync_ms": ("ms", "one file written and synced (baseline)", False),
    "write_queued": ("/s", "write, queued: durable and found by words, 1,000 a call", True),
    "write_cpu_ms": ("ms", "the same, CPU of one memory", True),
    "write_ms": ("ms", "write, one at a time, p50", True),
    "write_embedded": ("/s", "write until its vectors are there", True),
    "scan_ms": ("ms", "all files read for the words of a query (baseline)", True),
    "literal_ready_ms": ("ms", "daemon: start until a literal recall is answered", True),
    "cold_ms": ("ms", "daemon: first recall by meaning after that", True),
    "recall_ms": ("ms", "daemon: recall, p50", True),
    "recall_p95_ms": ("ms", "daemon: recall, p95", True),
    "recall_cpu_ms": ("ms", "daemon: CPU of one recall, in one project or all", True),
    "project_ms": ("ms", "daemon: recall in one project of twenty, p50", True),
    "hook_ms": ("ms", "daemon: answer to a prompt's hook where nothing is remembered, p50", True),
    "hook_p95_ms": ("ms", "daemon: the same, p95", True),
    "hook_project_ms": ("ms", "daemon: answer to a prompt's hook in one project of twenty, p50", True),
    "hook_project_p95_ms": ("ms", "daemon: the same, p95", True),
    "rss_mib": ("MiB", "daemon: memory", True),
    "idle_cpu": ("%", "daemon: CPU when idle", False),
    "json_mb": ("MB/s", "JSON of a session log parsed (baseline)", False),
    "daydream_mb": ("MB/s", "day dream: a session log read, extracted, kept", True),
    "daydream_cpu_mb": ("MB/s", "the same, in a second of CPU", True),
    "dream_s": ("s", "dream: planning", True),
    "dream_stop_ms": ("ms", "dream: longest wait of another thread meanwhile", True),
    "dream_mib": ("MiB", "dream: peak of the planning process", True),
    "index_mb": ("MB", "index on disk", True),
    "markdown_mb": ("MB", "Markdown on disk", True),
    "reindex": ("/s", "reindex from Markdown, all but the models", True),
    "models": ("/s", "texts through the models", False),
    "reindex_s": ("s", "reindex from Markdown with the models (computed)", True),
}


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def milliseconds(work: Callable[[Any], object], arguments: Iterable[Any]) -> tuple[float, float]:
    """Return the median and the 95th percentile over the arguments."""
    times = [seconds(partial(work, argument)) * 1000 for argument in arguments]
    return statistics.median(times), statistics.quantiles(times, n=20, method="inclusive")[-1]


def folder_mb(folder: Path) -> float:
    """Return the total size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def measure(settings: Settings, size: int, parts: Sequence[str]) -> Figures:
    """Return all figures of one size. The store is created in the settings' home."""
    out = baselines(settings.home)
    out |= filling(settings, size)
    out |= {"index_mb": folder_mb(settings.paths.index), "markdown_mb": folder_mb(settings.paths.memories)}
    for name in parts:
        start = time.perf_counter()
        out |= PARTS[name](settings, size)
        print(f"  {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    if {"reindex_alone_s", "models"} <= out.keys():
        out["reindex_s"] = out["reindex_alone_s"] + size / out["models"]
    return out


def baselines(home: Path) -> Figures:
    """Measure the machine without memoryd."""
    bare = [sys.executable, "-I", "-S", "-c", "pass"]
    python, _ = milliseconds(lambda _: subprocess.run(bare, check=True), range(15))
    folder = home / "baseline"
    synced, _ = milliseconds(lambda n: write_atomic(folder / f"{n}.md", b"x" * 700), range(SYNCED_FILES))
    shutil.rmtree(folder)
    return {"python_ms": python, "sync_ms": synced}


def filling(settings: Settings, size: int) -> Figures:
    """Write the store in batches of 1,000, and a few memories one by one.

    The time for vectors is excluded, because they are synthetic.
    """
    embedder, encoder = synthetic.reused(settings)
    service = Orchestrator(settings, SystemClock(), embedder, encoder=encoder)
    service.catch_up()
    made, rates, used = synthetic.items(size), [], 0.0
    while batch := list(islice(made, 1_000)):
        cpu = time.process_time()
        rates.append(len(batch) / seconds(partial(service.write_many, batch)))
        used += time.process_time() - cpu
        service.settle(600)
    single, _ = milliseconds(service.write, synthetic.items(SINGLE_WRITES, first=10_000_000))
    service.settle(600)
    service.close()
    return {"write_queued": statistics.median(rates[-10:]), "write_ms": single, "write_cpu_ms": 1000 * used / size}


def with_models(settings: Settings, _size: int) -> Figures:
    """Measure writing with the real models until the vectors are stored, and the models alone."""
    embedder, encoder = make_embedder(settings), make_encoder(settings)
    warm(embedder)
    service = Orchestrator(settings, SystemClock(), embedder, encoder=encoder)
    service.catch_up()
    service.warm()
    service.settle(600)
    new = list(synthetic.items(EMBEDDED_WRITES, first=20_000_000))

    def write() -> None:
        service.write_many(new)
        service.settle(600)

    took = seconds(write)
    service.close()
    texts = [item.content for item in synthetic.items(EMBEDDED_WRITES, first=30_000_000)]
    alone = seconds(lambda: embedder.embed(texts))
    if encoder is not None:
        alone += seconds(lambda: encoder.encode(texts, [""] * len(texts)))
    return {"write_embedded": len(new) / took, "models": len(texts) / alone}


def day_dream(settings: Settings, _size: int) -> Figures:
    """Measure one session log through the pipeline, after a small one that triggers lazy loading."""
    embedder, encoder = synthetic.reused(settings)
    service, state = (
        Orchestrator(settings, SystemClock(), embedder, encoder=encoder),
        State(settings.paths.state_db, SystemClock()),
    )
    dreamer = DayDream(service, state, settings, SystemClock())
    for name, size in (("first", FIRST_LOG_MB), ("session", LOG_MB)):
        path = settings.home / f"{name}.jsonl"
        with path.open("wb") as stream:
            write_log(stream, Log(), size * MB, 0)
        state.enqueue(str(path), name, "/src", "SessionEnd")
        job = state.due_job()
        assert job is not None
        cpu = time.process_time()
        took = seconds(partial(dreamer.run_job, job))
        cpu = time.process_time() - cpu
    service.close()
    state.close()
    parsed = seconds(lambda: [orjson.loads(line) for line in path.open("rb")])
    return {"daydream_mb": LOG_MB / took, "daydream_cpu_mb": LOG_MB / cpu, "json_mb": LOG_MB / parsed}


def reindexing(settings: Settings, _size: int) -> Figures:
    """Rebuild all indexes from the Markdown alone, with stand-ins for the models."""
    embedder, encoder = synthetic.reused(settings)
    service = Orchestrator(settings, SystemClock(), embedder, encoder=encoder)

    def reindex() -> None:
        service.reindex()
        service.settle(3_600)

    took = seconds(reindex)
    count = service.health().memories
    service.close()
    return {"reindex": count / took, "reindex_alone_s": took}


def dreaming(_settings: Settings, size: int) -> Figures:
    """Plan a dream in a separate process, to measure its peak memory."""
    command = [sys.executable, "-m", "benchmarks.dream", "--sizes", str(size), "--json", "--no-labelled"]
    done = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parents[1])
    row = json.loads(done.stdout)["plans"][0]
    return {"dream_s": row["seconds"], "dream_mib": row["peak_mb"], "dream_stop_ms": row["longest_stop_ms"]}


# Through the daemon


def through_daemon(settings: Settings, _size: int) -> Figures:
    """Measure start, recall, hook, memory and idle CPU of a daemon over this store."""
    client = Client(settings.paths)
    texts = synthetic.Texts(seed=99)
    questions = [texts.question() for _ in range(QUERIES + WARM_UP + 1)]
    folder = folder_of_project(settings)
    try:
        out = {"literal_ready_ms": seconds(lambda: until_literal(settings, client, questions[0])) * 1000}
        out["cold_ms"] = seconds(lambda: recall(client, questions[0], "all")) * 1000
        until_warm(client)
        for question in questions[:WARM_UP]:
            recall(client, question, "all")
            recall(client, question, "project-3")
        asked, pid = questions[WARM_UP + 1 :], client.ping()[1]
        before = cpu_seconds(pid)
        out["recall_ms"], out["recall_p95_ms"] = milliseconds(lambda q: recall(client, q, "all"), asked)
        out["project_ms"], _ = milliseconds(lambda q: recall(client, q, "project-3"), asked)
        out["recall_cpu_ms"] = 1000 * (cpu_seconds(pid) - before) / (2 * len(asked))
        out["hook_ms"], out["hook_p95_ms"] = milliseconds(lambda q: prompt(settings, q, Path("/")), asked[:60])
        new = [texts.question() for _ in range(60)]
        out["hook_project_ms"], out["hook_project_p95_ms"] = milliseconds(lambda q: prompt(settings, q, folder), new)
        out["rss_mib"] = client.call("memory_status")["daemon"]["rss_bytes"] / 2**20
        out["idle_cpu"] = idle_cpu(pid)
        return out
    finally:
        client.stop()


def until_literal(settings: Settings, client: Client, question: str) -> None:
    """Start a daemon and query it until it answers from the full-text index."""
    ensure_daemon(settings, READY_SECONDS)
    client.call("recall", {"query": question, "project": "all", "backend": "markdown"}, timeout=READY_SECONDS)


def until_warm(client: Client, timeout: float = 900.0) -> None:
    """Wait until the indexes are synchronised and the models are loaded."""
    deadline = time.monotonic() + timeout
    while True:
        status = client.call("memory_status", timeout=60)
        if status["daemon"]["warm"] and not status["index"]["waiting_for_vectors"]:
            return
        if time.monotonic() > deadline:
            raise TimeoutError("the daemon is not warm")
        time.sleep(0.1)


def recall(client: Client, question: str, project: str) -> None:
    """Perform one recall and ignore its answer."""
    client.call("recall", {"query": question, "project": project}, timeout=60)


def folder_of_project(settings: Settings) -> Path:
    """Create a folder beside the home that the daemon maps to one of the store's projects."""
    folder = settings.home.with_name("work")
    folder.mkdir(exist_ok=True)
    entry = {"name": "project-3", "remotes": [], "dirs": {str(folder.resolve()): folder.stat().st_ino}}
    settings.paths.projects.parent.mkdir(parents=True, exist_ok=True)
    settings.paths.projects.write_text(json.dumps({"project-3": entry}), "utf-8")
    return folder


def prompt(settings: Settings, question: str, folder: Path) -> None:
    """Return the event that a hook sends with a prompt."""
    record = {"session_id": f"bench {folder.name}", "cwd": str(folder), "prompt": question}
    send_hook(settings.paths, "UserPromptSubmit", orjson.dumps(record))


def idle_cpu(pid: int) -> float:
    """Return the CPU use over some seconds without requests, as a percentage of one core."""
    time.sleep(IDLE_SECONDS)
    before = cpu_seconds(pid)
    time.sleep(IDLE_SECONDS)
    return 100 * (cpu_seconds(pid) - before) / IDLE_SECONDS


def cpu_seconds(pid: int) -> float:
    """Return the CPU time used by a process. 0 if unavailable."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def scanning(settings: Settings, _size: int) -> Figures:
    """Return the baseline of recall: the time to read all files and search them for a query's words."""
    texts = synthetic.Texts(seed=99)

    def scan(question: str) -> None:
        wanted = question.encode().split()
        found = [sum(map(path.read_bytes().count, wanted)) for path in settings.paths.memories.rglob("*.md")]
        sorted(found, reverse=True)

    return {"scan_ms": milliseconds(scan, [texts.question() for _ in range(SCANS)])[0]}


PARTS: dict[str, Callable[[Settings, int], Figures]] = {
    "daemon": through_daemon,
    "scan": scanning,
    "models": with_models,
    "daydream": day_dream,
    "reindex": reindexing,
    "dream": dreaming,
}


# Output


def exponent(sizes: Sequence[int], values: Sequence[float]) -> str:
    """Return the growth exponent of a figure for each pair of neighbouring sizes."""
    out = []
    for (small, low), (large, high) in zip(
        zip(sizes, values, strict=True), list(zip(sizes, values, strict=True))[1:], strict=False
    ):
        good = low > 0 and high > 0
        out.append(f"{math.log(high / low) / math.log(large / small):+.2f}" if good else "–")
    return " ".join(out)


def table(results: dict[int, Figures]) -> str:
    """Return one line for each figure."""
    sizes = sorted(results)
    lines = [f"{'':72}" + "".join(f"{size:>12,}" for size in sizes) + "   growth"]
    for name, (unit, what, grows) in SHOWN.items():
        if any(name not in results[size] for size in sizes):
            continue
        values = [results[size][name] for size in sizes]
        growth = exponent(sizes, values) if grows and len(sizes) > 1 else ""
        lines.append(f"{what + ', ' + unit:72}" + "".join(f"{value:>12,.1f}" for value in values) + f"   {growth}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of memories, separated by commas")
    parser.add_argument("--parts", default=",".join(PARTS), help="parts to measure: %(default)s (the store is always created)")
    parser.add_argument("--rank", help="maxsim, hybrid or bm25 (default: the default ranking)")
    parser.add_argument("--folder", type=Path, help="where to create the scratch homes (default: the system's temporary folder)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(arguments)
    if options.rank:
        os.environ["MEMORYD_RANK"] = options.rank  # For the daemon as well.
    results = {}
    for size in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="memoryd-bench-", dir=options.folder, ignore_cleanup_errors=True) as folder:
            start = time.perf_counter()
            results[size] = measure(load_settings(home=str(Path(folder) / "home")), size, options.parts.split(","))
            print(f"{size:,} memories: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(table(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
