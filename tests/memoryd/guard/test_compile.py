"""Checks that rules compile to, and sentences that give none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.checks import Check, check_from_dict, check_to_dict
from memoryd.core.errors import InputError
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate
from memoryd.guard.shell import parse_shell

RULES: dict[str, dict[str, Any]] = {
    "In this repo: yarn, never npm.": {"kind": "command", "words": ["npm"], "instead": "yarn"},
    "Bitte kein npm, nur pnpm.": {"kind": "command", "words": ["npm"], "instead": "pnpm"},
    "No sudo on this machine.": {"kind": "command", "words": ["sudo"]},
    "Do not run `terraform destroy`.": {"kind": "command", "words": ["terraform destroy"]},
    "Hands off third_party/ please.": {"kind": "path", "paths": ["third_party/"]},
    "The fixtures folder must not be changed.": {"kind": "path", "paths": ["fixtures/"]},
    "Never open secrets.yml.": {"kind": "path", "paths": ["secrets.yml"], "access": "read"},
    "Always commit with --signoff.": {"kind": "command", "words": ["git commit"], "unless": ["-s"]},
    "Run `just lint` before you push.": {"kind": "companion", "words": ["git push"], "first": ["just lint"]},
    "Never commit without running make check.": {"kind": "companion", "words": ["git commit"], "first": ["make check"]},
    "We follow Conventional Commits for commit messages.": {"kind": "message", "form": "conventional"},
    "No Co-Authored-By lines in commits.": {"kind": "message", "words": ["co-authored-by"]},
    "Never commit directly on main.": {"kind": "command", "words": ["git commit"], "branch": ["main"]},
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_of_a_usual_form_compiles(rule: str) -> None:
    check = compile_rule(rule)
    assert check is not None
    assert check_to_dict(check) == RULES[rule]


@pytest.mark.parametrize(
    "text",
    [
        "Be kind to users of the API.",
        "Never assume; ask me first.",
        "Should we use pnpm instead of npm?",
        "Don't worry about npm warnings.",
        "I never had trouble with docker.",
        "Keep functions short and names plain.",
        "If the build fails, don't use sudo.",
        "x" * 700 + " never use npm",
    ],
)
def test_a_sentence_that_no_tool_call_can_violate_gives_no_check(text: str) -> None:
    assert compile_rule(text) is None


@given(st.text(alphabet=st.sampled_from("never use npm `'\"()/.-,;: legacy commit before git push \n"), max_size=200))
def test_any_text_compiles_to_a_check_that_can_be_stored_and_evaluated(text: str) -> None:
    check = compile_rule(text)
    if check is not None:
        assert check_from_dict(check_to_dict(check)) == check
        evaluate(check, ToolCall("Bash", {"command": text}), [text])


def violates(check: Check, tool: str, **given: Any) -> bool:
    return bool(evaluate(check, ToolCall(tool, given, "/r", "/r"), branch="main").violation)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("FOO=1 sudo -u x npm ci", True),
        ("echo ok | xargs -n1 npm view", True),
        ('bash -c "cd web && npm test"', True),
        ("x=$(npm bin); echo $x", True),
        ("echo 'npm ci' # npm ci", False),
        ("cat <<EOF > notes.md\nnpm ci\nEOF", False),
        ("npm --version", False),
        ("pnpm exec npm-check", False),
    ],
)
def test_a_command_is_found_where_it_runs_and_not_where_it_is_written(command: str, wrong: bool) -> None:
    check = compile_rule("Never use npm.")
    assert check is not None
    assert violates(check, "Bash", command=command) is wrong


@given(st.text(alphabet=st.sampled_from("ab $(){}'\"`|&;<>\\\n#!-=é"), max_size=60))
def test_any_shell_line_is_read(line: str) -> None:
    parse_shell(line)


def test_a_rule_on_a_branch_counts_only_there() -> None:
    check = compile_rule("Never commit on main.")
    assert check is not None
    assert violates(check, "Bash", command="git commit -m x")
    assert not evaluate(check, ToolCall("Bash", {"command": "git commit -m x"}), branch="topic").violation


def test_only_what_an_edit_adds_counts() -> None:
    check = compile_rule("No print() in app/.")
    assert check is not None
    assert violates(check, "Edit", file_path="/r/app/a.py", old_string="x", new_string="print(x)")
    assert not violates(check, "Edit", file_path="/r/app/a.py", old_string="print(x)", new_string="print(x, y)")
    assert not violates(check, "Edit", file_path="/r/tools/a.py", old_string="x", new_string="print(x)")


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("npm", "check"),
        ({"kind": "shell", "words": ["npm"]}, "check.kind"),
        ({"kind": "command"}, "check"),
        ({"kind": "command", "words": [1]}, "check.words"),
        ({"kind": "command", "words": ["npm"], "regex": ".*"}, "check"),
        ({"kind": "command", "words": ["npm"], "mode": "kill"}, "check.mode"),
    ],
)
def test_a_wrong_check_in_a_file_is_named(value: Any, field: str) -> None:
    with pytest.raises(InputError) as caught:
        check_from_dict(value)
    assert caught.value.message.startswith(f"{field}:")
