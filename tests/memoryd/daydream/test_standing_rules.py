"""Rules said in passing that tool calls can break become active, and orders of the moment about the same things don't."""

from __future__ import annotations

from random import Random

import pytest

from memoryd.core.checks import Check, CheckKind
from memoryd.daydream.offline.standing import may_be_standing, standing
from memoryd.guard.compile import compile_rule
from tests.costs import assert_linear
from tests.memoryd.daydream.talk import acts

PASSING = """\
Don't call yarn, use pnpm instead.
poetry instead of pip, please
Hände weg von vendor/.
Don't change anything under third_party/.
Kein debugger in src/.
No console.log in packages/web, use the logger.
Use structlog instead of print() in app/.
Before every push run make check.
Each commit subject carries its issue, e.g. OPS-12.
Commit messages start with a ticket such as OPS-12.
Commits bitte immer signieren, mit -S.
Nothing is committed to develop directly.
build/ is generated, don't edit it.
composer.lock is never edited by hand
Pakete nur mit poetry installieren, nie mit pip.
Don't look into the .env.production file.
no floats for prices, use Decimal
mocks with vitest, not with jest
don't import moment, we have date-fns
no curl, no wget
infra/live is read-only for you
`terraform destroy` is forbidden here
Neue Migrationen immer unter db/migrations anlegen, nie woanders.
utilise `task` au lieu de `make` partout
nunca edites a mano Gemfile.lock
"""
MOMENT = """\
in the gpu box conda env vision run python fit.py --stage all --rounds 200 --data sets/night
don't push, the pipeline is red
please don't commit, the diff is too big
don't run yarn install, the train has no network
don't touch src/cart.ts, Mia edits it
do not change tests/, fix the code
only change packages/api, nothing in packages/web
use pnpm instead of yarn for this one
use Decimal instead of float in the new class
use structlog instead of print() in report.py
try poetry instead of pip
no console.log in the final version please
before you commit, run make check
add a job that runs make check before every push
the installer must not call sudo
our script needs to sign every commit with -S
yarn is not installed, use pnpm
you used yarn instead of pnpm
pytest never finishes on my machine
the linter says no console.log allowed
someone edited yarn.lock by hand
no component imports lodash, right
use pnpm instead of yarn, yarn crashes
use uv instead of pip in the Dockerfile
run ruff --fix on all files in src/
stage all files in src/ but nothing in tests/
edit package.json by hand, yarn hangs
all prints in src/ must be replaced
no, don't use pip
why yarn instead of pnpm?
nicht pushen, die Pipeline ist rot
bitte nichts an src/cart.ts ändern
lass tests/ in Ruhe und repariere src/parser.py
kein yarn install, das dauert zu lange
le script ne doit pas appeler npm
no toques src/cart.ts
别推送，CI 还是红的
don't reboot the machine
don't delete the branches
don't switch to main, I have changes
don't run ./ship.sh
don't import it from lodash
install it with uv instead of pip
squash merge it
create no new file
use dayjs instead of moment in the invoice
eslint complains: Unexpected debugger, never use it
everything in legacy/ can go
all imports of moment must be replaced
"""


def test_a_checkable_rule_that_is_general_in_form_is_an_act_of_memory() -> None:
    missed = [text for text in PASSING.splitlines() if not any(compile_rule(act.text) for act in acts(text))]
    assert not missed, "\n".join(missed)


def test_an_order_of_the_moment_about_commands_and_files_is_none() -> None:
    wrong = [text for text in MOMENT.splitlines() if acts(text)]
    assert not wrong, "\n".join(wrong)


def test_a_rule_of_two_parts_stays_whole_if_the_second_refers_back() -> None:
    (act,) = acts("db/structure.sql gets written by rails db:migrate, never edit it yourself")
    assert "structure.sql" in act.text and compile_rule(act.text)


def test_a_ban_that_does_not_say_for_how_long_is_left_to_the_user() -> None:
    assert not acts("don't touch legacy/") and not acts("don't push") and not acts("don't run the deploy script")


@pytest.mark.parametrize("seed", range(5))
def test_the_form_of_long_texts_is_judged_in_linear_time(seed: int) -> None:
    words = "no don't never use the -x it instead of , . ; only every src/ `npm` must".split()
    unit = " ".join(Random(seed).choices(words, k=60)) + " "

    def judge(text: str) -> None:
        may_be_standing(text)
        standing(text, Check(CheckKind.COMMAND, words=("npm",)))

    assert_linear(judge, unit, 3_000)
