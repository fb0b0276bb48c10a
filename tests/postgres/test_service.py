"""The whole service over a database: recall by meaning, other machines, the dream's undo, and a server that is unavailable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.api.dispatch import Api
from memoryd.core.config import load_settings
from memoryd.core.errors import InputError, NotFoundError, StoreError
from memoryd.core.types import Backend, Kind, MemoryItem, Polarity, Query, Scope, Source, Trust
from memoryd.service import Orchestrator
from memoryd.stores.postgres import PostgresVectors
from memoryd.testing import FakeClock, HashEmbedder
from tests.postgres.server import Server

Open = Callable[..., Orchestrator]
AN_ID = "mem_00000000000a"


@pytest.fixture
def open_service(tmp_path: Path) -> Iterator[Open]:
    opened: list[Orchestrator] = []

    def open_one(url: str, size: int = 1024) -> Orchestrator:
        settings = load_settings({}, home=str(tmp_path / f"home{len(opened)}"), embedder="hash", store=url)
        opened.append(Orchestrator(settings, FakeClock(), HashEmbedder(size)))
        opened[-1].catch_up()
        return opened[-1]

    yield open_one
    for service in opened:
        service.close()


@pytest.fixture
def mortal() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.close()


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_what_one_machine_stores_another_finds_by_meaning(url: str, open_service: Open) -> None:
    laptop, desktop = open_service(url), open_service(url)
    id = laptop.write(MemoryItem(content="The cache lives in redis.", asked_as=("where are sessions kept",)))
    assert laptop.settle(20)
    query = Query(text="where are sessions kept", backend=Backend.VECTOR)
    assert [hit.item.id for hit in desktop.search(query)] == [id]
    assert list(desktop.vectors()) == [id]
    laptop.delete(id)
    assert desktop.search(query) == []


def test_a_database_holds_the_vectors_of_one_model(url: str, open_service: Open) -> None:
    first, other = open_service(url), open_service(url, 512)
    id = first.write(MemoryItem(content="The cache lives in redis."))
    assert first.settle(20)
    assert [hit.item.id for hit in other.search(Query(text="redis cache"))] == [id]
    assert "contains vectors of" in other.health().embedder_error


def test_vectors_that_no_machine_made_are_made_later(url: str, open_service: Open) -> None:
    first, other = open_service(url), open_service(url)
    first._indexer.close()
    first.write(MemoryItem(content="The cache lives in redis."))
    assert other.vectors() == {}
    assert isinstance(other._vector, PostgresVectors)
    other._vector.catch_up()
    assert other.settle(20)
    assert len(other.vectors()) == 1


def test_another_machines_rule_is_in_the_governance_within_moments(url: str, tmp_path: Path) -> None:
    settings = [load_settings({}, home=str(tmp_path / name), embedder="hash", store=url) for name in ("laptop", "desktop")]
    laptop, desktop = (Api(each, FakeClock()) for each in settings)
    folder = tmp_path / "repository"
    folder.mkdir()
    try:
        for api in (laptop, desktop):
            api.warm()
        project = desktop._registry.resolve(str(folder)).id
        desktop._parts.injector.cache_governance(desktop._registry.resolve(str(folder)))
        laptop.call("remember", {"content": "Always run the tests before a push.", "kind": "rule", "cwd": str(folder)})
        until(lambda: "run the tests" in desktop._parts.injector.governance(project).text)
        until(lambda: any("run the tests" in f.read_text() for f in desktop._started.paths.governance_cache.iterdir()), 10)
        assert "run the tests" in desktop._parts.injector.governance(project).text
    finally:
        laptop.close()
        desktop.close()


def test_the_dream_is_applied_and_undone(url: str, tmp_path: Path) -> None:
    settings = load_settings({}, home=str(tmp_path), embedder="hash", store=url)
    api = Api(settings, FakeClock())
    try:
        api.catch_up()
        for number in range(2):
            same = MemoryItem(content="The cache lives in redis.", project="app", id=f"mem_{number:012x}", session=f"s{number}")
            api._service.write(replace(same, created_at=FakeClock().now()))
        before = [api._service.file_of(f"mem_{number:012x}") for number in range(2)]
        done = api.call("dream", {"dry_run": False})
        assert [file.data for file in before] != [api._service.file_of(f"mem_{number:012x}").data for number in range(2)], done
        assert api.call("undo", {})["refused"] == []
        assert [api._service.file_of(f"mem_{number:012x}") for number in range(2)] == before
    finally:
        api.close()


def test_work_goes_on_while_the_server_is_away(mortal: Server, open_service: Open) -> None:
    service = open_service(mortal.url())
    rule = MemoryItem(content="Deploys need a tag.", kind=Kind.RULE, polarity=Polarity.DO, id=AN_ID)
    service.write(rule)
    service.listen(lambda: None)
    mortal.kill()
    late = service.write(MemoryItem(content="The cache lives in redis."))
    service.update(AN_ID, content="Deploys need two tags.")
    assert service.get(AN_ID).content == "Deploys need two tags."
    assert {item.id for item in service.near("Deploys need a tag.", project="")} >= {AN_ID}
    assert service.health().unsent == 2 and "can't be reached" in service.health().broken[0]
    assert [hit.item.id for hit in service.search(Query(text="cache redis"))][:1] == [late]
    mortal.start()
    until(lambda: service.health().unsent == 0)
    other = open_service(mortal.url())
    assert {item.content for item in other.all()} == {"Deploys need two tags.", "The cache lives in redis."}
    until(lambda: late in other.vectors())


def test_memories_migrate_to_the_database_and_back_byte_for_byte(url: str, tmp_path: Path) -> None:
    local = load_settings({}, home=str(tmp_path / "old"), embedder="hash")
    api, other = (
        Api(local, FakeClock()),
        Api(load_settings({}, home=str(tmp_path / "new"), embedder="hash", store=url), FakeClock()),
    )
    try:
        first = api.call("remember", {"content": "The cache lives in redis."})
        path = Path(first["path"])
        path.write_bytes(path.read_bytes().replace(b"kind: ", b"aliases: [x]  # theirs\nkind: "))
        api._service.sync()
        api.call("remember", {"content": "Deploys need a tag.", "scope": "user"})
        reviewed = MemoryItem("Use pnpm.", kind=Kind.RULE, scope=Scope.TEAM, project="shop", source=Source.TEAM)
        left = api._service.write(reviewed)  # a copy of what its repository holds, which nothing would keep up to date elsewhere
        assert api.call("migrate", {"target": url, "dry_run": True})["memories"] == 2
        for _ in range(2):
            assert api.call("migrate", {"target": url})["copied"] == 2
        other.catch_up()
        assert other._service.get(left) is None
        assert other._service.file_of(first["id"]).data == path.read_bytes()
        assert other.call("migrate", {"target": "files"})["copied"] == 2
        copy = tmp_path / "new/memories" / path.relative_to(tmp_path / "old/memories")
        assert copy.read_bytes() == path.read_bytes()
    finally:
        api.close()
        other.close()


def test_the_status_says_that_the_server_is_away(mortal: Server, tmp_path: Path) -> None:
    api = Api(load_settings({}, home=str(tmp_path), embedder="hash", store=mortal.url()), FakeClock())
    try:
        api.catch_up()
        mortal.kill()
        api.call("remember", {"content": "The cache lives in redis."})
        status = api.call("memory_status", {})
        assert status["memories"]["all"] == 1
        assert "can't be reached" in status["index"]["broken_files"][0]
        assert "1 changes are waiting" in status["index"]["broken_files"][1]
    finally:
        api.close()


def test_a_server_that_is_away_at_the_start_is_waited_for(mortal: Server, open_service: Open) -> None:
    first = open_service(mortal.url())
    id = first.write(MemoryItem(content="The cache lives in redis."))
    mortal.kill()
    late = open_service(mortal.url())
    noted: list[bool] = []
    late.listen(lambda: noted.append(True))
    mortal.start()
    until(lambda: bool(noted))
    assert late.get(id).content == "The cache lives in redis."


def test_a_shared_rule_binds_teammates_once_another_member_has_approved_it(server: Server, database: str, tmp_path: Path) -> None:
    server.execute("INSERT INTO memoryd.members VALUES ('crew', 'kim'), ('crew', 'lee')", database)
    apis = {}
    for name in ("kim", "lee"):
        server.execute(f"CREATE ROLE {name} LOGIN")
        url = server.url(name, database)
        settings = load_settings({}, home=str(tmp_path / name), embedder="hash", store=url, team="crew")
        apis[name] = Api(settings, FakeClock())
    kim, lee = apis["kim"], apis["lee"]
    try:
        rule = MemoryItem(
            content="Always run the tests before a push.", kind=Kind.RULE, polarity=Polarity.DO, project="app", id=AN_ID
        )
        kim._service.write(rule)
        kim.call("share", {"id": AN_ID})
        secret = kim._service.write(MemoryItem(content="The token is ghp_" + "a1B2c3D4e5F6" * 3 + ".", project="app"))
        with pytest.raises(InputError, match="must not be shared"):
            kim.call("share", {"id": secret})
        lee._service.sync()
        assert lee._service.require(AN_ID).trust is Trust.STATEMENT
        with pytest.raises(StoreError, match="another member"):
            kim.call("approve", {"id": AN_ID})
        lee.call("approve", {"id": AN_ID})
        assert lee._service.require(AN_ID).trust is Trust.INSTRUCTION
        with pytest.raises(NotFoundError):
            lee.call("share", {"id": secret})
    finally:
        kim.close()
        lee.close()
