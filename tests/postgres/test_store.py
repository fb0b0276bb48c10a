"""The guarantees of the Postgres store beyond the contract: many writers, a server that dies, and rows that others can't see."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.errors import DatabaseUnavailable, StoreError
from memoryd.core.types import Kind, MemoryItem, Polarity, Query, Scope, Status, Trust
from memoryd.stores import postgres_schema
from memoryd.stores.outbox import Outbox
from memoryd.stores.postgres import PostgresStore
from memoryd.testing import FakeClock
from tests.postgres.server import Server

Open = Callable[..., PostgresStore]
AN_ID = "mem_00000000000a"


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[Open]:
    """Opens stores. Each has its own outbox unless `home` specifies one, as on several machines."""
    opened: list[PostgresStore] = []

    def open_one(url: str, home: str = "", **options: object) -> PostgresStore:
        folder = tmp_path / (home or f"machine{len(opened)}")
        opened.append(PostgresStore(url, folder, **options))  # type: ignore[arg-type]
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may kill."""
    server = Server()
    server.start()
    yield server
    server.close()


def new_role(server: Server, name: str, database: str, team: str = "") -> str:
    if not server.execute(f"SELECT 1 FROM pg_roles WHERE rolname = '{name}'"):
        server.execute(f"CREATE ROLE {name} LOGIN")
    if team:
        server.execute(f"INSERT INTO memoryd.members VALUES ('{team}', '{name}') ON CONFLICT DO NOTHING", database)
    return server.url(name, database)


def texts(store: PostgresStore) -> list[str]:
    return sorted(item.content for item in store.all())


# Many writers, and a server that dies


def test_twenty_writers_at_once_lose_and_double_nothing(url: str, open_store: Open) -> None:
    stores = [open_store(url) for _ in range(20)]

    def write(number: int) -> None:
        for step in range(8):
            stores[number].write(MemoryItem(content=f"Writer {number} says {step}."))
            stores[number].write_many(
                [MemoryItem(content=f"Shared {i} by {number} at {step}", id=f"mem_{i:012x}") for i in (3, 1, 2)]
            )

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(write, range(20)))
    own = [text for text in texts(stores[0]) if text.startswith("Writer")]
    assert own == sorted(f"Writer {number} says {step}." for number in range(20) for step in range(8))
    assert stores[0].count(Query(statuses=tuple(Status))) == 163
    assert not any(store.waiting() for store in stores)
    assert len(stores[0].versions("mem_000000000001")) == 20 * 8 - 1


def test_a_server_killed_under_load_loses_and_doubles_nothing(mortal: Server, open_store: Open) -> None:
    stores = [open_store(mortal.url()) for _ in range(4)]
    for store in stores:
        store.size()
    begun = threading.Event()
    ids: list[str] = []

    def write(number: int) -> None:
        for step in range(60):
            ids.append(stores[number].write(MemoryItem(content=f"Writer {number} says {step}.")))
            if step == 15:
                begun.set()

    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(write, number) for number in range(4)]
        assert begun.wait(60)
        mortal.kill()
        for job in running:
            job.result(60)
    assert sum(store.waiting() for store in stores) > 0
    assert all(stores[int(item.content.split()[1])].get(id) == item for id in ids[-4:] for item in [_pending(stores, id)])
    mortal.start()
    for store in stores:
        store.send_waiting()
    assert texts(stores[0]) == sorted(f"Writer {number} says {step}." for number in range(4) for step in range(60))
    assert {item.id for item in stores[0].all()} == set(ids)
    assert not any(store.waiting() for store in stores)


def _pending(stores: list[PostgresStore], id: str) -> MemoryItem:
    return next(item for store in stores if (item := store._pending.get(id)) is not None)


