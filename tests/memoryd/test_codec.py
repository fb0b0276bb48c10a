from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.codec import item_digest, item_from_dict, item_from_json, item_from_own_json, item_to_dict, item_to_json, new_id
from memoryd.core.errors import InputError
from memoryd.core.types import Evidence, Kind, Link, LinkType, MemoryItem, Polarity, Scope, Source, Status, Trust

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
shares = st.integers(0, 10_000).map(lambda n: n / 10_000)
items = st.builds(
    MemoryItem,
    content=texts,
    id=st.builds(new_id),
    kind=st.sampled_from(Kind),
    polarity=st.sampled_from(Polarity),
    scope=st.sampled_from(Scope),
    project=texts,
    session=texts,
    source=st.sampled_from(Source),
    confidence=shares,
    relevancy=shares,
    tags=st.lists(texts.filter(bool), max_size=3).map(tuple),
    entities=st.lists(texts.filter(bool), max_size=3).map(tuple),
    status=st.sampled_from(Status),
    supersedes=st.none() | st.builds(new_id),
    links=st.lists(st.builds(Link, st.sampled_from(LinkType), texts.filter(bool)), max_size=2).map(tuple),
    created_at=moments,
    expired_at=st.none() | moments,
    valid_from=st.none() | moments,
    valid_to=st.none() | moments,
    evidence=st.builds(Evidence, transcript=texts, lines=st.lists(texts, max_size=2).map(tuple), commit=texts),
    pinned=st.booleans(),
)


@given(items)
def test_an_item_survives_json(item: MemoryItem) -> None:
    assert item_from_json(item_to_json(item)) == item


@given(items)
def test_the_digest_ignores_only_the_backends(item: MemoryItem) -> None:
    values = item_to_dict(item)
    assert item_digest(item_from_dict({**values, "backends": ["vector"]})) == item_digest(item)
    assert item_digest(item_from_dict({**values, "content": values["content"] + "x"})) != item_digest(item)


def test_trust_comes_from_the_source_and_cannot_be_claimed() -> None:
    item = item_from_dict({"content": "x", "source": "tool", "trust": "instruction"})
    assert item.trust is Trust.DATA


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "rulez"),
        ("confidence", 2),
        ("confidence", True),
        ("created_at", "yesterday"),
        ("tags", 3),
        ("links", [{"type": "RELATES_TO"}]),
        ("evidence", "x"),
        ("pinned", "yes"),
    ],
)
def test_a_wrong_value_names_its_field(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field):
        item_from_dict({"content": "x", field: value})


def test_absent_keys_come_from_the_defaults() -> None:
    default = MemoryItem(content="c", project="p")
    assert item_from_dict({"kind": "rule", "expired_at": None}, default) == MemoryItem(content="c", project="p", kind=Kind.RULE)


@given(items)
def test_what_a_store_wrote_is_read_quickly_and_is_the_same(item: MemoryItem) -> None:
    assert item_from_own_json(item_to_json(item)) == item


def test_a_payload_of_another_form_is_read_with_care() -> None:
    assert item_from_own_json('{"content": "Short.", "tags": "one"}') == MemoryItem(content="Short.", tags=("one",))
