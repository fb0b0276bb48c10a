"""Vocabulary of rules: programs, languages, libraries, and phrases that stand for a command or a piece of code."""

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
"""Families of programs of which a project uses only one. A rule that requires one forbids the others."""

PROGRAMS = frozenset().union(*FAMILIES) | frozenset(
    # package managers and version managers
    "npx bunx pnpx uvx pip3 pipx rye hatch easy_install virtualenv gem bundle bundler composer cargo rebar3 rebar gradlew mvnw sbt lein bazel"
    " bazelisk buck2 cmake ninja meson conan vcpkg nuget paket dotnet choco scoop winget apt apt-get aptitude dpkg yum dnf zypper pacman"
    " yay apk snap flatpak nix nix-env nix-shell guix asdf mise rtx nvm fnm volta nodenv pyenv rbenv rvm sdkman jenv goenv tfenv corepack"
    " bower lerna nx turbo cabal stack opam dub nimble shards luarocks cpan cpanm pod carthage homebrew maven micromamba cargo-binstall"
    # version control
    " git hub gh glab svn hg jj bzr git-lfs lazygit gitk"
    # containers, clusters and clouds
    " buildah nerdctl docker-compose podman-compose kubectl helm k9s minikube kind k3d skaffold kustomize flux argocd eksctl crictl colima lima"
    " vagrant packer terraform tofu terragrunt pulumi cdk cdktf serverless sls ansible ansible-playbook ansible-vault ansible-galaxy nomad consul"
    " aws az gcloud gsutil bq doctl flyctl fly heroku vercel netlify wrangler firebase supabase railway amplify linode-cli hcloud scw oci"
    # databases and migrations
    " psql mysql mariadb mysqldump mysqladmin pg_dump pg_restore pg_dumpall createdb dropdb createuser dropuser mongo mongosh mongodump mongorestore"
    " redis-cli valkey-cli sqlite3 sqlcmd sqlplus cqlsh clickhouse-client cockroach duckdb flyway liquibase alembic prisma sequelize knex"
    " typeorm drizzle-kit dbmate sqlx diesel rails rake artisan django-admin manage.py"
    # the shell's usual programs
    " rm rmdir unlink mv cp ln chmod chown chgrp dd mkfs shred truncate tee sed awk gawk grep egrep fgrep rg ripgrep ag ack find fd xargs parallel jq yq"
    " curl wget httpie xh aria2c nc netcat ncat telnet ftp sftp scp rsync ssh ssh-keygen ssh-add gpg openssl sudo su doas kill pkill killall"
    " systemctl service journalctl crontab shutdown reboot halt poweroff umount iptables ufw ifconfig netstat nslookup traceroute htop lsof strace"
    " tmux screen nohup tar zip unzip gzip gunzip vim vi nvim nano emacs cat less eval export source history trash trash-put pbcopy xdg-open eza exa"
    # languages
    " node deno python python2 python3 ipython ruby irb perl php java javac kotlinc scala go swift swiftc rustc gcc g++ clang clang++ ghc erl elixir iex mix"
    " julia rscript tsc ts-node tsx swc esbuild babel dart zig make gmake just task"
    # linters and formatters
    " eza exa lsd bat difft delta dust procs sd hyperfine tsgo eslint prettier biome oxlint tslint stylelint ruff flake8 pylint pyflakes pycodestyle pydocstyle isort mypy pyright pytype bandit rubocop"
    " standardrb brakeman sorbet phpcs phpcbf php-cs-fixer phpstan psalm rector golangci-lint golint gofmt gofumpt goimports staticcheck clippy rustfmt"
    " clang-format clang-tidy cppcheck ktlint detekt checkstyle spotbugs swiftlint swiftformat credo dialyzer hlint ormolu stylua shellcheck shfmt"
    " hadolint yamllint markdownlint prettierd dprint tflint tfsec checkov trivy semgrep gitleaks snyk sqlfluff protoc buf commitlint lint-staged husky"
    " lefthook pre-commit"
    # tests
    " jasmine karma cypress playwright testcafe nose2 tox nox rspec minitest cucumber phpunit behat ctest gotestsum ginkgo cargo-nextest nextest testng k6"
    " artillery bats"
    # builds and others
    " grunt gulp rspack tsup browserify storybook next nuxt astro gatsby expo eas react-native cordova xcodebuild fastlane flutter fvm melos adb celery"
    " gunicorn uvicorn supervisorctl pm2 forever nodemon jupyter streamlit airflow dbt dagster spark-submit mlflow dvc act earthly dagger tilt direnv sops"
    # embedded boards, and further tools of web projects
    " openocd st-flash st-info nrfjprog probe-rs west esptool avrdude dfu-util gdb gdb-multiarch platformio idf.py jlinkexe pyocd objcopy objdump"
    " goose golang-migrate migrate atlas reflex templ mockgen swag oapi-codegen cap capistrano kamal foreman overmind puma solargraph importmap"
    " ts-node-dev vite-node release-it changeset changesets semantic-release npm-check-updates ncu concurrently http-server live-server"
    " terraform-docs infracost terrascan atlantis stern kubectx kubens openapi-generator orval graphql-codegen knip depcheck madge syncpack nyc c8"
    " air serve np"
    " ffmpeg pandoc pdflatex mkdocs jekyll doxygen grpcurl ngrok mkcert certbot nginx hub.exe".split()
)
NODE_TOOLS = frozenset(
    "eslint prettier biome oxlint tslint stylelint tsc tsx ts-node tsup esbuild swc babel jest vitest mocha ava karma cypress playwright vite webpack rollup parcel"
    " rspack gulp grunt turbo nx lerna next nuxt astro gatsby expo eas react-native storybook prisma drizzle-kit knex typeorm sequelize wrangler vercel netlify firebase"
    " serverless sls cdk husky lint-staged commitlint changeset release-it semantic-release npm-check-updates ncu knip madge depcheck syncpack graphql-codegen orval"
    " concurrently nodemon http-server markdownlint c8 nyc rimraf".split()
)
"""Tools that are installed in a project, and that package managers such as pnpm run by their names."""
PROGRAM_NAMES: Mapping[str, str] = {
    "homebrew": "brew", "maven": "mvn", "ripgrep": "rg", "bundler": "bundle", "netcat": "nc", "kubernetes": "kubectl", "rebar": "rebar3",
    "yarnpkg": "yarn", "pip3": "pip", "opentofu": "tofu", "httpie": "http",
    "capistrano": "cap", "changesets": "changeset", "npm-check-updates": "ncu",
}  # fmt: skip
"""Names that people use for programs, with the names under which they are run."""

PLAIN_PROGRAMS = frozenset(
    "rm rmdir unlink mv cp ln chmod chown chgrp dd mkfs shred truncate tee sed awk gawk grep egrep fgrep rg ack find fd xargs jq yq curl wget xh nc telnet ftp sftp"
    " scp rsync ssh kill pkill killall cat less vim vi nvim nano emacs tar zip unzip eval export source history trash trash-put tsc node python python3 python2 ruby"
    " perl php java psql mysql sqlite3 mongosh mongo redis-cli sudo su doas env nohup screen make just task rake pytest mypy ruff flake8 eslint prettier black isort"
    " jest mocha tox nox bash sh crontab ls touch mkdir echo printf gcc clang".split()
)
"""Programs without subcommands, or whose next words are targets of the project or files."""

SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "git": "push pull commit merge rebase reset checkout switch restore stash add rm mv clean fetch clone branch tag cherry-pick"
        " revert config filter-branch filter-repo reflog update-ref prune lfs gc worktree submodule bisect am apply init remote log diff status",
        "npm": "install i ci run test publish start exec audit fix update uninstall link version login add",
        "pnpm": "install i run test publish dlx exec add update remove audit",
        "yarn": "install add run test publish dlx exec upgrade remove global",
        "bun": "install add run test x remove",
        "pip": "install uninstall freeze download list",
        "uv": "add sync run pip lock tool remove venv",
        "poetry": "add install run lock update publish build remove",
        "conda": "install create update remove env",
        "docker": "config scan build run push pull compose system rm rmi exec prune image container volume network stop kill up down login",
        "docker-compose": "up down build run rm",
        "kubectl": "apply delete exec edit scale rollout patch drain port-forward create replace diff rollout cordon taint label set run cp",
        "helm": "install upgrade uninstall rollback delete",
        "terraform": "apply destroy plan init import state taint",
        "tofu": "apply destroy plan init",
        "cargo": "build test publish run install clippy fmt update check add",
        "go": "build test run get install mod generate vet fmt tidy vendor tool work",
        "gh": "pr issue release repo merge create",
        "rails": "db:migrate db:drop db:reset console server generate destroy new runner routes c d g s",
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
        "ruff": "check format",
        "biome": "check format lint ci",
        "deno": "run test fmt lint task add install check",
        "vitest": "run watch",
        "golangci-lint": "run",
        "pre-commit": "run install",
        "pulumi": "up preview destroy",
        "ansible-playbook": "",
    }.items()
}
VERBS = frozenset(
    "install i add remove uninstall update upgrade build run test start stop restart deploy publish push pull apply destroy plan init import migrate"
    " rollback reset drop create delete exec clean purge prune flush lint fmt generate gen serve sync audit ci dlx get get-deps deps compile eject link"
    " unlink scale drain rollout edit patch taint login logout volume system network refresh validate seed dump restore repair baseline undo binstall tag"
    " erase flash wipe program monitor scan verify inspect doctor analyze analyse typecheck type-check bench coverage smoke package pack archive upload download sign"
    " binstall outdated yank unpublish require dist-upgrade autoremove rm mb rb up down".split()
)
"""Words that are subcommands of many programs."""
FREE_TARGET = frozenset({"make", "just", "task", "rake", "tox", "nox", "gradlew", "./gradlew", "mvnw", "./mvnw"})
"""Programs that take a project-specific target as their next word."""
SCRIPT_RUNNERS = frozenset(
    "npm pnpm yarn bun deno npx pnpx bunx uvx pipx poetry uv pdm hatch pipenv composer cargo mix nx turbo lerna rails artisan mvn gradle"
    " swift flutter dart dotnet".split()
)
"""Programs that run the scripts of a project, the names of which only the project knows."""
ENVIRONMENTS = frozenset("uv poetry pdm hatch pipenv".split())
"""Those of them that need `run` before a script."""
NPM_COMMANDS = frozenset(
    "install i ci add audit publish unpublish update uninstall remove link unlink version login logout exec outdated pack prune init config view".split()
)
"""Commands of npm itself. A script of the same name is another command."""
RUN_VERBS = frozenset("run running runs execute executing call calling invoke ausführen starte starten".split())
OUTCOMES = frozenset(
    "passes pass passed passing succeeds succeed succeeded works work worked fails failed finishes finished runs ran läuft laufen durchläuft".split()
)
"""Words for how a command ends."""
NO_SCRIPTS = OUTCOMES | frozenset(
    "reports says exits returns once twice first last again then too also now later manually locally often regularly everything anything it this that"
    " them yourself myself themselves alone outside inside whenever while during because via through around within again selbst selber außerhalb"
    " während allein direkt scripts packages tests checks tools tasks targets".split()
)
"""Words that follow such a program in a sentence without being the name of a script."""

