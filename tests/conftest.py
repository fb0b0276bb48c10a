"""Settings for all tests: reproducible examples, and isolation from the user's own settings."""

from __future__ import annotations

import functools
import gc
import os
import ssl
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from jinja2 import Environment
from jinja2.bccache import Bucket, BytecodeCache

# On a slow machine, an example takes longer. With other examples on each run, a test would pass here and fail there.
# Look for new ones with --hypothesis-profile=default.
settings.register_profile("thorough", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("thorough"), max_examples=25)  # CI runs both.
settings.load_profile("same")

OWN = ("MEMORYD_", "MEMEVAL_", "CLAUDECODE", "CLAUDE_PLUGIN_", "CLAUDE_CODE_", "ANTHROPIC_", "OPENAI_", "OPENROUTER_", "GIT_")


def pytest_configure(config: pytest.Config) -> None:
    """Isolate the tests from the API keys, home folders and git settings of the user who runs them."""
    for name in [name for name in os.environ if name.startswith(OWN)]:
        del os.environ[name]
    os.environ["GIT_CONFIG_GLOBAL"] = os.environ["GIT_CONFIG_SYSTEM"] = os.devnull
    # The checkout may belong to another user.
    os.environ.update(GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory", GIT_CONFIG_VALUE_0="*")
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the modules and tests from garbage collection, which took a third of the collection of tests."""
    gc.freeze()
    gc.set_threshold(50_000)  # By default, the hundreds of thousands of objects of a syntax tree are visited many times.
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _bundled_models_are_loaded_once() -> Iterator[None]:
    """Share the bundled models, which no test changes, among the embedders of this process. Loading one takes 0.2 s."""
    from memoryd.embed import onnx

    load = onnx._load
    shared: dict[str, onnx.Loaded] = {}

    def load_once(model: onnx.OnnxModel) -> onnx.Loaded:
        if model.folder is not None and not model.folder.is_relative_to(onnx.bundled_folder().parent):
            return load(model)
        return shared.get(repr(model)) or shared.setdefault(repr(model), load(model))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onnx, "_load", load_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """Skip syncs to the disk in this process, because tests kill processes but never cut the power."""
    from memoryd.core import db

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        for durable in db.SYNCHRONOUS:
            patch.setitem(db.SYNCHRONOUS, durable, "OFF")
        yield


class _CompiledTemplates(BytecodeCache):
    """Compiled templates by their names and sources."""

    def __init__(self) -> None:
        self._compiled: dict[tuple[str, str], bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if compiled := self._compiled.get((bucket.key, bucket.checksum)):
            bucket.bytecode_from_string(compiled)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._compiled[bucket.key, bucket.checksum] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def _templates_and_certificates_are_loaded_once() -> Iterator[None]:
    """Share compiled templates, and the context with the system's certificates, which takes 35 ms for each client to make."""
    from memoryd.console import templates

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "Environment", functools.partial(Environment, bytecode_cache=_CompiledTemplates()))
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield
