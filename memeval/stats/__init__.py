"""Statistics on per-question values: intervals, paired tests, and their correction. Pure, seeded, one file each."""

from memeval.stats.bootstrap import bootstrap_difference, bootstrap_mean
from memeval.stats.clusters import FEW, cluster_mean, cluster_p
from memeval.stats.compare import Comparison, compare
from memeval.stats.holm import holm
from memeval.stats.interval import Interval
from memeval.stats.mcnemar import mcnemar_exact
from memeval.stats.permutation import paired_permutation
from memeval.stats.wilson import wilson

SEED = 20240229
"""Used where no other seed is given; results store the one that was used."""

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
