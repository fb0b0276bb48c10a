"""One server for all tests of this folder. Each test logs in as a new role, whose memories no other role sees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.config import load_settings
from memoryd.core.protocols import MemoryStore
from memoryd.stores.postgres import PostgresStore
from memoryd.testing import FakeClock, HashEmbedder
from tests.contract.factories import Factory, SettledOrchestrator
from tests.postgres.server import Server, is_available

_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.postgres)
            item.add_marker(pytest.mark.skipif(not is_available(), reason="needs psycopg and a Postgres with pgvector"))


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server({"fsync": "off"})
    server.start()
    yield server
    server.close()


@pytest.fixture(scope="session")
def database(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a prepared database. Its owner is not a role of the tests' users, as in a team."""
    server.execute("CREATE DATABASE shared")
    owner = PostgresStore(server.url(database="shared"), tmp_path_factory.mktemp("owner"), dimensions=1024)
    owner.size()
    owner.close()
    return "shared"


@pytest.fixture
def role(server: Server) -> str:
    name = f"user{next(_numbers)}"
    server.execute(f"CREATE ROLE {name} LOGIN")
    return name


@pytest.fixture
def url(server: Server, database: str, role: str) -> str:
    return server.url(role, database)


@pytest.fixture(params=["store", "service"])
def factory(request: pytest.FixtureRequest, url: str) -> Factory:
    if request.param == "store":
        return lambda folder: PostgresStore(url, folder, FakeClock())

    def service(folder: Path) -> MemoryStore:
        settings = load_settings({}, home=str(folder), embedder="hash", store=url)
        return SettledOrchestrator(settings, FakeClock(), HashEmbedder(1024))

    return service


@pytest.fixture
def store(factory: Factory, tmp_path: Path) -> Iterator[MemoryStore]:
    store = factory(tmp_path)
    yield store
    store.close()  # type: ignore[attr-defined]
