from datetime import UTC, datetime, timedelta

from memoryd.core.types import Link, LinkType, MemoryItem, Source, Status
from memoryd.recall.governance import drop_contradicted, govern

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def item(number: int, *against: int, source: Source = Source.USER, **fields: object) -> MemoryItem:
    links = tuple(Link(LinkType.CONTRADICTS, f"mem_{id:012x}") for id in against)
    said = NOON + timedelta(days=number)
    values = {"id": f"mem_{number:012x}", "created_at": said, "valid_from": said, "links": links, "source": source, **fields}
    return MemoryItem(f"The lamp in room {number} is lit.", **values)  # type: ignore[arg-type]


def test_of_a_doubtful_pair_only_the_newer_is_given() -> None:
    old, new = item(1), item(2, 1)
    assert drop_contradicted([old, new]) == [new]
    given = govern([old, new], NOON + timedelta(days=9), 500).text
    assert "room 2" in given and "room 1" not in given


def test_an_agent_does_not_hide_what_the_user_said_nor_what_is_pinned() -> None:
    said, claimed = item(1), item(2, 1, source=Source.AGENT_STEP)
    assert drop_contradicted([claimed, said]) == [said]
    pinned = item(3, pinned=True, source=Source.AGENT_STEP)
    assert drop_contradicted([pinned, item(4, 3)]) == [pinned]


def test_a_candidate_hides_nothing_and_an_absent_one_neither() -> None:
    old = item(1)
    assert drop_contradicted([old, item(2, 1, status=Status.CANDIDATE)])[0] == old
    assert drop_contradicted([old, item(3, 7)])[0] == old