def test_waiting_changes_survive_a_restart_and_are_private(mortal: Server, open_store: Open, tmp_path: Path) -> None:
    store = open_store(mortal.url(), "laptop")
    kept = store.write(MemoryItem(content="The cache lives in redis."))
    mortal.kill()
    late = store.write(MemoryItem(content="Deploys happen on Monday."))
    store.delete(kept)
    assert store.get(late).content == "Deploys happen on Monday."
    assert store.get(kept) is None
    with pytest.raises(DatabaseUnavailable, match="can't be reached"):
        store.search(Query(text="redis"))
    store.close()
    assert (tmp_path / "laptop/outbox.db").stat().st_mode & 0o777 == 0o600
    again = open_store(mortal.url(), "laptop")
    assert again.get(late).content == "Deploys happen on Monday."
    mortal.start()
    again.write(MemoryItem(content="Releases need a tag."))
    assert texts(again) == ["Deploys happen on Monday.", "Releases need a tag."]
    assert b"Monday" not in (tmp_path / "laptop/outbox.db").read_bytes()


def test_a_change_whose_confirmation_was_lost_is_applied_once(url: str, open_store: Open) -> None:
    store = open_store(url)
    store.size()
    run, failures = store.db.run, iter([True])

    def commit_then_fail(work: Callable[[Any], object], **options: bool) -> object:
        result = run(work, **options)
        if next(failures, False):
            raise DatabaseUnavailable("gone")
        return result

    store.db.run = commit_then_fail  # type: ignore[assignment]
    id = store.write(MemoryItem(content="The cache lives in redis."))
    other = open_store(url)
    other.write(replace(other.get(id), content="The cache lives in valkey."))
    assert store.waiting() == 1
    assert store.send_waiting() == 1
    assert texts(other) == ["The cache lives in valkey."]


def test_of_two_versions_written_apart_the_later_is_current_and_the_other_is_kept(mortal: Server, open_store: Open) -> None:
    clock = FakeClock(datetime.now(UTC))
    offline, online = open_store(mortal.url(), clock=clock), open_store(mortal.url(), clock=clock)
    offline.write(MemoryItem(content="The port is 1.", id=AN_ID))
    online.size()
    mortal.kill()
    offline.write(MemoryItem(content="The port is 2.", id=AN_ID))
    mortal.start()
    online.write(MemoryItem(content="The port is 3.", id=AN_ID))
    clock.advance(minutes=5)
    offline.send_waiting()
    assert texts(online) == ["The port is 3."]
    assert [text.rpartition("\n\n")[2].strip() for _, _, text in online.versions(AN_ID)] == ["The port is 1.", "The port is 2."]


# Who sees what


