"""Read sessions by rules, without a model: explicit statements become active, promising ones are proposed."""

from memoryd.daydream.offline.reader import HeuristicExtractor, Judge

__all__ = ["HeuristicExtractor", "Judge"]
