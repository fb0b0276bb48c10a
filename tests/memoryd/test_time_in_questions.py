from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoryd.api.memories import Recall
from memoryd.api.parameters import parse
from memoryd.core.config import load_settings
from memoryd.core.types import Backend, Kind, MemoryItem, Query, Status
from memoryd.recall.prompt_block import item_line
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder, HashTokenEncoder

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["maxsim", "hybrid"])
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Orchestrator]:
    settings = load_settings({}, home=str(tmp_path), embedder="hash", rank=request.param)
    service = Orchestrator(settings, FakeClock(NOW), HashEmbedder(1024), encoder=HashTokenEncoder())
    yield service
    service.close()


def fact(text: str, month: int, day: int = 10, hour: int = 9) -> MemoryItem:
    at = datetime(2025, month, day, hour, tzinfo=UTC)
    return MemoryItem(text, kind=Kind.FACT, project="p", created_at=at, valid_from=at)


def texts(service: Orchestrator, question: str, k: int = 3) -> list[str]:
    assert service.settle(60)
    return [hit.item.content for hit in service.search(Query(question, project="p"), k)]


def test_what_was_used_before_is_shown_with_what_has_replaced_it_and_marked(service: Orchestrator) -> None:
    old = service.write(fact("packages are installed with pip", 1))
    service.supersede(old, fact("packages are installed with uv", 6))
    service.write(fact("the mail server listens on port 25", 6))
    found = texts(service, "What did we use for packages before uv?")
    assert "packages are installed with pip" in found[:2]
    assert "no longer holds" in item_line(service.get(old))


def test_other_questions_never_see_what_no_longer_holds(service: Orchestrator) -> None:
    old = service.write(fact("packages are installed with pip", 1))
    service.supersede(old, fact("packages are installed with uv", 6))
    assert texts(service, "What are packages installed with?") == ["packages are installed with uv"]
    assert service.get(old).status is Status.SUPERSEDED


@pytest.mark.parametrize("service", ["maxsim"], indirect=True)
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which error did the deploy give in March?", "the deploy gave error 11"),
        ("Which error did the deploy give last summer?", "the deploy gave error 77"),
        ("Which error did the deploy give before the migration to kubernetes?", "the deploy gave error 11"),
        ("Which error did the deploy give after the migration to kubernetes?", "the deploy gave error 77"),
    ],
)
def test_the_time_that_a_question_names_decides_between_equals(service: Orchestrator, question: str, first: str) -> None:
    service.write_many(
        [
            fact("the deploy gave error 11", 3),
            fact("the migration to kubernetes was done", 5),
            fact("the deploy gave error 77", 7),
            *(fact(f"the worker {n} sends mail", 9) for n in range(4)),
        ]
    )
    errors = [text for text in texts(service, question, 6) if "gave error" in text]
    assert errors[0] == first


@pytest.mark.parametrize(("hour", "ended"), [(0, False), (10, False), (23, False), (0, True), (10, True)])
def test_what_was_true_on_a_day_counts_from_its_first_to_its_last_hour(service: Orchestrator, hour: int, ended: bool) -> None:
    day = parse(Recall, {"query": "x", "valid_at": "2025-03-08"}, "recall").valid_at
    item = fact("the port is 8443", 3, 8, hour) if not ended else fact("the port is 8443", 1)
    service.write(replace(item, valid_to=datetime(2025, 3, 8, hour, 30, tzinfo=UTC) if ended else None))
    query = Query("the port", project="p", valid_at=day.start, valid_until=day.end, backend=Backend.MARKDOWN)
    assert [hit.item.content for hit in service.search(query, 3)] == ["the port is 8443"]
    after = parse(Recall, {"query": "x", "valid_at": "2025-03-09"}, "recall").valid_at
    found = service.search(replace(query, valid_at=after.start, valid_until=after.end), 3)
    assert bool(found) is not ended


@pytest.mark.parametrize("hour", [0, 12, 23])
def test_evidence_of_the_day_that_is_asked_for_comes_first_at_any_hour(service: Orchestrator, hour: int) -> None:
    service.write_many([fact("the deploy gave error 11", 3, 8, hour), fact("the deploy gave an error", 9)])
    assert "the deploy gave error 11" in texts(service, "Which error did the deploy give on 8 March 2025?")