PUBLISHES = (
    "npm publish",
    "pnpm publish",
    "yarn npm publish",
    "cargo publish",
    "twine upload",
    "poetry publish",
    "uv publish",
    "gem push",
)
PHRASES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"force[- ]?push(?:es|ed|ing)?|pushe?n? (?:it )?(?:with|mit) force", ("git push --force",)),
    (r"hard[- ]?resets?|reset(?:te|ten)? hard", ("git reset --hard",)),
    (
        r"(?:skip|bypass|disable|circumvent)\w{0,4} (?:the |any |git |commit |pre-commit )*(?:hooks?|pre-commit)",
        ("git commit --no-verify", "git push --no-verify"),
    ),
    (r"(?:git-?)?hooks? (?:überspring|umgeh)\w*", ("git commit --no-verify", "git push --no-verify")),
    (r"amend(?:ing|ed|s)?(?: \w+){0,2}", ("git commit --amend",)),
    (r"interactive(?:ly)? rebas(?:e|es|ing)|rebas(?:e|ing) interactively", ("git rebase -i",)),
    (r"(?<!interactive )(?<!interactively )rebas(?:e|es|ing|en)(?! interactively)", ("git rebase",)),
    (r"(?:in |the )?watch[- ]?mode", ("* --watch", "* --watchAll", "vitest watch", "vitest dev")),
    (
        r"force[- ]installs?|force[- ]installing",
        ("npm install --force", "pnpm install --force", "pnpm add --force", "npm ci --force", "yarn install --force"),
    ),
    (r"stash(?:es|ing|en)?", ("git stash",)),
    (r"cherry-?pick(?:s|ing)?", ("git cherry-pick",)),
    (r"git add (?:-A|\.|--all)|(?:stage|add) (?:everything|all files)", ("git add -A", "git add .")),
    (
        r"install\w{0,3} (?:\w{1,20} ){0,2}globally|globally install\w{0,3}|global (?:npm )?(?:installs?|packages)",
        ("npm install -g", "npm i -g", "npm install --global", "pnpm add -g", "yarn global", "bun add -g"),
    ),
    (
        r"(?:start|run|launch|restart)\w{0,4} (?:the |a |any |another )?(?:dev|development|local|web)[- ]?server",
        (
            "npm run dev",
            "npm start",
            "pnpm dev",
            "pnpm start",
            "yarn dev",
            "yarn start",
            "bun dev",
            "vite",
            "next dev",
            "rails server",
            "rails s",
            "manage.py runserver",
            "flask run",
            "uvicorn",
            "php artisan serve",
            "hugo server",
            "webpack serve",
            "ng serve",
        ),
    ),
    (r"publish\w{0,3} (?:\w{1,12} ){0,3}(?:to )?npm", ("npm publish", "pnpm publish", "yarn publish", "yarn npm publish")),
    (
        r"pip\w{1,3} (?:curl|wget|scripts?|downloads?|anything)\b.{0,30}\b(?:in)?to (?:a |the )?(?:sh|bash|shell|zsh)|curl ?\| ?(?:sudo )?(?:ba)?sh|curl-(?:pipe-)?(?:ba)?sh|curl to (?:ba)?sh",
        ("curl | sh bash zsh", "wget | sh bash zsh"),
    ),
    (
        r"delet\w{1,3} (?:any |the )?(?:remote branches|branches (?:on|from|at) (?:the )?(?:remote|origin|github|gitlab))",
        ("git push --delete", "gh api DELETE *refs/heads*"),
    ),
    (
        r"delet\w{1,3} (?:any |my |the )?branches(?! (?:on|from|at) )",
        ("git branch -D", "git branch -d", "git push --delete", "gh api DELETE *refs/heads*"),
    ),
    (
        r"clos(?:e|es|ing) (?:any |the |my )?(?:prs?|(?:pull|merge) requests?|issues?|tickets?)(?: (?:or|and) (?:prs?|(?:pull|merge) requests?|issues?))?",
        ("gh pr close", "gh issue close", "glab mr close", "glab issue close"),
    ),
    (r"merg(?:e|es|ing) (?:any |the |my |your )?(?:prs?|mrs?|(?:pull|merge) requests?)", ("gh pr merge", "glab mr merge")),
    (
        r"run\w{0,4} (?:the |any |database |db |pending )*migrations?(?! (?:against|on|in|to|from|for|at) )",
        (
            "alembic upgrade",
            "rails db:migrate",
            "rake db:migrate",
            "manage.py migrate",
            "prisma migrate deploy",
            "prisma migrate dev",
            "flyway migrate",
            "knex migrate:latest",
            "sequelize db:migrate",
            "typeorm migration:run",
            "drizzle-kit push",
            "drizzle-kit migrate",
            "artisan migrate",
            "diesel migration run",
            "sqlx migrate run",
            "make migrate",
            "npm run migrate",
            "liquibase update",
            "goose up",
            "dbmate up",
            "mix ecto.migrate",
            "dotnet ef database update",
        ),
    ),
    (
        r"deploy(?:s|ments?|ing)?(?= ?$| ?[.,;!—](?:\s|$)| (?:anything|yourself|from here|on your own|without|at all))",
        (
            "make deploy",
            "just deploy",
            "npm run deploy",
            "pnpm run deploy",
            "yarn run deploy",
            "fly deploy",
            "flyctl deploy",
            "vercel deploy",
            "vercel --prod",
            "netlify deploy",
            "wrangler deploy",
            "firebase deploy",
            "serverless deploy",
            "sls deploy",
            "cap production deploy",
            "kamal deploy",
            "cdk deploy",
            "gcloud app deploy",
            "eb deploy",
            "deploy.sh",
        ),
    ),
    (
        r"publish\w{0,3} (?:the |any |our |new )*packages?",
        PUBLISHES,
    ),
    (
        r"(?:discard|throw away|revert|undo|lose) (?:my |any |the |local |uncommitted |unstaged )*changes",
        ("git reset --hard", "git checkout .", "git restore .", "git clean", "git stash drop"),
    ),
    (
        r"(?:upgrad|updat|bump)\w{1,3} (?:the |any |our )*(?:dependenc(?:y|ies)|packages|deps|libraries)"
        r"|(?:dependencies|packages|deps|libraries|gems)\b[^.;]{0,40}\b(?:never|don't|do not|nobody) (?:upgrade|update|bump)s?\b(?: (?:them|it))?(?= ?$| ?[.,;])",
        (
            "npm update",
            "npm upgrade",
            "pnpm update",
            "pnpm up",
            "yarn upgrade",
            "yarn up",
            "bun update",
            "bundle update",
            "cargo update",
            "poetry update",
            "pip install -U",
            "uv lock --upgrade",
            "go get -u",
            "composer update",
            "mix deps.update",
        ),
    ),
    (
        r"shut(?:ting)? ?down(?: (?:the|this) (?:machine|server|computer|host))?|reboot(?:ing)?(?: (?:the|this) (?:machine|server|computer|host))?",
        ("shutdown", "reboot", "poweroff", "halt"),
    ),
    (r"truncat\w{1,3} (?:any |the |our )*tables?", ("psql TRUNCATE", "mysql TRUNCATE", "mariadb TRUNCATE")),
    (
        r"drop(?:ping)? (?:the |any |a |our )*(?:database|db)s?",
        (
            "psql DROP DATABASE",
            "mysql DROP DATABASE",
            "mariadb DROP DATABASE",
            "dropdb",
            "rails db:drop",
            "rake db:drop",
            "rails db:reset",
            "prisma migrate reset",
            "mysqladmin drop",
        ),
    ),
    (
        r"(?:creat|mak)\w{1,3} (?:any |new |more )*(?:directories|folders)(?! (?:in|under|for|inside|at))|no new (?:directories|folders)(?! (?:in|under|for|inside|at))",
        ("mkdir",),
    ),
    (r"(?:new |any |more |use |create |add )worktrees?", ("git worktree add",)),
)
"""Regular expressions for phrases that stand for commands."""

