"""Vocabulary of rules: programs, languages, libraries, and phrases that mean a command or a piece of code."""

from __future__ import annotations

from collections.abc import Mapping

FAMILIES: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "npm yarn pnpm bun",
        "pip poetry pipenv conda mamba uv pdm",
        "jest vitest mocha ava",
        "black autopep8 yapf",
        "docker podman",
        "pytest unittest nose",
        "webpack vite rollup parcel",
        "brew port",
        "eslint biome",
        "mvn gradle",
    )
)
"""Families of programs of which a project uses only one. A rule that wants one forbids the others."""

PROGRAMS = frozenset().union(*FAMILIES) | frozenset(
    "git make npx bunx pnpx uvx pipx node deno python python3 ruby perl php java go cargo rustc gem bundle rails rake composer"
    " sudo su doas rm mv cp chmod chown dd mkfs shutdown reboot kill pkill killall curl wget ssh scp rsync ftp telnet nc"
    " kubectl helm terraform tofu pulumi ansible ansible-playbook vagrant docker-compose heroku vercel netlify fly flyctl gcloud aws az"
    " psql mysql mongo mongosh redis-cli sqlite3 dropdb createdb sed awk grep egrep find xargs cat less vim nano emacs"
    " tsc ts-node tsx eslint prettier ruff flake8 pylint isort mypy pyright tox nox virtualenv easy_install just task"
    " apt apt-get yum dnf pacman snap choco winget gradlew mvnw dotnet swift xcodebuild flutter dart gh hub svn hg"
    " cypress playwright alembic flyway liquibase prisma sequelize knex celery gunicorn uvicorn crontab systemctl service"
    " eval tar zip unzip tee truncate shred mix lein sbt stack cabal zig ng nx turbo lerna storybook rector phpunit"
    " pre-commit act tmux screen nohup history export".split()
)

SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "git": "push pull commit merge rebase reset checkout switch restore stash add rm mv clean fetch clone branch tag cherry-pick"
        " revert config filter-branch gc worktree submodule bisect am apply init remote log diff status",
        "npm": "install i ci run test publish start exec audit update uninstall link version login add",
        "pnpm": "install i run test publish dlx exec add update remove audit",
        "yarn": "install add run test publish dlx exec upgrade remove global",
        "bun": "install add run test x remove",
        "pip": "install uninstall freeze download list",
        "uv": "add sync run pip lock tool remove venv",
        "poetry": "add install run lock update publish build remove",
        "conda": "install create update remove env",
        "docker": "build run push pull compose system rm rmi exec prune image container volume network stop kill up down login",
        "docker-compose": "up down build run rm",
        "kubectl": "apply delete exec edit scale rollout patch drain port-forward create replace",
        "helm": "install upgrade uninstall rollback delete",
        "terraform": "apply destroy plan init import state taint",
        "tofu": "apply destroy plan init",
        "cargo": "build test publish run install clippy fmt update check add",
        "go": "build test run get install mod generate vet fmt",
        "gh": "pr issue release repo merge create",
        "rails": "db:migrate db:drop db:reset console server generate destroy",
        "prisma": "migrate db generate reset deploy push",
        "alembic": "upgrade downgrade revision",
        "aws": "s3 ec2 rm delete",
        "brew": "install uninstall upgrade",
        "apt": "install remove upgrade",
        "apt-get": "install remove upgrade",
        "python": "",
        "dotnet": "build test run publish ef",
        "mvn": "install deploy test clean package verify",
        "gradle": "build test clean publish",
        "heroku": "run pg:reset",
        "composer": "install update require",
        "gem": "install push",
        "bundle": "install exec update",
        "systemctl": "restart stop start",
        "nx": "run test build lint",
        "turbo": "run build test lint",
        "next": "build dev",
    }.items()
}
FREE_TARGET = frozenset({"make", "just", "task", "rake", "tox", "nox", "gradlew", "./gradlew", "mvnw", "./mvnw"})
"""Programs that take a project-specific target as their next word."""
SCRIPT_OF = frozenset({"run", "exec", "test", "dlx", "x"})

PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"force[- ]?push(?:es|ed|ing)?|pushe?n? (?:it )?(?:with|mit) force", ("git push --force",)),
    (r"hard[- ]?resets?|reset(?:te|ten)? hard", ("git reset --hard",)),
    (
        r"(?:skip|bypass|disable|circumvent)\w{0,4} (?:the |any |git |commit |pre-commit )*(?:hooks?|pre-commit)",
        ("git commit --no-verify", "git push --no-verify"),
    ),
    (r"(?:git-?)?hooks? (?:überspring|umgeh)\w*", ("git commit --no-verify", "git push --no-verify")),
    (r"amend(?:ing|ed|s)?(?: \w+){0,2}", ("git commit --amend",)),
    (r"(?:interactive )?rebas(?:e|es|ing|en)", ("git rebase",)),
    (r"stash(?:es|ing|en)?", ("git stash",)),
    (r"cherry-?pick(?:s|ing)?", ("git cherry-pick",)),
    (r"git add (?:-A|\.|--all)|(?:stage|add) (?:everything|all files)", ("git add -A", "git add .")),
    (
        r"install\w{0,3} (?:\w{1,20} ){0,2}globally|globally install\w{0,3}|global (?:npm )?(?:installs?|packages)",
        ("npm install -g", "npm i -g", "npm install --global", "pnpm add -g", "yarn global", "bun add -g"),
    ),
    (r"delete (?:remote )?branches", ("git branch -D", "git branch -d", "git push --delete")),
)
"""Regular expressions of phrases that mean commands."""

FLAG_OWNERS: Mapping[str, tuple[str, ...]] = {
    "--no-verify": ("git commit --no-verify", "git push --no-verify"),
    "--amend": ("git commit --amend",),
    "--hard": ("git reset --hard",),
    "--force-with-lease": ("git push --force-with-lease",),
    "--allow-empty": ("git commit --allow-empty",),
    "--no-gpg-sign": ("git commit --no-gpg-sign",),
    "--legacy-peer-deps": ("npm --legacy-peer-deps",),
    "--break-system-packages": ("pip --break-system-packages",),
    "--privileged": ("docker --privileged",),
    "--no-ff": ("git merge --no-ff",),
    "--squash": ("git merge --squash", "gh pr merge --squash"),
    "--auto-approve": ("terraform --auto-approve",),
    "-auto-approve": ("terraform -auto-approve",),
    "--insecure": ("curl --insecure", "curl -k"),
}
"""Commands of flags that belong to one program, for rules that name only the flag."""

MORE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?volumes?", ("docker volume rm", "docker volume prune")),
    (
        r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?images?",
        ("docker rmi", "docker image rm", "docker image prune"),
    ),
    (r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?containers?", ("docker rm", "docker container rm")),
)
"""Phrases that mean further commands in a rule that names commands of the same program."""

_TS = "*.ts *.tsx *.mts *.cts *.vue *.svelte"
_JS = "*.js *.jsx *.mjs *.cjs"
LANGUAGES: Mapping[str, tuple[str, ...]] = {
    name: tuple(patterns.split())
    for names, patterns in (
        ("typescript ts .ts", _TS),
        ("javascript js .js frontend", f"{_JS} {_TS}"),
        ("react jsx tsx .tsx .jsx", "*.tsx *.jsx *.js *.ts"),
        ("vue", "*.vue"),
        ("python py .py", "*.py *.pyi"),
        ("go golang .go", "*.go"),
        ("rust rs .rs", "*.rs"),
        ("java .java", "*.java"),
        ("kotlin .kt", "*.kt"),
        ("swift .swift", "*.swift"),
        ("ruby .rb", "*.rb"),
        ("php .php", "*.php"),
        ("c# csharp .cs", "*.cs"),
        ("c++ cpp .cpp", "*.cpp *.cc *.hpp *.h"),
        ("css scss .css stylesheets stylesheet", "*.css *.scss *.sass *.less"),
        ("html .html templates", "*.html *.htm"),
        ("sql .sql", "*.sql"),
        ("yaml .yml .yaml", "*.yml *.yaml"),
        ("bash shell .sh", "*.sh *.bash"),
        ("dockerfile dockerfiles", "Dockerfile Dockerfile.* *.dockerfile"),
    )
    for name in names.split()
}
CODE_FILES = tuple(
    dict.fromkeys(
        pattern
        for name in "typescript javascript python go rust java kotlin swift ruby php c# c++ sql".split()
        for pattern in LANGUAGES[name]
    )
)

