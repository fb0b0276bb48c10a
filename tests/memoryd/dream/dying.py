"""Run by test_journal_crash: a sweep and an undo that are killed before the n-th durable step, then a recovery.

Prints one JSON line for each kill: the number of steps, and the memory files after the recovery.
Usage: python -m tests.memoryd.dream.dying HOME {sweep|undo} STRIDE
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memoryd.core.config import Settings, load_settings
from memoryd.core.state import State
from memoryd.dream.sweep import Sweep
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock
from tests.memoryd.dream.sweeping import decay, fill, merge, planned, tree


class Steps:
    """Counts durable steps of this process and kills it before a given one."""

    def __init__(self, fatal: int) -> None:
        self.count = 0
        self._fatal = fatal
        for owner, name in ((os, "fsync"), (os, "link"), (os, "utime"), (pathlib.Path, "replace"), (pathlib.Path, "rename"),
                            (pathlib.Path, "unlink")):  # fmt: skip
            setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **kwargs: Any) -> Any:
            if self.count == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1
            return real(*args, **kwargs)

        return step


def in_child(work: Callable[[], str]) -> str:
    """Return the result of work in a child process. Empty if the child was killed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            os.write(writing, work().encode())
        finally:  # A child that continued would run the rest of the tests a second time, and keep its parent's pipes open.
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    assert said or os.WIFSIGNALED(status), "the child failed"
    return said


def opened(settings: Settings) -> tuple[Orchestrator, State, FakeClock]:
    clock = FakeClock()
    state = State(settings.paths.state_db, clock)
    return Orchestrator(settings, clock, None, state.ledger), state, clock


def prepare(settings: Settings, with_sweep: bool) -> str:
    store, state, clock = opened(settings)
    store.catch_up()
    fill(store, 6)
    foreign = store.folder / "user" / "notes" / "idea.md"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("---\ntitle: An idea\n---\nKeep the shop small.\n")
    store.sync([foreign])
    if with_sweep:
        sweep_of(settings, store, state, clock).run("by hand")
    return "ready"


def sweep_of(settings: Settings, store: Orchestrator, state: State, clock: FakeClock) -> Sweep:
    ids = sorted(item.id for item in store.all() if item.content.startswith("Fact"))
    note = next(item.id for item in store.all() if item.content.startswith("Keep"))
    if state.note("dream last run"):
        return Sweep(store, state, settings, clock, planned())
    return Sweep(
        store, state, settings, clock, planned([*merge(store, clock, *ids[:2]), decay(store, note), decay(store, ids[2])])
    )


def work(settings: Settings, what: str, fatal: int) -> str:
    store, state, clock = opened(settings)
    store.catch_up()
    sweep = sweep_of(settings, store, state, clock)
    steps = Steps(fatal)
    if what == "sweep":
        sweep.run("by hand")
    else:
        sweep.undo()
    return str(steps.count)


def mend(settings: Settings) -> str:
    store, state, clock = opened(settings)
    Sweep(store, state, settings, clock, planned()).recover()
    store.catch_up()
    steps = [head.step.value for head in Sweep(store, state, settings, clock, planned()).journal.heads()]
    indexed = {item.id: store.path_of(item.id) for item in store.all()}
    return json.dumps(
        {
            "files": files(settings),
            "times": {path: (store.folder / path).stat().st_mtime_ns for path in tree(store.folder) if path.endswith("idea.md")},
            "steps": steps,
            "edited": sorted(state.ledger.edited()),
            "indexed": sorted(str(path.relative_to(store.folder)) for path in indexed.values() if path),
            "unfinished": [path.name for path in settings.paths.journal.glob(".tmp-*")],
        }
    )


def files(settings: Settings) -> dict[str, str]:
    return {path: hashlib.sha256(data).hexdigest() for path, data in tree(settings.paths.memories).items()}


def main(home: Path, what: str, stride: int) -> None:
    start = load_settings({}, home=str(home / "start"), embedder="hash")
    in_child(lambda: prepare(start, what == "undo"))

    def run(fatal: int) -> tuple[str, str]:
        settings = load_settings({}, home=str(home / "run"), embedder="hash")
        shutil.rmtree(settings.home, ignore_errors=True)
        shutil.copytree(start.home, settings.home)
        return in_child(lambda: work(settings, what, fatal)), in_child(lambda: mend(settings))

    count, whole = run(-1)
    sys.stdout.write(json.dumps({"count": int(count), "before": files(start), "after": json.loads(whole)}) + "\n")
    for fatal in range(0, int(count), stride):
        said, mended = run(fatal)
        sys.stdout.write(json.dumps({"fatal": fatal, "killed": not said, **json.loads(mended)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
