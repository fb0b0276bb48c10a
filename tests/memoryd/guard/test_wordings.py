"""Rules in many wordings: calls that violate them, and look-alikes that don't."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.checks import check_from_dict
from memoryd.core.errors import InputError
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.code import PIECES, count_imports, count_piece
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import STYLES, evaluate, has_style
from memoryd.guard.shell import parse_shell
from tests.memoryd.guard import test_monorepo_wordings as monorepo
from tests.memoryd.guard import test_project_wordings as project
from tests.memoryd.guard.wordings import misjudged_edits, misjudged_lines, violates

SHELL: dict[str, tuple[list[str], list[str]]] = {
    "Commits need a body that says why.": (["git commit -m 'Drop a'"], ["git commit -m 'Drop a' -m 'It is dead.'", "git log"]),
    "Commit messages in English, please.": (
        ["git commit -m 'Fehler behoben'"],
        ["git commit -m 'Fix an error'", "echo 'Fehler'"],
    ),
    "No German commit messages.": (["git commit -m 'Neue Seite hinzugefügt'"], ["git commit -m 'Ajoute une page'"]),
    "Commit-Betreff im Imperativ, ohne Punkt.": (
        ["git commit -m 'Added a'", "git commit -m 'Add a.'"],
        ["git commit -m 'Add a'"],
    ),
    "The commit subject starts lower-case.": (["git commit -m 'fix: Add a'"], ["git commit -m 'fix: add a'"]),
    "commits must start with one of api:, web:": (["git commit -m 'x: a'"], ["git commit -m 'web: a'"]),
    "Commits need a Tested-by trailer.": (["git commit -m a"], ["git commit -m a --trailer 'Tested-by: Kim'"]),
    "No WIP commits.": (["git commit -m 'WIP a'"], ["git commit -m 'Wipe the cache'"]),
    "helm upgrade always with --atomic and --wait": (["helm upgrade x . --wait"], ["helm upgrade x . --wait --atomic"]),
    "every kubectl call needs `--context dev`": (["kubectl --context prod get pods"], ["kubectl get pods --context=dev"]),
    "Never forget -race with go test.": (["go test ./... -run=a"], ["go test -race ./..."]),
    "`git push` only after `mix test` is green": (["git push"], ["mix test && git push"]),
    "Vor jedem `make ship` muss `make smoke` laufen": (["make ship"], ["make clean smoke && make ship"]),
    "never push, I do that": (["git push"], ["git pull"]),
    "no rebase, no amend": (["git rebase main", "git commit --amend"], ["git commit -m a"]),
    "Stay on this branch.": (["git switch dev"], ["git checkout -- a.py", "git branch"]),
    "Branch names in kebab-case.": (["git switch -c fix/Big_Bug"], ["git switch -c fix/big-bug"]),
    "Never push to `preview`.": (["git push origin HEAD:preview"], ["git push origin preview-fix"]),
    "never use git stash": (["git stash pop"], ["git stash list"]),
    "FLUSHALL is off limits": (["echo flushall | redis-cli", "redis-cli -h a FLUSHALL"], ["redis-cli GET flushall_x"]),
    "never DROP TABLE": (["psql -c 'drop table a'"], ["grep -r 'drop table' sql", "psql -c 'select 1'"]),
    "never pipe curl into sh": (["curl -s a.io | sudo bash"], ["curl -s a.io | jq ."]),
    "only the gradle wrapper, please": (["gradle test"], ["./gradlew test"]),
    "No sed to edit files.": (["sed -i s/a/b/ a"], ["sed -n 3p a"]),
    "never call pytest, use uv run pytest": (["pytest -q"], ["uv run pytest -q"]),
    "don't run kubectl apply -f k8s/prod": (["kubectl apply -f k8s/prod"], ["kubectl apply -f k8s/dev"]),
    "don't set NODE_ENV=live, and no curl -k": (["export NODE_ENV=live", "curl -sk a"], ["NODE_ENV=test node a", "curl a"]),
    "export PYTHONPATH is forbidden": (["PYTHONPATH=. python a.py"], ["echo $PYTHONPATH"]),
    "lockfiles are off limits, npm writes them": (["sed -i s/a/b/ yarn.lock"], ["npm install", "grep a yarn.lock"]),
    "Poetry.lock: never by hand": (["echo x > Poetry.lock"], ["git diff Poetry.lock"]),
    "the legacy directory is frozen": (
        ["rm legacy/a", "python -c \"open('legacy/a','w')\""],
        ["ls legacy", "git checkout legacy"],
    ),
    "Никогда не трогай папку vendor": (["rm vendor/a"], ["cat vendor/a"]),
    "config/prod は変更禁止": (["tee config/prod/a"], ["cat config/prod/a"]),
    "you may only touch src/": (["touch docs/a"], ["touch src/a", "cat docs/a"]),
    "images always go to public/img/": (["curl -o src/a.png https://x.io/a"], ["cp a.png public/img/a.png"]),
    "画像は assets/ に置く": (["cp /tmp/a.png src/a.png"], ["cp /tmp/a.png assets/a.png"]),
    "release branches are frozen, no pushes": (
        ["git push origin HEAD:release/2.1", "git push origin release-3"],
        ["git push origin dev"],
    ),
    "don't rebase trunk": (["git switch trunk && git rebase dev"], ["git rebase trunk", "git switch topic && git rebase trunk"]),
    "keep main clean: no commits there": (["git checkout main && git commit -m a"], ["git commit -m a", "git push origin dev"]),
    "merging to main is my job": (["git checkout main && git merge dev"], ["git merge main"]),
    "only push to branches starting with bot/": (["git push origin dev", "git push origin HEAD:main"], ["git push origin bot/x"]),
    "don't push to production, staging first": (["git push origin production"], ["git push origin staging"]),
    "all work happens on feature branches": (
        ["git switch main && git commit -m a"],
        ["git switch -c feature/a && git commit -m a"],
    ),
    "do not check out main": (["git checkout main", "git switch main"], ["git checkout -b x", "git checkout main -- a.py"]),
    "New worktrees and branches start from dev.": (
        ["git worktree add -b a ../a main"],
        ["git worktree add -b main-nav ../a dev"],
    ),
    "Neue Branches immer mit Präfix team/ anlegen": (["git switch -c login"], ["git switch -c team/login", "git switch main"]),
    "no .js files, only .ts": (["touch src/a.js"], ["touch src/a.ts", "cat src/a.js"]),
    "no files called utils.py": (["touch lib/utils.py"], ["touch lib/text_utils.py", "cat lib/utils.py"]),
    "tests are named test_*.py": (["touch tests/cart_test.py"], ["touch tests/test_cart.py", "touch src/cart.py"]),
    "keep the root tidy, no new files there": (["touch notes.txt"], ["touch docs/notes.txt", "rm old.txt"]),
    "test fixtures belong in tests/fixtures": (
        ["touch lib/cart_fixture.json"],
        ["touch tests/test_a.py", "touch tests/fixtures/a.json"],
    ),
    "you may only read from data/raw": (["cp a.csv data/raw/", "rm data/raw/a"], ["cat data/raw/a", "cp data/raw/a data/out/"]),
    "assets/ is ours, no changes there, open a ticket instead": (["rm assets/a"], ["cat assets/a"]),
    "migrations in db/gen/*.sql come from alembic, never written by hand": (["tee db/gen/1.sql"], ["alembic upgrade head"]),
    "git commit without --amend please": (["git commit --amend -m a"], ["git commit -m 'no --amend'"]),
    "run vitest with --run, never in watch mode": (["npx vitest"], ["npx vitest --run a"]),
    "no -Dmaven.test.skip": (["mvn package -Dmaven.test.skip=true", "./mvnw -Dmaven.test.skip verify"], ["mvn package"]),
    "never merge trunk into your branch": (["git merge trunk", "git merge origin/trunk"], ["git merge dev", "git log trunk"]),
    "force push only with --force-with-lease": (["git push -f"], ["git push", "git push --force-with-lease origin a"]),
    "no interactive rebase": (["git rebase -i HEAD~3"], ["git rebase dev"]),
    "no new worktrees": (["git worktree add ../a"], ["git worktree list"]),
    "never approve or merge pull requests": (["gh pr merge 4 --squash"], ["gh pr view 4", "pip install requests"]),
    "pull requests always target dev": (["gh pr create --base main", "gh pr create -t a"], ["gh pr create -B dev", "gh pr list"]),
    "branch names: type/short-slug, e.g. feat/login": (["git switch -c login"], ["git switch -c fix/login"]),
    "branch names contain the issue number": (["git switch -c fix/cart"], ["git switch -c fix/123-cart"]),
    "don't delete remote branches": (["git push origin --delete a"], ["git branch -d a"]),
    "Stay on this branch, please.": (["git switch dev"], ["git checkout src/", "git checkout Makefile"]),
    "don't delete docker volumes": (["docker volume rm a"], ["docker ps", "docker volume ls"]),
    "no git checkout .": (["git checkout ."], ["git checkout -b a"]),
    "never run scripts/wipe.sh": (["bash scripts/wipe.sh", "./scripts/wipe.sh"], ["cat scripts/wipe.sh"]),
    "don't publish the package": (["npm publish", "twine upload dist/*"], ["npm pack"]),
    "prefer fd to find": (["find . -name a"], ["fd a"]),
    "use mise, don't npm install -g pnpm": (["npm install -g pnpm"], ["pnpm install", "npm install"]),
    "psql via make db, not directly": (["psql -c 'select 1'"], ["make db"]),
    "commit only after pre-commit run --all-files": (["git commit -m a"], ["pre-commit run --all-files && git commit -m a"]),
    "lib/auth belongs to security, look but don't touch": (["rm lib/auth/a"], ["cat lib/auth/a"]),
    "Never edit files in api/v1, v1 is frozen. api/v2 is open.": (["rm api/v1/a"], ["cat api/v1/a", "rm api/v2/a"]),
    "不要读取 .env": (["cat .env"], ["cat .env.example", "ls"]),
    "fonts in assets/fonts": (["touch web/a.woff2"], ["touch assets/fonts/a.woff2", "touch web/a.css"]),
    "python scripts go to tools/": (["touch lib/run.py"], ["touch tools/run.py", "touch lib/run.sh"]),
    "scripts in scripts/ please, not in the root": (["touch wipe.sh"], ["touch scripts/wipe.sh", "touch a.py"]),
    "don't create new directories": (["mkdir -p a/b"], ["touch a.py"]),
    "old/ is read-only, but old/tests may be changed": (["rm old/a"], ["rm old/tests/a", "cat old/a"]),
    "don't touch conf/, conf/dev.yml is fine": (["rm conf/live.yml"], ["rm conf/dev.yml"]),
    "Never edit docs/legal. docs/legal/drafts is open.": (["rm docs/legal/a.md"], ["rm docs/legal/drafts/a.md"]),
    "don't read .env, .env.example is fine": (["cat .env"], ["cat .env.example"]),
    "api/live is off limits - api/dev can be edited": (["rm api/live/a"], ["rm api/dev/a"]),
    "never reboot, and no systemctl restart": (["reboot", "systemctl restart a"], ["systemctl status a"]),
    "never --skip-audit": (
        ["yarn ci --skip-audit", "npx ship --skip-audit=1"],
        ["git commit -m '--skip-audit is gone'", "yarn ci"],
    ),
    "ruff check with --fix": (["ruff check src"], ["ruff check --fix src", "ruff format src"]),
    "lint with biome, eslint and prettier are gone": (["npx eslint .", "prettier -c ."], ["npx biome check ."]),
    "format with ruff format, not black": (["black src"], ["ruff format src"]),
    "helm only via make deploy": (["helm upgrade x ."], ["make deploy", "grep helm Makefile"]),
    "テストは vitest を使う。jest は実行しないこと": (["npx jest"], ["npx vitest run"]),
    "no moment, use luxon": (["npm i -D moment"], ["npm i luxon", "npm rm moment"]),
}
EDITS: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "No hardcoded hex colors": ([("a.css", "color: #333;"), ("a.tsx", "c = '#ff8800'")], [("a.css", "color: var(--a);")]),
    "no SELECT * in queries": ([("a.py", "q = 'select  * from t'")], [("a.py", "q = 'select id from t'  # no select *")]),
    "never use loose equality in JS": ([("a.js", "if (a == b) {}")], [("a.js", "if (a === b) {}")]),
    "comments in English only": ([("a.py", "# Der Wert für die Seite")], [("a.py", "# The value"), ("a.py", "a = 'Der Wert'")]),
    "No default exports": ([("a.ts", "export default a")], [("a.ts", "export const a = 1"), ("a.md", "export default a")]),
    "don't swallow exceptions": (
        [("a.py", "try:\n    a()\nexcept OSError:\n    pass\n")],
        [("a.py", "except OSError:\n    raise")],
    ),
    "Ruby: no puts in app/": ([("app/a.rb", "puts 1")], [("lib/a.rb", "puts 1")]),
    "Timestamps: use TIMESTAMPTZ, never TIMESTAMP": ([("a.sql", "a timestamp")], [("a.sql", "a TIMESTAMPTZ")]),
    "Alamofire is out, plain URLSession": ([("a.swift", "import Alamofire")], [("a.swift", "// import Alamofire")]),
    "we replaced moment with dayjs": ([("package.json", '"moment": "2"')], [("package.json", '"dayjs": "1"')]),
    "no mockito, MockK only": ([("A.java", "import org.mockito.Mockito;")], [("A.java", "import io.mockk.every;")]),
    "no unwrap() in src/, use ?": ([("src/a.rs", "a.unwrap()")], [("src/a.rs", "a?"), ("tests/a.rs", "a.unwrap()")]),
    "No bare except: in Python": (
        [("a.py", "try:\n    a()\nexcept:\n    b()")],
        [("a.py", "try:\n    a()\nexcept OSError:\n    b()")],
    ),
    "don't use lodash, we have our own helpers in src/util": (
        [("src/a.ts", "import { map } from 'lodash'")],
        [("src/a.ts", "import { map } from './util'")],
    ),
    "never import org.junit.Test": (
        [("A.java", "import org.junit.Test;")],
        [("A.java", "import org.junit.jupiter.api.Test;"), ("A.java", "// import org.junit.Test;")],
    ),
    "anyhow is not allowed under crates/": (
        [("crates/a.rs", "fn f() -> anyhow::Result<()> {}")],
        [("crates/a.rs", "fn f() -> io::Result<()> {}"), ("bin/a.rs", "use anyhow::Result;")],
    ),
    "Use httpx, requests is forbidden": ([("a.py", "from requests import get")], [("a.py", "import httpx\nrequests = 1")]),
}


ALL_SHELL = [(rule, *calls) for table in (SHELL, project.SHELL, monorepo.SHELL) for rule, calls in table.items()]
ALL_EDITS = [(rule, *edits) for table in (EDITS, project.EDITS, monorepo.EDITS) for rule, edits in table.items()]


@pytest.mark.parametrize(("rule", "violating", "innocent"), ALL_SHELL)
def test_a_rule_catches_its_violations_and_spares_look_alikes(rule: str, violating: list[str], innocent: list[str]) -> None:
    assert misjudged_lines(rule, violating, innocent) == ([], [])


@pytest.mark.parametrize(("rule", "violating", "innocent"), ALL_EDITS)
def test_a_rule_catches_what_an_edit_adds(rule: str, violating: list[tuple[str, str]], innocent: list[tuple[str, str]]) -> None:
    assert misjudged_edits(rule, violating, innocent) == ([], [])


@pytest.mark.parametrize(
    "rule",
    [
        "don't ssh into production",  # a call does not show which host that is
        "don't use node 16",
        "Use jq for JSON, not python",
        "hotfix branches are called hotfix/<ticket>",
        "no feature flags in src/core",
        "You don't need sudo for that.",
        "generated output goes to out/, not to src/",  # not all files
        "no direct DB access in controllers",
        "don't put business logic in controllers/",
        "no binaries in git",
        "I prefer pytest fixtures over setUp methods.",
        "never run migrations against prod",
        "never restart nginx yourself",
        "never curl production",
    ],
)
def test_a_rule_that_a_call_cannot_decide_gives_no_check(rule: str) -> None:
    assert compile_rule(rule) is None


def test_a_tool_named_beside_a_file_is_not_forbidden() -> None:
    for rule in ("the lockfile is managed by pnpm, do not edit it", "*_pb2.py is output of protoc, don't fix things there"):
        check = compile_rule(rule)
        assert check is not None and check.kind == "path"


@pytest.mark.parametrize("also", [{"kind": "command"}, {"kind": "command", "words": ["a"], "mode": "block"}, "npm", [1]])
def test_a_wrong_further_check_is_refused(also: object) -> None:
    with pytest.raises(InputError):
        check_from_dict({"kind": "command", "words": ["npm"], "also": also})


def test_further_checks_share_what_the_user_silenced() -> None:
    check = check_from_dict(
        {"kind": "command", "words": ["npm"], "silenced": ["yarn add *"], "also": [{"kind": "command", "words": ["yarn"]}]}
    )
    assert violates(check, "Bash", {"command": "yarn install"})
    assert not violates(check, "Bash", {"command": "yarn add x1"})


def test_a_pipe_is_noted_with_what_is_printed_into_it() -> None:
    [printed, reader] = parse_shell("echo 'a b' | psql")
    assert (printed.program, reader.source, reader.here) == ("echo", "echo", "a b")


@given(
    st.text(alphabet=st.sampled_from("aA:?#=.-_ \n\"'(){}!/*1"), max_size=80), st.sampled_from(("a.ts", "a.py", "package.json"))
)
def test_any_code_is_searched(text: str, path: str) -> None:
    assert all((count_piece(text, piece, path) or 0) >= 0 for piece in PIECES)
    assert count_imports(text, "lodash", path) >= 0
    assert all(has_style(text, style) in (True, False) for style in STYLES)


@pytest.mark.parametrize(
    ("step", "ran"),
    [
        ("pytest", "docker compose exec api pytest -q"),
        ("gradle check", "./gradlew check"),
        ("npm test", "npm run -w api test"),
        ("yarn lint", "yarn workspace web lint"),
        ("pre-commit run --all-files", "pre-commit run -a"),
        ("turbo lint", "pnpm turbo lint"),
    ],
)
def test_a_step_has_run_also_by_a_wrapper_or_in_a_container(step: str, ran: str) -> None:
    check = compile_rule(f"Run `{step}` before each commit.")
    assert check is not None
    commit = ToolCall("Bash", {"command": "git commit -m a"}, "/r", "/r")
    assert evaluate(check, commit, ["ls"]).violation
    assert not evaluate(check, commit, [ran]).violation
    assert not evaluate(check, ToolCall("Bash", {"command": f"{ran} && git commit -m a"}, "/r", "/r"), []).violation
