"""Moving a project's memories to another project: nothing is duplicated, and repetition completes an interrupted move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.types import Query, Scope, Status
from memoryd.testing import FakeClock

SHARED = "The API listens on port 8080."
STATEMENTS = (SHARED, "Invoices are printed on blue paper.", "The lift to the roof is slow.", "Backups go to the cellar.")


class Desk:
    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.folders = {name: folder / name for name in ("shop", "mill")}
        for path in self.folders.values():
            path.mkdir()

    def call(self, method: str, where: str = "shop", **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folders[where]), **params})

    def project(self, where: str) -> str:
        return self.api._registry.resolve(self.folders[where]).id

    def contents(self, project: str) -> list[str]:
        query = Query(project=project, scopes=(Scope.PROJECT,), statuses=(Status.ACTIVE,))
        return sorted(item.content for item in self.api._service.page(query, 50))

    def move(self) -> dict[str, Any]:
        return self.call("move_project", project="shop", to=str(self.folders["mill"]))


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(replace(settings, rank="bm25"), clock)
    api.warm()
    made = Desk(api, tmp_path)
    for content in STATEMENTS:
        made.call("remember", content=content)
    made.call("remember", "mill", content=SHARED)
    yield made
    api.close()


def test_a_statement_that_both_have_is_active_once(desk: Desk) -> None:
    source, target = desk.project("shop"), desk.project("mill")
    answer = desk.move()
    assert (answer["moved"], answer["merged"]) == (4, 1)
    assert desk.contents(target) == sorted(STATEMENTS)
    assert desk.contents(source) == []
    assert source not in {row["id"] for row in desk.call("projects", "mill")["projects"]}


def test_of_two_similar_the_users_stays(desk: Desk) -> None:
    desk.api.call("remember", {"cwd": str(desk.folders["mill"]), "caller": "model", "content": STATEMENTS[1]})
    desk.move()
    query = Query(project=desk.project("mill"), statuses=(Status.ACTIVE,))
    (kept,) = [item for item in desk.api._service.page(query, 50) if item.content == STATEMENTS[1]]
    assert kept.source.value == "user"


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4])
def test_a_move_that_was_cut_off_is_finished_by_repeating_it(desk: Desk, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    source, target = desk.project("shop"), desk.project("mill")
    real = desk.api._service.update
    done: list[Any] = []

    def dies(id: str, **changes: Any) -> Any:
        if len(done) >= steps:
            raise KeyboardInterrupt
        done.append(id)
        return real(id, **changes)

    monkeypatch.setattr(desk.api._service, "update", dies)
    with pytest.raises(KeyboardInterrupt):
        desk.move()
    monkeypatch.setattr(desk.api._service, "update", real)
    desk.move()
    assert desk.contents(target) == sorted(STATEMENTS)
    assert desk.contents(source) == []


def test_what_cannot_be_moved_is_refused(desk: Desk) -> None:
    with pytest.raises(InputError, match="same project"):
        desk.call("move_project", project="shop", to="shop")
    for project, to in (("nope", "mill"), ("shop", "/no/such/folder")):
        with pytest.raises(NotFoundError):
            desk.call("move_project", project=project, to=to)
    assert desk.contents(desk.project("shop")) == sorted(STATEMENTS)


def test_the_ledger_of_its_rules_moves_along(desk: Desk) -> None:
    source, target = desk.project("shop"), desk.project("mill")
    rule = desk.call("remember", content="Never use npm here.", kind="rule")["id"]
    payload = {"session_id": "s1", "cwd": str(desk.folders["shop"]), "transcript_path": "", "tool_name": "Bash"}
    desk.api.hook("PreToolUse", {**payload, "tool_input": {"command": "npm ci"}, "tool_use_id": "c1"}, {})
    desk.move()
    assert [row["id"] for row in desk.call("guard_report", "mill")["rules"]] == [rule]
    assert [one.project for one in desk.api._state.compliance.violations()] == [target]
    assert source not in str(desk.api._state.compliance.counts())


def test_a_session_that_is_open_can_still_answer_its_offers_after_the_move(desk: Desk) -> None:
    state = desk.api._state
    insert = "INSERT INTO offered (short, project, memory, session) VALUES (?, ?, ?, ?)"
    source, target = desk.project("shop"), desk.project("mill")
    for short, project in (("c1", source), ("c2", source), ("c2", target)):
        state._db.execute(insert, (short, project, f"{short} of {project}", "s1"))
    desk.move()
    rows = state._db.execute("SELECT short, memory FROM offered WHERE project = ?", (target,))
    found = {str(row[0]): str(row[1]) for row in rows}
    assert found == {"c1": f"c1 of {source}", "c2": f"c2 of {target}"}
