"""Operations that train the learned router, and show the current router."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from memoryd.api.parameters import NoParameters, flag, path, request
from memoryd.api.registry import Caller, operation
from memoryd.core.errors import ConfigError, InputError
from memoryd.core.files import write_atomic

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime


class Used(TypedDict):
    """The current router, and why it is used."""

    used: str
    reason: str
    problem: str


class RouterState(Used):
    """The current router, and the file of the learned router."""

    path: str


@request
class TrainRouter:
    """The training data and the output file."""

    labels: str = path(help="JSON with labelled queries, instead of the bundled ones.")
    out: str = path(help="Write to this file without using it, instead of to the home folder.")
    feedback: bool = flag(
        default=True, flags=("--feedback/--no-feedback",), help="Also learn from prompts whose memories were useful (default)."
    )


class TrainedRouter(RouterState):
    """The router used after training, with scores on held-out queries."""

    beat_rules: bool
    scores: dict[str, Any]
    feedback: dict[str, Any]


@operation(TrainRouter, TrainedRouter, person_only=True)
def train_router(runtime: Runtime, request: TrainRouter, caller: Caller) -> TrainedRouter:
    """Train the router on the labelled queries in the file `labels` (default: bundled queries), and save it with its scores.

    With `feedback` (the default), also learn from prompts with useful memories (see `router_feedback`). Without
    `out`, the result is used from now on if it beats the rules.
    """
    from memoryd.api import router_feedback
    from memoryd.retrieval import router_to_json, training

    labels, out, asked = request.labels, request.out, request.feedback
    if runtime.embedder is None:
        raise ConfigError("Training requires an embedder.", fix="Set rank to maxsim or hybrid.")
    labelled = training.read_labels(Path(labels) if labels else training.LABELS_FILE)
    found = router_feedback.Feedback([])
    if asked:
        backends = sorted({row.backend for row in labelled})
        found = router_feedback.feedback(runtime.state, runtime.service.search, runtime.clock.now(), backends)
    model = training.train(labelled, runtime.embedder.embed_queries, runtime.embedder.name, found.rows)
    path = Path(out) if out else runtime.settings.paths.router
    if out and not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent}.", fix="Create it, or give another file.")
    try:
        write_atomic(path, router_to_json(model))
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror}.", fix="Give another file with --out.") from error
    runtime.service.ranker.reload_router()
    return {
        "path": str(path),
        "beat_rules": model.used,
        "scores": dict(model.scores),
        "feedback": found.as_dict(),
        **_used(runtime),
    }


@operation(NoParameters, RouterState, form="How queries are routed")
def show_router(runtime: Runtime, request: NoParameters, caller: Caller) -> RouterState:
    """Show the current router and why it is used."""
    return {"path": str(runtime.settings.paths.router), **_used(runtime)}


def _used(runtime: Runtime) -> Used:
    return cast("Used", runtime.service.ranker.router.as_dict())
