"""Read sessions by rules, without a model. Explicit statements become active, and promising ones are proposed."""

from memoryd.daydream.offline.reader import ActClassifier, HeuristicExtractor

__all__ = ["HeuristicExtractor", "ActClassifier"]
