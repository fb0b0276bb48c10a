"""Rules of a monorepo with TypeScript, Rails, Go, Terraform and Docker: calls that violate them, and look-alikes.

test_wordings.py judges the tables.
"""

from __future__ import annotations

import pytest

from memoryd.guard.code import count_imports
from memoryd.guard.compile import compile_rule
from memoryd.guard.shell import parse_shell
from tests.costs import assert_linear
from tests.memoryd.guard.wordings import violates

SHELL: dict[str, tuple[list[str], list[str]]] = {
    # tools that a package manager runs by name, and programs of one name at different paths
    "eslint without --fix please": (
        [
            "pnpm eslint --fix .",
            "yarn workspace web eslint --fix .",
            "npx eslint . --fix",
            "pnpm --filter web exec eslint --fix .",
        ],
        ["pnpm eslint .", "pnpm lint", "pnpm why eslint --fix"],
    ),
    "Don't format files in third_party/": (
        ["pnpm prettier --write third_party/a.ts", "yarn eslint --fix third_party"],
        ["pnpm prettier --check third_party", "pnpm prettier --write src/a.ts"],
    ),
    "always use bin/rails, never plain rails or bundle exec rails": (
        ["rails db:migrate", "cd services/store && bundle exec rails s"],
        ["bin/rails db:migrate", "./bin/rails s", "cd services/store && bin/rails s", "../store/bin/rails s"],
    ),
    "we run the app with bin/dev, not foreman": (["foreman start", "bundle exec foreman start"], ["bin/dev", "echo foreman"]),
    "Never run scripts/reset.sh.": (
        ["cd scripts && ./reset.sh", "bash scripts/reset.sh"],
        ["other/reset.sh", "cat scripts/reset.sh"],
    ),
    # flags
    "bundle install never with --without": (["bundle install --without test"], ["bundle install"]),
    "rebase never with --skip": (["git rebase --skip"], ["git rebase --continue"]),
    "-lock=false is off limits with terraform": (["terraform plan -lock=false"], ["terraform plan", "terraform plan -lock=true"]),
    "no --yes/-y on npx": (["npx -y a", "npx --yes a"], ["npx a"]),
    "every docker run needs --rm": (["docker run -it a"], ["docker run --rm -it a", "docker ps"]),
    "bitte nie docker run mit --network host starten": (
        ["docker run --network host a", "docker container run --network=host a"],
        ["docker run --network bridge a"],
    ),
    "Don't pass -p 1 to go test": (["go test -p 1 ./...", "go test -p=1 ./..."], ["go test -p 4 ./..."]),
    "no -D when deleting branches, only -d": (["git branch -D a"], ["git branch -d a"]),
    "never use --squash for merges": (["git merge --squash a", "gh pr merge --squash 1"], ["git merge a"]),
    "never pass -y to apt": (["apt-get install --yes a"], ["apt-get install a"]),
    "don't pass --ignore-scripts... we need them": (["pnpm install --ignore-scripts"], ["pnpm install"]),
    "pnpm add -w is not allowed, add to the workspace that needs it": (
        ["pnpm add --workspace-root a"],
        ["pnpm --filter web add a"],
    ),
    "never skip CI with [skip ci]": (["git commit -m 'a [skip ci]'"], ["git commit -m 'skip a'"]),
    # commands and their other forms
    "never run rails db:drop": (["bundle exec rake db:drop", "bin/rails db:drop"], ["rails db:migrate"]),
    "don't run db:seed": (["rails db:seed", "bin/rake db:seed"], ["rails db:migrate"]),
    "don't run docker compose down -v": (["docker-compose down --volumes"], ["docker-compose down"]),
    "terraform destroy is off limits": (
        ["terraform apply -destroy", "terraform destroy"],
        ["terraform plan -destroy", "terraform apply"],
    ),
    "never docker volume rm / prune": (["docker volume prune -f", "docker volume rm a"], ["docker volume ls"]),
    "git reset --hard is forbidden, and so is git clean": (["git reset --hard", "git clean -fd"], ["git reset HEAD a"]),
    "no prettier, biome formats": (["pnpm prettier --check ."], ["pnpm biome format"]),
    "never docker-compose, docker compose without the dash": (["docker-compose up"], ["docker compose up"]),
    "hands off git filter-branch and git filter-repo": (["git filter-branch -f", "git filter-repo --path a"], ["git log"]),
    "don't close PRs or issues": (["gh pr close 3", "gh issue close 3"], ["gh pr list"]),
    # dependencies
    "ask me before adding a dependency": (["pnpm add a", "go get a.b/c", "bundle add a"], ["pnpm install", "go mod tidy"]),
    "New npm packages only after I've approved them.": (["pnpm add a"], ["pnpm install", "bundle add a"]),
    "every new gem has to go through me first": (["bundle add a"], ["bundle install", "pnpm add a"]),
    "Go code sticks to the standard library, no third-party modules.": (["go get a.b/c"], ["go build ./...", "pnpm add a"]),
    "no new runtime dependencies in packages/core": (
        [
            "pnpm --filter core add a",
            "cd packages/core && pnpm add a",
            "pnpm --filter @shop/core add a",
            "pnpm -C packages/core add a",
        ],
        ["cd apps/web && pnpm add a", "pnpm --filter web add a"],
    ),
    "N'ajoute jamais de dépendance sans me demander.": (["pnpm add a"], ["pnpm install"]),
    "不要添加新的依赖": (["pnpm add a"], ["pnpm install"]),
    "Новые гемы только через меня.": (["bundle add a"], ["bundle install"]),
    "never upgrade react, we're pinned to 18": (
        ["pnpm up react", "pnpm add react@19", "npm i react@latest"],
        ["pnpm up a", "pnpm add react"],
    ),
    "Don't bump rails past 7.1.": (["bundle update rails"], ["bundle update puma", "rails s"]),
    "lodash doesn't get in here, native methods are enough": (["pnpm add lodash"], ["pnpm add ramda"]),
    "keep express out, we're on fastify": (["pnpm add express"], ["pnpm add fastify"]),
    # one package of a monorepo
    "inside apps/admin we don't use redux": (
        ["cd apps/admin && pnpm add redux", "pnpm --filter admin add redux", "yarn workspace @shop/admin add redux"],
        ["pnpm --filter web add redux", "cd apps/web && pnpm add redux"],
    ),
    "apps/mobile uses yarn, not pnpm": (["cd apps/mobile && pnpm i"], ["cd apps/web && pnpm i", "cd apps/mobile && yarn"]),
    "Im Ordner services/store wird nie bundle update ausgeführt.": (
        ["cd services/store && bundle update"],
        ["cd services/other && bundle update", "cd services/store && bundle install"],
    ),
    # steps
    "Never run bin/deploy staging unless bin/check ran first.": (
        ["bin/deploy staging", "bin/deploy staging && bin/check"],
        ["bin/check && bin/deploy staging", "./bin/check && ./bin/deploy staging -v", "bin/deploy --help"],
    ),
    "we don't build the ledger docker image without a go vet ./... first": (
        ["docker build -t ledger .", "docker buildx build -f services/ledger/Dockerfile ."],
        ["go vet ./... && docker build -t ledger .", "docker build -t web .", "docker image ls"],
    ),
    "never push without running the specs first": (["git push"], ["bundle exec rspec && git push"]),
    "never publish a package before pnpm build": (["pnpm publish"], ["pnpm build && pnpm publish"]),
    # files
    "no utils files please, no utils.ts, no helpers.ts, name the file after what it does": (
        ["touch src/utils.ts", "git mv src/a.ts src/helpers.ts"],
        ["touch src/date-utils.ts", "sed -i s/a/b/ src/money.ts"],
    ),
    "utils.go is forbidden as a file name": (["touch a/utils.go"], ["touch a/money.go"]),
    "no god files: nothing called helpers.rb": (["touch lib/helpers.rb"], ["touch lib/date_helpers.rb"]),
    "no package-lock.json please, we're on pnpm": (["touch package-lock.json"], ["rm package-lock.json", "touch package.json"]),
    "yarn.lock has no business in this repo": (["touch yarn.lock"], ["rm yarn.lock"]),
    "Never create .env files.": (["touch web/.env.local", "touch .env"], ["cat .env", "touch env.ts"]),
    "types go in types.ts, don't create .d.ts files": (["touch a.d.ts"], ["touch types.ts"]),
    "Neue Doku-Dateien kommen immer nach docs/, nie ins Wurzelverzeichnis.": (
        ["touch a.md"],
        ["touch docs/a.md", "touch tsconfig.json"],
    ),
    "Keine neuen Dateien direkt unter src/, immer in einen Unterordner.": (["touch src/a.ts"], ["touch src/a/b.ts"]),
    "All Terraform lives under infra/, no .tf anywhere else.": (["touch web/a.tf"], ["touch infra/a/b.tf"]),
    "specs belong under spec/, not next to the models": (["touch app/models/a_spec.rb"], ["touch services/store/spec/a_spec.rb"]),
    "Never put tests in a __tests__ folder, they live next to the code.": (
        ["touch web/__tests__/a.test.ts"],
        ["touch web/a.test.ts"],
    ),
    "stories sit beside the component, never in a stories/ folder": (
        ["touch ui/stories/A.stories.tsx"],
        ["touch ui/A.stories.tsx"],
    ),
    "dist/ is build output, don't edit": (["tee packages/core/dist/a.js"], ["cat dist/a.js", "tee src/dist.ts"]),
    "never touch the terraform state files": (["rm infra/terraform.tfstate"], ["terraform state list", "cat infra/main.tf"]),
    "Never change anything in config/credentials*": (
        ["tee config/credentials.yml.enc", "rm config/credentials/a.key"],
        ["tee config/a.yml"],
    ),
    "config/master.key must never be opened": (["cat config/master.key"], ["cat config/a.yml"]),
    ".npmrc stays as it is": (["echo a >> .npmrc"], ["cat .npmrc"]),
    "No toques los archivos .env, ni siquiera .env.example.": (
        ["sed -i s/a/b/ .env.example", "tee .env"],
        ["cat .env.example", "tee env.ts"],
    ),
    "Never resolve conflicts in pnpm-lock.yaml by hand, rerun pnpm install.": (
        ["sed -i s/a/b/ pnpm-lock.yaml"],
        ["pnpm install"],
    ),
    # branches
    "never create branches from main, always from develop": (["git checkout -b a main"], ["git checkout -b a develop"]),
    "never push to main or to any release branch": (["git push origin release/2", "git push origin main"], ["git push origin a"]),
    "only ever push to your feature branch": (["git push origin main"], ["git push origin feature/a", "git commit -m a"]),
    # messages
    "every commit subject starts with the ticket, like SHOP-123": (
        ["git commit -m 'feat: SHOP-12 a'", "git commit -m a"],
        ["git commit -m 'SHOP-12 a'", "git commit -m '[SHOP-12] a'"],
    ),
    "every commit needs a scope: feat(web): ...": (["git commit -m 'feat: a'"], ["git commit -m 'feat(web): a'"]),
    "every commit message ends with Refs: SHOP-<n>": (["git commit -m a"], ["git commit -m a -m 'Refs: SHOP-1'"]),
    "Never mention Claude in commit messages": (["git commit -m 'a by Claude'"], ["git commit -m 'docs: change CLAUDE.md'"]),
    # what surrounds a program in a sentence
    "no force installs with npm": (["npm install --force"], ["npm install", "npm ci"]),
    "no silent rm: rm -rf is banned": (["rm -rf a"], ["rm a"]),
    "Playwright is what we use for e2e, cypress is dead.": (["pnpm cypress open"], ["pnpm playwright test"]),
    "rails credentials:edit stays with me": (["bin/rails credentials:edit"], ["rails s"]),
    "never run tests in watch mode": (["pnpm vitest --watch", "vitest watch"], ["vitest run"]),
    "never run pnpm update, renovate does that": (["pnpm up zod"], ["pnpm install"]),
    "docker compose config must be run before docker compose up": (
        ["docker compose up"],
        ["docker compose config && docker compose up"],
    ),
    "before every rails db:migrate take a dump with bin/backup": (
        ["rails db:migrate"],
        ["bin/backup && rails db:migrate", "rails s"],
    ),
    "before you commit in apps/web run pnpm lint": (
        ["cd apps/web && git commit -m a"],
        ["git commit -m a", "cd apps/web && pnpm lint && git commit -m a"],
    ),
    "under apps/web commits need the prefix web:": (["cd apps/web && git commit -m a"], ["git commit -m a"]),
    "no rebasing of develop": ([], ["git rebase develop"]),
    "don't open PRs against main, develop is the base": (
        ["gh pr create -B main"],
        ["gh pr create --base develop", "gh pr create"],
    ),
    "新分支必须以 feature/ 或 fix/ 开头": (["git checkout -b a"], ["git checkout -b fix/a"]),
    # packages
    "don't add dependencies to the root package.json, put them in the package": (
        ["pnpm add -w a", "pnpm add --workspace-root a"],
        ["pnpm --filter web add a"],
    ),
    "dependencies are renovate's job: don't upgrade them": (["bundle update", "pnpm update"], ["pnpm install"]),
    "sentry is the only such package, never add bugsnag or rollbar": (
        ["bundle add rollbar", "pnpm add @bugsnag/js"],
        ["bundle add sentry"],
    ),
    "Never import from lodash, only from lodash-es.": (["pnpm add lodash"], ["pnpm add lodash-es"]),
    "N'installe aucun paquet npm sans mon accord": (["pnpm add a"], ["npm run build"]),
    "未经我同意不要安装新包": (["pnpm add a"], ["pnpm install"]),
    "不要升级 next": (["pnpm up next"], ["pnpm up a"]),
    # files
    "file names in packages/core are kebab-case": (
        ["touch packages/core/aB.ts"],
        ["touch packages/core/a-b.ts", "touch apps/aB.ts"],
    ),
    "文件名一律用 kebab-case": (["touch src/aB.ts"], ["touch src/a-b.ts"]),
    "don't put Go code in the root package, everything goes under internal/ or cmd/": (
        ["touch a.go"],
        ["touch internal/a.go", "touch cmd/a/main.go", "touch a.md"],
    ),
    "we never create a utils folder": (["mkdir src/utils", "touch src/utils/a.ts"], ["mkdir src/money"]),
    "new rake tasks go in lib/tasks": (["touch a.rake"], ["touch lib/tasks/a.rake"]),
    "never create markdown reports or summaries": (["touch SUMMARY.md"], ["touch a.ts"]),
    "apps/web/src/gen comes from buf, leave it": (["rm apps/web/src/gen/a.ts"], ["rm apps/web/src/a.ts"]),
    "sw.js is built by workbox, please don't patch it": (["sed -i s/a/b/ web/sw.js"], ["cat web/sw.js"]),
    "the terraform lock file is off limits": (["rm .terraform.lock.hcl"], ["rm pnpm-lock.yaml", "terraform init"]),
    "db/schema.rb darf nur von Rails geschrieben werden": (["tee db/schema.rb"], ["rails db:migrate"]),
}
EDITS: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str]]]] = {
    "packages/core must not import from apps/": (
        [
            ("packages/core/a.ts", "import { a } from '../../apps/web/a'"),
            ("packages/core/b/a.ts", "export { a } from '@shop/x'; require('../../../apps/x/y')"),
        ],
        [
            ("packages/core/a.ts", "import { a } from './icons/apps'"),
            ("packages/core/a.ts", "import { apps } from './a'"),
            ("apps/web/a.ts", "import { a } from '../../apps/api/a'"),
        ],
    ),
    "the code in packages/ui never imports from packages/api": (
        [("packages/ui/a.ts", "import { a } from '../api/a'"), ("packages/ui/b/a.ts", "import { a } from '@shop/api'")],
        [("packages/ui/a.ts", "import { a } from './api/a'"), ("packages/web/a.ts", "import { a } from '../api/a'")],
    ),
    "the ledger service must not import internal/legacy": (
        [("services/ledger/a.go", 'import "example.com/shop/internal/legacy"')],
        [("services/ledger/a.go", 'import "example.com/shop/internal/legacyx"')],
    ),
    "Please add nothing to the dependencies in package.json yourself.": (
        [("web/package.json", '"dependencies": {"zod": "3.0.0"}')],
        [("web/package.json", '"scripts": {"a": "b"}')],
    ),
    "Не пиши puts в Rails-коде, для этого есть Rails.logger.": (
        [("app/a.rb", "puts a")],
        [("app/a.rb", "# puts a"), ("app/a.rb", "Rails.logger.info a"), ("a.ts", "puts(a)")],
    ),
    "don't use Time.now in Rails, Time.current": ([("app/a.rb", "Time.now")], [("app/a.rb", "Time.current")]),
    "don't use Object.assign, spread instead": ([("a.ts", "Object.assign({}, a)")], [("a.ts", "({...a})")]),
    "please no default_scope in models": (
        [("services/store/app/models/a.rb", "default_scope { a }")],
        [("services/store/app/jobs/a.rb", "default_scope { a }")],
    ),
    "Never use sleep in specs.": ([("spec/a_spec.rb", "sleep 2")], [("app/a.rb", "sleep 2")]),
    "Never use innerHTML": ([("a.ts", "a.innerHTML = b")], [("a.ts", "a.textContent = b // innerHTML")]),
    "never use `as any` or `@ts-ignore`": (
        [("a.ts", "const a = b as any"), ("a.ts", "// @ts-ignore")],
        [("a.ts", "const a = b as unknown"), ("a.ts", "// as any")],
    ),
    "No `any` casts, no eslint-disable comments": (
        [("a.ts", "const a: any = 1"), ("a.ts", "// eslint-disable-next-line")],
        [("a.ts", "const a = 'any'")],
    ),
    "we never disable rubocop inline": ([("a.rb", "a # rubocop:disable Style/A")], [("a.rb", "a # rubocop is right")]),
    "no //nolint in the Go code": ([("a.go", "a() //nolint:errcheck")], [("a.go", "a() // lint")]),
    "keine any-Typen in TypeScript": ([("a.ts", "let a: any")], [("a.ts", "let a: unknown")]),
    "we don't do `export *`": ([("a.ts", "export * from './a'")], [("a.ts", "export { a } from './a'")]),
    "no nested ternaries": ([("a.ts", "a ? b ? 1 : 2 : 3")], [("a.ts", "a ? 1 : 2"), ("a.ts", "a?.b ?? c ? 1 : 2")]),
    "no local-exec provisioners in Terraform": ([("a.tf", 'provisioner "local-exec" {')], [("a.tf", "# local-exec")]),
    "Money columns are integer cents, never decimal or float": (
        [("db/migrate/1_a.rb", "t.float :price")],
        [("db/migrate/1_a.rb", "t.integer :price"), ("db/migrate/1_a.rb", "t.float :height")],
    ),
    "services/ledger: no fmt.Println, only slog": (
        [("services/ledger/a.go", "fmt.Println(a)")],
        [("services/web/a.go", "fmt.Println(a)"), ("services/ledger/a.go", "slog.Info(a)")],
    ),
    "console.log is fine in scripts/ but not in apps/": ([("apps/a.ts", "console.log(1)")], [("scripts/a.ts", "console.log(1)")]),
    "packages/core 里禁止使用 console.log": ([("packages/core/a.ts", "console.log(1)")], [("apps/a.ts", "console.log(1)")]),
    "dans packages/ui, jamais d'import depuis apps/": (
        [("packages/ui/a.ts", "import { a } from '../../apps/web/a'")],
        [("packages/ui/a.ts", "import { a } from './a'")],
    ),
    "log.Print* and fmt.Print* are off limits in Go": (
        [("a.go", "fmt.Println(a)"), ("a.go", 'log.Printf("a")')],
        [("a.go", 'fmt.Sprint("a")'), ("a.go", "// fmt.Print")],
    ),
    "in migrations no drop_table and no remove_column": (
        [("services/store/db/migrate/1_a.rb", "drop_table :a")],
        [("db/migrate/1_a.rb", "add_column :a, :b, :string"), ("lib/a.rb", "drop_table :a")],
    ),
    "no find_by_sql, no connection.execute": (
        [("a.rb", "A.find_by_sql('a')"), ("a.rb", "A.connection.execute('a')")],
        [("a.rb", "A.where(a: 1)")],
    ),
    "Dockerfile: never ADD, always COPY": ([("Dockerfile", "ADD a b")], [("Dockerfile", "COPY a b"), ("a.md", "ADD a b")]),
    "No 0.0.0.0/0 in security groups": ([("a.tf", 'cidr = ["0.0.0.0/0"]')], [("a.tf", 'cidr = ["10.0.0.0/8"]')]),
    "apps/web is server components only, never write 'use client' there": (
        [("apps/web/a.tsx", "'use client'")],
        [("apps/admin/a.tsx", "'use client'"), ("apps/web/a.tsx", "// use client")],
    ),
    "no `as unknown as` double casts": ([("a.ts", "a as unknown as B")], [("a.ts", "a as unknown")]),
    "never use `count` in terraform, for_each is what we use": (
        [("a.tf", "count = 2")],
        [("a.tf", "for_each = a"), ("a.ts", "count = 2")],
    ),
    "Please keep package.json free of caret ranges": ([("package.json", '"a": "^1.0.0"')], [("package.json", '"a": "1.0.0"')]),
}


