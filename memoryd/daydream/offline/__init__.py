"""Rule-based reading of sessions, without a model. Explicit statements become active. Promising ones are proposed."""

from memoryd.daydream.offline.reader import ActClassifier, HeuristicExtractor

__all__ = ["HeuristicExtractor", "ActClassifier"]
