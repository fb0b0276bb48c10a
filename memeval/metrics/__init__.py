"""Metrics, one file for each, with formula and source.

Rankings (registered; `registry.metric.get(name)(ranked, relevant, k)`): recall_any, recall_all, recall_fraction,
precision, f1, ndcg, ndcg_official, mrr. Over a whole run: accuracy, abstention, latency, usage. The four of the
design: recency, efficiency, relevancy, accuracy_gain. `targets` says what counts as found, by protocol.

All give values per question (or take them), so that means, intervals and paired tests come later from the same arrays.
"""

from memeval.metrics.abstention import Abstention, abstention
from memeval.metrics.accuracy import Accuracy, Cell, Outcome, accuracy
from memeval.metrics.accuracy_gain import Gain, accuracy_gain
from memeval.metrics.efficiency import efficiency
from memeval.metrics.f1 import f1
from memeval.metrics.latency import Latency, latency, percentile
from memeval.metrics.mrr import mrr
from memeval.metrics.ndcg import ndcg, ndcg_official
from memeval.metrics.precision import precision
from memeval.metrics.ranking import CUT_OFFS, RankingMetric, rank_by
from memeval.metrics.recall import recall_all, recall_any, recall_fraction
from memeval.metrics.recency import recency
from memeval.metrics.relevancy import relevancy
from memeval.metrics.targets import VARIANTS, Targets, targets
from memeval.metrics.usage import total_usage

__all__ = [
    "CUT_OFFS",
    "VARIANTS",
    "Abstention",
    "Accuracy",
    "Cell",
    "Gain",
    "Latency",
    "Outcome",
    "RankingMetric",
    "Targets",
    "abstention",
    "accuracy",
    "accuracy_gain",
    "efficiency",
    "f1",
    "latency",
    "mrr",
    "ndcg",
    "ndcg_official",
    "percentile",
    "precision",
    "rank_by",
    "recall_all",
    "recall_any",
    "recall_fraction",
    "recency",
    "relevancy",
    "targets",
    "total_usage",
]
