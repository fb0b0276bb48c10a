"""Keys written by a model help to find its findings, but never rank them above the user's statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.errors import InputError
from memoryd.testing import FakeClock

SAID = {
    "how do I deploy": "Deploys go through ./ship.sh on the jump host.",
    "which database": "We use PostgreSQL 16 as the database of the shop.",
    "run the tests": "Run the tests with pytest -n 4 from the root.",
    "what is the staging server": "The staging server is called otter-3.",
}


class Desk:
    def __init__(self, api: Api, folder: Path) -> None:
        self.api, self.folder = api, folder
        folder.mkdir()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def model(self, method: str, **params: Any) -> dict[str, Any]:
        return self.call(method, caller="model", **params)

    def hits(self, query: str, k: int = 3) -> list[str]:
        return [hit["content"] for hit in self.call("recall", query=query, k=k)["hits"] if not hit.get("unsure")]

    def prompt(self, text: str) -> str:
        payload = {"session_id": text, "cwd": str(self.folder), "transcript_path": "", "prompt": text}
        return self.api.hook("UserPromptSubmit", payload, {}).decode()


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path) -> Iterator[Desk]:
    api = Api(replace(settings, rank="hybrid", inject_session=False), clock)
    api.warm()
    yield Desk(api, tmp_path / "shop")
    api.close()


@pytest.mark.slow
def test_a_models_keys_put_nothing_before_what_the_user_said(desk: Desk) -> None:
    for said in SAID.values():
        desk.call("remember", content=said)
    desk.model("remember", content="The moon is far.", asked_as=list(SAID))
    note = desk.api._service.folder / "user" / "notes" / "mars.md"
    note.parent.mkdir(parents=True)
    note.write_text("---\nasked_as:\n" + "".join(f"  - {key}\n" for key in SAID) + "---\nMars is red.\n")
    desk.call("sync")
    assert desk.api._service.settle(60)
    for asked, said in SAID.items():
        assert desk.hits(asked, 1) == [said]
        assert not {"The moon is far.", "Mars is red."} & set(desk.hits(asked))
        given = desk.prompt(f"{asked} of the shop, please?")
        assert said in given and "moon" not in given and "Mars" not in given


def test_a_models_keys_find_its_memory_where_the_user_said_nothing(desk: Desk) -> None:
    content = "Uploads over 10 MB fail with 413 since nginx limits bodies."
    desk.model("remember", content=content, asked_as=["why do large files not arrive?", "raise the limit for attachments"])
    desk.call("remember", content=SAID["which database"])
    assert desk.api._service.settle(60)
    assert desk.hits("raise the limit for attachments", 1) == [content]


def test_a_model_changes_no_keys_of_what_the_user_said(desk: Desk) -> None:
    id = desk.call("remember", content=SAID["which database"], asked_as=["which database"])["id"]
    with pytest.raises(InputError, match="asked_as"):
        desk.model("update_memory", id=id, asked_as=["how do I deploy"])
    assert desk.call("get_memory", id=id)["memory"]["asked_as"] == ["which database"]
