"""Measure what checking cited code adds to a whole recall, in a generated repository with 60 commits and 100 memories.

    python -m benchmarks.staleness [--seed N] [--recalls N]

Two scratch homes hold the same memories, in one of them without citations. Turns of recalls alternate between the two, so that
other work on the machine slows both alike. The states of the cited code are compared with what the generator did.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memoryd.api.dispatch import Api
from memoryd.citations.check import CodeCheck, overall
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.types import Kind, MemoryItem
from tests.memoryd.citations.generated import GeneratedRepository
from tests.memoryd.citations.test_generated_repository import grown

TURN = 10  # recalls


def filled(home: Path, repository: GeneratedRepository, *, cited: bool) -> Api:
    """Return an API over a home with the repository's memories."""
    api = Api(Settings(home=home), SystemClock())
    project = api._registry.resolve(str(repository.root)).id
    texts = [f"{learnt.name}() in {learnt.unit.path} rounds before it sums." for learnt in repository.learnt]
    items = [
        MemoryItem(text, kind=Kind.FACT, project=project, cites=learnt.cites if cited else ())
        for text, learnt in zip(texts, repository.learnt, strict=True)
    ]
    api._service.write_many(items)
    api._service.settle()
    return api


def measure(api: Api, repository: GeneratedRepository, numbers: Sequence[int]) -> list[tuple[float, float]]:
    """Return the milliseconds of each recall, by the clock and of CPU."""
    taken = []
    for number in numbers:
        name = repository.learnt[number % len(repository.learnt)].name
        query = {"query": f"How does {name} round?", "cwd": str(repository.root), "caller": "model"}
        begun, used = time.perf_counter(), time.process_time()
        api.call("recall", query)
        taken.append(((time.perf_counter() - begun) * 1000, (time.process_time() - used) * 1000))
    return taken


def states(repository: GeneratedRepository) -> tuple[int, int]:
    """Return how many states of cited code are right on all branches, and how many there are."""
    right = total = 0
    for branch in sorted(repository.branches):
        repository.checkout(branch)
        check = CodeCheck()
        for learnt in repository.learnt:
            found = overall(check.thorough(repository.root, learnt.cites))
            total, right = total + 1, right + (found.state is repository.expected(learnt))
    return right, total


def percentile(taken: Sequence[float], share: int) -> float:
    """Return a percentile."""
    return sorted(taken)[len(taken) * share // 100]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the states that are right, and p50 and p95 of recalls without and with citations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--recalls", type=int, default=200)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        repository = grown(Path(name) / "shop", options.seed)
        print(f"{repository.commits} commits, {len(repository.learnt)} memories, {len(repository.branches)} branches")
        print("states right: {} of {}".format(*states(repository)))
        apis = [filled(Path(name) / f"home-{cited}", repository, cited=cited) for cited in (False, True)]
        try:
            for api in apis:
                measure(api, repository, range(TURN))
            taken: list[list[tuple[float, float]]] = [[], []]
            for start in range(0, options.recalls, TURN):
                for which, api in enumerate(apis):
                    taken[which] += measure(api, repository, range(start, start + TURN))
            for at, unit in enumerate(("clock", "CPU")):
                without, cited = ([each[at] for each in times] for times in taken)
                for share in (50, 95):
                    one, other = percentile(without, share), percentile(cited, share)
                    print(f"{unit}, p{share}: without {one:.2f} ms, with citations {other:.2f} ms, added {other - one:.2f} ms")
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        finally:
            for api in apis:
                api.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
