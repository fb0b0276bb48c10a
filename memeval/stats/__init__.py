"""Pure, seeded statistics on per-question values: intervals, paired tests and corrections for multiple tests."""

from memeval.stats.compare import Comparison, compare, holm, mcnemar_exact, paired_permutation
from memeval.stats.exact import MAX_EXACT, exact_difference, score_difference
from memeval.stats.intervals import FEW, Interval, bootstrap_difference, bootstrap_mean, cluster_mean, cluster_p, wilson
from memeval.stats.power import POWER, Design, half_width, observed_design, power, questions_needed, smallest_detectable

SEED = 20240229
"""Default seed. Results record the seed in use."""

__all__ = [
    "FEW",
    "MAX_EXACT",
    "SEED",
    "POWER",
    "Comparison",
    "Design",
    "Interval",
    "bootstrap_difference",
    "bootstrap_mean",
    "cluster_mean",
    "cluster_p",
    "compare",
    "exact_difference",
    "half_width",
    "holm",
    "mcnemar_exact",
    "observed_design",
    "paired_permutation",
    "power",
    "questions_needed",
    "score_difference",
    "smallest_detectable",
    "wilson",
]
