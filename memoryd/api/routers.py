"""The calls of the learned router: train it, and say what routes queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memoryd.api.memories import Caller
from memoryd.api.params import Params
from memoryd.config import Settings
from memoryd.errors import ConfigError, InputError
from memoryd.files import write_atomic
from memoryd.protocols import Clock, Embedder
from memoryd.router import router_to_json
from memoryd.service import Orchestrator
from memoryd.state import State


class RouterCalls:
    """train_router, show_router."""

    def __init__(self, service: Orchestrator, embedder: Embedder | None, settings: Settings, state: State, clock: Clock) -> None:
        self._service = service
        self._embedder = embedder
        self._settings = settings
        self._state = state
        self._clock = clock

    def train_router(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Learn from labelled queries (`labels`: a file; else those that come with memoryd), write the result and its scores.

        With `feedback` (the default) also from prompts whose memories were of use (see `router_feedback`).
        Without `out`, it is used from now on where it beat the rules.
        """
        from memoryd.api import router_feedback
        from memoryd.router import training  # needed for this alone

        labels, out, asked = params.text("labels"), params.text("out"), params.flag("feedback", True)
        params.done()
        if self._embedder is None:
            raise ConfigError("Without an embedder there is nothing to learn from.", fix="Set rank to maxsim or hybrid.")
        labelled = training.read_labels(Path(labels) if labels else training.LABELS_FILE)
        told = router_feedback.Feedback([])
        if asked:
            backends = sorted({row.backend for row in labelled})
            told = router_feedback.feedback(self._state, self._service.search, self._clock.now(), backends)
        model = training.train(labelled, self._embedder.embed_queries, self._embedder.name, told.rows)
        path = Path(out) if out else self._settings.paths.router
        if out and not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent}.", fix="Make it, or give another file.")
        try:
            write_atomic(path, router_to_json(model))
        except OSError as error:
            raise InputError(f"{path} can't be written: {error.strerror}.", fix="Give another file with --out.") from error
        self._service.ranker.reload_router()
        scores = dict(model.scores)
        return {"path": str(path), "beat_rules": model.used, "scores": scores, "feedback": told.as_dict(), **self._now()}

    def show_router(self, params: Params, caller: Caller) -> dict[str, Any]:
        """What routes queries, and why."""
        params.done()
        return {"path": str(self._settings.paths.router), **self._now()}

    def _now(self) -> dict[str, Any]:
        return self._service.ranker.router.as_dict()
