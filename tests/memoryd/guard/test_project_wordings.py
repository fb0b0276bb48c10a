"""Rules on tools, flags, files and dependencies of web and device projects: calls that violate them, and look-alikes.

test_wordings.py judges the tables.
"""

from __future__ import annotations

import pytest

from memoryd.guard.code import count_piece
from memoryd.guard.compile import compile_rule
from memoryd.guard.shell import parse_shell
from tests.memoryd.guard.wordings import violates

SHELL: dict[str, tuple[list[str], list[str]]] = {
    # redirections, variables, containers and code on the command line
    "never touch legacy/": (
        [
            "cd legacy && printf 'a' >> b.ts",
            "cd /r/legacy && cat > a/b.ts <<'EOF'\nx\nEOF",
            "tar xzf a.tgz -C legacy",
            "git apply --directory=legacy a.patch",
            "python3 - <<'EOF'\nfrom pathlib import Path\np = Path('legacy/a.ts')\np.write_text('x')\nEOF",
            "node -e \"const p = 'legacy/a.ts'; fs.writeFileSync(p, '')\"",
            "D=legacy; rm $D/a.ts",
        ],
        [
            "cd legacy && cat a > /tmp/b",
            "cd legacy && ls; cd .. && touch b",
            "tar czf a.tgz -C legacy .",
            "python3 -c \"p = 'legacy/a'; print(open(p).read())\"",
            "gcc -I legacy a.c -o a",
        ],
    ),
    "never use npm, use pnpm": (
        ["docker compose exec -T web npm ci", "P=npm && $P ci", "docker run --rm -v a:/b node:20 npm ci", "corepack npm i"],
        ["docker run --rm npm-image ls", "docker compose logs npm"],
    ),
    "never run npm on the host, only in the container": (["npm ci"], ["docker compose exec web npm ci"]),
    "in apps/web never use npm": (
        ["cd apps/web && npm ci", "npm --prefix apps/web ci"],
        ["cd apps/api && npm ci", "npm ci", "cd apps/web && pnpm i"],
    ),
    "inside infra/ never run terraform apply": (
        ["cd infra && terraform apply", "terraform -chdir=infra apply"],
        ["cd lab && terraform apply", "cd infra && terraform plan"],
    ),
    "Always pass --seed when you run pytest on tests/fuzz/": (
        ["pytest tests/fuzz", "cd tests/fuzz && pytest", "pytest /r/tests/fuzz/test_a.py"],
        ["pytest tests/unit", "pytest --seed=1 tests/fuzz"],
    ),
    # lists of commands and flags
    "Never run terraform apply or destroy.": (["terraform destroy"], ["terraform plan"]),
    "never rails db:reset or db:drop": (["bin/rails db:drop"], ["rails db:migrate"]),
    "no git submodules": (["git submodule add a"], ["git status", "git commit -m 'no git submodules'"]),
    "Never skip the hooks when committing: no --no-verify and no -n on git commit.": (
        ["git commit -nm a", "git commit --no-verify"],
        ["git commit -m 'no --no-verify'", "git log -n 3"],
    ),
    "rubocop -A is off limits, use plain rubocop": (["rubocop -A"], ["rubocop", "rubocop -a"]),
    "never pass flag -k (--keep-going) to ninja and make": (["make --keep-going a", "make -k"], ["make -j8 a"]),
    "no -Ofast please": (
        ["gcc -Ofast a.c", "cmake . -DCMAKE_C_FLAGS='-g -Ofast'", "CFLAGS='-g -Ofast' make", "sed -i s/-O2/-Ofast/ Makefile"],
        ["gcc -O2 a.c", "grep -e '-Ofast' Makefile", "git commit -m 'why -Ofast is banned'"],
    ),
    "Bitte nie git commit mit --no-verify aufrufen.": (["git commit --no-verify -m a"], ["git commit -m a"]),
    "the arm-none-gdb on this box is broken, don't use it": (["arm-none-gdb a.elf"], ["arm-none-objdump a.elf"]),
    "kein openocd mehr, wir nehmen probe-rs": (["sudo /opt/openocd -f a.cfg"], ["probe-rs run a", "echo openocd"]),
    "never delete remote branches": (
        ["git push origin :a", "gh api -X DELETE repos/a/b/git/refs/heads/c"],
        ["git push origin a:a"],
    ),
    "don't commit build.json": (
        ["git stage -f out/build.json", "git commit -m a build.json"],
        ["git add build.md", "git rm build.json"],
    ),
    "please don't check in coverage/": (["git add coverage/a.html"], ["git add src", "rm -r coverage"]),
    # steps
    "please don't deploy before `make smoke` has been run": (
        ["fly deploy", "make deploy && make smoke"],
        ["make smoke && fly deploy", "make smoke"],
    ),
    "before you tag a release, ctest has to have run. no tag without it": (["git tag v1"], ["ctest && git tag v1", "git tag -l"]),
    "Run go test before each push": (["git push"], ["git push -n", "git -C /r stash push -m a", "go test ./... && git push"]),
    # files
    "in lib/ bitte keine .cpp- oder .hpp-Dateien anlegen": (
        ["git mv lib/a.c lib/a.cpp", "cp src/a.hpp lib/", "cd lib && touch b/c.cpp"],
        ["git mv lib/a.cpp src/a.cpp", "touch lib/a.c", "touch src/lib.cpp"],
    ),
    "In legacy/ please add no TypeScript files": (["touch legacy/a.ts"], ["touch legacy/a.js", "touch src/a.ts"]),
    "in docs/ only Markdown files": (["cp a.pdf docs/", "pandoc a.md -o docs/a.docx"], ["touch docs/a.md", "cp docs/a.pdf out/"]),
    "headers go in include/app/, not next to the sources in src/": (
        ["touch src/a.hpp"],
        ["touch include/app/a.h", "touch src/a.cpp"],
    ),
    "Put Python tests under tests/ and name them test_*.py.": (
        ["touch tests/cart_test.py", "touch lib/test_cart.py"],
        ["touch tests/test_cart.py", "touch lib/latest.py"],
    ),
    "please name Go files in snake_case": (["touch api/userStore.go"], ["touch api/user_store.go", "touch web/userStore.ts"]),
    "Never drop scripts in the repo root, they belong in scripts/.": (
        ["cp scripts/a.sh .", "tee /r/b.py"],
        ["touch scripts/a.sh", "touch README.md", "touch setup.py"],
    ),
    "les notebooks, on les met dans notebooks/ et nulle part ailleurs": (
        ["cp notebooks/a.ipynb ./b.ipynb"],
        ["mv a.ipynb notebooks/", "touch a.py"],
    ),
    "Gen/Src/ and Gen/Inc/ come out of the generator. Regenerate them from app.ioc, never edit them by hand.": (
        ["sed -i s/a/b/ Gen/Inc/a.h", "rm Gen/Src/a.c"],
        ["sed -i s/a/b/ app.ioc", "touch src/gen.c"],
    ),
    "leave the old migrations in db/migrate alone, add new ones": (
        ["sed -i s/a/b/ db/migrate/1_a.rb"],
        ["touch db/migrate/2_b.rb"],
    ),
    "No changes to Dockerfile.prod, please.": (["tee Dockerfile.prod"], ["tee Dockerfile"]),
    "yarn.lock: only yarn touches it": (["sed -i s/a/b/ yarn.lock"], ["npm ci", "yarn add a"]),
    "*_pb.ts and *_rpc.ts are generated, run buf generate instead": (["rm a_pb.ts", "rm a_rpc.ts"], ["buf generate", "rm pb.ts"]),
    "src/gql is generated by graphql-codegen, keep your hands off": (["rm src/gql/a.ts"], ["graphql-codegen", "rm src/a.ts"]),
    "package-lock.json pins exact versions, never edit it": (["tee package-lock.json"], ["npm i a"]),
    "lockfiles are written by the package manager, never edit them by hand; for a new dependency run pnpm add": (
        ["tee yarn.lock"],
        ["pnpm add a"],
    ),
    "don't edit the api_client in src/api": (["rm src/api/a.ts"], ["rm src/a.ts"]),
    "mocks in lib/mocks are generated by mockgen, don't edit them": (["rm lib/mocks/a.go"], ["touch a_mock.go"]),
    "всё в build/ создаёт сборка, руками там ничего не правим": (
        ["cd build && echo a | tee b"],
        ["ninja -C build", "touch src/build.ts"],
    ),
    "assets/ 目录下的图片别改": (["rm assets/a.png"], ["ls assets"]),
    # branches
    "branches are called feat/... or fix/...": (["git switch -c tmp/a"], ["git switch -c feat/a", "git switch -c fix/a"]),
    "ветки называем feature/… или fix/…, другие имена не заводим": (
        ["git checkout -b a"],
        ["git switch -c fix/a", "git branch -d a"],
    ),
    "我们不直接往 main 推送": (["git push origin main"], ["git push origin feat/a"]),
    'Never add Co-Authored-By or "Made by" lines to a commit message.': (["git commit -m a -m 'Made by b'"], ["git commit -m a"]),
    # dependencies
    "Never add a gem without asking me.": (["bundle add a", "echo \"gem 'a'\" >> Gemfile"], ["bundle install", "npm i a"]),
    "no new npm dependencies": (["pnpm add a"], ["uv add a", "pnpm install", "npm ls"]),
    "Never add Boost as a dependency": (
        ["apt-get install -y libboost-dev", "conan install --requires=boost/1.8", "echo 'find_package(Boost)' >> CMakeLists.txt"],
        ["conan install .", "apt-get install -y cmake"],
    ),
}
EDITS: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "Always pin exact versions in package.json, no ^ or ~": (
        [("package.json", '"react": "^18.2.0"'), ("web/package.json", '"react": "18.x"')],
        [("package.json", '"react": "18.2.0"'), ("package.json", '"version": "1.0"'), ("pyproject.toml", '"click>=8"')],
    ),
    "las dependencias de Python van fijadas con ==, nada de rangos": (
        [("requirements-dev.txt", "mypy\n"), ("pyproject.toml", 'dependencies = ["click>=8,<9"]')],
        [("requirements.txt", "mypy==1.2"), ("a.py", "if v >= (3, 11):"), ("pyproject.toml", 'authors = ["A <a@b.c>"]')],
    ),
    "terraform providers must be pinned with =, never >=": ([("a.tf", 'version = ">= 5.0"')], [("a.tf", 'version = "5.0.1"')]),
    "no git dependencies in package.json": ([("package.json", '"a": "github:b/c"')], [("package.json", '"a": "1.0.0"')]),
    "our python tools are stdlib only, we don't add packages": (
        [("tools/pyproject.toml", 'dependencies = ["rich==1.0"]')],
        [("tools/pyproject.toml", 'version = "1.4.0"'), ("tools/a.py", "import csv")],
    ),
    "Never allocate on the heap in fw/: no new, no malloc.": (
        [("fw/a.cpp", "a = new A();"), ("fw/a.c", "a = malloc(1);"), ("fw/a.c", "calloc(1, 2);")],
        [("fw/a.cpp", "int new_a = 1; // malloc"), ("host/a.cpp", "a = new A();")],
    ),
    "we don't put `using namespace std` in headers": (
        [("a.hpp", "using namespace std;")],
        [("a.cpp", "using namespace std;"), ("a.h", "// no using namespace std")],
    ),
    "never use std::cout in src/": ([("src/a.cpp", "std::cout << 1;")], [("src/a.cpp", "log(1);"), ("a.cpp", "std::cout << 1;")]),
    "In fw/ no C++ exceptions: no throw, no try/catch": (
        [("fw/a.cpp", "throw 1;"), ("fw/a.cpp", "try { a(); } catch (...) {}")],
        [("fw/a.cpp", "int throwaway;"), ("host/a.cpp", "throw 1;")],
    ),
    "Never use find_by_sql in app/models.": ([("app/models/a.rb", "A.find_by_sql('a')")], [("lib/a.rb", "A.find_by_sql('a')")]),
    "no t.Skip in Go tests": ([("a_test.go", "t.Skip()")], [("a_test.go", "t.Run()"), ("a.md", "t.Skip()")]),
    "Never use log.Fatal outside main.go.": ([("a.go", "log.Fatal(e)")], [("cmd/main.go", "log.Fatal(e)")]),
    "keine TODO-Kommentare ohne Ticket": ([("a.ts", "// TODO: a")], [("a.ts", "// TODO(#12): a")]),
    "tests in e2e/ never use sleep": ([("e2e/a.ts", "sleep(1)")], [("e2e/a.ts", "a()"), ("src/a.test.ts", "sleep(1)")]),
    "In Python nie ein nacktes except: schreiben": ([("a.ipynb", "try:\n    a()\nexcept:\n    b()")], [("a.ipynb", "a()")]),
}


