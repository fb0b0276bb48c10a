"""Reads sessions by rules, without a model: what is meant to hold becomes active, what looks promising is proposed."""

from memoryd.daydream.offline.reader import HeuristicExtractor, Judge

__all__ = ["HeuristicExtractor", "Judge"]
