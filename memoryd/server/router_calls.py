"""The calls of the learned router: train it, and say what routes queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memoryd.config import Settings
from memoryd.errors import ConfigError, InputError
from memoryd.files import write_atomic
from memoryd.protocols import Embedder
from memoryd.ranking import Ranker
from memoryd.router import router_to_json
from memoryd.server.memory_calls import Caller
from memoryd.server.params import Params

# The ledger knows which memories were used, not what was asked: no query can be made of it.
NO_FEEDBACK = "none: what is noted of used memories does not include the queries"


class RouterCalls:
    """train_router, show_router."""

    def __init__(self, ranker: Ranker, embedder: Embedder | None, settings: Settings) -> None:
        self._ranker = ranker
        self._embedder = embedder
        self._settings = settings

    def train_router(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Learn from labelled queries (`labels`: a file; else those that come with memoryd), write the result and its scores.

        Without `out`, it is used from now on where it beat the rules.
        """
        from memoryd.router import training  # needed for this alone

        labels, out = params.text("labels"), params.text("out")
        params.done()
        if self._embedder is None:
            raise ConfigError("Without an embedder there is nothing to learn from.", fix="Set rank to maxsim or hybrid.")
        labelled = training.read_labels(Path(labels) if labels else training.LABELS_FILE)
        model = training.train(labelled, self._embedder.embed_queries, self._embedder.name)
        path = Path(out) if out else self._settings.paths.router
        if out and not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent}.", fix="Make it, or give another file.")
        try:
            write_atomic(path, router_to_json(model))
        except OSError as error:
            raise InputError(f"{path} can't be written: {error.strerror}.", fix="Give another file with --out.") from error
        self._ranker.reload_router()
        return {"path": str(path), "beat_rules": model.used, "scores": dict(model.scores), "feedback": NO_FEEDBACK, **self._now()}

    def show_router(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What routes queries, and why."""
        params.done()
        return {"path": str(self._settings.paths.router), **self._now()}

    def _now(self) -> dict[str, Any]:
        return self._ranker.router.as_dict()
