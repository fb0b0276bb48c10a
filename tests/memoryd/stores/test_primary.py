"""The store that the settings select. Databases are tested with a server, in tests/postgres."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memoryd.core.config import load_settings
from memoryd.core.errors import ConfigError, DependencyError
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.primary import open_primary
from memoryd.testing import FakeClock


def test_memories_are_files_by_default(tmp_path: Path) -> None:
    primary = open_primary(load_settings({}, home=str(tmp_path)), FakeClock(), None)
    assert isinstance(primary.store, MarkdownStore)
    assert primary.database is None


@pytest.mark.parametrize("store", ["mysql://x/y", "database", "postgres:/x", ""])
def test_a_store_is_files_or_the_address_of_a_database(tmp_path: Path, store: str) -> None:
    (tmp_path / "config.toml").write_text(f'store = "{store}"\n')
    with pytest.raises(ConfigError, match="store"):
        load_settings({}, home=str(tmp_path))


def test_without_the_library_a_database_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DependencyError) as caught:
        open_primary(load_settings({}, home=str(tmp_path), store="postgres://x/y"), FakeClock(), None)
    assert "memoryd[postgres]" in caught.value.fix


def test_the_file_of_a_memory_is_put_back_as_it_was(tmp_path: Path) -> None:
    from memoryd.core.types import MemoryItem

    store = MarkdownStore(load_settings({}, home=str(tmp_path)).paths, FakeClock())
    id = store.write(MemoryItem(content="The cache lives in redis."))
    file = store.file_of(id)
    assert store.read_file(file.path) == file.data
    store.sync(store.put_files({file.path: None}, {}))
    assert (store.get(id), store.file_of(id), store.read_file(file.path)) == (None, None, None)
    store.sync(store.put_files({file.path: file.data}, {file.path: file.mtime_ns}))
    assert store.file_of(id) == file
    store.close()
