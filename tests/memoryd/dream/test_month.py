from __future__ import annotations

from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from memoryd.core import codec
from memoryd.core.types import Status
from tests.memoryd.dream.month import (
    BLOG,
    CAP,
    FORGOTTEN_ON,
    FREEZE,
    FREEZE_ENDS,
    LANGUAGE,
    NIGHTS,
    PORT,
    RULE,
    SHARED,
    SHOP,
    START,
    Month,
)
from tests.memoryd.dream.sweeping import tree

pytestmark = pytest.mark.slow
QUESTIONS = (("Which port does the staging database listen on?", PORT), ("In which language are commit messages?", LANGUAGE))


def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assign ids in order, so that two runs can be compared byte by byte."""
    numbers = count(1)
    monkeypatch.setattr(codec, "new_id", lambda: f"mem_{next(numbers):012x}")


def truth(answers: tuple[tuple[int, str, str], ...], day: int) -> str:
    return [word for first, _, word in answers if first <= day][-1]


def check(month: Month, day: int) -> None:
    for question, answers in QUESTIONS:
        if day >= answers[0][0]:
            _check_answer(month, day, question, answers)
    if day >= RULE[0][0]:
        assert "make lint" in month.ask("What is to be run before committing?")[0].content
        assert len(month.current("make lint")) == 1, [item.content for item in month.current("make lint")]
    if day >= FORGOTTEN_ON:
        assert month.current("global Redis cache") == []
        assert not any("Redis" in item.content for item in month.ask("Which cache is used for user sessions?"))
    freeze = any(item.content == FREEZE for item in month.ask("Is there a code freeze for the spring release?"))
    assert freeze == (day >= 3 and month.clock.now() < FREEZE_ENDS)
    for project in (SHOP, BLOG):
        assert month.active(project) <= CAP


def _check_answer(month: Month, day: int, question: str, answers: tuple[tuple[int, str, str], ...]) -> None:
    word = truth(answers, day)
    found = month.ask(question)
    assert word in found[0].content, (day, question, [item.content for item in found])
    topic = [item.content for item in found if item.content in [text for _, text, _ in answers]]
    assert all(word in text for text in topic), (day, topic)
    for first, _, _ in answers:
        evening = START + timedelta(days=first - 1, hours=12)
        if first < day and evening < month.clock.now() - timedelta(days=1):
            then = month.ask(question, as_of=evening)
            assert truth(answers, first) in then[0].content, (day, first, [item.content for item in then])


def test_after_each_night_of_a_month_the_truth_is_known_and_the_store_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbered(monkeypatch)
    month = Month(tmp_path / "home")
    month.live(check)
    assert len(month.nights) == NIGHTS
    assert len(month.current(SHARED)) == 2, "each project keeps its own"
    assert len(month.asked) == 1, month.asked
    assert month.sweep.proposals.waiting() == []
    assert month.sweep.run("again").entry == ""
    dropped = [item for item in month.store.all() if item.status is Status.SUPERSEDED]
    assert all(item.expired_at and item.expired_at >= item.created_at for item in dropped)
    first = tree(month.store.folder)
    month.close()

    numbered(monkeypatch)
    again = Month(tmp_path / "again")
    again.live(lambda month, day: None)
    assert tree(again.store.folder) == first
    again.close()
