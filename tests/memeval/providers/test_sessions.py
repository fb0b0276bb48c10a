"""Storage of sessions: few files are open, none is lost, and threads share them."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memeval.core.errors import ProviderError
from memeval.core.types import SearchRequest, Session, Turn
from memeval.providers.local import OPEN_FILES, SessionStore
from tests.memeval.providers.material import attic, garden, make


def session(name: str) -> Session:
    return Session(name, (Turn(f"{name}:1", "user", f"words of {name}"),))


def test_many_scopes_are_kept_with_few_files_open(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    scopes = [f"scope {number}" for number in range(3 * OPEN_FILES)]
    with ThreadPoolExecutor(4) as pool:
        for part in ("a", "b"):
            given = [[session(f"{scope} {part}")] for scope in scopes]
            assert list(pool.map(store.add, scopes, given)) == [1] * len(scopes)
    for scope in scopes:
        assert [kept.id for kept in store.all(scope)] == [f"{scope} a", f"{scope} b"]
    assert len(list(tmp_path.glob("*/sessions.db-wal"))) <= OPEN_FILES
    store.close()


def test_a_scope_that_was_cleared_while_its_file_was_open_begins_empty(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.add("one", [session("a")])
    store.clear("one")
    assert store.all("one") == []
    assert store.add("one", [session("b")]) == 1
    assert [kept.id for kept in store.all("one")] == ["b"]


def test_a_folder_can_be_copied_after_close(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "here")
    store.add("one", [session("a")])
    store.close()
    assert [path.name for path in store.folder("one").iterdir()] == ["sessions.db"]


def test_what_was_added_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from memeval.providers.local import SessionStore;"
        "from memeval.core.types import Session, Turn; store = SessionStore(Path(sys.argv[1]));"
        "[store.add('one', [Session(f's{n}', (Turn(f't{n}', 'user', 'x'),))]) for n in range(20)];"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=120, check=False, env=dict(os.environ))
    assert done.returncode == -9
    assert len(SessionStore(tmp_path).all("one")) == 20


def test_a_broken_file_is_an_error_that_names_the_folder(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.folder("one").mkdir(parents=True)
    (store.folder("one") / "sessions.db").write_bytes(b"no database" * 200)
    with pytest.raises(ProviderError, match="can't be stored or read"):
        store.all("one")


def test_scopes_that_are_ingested_side_by_side_stay_apart(tmp_path: Path) -> None:
    provider = make("memoryd")
    provider.open(tmp_path)

    def remember(number: int) -> None:
        provider.ingest(f"scope {number}", garden() if number % 2 else attic())
        provider.await_indexed(f"scope {number}", 60)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(remember, range(7)))
    found = [[piece.turns for piece in provider.search(f"scope {number}", SearchRequest("tomatoes", 3))] for number in range(7)]
    assert found[1] == found[3] == found[5] and found[1]
    assert found[0] == found[2] == found[4] == found[6] != found[1]
    provider.close()
