"""ContextBench: recall and precision of the code needed for a task.

    recall = seen and needed / needed       precision = seen and needed / seen, 1 when nothing was seen
    F1 = 2 · seen and needed / (seen + needed)

These are computed by file and by line, and repeated lines count once. Block recall is the share of needed blocks with at
least one line seen. Source: compute_granularity_metrics in contextbench/metrics/compute.py of ContextBench (2026), which calls
recall coverage. The authors also count syntax-tree definitions (`symbol`), which is not done here. They sum the sizes over all
tasks before dividing, whereas a run here reports the mean over tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from memeval.core.types import Score

Block = tuple[str, int, int]
"""A file with the first and last line of a range, starting at 1 and inclusive."""
_JUDGE = "context"


def line_sets(blocks: Iterable[Block]) -> dict[str, set[int]]:
    """Return the line numbers of each file."""
    lines: dict[str, set[int]] = defaultdict(set)
    for file, start, end in blocks:
        lines[file].update(range(start, end + 1))
    return dict(lines)


def context_values(seen: Mapping[str, set[int]], gold: Sequence[Block]) -> dict[str, float]:
    """Compute all values. Return nothing if there is no gold.

    A file in `seen` without lines counts only at the file level.
    """
    if not gold:
        return {}
    needed = line_sets(gold)
    wanted = {(file, line) for file, numbers in needed.items() for line in numbers}
    lines = {(file, line) for file, numbers in seen.items() for line in numbers}
    touched = sum(any((file, line) in lines for line in range(start, end + 1)) for file, start, end in gold)
    return {
        **_values("context_file", len(seen), len(needed), len(seen.keys() & needed.keys())),
        **_values("context_line", len(lines), len(wanted), len(lines & wanted)),
        "context_block_recall": touched / len(gold),
    }


def context_scores(seen: Mapping[str, set[int]], gold: Sequence[Block], suffix: str = "") -> list[Score]:
    """Return the values as scores. The `suffix` (such as `@5`) is appended to each name."""
    return [Score(f"{name}{suffix}", value, "", _JUDGE) for name, value in context_values(seen, gold).items()]


def _values(name: str, seen: int, needed: int, both: int) -> dict[str, float]:
    return {
        f"{name}_recall": both / needed,
        f"{name}_precision": both / seen if seen else 1.0,
        f"{name}_f1": 2 * both / (seen + needed),
    }
