"""Metrics, documented with their formulas and sources.

Rankings (registered; `registry.metric.get(name)(ranked, relevant, k)`): recall_any, recall_all, recall_fraction, precision,
f1, ndcg, ndcg_official, mrr. Over a whole run: accuracy, abstention, latency, usage. Memory-specific: recency,
efficiency, relevancy, accuracy_gain. `targets` defines the relevant ids of each protocol.

All metrics produce or consume per-question values, so that means, intervals and paired tests use the same arrays.
"""

from memeval.metrics.answers import (
    Abstention,
    Accuracy,
    AccuracyGain,
    AnswerOutcome,
    AnswerRow,
    abstention,
    accuracy,
    accuracy_gain,
)
from memeval.metrics.ranking import (
    CUT_OFFS,
    RankingMetric,
    f1,
    mrr,
    ndcg,
    ndcg_official,
    precision,
    rank_by,
    recall_all,
    recall_any,
    recall_fraction,
    recency,
    relevancy,
)
from memeval.metrics.targets import VARIANTS, Targets, targets
from memeval.metrics.usage import Latency, efficiency, latency, percentile, total_usage

__all__ = [
    "CUT_OFFS",
    "VARIANTS",
    "Abstention",
    "Accuracy",
    "AnswerRow",
    "AccuracyGain",
    "Latency",
    "AnswerOutcome",
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
