"""The contract of all stores (tests/contract), applied to the Postgres store."""

from tests.contract.test_memory_store import *  # noqa: F403
