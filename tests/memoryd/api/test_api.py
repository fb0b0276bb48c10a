"""Permissions of a model and of the user, in the API behind all interfaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.core.clock import to_iso
from memoryd.core.config import Settings, load_settings
from memoryd.core.errors import InputError, MemorydError
from memoryd.testing import FakeClock
from tests.memoryd.api.conftest import Desk


def test_what_a_model_remembers_is_not_a_rule_until_the_user_says_it(desk: Desk) -> None:
    id = desk.model("remember", content="Always deploy on Fridays.", kind="rule", polarity="do")["id"]
    assert desk.user("governance")["ids"]["do"] == []
    confirmed = desk.user("remember", content="Always deploy on Fridays.", kind="rule", polarity="do")
    assert confirmed["superseded"] == id
    assert desk.user("governance")["ids"]["do"] == [confirmed["id"]]


@pytest.mark.parametrize(
    "change", [{"content": "Never lint."}, {"polarity": "dont"}, {"kind": "note"}, {"confidence": 0.1}, {"pinned": True}]
)
def test_a_model_may_not_change_what_the_user_said(desk: Desk, change: dict[str, Any]) -> None:
    id = desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")["id"]
    with pytest.raises(InputError) as caught:
        desk.model("update_memory", id=id, **change)
    assert "memoryd edit" in caught.value.fix
    assert desk.user("get_memory", id=id)["memory"]["content"] == "Lint before each commit."


def test_a_model_may_correct_what_a_model_found(desk: Desk) -> None:
    id = desk.model("remember", content="The cache lives in Redis.", kind="fact")["id"]
    newer = desk.model("update_memory", id=id, content="The cache lives in Valkey.")["memory"]
    assert newer["supersedes"] == id
    assert newer["trust"] == "statement"


def test_what_was_forgotten_is_not_brought_back_by_rewording_it(desk: Desk) -> None:
    id = desk.user("remember", content="The gate opens at six.")["id"]
    desk.user("forget", id=id)
    with pytest.raises(InputError) as caught:
        desk.user("update_memory", id=id, content="The gate opens at seven.")
    assert f"memoryd restore {id}" in caught.value.fix
    assert desk.user("get_memory", id=id)["memory"]["status"] == "blacklisted"
    assert desk.user("list_memories", status="all")["total"] == 1


def test_forgetting_by_a_model_hides_and_can_be_undone_but_never_purges(desk: Desk) -> None:
    id = desk.user("remember", content="The old host is called alpha.")["id"]
    pinned = desk.user("remember", content="The new host is called beta.", pinned=True)["id"]
    with pytest.raises(InputError):
        desk.model("forget", id=pinned)
    with pytest.raises(InputError):
        desk.model("forget", id=id, purge=True)
    assert desk.model("forget", id=id)["status"] == "blacklisted"
    assert Path(desk.user("get_memory", id=id)["path"]).exists()
    assert desk.user("restore", id=id)["memory"]["status"] == "active"


@pytest.mark.parametrize("method", ["restore", "export", "off", "import_file", "daydream", "no_such_thing"])
def test_a_model_has_no_other_methods(desk: Desk, method: str) -> None:
    with pytest.raises(InputError, match="no method"):
        desk.model(method)


def test_a_project_that_is_off_is_off_for_tools_and_hooks(desk: Desk) -> None:
    desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")
    desk.user("off")
    with pytest.raises(InputError, match="switched off"):
        desk.model("recall", query="lint before commit")
    assert desk.hook("SessionStart", source="startup") == {}
    desk.user("on")
    assert "Lint before" in desk.hook("SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]


def test_secrets_are_redacted_whoever_remembers_them(desk: Desk) -> None:
    key = "ghp_" + "a1B2" * 9
    for call in (desk.user, desk.model):
        id = call("remember", content=f"The deploy key of {call.__name__} is {key}.")["id"]
        assert key not in desk.user("get_memory", id=id)["memory"]["content"]


def test_a_project_known_only_from_its_files_can_be_named(desk: Desk, settings: Settings) -> None:
    restored = settings.paths.memories / "project-backup-1234" / "old" / "note.md"
    restored.parent.mkdir(parents=True)
    restored.write_text("Restored from a backup.\n")
    desk.user("sync")
    assert desk.user("list_memories", project="backup-1234")["total"] == 1
    with pytest.raises(MemorydError, match="nowhere-1234"):
        desk.user("list_memories", project="nowhere-1234")


def test_a_failing_day_dream_is_reported_at_the_next_session_start(desk: Desk, clock: FakeClock) -> None:
    log = desk.folder / "gone.jsonl"
    desk.api.drain_spool_record("Stop", {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(log)}, {})
    desk.api.tick()
    assert "could not be read yet" in desk.hook("SessionStart", source="startup")["systemMessage"]


def test_options_of_the_plugin_take_effect_at_once(desk: Desk) -> None:
    desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")
    payload = {"session_id": "s9", "cwd": str(desk.folder), "source": "startup"}
    options = {"CLAUDE_PLUGIN_OPTION_INJECT_SESSION": "false", "CLAUDE_PROJECT_DIR": str(desk.folder)}
    assert b"Lint before" not in desk.api.hook("SessionStart", payload, options)
    assert b"Lint before" in desk.api.hook("SessionStart", payload, {"CLAUDE_PROJECT_DIR": str(desk.folder)})


def test_the_first_start_says_once_which_reader_is_at_work_and_how_to_change_it(desk: Desk) -> None:
    (line,) = desk.hook("SessionStart", source="startup")["systemMessage"].splitlines()
    assert "session:" in line and "no extra calls" in line and "memoryd setup" in line
    assert "systemMessage" not in desk.hook("SessionStart", source="startup")
    status = desk.user("memory_status")
    assert status["reader_line"] in line and status["usd_month"] == 0


def test_a_first_session_that_started_before_the_daemon_shows_the_reader_with_its_first_prompt(desk: Desk) -> None:
    assert "session:" in desk.hook("UserPromptSubmit", prompt="Please look at the cart.")["systemMessage"]
    assert "systemMessage" not in desk.hook("UserPromptSubmit", prompt="Please look at the cart again.")
    assert "systemMessage" not in desk.hook("SessionStart", source="startup")


def test_what_an_answer_that_came_too_late_said_is_said_again(desk: Desk) -> None:
    late = {"session_id": "s1"}
    assert "session:" in desk.hook("SessionStart", source="startup")["systemMessage"]
    desk.api.undelivered(late)
    assert "session:" in desk.hook("UserPromptSubmit", prompt="Please look at the cart.")["systemMessage"]
    desk.api.undelivered({"session_id": "of nobody"})
    assert "systemMessage" not in desk.hook("UserPromptSubmit", prompt="Please look at the cart again.")
    desk.api.undelivered(late)
    assert "systemMessage" not in desk.hook("UserPromptSubmit", prompt="And at the till."), "the line had arrived before"


def test_memories_of_an_answer_that_came_too_late_are_given_with_the_next_prompt(desk: Desk) -> None:
    desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")
    for _ in range(2):
        assert "Lint before" in str(desk.hook("SessionStart", source="startup"))
        desk.api.undelivered({"session_id": "s1"})
    (memory,) = desk.user("list_memories")["memories"]
    assert desk.user("why", id=memory["id"])["used"] == {}
    assert "Lint before" in str(desk.hook("UserPromptSubmit", prompt="Please look at the cart."))
    assert "Lint before" not in str(desk.hook("UserPromptSubmit", prompt="Please lint the commit."))
    assert desk.user("why", id=memory["id"])["used"] == {"injected": 1}


def test_a_cached_start_that_the_hook_printed_instead_of_a_late_answer_counts(desk: Desk) -> None:
    desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")
    assert "Lint before" in str(desk.hook("SessionStart", source="startup"))
    desk.api.drain_spool_record("GovernanceShown", {"session_id": "s1", "cwd": str(desk.folder)}, {})
    desk.api.undelivered({"session_id": "s1"})
    assert "Lint before" not in str(desk.hook("UserPromptSubmit", prompt="Please look at the cart."))


def test_a_reader_that_cannot_answer_is_reported_once(desk: Desk, tmp_path: Path) -> None:
    desk.hook("SessionStart", source="startup")
    log = tmp_path / "s1.jsonl"
    message = {"role": "user", "content": "From now on run make lint before each commit."}
    line = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(desk.folder), "message": message}
    log.write_bytes(orjson.dumps(line) + b"\n")
    desk.user("change_settings", values={"reader": "endpoint", "openai_base_url": "http://127.0.0.1:9/v1"})
    payload = {"session_id": "s1", "cwd": str(desk.folder), "transcript_path": str(log)}
    desk.api.drain_spool_record("SessionEnd", payload, {})
    desk.api.tick()
    status = desk.user("memory_status")
    assert "can't be reached" in status["reader_problem"] and status["reader_problem"] in status["reader_line"]
    assert [job["transcript"] for job in status["daydreams"]["failing"]] == [str(log)]
    assert "make lint" in str(desk.user("list_memories")), "rules read it meanwhile"
    assert "can't be reached" in desk.hook("SessionStart", source="startup")["systemMessage"]
    assert "can't be reached" not in desk.hook("SessionStart", source="startup").get("systemMessage", "")


def test_the_daemons_own_folder_is_never_watched(desk: Desk, settings: Settings) -> None:
    inside = settings.home / "run" / "extractor"
    inside.mkdir(parents=True)
    payload = {"session_id": "own", "cwd": str(inside), "transcript_path": str(inside / "x.jsonl"), "source": "startup"}
    assert desk.api.hook("SessionStart", payload, {}) == b""
    desk.api.drain_spool_record("Stop", payload, {})
    assert desk.user("jobs")["waiting"] == 0


def test_an_option_with_a_wrong_value_is_not_kept_and_the_next_start_works(
    desk: Desk, settings: Settings, clock: FakeClock
) -> None:
    desk.user("remember", content="Deploy with make ship.")
    payload = {"session_id": "s1", "cwd": str(desk.folder)}
    wrong = {"CLAUDE_PLUGIN_OPTION_EXTRACTOR": "evil", "CLAUDE_PLUGIN_OPTION_SESSION_BUDGET": "400"}
    assert b"make ship" in desk.api.hook("SessionStart", payload, wrong)
    assert load_settings({}, home=str(settings.home)).reader == "auto"
    settings.paths.plugin_options.write_text(
        '{"CLAUDE_PLUGIN_OPTION_EXTRACTOR": "evil", "CLAUDE_PLUGIN_OPTION_FLOOR": "0.7"}', "utf-8"
    )
    assert load_settings({}, home=str(settings.home)).floor == 0.7


def test_a_models_change_obeys_what_restrains_a_model_that_remembers(desk: Desk) -> None:
    id = desk.model("remember", content="Telemetry goes to box one.")["id"]
    change = {"scope": "user", "kind": "rule", "polarity": "do", "confidence": 1.0}
    item = desk.model("update_memory", id=id, **change)["memory"]
    assert (item["scope"], item["kind"], item["confidence"]) == ("project", "fact", 0.8)


@pytest.mark.parametrize("tag", ["check", "archived", "expired", "by-user", "confirmed", "agreed", "hidden-by-model", " Check "])
def test_a_model_sets_no_tag_that_means_something(desk: Desk, tag: str) -> None:
    id = desk.user("remember", content="Lint before each commit.", kind="rule", polarity="do")["id"]
    for call in (
        ("update_memory", {"id": id, "tags": [tag]}),
        ("remember", {"content": "The sky is blue today.", "tags": [tag]}),
    ):
        with pytest.raises(InputError):
            desk.model(call[0], **call[1])
    assert desk.model("update_memory", id=id, tags=["style"])["memory"]["tags"] == ["style"]


def test_what_a_model_says_is_true_from_now_on_at_the_latest(desk: Desk, clock: FakeClock) -> None:
    id = desk.model("remember", content="The staging host is alpha.", valid_from="2099-01-01")["id"]
    assert desk.user("get_memory", id=id)["memory"]["valid_from"] == to_iso(clock.now())
    with pytest.raises(InputError):
        desk.model("update_memory", id=id, valid_to="2099-01-01")


def test_what_a_model_forgets_binds_models_only(desk: Desk) -> None:
    words = "Never force-push to main."
    id = desk.model("remember", content=words, kind="rule", polarity="dont")["id"]
    desk.model("forget", id=id)
    assert desk.model("remember", content=words)["status"] == "refused"
    said = desk.user("remember", content=words, kind="rule", polarity="dont")
    assert said["status"] == "new"
    assert desk.user("governance")["ids"]["dont"] == [said["id"]]


def test_what_the_user_forgot_binds_models_and_the_users_later_words_lift_it(desk: Desk, clock: FakeClock) -> None:
    id = desk.user("remember", content="Use the blue theme in demos.")["id"]
    desk.user("forget", id=id)
    desk.model("forget", id=id)  # Changes nothing, because it is the user's tombstone.
    assert desk.model("remember", content="Use the blue theme in demos.")["status"] == "refused"
    clock.advance(seconds=1)
    assert desk.user("remember", content="Use the blue theme in demos.")["status"] == "new"


def test_the_command_line_in_the_clients_shell_is_a_model(desk: Desk) -> None:
    def shell(method: str, **params: Any) -> dict[str, Any]:
        return desk.api.call(method, {"cwd": str(desk.folder), "caller": "client shell", **params})

    id = shell("remember", content="Always deploy on Fridays.", kind="rule", polarity="do")["id"]
    assert desk.user("governance")["ids"]["do"] == []
    assert shell("sessions")["sessions"] == []
    for method, params in (
        ("restore", {"id": id}),
        ("forget", {"id": id, "purge": True}),
        ("on", {}),
        ("import_file", {"path": "x"}),
    ):
        with pytest.raises(InputError) as caught:
            shell(method, **params)
        assert "your own terminal" in caught.value.fix


def test_a_session_that_claims_to_be_from_the_future_beats_nobody(desk: Desk, clock: FakeClock) -> None:
    desk.model("remember", content="The staging database is on port 5544.", valid_from="2099-01-01")
    newer = desk.user("remember", content="The staging database is on port 7777.")
    assert newer["status"] in ("new", "superseded")


def test_a_known_project_at_a_new_place_is_reported_once(desk: Desk, tmp_path: Path) -> None:
    def start(folder: Path) -> str:
        payload = {"session_id": folder.name, "cwd": str(folder), "transcript_path": "", "source": "startup"}
        answer = desk.api.hook("SessionStart", payload, {})
        return str(orjson.loads(answer).get("systemMessage", "")) if answer else ""

    for name in ("first", "second"):
        git = tmp_path / name / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text('[remote "origin"]\n\turl = https://git.example/ann/shop.git\n')
    assert "was recognised as" not in start(tmp_path / "first")
    result = start(tmp_path / "second")
    assert "was recognised as 'shop'" in result and str(tmp_path / "first") in result and "memoryd off" in result
    assert "was recognised as" not in start(tmp_path / "second")


def test_a_resumed_session_is_not_read_before_it_goes_on_but_one_that_was_killed_is(desk: Desk) -> None:
    for session in ("killed", "s1"):
        log = desk.folder / f"{session}.jsonl"
        log.write_text('{"type": "user"}\n')
        desk.hook("SessionStart", source="startup", session_id=session, transcript_path=str(log))
    desk.api.drain_spool_record("SessionStart", {"session_id": "s1", "cwd": str(desk.folder), "source": "resume"}, {})
    assert [Path(job.transcript).stem for job in desk.api._state.jobs()] == ["killed"]


def test_a_users_rule_goes_under_do_or_dont_as_its_words_say(desk: Desk) -> None:
    given = {
        "Never deploy on Fridays.": "rule",
        "Always sign commits.": "rule",
        "From now on no emojis in commits.": "preference",
        "The port is 5433.": "fact",
    }
    ids = [desk.user("remember", content=text, kind=kind)["id"] for text, kind in given.items()]
    found = desk.user("governance")["ids"]
    assert (sorted(found["dont"]), found["do"], found["know"]) == (sorted([ids[0], ids[2]]), [ids[1]], [ids[3]])
    reworded = desk.user("update_memory", id=ids[1], content="Never sign commits.")["memory"]
    assert reworded["polarity"] == "dont"
    chosen = desk.user("update_memory", id=ids[3], kind="rule", polarity="know")["memory"]
    assert chosen["polarity"] == "know"