_TS_FILES = LANGUAGES["typescript"]
_JS_FILES = LANGUAGES["javascript"]
_PY = LANGUAGES["python"]
WORDS: Mapping[str, tuple[str, ...]] = {
    "any": _TS_FILES, "@ts-ignore": _JS_FILES, "@ts-expect-error": _JS_FILES, "@ts-nocheck": _JS_FILES, "eslint-disable": _JS_FILES,
    "enum": _TS_FILES, "namespace": _TS_FILES, "var": _JS_FILES, "console.log": _JS_FILES, "console": _JS_FILES, "debugger": _JS_FILES,
    "alert": _JS_FILES, "innerhtml": _JS_FILES, "dangerouslysetinnerhtml": _JS_FILES, "localstorage": _JS_FILES,
    "document.write": _JS_FILES, "parsefloat": _JS_FILES, "require": _JS_FILES, "print": _PY, "pprint": _PY, "breakpoint": _PY,
    "pdb": _PY, "assert": _PY, "os.system": _PY, "pickle.loads": _PY, "datetime.utcnow": _PY, "datetime.now": _PY, "time.sleep": _PY,
    "noqa": _PY, "type: ignore": _PY, "# type: ignore": _PY, "# noqa": _PY, "lambda": _PY, "global": _PY, "unwrap": ("*.rs",),
    "expect": ("*.rs",), "unsafe": ("*.rs",), "panic": ("*.rs", "*.go"), "println!": ("*.rs",), "dbg!": ("*.rs",), "fmt.println": ("*.go",),
    "goto": (), "eval": (), "exec": _PY, "!important": LANGUAGES["css"], "system.out.println": ("*.java", "*.kt"), "printstacktrace": ("*.java",),
    "thread.sleep": ("*.java", "*.kt"), "todo": (), "fixme": (), "xxx": (), "hack": (), "sleep": (), "select *": (),
}  # fmt: skip
"""Words of code, in lower case, with the files in which they have this meaning. An empty tuple means all code files."""
NOT_ALONE = frozenset({"any", "expect", "require", "print", "alert", "assert", "global", "exec", "sleep", "panic", "enum", "console", "hack", "namespace", "unsafe", "lambda", "eval", "var", "xxx", "todo"})  # fmt: skip
"""Words that are also ordinary words. A rule refers to the code only if something else in the rule indicates code."""
CONTENT_PHRASES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (r"(?:wildcard|star)[- ]imports?", ("import *",), (*_PY, "*.java", "*.kt"), ()),
    (r"bare excepts?|except ohne typ", ("except:",), _PY, ()),
    (r"(?:typescript|ts)\b.{0,30}\benums?|enums?\b.{0,30}\b(?:typescript|ts)", ("enum",), _TS_FILES, ()),
    (r"!important", ("!important",), LANGUAGES["css"], ()),
    (r"default[- ]exports?", ("export default",), _JS_FILES, ()),
    (r"inline[- ]styles?", ("style={{", "style="), (*LANGUAGES["react"], "*.html", "*.vue", "*.svelte"), ()),
    (r"class[- ]components?", ("extends React.Component", "extends Component", "extends PureComponent"), LANGUAGES["react"], ()),
    (r"(?:floats?|floating[- ]?points?|doubles?|gleitkomma\w*|fließkomma\w*)\b.{0,40}\b(?:money|price\w*|amounts?|currency|geld\w*|preise?|beträge?)"
     r"|(?:money|prices?|amounts?|geld\w*|beträge?|preise?)\b.{0,40}\b(?:floats?|floating[- ]?points?|doubles?|gleitkomma\w*|fließkomma\w*)",
     ("float", "double", "Float", "Double", "parseFloat", "f64", "f32", "float64", "REAL"), CODE_FILES,
     ("price", "amount", "money", "total", "cost", "cent", "currency", "fee", "balance", "preis", "betrag", "geld", "tax", "salary")),
    (r"print[- ]statements?|print-?(?:anweisung|ausgabe|aufruf)\w*", ("print()",), _PY, ()),
    (r"console\.?[- ]?logs?|console statements?", ("console.log",), _JS_FILES, ()),
    (r"@?ts-ignores?", ("@ts-ignore",), _JS_FILES, ()),
    (r"(?:mutable default (?:arguments?|values?))", ("=[]", "={}"), _PY, ()),
    (r"type[- :]?ignores?", ("type: ignore",), _PY, ()),
    (r"non-null assertions?", ("!.", "!;"), _TS_FILES, ()),
    (r"eslint-?disables?(?: comments?| directives?)?|disabl\w{1,3} (?:the |any )?eslint(?: rules?)?(?: inline)?", ("eslint-disable",), _JS_FILES, ()),
    (r"hard-?cod\w{0,3} colou?rs?|(?:hex|literal) colou?rs?", (": #", ":#", " #", "rgb(", "rgba(", "hsl("), LANGUAGES["css"],
     ("color", "background", "border", "fill", "stroke", "shadow")),
    (r"todos?[- ]?(?:comments?|kommentare?|markers?)", ("TODO",), CODE_FILES, ()),
    (r"select \*", ("SELECT *", "select *"), (*CODE_FILES,), ()),
)  # fmt: skip
"""Phrases that mean code: the words, the files, and words of which at least one must be on the same line."""

