"""F1 of what was retrieved: harmonic mean over ids of precision and recall.

    p = |found ∩ relevant| / |found|, r = |found ∩ relevant| / |relevant|, F1 = 2pr / (p + r)

with the ids of the first k pieces as found.

Source: van Rijsbergen 1979, chapter 7; ContextBench reports it for retrieved files, blocks and lines.
The F1 of answers is another thing: `memeval.core.overlap`.
"""

from __future__ import annotations

from collections.abc import Sequence

from memeval.metrics.ranking import ranking_metric


@ranking_metric("f1")
def f1(top: Sequence[frozenset[str]], relevant: frozenset[str], k: int) -> float:
    """F1 between 0 and 1; 0 when nothing relevant was found."""
    found: frozenset[str] = frozenset().union(*top)
    common = len(found & relevant)
    return 2 * common / (len(found) + len(relevant)) if common else 0.0
