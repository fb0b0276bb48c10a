"""The index of checks gives the same results as evaluating each check."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core.checks import Access, Check, CheckKind, Form, New
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate
from memoryd.guard.index import CheckIndex

RULES = (
    "Never use npm here, always pnpm.", "Sign every commit.", "Never commit on main.", "Don't touch legacy/.", "Never read .env.",
    "No `any` in TypeScript.", "No print() in src/.", "Don't use lodash.", "Run make typecheck before each commit.",
    "Branches are named feature/… or fix/….", "Commit messages begin with a ticket like SHOP-12.", "New tests go under tests/.",
    "Never pip install without a venv.", "No TODO comments.", "Don't edit *.lock files.", "Never write to db.prod.internal.",
)  # fmt: skip
CHECKS = [check for rule in RULES if (check := compile_rule(rule))] + [
    Check(CheckKind.COMMAND, ("* db.prod.internal",)),
    Check(CheckKind.COMMAND, ("DEBUG=1",)),
    Check(CheckKind.COMMAND, ("manage.py migrate",)),
    Check(CheckKind.COMMAND, ("* --skip-audit",)),
    Check(CheckKind.COMMAND, ("git push",), branch=("!bot/*",)),
    Check(CheckKind.CONTENT, ("foo",), unless=("foo.bar", "tests/")),
    Check(CheckKind.CONTENT, ("lodash",), imports=True, files=("*.ts",)),
    Check(CheckKind.PATH, paths=("/etc/hosts", "./src/gen/", "*.pem"), access=Access.READ),
    Check(CheckKind.PATH, files=("*.md",), unless=("docs/",), new=New.ONLY),
    Check(CheckKind.PATH, paths=(".",)),
    Check(CheckKind.MESSAGE, ("wip",), form=Form.LENGTH, example="20"),
    Check(CheckKind.COMPANION, ("git commit", "end"), first=("make lint", "pnpm lint")),
    Check(CheckKind.COMMAND, ("npm",), silenced=("npm view *",)),
]
COMMANDS = (
    "npm ci", "npm view left-pad", "pnpm add lodash", "git commit -m 'wip: x'", "git commit -S -m 'SHOP-1 x'", "make typecheck",
    "make lint", "git checkout -b topic", "git switch main", "cat .env", "rm -rf legacy/a", "python3 -m pip install x",
    "python manage.py migrate", "yarn ci --skip-audit", "git push origin main",
    "curl https://db.prod.internal/x", "export DEBUG=1", "echo 'print(1)' > src/a.py", "echo 'import x from \"lodash\"' > a.ts",
    "ls | xargs rm", "sed -i s/foo/foo.bar/ a.py", "tee notes.md", "cd legacy && touch x.pem", "find . -name '*.lock' -delete",
)  # fmt: skip
PATHS = ("legacy/a.py", "src/a.py", "src/gen/b.py", "a.ts", ".env", "/etc/hosts", "README.md", "docs/a.md", "tests/t.py")
TEXTS = ("print(1)", "let a: any = 1", "import x from 'lodash'", "# TODO later", "foo.bar", "foo", "x = 1", "")
lines = st.lists(st.sampled_from(COMMANDS), min_size=1, max_size=3).map(" && ".join)
edits = st.fixed_dictionaries(
    {"file_path": st.sampled_from(PATHS), "new_string": st.sampled_from(TEXTS), "old_string": st.sampled_from(TEXTS)}
)
calls = st.one_of(
    st.builds(lambda line: ToolCall("Bash", {"command": line}, "/w", "/w"), lines),
    st.builds(lambda tool, values: ToolCall(tool, values, "/w", "/w"), st.sampled_from(("Edit", "Write", "Read", "Grep")), edits),
)


@settings(max_examples=80, deadline=None)
@given(call=calls, before=st.lists(lines, max_size=5), branch=st.sampled_from(("", "main", "topic")))
def test_results_are_those_of_each_check_on_its_own(call: ToolCall, before: list[str], branch: str) -> None:
    found = dict(CheckIndex(CHECKS).results(call, before, branch))
    results = {number: evaluate(check, call, before, branch) for number, check in enumerate(CHECKS)}
    assert found == {number: result for number, result in results.items() if result.applies}
