from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.daemon.client import Client
from memoryd.daemon.process import run_daemon
from tests.memoryd.daemon.fake_api import FakeApi
from tests.waiting import HANGS_SECONDS


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home")


class Running:
    """A daemon in a thread of the test's process."""

    def __init__(self, settings: Settings, make_api: Callable[..., Any] | None = None) -> None:
        self.settings = settings
        self.paths = settings.paths
        self.api = FakeApi()
        self.client = Client(settings.paths)
        self.code: int | None = None
        self._ready = threading.Event()
        self._make = make_api or self._make_fake
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _make_fake(self, settings: Settings, info: Callable[..., Any]) -> FakeApi:
        self.api.info = info  # type: ignore[assignment]
        return self.api

    def _run(self) -> None:
        self.code = run_daemon(self.settings, self._make, SystemClock(), self._ready.set)

    def __enter__(self) -> Running:
        self.thread.start()
        assert self._ready.wait(HANGS_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self.client.stop(HANGS_SECONDS)
        self.thread.join(HANGS_SECONDS)
        assert not self.thread.is_alive()


@pytest.fixture
def run(settings: Settings) -> Callable[..., Any]:
    def start(make_api: Callable[..., Any] | None = None, **changes: Any) -> Running:
        return Running(replace(settings, **changes), make_api)

    return start


@pytest.fixture
def daemon(run: Callable[..., Any]) -> Iterator[Running]:
    with run() as running:
        yield running
