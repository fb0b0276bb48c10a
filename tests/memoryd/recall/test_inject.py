from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from memoryd.core.config import Settings
from memoryd.core.project import ProjectRegistry
from memoryd.core.state import State
from memoryd.core.text import token_count
from memoryd.core.types import Kind, Link, LinkType, MemoryItem, Polarity, Project, Scope, Source
from memoryd.recall.injection import CLOSED_FOLDERS, Injector, SessionEvent, cache_key, hook_output, is_searchable
from memoryd.service import Orchestrator
from memoryd.testing import FakeClock


class Desk:
    """An injector with all its dependencies."""

    def __init__(self, service: Orchestrator, settings: Settings, clock: FakeClock, folder: Path) -> None:
        self.service, self.settings, self.clock = service, settings, clock
        self.state = State(settings.paths.state_db, clock)
        self.registry = ProjectRegistry(settings.paths.projects)
        folder.mkdir()
        self.project: Project = self.registry.resolve(folder)
        self.injector = self.make()

    def make(self, **changes: object) -> Injector:
        settings = replace(self.settings, **changes)  # type: ignore[arg-type]
        return Injector(self.service, self.state, settings, self.clock, self.registry)

    def learn(self, content: str, **fields: object) -> str:
        base = MemoryItem(content=content, project=self.project.id, kind=Kind.RULE, polarity=Polarity.DO, session="s0")
        id = self.service.write(replace(base, **fields))  # type: ignore[arg-type]
        self.service.settle()
        return id

    def event(self, session: str = "s1", **fields: str) -> SessionEvent:
        self.state.touch_session(session, self.project.id, self.project.root, "/t.jsonl")
        return SessionEvent(session, self.project, **fields)  # type: ignore[arg-type]


@pytest.fixture
def desk(service: Orchestrator, settings: Settings, clock: FakeClock, tmp_path: Path) -> Desk:
    return Desk(service, settings, clock, tmp_path / "shop")


def test_a_session_starts_with_the_governance_of_its_project(desk: Desk) -> None:
    desk.learn("Run the linter before a commit.")
    desk.learn("Answer in German.", scope=Scope.USER, project="")
    desk.learn("Other project's rule.", project="other")
    text = desk.injector.session_start(desk.event(source="startup"))
    assert "Run the linter" in text
    assert "Answer in German" in text
    assert "Other project" not in text


def test_an_old_rule_is_not_crowded_out_by_many_newer_facts(desk: Desk, clock: FakeClock) -> None:
    desk.learn("Never push to the main branch.", polarity=Polarity.DONT)
    clock.advance(days=1)
    facts = [MemoryItem(content=f"Fact {n} of the build.", project=desk.project.id, kind=Kind.FACT) for n in range(250)]
    desk.service.write_many(facts)
    assert "Never push" in desk.injector.session_start(desk.event(source="startup"))


def test_nothing_is_given_twice_until_the_session_forgets(desk: Desk) -> None:
    desk.learn("Run the linter before a commit.")
    assert desk.injector.session_start(desk.event(source="startup"))
    assert desk.injector.session_start(desk.event(source="resume")) == ""
    assert desk.injector.prompt(desk.event(prompt="How do I run the linter before a commit?")) == ""
    assert "Run the linter" in desk.injector.session_start(desk.event(source="compact"))


def test_a_prompt_gets_what_bears_on_it_once(desk: Desk) -> None:
    desk.state.touch_session("s1", desk.project.id, "/c", "/t")
    desk.state.set_governed("s1")
    id = desk.learn("The staging database listens on port 5544.", kind=Kind.ENVIRONMENT, polarity=Polarity.KNOW)
    prompt = "Which port does the staging database listen on?"
    assert id in desk.injector.prompt(desk.event(prompt=prompt))
    assert desk.injector.prompt(desk.event(prompt=prompt)) == ""


def test_governance_that_the_start_could_not_hand_over_comes_with_the_first_prompt(desk: Desk) -> None:
    desk.learn("Run the linter before a commit.")
    assert "Run the linter" in desk.injector.prompt(desk.event(prompt="hello there, my friend"))
    assert desk.injector.prompt(desk.event(prompt="hello there, my friend")) == ""


