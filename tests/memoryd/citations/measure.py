"""Print how many states of cited code are correct in repositories generated from these seeds: `python -m … SEED…`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.staleness import states
from tests.memoryd.citations.test_generated_repository import grown


def main(seeds: list[int]) -> None:
    """Compare on each branch of each repository."""
    right = total = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            found = states(grown(Path(folder) / "r", seed))
        right, total = right + found[0], total + found[1]
    print(f"{right} of {total} right")


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