SQL_CLIENTS = ("psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "duckdb", "clickhouse-client")
STATEMENTS: Mapping[str, tuple[str, ...]] = {
    **{
        name: (f"redis-cli {name}", f"valkey-cli {name}") for name in "FLUSHALL FLUSHDB KEYS SHUTDOWN CONFIG DEBUG SCRIPT".split()
    },
    **{
        name: tuple(f"{client} {name}" for client in SQL_CLIENTS)
        for name in (
            "DROP TABLE",
            "DROP DATABASE",
            "DROP SCHEMA",
            "DROP COLUMN",
            "DROP INDEX",
            "TRUNCATE",
            "DELETE FROM",
            "ALTER TABLE",
            "GRANT",
        )
    },
}
"""Statements of databases, with the commands that execute them."""

NEW_DEPENDENCIES = (
    "npm install *", "npm i *", "npm add", "pnpm add", "pnpm install *", "yarn add", "bun add", "bun install *", "pip install *", "uv add", "uv pip install *",
    "poetry add", "pdm add", "pipenv install *", "conda install", "cargo add", "go get *", "gem install *", "bundle add", "composer require", "dotnet add",
    "flutter pub add", "dart pub add",
)  # fmt: skip
"""Commands that add a dependency. The star stands for any argument."""

UPGRADED = (
    "npm update {}", "npm install {}@*", "npm i {}@*", "pnpm up {}", "pnpm update {}", "pnpm up {}@*", "pnpm add {}@*", "yarn up {}", "yarn up {}@*", "yarn upgrade {}", "yarn upgrade {}@*",
    "yarn add {}@*", "bun update {}", "bun add {}@*", "bundle update {}", "poetry update {}", "uv add {}@*", "cargo update {}", "composer update {}",
)  # fmt: skip
"""Commands that change the version of a library."""
REMOVED = (
    "npm uninstall {}", "npm remove {}", "npm rm {}", "pnpm remove {}", "pnpm rm {}", "yarn remove {}", "bun remove {}", "bundle remove {}", "pip uninstall {}",
    "uv remove {}", "poetry remove {}", "cargo remove {}", "composer remove {}",
)  # fmt: skip
"""Commands that remove a library from a project."""

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
    "-DskipTests": ("mvn -DskipTests", "mvnw -DskipTests"),
    "-Dmaven.test.skip": ("mvn -Dmaven.test.skip", "mvnw -Dmaven.test.skip"),
    "--ignore-scripts": ("npm --ignore-scripts", "pnpm --ignore-scripts", "yarn --ignore-scripts"),
    "--skip-tests": ("mvn --skip-tests",),
    "--no-edit": ("git commit --no-edit",),
    "--no-cache": ("docker build --no-cache",),
    "--updateSnapshot": ("jest --updateSnapshot", "npm test --updateSnapshot"),
}
"""Commands of flags that belong to only one program, for rules that mention only the flag."""

BUILD_FILES = tuple(
    "CMakeLists.txt *.cmake Makefile *.mk meson.build package.json Dockerfile Dockerfile.* *.yml *.yaml *.sh *.toml justfile Justfile .npmrc *.gradle"
    " *.gradle.kts BUILD BUILD.bazel .cargo/config* tsconfig*.json *.xcconfig setup.cfg tox.ini".split()
)
"""Files from which a project is built and tested."""

OTHER_FORMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"docker compose(?= )", ("docker-compose",)),
    (r"docker-compose(?= )", ("docker compose",)),
    (r"docker build", ("docker buildx build", "docker image build")),
    (r"docker (?=(?:rm|run|exec|stop|kill|start|restart|logs|cp)\b)", ("docker container ",)),
    (r"docker (?=(?:push|pull)\b)", ("docker image ",)),
    (r"docker rmi", ("docker image rm",)),
    (r"(terraform|tofu) destroy", (r"\1 apply -destroy",)),
    (r"rails (?=[a-z_]+:[a-z_:]+)", ("rake ",)),
    (r"rake (?=db:[a-z_:]+)", ("rails ",)),
    (r"pnpm update", ("pnpm up", "pnpm upgrade")),
    (r"npm update", ("npm up", "npm upgrade")),
    (r"yarn upgrade", ("yarn up",)),
    (r"pnpm remove", ("pnpm rm", "pnpm uninstall")),
    (r"npm uninstall", ("npm remove", "npm rm")),
    (r"apt(?= )", ("apt-get",)),
    (r"apt-get(?= )", ("apt",)),
)
"""Beginnings of commands that have another form, with that form."""