@pytest.mark.parametrize(
    "prompt", ["ok", "yes please", "/commit now all files", "<task-notification>done building</task-notification>", ""]
)
def test_prompts_that_say_nothing_ask_nothing(prompt: str) -> None:
    assert not is_searchable(prompt)


def test_both_kinds_of_injection_can_be_turned_off(desk: Desk) -> None:
    desk.learn("The staging database listens on port 5544.")
    quiet = desk.make(inject_session=False, inject_prompt=False)
    assert quiet.session_start(desk.event(source="startup")) == ""
    assert quiet.prompt(desk.event(prompt="Which port does the staging database listen on?")) == ""


def test_what_was_learnt_meanwhile_has_its_share_of_the_budget(desk: Desk, clock: FakeClock) -> None:
    desk.injector.session_start(desk.event("s1", source="startup"))
    for number in range(40):
        desk.learn(f"Pinned rule {number} " + "word " * 20, pinned=True)
    clock.advance(hours=1)
    desk.injector.session_start(desk.event("s2", source="startup"))
    clock.advance(hours=1)
    desk.learn("A fresh fact about the cache.", kind=Kind.NOTE, polarity=Polarity.KNOW, confidence=0.1)
    text = desk.injector.session_start(desk.event("s3", source="startup"))
    assert "A fresh fact about the cache." in text
    assert token_count(text) <= desk.settings.session_budget


def test_what_speaks_against_the_user_is_not_news_of_a_later_session(desk: Desk, clock: FakeClock) -> None:
    rule = desk.learn("Never deploy on Mondays.", source=Source.USER, polarity=Polarity.DONT)
    desk.injector.session_start(desk.event("s1", source="startup"))
    clock.advance(hours=1)
    desk.learn(
        "Deploys on Mondays are fine now.",
        source=Source.AGENT_STEP,
        kind=Kind.FACT,
        polarity=Polarity.KNOW,
        links=(Link(LinkType.CONTRADICTS, rule),),
    )
    desk.learn("The runner is called atlas.", source=Source.AGENT_STEP, kind=Kind.FACT, polarity=Polarity.KNOW)
    text = desk.injector.session_start(desk.event("s2", source="startup"))
    assert "Never deploy on Mondays." in text and "atlas" in text and "fine now" not in text


def test_the_cache_for_hooks_without_a_daemon_holds_the_same_answer(desk: Desk) -> None:
    desk.learn("Run the linter before a commit.")
    desk.injector.session_start(desk.event(source="startup"))
    cached = desk.settings.paths.governance_cache / f"{cache_key(desk.project.root)}.json"
    answer = orjson.loads(cached.read_bytes())
    assert "Run the linter" in answer["hookSpecificOutput"]["additionalContext"]


def test_a_project_that_is_off_leaves_an_empty_cache(desk: Desk) -> None:
    desk.learn("Run the linter before a commit.")
    desk.injector.cache_governance(desk.project)
    desk.state.switches.set(desk.project.id, True)
    desk.injector.cache_governance(desk.project)
    assert (desk.settings.paths.governance_cache / f"{cache_key(desk.project.root)}.json").read_bytes() == b""


def test_the_folders_where_memory_is_off_are_written_down_for_the_hook(desk: Desk, tmp_path: Path) -> None:
    desk.state.switches.set("", True, [str(tmp_path / "clients")])
    desk.state.switches.set("", False, [str(tmp_path / "clients" / "open")])
    desk.injector.refresh_cache(())
    lines = (desk.settings.paths.governance_cache / CLOSED_FOLDERS).read_text("utf-8").splitlines()
    assert lines == [f"+{tmp_path}/clients/open"]

    desk.state.switches.set("x", True, [str(tmp_path / "clients")])
    desk.injector.refresh_cache(())
    lines = (desk.settings.paths.governance_cache / CLOSED_FOLDERS).read_text("utf-8").splitlines()
    assert lines == [f"+{tmp_path}/clients/open", f"-{tmp_path}/clients"]


def test_only_context_reaches_the_model_and_silence_is_not_output() -> None:
    assert hook_output("SessionStart", "") == b""
    answer = orjson.loads(hook_output("SessionStart", "text", "for the person"))
    assert answer == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "text"},
        "systemMessage": "for the person",
    }