def test_a_user_sees_only_own_memories_and_those_of_the_own_teams(server: Server, database: str, open_store: Open) -> None:
    ada, ben, eve = (
        open_store(new_role(server, name, database, team), team=team)
        for name, team in (("ada", "red"), ("ben", "red"), ("eve", "blue"))
    )
    ada.write(MemoryItem(content="Ada prefers tabs.", id=AN_ID, scope=Scope.USER))
    shared = ada.write(MemoryItem(content="Our deploys need a tag.", scope=Scope.TEAM, project="app"))
    eve.write(MemoryItem(content="Eve's own text.", id=AN_ID, scope=Scope.USER))
    assert texts(ben) == ["Our deploys need a tag."]
    assert texts(eve) == ["Eve's own text."]
    assert eve.get(shared) is None
    assert eve.search(Query(text="deploys tag tabs")) == []
    assert [hit.item.id for hit in ben.search(Query(text="deploys tag"))] == [shared]
    eve.delete(shared)
    assert ben.get(shared) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT content FROM memoryd.memories",
        "SELECT count(*) FROM memoryd.memories",
        "SELECT count(*) FROM memoryd.vectors",
        "SELECT count(*) FROM memoryd.removed",
        "SELECT count(*) FROM memoryd.history",
        "SELECT count(*) FROM memoryd.members",
        "SELECT count(*) FROM memoryd.applied",
        "SELECT count(*) FROM memoryd.find_words('{app}', '{app}', '{1}', 1, '{user:zoe,team:zoo}', null, 9)",
        "SELECT sum(f) FROM unnest(memoryd.frequencies('{app}', '{app}', '{user:zoe,team:zoo}')) AS f",
        "SELECT items FROM memoryd.corpus('{user:zoe,team:zoo}')",
        "UPDATE memoryd.memories SET space = 'user:mallory'",
        "DELETE FROM memoryd.memories",
        "INSERT INTO memoryd.members VALUES ('zoo', 'mallory')",
        "SELECT memoryd.open_space('team:zoo')",
        "SELECT memoryd.note_version('user:zoe', 'mem_00000000000a', 'forged')",
        "SET SESSION AUTHORIZATION zoe",
        "SET ROLE zoe",
        "SELECT count(*) FROM memoryd.m_' || md5('user:zoe') || '",
        "INSERT INTO memoryd.removed (space, id, origin) VALUES ('user:zoe', 'x', 'x')",
        "CREATE FUNCTION memoryd.spaces2() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE memoryd.memories DISABLE ROW LEVEL SECURITY",
    ],
)
def test_no_statement_shows_or_changes_what_another_user_wrote(server: Server, database: str, open_store: Open, sql: str) -> None:
    import psycopg

    zoe = open_store(new_role(server, "zoe", database, "zoo"), team="zoo")
    zoe.write_many([MemoryItem(content="The app is zoe's.", scope=scope, id=f"mem_{n:012x}") for n, scope in enumerate(Scope)])
    before = texts(zoe), zoe.versions("mem_000000000000")
    url = new_role(server, "mallory", database)
    open_store(url).size()
    try:
        found = server.execute(sql, database, "mallory")
    except psycopg.Error:
        found = []
    assert all(row[0] in (0, None, "") for row in found)
    assert (texts(zoe), zoe.versions("mem_000000000000")) == before


def test_the_author_of_a_row_is_who_logged_in(server: Server, database: str, open_store: Open) -> None:
    store = open_store(new_role(server, "ada", database, "red"), team="red")
    id = store.write(MemoryItem(content="Ours.", scope=Scope.TEAM))
    server.execute(f"UPDATE memoryd.memories SET author = 'root' WHERE id = '{id}'", database, "ada")
    assert server.execute(f"SELECT author FROM memoryd.memories WHERE id = '{id}'", database) == [("ada",)]


def test_a_memory_that_is_shared_moves_from_the_user_to_the_team(server: Server, database: str, open_store: Open) -> None:
    ada, ben = (open_store(new_role(server, name, database, "red"), team="red") for name in ("ada", "ben"))
    id = ada.write(MemoryItem(content="Deploys need two reviews.", project="app"))
    assert ben.get(id) is None
    ada.write(replace(ada.get(id), scope=Scope.TEAM))
    assert ben.get(id).content == "Deploys need two reviews."
    assert [item.id for item in ada.all() if item.id == id] == [id]


# Text, removed memories, following others


def test_keys_and_comments_of_other_tools_stay_in_the_text(url: str, server: Server, database: str, open_store: Open) -> None:
    store = open_store(url)
    store.write(MemoryItem(content="The port is 1.", id=AN_ID))
    text = store.markdown(AN_ID).replace("kind: note", "kind: note  # really\naliases: [port]")
    server.execute(f"UPDATE memoryd.memories SET markdown = $${text}$$ WHERE id = '{AN_ID}'", database)
    store.write(replace(store.get(AN_ID), content="The port is 2."))
    assert "aliases: [port]" in store.markdown(AN_ID) and "# really" in store.markdown(AN_ID)
    assert "The port is 2." in store.markdown(AN_ID)


def test_a_removed_memory_can_be_restored_until_it_is_purged(url: str, open_store: Open) -> None:
    store = open_store(url)
    item = MemoryItem(content="The cache lives in redis.", id=AN_ID)
    store.write(item)
    store.delete(AN_ID)
    assert store.restore(AN_ID).content == item.content
    assert store.search(Query(text="redis"))
    store.write(replace(item, content="Another text."))
    assert store.purge(AN_ID)
    assert store.restore(AN_ID) is None and store.versions(AN_ID) == [] and not store.purge(AN_ID)