MORE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\b(?:delet|remov|prun)\w{1,3} (?:the |any |our )?docker volumes?",
        ("docker volume rm", "docker volume prune", "docker compose down -v"),
    ),
    (r"\b(?:delet|remov|prun)\w{1,3} (?:the |any |our )?docker images?", ("docker rmi", "docker image rm", "docker image prune")),
    (r"\b(?:delet|remov|prun)\w{1,3} (?:the |any |our )?docker containers?", ("docker rm", "docker container rm")),
    (r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?volumes?", ("docker volume rm", "docker volume prune")),
    (
        r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?images?",
        ("docker rmi", "docker image rm", "docker image prune"),
    ),
    (r"\bdocker\b.{0,60}\b(?:delet|remov|prun)\w{1,3} (?:the |any )?containers?", ("docker rm", "docker container rm")),
)
"""Phrases that stand for further commands in a rule that mentions commands of the same program."""

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
        ("ruby rails .rb", "*.rb"),
        ("php .php", "*.php"),
        ("c# csharp .cs", "*.cs"),
        ("c++ cpp .cpp", "*.cpp *.cc *.hpp *.h"),
        ("css scss .css stylesheets stylesheet", "*.css *.scss *.sass *.less"),
        ("html .html templates", "*.html *.htm"),
        ("sql .sql", "*.sql"),
        ("yaml .yml .yaml", "*.yml *.yaml"),
        ("bash shell .sh", "*.sh *.bash"),
        ("dart flutter", "*.dart"),
        ("elixir .ex .exs", "*.ex *.exs"),
        ("scala", "*.scala *.sc"),
        ("haskell", "*.hs"),
        ("terraform hcl .tf", "*.tf"),
        ("lua", "*.lua"),
        ("perl", "*.pl *.pm"),
        ("powershell .ps1", "*.ps1 *.psm1"),
        ("graphql", "*.graphql *.gql"),
        ("protobuf .proto", "*.proto"),
        ("markdown .md", "*.md *.mdx"),
        ("svelte", "*.svelte"),
        ("angular", "*.ts *.html"),
        ("swiftui uikit ios", "*.swift"),
        ("jinja jinja2 twig erb blade", "*.j2 *.jinja *.jinja2 *.twig *.erb *.blade.php"),
        ("k8s kubernetes helm manifests compose docker-compose", "*.yml *.yaml"),
        ("notebook notebooks jupyter", "*.ipynb"),
        ("c", "*.c *.h"),
        ("cmake", "CMakeLists.txt *.cmake"),
        ("headers header", "*.h *.hpp *.hh *.hxx"),
        ("objective-c objc", "*.m *.mm *.h"),
        ("scss sass less", "*.scss *.sass *.less"),
        ("makefile makefiles", "Makefile *.mk"),
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
SQL_WORDS = frozenset(
    "TIMESTAMP DATETIME VARCHAR CHAR NVARCHAR TEXT SERIAL BIGSERIAL FLOAT DOUBLE REAL MONEY ENUM JSON BLOB TINYINT TRUNCATE CASCADE NOLOCK OFFSET RIGHT NATURAL UNION"
    " DISTINCT".split()
)
"""Words of SQL that mean the code when they are in capitals."""
_SWIFT, _RUST, _GO, _JAVA, _KOTLIN = (LANGUAGES[name] for name in ("swift", "rust", "go", "java", "kotlin"))
_CS, _CPP, _PHP, _RUBY, _CSS, _SQL = (LANGUAGES[name] for name in ("c#", "c++", "php", "ruby", "css", "sql"))
_JVM = (*_JAVA, *_KOTLIN)
_C = (*_CPP, "*.c")
WORDS: Mapping[str, tuple[str, ...]] = {
    "any": _TS_FILES, "@ts-ignore": _JS_FILES, "@ts-expect-error": _JS_FILES, "@ts-nocheck": _JS_FILES, "eslint-disable": _JS_FILES,
    "enum": _TS_FILES, "namespace": _TS_FILES, "var": _JS_FILES, "console.log": _JS_FILES, "console": _JS_FILES, "debugger": _JS_FILES,
    "alert": _JS_FILES, "innerhtml": _JS_FILES, "dangerouslysetinnerhtml": _JS_FILES, "localstorage": _JS_FILES,
    "document.write": _JS_FILES, "parsefloat": _JS_FILES, "require": _JS_FILES, "print": _PY, "pprint": _PY, "breakpoint": _PY,
    "pdb": _PY, "assert": _PY, "os.system": _PY, "pickle.loads": _PY, "datetime.utcnow": _PY, "datetime.now": _PY, "time.sleep": (*_PY, *_GO, *_RUBY),
    "noqa": _PY, "type: ignore": _PY, "# type: ignore": _PY, "# noqa": _PY, "lambda": _PY, "global": _PY, "unwrap": ("*.rs",),
    "expect": ("*.rs",), "unsafe": ("*.rs",), "panic": ("*.rs", "*.go"), "println!": ("*.rs",), "dbg!": ("*.rs",), "fmt.println": ("*.go",),
    "goto": (), "eval": (), "exec": _PY, "!important": LANGUAGES["css"], "system.out.println": ("*.java", "*.kt"), "printstacktrace": ("*.java",),
    "thread.sleep": ("*.java", "*.kt", "*.cs"), "todo": (), "fixme": (), "xxx": (), "hack": (), "sleep": (), "select *": (),
    "console.error": _JS_FILES, "console.warn": _JS_FILES, "console.debug": _JS_FILES, "sessionstorage": _JS_FILES, "math.random": _JS_FILES,
    "settimeout": _JS_FILES, "setinterval": _JS_FILES, "useeffect": _JS_FILES, "react.fc": _JS_FILES, "as any": _TS_FILES, "foreach": _JS_FILES,
    "document.queryselector": _JS_FILES, "document.getelementbyid": _JS_FILES, "fdescribe": _JS_FILES, "describe.only": _JS_FILES, "it.only": _JS_FILES,
    "test.only": _JS_FILES, "it.skip": _JS_FILES, "test.skip": _JS_FILES, "describe.skip": _JS_FILES, "process.env": _JS_FILES, "json.parse": _JS_FILES,
    "pdb.set_trace": _PY, "os.path": _PY, "os.getenv": _PY, "os.environ": _PY, "yaml.load": _PY, "datetime.today": _PY, "optional": _PY, "input": _PY,
    "logging.info": _PY, "sys.exit": _PY, "shell=true": _PY, "subprocess.call": _PY, "todo!": _RUST, "unimplemented!": _RUST, "panic!": _RUST,
    "eprintln!": _RUST, "print!": _RUST, ".unwrap()": _RUST, ".expect()": _RUST, "clone()": _RUST, ".clone()": _RUST, "transmute": _RUST, "fmt.printf": _GO,
    "fmt.print": _GO, "log.fatal": _GO, "log.println": _GO, "log.printf": _GO, "interface{}": _GO, "ioutil": _GO, "os.exit": _GO, "init": _GO,
    "system.out.print": _JVM, "system.err.println": _JVM, "system.exit": _JVM, "@autowired": _JVM, "@data": _JVM, "@suppresswarnings": _JVM,
    "optional.get": _JVM, "!!": _KOTLIN, "lateinit": _KOTLIN, "globalscope": _KOTLIN, "runblocking": _KOTLIN, "println": (*_KOTLIN, "*.scala", *_RUST, *_SWIFT),
    "console.writeline": _CS, "dynamic": _CS, "#region": _CS, ".result": _CS, ".wait()": _CS, "async void": _CS, "datetime.utcnow()": _CS, "goto ": (),
    "var_dump": _PHP, "print_r": _PHP, "dd": _PHP, "dump": _PHP, "die": _PHP, "extract": _PHP, "$_get": _PHP, "$_post": _PHP, "array()": _PHP, "env()": _PHP,
    "puts": _RUBY, "binding.pry": _RUBY, "byebug": _RUBY, "rescue exception": _RUBY, "update_attribute": _RUBY, "default_scope": _RUBY, "html_safe": (*_RUBY, "*.erb"),
    "try!": _SWIFT, "as!": _SWIFT, "fatalerror": _SWIFT, "nslog": _SWIFT, "anyview": _SWIFT, "uikit": _SWIFT, "implicitly unwrapped": _SWIFT,
    "malloc": _C, "free": _C, "strcpy": _C, "sprintf": _C, "gets": _C, "printf": (*_C, *_PHP), "using namespace std": _C, "std::cout": _C, "std::endl": _C,
    "reinterpret_cast": _C, "const_cast": _C, "#define": _C, "null": _C, "alloca": _C, "@import": _CSS, "@apply": (*_CSS, "*.vue", "*.svelte"), "float": _CSS,
    "z-index": _CSS, "drop table": (), "truncate": (), "delete from": (), "nolock": (), "cascade": _SQL, "enum type": _SQL, "serial": _SQL, "varchar": _SQL,
    "io.puts": ("*.ex", "*.exs"), "io.inspect": ("*.ex", "*.exs"), "trace": ("*.hs",), "undefined": ("*.hs",), "head": ("*.hs",), "<<<<<<<": (),
    "privileged: true": LANGUAGES["yaml"], "local-exec": ("*.tf",), "null_resource": ("*.tf",), "print()": (*_PY, "*.dart", *_SWIFT), "v-html": ("*.vue",),
    "fetchcontent": LANGUAGES["cmake"], "calloc": _C, "realloc": _C, "std::cerr": _C, "std::string": _C, "strcat": _C, "strtok": _C, "atoi": _C, "setjmp": _C, "longjmp": _C,
    **dict.fromkeys(
        "find_by_sql update_column update_columns update_all delete_all destroy_all skip_before_action before_save after_save after_commit accepts_nested_attributes_for"
        " method_missing instance_variable_get class_eval instance_eval connection.execute drop_table remove_column rename_column change_column permit!".split(),
        _RUBY,
    ),
    **dict.fromkeys("usememo usecallback usecontext usereducer uselayouteffect forwardref xmlhttprequest document.cookie confirm".split(), _JS_FILES),
    **dict.fromkeys("depends_on prevent_destroy ignore_changes remote-exec".split(), ("*.tf",)),
    **dict.fromkeys("context.todo context.background http.defaultclient fmt.sprintf".split(), _GO),
    "debugprint": ("*.dart", *_SWIFT), "ng-": ("*.html",), "onclick": ("*.html",), "<b>": ("*.html",), "lorem ipsum": (),
}  # fmt: skip
"""Words of code, in lower case, with the files in which they have this meaning. An empty tuple means all code files."""
NOT_ALONE = frozenset({"confirm", "optional", "init", "input", "free", "null", "head", "trace", "undefined", "float", "dump", "die", "extract", "dynamic", "foreach", "truncate", "cascade", "serial", "gets", "dd", "clone()", "puts", "printf", "println", "any", "expect", "require", "print", "alert", "assert", "global", "exec", "sleep", "panic", "enum", "console", "hack", "namespace", "unsafe", "lambda", "eval", "var", "xxx", "todo"})  # fmt: skip
"""Words that are also ordinary words. A rule refers to the code only if something else in the rule indicates code."""
QUOTED_ONLY = frozenset(
    "optional init input free null head trace undefined float dump die extract dynamic foreach truncate cascade serial gets dd puts".split()
)
"""Words of code that count only in quotes or with parentheses, since they are frequent in sentences."""
CONTENT_PHRASES: tuple[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (r"(?:allocat\w{0,3} (?:memory )?(?:on|from) the heap|heap[- ]allocat\w{1,4}|dynamic (?:memory )?allocat\w{1,4})", ("<raw new>", "malloc(", "calloc(", "realloc("), _C, ()),
    (r"(?:c\+\+ )?exceptions?\b(?=.{0,30}\b(?:throw|try|catch)\b)|c\+\+ exceptions?", ("throw", "<try block>"), _C, ()),
    (r"unsigned int", ("unsigned int",), _C, ()),
    (r"unsigned long", ("unsigned long",), _C, ()),
    (r"`?export \*`?(?: from)?|(?:star|wildcard) (?:re-?)?exports?", ("<star export>",), _JS_FILES, ()),
    (r"any[- ]?typ(?:e|es|en)\b|unknown\b.{0,20}\b(?:never|not|no|over|instead of|nie|statt) `?any\b", ("any",), _TS_FILES, ()),
    (r"use client(?=\b)", ("'use client'", '"use client"'), _JS_FILES, ()),
    (r"use server(?=\b)", ("'use server'", '"use server"'), _JS_FILES, ()),
    (r"0\.0\.0\.0/0", ("0.0.0.0/0",), ("*.tf", "*.tfvars", *LANGUAGES["yaml"], "*.json"), ()),
    (r"rubocop:disable|disabl\w{1,3} (?:the |any )?rubocop(?: cops?)?(?: inline)?|rubocop[- ]disables?", ("rubocop:disable",), _RUBY, ()),
    (r"(?://)?nolint(?: comments?| directives?)?|disabl\w{1,3} (?:the |any )?golangci-lint(?: inline)?", ("nolint",), _GO, ()),
    (r"(?:wildcard|star|glob)[- ]?imports?|(?:wildcard|stern)[- ]?importe?", ("<star import>",), (*_PY, *_JVM), ()),
    (r"unknown (?:instead of|over|rather than) any", ("any",), tuple(_TS.split()), ()),
    (r"focus(?:s)?ed tests?|(?:it|test|describe)?\.only(?: in tests)?", ("it.only", "test.only", "describe.only", "fit(", "fdescribe("), tuple((_TS + " " + _JS).split()), ()),
    (r"skipped tests?|\.skip in tests|@pytest\.mark\.skip",
     ("it.skip", "test.skip", "describe.skip", "xit(", "xdescribe(", "@pytest.mark.skip", "@unittest.skip", "t.Skip(", "@Disabled", "@Ignore"), (), ()),
    (r"(?:bare|naked|nackte\w?) excepts?|except ohne typ|except: without (?:a )?type", ("<bare except>",), _PY, ()),
    (r"(?:typescript|ts)\b.{0,30}\benums?|enums?\b.{0,30}\b(?:typescript|ts)", ("enum",), _TS_FILES, ()),
    (r"!important", ("!important",), LANGUAGES["css"], ()),
    (r"default[- ]?exports?|export default", ("<default export>",), _JS_FILES, ()),
    (r"inline[- ]?(?:css[- ]?)?styles?|inline css|style attributes?", ("<inline style>",), (*LANGUAGES["react"], "*.html", "*.vue", "*.svelte", "*.erb", "*.php"), ()),
    (r"class[- ]?components?|klassenkomponenten", ("<class component>",), LANGUAGES["react"], ()),
    (r"non-?null[- ]assertions?|non-null operators?", ("<non-null assertion>",), _TS_FILES, ()),
    (r"force[- ]?unwrap\w{0,5}|forced unwrap\w{0,5}|implicitly unwrapped", ("<force unwrap>", "try!", "as!"), _SWIFT, ()),
    (r"(?:loose|non-?strict|weak) (?:equality|comparisons?)|double equals|== (?:instead of|statt) ===|(?:use|nutze|only|nur) === ?(?:,|not|instead|statt|over|nicht)", ("<loose equality>",), (*_JS_FILES, *_PHP), ()),
    (r"nested ternar(?:y|ies)|verschachtelte\w? (?:ternäre\w?|ternaries)", ("<nested ternary>",), (*_JS_FILES, *_PHP, *_C, *_JAVA, *_CS), ()),
    (r"(?:\.then|promise)[- ]?\(?\)? ?chain\w{0,3}|\.then\(\)?|then-chains?", ("<promise chain>",), _JS_FILES, ()),
    (r"(?:ignor|swallow|discard)\w{0,3} (?:any |the |an )?err(?:or)?s?|_ = err|err(?:or)?s? (?:must not|may not|never) be ignored", ("<ignored error>",), _GO, ()),
    (r"(?:empty|silent|leere\w?) (?:catch(?:es)?|except|rescue)(?:[- ]?blocks?|[- ]?blöcke)?|swallow\w{0,3} exceptions?|except:? pass|catch and ignore", ("<empty catch>",),
     (*_JS_FILES, *_JVM, *_CS, *_PHP, *_C, *_PY, *_RUBY, "*.dart"), ()),
    (r"mutable default (?:arguments?|values?|args|params?|parameters?)", ("<mutable default>",), _PY, ()),
    (r"f-?strings? (?:in|for|within|inside) (?:the )?log\w{0,8}|log\w{0,8} with f-?strings?", ("<f-string log>",), _PY, ()),
    (r"shell ?= ?true", ("<shell true>",), _PY, ()),
    (r"commented[- ]?out code|auskommentierte\w? code|dead code in comments", ("<commented-out code>",), CODE_FILES, ()),
    (r"c[- ]style casts?", ("<c-style cast>",), _C, ()),
    (r"raw (?:`?new`?|pointers?)|(?:naked|plain) `?new`?|`?new`?/`?delete`?|new and delete", ("<raw new>",), _C, ()),
    (r"debugger statements?", ("<debugger>",), (*_JS_FILES, *_PY, *_RUBY), ()),
    (r"(?:catch\w{0,3}|except|rescue) (?:generic |bare |broad |plain |a )?(?:exception|throwable|error)s?\b(?! message)|broad (?:except\w*|catch\w*)|generic exceptions?|except exception", ("<broad catch>",),
     (*_PY, *_JVM, *_CS, *_RUBY), ()),
    (r"(?:todos?|fixmes?)(?:[- ]?(?:comments?|kommentare?))? (?:without|ohne) (?:a |an |ein\w* )?(?:ticket|issue|jira|number|reference|owner)\w{0,3}", ("<todo without ticket>",), CODE_FILES, ()),
    (r"(?:image )?tag:? latest|latest (?:docker )?(?:image|version of images)\w?|latest[- ]?tags?|:latest|`latest`", ("<latest tag>",), (*LANGUAGES["yaml"], *LANGUAGES["dockerfile"], "*.tf", "*.sh"), ()),
    (r"hard-?\s?cod\w{0,3} (?:ips?|ip[- ]?addresse?s?|ip-adressen)|(?:feste?|hartkodierte?|literal|raw) ip\w{0,10}|\bip addresses? in (?:the )?(?:code|source)", ("<ip address>",),
     (*CODE_FILES, *LANGUAGES["yaml"], "*.tf", "*.json"), ()),
    (r"hard-?\s?cod\w{0,3} localhost\w{0,5}|localhost[- ]urls?", ("<localhost url>",), CODE_FILES, ()),
    (r"hard-?\s?cod\w{0,3} (?:urls?|links|endpoints?|hosts?)|hartkodierte\w? urls?|urls? hard-?\s?cod\w{0,3}|urls? fest (?:ein|ver)\w{1,20}", ("<url>",), CODE_FILES, ()),
    (r"(?:plain|insecure|unencrypted) http\b(?: urls?)?|http:// ?(?:urls?|links?)?|http urls?", ("<http url>",), (*CODE_FILES, *LANGUAGES["yaml"], *LANGUAGES["html"]), ()),
    (r"hard-?\s?cod\w{0,3} (?:passwords?|secrets?|credentials?|tokens?|api[- ]?keys?)|(?:passwords?|secrets?|api[- ]?keys?|credentials?|tokens?) (?:in (?:the )?(?:code|source)|hard-?cod\w{0,3})"
     r"|passwörter im (?:code|quellcode)|(?:hartkodierte\w?|feste) (?:passwörter|secrets|schlüssel)", ("<secret>",), (*CODE_FILES, *LANGUAGES["yaml"], "*.json", "*.tf"), ()),
    (r"id[- ]selectors?|selectors? by id", ("<id selector>",), _CSS, ()),
    (r"(?:hard-?\s?cod\w{0,3} )?(?:px|pixel)(?: units?| values?| sizes?|-?werte)?(?= in\b|,|$| for\b| \(| —|\.)", ("<px>",), _CSS, ()),
    (r"string (?:concat\w{0,8}|interpolation|format\w{0,4}) (?:in|for|into|to build) (?:the )?(?:sql|quer\w{1,3})|(?:sql|quer\w{1,3}) (?:by|with|from|via) (?:string )?(?:concat\w{0,8}|f-strings?|interpolation)|f-strings? (?:in|for) (?:sql|quer\w{1,3})",
     ("<string concatenation in sql>",), CODE_FILES, ()),
    (r"(?:`)?var(?:`)? (?:in (?:js|javascript|ts|typescript)|declarations?)|(?:`)?var(?:`)?[,;:]? (?:use|only|nur|always|prefer) `?(?:let|const)|(?:let|const)`?(?: ?(?:and|or|/|und|oder|,) ?`?(?:let|const)`?)?,? (?:instead of|not|never|statt|over|nie|rather than) `?var",
     ("<var>",), _JS_FILES, ()),
    (r"tabs? (?:for indent\w{0,6}|characters?|indent\w{0,6})|indent\w{0,4} with tabs|spaces,? (?:not|never|no) tabs|no tabs\b|keine tabs", ("<tab>",), tuple(each for each in CODE_FILES if each != "*.go"), ()),
    (r"emojis? in (?:the )?(?:code|source|comments?|logs?|log messages|strings)|emojis? im code", ("<emoji>",), CODE_FILES, ()),
    (r"(?:floats?|floating[- ]?points?|doubles?|gleitkomma\w*|fließkomma\w*)\b.{0,60}\b(?:money|price\w*|amounts?|currency|geld\w*|preise?|beträge?)"
     r"|(?:money|prices?|amounts?|geld\w*|beträge?|preise?)\b.{0,60}\b(?:floats?|floating[- ]?points?|doubles?|gleitkomma\w*|fließkomma\w*)",
     ("float", "double", "Float", "Double", "parseFloat", "f64", "f32", "float64", "REAL", "t.float", ".to_f"), CODE_FILES,
     ("price", "amount", "money", "total", "cost", "cent", "currency", "fee", "balance", "preis", "betrag", "geld", "tax", "salary")),
    (r"print[- ]statements?|print-?(?:anweisung|ausgabe|aufruf)\w*", ("print()",), _PY, ()),
    (r"console\.?[- ]?logs?|console statements?", ("console.log",), _JS_FILES, ()),
    (r"@?ts-ignores?", ("@ts-ignore",), _JS_FILES, ()),
    (r"type[- :]?ignores?", ("type: ignore",), _PY, ()),
    (r"eslint-?disables?(?: comments?| directives?)?|disabl\w{1,3} (?:the |any )?eslint(?: rules?)?(?: inline)?", ("eslint-disable",), _JS_FILES, ()),
    (r"hard-?\s?cod\w{0,3} (?:hex[- ]?)?(?:colou?rs?|hex\w{0,6}|farb\w{1,6})|(?:hex|literal|raw)[- ]?(?:colou?rs?|codes?|values?|farb\w{1,6})|hex-?farb\w{1,6}|farben? (?:hart|fest) \w{1,15}", ("<hex color>", "rgb(", "rgba("),
     (*_CSS, *_JS_FILES, *_SWIFT, *_KOTLIN, "*.dart", "*.html"), ()),
    (r"todos?[- ]?(?:comments?|kommentare?|markers?)", ("TODO",), CODE_FILES, ()),
    (r"select ?\*|select[- ]stars?", ("<select star>",), (*CODE_FILES, "*.ex", "*.kts"), ()),
)  # fmt: skip
"""Phrases that stand for code: the words, the files, and words of which at least one must be on the same line."""

