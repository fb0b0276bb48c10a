"""Random damage of derived files is either harmless, or detected and repaired. A wrong answer is a failure."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.core.config import Settings, load_settings
from memoryd.core.db import Database, has_checksums, remove_database
from memoryd.core.errors import IndexDamagedError, StoreError
from memoryd.core.types import Backend, MemoryItem, Query, Status
from memoryd.service import Orchestrator
from memoryd.stores.markdown import NAME as INVERTED
from memoryd.testing import FakeClock, HashEmbedder, HashTokenEncoder

DATABASES = ("literal.db", "vector.db", "graph.db", "tokens.db")
TOOLS = "redis pnpm docker nginx kafka sqlite ruff helm vite cargo".split()
PLACES = "staging production laptop runner gateway".split()
FAST_TRIES = 8
SLOW_TRIES = 300
Damage = Callable[[random.Random, bytearray], None]


def flip(chance: random.Random, data: bytearray) -> None:
    """Flip one to eight bits anywhere."""
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def scatter(chance: random.Random, data: bytearray) -> None:
    """Write random bytes over a range."""
    start = chance.randrange(len(data))
    for place in range(start, min(len(data), start + chance.choice((4, 100, 5_000)))):
        data[place] = chance.randrange(256)


def zero_pages(chance: random.Random, data: bytearray) -> None:
    """Overwrite whole pages with zeros, like a file system after a power cut."""
    for _ in range(chance.randint(1, 4)):
        page = chance.randrange(len(data) // 4096)
        data[page * 4096 : (page + 1) * 4096] = bytes(4096)


def truncate(chance: random.Random, data: bytearray) -> None:
    """Remove the end."""
    del data[chance.randrange(len(data)) :]


DAMAGES: tuple[Damage, ...] = (flip, flip, flip, scatter, zero_pages, truncate)


def open_service(home: Path) -> Orchestrator:
    settings = load_settings({}, home=str(home), embedder="hash", rank="maxsim")
    service = Orchestrator(settings, FakeClock(), HashEmbedder(256), encoder=HashTokenEncoder())
    service.catch_up()
    assert service.settle(60)
    return service


def answers(service: Orchestrator) -> object:
    """Return the results of questions by each backend, with scores, and everything a listing shows."""
    found: list[object] = [[(item.id, item.content, item.status) for item in service.all()]]
    for text in ("which port has redis on staging", "deploy kafka gateway", "Makefile", "lap", "ruff cargo helm"):
        for backend in (None, Backend.MARKDOWN, Backend.VECTOR, Backend.GRAPH, Backend.HYBRID):
            hits = service.search(Query(text=text, backend=backend, project="shop"), 10)
            found.append([(hit.item, round(hit.score, 4)) for hit in hits])
    found.append([hit.item for hit in service.search(Query(project="shop", statuses=(Status.SUPERSEDED,)), 50)])
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, object]:
    """Return a home that was closed cleanly, and its answers."""
    home = tmp_path_factory.mktemp("whole") / "home"
    service = open_service(home)
    for n in range(50):
        tool, place = TOOLS[n % len(TOOLS)], PLACES[n % len(PLACES)]
        text = f"The {tool} of {place} listens on port {5000 + n}; see Makefile and src/{tool}/{n}.py. " + "Details follow. " * (
            n % 7 * 12
        )
        service.write(
            MemoryItem(text.strip(), project="shop" if n % 3 else "blog", session=f"s{n % 4}", entities=(tool, "Makefile"))
        )
    first = next(iter(service.all()))
    service.supersede(first.id, replace(first, id="", content="The redis of staging moved to port 7000."))
    assert service.settle(60)
    service.close()
    again = open_service(home)
    expected = answers(again)
    again.close()
    return home, expected


def _literal_is_new(home: Path, inode: int) -> bool:
    return (home / "index" / "literal.db").stat().st_ino != inode


def try_damage(whole: tuple[Path, object], folder: Path, seed: int) -> str:
    """Damage one database of a copy. Return "rebuilt", "whole" if nothing was necessary, otherwise the problem."""
    home, expected = whole
    chance = random.Random(seed)
    name, damage = DATABASES[seed % len(DATABASES)], chance.choice(DAMAGES)
    copy = folder / f"home{seed}"
    shutil.copytree(home, copy)
    path = copy / "index" / name
    data = bytearray(path.read_bytes())
    damage(chance, data)
    path.write_bytes(data)
    before = (copy / "index" / "literal.db").stat().st_ino
    try:
        service = open_service(copy)
        try:
            first = answers(service)
            # Vectors that a query finds to be damaged are created again in the background. Until then, only words rank.
            noticed = bool(service.health().rebuilt)
            assert service.settle(60)
            if answers(service) != expected or (first != expected and not noticed):
                return f"seed {seed}, {name}, {damage.__name__}: other answers"
            service.write(MemoryItem("Written after the damage.", project="shop"))
            if "after the damage" not in service.search(Query(text="damage", project="shop"))[0].item.content:
                return f"seed {seed}, {name}, {damage.__name__}: a new memory is not found"
            outcome = "rebuilt" if service.health().rebuilt or _literal_is_new(copy, before) else "whole"
        finally:
            service.close()
    except Exception as error:  # noqa: BLE001 - which one is what the test reports
        return f"seed {seed}, {name}, {damage.__name__}: {type(error).__name__}: {error}"
    finally:
        shutil.rmtree(copy)
    return outcome


@pytest.mark.slow
def test_random_damage_of_an_index_changes_no_answer(whole: tuple[Path, object], tmp_path: Path) -> None:
    assert {try_damage(whole, tmp_path, seed) for seed in range(FAST_TRIES)} <= {"rebuilt", "whole"}


@pytest.mark.slow
def test_much_random_damage_of_indexes_changes_no_answer(whole: tuple[Path, object], tmp_path: Path) -> None:
    outcomes = Counter(try_damage(whole, tmp_path, seed) for seed in range(1_000, 1_000 + SLOW_TRIES))
    print(f"{SLOW_TRIES} damages: {outcomes['rebuilt']} noticed and rebuilt, {outcomes['whole']} without effect")
    assert outcomes.keys() <= {"rebuilt", "whole"}
    assert outcomes["rebuilt"] > SLOW_TRIES / 2


def test_a_damaged_keyword_file_is_written_again(whole: tuple[Path, object], tmp_path: Path) -> None:
    shutil.copytree(whole[0], tmp_path / "home")
    path = tmp_path / "home" / "index" / INVERTED
    before = path.read_bytes()
    path.write_bytes(before[:200] + b"X" + before[201:])
    service = open_service(tmp_path / "home")
    service.close()
    assert path.read_bytes() == before


def test_an_index_of_an_older_version_gets_its_checksums_and_keeps_its_rows(tmp_path: Path) -> None:
    old = Database(tmp_path / "x.db")
    old.execute("CREATE TABLE t (x)")
    old.executemany("INSERT INTO t VALUES (?)", [("kept" * 300,)] * 50)
    old.close()
    new = Database(tmp_path / "x.db", durable=False)
    assert new.value("SELECT count(*) FROM t") == 50
    new.close()
    data = bytearray((tmp_path / "x.db").read_bytes())
    data[-100] ^= 1
    (tmp_path / "x.db").write_bytes(data)
    with pytest.raises(IndexDamagedError):
        Database(tmp_path / "x.db", durable=False).execute("SELECT x FROM t")


def test_an_index_that_another_program_wrote_to_counts_as_damaged(tmp_path: Path) -> None:
    Database(tmp_path / "x.db", durable=False).execute("CREATE TABLE t (x, y)")
    foreign = Database(tmp_path / "x.db")
    assert has_checksums(), "the tests need a build of apsw with SQLite's extras"
    foreign.execute("ALTER TABLE t RENAME COLUMN y TO z")
    foreign.close()
    with pytest.raises(IndexDamagedError):
        Database(tmp_path / "x.db", durable=False).execute("SELECT y FROM t")


def test_a_cut_off_state_database_is_refused_with_the_cure_for_it(tmp_path: Path, settings: Settings) -> None:
    from memoryd.core.state import State

    path = settings.paths.state_db
    state = State(path, FakeClock())
    for n in range(500):
        state.set_note(f"note {n}", "x" * 200)
    state.close()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError) as caught:
        State(path, FakeClock())
    assert "reindex" not in caught.value.fix
    assert "Move state.db" in caught.value.fix


def test_an_index_that_was_made_for_another_home_is_rebuilt(settings: Settings, clock: FakeClock, tmp_path: Path) -> None:
    def fill(home: Path, content: str) -> Settings:
        made = replace(settings, home=home)
        service = Orchestrator(made, clock, HashEmbedder())
        service.catch_up()
        service.write(MemoryItem(content, project="p"))
        assert service.settle(30)
        service.close()
        return made

    mine = fill(tmp_path / "mine", "The zebra grazes at the gate.")
    theirs = fill(tmp_path / "theirs", "The walrus swims at the gate.")
    for file in sorted(theirs.paths.index.glob("*.db")):
        target = mine.paths.index / file.name
        remove_database(target)
        target.write_bytes(file.read_bytes())
    again = Orchestrator(mine, clock, HashEmbedder())
    assert [item.content for item in again.page(Query(project="p"), 5)] == ["The zebra grazes at the gate."], "not even at first"
    again.catch_up()
    assert again.settle(30)
    found = [hit.item.content for hit in again.search(Query(text="what swims or grazes at the gate", project="p"), 5)]
    assert found == ["The zebra grazes at the gate."]
    again.close()


@pytest.mark.parametrize("name", ["literal.db", "graph.db", "vector.db"])
def test_a_folder_in_the_place_of_an_index_is_put_aside(settings: Settings, clock: FakeClock, name: str) -> None:
    service = Orchestrator(settings, clock, HashEmbedder())
    service.catch_up()
    service.write(MemoryItem("The zebra grazes at the gate.", project="p"))
    service.close()
    remove_database(settings.paths.index / name)
    (settings.paths.index / name).mkdir()
    (settings.paths.index / name / "mine.txt").write_text("mine")
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert again.search(Query(text="zebra at the gate", project="p"), 1)
    again.close()
    assert [path.read_text() for path in settings.paths.index.glob(f"{name}.aside-*/mine.txt")] == ["mine"]


def test_memories_that_were_moved_away_are_missed_aloud_and_found_again(settings: Settings, clock: FakeClock) -> None:
    service = Orchestrator(settings, clock, HashEmbedder())
    service.catch_up()
    assert not service.health().missing_vault
    service.write(MemoryItem("The zebra grazes at the gate.", project="p"))
    service.sync()
    folder, aside = settings.paths.memories, settings.home / "aside"
    folder.rename(aside)
    service.sync()
    service.maintain()
    assert service.health().missing_vault and not folder.exists(), "nothing stands in the way of what comes back"
    aside.rename(folder)
    service.sync()
    assert not service.health().missing_vault
    assert [hit.item.content for hit in service.search(Query(text="zebra at the gate", project="p"), 1)]
    service.close()