@pytest.mark.parametrize("rule", ["new Rake files never go in the root", "keine Compose-Dateien ins Wurzelverzeichnis"])
def test_a_rule_on_files_of_an_unknown_kind_touches_no_others(rule: str) -> None:
    check = compile_rule(rule)
    assert check is None or not violates(check, "Write", {"file_path": "/r/tsconfig.json", "content": "{}"})


@pytest.mark.parametrize(
    "rule",
    [
        "never add complexity",
        "don't add features I didn't ask for",
        "commit messages never contain issue links",
        "component folders are PascalCase",
        "run shellcheck before you commit a script",
        "don't bump into the deadline",
        "no crontab edits",
    ],
)
def test_a_sentence_that_no_call_can_decide_gives_no_check(rule: str) -> None:
    assert compile_rule(rule) is None


def test_a_script_of_sed_that_inserts_a_path_is_read_as_an_insertion() -> None:
    check = compile_rule("packages/ui must not import from apps/")
    assert check is not None
    line = "sed -i \"1i import { a } from '../../../apps/web/src/a';\" packages/ui/src/a.ts"
    assert violates(check, "Bash", {"command": line})


def test_only_tools_are_run_by_the_short_form_of_a_package_manager() -> None:
    assert [command.program for command in parse_shell("pnpm -r eslint .")] == ["pnpm", "eslint"]
    assert [command.program for command in parse_shell("pnpm rm eslint && pnpm build")] == ["pnpm", "pnpm"]


def test_imports_from_folders_are_counted_in_linear_time() -> None:
    assert_linear(lambda text: count_imports(text, "apps/", "packages/a/b.ts"), "import a from '../", 5_000)
    assert_linear(lambda text: count_imports(text, "packages/api", "packages/a/b.ts"), "import '../api'\n", 5_000)