LOCK_FILES = tuple(
    "package-lock.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb npm-shrinkwrap.json deno.lock Cargo.lock poetry.lock uv.lock pdm.lock Pipfile.lock"
    " composer.lock Gemfile.lock go.sum mix.lock pubspec.lock Podfile.lock flake.lock packages.lock.json gradle.lockfile .terraform.lock.hcl".split()
)
PATH_CONCEPTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:terraform|tf|provider) lock[- ]?files?", (".terraform.lock.hcl",)),
    (r"pnpm[- ]lock[- ]?files?", ("pnpm-lock.yaml",)),
    (r"npm[- ]lock[- ]?files?", ("package-lock.json",)),
    (r"yarn[- ]lock[- ]?files?", ("yarn.lock",)),
    (r"(?:gem|bundler|ruby|bundle)[- ]lock[- ]?files?", ("Gemfile.lock",)),
    (
        r"lock[- ]?(?:files?|dateien?)|lockfiles?|(?:dependency|package) locks?|(?:fichiers?|archivos?|file|arquivos?) (?:de )?(?:verrouillage|bloqueo|lock)",
        LOCK_FILES,
    ),
    (r"(?:dot)?env[- ](?:files?|dateien?)|env-?files?|dotenv(?: files?)?", (".env", ".env.*")),
    (r"snapshots?(?: files?)?", ("*.snap", "__snapshots__/*", "*/__snapshots__/*")),
    (
        r"(?:ci|github)[- ](?:workflows?|config\w*|pipelines?|actions|files?|setup|definition\w*|yaml)|github actions|workflow files?|pipelines? (?:config\w*|definition\w*)",
        (".github/workflows/", ".gitlab-ci.yml", ".circleci/", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml"),
    ),
    (r"(?:terraform |tf)[- ]?state(?:[- ]?(?:files?|dateien?))?", ("*.tfstate", "*.tfstate.backup")),
    (
        r"(?:protobuf|grpc|proto|pb)[- ](?:stubs?|code|files?|output)",
        ("*.pb.go", "*_pb2.py", "*_pb2_grpc.py", "*_pb2.pyi", "*_pb.js", "*_pb.ts", "*.pb.h", "*.pb.cc"),
    ),
    (r"minified (?:files?|js|css|assets|code)", ("*.min.js", "*.min.css")),
    (r"git[- ]?hooks", (".git/hooks/", ".husky/", ".githooks/")),
    (r"(?:the |das |le |el |im |in )change-?log|changelogs?", ("CHANGELOG.md", "CHANGELOG", "CHANGES.md")),
    (r"licen[sc]e(?: files?)?|lizenz(?:datei)?", ("LICENSE", "LICENSE.*", "LICENCE")),
    (r"dockerfiles?", ("Dockerfile", "Dockerfile.*", "*.dockerfile")),
    (
        r"docker[- ]?compose files?|compose files?",
        ("docker-compose*.yml", "docker-compose*.yaml", "compose*.yml", "compose*.yaml"),
    ),
    (r"makefiles?", ("Makefile", "*.mk")),
    (r"(?:the |die |\.?)gitignore", (".gitignore",)),
    (
        r"eslint (?:config\w*|rules|settings)|lint(?:er|ing)? (?:config\w*|rules)",
        (".eslintrc*", "eslint.config.*", "biome.json", ".rubocop.yml", ".golangci.yml", "ruff.toml", ".flake8"),
    ),
    (r"tsconfigs?|typescript config\w*", ("tsconfig*.json",)),
    (r"ssh[- ]?(?:keys?|schlüssel)", ("~/.ssh/", "id_rsa", "id_ed25519")),
    (r"(?:golden|approval)[- ]?(?:files?|masters?|dateien?)", ("golden/*", "*/golden/*", "*.golden", "*.approved.*")),
    (r"(?:test )?fixtures?", ("fixtures/*", "*/fixtures/*", "__fixtures__/*", "*/__fixtures__/*")),
    (
        r"vendor(?:ed)? (?:code|files?|libs?|libraries|dependencies)",
        ("vendor/*", "*/vendor/*", "third_party/*", "*/third_party/*", "vendored/*"),
    ),
    (r"node[_ ]modules", ("node_modules/*", "*/node_modules/*")),
    (
        r"(?:applied |existing |old |alte |bestehende |merged |committed |past |shipped )?migrations?(?: files?)?|migrationen",
        ("migrations/*", "*/migrations/*", "migrate/*", "*/migrate/*", "alembic/versions/*"),
    ),
)
"""Kinds of files that people name without a path, with the paths that are meant."""
# Names that folders usually have. Such a word is a folder after "in", "under" or the like.
FOLDERS = frozenset(
    "src app server client frontend backend api web mobile components pages views models controllers routes services middleware handlers domain utils helpers hooks"
    " locales i18n assets styles templates layouts test vendor third_party thirdparty node_modules legacy dist build out target generated gen __generated__ migrations fixtures public static assets infra terraform"
    " deploy deployment k8s charts secrets certs proto protos snapshots golden archive archived deprecated old external extern contrib docs scripts tools tests"
    " spec specs examples e2e prod production staging payments billing auth core shared common lib libs packages apps config conf schema".split()
)
KEPT_FOLDERS = frozenset(
    "vendor third_party thirdparty node_modules legacy dist generated __generated__ secrets archived deprecated k8s terraform".split()
)
"""Folders that rules forbid to touch by their bare name, as in "never touch legacy"."""

