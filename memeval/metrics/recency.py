"""Recency: the share of questions where the freshest relevant item ranks first.

    recency = 1 if the first retrieved piece covers the freshest relevant id, else 0; the mean over questions is the metric

Source: own (the platform's design). With one relevant id it is recall_any@1; it tells more where a fact was updated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime


def recency(ranked: Sequence[Sequence[str]], relevant: Sequence[str], dates: Mapping[str, datetime]) -> float | None:
    """Value for one question. `dates` holds when each id was said; of several freshest ids any one counts.

    Unscored when nothing is relevant, a relevant id has no date, or no piece says where it comes from.
    """
    if not relevant or any(item not in dates for item in relevant) or (ranked and not any(ranked)):
        return None
    newest = max(dates[item] for item in relevant)
    freshest = {item for item in relevant if dates[item] == newest}
    return float(bool(ranked) and not freshest.isdisjoint(ranked[0]))
