from __future__ import annotations

from pathlib import Path

import pytest

from memoryd.citations.repository import blob_id
from memoryd.core.types import Citation, Kind, Polarity
from memoryd.service import Orchestrator
from tests.memoryd.recall.test_inject import Desk, desk

__all__ = ["desk"]
SOURCE = "def round_price(value):\n    return value\n"
PROMPT = "How does the checkout service round a price in the basket?"


@pytest.fixture
def learnt(desk: Desk) -> Path:
    """Return a file about which the project has a memory."""
    path = Path(desk.project.root, "price.py")
    path.write_text(SOURCE)
    cited = Citation("price.py", "a" * 40, blob_id(SOURCE.encode()))
    content = "The checkout service rounds the price in the basket half up."
    desk.learn(content, kind=Kind.FACT, polarity=Polarity.KNOW, cites=(cited,))
    return path


@pytest.mark.parametrize("changed", ["def round_price(value):\n    return int(value)\n", SOURCE])
def test_a_memory_about_changed_code_is_given_with_a_remark(desk: Desk, learnt: Path, changed: str) -> None:
    learnt.write_text(changed)
    for text in (
        desk.injector.prompt(desk.event(prompt=PROMPT)),
        desk.injector.session_start(desk.event("s2", source="startup")),
    ):
        assert "rounds the price" in text
        assert ("(the code has changed since)" in text) == (changed != SOURCE)


def test_a_memory_about_deleted_code_is_not_given_unless_it_is_pinned(desk: Desk, learnt: Path, service: Orchestrator) -> None:
    learnt.unlink()
    assert desk.injector.session_start(desk.event(source="startup")) == ""
    assert "rounds the price" not in desk.injector.prompt(desk.event(prompt=PROMPT))
    (item,) = service.all()
    service.update(item.id, pinned=True)
    assert "(the code is gone)" in desk.injector.session_start(desk.event("s2", source="startup"))
    assert service.require(item.id).tags == ()
