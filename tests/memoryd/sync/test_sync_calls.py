"""The operations of sync, as called by the commands."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import IN_CLIENT, load_settings
from memoryd.core.errors import InputError
from memoryd.testing import FakeClock


def _call(api: Api, folder: Path, method: str, **values: Any) -> dict[str, Any]:
    return api.call(method, {"cwd": str(folder), **values})


def test_two_homes_sync_by_their_operations(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "shared").mkdir()
    apis = [Api(load_settings({}, home=str(tmp_path / name), embedder="hash", rank="bm25"), clock) for name in ("desk", "laptop")]
    desk, laptop = (partial(_call, api, tmp_path) for api in apis)
    assert desk("sync_status")["target"] == ""
    code = desk("sync_init", target="shared", name="desk")["code"]
    laptop("sync_init", target=str(tmp_path / "shared"), code=code.lower().replace("-", " "), name="laptop")
    id = desk("remember", content="Never push to main.", kind="rule", polarity="dont", scope="user")["id"]
    other = desk("remember", content="Tea is at four.", scope="user")["id"]
    clock.advance(minutes=1)
    assert desk("sync_now")["sent"] == 2 and laptop("sync_now")["received"] == 2
    assert "main" in laptop("governance", project="")["text"]
    laptop("forget", id=id)
    laptop("forget", id=other, purge=True)
    clock.advance(minutes=1)
    laptop("sync_now")
    assert desk("sync_now")["deleted"] == 1 and desk("governance")["text"] == ""
    assert desk("list_memories", status="blacklisted", project="all")["total"] == 1
    status = desk("sync_status")
    assert status["code"] == code and [one["name"] for one in status["machines"]] == ["laptop"] and status["problems"] == []
    (slot,) = [slot for slot in apis[0].slots() if slot.name == "sync"]
    (tmp_path / "shared").rename(tmp_path / "away")
    slot.run()
    assert "missing" in desk("sync_status")["problems"][0]["reason"]
    (tmp_path / "away").rename(tmp_path / "shared")
    desk("sync_shut_out", machine="laptop")
    assert [entry["reason"] for entry in desk("sync_now")["problems"]][0] == "you have shut this machine out"
    for method in ("sync_init", "sync_status", "sync_now", "sync_shut_out"):
        with pytest.raises(InputError, match="Only you"):
            desk(method, caller=IN_CLIENT)
    for api in apis:
        api.close()