@pytest.mark.parametrize(
    "rule",
    [
        "we're stuck on node-fetch 2, don't bump it",  # the library is wanted
        "never merge your own pull request",
        "don't touch the generated Prisma client",
        "only in mobile/ is yarn allowed",
        "never check out other people's branches",
        "terraform code in infra/prod must not use count",
    ],
)
def test_a_rule_that_names_a_tool_beside_its_subject_gives_no_check(rule: str) -> None:
    assert compile_rule(rule) is None


@pytest.mark.parametrize("rule", ["never flash a board before `make size` has run", "no release until the tests have passed"])
def test_a_condition_forbids_nothing_once_it_holds(rule: str) -> None:
    check = compile_rule(rule)
    assert check is None or check.kind == "companion"


def test_what_a_rule_wants_instead_is_not_forbidden() -> None:
    check = compile_rule("Never use nodemon, run the dev server with tsx watch.")
    assert check is not None
    assert violates(check, "Bash", {"command": "npx nodemon a.ts"})
    assert not violates(check, "Bash", {"command": "pnpm dev"})


def test_a_redirection_at_the_end_of_a_list_belongs_to_its_last_command() -> None:
    first, last = parse_shell("cd a && cat > b <<'EOF'\nc\nEOF")
    assert (first.writes, last.writes, last.folder, last.here) == ((), ("b",), "a", "c\n")


def test_a_variable_that_contains_itself_does_not_grow_without_limit() -> None:
    line = "a=xxxxxxxxxx; " + "a=$a$a; " * 400 + "$a"
    assert sum(len(word) for command in parse_shell(line) for word in (*command.words, *command.assigned)) < 100_000


@pytest.mark.parametrize(
    "path", ["package.json", "requirements.txt", "pyproject.toml", "Cargo.toml", "Gemfile", "go.mod", "a.tf"]
)
def test_a_long_line_is_searched_for_dependencies_in_linear_time(path: str) -> None:
    for text in ('"a' * 50_000, "a" * 100_000, "gem 'a" * 20_000, " = " * 30_000, '"a": "' * 20_000):
        assert (count_piece(text, "<version range>", path) or 0) >= 0
