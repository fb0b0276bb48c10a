from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from memeval.core.errors import DependencyError, ProviderError
from memeval.providers.docker import ComposeService
from memeval.registry import BUILT_IN
from memeval.specs import ProviderSpec, load_provider_spec
from tests.memeval.providers.fake_api import FakeApi, Reply, serving

CHROMA = BUILT_IN / "providers" / "chroma.yaml"


def spec_of(url: str) -> ProviderSpec:
    return load_provider_spec(CHROMA, {"CHROMA_BASE_URL": url})


class Engine:
    """A docker program that records its commands. `up` starts the service."""

    def __init__(self, api: FakeApi | None = None, fails: str = "") -> None:
        self.commands: list[list[str]] = []
        self.api = api
        self.fails = fails

    def __call__(self, command: Sequence[str], timeout: float) -> tuple[int, str]:
        self.commands.append(list(command))
        if self.fails and self.fails in command:
            return 1, "first line\nCannot connect to the Docker daemon"
        if self.api is not None and "up" in command:
            self.api.behaviour = lambda asked: Reply({})
        return 0, ""


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")


def test_without_a_docker_program_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(DependencyError, match=r"docker is not installed.*Start Docker"):
        ComposeService(spec_of("http://127.0.0.1:9"), lambda seconds: None).ensure()


@pytest.mark.usefixtures("docker")
def test_an_engine_that_does_not_answer_is_named() -> None:
    with pytest.raises(DependencyError, match="Cannot connect to the Docker daemon"):
        ComposeService(spec_of("http://127.0.0.1:9"), lambda seconds: None, Engine(fails="info")).ensure()


@pytest.mark.usefixtures("docker")
def test_a_compose_that_fails_is_an_error_with_its_last_line() -> None:
    with pytest.raises(ProviderError, match="could not be started: Cannot connect"):
        ComposeService(spec_of("http://127.0.0.1:9"), lambda seconds: None, Engine(fails="up")).ensure()


@pytest.mark.usefixtures("docker")
def test_the_service_is_started_awaited_and_stopped() -> None:
    with serving(FakeApi(lambda asked: Reply(None, 503))) as api:
        engine, waits = Engine(api), list[float]()
        service = ComposeService(spec_of(api.url), waits.append, engine)
        service.ensure()
        service.stop()
    compose = ["docker", "compose", "-f", str(CHROMA.parent / "compose" / "chroma.yaml")]
    assert engine.commands[1:] == [[*compose, "up", "-d", "chroma"], [*compose, "stop", "chroma"]]
    assert {asked.path for asked in api.asked} == {"/api/v2/heartbeat"}


@pytest.mark.usefixtures("docker")
def test_a_service_that_never_answers_is_an_error() -> None:
    spec = spec_of("http://127.0.0.1:9")
    assert spec.docker is not None
    hasty = replace(spec, docker=replace(spec.docker, health_timeout=0))
    with pytest.raises(ProviderError, match="did not respond"):
        ComposeService(hasty, lambda seconds: None, Engine()).ensure()


@pytest.mark.usefixtures("docker")
def test_a_service_that_runs_already_is_left_alone() -> None:
    with serving(FakeApi(lambda asked: Reply({}))) as api:
        engine = Engine()
        service = ComposeService(spec_of(api.url), lambda seconds: None, engine)
        service.ensure()
        service.stop()
    assert engine.commands == []


def test_the_compose_file_is_there() -> None:
    text = Path(CHROMA.parent / "compose" / "chroma.yaml").read_text()
    assert "127.0.0.1:8000:8000" in text