LIBRARIES = frozenset(
    "lodash moment axios jquery underscore request bluebird ramda rxjs redux mobx styled-components bootstrap tailwind express"
    " fastify koa mongoose sequelize typeorm chalk requests urllib3 httpx aiohttp pandas numpy flask django sqlalchemy celery"
    " attrs pydantic marshmallow simplejson ujson pytz arrow pickle unittest mock nose threading subprocess optparse argparse"
    " logrus zap zerolog testify cobra gorm tokio async-std anyhow serde guava lombok log4j joda-time enzyme sinon chai dayjs date-fns luxon"
    " node-fetch got superagent uuid classnames emotion material-ui antd zustand immer joi yup zod pdb os.path dotenv boto".split()
)

TESTS = (
    "pytest", "npm test", "npm run test", "pnpm test", "pnpm run test", "yarn test", "yarn run test", "bun test", "make test", "make tests",
    "make check", "cargo test", "go test", "mvn test", "gradle test", "./gradlew test", "tox", "nox", "just test", "jest", "vitest", "mocha",
    "unittest", "rspec", "phpunit", "dotnet test", "mix test", "swift test", "rails test", "make unit", "ctest", "task test",
)  # fmt: skip
LINTS = (
    "ruff", "eslint", "flake8", "pylint", "npm run lint", "pnpm lint", "pnpm run lint", "yarn lint", "yarn run lint", "make lint", "just lint",
    "cargo clippy", "golangci-lint", "go vet", "biome", "rubocop", "pre-commit", "npm run eslint", "bun run lint", "task lint",
)  # fmt: skip
TYPES = (
    "mypy", "pyright", "tsc", "npm run typecheck", "npm run type-check", "pnpm typecheck", "pnpm run typecheck", "pnpm type-check", "yarn typecheck",
    "yarn run typecheck", "make typecheck", "make types", "make mypy", "just typecheck", "cargo check", "bun run typecheck", "task typecheck",
)  # fmt: skip
FORMATS = (
    "prettier", "black", "ruff format", "cargo fmt", "go fmt", "gofmt", "make format", "make fmt", "npm run format", "pnpm format", "pnpm run format",
    "yarn format", "just fmt", "just format", "rustfmt", "biome format", "dotnet format",
)  # fmt: skip
BUILDS = (
    "make",
    "make build",
    "npm run build",
    "pnpm build",
    "pnpm run build",
    "yarn build",
    "yarn run build",
    "cargo build",
    "go build",
    "bun run build",
    "gradle build",
    "mvn package",
)
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"type[- ]?check\w*|typprüfung|types are checked|check(?:ing)? (?:the )?types|typen prüfen", TYPES),
    (r"lint\w*", LINTS),
    (r"format(?:ter|t|ting|ieren|iert|ierer)?\b|formatted", FORMATS),
    (r"(?:unit[- ]?|whole |full |all )?tests?(?:[- ]?suite)?\b|testing|getestet|testsuite", TESTS),
    (r"build(?:s|ing)?|bauen|gebaut", BUILDS),
)
"""Phrases for steps required before another command, with the commands that perform each step."""