LIBRARIES = frozenset(
    # JavaScript and TypeScript
    "database/sql math/rand io/ioutil net/http/pprof lodash lodash-es underscore ramda moment moment-timezone dayjs date-fns luxon axios jquery request got node-fetch superagent ky needle bluebird async rxjs"
    " redux redux-saga redux-thunk redux-toolkit mobx zustand recoil jotai valtio xstate immer immutable styled-components emotion stitches bootstrap tailwind tailwindcss"
    " material-ui mui antd chakra-ui bulma classnames clsx express fastify koa hapi nestjs mongoose sequelize typeorm knex mikro-orm drizzle-orm pg mysql2 chalk"
    " colors winston pino bunyan log4js uuid nanoid joi yup zod ajv superstruct valibot class-validator formik react-hook-form react-query swr apollo-client urql"
    " enzyme sinon chai supertest nock msw puppeteer selenium-webdriver faker cheerio jsdom socket.io ws dotenv commander yargs inquirer shelljs execa"
    " rimraf fs-extra glob body-parser passport jsonwebtoken bcrypt bcryptjs crypto-js helmet cors morgan multer sharp jimp three d3 chart.js highcharts echarts"
    " leaflet gsap framer-motion react-router vue-router vuex pinia ngrx angular svelte preact ember backbone handlebars mustache pug ejs left-pad is-odd"
    " react-icons lucide-react font-awesome i18next react-intl numeral accounting big.js bignumber.js decimal.js core-js babel-polyfill isomorphic-fetch whatwg-fetch"
    # Python
    " requests urllib3 urllib httpx aiohttp pandas numpy polars dask scipy flask django fastapi bottle tornado pyramid sqlalchemy peewee pony celery rq dramatiq huey"
    " attrs pydantic marshmallow cerberus voluptuous simplejson ujson orjson rapidjson pytz arrow pendulum python-dateutil dateutil pickle dill unittest mock nose threading"
    " multiprocessing subprocess optparse argparse click typer docopt fire loguru structlog boto boto3 psycopg2 psycopg asyncpg pymysql mysqlclient pymongo motor redis-py"
    " beautifulsoup bs4 beautifulsoup4 lxml scrapy selenium mechanize pillow opencv matplotlib seaborn plotly bokeh altair tensorflow keras pytorch torch sklearn scikit-learn"
    " nltk spacy factory-boy factory_boy hypothesis freezegun responses vcrpy python-dotenv pyyaml ruamel.yaml toml configparser jinja2 mako gevent eventlet twisted paramiko"
    " fabric invoke rich colorama termcolor tqdm six future distutils setuptools pkg_resources imp pycrypto pycryptodome tabulate xlrd openpyxl xlsxwriter dataclasses-json"
    # Go
    " logrus zap zerolog slog testify gomock gorm ent sqlx sqlc squirrel pgx lib/pq cobra viper urfave/cli gin echo fiber chi gorilla/mux mux httprouter ioutil"
    " pkg/errors go-kit wire fx resty ginkgo gomega"
    # Rust
    " tokio async-std smol anyhow thiserror eyre failure serde actix actix-web axum rocket warp hyper reqwest ureq diesel seaorm sea-orm chrono lazy_static once_cell"
    " clap structopt log4rs env_logger openssl rustls native-tls rayon crossbeam nom itertools"
    # Java, Kotlin and Scala
    " guava lombok log4j log4j2 logback slf4j joda-time joda jackson gson moshi fastjson commons-lang commons-lang3 commons-io mockito powermock easymock mockk hamcrest assertj junit4"
    " testng hibernate jooq mybatis querydsl spring-data jdbi okhttp retrofit volley feign resttemplate webclient rxjava vavr dagger2 guice koin hilt butterknife glide"
    " picasso coil ktor exposed kotlinx-datetime akka cats zio circe play-json mapstruct modelmapper"
    # C#
    " newtonsoft newtonsoft.json automapper moq nsubstitute fakeiteasy nunit xunit mstest serilog nlog log4net dapper entityframework autofac mediatr fluentassertions shouldly restsharp"
    " polly hangfire"
    # PHP and Ruby
    " guzzle monolog carbon doctrine eloquent laravel symfony twig smarty mockery pest phpseclib swiftmailer phpmailer httparty faraday typhoeus rest-client nokogiri devise"
    " sidekiq resque delayed_job activerecord sequel minitest factory_bot factorybot factory_girl fabrication capybara cancancan pundit paperclip carrierwave shrine kaminari"
    " will_paginate haml slim simple_form draper dry-validation oj timecop webmock pry"
    # Swift, Dart and Elixir
    " alamofire snapkit rxswift combine kingfisher sdwebimage swiftyjson realm coredata quick nimble cocoalumberjack getx bloc riverpod provider dio mobx hive"
    " poison httpoison tesla timex ecto ex_machina finch hackney jason"
    # C and C++
    " boost qt abseil glog gflags fmt spdlog nlohmann/json rapidjson gtest".split()
)
"""Names of libraries. A name that is also an ordinary word counts only where the rule is about libraries."""

TESTS = (
    "pytest", "npm test", "npm run test", "pnpm test", "pnpm run test", "yarn test", "yarn run test", "bun test", "make test", "make tests",
    "make check", "cargo test", "go test", "mvn test", "gradle test", "./gradlew test", "tox", "nox", "just test", "jest", "vitest", "mocha",
    "unittest", "rspec", "phpunit", "dotnet test", "mix test", "swift test", "rails test", "flutter test", "dart test", "sbt test", "bazel test", "deno test", "playwright test", "artisan test", "make unit", "ctest", "task test",
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
DEPLOYS = next(commands for pattern, commands in PHRASES if pattern.startswith("deploy"))
MIGRATES = next(commands for pattern, commands in PHRASES if "migrations?" in pattern)
FLASHES = (
    "make flash",
    "west flash",
    "st-flash write",
    "openocd",
    "nrfjprog --program",
    "probe-rs download",
    "probe-rs run",
    "esptool",
    "esptool.py",
    "idf.py flash",
    "avrdude",
    "dfu-util",
    "cargo flash",
    "cargo embed",
    "platformio run -t upload",
    "ninja flash",
    "JLinkExe",
)
RELEASES = (
    "gh release create",
    "npm version",
    "npm run release",
    "make release",
    "git tag",
    "goreleaser",
    "release-it",
    "changeset publish",
    "semantic-release",
)
ACTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"deploy\w*", (*DEPLOYS, "cap deploy", "kubectl apply", "helm upgrade", "terraform apply")),
    (r"migrat(?:e|es|ing|ions?)|migrier\w*|migrationen", MIGRATES),
    (r"flash(?:es|ed|ing|en|e|t)?|geflasht", FLASHES),
    (r"publish\w*|veröffentlich\w*", PUBLISHES),
    (r"releas(?:e|es|ing)|releases?", RELEASES),
    (r"build(?:s|ing)?|bauen|baust", (*BUILDS[1:], "docker build", "tsc", "vite build", "next build", "cmake --build", "ninja")),
)
"""Words for what is done to a project, with the commands that do it, for rules on what must come before."""
MANIFESTS_OF: Mapping[str, tuple[str, ...]] = {
    name: tuple(files.split())
    for names, files in (
        ("python pip", "requirements*.txt pyproject.toml setup.cfg setup.py Pipfile"),
        ("npm javascript typescript node js ts package.json frontend pnpm yarn", "package.json"),
        ("ruby gem gems gemfile rails", "Gemfile *.gemspec"),
        ("rust cargo crates", "Cargo.toml"),
        ("php composer", "composer.json"),
        ("terraform providers", "*.tf"),
        ("go go.mod", "go.mod"),
    )
    for name in names.split()
}
"""Files that list the dependencies of a language or package manager."""
_PYTHON_MANAGERS, _NODE_MANAGERS = frozenset("pip uv poetry pdm pipenv conda".split()), frozenset("npm pnpm yarn bun".split())
MANAGERS_OF: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("python", "pip"), _PYTHON_MANAGERS),
    **dict.fromkeys("npm javascript typescript node js ts package.json frontend pnpm yarn".split(), _NODE_MANAGERS),
    **dict.fromkeys("ruby gem gems gemfile rails".split(), frozenset({"gem", "bundle"})),
    **dict.fromkeys("rust cargo crates".split(), frozenset({"cargo"})),
    **dict.fromkeys(("php", "composer"), frozenset({"composer"})),
    "go": frozenset({"go"}),
    "go.mod": frozenset({"go"}),
}
"""Programs that install dependencies of a language."""
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"type[- ]?check\w*|typprüfung|types are checked|check(?:ing)? (?:the )?types|typen prüfen", TYPES),
    (r"lint\w*", LINTS),
    (r"format(?:ter|t|ting|ieren|iert|ierer)?\b|formatted", FORMATS),
    (r"(?:unit[- ]?|whole |full |all )?(?:tests?|specs?)(?:[- ]?suite)?\b|testing|getestet|testsuite", TESTS),
    (r"build(?:s|ing)?|bauen|gebaut", BUILDS),
    (r"pull(?:ing|ed)?\b|fetch(?:ing|ed)?\b", ("git pull", "git fetch")),
)
"""Phrases for steps required before another command, with the commands that perform each step."""