def test_other_machines_learn_of_changes_within_a_moment(url: str, open_store: Open) -> None:
    laptop, desktop = open_store(url), open_store(url)
    desktop.size()
    noted = threading.Semaphore(0)
    desktop.listen(noted.release)
    assert noted.acquire(timeout=10)  # The connection exists.
    desktop.sync()
    id = laptop.write(MemoryItem(content="Deploys happen on Monday."))
    assert noted.acquire(timeout=5)
    assert [item.id for item in desktop.sync().changed] == [id]
    laptop.delete(id)
    assert noted.acquire(timeout=5)
    assert desktop.sync().removed == (id,)
    assert laptop.sync().changed == () and laptop.sync().removed == ()


def test_a_listener_sends_what_waited_when_the_server_is_back(mortal: Server, open_store: Open) -> None:
    store = open_store(mortal.url())
    store.size()
    noted = threading.Semaphore(0)
    store.listen(noted.release)
    assert noted.acquire(timeout=10)
    mortal.kill()
    id = store.write(MemoryItem(content="Deploys happen on Monday."))
    mortal.start()
    end = time.monotonic() + 20
    while store.waiting():
        assert time.monotonic() < end
        noted.acquire(timeout=0.5)
    assert store.get(id).content == "Deploys happen on Monday."


def test_a_slow_transaction_is_not_missed(url: str, open_store: Open) -> None:
    """Transactions can commit in a different order from the one in which they began."""
    slow, reader, other = open_store(url), open_store(url), open_store(url)
    for store in (slow, reader, other):
        store.sync()
    wrote, commit = threading.Event(), threading.Event()

    def work(session: object) -> None:
        slow._apply_items(session, [MemoryItem(content="Slow.", id=AN_ID)], {})  # type: ignore[arg-type]
        wrote.set()
        commit.wait(20)

    thread = threading.Thread(target=lambda: slow.run(work))
    thread.start()
    assert wrote.wait(20)
    other.write(MemoryItem(content="Quick."))
    first = {item.content for item in reader.sync().changed}
    commit.set()
    thread.join()
    assert first | {item.content for item in reader.sync().changed} == {"Slow.", "Quick."}


# Migrations


def test_clients_that_meet_a_new_database_migrate_it_once(server: Server, open_store: Open) -> None:
    server.execute("CREATE DATABASE fresh")
    stores = [open_store(server.url(database="fresh")) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda store: store.write(MemoryItem(content="Hello.")), stores))
    assert len(texts(stores[0])) == 6
    assert server.execute("SELECT value FROM memoryd.facts WHERE name = 'version'", "fresh") == [
        (str(len(postgres_schema.MIGRATIONS)),)
    ]


def test_a_database_of_a_newer_version_is_refused(server: Server, open_store: Open) -> None:
    server.execute("CREATE DATABASE newer")
    open_store(server.url(database="newer")).size()
    server.execute("UPDATE memoryd.facts SET value = '99' WHERE name = 'version'", "newer")
    with pytest.raises(StoreError, match="newer version of memoryd"):
        open_store(server.url(database="newer")).size()


def test_a_database_that_nobody_prepared_names_the_remedy(server: Server, open_store: Open) -> None:
    server.execute("CREATE DATABASE bare")
    with pytest.raises(StoreError) as caught:
        open_store(new_role(server, "ada", "bare")).size()
    assert "owner" in caught.value.fix


def test_a_change_that_the_database_refuses_does_not_hold_up_the_others(url: str, open_store: Open, tmp_path: Path) -> None:
    store = open_store(url)
    store.size()
    from memoryd.stores.outbox import QueuedWrite

    bad = QueuedWrite(0.0, (MemoryItem(content="x", id="mem_0000000000aa"),), fresh=True, operation="not a uuid")
    good = QueuedWrite(0.0, (MemoryItem(content="y", id="mem_0000000000ab"),), fresh=True)
    store._outbox.add([bad, good])
    assert store.send_waiting() == 2
    assert texts(store) == ["y"]


