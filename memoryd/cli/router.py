"""Commands for the learned router."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from memoryd.api import routers
from memoryd.cli.options import takes
from memoryd.cli.root import Context, json_option, pass_context

TRAINING_SECONDS = 300.0


@click.group("router")
@json_option
def router() -> None:
    """Train the query router. It is used only if it outperforms the rules."""


@router.command("train")
@takes(routers.train_router)
@json_option
@pass_context
def train(context: Context, /, feedback: bool, **options: Any) -> None:
    """Train on labelled queries and feedback, and compare with the rules on held-out queries."""
    result = context.call("train_router", TRAINING_SECONDS, feedback=feedback, **options)
    if context.show(result):
        return
    scores = result["scores"]
    rows = [(name, f"{scores[name]['accuracy']:.3f}", _interval(scores[name])) for name in ("learned", "rules")]
    context.output.table(("router", "right", "95 % interval"), rows)
    pairs = f"only the learned one right {scores['only_learned']}, only the rules {scores['only_rules']}, p = {scores['p']:.3g}"
    context.output.line(f"{scores['n']} queries, {scores['folds']} folds; {pairs} (McNemar)")
    context.output.line(_feedback(result, feedback))
    context.output.line(f"written to {result['path']}; {'beat' if result['beat_rules'] else 'did not beat'} the rules")
    context.output.line(f"used: {result['used']}, because {result['reason']}")


@router.command("show")
@json_option
@pass_context
def show(context: Context, /) -> None:
    """Show which router is active, and why."""
    result = context.call("show_router")
    if not context.show(result):
        context.output.line(f"{result['used']}: {result['reason']}")


def _feedback(result: Mapping[str, Any], asked: bool) -> str:
    if not asked:
        return "feedback: not used"
    counts, used = result["feedback"], result["scores"].get("feedback")
    others = f"{counts['undecided']} more are inconclusive, the logs of {counts['logs_gone']} sessions were deleted"
    if not used:
        return f"feedback: no prompts; {others}"
    without = f"accuracy without them {used['without']['accuracy']:.3f}"
    return f"feedback: {used['rows']} prompts, each weighted {used['weight']:.2f} of a labelled query; {without}; {others}"


def _interval(score: Mapping[str, Any]) -> str:
    return f"{score['low']:.3f}-{score['high']:.3f}"


COMMANDS = (router,)