# Equivalent flags, by program and subcommand. A short flag may be part of a cluster ("-aS").
SAME_FLAGS: Mapping[tuple[str, str], tuple[frozenset[str], ...]] = {
    ("git", "push"): (frozenset({"--force", "-f"}), frozenset({"--delete", "-d"})),
    ("git", "commit"): (
        frozenset({"--gpg-sign", "-S"}), frozenset({"--signoff", "-s"}), frozenset({"--no-verify", "-n"}),
        frozenset({"--all", "-a"}),
    ),
    ("make", ""): (frozenset({"-k", "--keep-going"}), frozenset({"-j", "--jobs"}), frozenset({"-n", "--dry-run"}), frozenset({"-B", "--always-make"})),
    ("git", "clean"): (frozenset({"--force", "-f"}),),
    ("rm", ""): (frozenset({"--recursive", "-r", "-R"}), frozenset({"--force", "-f"})),
    ("kill", ""): (frozenset({"-9", "-KILL", "-SIGKILL"}),), ("pkill", ""): (frozenset({"-9", "-KILL", "-SIGKILL"}),),
    ("pytest", ""): (frozenset({"-x", "--exitfirst"}), frozenset({"-q", "--quiet"}), frozenset({"-v", "--verbose"}), frozenset({"-s", "--capture=no"})),
    ("rsync", ""): (frozenset({"-n", "--dry-run"}), frozenset({"-a", "--archive"})),
    ("git", "add"): (frozenset({"-A", "--all"}), frozenset({"-p", "--patch"}), frozenset({"-f", "--force"})),
    ("git", "rebase"): (frozenset({"-i", "--interactive"}),), ("git", "pull"): (frozenset({"-r", "--rebase"}),),
    ("git", "fetch"): (frozenset({"-p", "--prune"}),), ("git", "branch"): (frozenset({"-d", "--delete"}),),
    ("docker", "build"): (frozenset({"-t", "--tag"}), frozenset({"-f", "--file"})),
    ("docker", "run"): (frozenset({"-d", "--detach"}), frozenset({"-v", "--volume"}), frozenset({"-e", "--env"}), frozenset({"-p", "--publish"})),
    ("docker", "rm"): (frozenset({"-f", "--force"}),), ("docker-compose", ""): (frozenset({"-v", "--volumes"}), frozenset({"-d", "--detach"})), ("docker", "compose"): (frozenset({"-v", "--volumes"}), frozenset({"-d", "--detach"})),
    ("docker", "volume"): (frozenset({"-f", "--force"}),), ("helm", ""): (frozenset({"-n", "--namespace"}), frozenset({"-f", "--values"})),
    ("cargo", ""): (frozenset({"-r", "--release"}), frozenset({"-p", "--package"})), ("apt", ""): (frozenset({"-y", "--yes", "--assume-yes"}),),
    ("apt-get", ""): (frozenset({"-y", "--yes", "--assume-yes"}),), ("pip", "install"): (frozenset({"-U", "--upgrade"}), frozenset({"-r", "--requirement"})),
    ("prettier", ""): (frozenset({"-w", "--write"}), frozenset({"-c", "--check"})), ("black", ""): (frozenset({"-l", "--line-length"}),),
    ("jest", ""): (frozenset({"-i", "--runInBand"}), frozenset({"-u", "--updateSnapshot"})), ("vitest", ""): (frozenset({"-u", "--update"}),),
    ("wget", ""): (frozenset({"-q", "--quiet"}),),
    ("psql", ""): (frozenset({"-h", "--host"}), frozenset({"-d", "--dbname"}), frozenset({"-U", "--username"})), ("mysql", ""): (frozenset({"-u", "--user"}),),
    ("chmod", ""): (frozenset({"--recursive", "-R"}),),
    ("kubectl", ""): (frozenset({"--namespace", "-n"}),),
    ("npm", "install"): (frozenset({"--global", "-g"}), frozenset({"--save-dev", "-D"}), frozenset({"--save-exact", "-E"}), frozenset({"--force", "-f"})),
    ("npm", "i"): (frozenset({"--global", "-g"}), frozenset({"--save-dev", "-D"}), frozenset({"--save-exact", "-E"}), frozenset({"--force", "-f"})),
    ("curl", ""): (frozenset({"--location", "-L"}), frozenset({"--insecure", "-k"}), frozenset({"--fail", "-f"}), frozenset({"--silent", "-s"})),
    ("pre-commit", "run"): (frozenset({"-a", "--all-files"}),),
    ("gh", "pr"): (frozenset({"-B", "--base"}), frozenset({"-d", "--draft"}), frozenset({"-s", "--squash"})),
    ("git", "merge"): (frozenset({"-s", "--strategy"}), frozenset({"-X", "--strategy-option"})),
    ("git", "stash"): (frozenset({"-u", "--include-untracked"}), frozenset({"-a", "--all"})),
    ("sed", ""): (frozenset({"-i", "--in-place"}), frozenset({"-E", "-r", "--regexp-extended"}), frozenset({"-n", "--quiet"})),
    ("npx", ""): (frozenset({"-y", "--yes"}),), ("rubocop", ""): (frozenset({"-A", "--autocorrect-all"}), frozenset({"-a", "--autocorrect"})),
    ("docker", "exec"): (frozenset({"-i", "--interactive"}), frozenset({"-t", "--tty"})),
    ("kubectl", "exec"): (frozenset({"-i", "--stdin"}), frozenset({"-t", "--tty"})),
    ("pnpm", "install"): (frozenset({"-f", "--force"}), frozenset({"-P", "--prod"})), ("pnpm", "i"): (frozenset({"-f", "--force"}),),
    ("git", "checkout"): (frozenset({"-f", "--force"}),), ("git", "switch"): (frozenset({"-f", "--force", "--discard-changes"}),),
    ("docker", "rmi"): (frozenset({"-f", "--force"}),), ("docker", "image"): (frozenset({"-a", "--all"}), frozenset({"-f", "--force"})),
    ("pnpm", "add"): (frozenset({"-D", "--save-dev"}), frozenset({"-E", "--save-exact"}), frozenset({"-g", "--global"}), frozenset({"-w", "--workspace-root"})),
    ("yarn", "add"): (frozenset({"-D", "--dev"}), frozenset({"-E", "--exact"})), ("bun", "add"): (frozenset({"-d", "--dev"}),),
    ("tar", ""): (frozenset({"-z", "--gzip"}),), ("grep", ""): (frozenset({"-r", "--recursive"}), frozenset({"-i", "--ignore-case"})),
    ("cp", ""): (frozenset({"-r", "-R", "--recursive"}), frozenset({"-f", "--force"})), ("mv", ""): (frozenset({"-f", "--force"}),),
    ("ruff", ""): (frozenset({"-q", "--quiet"}),), ("mvn", ""): (frozenset({"-q", "--quiet"}), frozenset({"-o", "--offline"})),
    ("gradle", ""): (frozenset({"-x", "--exclude-task"}),), ("go", "test"): (frozenset({"-v", "-test.v"}),),
    ("composer", ""): (frozenset({"-n", "--no-interaction"}),), ("terraform", "apply"): (frozenset({"-auto-approve", "--auto-approve"}),),
    ("terraform", "destroy"): (frozenset({"-auto-approve", "--auto-approve"}),),
    ("docker", "system"): (frozenset({"--all", "-a"}), frozenset({"--force", "-f"})),
}  # fmt: skip

TEST_FILES = ("*.test.*", "*.spec.*", "test_*.py", "*_test.py", "*_test.go", "*Test.java", "*_spec.rb", "*Test.kt", "*Test.php")
IMAGES = ("*.png", "*.jpg", "*.jpeg", "*.gif", "*.webp", "*.svg", "*.ico", "*.avif", "*.bmp")
WHOLE_TREES = frozenset("src app lib packages pkg internal cmd apps services source".split())
"""Folders with most of a project's code."""

