from __future__ import annotations

import pytest

from memeval.core.types import Case, Question, QuestionType, Retrieved, Session, Turn
from memeval.metrics import VARIANTS, targets
from memeval.metrics.targets import scorer, user_side
from memeval.registry import metric

SESSIONS = (
    Session("s1", (Turn("s1:1", "user", "I moved to Oslo."), Turn("s1:2", "assistant", "Nice."))),
    Session("s2", (Turn("s2:1", "user", "Any tips?"), Turn("s2:2", "assistant", "Try the Munch museum."))),
    Session("s3", (Turn("s3:1", "user", "Bye."),)),
)


def question(sessions: tuple[str, ...], turns: tuple[str, ...], kind: QuestionType = QuestionType.MULTI_HOP) -> Question:
    return Question("q", "?", kind, ("x",), evidence_sessions=sessions, evidence_turns=turns)


def found(variant: str, level: str, asked: Question) -> tuple[str, ...]:
    return targets(variant, asked, Case("c", SESSIONS, (asked,)), level).ids


def test_the_official_variant_counts_what_the_user_said() -> None:
    both = question(("s1", "s2"), ("s1:1", "s2:2"))
    assert found("official", "session", both) == ("s1",)
    assert found("official", "turn", both) == ("s1:1",)
    assert found("community", "session", both) == ("s1", "s2")
    assert found("community", "turn", both) == ("s1:1", "s2:2")


def test_the_official_variant_skips_what_has_no_target_on_the_users_side() -> None:
    asked = question(("s2",), ("s2:2",))
    result = targets("official", asked, Case("c", SESSIONS, ()), "session")
    assert (result.ids, result.skipped) == ((), "no target on the user's side")
    assert found("community", "session", asked) == ("s2",)


@pytest.mark.parametrize("variant", ["", "official", "community", "community_answerable"])
def test_a_ranking_that_begins_with_the_evidence_has_the_best_official_ndcg_in_every_variant(variant: str) -> None:
    asked = question(("s1",), ("s1:1",))
    aim = targets(variant, asked, Case("c", SESSIONS, (asked,)), "session")
    pieces = [Retrieved(turn.text, sessions=(turn.id[:2],), turns=(turn.id,)) for session in SESSIONS for turn in session.turns]
    assert scorer(pieces, aim, "turn")(metric.get("ndcg_official"), 3) == 1.0


def test_abstention_questions_count_in_the_community_variant_only() -> None:
    asked = question(("s1",), ("s1:1",), QuestionType.ABSTENTION)
    assert targets("official", asked, Case("c", SESSIONS, ()), "session").skipped == "abstention question"
    assert found("community", "session", asked) == ("s1",)
    assert targets("community_answerable", asked, Case("c", SESSIONS, ()), "session").skipped == "abstention question"
    assert found("community_answerable", "session", question(("s1",), ("s1:1",))) == ("s1",)


def test_evidence_that_does_not_exist_is_left_out_and_reported() -> None:
    assert found("locomo", "turn", question((), ("s1:1", "nowhere", "s1:1"))) == ("s1:1",)
    result = targets("", question(("gone",), ()), Case("c", SESSIONS, ()), "session")
    assert (result.variant, result.skipped) == ("evidence", "no evidence that can be resolved")


def test_an_unknown_variant_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="official, community"):
        found("best", "session", question((), ()))
    assert set(VARIANTS) == {
        "evidence", "locomo", "locomo_official", "official", "community", "community_answerable",
    }  # fmt: skip


def test_the_user_side_of_a_session() -> None:
    assert [turn.id for turn in user_side(SESSIONS[0]).turns] == ["s1:1"]
