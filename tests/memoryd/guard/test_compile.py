"""Checks compiled from rules, and sentences that result in none."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.checks import Check, check_from_dict, check_to_dict
from memoryd.core.errors import InputError
from memoryd.core.tool_calls import ToolCall
from memoryd.core.types import Kind, MemoryItem
from memoryd.guard.binding import conflicts
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate
from memoryd.guard.shell import parse_shell
from tests.costs import seconds

# Times the cost of an ordinary line: 20 at most, and 88 to 300 without the limit on signs.
COST_LIMIT = 50

RULES: dict[str, dict[str, Any]] = {
    "In this repo: yarn, never npm.": {"kind": "command", "words": ["npm"], "instead": "yarn"},
    "Bitte kein npm, nur pnpm.": {"kind": "command", "words": ["npm"], "instead": "pnpm"},
    "npm, yarn and bun are forbidden.": {"kind": "command", "words": ["npm", "yarn", "bun"]},
    "No npm/yarn, use pnpm.": {"kind": "command", "words": ["npm", "yarn"], "instead": "pnpm"},
    "No sudo on this machine.": {"kind": "command", "words": ["sudo"]},
    "Do not run `terraform destroy`.": {"kind": "command", "words": ["terraform destroy", "terraform apply -destroy"]},
    "Hands off third_party/ please.": {"kind": "path", "paths": ["third_party/"]},
    "The fixtures folder must not be changed.": {"kind": "path", "paths": ["fixtures/"]},
    "Never open secrets.yml.": {"kind": "path", "paths": ["secrets.yml"], "access": "read"},
    "Always commit with --signoff.": {"kind": "command", "words": ["git commit"], "unless": ["-s"]},
    "Run `just lint` before you push.": {"kind": "companion", "words": ["git push"], "first": ["just lint"]},
    "Never commit without running make check.": {"kind": "companion", "words": ["git commit"], "first": ["make check"]},
    "We follow Conventional Commits for commit messages.": {"kind": "message", "form": "conventional"},
    "No Co-Authored-By lines in commits.": {"kind": "message", "words": ["co-authored-by"]},
    "Don't push to master or hotfix/*": {"kind": "command", "words": ["git push"], "branch": ["master", "hotfix/*"]},
    "Branch names start with feat/ or chore/": {"kind": "branch", "words": ["feat/*", "chore/*"]},
    "Stay on branch topic/search.": {"kind": "branch", "words": ["topic/search"], "access": "read"},
    "Don't put new files in core/old/": {"kind": "path", "paths": ["core/old/"], "new": "only"},
    "never run rails db:drop": {"kind": "command", "words": ["rails db:drop", "rake db:drop"]},
    "No new files in the repo root.": {"kind": "path", "paths": ["."], "new": "only"},
    "New SQL migrations go into schema/changes/": {
        "kind": "path",
        "files": ["*.sql"],
        "unless": ["schema/changes/"],
        "new": "only",
    },
    "schema/changes/ is append-only, never edit old files.": {"kind": "path", "paths": ["schema/changes/"], "new": "except"},
    "Never set STAGE=live.": {"kind": "command", "words": ["STAGE=live"]},
    "Never connect to db1.corp.internal.": {"kind": "command", "words": ["* db1.corp.internal"]},
    "no print() in lib/ except in lib/cli.py": {
        "kind": "content",
        "words": ["print"],
        "call": True,
        "files": ["*.py", "*.pyi"],
        "paths": ["lib/"],
        "unless": ["lib/cli.py"],
    },
    "不要使用 yarn，请用 pnpm。": {"kind": "command", "words": ["yarn"], "instead": "pnpm"},
    "コミットする前に make lint を実行してください": {"kind": "companion", "words": ["git commit"], "first": ["make lint"]},
    "Ne touche jamais à vendor/": {"kind": "path", "paths": ["vendor/"]},
    "Nunca hagas push en main": {"kind": "command", "words": ["git push"], "branch": ["main"]},
    "Не используй npm, только pnpm": {"kind": "command", "words": ["npm"], "instead": "pnpm"},
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
        "Keep main.py short, no business logic in main.",
        "At the moment never mind the warnings.",
        "Use feature branches.",
        "Never rebase published branches.",
        "Never make up names of functions.",
        "Don't mock the clock in tests.",
        "Don't ask me about docker.",
        "回答要简洁，不要啰嗦。",
        "変更の前に必ず方針を説明してください。",
        "Escribe código claro, nunca adivines.",
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
        ("ls\n\\npm ci", True),
        ("ls # all\n\\npm ci", True),
        ("ls\n\\\nnpm ci", True),
        ("ls \\\n\\npm ci", False),
    ],
)
def test_a_command_is_found_where_it_runs_and_not_where_it_is_written(command: str, wrong: bool) -> None:
    check = compile_rule("Never use npm.")
    assert check is not None
    assert violates(check, "Bash", command=command) is wrong


@given(st.text(alphabet=st.sampled_from("ab $(){}'\"`|&;<>\\\n#!-=é"), max_size=60))
def test_a_command_is_read_before_any_shell_text(line: str) -> None:
    assert parse_shell(f"npm ci\n{line}")[0].words == ("npm", "ci")


def test_a_rule_on_a_branch_counts_only_there() -> None:
    check = compile_rule("Never commit on main.")
    assert check is not None
    assert violates(check, "Bash", command="git commit -m x")
    assert not evaluate(check, ToolCall("Bash", {"command": "git commit -m x"}), branch="topic").violation


@pytest.mark.parametrize(
    ("command", "branch", "wrong"),
    [
        ("git push", "main", True),
        ("git push", "topic", False),
        ("git push origin topic:main", "topic", True),
        ("git push origin main:topic", "main", False),
        ("git push --mirror backup", "topic", True),
        ("git checkout main && git push", "topic", True),
        ("git switch -c topic && git push -u origin HEAD", "main", False),
    ],
)
def test_a_push_counts_by_the_branch_that_it_changes(command: str, branch: str, wrong: bool) -> None:
    check = compile_rule("Never push to main.")
    assert check is not None
    assert bool(evaluate(check, ToolCall("Bash", {"command": command}), branch=branch).violation) is wrong


@pytest.mark.parametrize(
    ("rule", "command", "wrong"),
    [
        ("Branches are named fix/…", "git checkout -b try", True),
        ("Branches are named fix/…", "git -C web switch -c fix/a", False),
        ("Branches are named fix/…", "git branch -d try", False),
        ("Never set STAGE=live.", "export STAGE=live; ./run", True),
        ("Never set STAGE=live.", "env STAGE=live ./run", True),
        ("Never set STAGE=live.", "echo STAGE=live", False),
        ("Never connect to db1.corp.internal.", "psql postgres://a@db1.corp.internal:5432/x", True),
        ("Never connect to db1.corp.internal.", "psql -h db1.corp.internal.test", False),
        ("Never connect to db1.corp.internal.", "grep -r db1.corp.internal docs", False),
        ("Don't edit gen/", "find gen -name '*.py' | xargs sed -i s/a/b/", True),
        ("Don't edit gen/", "find gen -name '*.py' | xargs grep a", False),
        ("No new files in the repo root.", "echo x > a.txt", True),
        ("No new files in the repo root.", "echo x > docs/a.txt", False),
        ("Run npm test before you push.", "npm t && git push", False),
        ("Run pnpm check:all and pnpm verify before each commit.", "pnpm check:all && pnpm run verify && git commit", False),
        ("Run pnpm check:all and pnpm verify before each commit.", "pnpm check:all && git commit", True),
        ("Never commit until yarn verify-all passes.", "yarn verify-all && git commit", False),
        ("Never commit until yarn verify-all passes.", "yarn install && git commit", True),
        ("Run npm typings before you push.", "npm run typings && git push", False),
        ("Run npm typings before you push.", "npm run build && git push", True),
        ("Run npm typecheck before you push.", "npm run typecheck && git push", False),
        ("Run uv pyright before each commit.", "uv run pyright && git commit", False),
        ("Run uv pyright before each commit.", "uv sync && git commit", True),
        ("Run composer stan before each commit.", "composer run stan && git commit", False),
        ("Vor jedem Commit pnpm typen ausführen.", "pnpm typen && git commit", False),
        ("Vor jedem Commit pnpm typen ausführen.", "pnpm install && git commit", True),
        ("Run the tests with pnpm before each commit.", "pnpm test && git commit", False),
        ("Run the tests with pnpm before each commit.", "pnpm install && git commit", True),
        ("Never run pnpm nuke.", "pnpm run nuke", True),
        ("Never run pnpm nuke.", "pnpm install", False),
        ("Never run pnpm yourself.", "pnpm install", True),
        ("Never run cargo globally.", "cargo build", True),
        ("No new files in the repo root.", "sed -i s/a/b/ a.txt", False),
    ],
)
def test_a_call_is_judged_by_what_it_changes(rule: str, command: str, wrong: bool) -> None:
    check = compile_rule(rule)
    assert check is not None
    assert violates(check, "Bash", command=command) is wrong


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


def cost_of_parsing(line: str) -> float:
    """Return the cost as a multiple of that of an ordinary line of 20,000 characters."""
    ordinary = ("git commit -m 'a b' && npm run test; " * 1_000)[:20_000]
    baseline, cost = (min(seconds(functools.partial(parse_shell, text)) for _ in range(2)) for text in (ordinary, line))
    return cost / baseline


@pytest.mark.parametrize("seed", [")", "a|", "[x](", "\0", "||", "<<E\n", ">$", "(a=1", ";[", "}|", "${$", "(for"])
def test_a_line_of_signs_that_are_no_shell_is_parsed_quickly(seed: str) -> None:
    assert cost_of_parsing((seed * 20_000)[:20_000]) < COST_LIMIT


@pytest.mark.parametrize(("first", "second"), [(">", "}"), (">", "<"), (">>", "}"), (">", "{")])
def test_a_line_of_signs_after_other_signs_is_parsed_quickly(first: str, second: str) -> None:
    assert cost_of_parsing(first * (10_000 // len(first)) + second * 10_000) < COST_LIMIT


def test_a_nul_hides_no_command() -> None:
    assert [command.words for command in parse_shell("np\0m ci")] == [("npm", "ci")]


def test_a_length_that_is_no_decimal_number_stops_no_call() -> None:
    check = check_from_dict({"kind": "message", "form": "length", "example": "²"})
    assert not violates(check, "Bash", command="git commit -m 'any message'")


@pytest.mark.parametrize(
    ("rule", "step", "files"),
    [
        ("Before you finish, run make lint.", "make lint", ()),
        ("Run pnpm verify at the end.", "pnpm verify", ()),
        ("Don't say you're finished until `make check` passes.", "make check", ()),
        ("Always run `cargo fmt` after changing Rust files.", "cargo fmt", ("*.rs",)),
        ("Am Ende immer make lint laufen lassen.", "make lint", ()),
        ("Before you finish, summarise what you did.", "", ()),
        ("After changing a migration, run alembic upgrade.", "", ()),  # Edits of other files need no migration.
        ("We run make release at the end of the sprint.", "", ()),
        ("Don't run make lint after every change.", "", ()),
    ],
)
def test_a_step_that_the_end_requires_is_read_from_the_rule(rule: str, step: str, files: tuple[str, ...]) -> None:
    check = compile_rule(rule)
    ends = check is not None and "end" in check.words
    assert (check.first[0] if check and ends else "", check.files if check and ends else ()) == (step, files)


@pytest.mark.parametrize(
    ("one", "other", "contradict"),
    [
        ("Commit messages begin with a ticket such as SHOP-12.", "Use conventional commits.", True),
        ('Commit messages start with "[web]".', 'Commit messages start with "[api]".', True),
        ("Use conventional commits.", "Commit subjects are at most 50 characters long.", False),
        ("Branches are named feature/….", "Branches are named fix/….", True),
        ("Never use npm, always pnpm.", "Always use npm.", True),
        ("Never use npm, always pnpm.", "Never use yarn, always pnpm.", False),
    ],
)
def test_rules_that_cannot_both_be_kept_are_found(one: str, other: str, contradict: bool) -> None:
    checks = [compile_rule(text) for text in (one, other)]
    assert all(checks)
    items = [MemoryItem(text, f"mem_{n}", kind=Kind.RULE, check=checks[n]) for n, text in enumerate((one, other))]
    assert bool(conflicts(items)) is contradict