FILE_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?:unit |integration )?tests?(?: (?:files?|cases?|code))?|testdateien|specs?(?: files?)?", TEST_FILES),
    (r"(?:e2e|end-to-end)[- ]?(?:tests?|specs?)", ("*.e2e.*", "*.e2e-spec.*", "*.cy.*", "*.spec.*", "test_e2e*")),
    (r"(?:markdown|md)(?:[- ]?(?:files?|dateien|docs?))?|\*?\.md(?: files?)?|docs?|doku(?: ?-?dateien)?|documentation|dokumentation|dokumente|documents?|reports?(?: (?:and|or|,) (?:plans?|summaries|notes))?|plans?|summar(?:y|ies)|berichte|analys[ei]s|notes|notizen|(?:design )?docs?|guides?", ("*.md",)),
    (r"(?:shell |bash )?scripts?|(?:shell-?)?skripte?n?|\*?\.sh(?: files?)?", ("*.sh", "*.bash")),
    (r"python[- ]?(?:scripts?|skripte?)", ("*.py",)),
    (r"migrations?(?: files?)?|migrationen|migration scripts?", ("[0-9]*_*.sql", "V[0-9]*__*.sql", "*migration*", "[0-9]*_*.py", "[0-9]*_*.rb", "[0-9]*_*.php", "[0-9]*_*.js", "[0-9]*_*.ts", "[0-9]*_*.exs")),
    (r"sql[- ]?(?:migrations?|files?|scripts?|dateien|quer(?:y|ies))|\*?\.sql(?: files?)?", ("*.sql",)),
    (r"stor(?:y|ies)(?: files?)?|storybook (?:stories|files?)|\*?\.stories\.\*", ("*.stories.*",)),
    (r"style ?sheets?|(?:s?css|less|sass|styles?)(?:[- ]?(?:files?|dateien|modules?))?|styles|\*?\.css", ("*.css", "*.scss", "*.less", "*.sass")),
    (r"images?(?: (?:files?|assets?))?|bilder|bilddateien|pngs?|pictures?|screenshots?|logos?|grafiken|photos?|(?:static )?assets?|media(?: files?)?", IMAGES),
    (r"icons?|svgs?|svg (?:files?|icons?)|\*?\.svg", ("*.svg", "*.ico")),
    (r"fonts?(?: files?)?|schriften|schriftarten|web ?fonts?", ("*.woff", "*.woff2", "*.ttf", "*.otf", "*.eot")),
    (r"mocks?(?: files?)?", ("*.mock.*", "*mock*.*", "*Mock*.*")),
    (r"fixtures?(?: files?)?|test ?data|testdaten", ("*fixture*.*", "*.fixture.*")),
    (r"(?:type ?script )?(?:types?|interfaces?|type definitions?|typings?)(?: files?)?", ("*.d.ts", "*.types.ts", "types.ts", "*.type.ts", "*.interface.ts")),
    (r"hooks?", ("use[A-Z]*.ts", "use[A-Z]*.tsx", "use[A-Z]*.js", "use[A-Z]*.jsx", "use-*.ts", "use-*.tsx")),
    (r"components?|komponenten|react[- ]?komponenten|vue[- ]?komponenten", ("[A-Z]*.tsx", "[A-Z]*.jsx", "[A-Z]*.vue", "[A-Z]*.svelte", "*.component.ts")),
    (r"docker ?files?", ("Dockerfile", "Dockerfile.*", "*.dockerfile", "*.Dockerfile")),
    (r"(?:docker[- ])?compose files?", ("docker-compose*.y*ml", "compose*.y*ml")),
    (r"proto(?:buf|s)?(?: (?:files?|definitions?))?|\*?\.proto(?: files?)?", ("*.proto",)),
    (r"graphql(?: (?:files?|quer(?:y|ies)|schemas?|fragments?|operations?))?", ("*.graphql", "*.gql")),
    (r"(?:jupyter )?notebooks?|\*?\.ipynb(?: files?)?", ("*.ipynb",)),
    (r"csvs?(?: files?)?|data ?(?:files?|sets?|dumps?)|datendateien|csv-dateien|\*?\.csv", ("*.csv", "*.tsv", "*.parquet", "*.xlsx", "*.jsonl")),
    (r"(?:sql|db|database|datenbank)[- ]?dumps?|dumps?", ("*.dump", "*dump*.sql", "*.sql.gz", "*.bak")),
    (r"diagrams?|diagramme", ("*.drawio", "*.puml", "*.plantuml", "*.mmd", "*.mermaid", "*.dot", "*.excalidraw")),
    (r"(?:translation|locale|language|i18n)s?(?: (?:files?|strings?|jsons?))?|translations?|übersetzungen|sprachdateien", ("en.json", "de.json", "fr.json", "es.json", "??.json", "??-??.json", "??.yml", "*.po", "messages.*.json", "*.arb", "*.xlf")),
    (r"(?:html |email |mail )?templates?|vorlagen", ("*.html", "*.j2", "*.jinja", "*.jinja2", "*.twig", "*.erb", "*.hbs", "*.ejs", "*.mjml", "*.tmpl", "*.blade.php")),
    (r"models?(?: classes)?", ("*Model.*", "*_model.*", "*.model.*", "models.py")),
    (r"(?:api )?routes?(?: files?)?|(?:api )?endpoints?", ("*route.*", "*routes.*", "*Route.*", "*Routes.*", "*_route*.*", "*.route*.*")),
    (r"env(?:ironment)? files?|\.env files?", (".env", ".env.*", "*.env")),
    (r"videos?", ("*.mp4", "*.mov", "*.webm", "*.avi", "*.mkv")),
    (r"util(?:s|ity|ities)? files?|helper files?|util(?:s|ity)? (?:or|and|/) helper files?", ("*util*.*", "*helper*.*", "*Util*.*", "*Helper*.*")),
    (r"controllers?", ("*Controller.*", "*_controller.*", "*.controller.*")),
    (r"services?(?: classes)?", ("*Service.*", "*_service.*", "*.service.*")),
    (r"repositor(?:y|ies)(?: classes)?", ("*Repository.*", "*_repository.*", "*.repository.*")),
    (r"middlewares?", ("*Middleware.*", "*middleware.*", "*_middleware.*")),
    (r"serializers?", ("*Serializer.*", "*_serializer.*", "serializers.py")),
    (r"adrs?|(?:architecture )?decision records?", ("[0-9][0-9]*-*.md", "adr-*.md", "ADR-*.md", "adr_*.md")),
    (r"logs?(?: files?)?|logdateien|\*?\.log(?: files?)?", ("*.log",)),
    (r"terraform(?: (?:files?|code|modules?))?|\*?\.tf(?: files?)?", ("*.tf",)),
    (r"(?:k8s|kubernetes) (?:manifests?|files?|yamls?)|manifests?", ("*.yaml", "*.yml")),
    (r"(?:react |vue |next )?pages?", ("*Page.*", "*.page.*", "*-page.*", "*_page.*")),
    (r"rake (?:tasks?|files?)", ("*.rake",)),
    (r"(?:background )?jobs?(?: classes)?", ("*_job.*", "*Job.*", "*.job.*")),
    (r"mailers?", ("*_mailer.*", "*Mailer.*")),
    (r"polic(?:y|ies)", ("*_policy.*", "*Policy.*")),
    (r"stores?", ("*.store.*", "*Store.*", "*_store.*")),
    (r"factor(?:y|ies)", ("*_factory.*", "*.factory.*", "*Factory.*")),
    (r"resolvers?", ("*.resolver.*", "*Resolver.*", "*_resolver.*")),
    (r"helm (?:charts?|values(?: files?)?)", ("Chart.yaml", "values*.yaml")),
    (r"(?:github |ci )?workflows?(?: files?)?", ("*.yml", "*.yaml")),
    (r"(?:ya?ml)(?: files?|-dateien)?|\*?\.ya?ml(?: files?)?", ("*.yml", "*.yaml")),
    (r"json(?: (?:files?|schemas?))?|json-dateien|\*?\.json(?: files?)?", ("*.json",)),
    (r"pdfs?(?: files?)?|\*?\.pdf", ("*.pdf",)),
    (r"headers?(?: files?)?|header-?dateien|\*?\.h(?:pp)?(?: files?)?", ("*.h", "*.hpp", "*.hh", "*.hxx")),
    (r"(?:c\+\+|cpp)(?: source)? files?|\*?\.cpp(?: files?)?|(?:files|dateien) c\+\+", ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh")),
    (r"(?:request |http |api )?handlers?", ("*handler.*", "*handlers.*", "*Handler.*", "*_handler.*")),
    (r"(?:word|office|docx?)(?: files?| documents?)|\*?\.docx?(?: files?)?", ("*.docx", "*.doc")),
    (r"(?:rb|ruby) files?|\*?\.rb(?: files?)?", ("*.rb",)),
    (r"(?:rust|rs) files?|\*?\.rs(?: files?)?", ("*.rs",)),
    (r"source files?|file ?names?|dateinamen", CODE_FILES),
    (r"python (?:files?|modules?|file ?names?)|\*?\.py(?: files?)?", ("*.py",)),
    (r"(?:typescript|ts|javascript|js) (?:files?|modules?|file ?names?)|\*?\.tsx?(?: files?)?", ("*.ts", "*.tsx", "*.js", "*.jsx")),
    (r"go (?:files?|packages?)|\*?\.go(?: files?)?", ("*.go",)),
    (r"benchmarks?(?: files?)?", ("*bench*.*", "*.bench.*", "*_bench.*")),
    (r"(?:temp(?:orary)?|scratch|throwaway|tmp)[- ](?:files?|scripts?|stuff)|(?:temporäre|temp)[- ]?dateien", ("tmp*", "temp*", "scratch*", "*.tmp", "debug*", "test_script*", "*_tmp.*", "*.bak", "*.orig")),
)  # fmt: skip
"""Kinds of files as rules name them, each with the patterns of its files."""
FILE_KINDS_OF_SCRIPTS = ("*.sh", "*.bash")

NATURAL_LANGUAGES: Mapping[str, str] = {
    name: english
    for english, names in {
        "english": "english englisch englische englischen englischer anglais anglaise anglaises inglés ingles inglese inglês engels angielsku engelska engelsk английском английски ingilizce",
        "german": "german deutsch deutsche deutschen deutscher allemand alemán aleman tedesco alemão duits niemiecku tyska tysk немецком almanca",
        "french": "french französisch französische français francais francés frances francese francês frans francusku franska fransk французском fransızca",
        "spanish": "spanish spanisch spanische espagnol español espanol spagnolo espanhol spaans hiszpańsku spanska spansk испанском",
        "italian": "italian italienisch italien italiano italiaans włosku italienska",
        "portuguese": "portuguese portugiesisch portugais portugués português portugues portoghese portugees",
        "dutch": "dutch niederländisch néerlandais holandés nederlands olandese",
        "polish": "polish polnisch polonais polaco polsku polacco polska",
        "russian": "russian russisch russe ruso russo русском rosyjsku ryska",
        "japanese": "japanese japanisch japonais japonés giapponese japonês japans японском", "chinese": "chinese chinesisch chinois chino cinese chinês mandarin китайском",
        "korean": "korean koreanisch coréen coreano",
        "swedish": "swedish schwedisch svenska suédois sueco svedese", "danish": "danish dänisch dansk danois danés", "norwegian": "norwegian norwegisch norsk norvégien noruego",
        "turkish": "turkish türkisch türkçe turc turco", "czech": "czech tschechisch česky tchèque checo", "finnish": "finnish finnisch suomeksi finnois",
        "ukrainian": "ukrainian ukrainisch українською",
    }.items()
    for name in names.split()
}  # fmt: skip
"""Names of natural languages in several languages, each with its English name."""
