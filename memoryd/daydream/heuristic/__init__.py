"""Reads sessions by rules, without a model: what is meant to hold becomes active, what looks promising is proposed."""

from memoryd.daydream.heuristic.extractor import HeuristicExtractor
from memoryd.daydream.heuristic.judge import Judge

__all__ = ["HeuristicExtractor", "Judge"]
