"""Finds what is worth keeping by cue words, without a model."""

from memoryd.daydream.heuristic.extractor import HeuristicExtractor

__all__ = ["HeuristicExtractor"]
