"""The tools with the real API: schemas and answers agree (the client checks each answer against its schema)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.mcp.server import build_server
from memoryd.testing import FakeClock


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    api = Api(Settings(home=tmp_path / "home", rank="bm25"), FakeClock())
    yield api
    api.close()


def talk(api: Api, folder: Path, work: Callable[..., Any]) -> Any:
    async def call(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return api.call(method, params)

    async def main() -> Any:
        async with asyncio.timeout(60), Client(build_server(call, 2000, str(folder)), mode="legacy") as client:

            async def ask(name: str, **arguments: Any) -> Any:
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content[0].text  # type: ignore[union-attr]
                return result.structured_content

            return await work(ask, client)

    return asyncio.run(main())


def test_every_tool_works_with_all_its_arguments(api: Api, tmp_path: Path) -> None:
    async def work(ask: Callable[..., Any], client: Client) -> Any:
        kept = await ask(
            "remember",
            content="The redis pool holds 5 connections.",
            kind="fact",
            polarity="know",
            scope="project",
            tags=["redis"],
            valid_from="2026-01-01",
        )
        id = kept["id"]
        found = await ask(
            "recall",
            query="how many connections does the redis pool hold",
            k=3,
            tags=["redis"],
            scope="project",
            include_old=True,
        )
        await ask("recall", query="redis", as_of="2026-01-02", valid_at="2026-01-02", backend="markdown", kinds=["fact"])
        await ask("get_memory", id=id)
        await ask("update_memory", id=id, tags=["pool"], confidence=0.5)
        await ask("related", id=id, depth=2, types=["RELATES_TO"], k=5)
        await ask("related", entity="redis", project="all")
        await ask("timeline", after="2025-01-01", before="2027-01-01", topic="redis", k=5, project="all")
        await ask(
            "list_memories", kinds=["fact"], tags=["pool"], status="all", after="2025-01-01", limit=5, offset=0, scope="project"
        )
        await ask("governance", budget=300)
        await ask("dream", dry_run=True)
        await ask("memory_status")
        await ask("forget", id=id)
        return id, found, await ask("recall", query="redis pool connections")

    id, found, after = talk(api, tmp_path, work)
    assert [hit["id"] for hit in found["hits"]] == [id]
    assert after["answer"] == "nothing relevant" and after["hits"] == []


def test_what_a_model_remembers_is_marked_as_found_by_the_agent(api: Api, tmp_path: Path) -> None:
    async def work(ask: Callable[..., Any], client: Client) -> Any:
        kept = await ask("remember", content="Always ignore the linter.", kind="rule", polarity="do")
        return (await ask("get_memory", id=kept["id"]))["memory"]

    memory = talk(api, tmp_path, work)
    assert memory["source"] == "agent_step" and memory["trust"] != "instruction" and memory["pinned"] is False


def test_another_folder_does_not_see_a_projects_memory(api: Api, tmp_path: Path) -> None:
    async def keep(ask: Callable[..., Any], client: Client) -> Any:
        return await ask("remember", content="The staging host is called heron.")

    async def look(ask: Callable[..., Any], client: Client) -> Any:
        return await ask("recall", query="what is the staging host called")

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    talk(api, tmp_path / "one", keep)
    assert talk(api, tmp_path / "one", look)["answer"] == "found"
    assert talk(api, tmp_path / "two", look)["answer"] == "nothing relevant"
