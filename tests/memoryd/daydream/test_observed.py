"""Facts derived from commands: how things are run here, and what is missing on this machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import Kind, Passage, Status, Turn, TurnKind
from memoryd.daydream.offline.observed import observations
from memoryd.daydream.offline.reader import HeuristicExtractor


def call(command: str, tool: str = "Bash") -> Turn:
    return Turn(TurnKind.TOOL_USE, "", tool=tool, detail=command)


def result(text: str = "ok", *, error: bool = False, tool: str = "Bash") -> Turn:
    return Turn(TurnKind.TOOL_RESULT, text, tool=tool, error=error)


def session(*runs: tuple[str, str] | str) -> list[Turn]:
    """Return commands with their output. An output that starts with "!" failed."""
    out: list[Turn] = []
    for number, run in enumerate(runs, 1):
        command, text = (run, "ok") if isinstance(run, str) else run
        out += [call(command), result(text.removeprefix("!"), error=text.startswith("!"))]
        out[-2:] = [Turn(t.kind, t.text, tool=t.tool, detail=t.detail, error=t.error, line=2 * number) for t in out[-2:]]
    return out


def said(*runs: tuple[str, str] | str) -> list[str]:
    return [one.text for one in observations(session(*runs))]


def test_a_program_that_the_shell_does_not_find_is_kept_with_what_works_in_its_place() -> None:
    missing = ("python tools/gen.py", "!Exit code 127\nbash: line 1: python: command not found")
    assert said(missing, "python3.12 tools/gen.py") == [
        "`python` is not on the PATH of this machine (command not found); `python3.12` works."
    ]
    assert said(("gradle build", "!zsh: command not found: gradle"), "ls") == [
        "`gradle` is not on the PATH of this machine (command not found)."
    ]
    assert said(("pytest -q", "!/bin/sh: 1: pytest: not found"), "uv run pytest -q")[0].endswith("`uv run pytest` works.")


def test_a_program_that_is_found_later_is_not_missing() -> None:
    assert said(("jq . a.json", "!jq: command not found"), "apt-get install -y jq", "jq . a.json") == []


def test_only_names_that_the_assistant_typed_are_taken_from_output() -> None:
    assert said(("cat build.log", "deploy-all: command not found"), "ls") == []


def test_the_project_s_own_way_to_test_is_kept_and_a_tool_s_plain_call_is_not() -> None:
    assert said("bundle exec rspec") == []
    assert said("mise run test:unit", "mise run test:unit") == ["The tests run with `mise run test:unit`."]
    assert said("APP_ENV=ci make -C server test", "APP_ENV=ci make -C server test | tail -3") == [
        "The tests run with `APP_ENV=ci make -C server test`."
    ]
    assert said("npm test", "npm test", "pytest", "pytest", "cargo test", "cargo test") == []
    assert said("uv run pytest tests/test_one.py -q", "uv run pytest tests/test_one.py -q") == []


def test_a_call_that_failed_for_its_surroundings_is_kept_with_the_one_that_worked() -> None:
    failed = ("bin/worker --queue mail", "!Error: connect ECONNREFUSED 127.0.0.1:6390")
    assert said(failed, "REDIS_HOST=10.9.8.7 bin/worker --queue mail") == [
        "`bin/worker --queue mail` fails here; `REDIS_HOST=10.9.8.7 bin/worker --queue mail` works."
    ]
    edited = [*session(failed), call("src/worker.py", "Edit"), *session("REDIS_HOST=10.9.8.7 bin/worker --queue mail")]
    assert observations(edited) == [], "the edit may be what cured it"


def test_an_interpreter_called_by_its_path_time_and_again_is_the_project_s() -> None:
    path = "/opt/envs/torch/bin/python"
    assert said(f"{path} train.py", f"{path} eval.py --fast")[0] == f"Python is run here by `{path}`."
    assert said(f"{path} train.py") == []


def test_a_server_that_was_reached_is_kept() -> None:
    assert said("ssh -p 2222 deploy@shop-web-1 uptime") == ["The server is reached by `ssh deploy@shop-web-1`."]
    assert said(("ssh deploy@shop-web-1 uptime", "!Permission denied (publickey)")) == []


def test_a_commit_that_says_why_is_kept_and_one_that_only_lists_is_not() -> None:
    body = "Totals differed by a cent because each line was summed unrounded."
    why = f"git commit -m \"$(cat <<'EOF'\nfix(cart): round per line\n\n{body}\nEOF\n)\""
    [one] = observations(session(why))
    assert (one.kind, one.text) == (
        Kind.FIX,
        "Round per line: Totals differed by a cent because each line was summed unrounded.",
    )
    lists = "git commit -m \"$(cat <<'EOF'\nUpdate cart\n\n- add rounding because of cents\n- rename total\nEOF\n)\""
    assert observations(session(lists)) == []


def test_parallel_calls_are_matched_with_their_results_in_order() -> None:
    turns = [call("python a.py"), call("python3 -V"), result("python: command not found", error=True), result("Python 3.12.1")]
    assert [one.text for one in observations(turns)] == [
        "`python` is not on the PATH of this machine (command not found); `python3` works."
    ]


def test_what_commands_show_becomes_active_and_is_never_a_rule() -> None:
    turns = [Turn(TurnKind.USER, "run the tests please"), *session("mise run test:unit", "mise run test:unit")]
    kept = [one for one in HeuristicExtractor().extract(Passage(tuple(turns))).candidates if one.status is Status.ACTIVE]
    assert [(one.content, one.kind) for one in kept] == [("The tests run with `mise run test:unit`.", Kind.ENVIRONMENT)]


def test_a_described_option_that_the_user_chose_is_a_decision() -> None:
    chosen = Turn(
        TurnKind.USER,
        "Per tenant: every tenant gets a database of its own on the shared server",
        via="answer",
        detail="How are tenants kept apart?",
        offered=True,
    )
    kept = HeuristicExtractor().extract(Passage((chosen,))).candidates
    assert [one.kind for one in kept if one.status is Status.ACTIVE] == [Kind.DECISION]
    leave = Turn(
        TurnKind.USER, "Yes, go: runs the migration on the copy right now", via="answer", detail="Shall I go?", offered=True
    )
    assert not [one for one in HeuristicExtractor().extract(Passage((leave,))).candidates if one.status is Status.ACTIVE]


@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80), st.booleans()), max_size=6))
def test_any_commands_are_read_without_a_fault(runs: list[tuple[str, str, bool]]) -> None:
    turns = [turn for command, text, error in runs for turn in (call(command), result(text, error=error))]
    assert isinstance(observations(turns), list)


@pytest.mark.parametrize("command", ['echo "unclosed', "a && ; | b", "timeout", "env", "VAR=1", "cat <<EOF\nx\nEOF"])
def test_odd_command_lines_give_nothing(command: str) -> None:
    assert said(command, command) == []


def test_an_interpreter_that_every_machine_has_or_that_plain_calls_outnumber_is_not_kept() -> None:
    assert said("/usr/bin/python3 a.py", "/usr/bin/python3 b.py") == []
    path = "venv/bin/python"
    assert said(f"{path} a.py", f"{path} b.py", "python a.py", "python b.py") == []


def test_what_is_less_certain_is_only_proposed() -> None:
    lacks = session(("jq . a.json", "!jq: command not found"))
    kept = HeuristicExtractor().extract(Passage((Turn(TurnKind.USER, "look at it"), *lacks))).candidates
    assert [(one.content, one.status) for one in kept if "jq" in one.content] == [
        ("`jq` is not on the PATH of this machine (command not found).", Status.CANDIDATE)
    ]


def sure(*runs: tuple[str, str] | str) -> list[str]:
    """Return what would become active."""
    return [one.text for one in observations(session(*runs)) if one.sure]


MISSING = ("ruby gen.rb", "!Exit code 127\nbash: line 1: ruby: command not found")


def test_a_missing_program_is_certain_if_another_call_of_it_worked() -> None:
    assert sure(MISSING, "/opt/ruby/bin/ruby gen.rb") == [
        "`ruby` is not on the PATH of this machine (command not found); `/opt/ruby/bin/ruby` works."
    ]


@pytest.mark.parametrize(
    "runs",
    [
        ["export PATH=/opt/only/bin", MISSING, "/opt/ruby/bin/ruby gen.rb"],
        [MISSING, "/opt/ruby/bin/ruby gen.rb", "source ~/.nvm/nvm.sh && nvm use 20"],
        ["ruby -v", MISSING, "/opt/ruby/bin/ruby gen.rb"],
        [MISSING, "mkdir -p /opt/mine && tar -xf ruby.tgz -C /opt/mine", "/opt/mine/bin/ruby gen.rb"],
        [MISSING, "/tmp/ruby/bin/ruby gen.rb"],
        [("pytest -q", "!bash: pytest: command not found"), ".venv/bin/pytest -q"],
        [("pytest -q", "!bash: pytest: command not found"), "/srv/envs/web/bin/pytest -q"],
        [MISSING, "docker exec ruby ls"],
        [("pytest -q", "!bash: pytest: command not found"), "uv add pytest"],
    ],
)
def test_a_program_that_the_assistant_s_own_setup_hides_is_not_certainly_missing(runs: list[tuple[str, str] | str]) -> None:
    assert [text for text in sure(*runs) if "PATH" in text] == []


def test_the_interpreter_is_certain_only_if_the_session_uses_one() -> None:
    path = "/opt/envs/torch/bin/python"
    calls = [f"{path} train.py", f"{path} eval.py --fast"]
    assert sure(*calls) == [f"Python is run here by `{path}`."]
    assert sure(*calls, "python3 -c 'print(1)'", ("python3 train.py", "!No module named torch")) == sure(*calls)
    assert sure(*calls, (calls[0], "!Exit code 1\nloss is nan")) == sure(*calls), "a script failed, not its interpreter"
    assert sure(*calls, (calls[0], "!No module named torch")) == []
    assert sure(*calls, "python3 train.py") == []
    assert sure(*calls, "/opt/envs/jax/bin/python train.py") == []
    assert sure(*calls, "conda run -n jax python train.py") == []
    assert sure(*calls, "conda activate jax && python train.py") == []
    assert sure(f"python3 -m venv {path.removesuffix('/bin/python')}", *calls) == []


@pytest.mark.parametrize(
    "output",
    [
        'npm error Missing script: "lint:api"',
        'error: Script not found "lint:api"',
        " ELIFECYCLE  Command failed with exit code 1.",
        "src/a.ts: error: unknown rule",
    ],
)
def test_a_script_that_failed_behind_a_pipe_is_not_how_things_run(output: str) -> None:
    command = "npm run lint:api 2>&1 | tail -5"
    assert sure((command, output), (command, output)) == []
    assert sure((command, "0 errors"), (command, "ok")) == ["The linter runs with `npm run lint:api`."]


def test_a_way_that_failed_in_the_end_or_has_a_rival_is_not_certain() -> None:
    lint = "npm run lint:api"
    assert sure(lint, lint, (lint, "!Exit code 1")) == []
    assert sure(lint, lint, "npm run lint:web") == []
    assert sure(lint, lint, f"{lint} --quiet") == ["The linter runs with `npm run lint:api`."]


def test_servers_are_certain_only_if_there_is_one() -> None:
    assert sure("ssh deploy@shop-web-1 uptime") == ["The server is reached by `ssh deploy@shop-web-1`."]
    assert sure("ssh deploy@shop-web-1 uptime", "ssh deploy@shop-db-1 uptime") == []
    assert sure("scp notes.txt deploy@shop-web-1:/tmp/notes.txt") == []


def test_a_later_prompt_of_the_session_can_contradict_what_commands_showed() -> None:
    shown = session("npm run lint:api", "npm run lint:api")
    later = session(("npm run lint:api", '!npm error Missing script: "lint:api"'))
    ask = Turn(TurnKind.USER, "have a look at the api please")
    kept = HeuristicExtractor().extract(Passage((ask, *shown, ask, *later))).candidates
    assert [one.status for one in kept if "lint:api" in one.content] == [Status.CANDIDATE]