def test_the_outbox_keeps_changes_in_order(tmp_path: Path) -> None:
    from memoryd.stores.outbox import QueuedWrite

    box = Outbox(tmp_path / "outbox.db")
    changes = [QueuedWrite(float(n), (MemoryItem(content=str(n), id=AN_ID),), ("mem_00000000000b",)) for n in range(3)]
    box.add(changes)
    assert [replace(change, number=0) for change in box.everything()] == changes
    box.remove(box.everything()[0])
    assert box.count() == 2
    box.close()


# Whose words a memory is


def a_rule(text: str, **values: Any) -> MemoryItem:
    return MemoryItem(content=text, kind=Kind.RULE, polarity=Polarity.DO, scope=Scope.TEAM, project="app", id=AN_ID, **values)


@pytest.fixture
def team(server: Server, database: str, open_store: Open) -> list[PostgresStore]:
    name = f"team{next(_teams)}"
    members = [new_role(server, f"{name}_{person}", database, name) for person in ("ada", "ben", "cleo")]
    return [open_store(url, team=name) for url in members]


_teams = itertools.count()


def test_a_teammates_rule_is_a_statement_until_another_member_approves_it(team: list[PostgresStore]) -> None:
    ada, ben, cleo = team
    ada.write(a_rule("Run the tests before a push."))
    assert ada.get(AN_ID).trust is Trust.INSTRUCTION
    assert ben.get(AN_ID).trust is Trust.STATEMENT
    with pytest.raises(StoreError, match="another member"):
        ada.approve(AN_ID)
    ben.approve(AN_ID)
    assert cleo.get(AN_ID).trust is Trust.INSTRUCTION
    ada.write(a_rule("Never run the tests."))
    assert cleo.get(AN_ID).trust is Trust.STATEMENT


def test_nobody_can_speak_as_a_teammate(team: list[PostgresStore], server: Server, database: str) -> None:
    import psycopg

    ada, ben, cleo = team
    ada.write(a_rule("Run the tests before a push."))
    cleo.approve(AN_ID)
    ben.write(a_rule("Skip the tests."))
    assert ada.get(AN_ID).trust is Trust.STATEMENT
    assert cleo.get(AN_ID).trust is Trust.STATEMENT
    user = ben.db._url.partition("//")[2].partition("@")[0]
    server.execute("UPDATE memoryd.memories SET author = 'ada'", database, user)
    with pytest.raises(psycopg.Error, match="another member"):
        server.execute("UPDATE memoryd.memories SET approved_by = 'cleo'", database, user)
    assert cleo.get(AN_ID).trust is Trust.STATEMENT


def test_upkeep_by_a_teammate_leaves_author_and_approval(team: list[PostgresStore]) -> None:
    ada, ben, cleo = team
    ada.write(a_rule("Run the tests before a push.", pinned=True))
    ben.write(replace(ben.get(AN_ID), relevancy=0.5))
    assert ada.get(AN_ID) == replace(a_rule("Run the tests before a push.", pinned=True), relevancy=0.5)
    cleo.approve(AN_ID)
    ben.write(replace(ben.get(AN_ID), relevancy=0.25))
    assert cleo.get(AN_ID).trust is Trust.INSTRUCTION


# The form of files, for the dream's journal


def test_texts_are_put_back_as_they_were(url: str, open_store: Open) -> None:
    store = open_store(url)
    store.write(MemoryItem(content="The port is 1.", id=AN_ID, project="app"))
    file = store.file_of(AN_ID)
    assert store.read_file(file.path) == file.data
    store.write(replace(store.get(AN_ID), content="The port is 2.", scope=Scope.USER, project=""))
    assert store.read_file(file.path) is None
    store.put_files({file.path: file.data, store.file_of(AN_ID).path: None}, {})
    assert store.file_of(AN_ID) == file
    store.put_files({file.path: None}, {})
    assert store.get(AN_ID) is None
    assert store.sync().removed == (AN_ID,)
