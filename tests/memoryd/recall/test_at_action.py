from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memoryd.core.text import token_count
from memoryd.core.tool_calls import ToolCall
from memoryd.core.types import Kind, Polarity, Source
from memoryd.language.entities import find_entities
from memoryd.recall.at_action import BUDGET, AtAction
from memoryd.recall.injection import SessionEvent
from tests.costs import assert_linear
from tests.memoryd.recall.test_inject import Desk, desk

__all__ = ["desk"]
DEAD_END = "Streaming the CSV in src/export.py ran out of memory; writing it in chunks did not help either."
FIX = "`npm run build` failed with ERR_OSSL_EVP_UNSUPPORTED because it needs the legacy provider; NODE_OPTIONS cured it."


@pytest.fixture
def action(desk: Desk) -> AtAction:
    known(desk, DEAD_END, Kind.DEAD_END)
    known(desk, FIX, Kind.FIX)
    known(desk, "The function round_price rounds half up.", Kind.FACT)
    known(desk, "In packages/web use npm instead of pnpm.", Kind.RULE, source=Source.USER, polarity=Polarity.DO)
    return AtAction(desk.service, desk.state, replace(desk.settings), desk.clock, desk.injector.code)


def known(desk: Desk, content: str, kind: Kind, **fields: object) -> str:
    values = {"polarity": Polarity.KNOW, "source": Source.AGENT_STEP, **fields}
    return desk.learn(content, kind=kind, entities=find_entities(content), **values)


def given(desk: Desk, action: AtAction, tool: str, session: str = "s1", **values: str) -> str:
    about = {name: values.pop(name, "") for name in ("error", "subagent")}
    root = desk.project.root
    call = ToolCall(tool, values, cwd=root, root=root, session=session, project=desk.project.id)
    reply = action(replace(call, error=about["error"], subagent=about["subagent"]))
    return reply.context if reply else ""


def test_a_dead_end_is_given_when_its_file_is_read_and_only_once(desk: Desk, action: AtAction) -> None:
    path = f"{desk.project.root}/src/export.py"
    assert "ran out of memory" in given(desk, action, "Read", file_path=path)
    assert given(desk, action, "Edit", file_path=path, old_string="a", new_string="b") == ""
    assert "ran out of memory" in given(desk, action, "Read", "s2", file_path=path)


def test_a_subagent_is_given_what_its_session_was_given(desk: Desk, action: AtAction) -> None:
    path = f"{desk.project.root}/src/export.py"
    assert given(desk, action, "Read", file_path=path)
    assert "ran out of memory" in given(desk, action, "Read", file_path=path, subagent="a1")
    assert given(desk, action, "Read", file_path=path, subagent="a1") == ""


def test_calls_on_other_files_and_commands_get_nothing(desk: Desk, action: AtAction) -> None:
    root = desk.project.root
    assert given(desk, action, "Read", file_path=f"{root}/src/import.py") == ""
    assert given(desk, action, "Bash", command="npm test") == ""
    assert given(desk, action, "Grep", pattern="round") == ""
    assert given(desk, action, "Read", file_path="/etc/hostname") == ""


def test_a_rule_about_a_folder_is_given_when_a_file_below_it_is_changed_only(desk: Desk, action: AtAction) -> None:
    known(desk, "Never edit files under generated/ by hand.", Kind.RULE, source=Source.USER, polarity=Polarity.DONT)
    assert given(desk, action, "Read", file_path="generated/api.py") == ""
    assert "Never edit" in given(desk, action, "Write", file_path="generated/api.py", content="x")


def test_a_command_and_a_symbol_bring_what_is_known_about_them(desk: Desk, action: AtAction) -> None:
    assert "legacy provider" in given(desk, action, "Bash", command="cd app && npm run build")
    assert "rounds half up" in given(desk, action, "Edit", file_path="x.py", old_string="", new_string="y = round_price(2)")


def test_a_failure_brings_the_cure_of_the_same_failure_and_of_no_other(desk: Desk, action: AtAction) -> None:
    error = "Exit code 1\nError: error:0308010C digital envelope routines\ncode: 'ERR_OSSL_EVP_UNSUPPORTED'"
    assert "NODE_OPTIONS" in given(desk, action, "Bash", command="npm run build", error=error)
    assert given(desk, action, "Bash", "s2", command="make", error="Exit code 2\nmake: *** No rule to make target 'all'.") == ""


def test_a_rule_of_a_sub_folder_binds_only_there(desk: Desk, action: AtAction) -> None:
    root = Path(desk.project.root)
    for name in (".git", "packages/web", "packages/api"):
        (root / name).mkdir(parents=True)
    assert "use npm" in given(desk, action, "Write", file_path=f"{root}/packages/web/a.ts", content="")
    assert given(desk, action, "Write", "s2", file_path=f"{root}/packages/api/a.ts", content="") == ""
    starts = {
        folder: desk.injector.session_start(SessionEvent(folder, desk.project, "startup", cwd=str(root / folder)))
        for folder in ("packages/api", "packages/web", ".")
    }
    assert {folder: "use npm" in text for folder, text in starts.items()} == {
        "packages/api": False, "packages/web": True, ".": True,
    }  # fmt: skip


def test_what_is_given_stays_within_120_tokens_with_dead_ends_first(desk: Desk, action: AtAction) -> None:
    for number in range(4):
        known(desk, f"Fact {number} about src/export.py: " + "it has many columns " * 12, Kind.FACT)
    text = given(desk, action, "Read", file_path="src/export.py")
    assert token_count(text) <= BUDGET
    assert "ran out of memory" in text


def test_a_switched_off_setting_gives_nothing(desk: Desk, action: AtAction) -> None:
    off = AtAction(desk.service, desk.state, replace(desk.settings, inject_tools=False), desk.clock, desk.injector.code)
    assert given(desk, off, "Read", file_path="src/export.py") == ""


def test_a_subagent_starts_with_the_rules_and_what_bears_on_its_task(desk: Desk) -> None:
    desk.learn("Never push to the main branch.", polarity=Polarity.DONT)
    known(desk, DEAD_END, Kind.DEAD_END)
    task = "Find out why the CSV export in src/export.py runs out of memory when streaming."
    text = desk.injector.subagent_start(SessionEvent("s1", desk.project, prompt=task, subagent=True))
    assert "Never push" in text
    assert "Streaming the CSV" in text
    assert "Streaming" not in desk.injector.subagent_start(SessionEvent("s2", desk.project, subagent=True))


def test_a_path_of_thousands_of_folders_costs_linear_time(desk: Desk, action: AtAction) -> None:
    known(desk, "Edits in legacy/ broke the import, nothing there may change.", Kind.RULE)
    # All runs of 9,000 folders would take hours.
    assert_linear(lambda path: given(desk, action, "Edit", file_path=f"{path}/b.py"), "a/", 2_250)
