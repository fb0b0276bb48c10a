"""Statistics on values per question: intervals, paired tests and the correction of multiple tests. They are pure and seeded."""

from memeval.stats.compare import Comparison, compare, holm, mcnemar_exact, paired_permutation
from memeval.stats.intervals import FEW, Interval, bootstrap_difference, bootstrap_mean, cluster_mean, cluster_p, wilson

SEED = 20240229
"""Default seed; results record the one that was used."""

__all__ = [
    "FEW",
    "SEED",
    "Comparison",
    "Interval",
    "bootstrap_difference",
    "bootstrap_mean",
    "cluster_mean",
    "cluster_p",
    "compare",
    "holm",
    "mcnemar_exact",
    "paired_permutation",
    "wilson",
]
