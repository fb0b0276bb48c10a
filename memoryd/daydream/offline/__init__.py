"""Read sessions by rules, without a model. Explicit statements become active, and promising ones are proposed."""

from memoryd.daydream.offline.reader import HeuristicExtractor, Judge

__all__ = ["HeuristicExtractor", "Judge"]
