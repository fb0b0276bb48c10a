from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.core.config import Settings
from memoryd.core.errors import EmbeddingError, NotFoundError
from memoryd.core.protocols import FloatArray
from memoryd.core.types import Backend, LinkType, MemoryItem, Query, Status
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock, HashEmbedder


def item(content: str, **fields: object) -> MemoryItem:
    return replace(MemoryItem(content=content, project="shop", session="s1"), **fields)  # type: ignore[arg-type]


def contents(service: Orchestrator, text: str, **filters: object) -> list[str]:
    return [hit.item.content for hit in service.search(Query(text=text, **filters))]  # type: ignore[arg-type]


def answers(service: Orchestrator) -> list[tuple[str, list[tuple[str, float]]]]:
    """Return the results of several questions, to compare a store before and after."""
    service.settle()
    out = []
    for text in ("port of the database", "deploy staging", "`make db`", "what is related to Makefile?"):
        for backend in (None, Backend.MARKDOWN, Backend.VECTOR, Backend.HYBRID):
            hits = service.search(Query(text=text, backend=backend))
            out.append((f"{text}/{backend}", [(hit.item.id, round(hit.score, 6)) for hit in hits]))
    return out


@pytest.fixture
def filled(service: Orchestrator) -> Orchestrator:
    service.write_many(
        [
            item("The test database runs on port 5433, started by `make db`.", entities=("make db", "Makefile")),
            item("Staging is deployed by pushing the branch staging.", entities=("staging",)),
            item("The Makefile has a target for the database.", entities=("Makefile",)),
            item("Invoices are mailed by a job queue in PostgreSQL."),
        ]
    )
    service.settle()
    return service


def test_reindex_from_the_markdown_alone_gives_the_same_answers(filled: Orchestrator) -> None:
    before = answers(filled)
    filled.reindex()
    assert answers(filled) == before


@pytest.mark.parametrize("damage", ["delete", "garbage", "truncate"])
@pytest.mark.parametrize("name", ["literal.db", "vector.db", "graph.db"])
def test_a_deleted_or_damaged_index_is_noticed_and_rebuilt(
    filled: Orchestrator, settings: Settings, clock: FakeClock, name: str, damage: str
) -> None:
    before = answers(filled)
    filled.close()
    path = settings.paths.index / name
    for side in path.parent.glob(f"{name}-*"):
        side.unlink()
    if damage == "delete":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"not a database at all " * 500)
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert answers(again) == before
    again.close()


def test_the_whole_index_folder_may_be_deleted(filled: Orchestrator, settings: Settings, clock: FakeClock) -> None:
    before = answers(filled)
    filled.close()
    shutil.rmtree(settings.paths.index)
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert answers(again) == before
    again.close()


