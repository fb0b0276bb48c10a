from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from memoryd.core.errors import StoreError
from memoryd.dream.journal import EntryKind, Journal, JournalRecord
from memoryd.dream.plan import Action
from tests.memoryd.dream.samples import NOW, memory

IDS = ("mem_0000000000aa", "mem_0000000000ab")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path)
    items = [memory(f"The line\nbreak of {IDS[0]} is quoted.", id=id) for id in IDS]
    records = [JournalRecord(item.id, "prune", Action.DECAY, "old", "", item, None) for item in items]
    journal.create(EntryKind.DREAM, records, {}, at=NOW, trigger="test")
    return journal


def test_the_history_of_a_memory_holds_its_own_records_only(journal: Journal) -> None:
    assert [(head.name, record.id) for head, record in journal.history(IDS[0])] == [("dream-0001", IDS[0])]
    assert [record.id for record in journal.records("dream-0001")] == list(IDS)


def test_a_plan_that_an_older_version_wrote_on_one_line_is_read(journal: Journal, tmp_path: Path) -> None:
    plan = tmp_path / "dream-0001" / "plan.json"
    plan.write_bytes(orjson.dumps(orjson.loads(plan.read_bytes())))
    assert [record.id for _, record in journal.history(IDS[1])] == [IDS[1]]


def test_a_damaged_plan_is_named(journal: Journal, tmp_path: Path) -> None:
    plan = tmp_path / "dream-0001" / "plan.json"
    plan.write_bytes(plan.read_bytes().replace(b'"stage"', b"stage"))
    with pytest.raises(StoreError, match="plan.json"):
        list(journal.history(IDS[0]))
