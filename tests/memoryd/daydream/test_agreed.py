"""The agent's words do not become the user's rule when the user agrees."""

from __future__ import annotations

import pytest

from memoryd.core.types import AGREED_TAG, Candidate, Kind, Polarity, Source, Turn, TurnKind
from memoryd.daydream.admission import as_agreed


def turn(text: str, **values: object) -> Turn:
    return Turn(TurnKind.USER, text, "u1", 3, **values)  # type: ignore[arg-type]


RULE = Candidate("Always send the build to the depot.", Kind.RULE, Polarity.DO, uuids=("u1",), lines=(3,))


@pytest.mark.parametrize(
    "said",
    [
        turn("yes, do that"),
        turn("2"),
        turn("Let's go with option 2"),
        turn("Depot", via="answer", tool="AskUserQuestion", detail="Always send the build to the depot?"),
        turn("Always send the build to the depot.", via="answer", offered=True),
    ],
)
def test_words_of_the_agent_become_a_decision_that_was_agreed_to(said: Turn) -> None:
    got = as_agreed(RULE, [said])
    assert (got.source, got.kind, got.polarity, got.tags) == (Source.AGENT_STEP, Kind.DECISION, Polarity.KNOW, (AGREED_TAG,))


@pytest.mark.parametrize(
    "said",
    [
        turn("always send the build to the depot"),
        turn("Always send the build to the depot, please.", via="answer", detail="Where?"),
    ],
)
def test_the_users_own_words_stay_a_rule(said: Turn) -> None:
    assert as_agreed(RULE, [said]) == RULE
