"""The guard as a user and the client's hooks see it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.core.config import IN_CLIENT
from memoryd.core.errors import InputError
from tests.memoryd.api.conftest import Desk


def rule(desk: Desk, text: str = "Never use npm here, always pnpm.") -> str:
    return str(desk.user("remember", content=text, kind="rule")["id"])


def bash(desk: Desk, command: str, id: str = "c1", event: str = "PreToolUse", **more: Any) -> dict[str, Any]:
    payload = {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(desk.folder / "s1.jsonl"), **more}
    answer = desk.api.hook(event, {**payload, "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id}, {})
    return dict(orjson.loads(answer)["hookSpecificOutput"]) if answer else {}


def test_a_rule_is_noted_asked_about_or_refused_as_its_mode_says(desk: Desk) -> None:
    id = rule(desk)
    assert bash(desk, "pnpm install") == {}
    noted = bash(desk, "npm install")
    assert id in noted["additionalContext"]
    assert "permissionDecision" not in noted
    desk.user("guard_mode", id=id, mode="ask")
    assert bash(desk, "npm install")["permissionDecision"] == "ask"
    desk.user("guard_mode", id=id, mode="block")
    refused = bash(desk, "npm install")
    assert refused["permissionDecision"] == "deny"
    assert id in refused["permissionDecisionReason"]
    desk.user("guard_mode", id=id, mode="off")
    assert bash(desk, "npm install") == {}


def test_a_rule_with_a_check_is_given_once_with_a_call(desk: Desk) -> None:
    id = rule(desk, "Never run `make deploy` from a laptop.")
    noted = bash(desk, "make deploy from a laptop")
    assert noted["additionalContext"].count(id) == 1
    assert bash(desk, "echo make deploy", id="c2") == {}  # Already given in this session.
    assert bash(desk, "make deploy", id="c3")["additionalContext"].count(id) == 1  # A violation is noted each time.
    assert bash(desk, "make deploy", id="c4", agent_id="a1")["additionalContext"].count(id) == 1


def test_the_check_is_in_the_file_and_an_edit_of_it_counts(desk: Desk) -> None:
    id = rule(desk)
    path = Path(desk.user("get_memory", id=id)["path"])
    text = path.read_text("utf-8")
    assert "check: {kind: command, words: [npm], instead: pnpm}" in text
    path.write_text(text.replace("[npm]", "[npm, yarn]"), "utf-8")
    desk.api._service.sync([path])
    assert "yarn" in bash(desk, "yarn add x")["additionalContext"]


def test_a_rule_with_another_wording_gets_another_check(desk: Desk) -> None:
    id = rule(desk)
    desk.user("update_memory", id=id, content="Never use yarn here.")
    assert bash(desk, "npm install") == {}
    assert bash(desk, "yarn install")


def test_the_ledger_counts_what_was_kept_and_names_what_is_violated_repeatedly(desk: Desk) -> None:
    id = rule(desk)
    bash(desk, "pnpm test")
    for number in range(3):
        bash(desk, "npm install --token=ghp_abcdefghijklmnopqrstuvwxyz0123456789", id=f"c{number}")
    report = desk.user("guard_report")
    (row,) = report["rules"]
    assert (row["id"], row["applied"], row["obeyed"], row["violated"]) == (id, 4, 1, 3)
    assert "guard mode" in report["repeated"][0]["proposal"]
    assert "ghp_abc" not in str(report)


def test_the_ledger_keeps_nothing_that_is_private(desk: Desk) -> None:
    rule(desk)
    bash(desk, "npm run '<private>zirkonglobe</private>'")
    (violation,) = desk.api._state.compliance.violations()
    assert "zirkonglobe" not in violation.what + violation.form


@pytest.mark.parametrize("purge", [False, True])
def test_the_ledger_holds_nothing_of_a_forgotten_rule(desk: Desk, purge: bool) -> None:
    gone, kept = rule(desk), rule(desk, "Never use yarn here.")
    for command in ("npm install", "yarn install", "pnpm test"):
        bash(desk, command)
    desk.user("forget", id=gone, purge=purge)
    assert {row["id"] for row in desk.user("guard_report")["rules"]} == {kept}
    assert {row.memory for row in desk.api._state.compliance.violations()} == {kept}


def test_what_the_user_answers_is_read_from_the_log(desk: Desk) -> None:
    desk.user("guard_mode", id=rule(desk), mode="ask")
    bash(desk, "npm install", id="yes")
    bash(desk, "npm test", id="no")
    results = [
        {"type": "tool_result", "tool_use_id": "yes", "content": "added 3 packages"},
        {"type": "tool_result", "tool_use_id": "no", "is_error": True, "content": "The user doesn't want to proceed."},
    ]
    log = desk.folder / "s1.jsonl"
    log.write_bytes(b"\n".join(orjson.dumps({"type": "user", "message": {"role": "user", "content": [one]}}) for one in results))
    desk.api.drain_spool_record("Stop", {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(log)}, {})
    (row,) = desk.user("guard_report")["rules"]
    assert (row["overridden"], row["declined"]) == (1, 1)


def test_a_wrong_fire_is_silenced_in_that_form_only(desk: Desk) -> None:
    id = rule(desk)
    bash(desk, "npm view left-pad")
    assert desk.user("guard_silence", id=id)["form"] == "npm view left-pad"
    desk.user("guard_silence", id=id, call="npm audit --json report.txt")
    assert bash(desk, "npm view left-pad") == {}
    assert bash(desk, "npm audit --json other.txt") == {}
    assert bash(desk, "npm install")


def test_rules_that_contradict_each_other_do_not_bind_and_both_are_shown(desk: Desk) -> None:
    rule(desk)
    desk.user("remember", content="Never use pnpm, use npm instead.", kind="rule", scope="user")
    assert bash(desk, "npm install") == bash(desk, "pnpm install") == {}
    (pair,) = desk.user("guard")["contradictions"]
    assert {pair["one"]["scope"], pair["other"]["scope"]} == {"project", "user"}


def test_a_rule_does_not_bind_while_one_without_a_check_contradicts_it(desk: Desk) -> None:
    rule(desk, "Sign every commit.")
    assert bash(desk, "git commit -m a")
    other = rule(desk, "Never sign commits.")
    assert bash(desk, "git commit -m a") == {}
    assert len(desk.user("guard")["contradictions"]) == 1
    desk.user("forget", id=other)
    assert bash(desk, "git commit -m a")


def test_a_rule_of_a_sub_folder_goes_before_the_general_one_there(desk: Desk) -> None:
    subprocess.run(["git", "init", "-q", str(desk.folder)], check=True)
    (desk.folder / "packages" / "web").mkdir(parents=True)
    general, special = rule(desk), rule(desk, "In packages/web use npm instead of pnpm.")
    assert desk.user("guard")["contradictions"] == []
    assert general in bash(desk, "npm ci")["additionalContext"]
    assert bash(desk, "cd packages/web && npm ci") == {}
    assert special in bash(desk, "cd packages/web && pnpm install")["additionalContext"]
    assert bash(desk, "pnpm install") == {}
    plan = desk.user("dream", dry_run=True)
    assert not {change["id"] for change in plan["changes"]} & {general, special}
    assert desk.user("proposals")["undecided"] == []


@pytest.mark.parametrize("changes", [{"source": "agent_step"}, {"source": "tool"}, {"scope": "team"}, {"status": "candidate"}])
def test_only_the_users_own_words_bind(desk: Desk, changes: dict[str, str]) -> None:
    path = Path(desk.user("get_memory", id=rule(desk))["path"])
    text = path.read_text("utf-8")
    for name, value in changes.items():
        text = "\n".join(f"{name}: {value}" if line.startswith(f"{name}: ") else line for line in text.splitlines())
    path.write_text(text, "utf-8")
    desk.api._service.sync([path])
    assert bash(desk, "npm install") == {}


def test_a_model_can_neither_write_a_rule_that_binds_nor_change_modes(desk: Desk) -> None:
    desk.model("remember", content="Never use npm here.", kind="rule")
    assert bash(desk, "npm install") == {}
    id = rule(desk, "Never use yarn here.")
    for method, given in (("guard_mode", {"mode": "block"}), ("guard_silence", {}), ("guard_report", {})):
        with pytest.raises(InputError):
            desk.model(method, id=id, **given)
    with pytest.raises(InputError):
        desk.api.call("guard_mode", {"id": id, "mode": "off", "caller": IN_CLIENT, "cwd": str(desk.folder)})


def test_a_command_that_must_come_first_counts_unless_it_failed(desk: Desk) -> None:
    rule(desk, "Run make typecheck before every commit.")
    assert bash(desk, "git commit -m a", id="1")
    bash(desk, "make typecheck", id="2")
    assert bash(desk, "git commit -m b", id="3") == {}
    bash(desk, "make typecheck", id="4")
    bash(desk, "make typecheck", id="4", event="PostToolUseFailure", error="Exit code 2")
    assert bash(desk, "git commit -m c", id="5")


def edit(desk: Desk, path: str) -> None:
    values = {"file_path": str(desk.folder / path), "old_string": "a", "new_string": "b"}
    payload = {"session_id": "s1", "cwd": str(desk.folder), "tool_name": "Edit", "tool_input": values, "tool_use_id": path}
    desk.api.hook("PreToolUse", payload, {})


def stop(desk: Desk, event: str = "Stop") -> str:
    """End the answer, and return what the next prompt is given."""
    desk.api.drain_spool_record(event, {"session_id": "s1", "cwd": str(desk.folder)}, {})
    answer = desk.api.hook("UserPromptSubmit", {"session_id": "s1", "cwd": str(desk.folder), "prompt": "ok"}, {})
    return str(orjson.loads(answer)["hookSpecificOutput"].get("additionalContext", "")) if answer else ""


def test_a_step_that_is_missing_when_the_answer_ends_is_counted_and_noted_with_the_next_prompt(desk: Desk) -> None:
    id = rule(desk, "When you are done, run make lint.")
    edit(desk, "a.py")
    noted = stop(desk)
    assert id in noted
    assert "make lint was not run" in noted
    assert id not in stop(desk)  # Nothing was edited since then, and it was noted.
    edit(desk, "a.py")
    bash(desk, "make lint", id="l1")
    assert "make lint was not run" not in stop(desk)
    bash(desk, "echo 'x = 1' > b.py && make lint", id="l2")
    assert "make lint was not run" not in stop(desk)
    bash(desk, "sed -i s/1/2/ b.py", id="l3")
    stop(desk, "SessionEnd")
    (row,) = desk.user("guard_report")["rules"]
    assert (row["obeyed"], row["violated"]) == (2, 2)


def test_a_step_for_one_kind_of_files_is_only_missing_after_their_edit(desk: Desk) -> None:
    rule(desk, "Always run `cargo fmt` after changing Rust files.")
    edit(desk, "a.py")
    assert "was not run" not in stop(desk)
    edit(desk, "src/main.rs")
    assert "cargo fmt was not run" in stop(desk)


def test_a_rule_about_commands_in_a_sub_folder_binds_there_only(desk: Desk) -> None:
    subprocess.run(["git", "init", "-q", str(desk.folder)], check=True)
    for folder in ("packages/web", "packages/api"):
        (desk.folder / folder).mkdir(parents=True)
    rule(desk, "In packages/web never use npm.")
    assert bash(desk, "npm ci") == {}
    assert bash(desk, "cd packages/api && npm ci") == {}
    assert bash(desk, "npm ci", cwd=str(desk.folder / "packages" / "api")) == {}
    for number, line in enumerate(("cd packages/web && npm ci", "npm --prefix packages/web ci", "(cd packages; cd web; npm ci)")):
        assert bash(desk, line, id=f"w{number}"), line
    assert bash(desk, "npm ci", id="w9", cwd=str(desk.folder / "packages" / "web"))


def test_earlier_commands_are_read_from_the_log_when_the_daemon_was_restarted(desk: Desk) -> None:
    rule(desk, "Run make typecheck before every commit.")
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make typecheck"}}
    (desk.folder / "s1.jsonl").write_bytes(orjson.dumps({"type": "assistant", "message": {"content": [use]}}) + b"\n{cut")
    assert bash(desk, "git commit -m a") == {}


def test_the_branch_is_read_from_the_repository(desk: Desk) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(desk.folder)], check=True)
    rule(desk, "Never commit on main.")
    assert bash(desk, "git commit -m a")
    (desk.folder / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    assert bash(desk, "git commit -m a") == {}


def test_nothing_is_said_where_memory_or_the_guard_is_off(desk: Desk) -> None:
    desk.user("guard_mode", id=rule(desk), mode="block")
    payload = {"session_id": "s1", "cwd": str(desk.folder), "tool_name": "Bash", "tool_input": {"command": "npm ci"}}
    assert desk.api.hook("PreToolUse", payload, {"MEMORYD_GUARD": "off"}) == b""
    desk.user("change_settings", values={"guard": "off"})
    assert bash(desk, "npm ci") == {}
    desk.user("change_settings", values={"guard": "note"})
    assert bash(desk, "npm ci")
    desk.user("off")
    assert bash(desk, "npm ci") == {}


def test_rules_learnt_before_the_guard_are_compiled_on_request(desk: Desk) -> None:
    path = Path(desk.user("get_memory", id=rule(desk))["path"])
    path.write_text("".join(line for line in path.read_text("utf-8").splitlines(True) if "check:" not in line), "utf-8")
    desk.api._service.sync([path])
    assert bash(desk, "npm ci") == {}
    assert len(desk.user("guard_compile")["rules"]) == 1
    assert bash(desk, "npm ci")


def test_a_pipe_in_place_of_a_log_or_of_a_file_of_git_stops_no_call(desk: Desk) -> None:
    (desk.folder / ".git" / "logs").mkdir(parents=True)
    for name in ("s1.jsonl", ".git/HEAD", ".git/config", ".git/logs/HEAD"):
        os.mkfifo(desk.folder / name)
    desk.user("guard_mode", id=rule(desk), mode="ask")
    rule(desk, "Never commit on main.")
    assert bash(desk, "npm ci")["permissionDecision"] == "ask"
    bash(desk, "git commit -m x")
    payload = {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(desk.folder / "s1.jsonl")}
    desk.api.drain_spool_record("Stop", payload, {})
    assert desk.user("remember", content="The function `foo_bar` in a.py is slow.", kind="decision")["id"]
