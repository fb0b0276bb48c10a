"""The contract of all stores (tests/contract), held by the Postgres store."""

from tests.contract.test_memory_store import *  # noqa: F403