def test_a_kill_between_file_and_index_loses_nothing(settings: Settings, clock: FakeClock) -> None:
    script = (
        "import os, sys\n"
        "from memoryd.core.config import load_settings\n"
        "from memoryd.service import Orchestrator\n"
        "from memoryd.stores.fulltext import FullTextIndex\n"
        "from memoryd.testing import FakeClock, HashEmbedder\n"
        "from memoryd.core.types import MemoryItem\n"
        "service = Orchestrator(load_settings({}, home=sys.argv[1], embedder='hash'), FakeClock(), HashEmbedder())\n"
        "FullTextIndex.put = lambda *a: os.kill(os.getpid(), 9)\n"
        "service.write(MemoryItem(content='The build needs 8 GB.', project='shop'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(settings.home)], check=False)
    assert done.returncode == -9
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert contents(again, "how much memory does the build need") == ["The build needs 8 GB."]
    again.close()


def test_another_embedder_makes_all_vectors_again(filled: Orchestrator, settings: Settings, clock: FakeClock) -> None:
    filled.close()
    again = Orchestrator(settings, clock, HashEmbedder(128))
    again.catch_up()
    assert again.settle()
    for known in again.all():
        assert again.search(Query(text=known.content, backend=Backend.VECTOR))[0].item.id == known.id
    assert again.health().embedder == "hash-128"
    again.close()


class BrokenEmbedder(HashEmbedder):
    def embed(self, texts: Sequence[str]) -> FloatArray:
        raise EmbeddingError("The model file is gone.", fix="Install it again.")

    embed_queries = embed


def test_without_its_embedder_recall_continues_by_words(settings: Settings, clock: FakeClock) -> None:
    service = Orchestrator(settings, clock, BrokenEmbedder())
    service.catch_up()
    service.write(item("The test database runs on port 5433."))
    service.warm()
    assert contents(service, "database port") == ["The test database runs on port 5433."]
    assert "model file is gone" in service.health().embedder_error
    service.close()


def test_a_newer_statement_closes_the_older_one_and_as_of_still_finds_it(service: Orchestrator, clock: FakeClock) -> None:
    old = service.write(item("The API listens on port 80."))
    before = clock.now()
    clock.advance(days=1)
    new = service.supersede(old, item("The API listens on port 8080."))
    clock.advance(days=1)
    assert contents(service, "API port") == ["The API listens on port 8080."]
    assert contents(service, "API port", as_of=before) == ["The API listens on port 80."]
    assert contents(service, "API port", valid_at=before) == ["The API listens on port 80."]
    assert service.require(new).supersedes == old
    assert [entry.item.id for entry in service.related(new, types=(LinkType.SUPERSEDES,))] == [old]


def test_a_supersession_that_was_cut_off_is_finished_at_the_next_start(
    service: Orchestrator, settings: Settings, clock: FakeClock
) -> None:
    old = service.write(item("The API listens on port 80."))
    clock.advance(days=1)
    service.write(item("The API listens on port 8080.", supersedes=old))
    service.close()
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert again.require(old).status is Status.SUPERSEDED
    again.close()


def test_what_the_user_brings_back_swaps_with_its_successor(service: Orchestrator, settings: Settings, clock: FakeClock) -> None:
    old = service.write(item("The API listens on port 80."))
    clock.advance(days=1)
    new = service.supersede(old, item("The API listens on port 8080."))
    service.restore(old)
    service.close()
    again = Orchestrator(settings, clock, HashEmbedder())
    again.catch_up()
    assert (again.require(old).status, again.require(new).status) == (Status.ACTIVE, Status.SUPERSEDED)
    again.restore(new)
    assert (again.require(old).status, again.require(new).status) == (Status.SUPERSEDED, Status.ACTIVE)
    again.close()


def test_what_was_replaced_before_it_was_forgotten_comes_back_as_replaced(service: Orchestrator, clock: FakeClock) -> None:
    first = service.write(item("The bucket is called amber."))
    clock.advance(days=1)
    second = service.supersede(first, item("The bucket is called cobalt."))
    third = service.supersede(second, item("The bucket is called indigo."))
    service.forget(first)
    assert service.restore(first).status is Status.SUPERSEDED
    assert [hit.item.id for hit in service.search(Query(text="bucket"))] == [third]
    assert service.restore(first).status is Status.ACTIVE


def test_what_is_forgotten_is_not_recalled_and_can_be_brought_back(filled: Orchestrator) -> None:
    id = filled.search(Query(text="staging"))[0].item.id
    filled.forget(id)
    assert id not in [hit.item.id for hit in filled.search(Query(text="staging deployed"))]
    assert filled.require(id).status is Status.BLACKLISTED
    filled.restore(id)
    assert filled.search(Query(text="staging deployed"))[0].item.id == id


def test_a_deleted_memory_comes_back_from_the_trash(filled: Orchestrator) -> None:
    id = filled.search(Query(text="staging"))[0].item.id
    filled.delete(id)
    assert filled.get(id) is None
    assert filled.restore(id).id == id
    assert filled.settle()
    assert filled.search(Query(text="staging deployed"))[0].item.id == id


def test_purging_leaves_no_copy(filled: Orchestrator, settings: Settings) -> None:
    id = filled.search(Query(text="staging"))[0].item.id
    filled.purge(id)
    assert not list(settings.home.rglob(f"{id}*.md"))
    with pytest.raises(NotFoundError):
        filled.restore(id)


def test_a_hand_edit_is_found_by_its_new_words(filled: Orchestrator) -> None:
    id = filled.search(Query(text="staging deployed"))[0].item.id
    path = filled.path_of(id)
    assert path is not None
    path.write_text(path.read_text().replace("pushing the branch staging", "tagging a release"))
    filled.sync([path])
    filled.settle()
    assert filled.search(Query(text="tagging a release"))[0].item.id == id
    path.unlink()
    filled.sync([path])
    assert filled.get(id) is None
    assert id not in [hit.item.id for hit in filled.search(Query(text="tagging a release"))]


def test_two_processes_that_write_at_once_lose_nothing(settings: Settings, clock: FakeClock) -> None:
    script = (
        "import sys\n"
        "from memoryd.core.config import load_settings\n"
        "from memoryd.service import Orchestrator\n"
        "from memoryd.core.clock import SystemClock\n"
        "from memoryd.testing import HashEmbedder\n"
        "from memoryd.core.types import MemoryItem\n"
        "service = Orchestrator(load_settings({}, home=sys.argv[1], embedder='hash'), SystemClock(), HashEmbedder())\n"
        "for n in range(25):\n"
        "    service.write(MemoryItem(content=f'Writer {sys.argv[2]} says fact number {n}.', project='shop'))\n"
        "service.settle(); service.close()\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(settings.home), name]) for name in ("one", "two")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    service = Orchestrator(settings, clock, HashEmbedder())
    service.catch_up()
    found = list(service.all())
    assert len(found) == len({entry.id for entry in found}) == len({entry.content for entry in found}) == 50
    service.close()


def test_each_hit_explains_its_score(filled: Orchestrator) -> None:
    for hit in filled.search(Query(text="port of the test database")):
        assert sum(hit.parts.values()) == pytest.approx(hit.score)
        assert 0 <= hit.relevancy <= 1


def test_files_are_private(filled: Orchestrator, settings: Settings) -> None:
    for path in settings.home.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_nothing_is_written_outside_the_home(filled: Orchestrator, tmp_path: Path) -> None:
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_embedding_continues_when_the_index_is_made_again_meanwhile(settings: Settings, clock: FakeClock) -> None:
    class Paused(HashEmbedder):
        """Pauses in the middle of a batch, so that its store can be replaced."""

        def embed(self, texts: Sequence[str]) -> FloatArray:
            begun.set()
            assert go_on.wait(60)
            return super().embed(texts)

    begun, go_on = threading.Event(), threading.Event()
    service = Orchestrator(settings, clock, Paused())
    service.write(item("The cache runs on port 6379."))
    assert begun.wait(60)
    service.reindex()
    go_on.set()
    assert service.settle(60)
    assert len(service.vectors()) == 1
    service.close()


def test_the_links_of_a_large_batch_follow_and_are_there_when_asked_for(service: Orchestrator, clock: FakeClock) -> None:
    batch = [item(f"Step {n} is in deploy.sh.", entities=("deploy.sh",), created_at=clock.now()) for n in range(150)]
    ids = service.write_many(batch)
    assert len(service.related(ids[0], k=20)) == 20
    assert service.settle(60)
    assert {hit.item.content for hit in service.search(Query(text="deploy.sh", backend=Backend.GRAPH), 3)} <= {
        entry.content for entry in batch
    }


def test_a_supersession_in_a_large_batch_can_be_taken_back_at_once(service: Orchestrator) -> None:
    old = service.write(item("The port is 1."))
    new = service.supersede(old, item("The port is 2."))
    service.write_many([*(item(f"Filler {n}.") for n in range(150)), replace(service.require(new), tags=("moved",))])
    service.restore(old)
    assert service.require(new).supersedes is None


def test_a_question_by_words_alone_does_not_wait_for_the_model(settings: Settings, clock: FakeClock) -> None:
    class Loading(HashEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> FloatArray:
            asked.append(list(texts))
            return super().embed_queries(texts)

    asked: list[list[str]] = []
    service = Orchestrator(settings, clock, Loading())
    service.write(item("The cache runs on port 6379."))
    assert service.settle(60)
    query = Query(text="cache port", backend=Backend.MARKDOWN)
    assert [hit.item.content for hit in service.search(query)] == ["The cache runs on port 6379."]
    assert asked == []
    service.warm()
    service.search(query)
    assert asked == [["warm"], ["cache port"]]
    service.close()
