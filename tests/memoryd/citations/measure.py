"""Print how many states of cited code are correct in repositories generated from these seeds: `python -m … SEED…`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from memoryd.citations.check import CodeCheck, overall
from tests.memoryd.citations.test_generated_repository import grown


def main(seeds: list[int]) -> None:
    """Compare on each branch of each repository."""
    right = total = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            repository = grown(Path(folder) / "r", seed)
            for branch in sorted(repository.branches):
                repository.checkout(branch)
                check = CodeCheck()
                for learnt in repository.learnt:
                    found = overall(check.thorough(repository.root, learnt.cites))
                    total, right = total + 1, right + (found.state is repository.expected(learnt))
    print(f"{right} of {total} right")


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
