from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoryd.embed.onnx import OnnxEmbedder
from memoryd.language import CONFLICTS, RULES, Assertion, Comparer, Comparison, Relation, relate
from memoryd.language.classifier import load_reader
from memoryd.language.compare import reading, relates_otherwise
from memoryd.language.comparer import reads_the_same, stated_within_a_day, weighed
from memoryd.language.reading import read_memory
from memoryd.service import comparer_for


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The staging database listens on port 5432.", "No, the staging database is on port 5544, not on 5432."),
        ("Deploys happen on Fridays.", "No, deploys happen on Tuesdays, not on Fridays."),
        ("Logs are written to the console.", "Nope, logs are written to a file, not to the console."),
    ],
)
def test_a_denial_with_the_right_value_corrects_the_wrong_one(known: str, new: str) -> None:
    assert relate(known, new) is Relation.REPLACES
    assert relate(new, known) is not Relation.SAME


def test_a_denied_rule_is_still_a_prohibition() -> None:
    assert relate("Push to main.", "No, do not push to main.") is Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The search service runs on OpenSearch.", "The search service runs on TypeSense instead of OpenSearch."),
        ("The queue is written with BullMQ.", "The queue is written with pgBoss, not BullMQ."),
        ("We read userIdKey from the session.", "We read accountIdKey from the session instead of userIdKey."),
        ("Models are served by TorchServe.", "No longer TorchServe: models are served by vLLM."),
    ],
)
def test_names_of_mixed_case_are_compared_whole(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES
    assert relate(old, old.upper()) is Relation.SAME


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use Celery for background work.", "Let's drop Celery, from now on we use Dramatiq for background work."),
        ("The docs are built with Sphinx.", "We switched the docs from Sphinx to MkDocs."),
        ("The test mail server is on port 1025.", "The test mail server is on port 2525 now, not 1025 any more."),
        ("Die Tests laufen mit Jest.", "Die Tests laufen jetzt mit Vitest statt Jest."),
        ("Das Archiv liegt auf Server alpha7.", "Das Archiv liegt nicht mehr auf alpha7, sondern auf beta9."),
        ("Les tests tournent avec Mocha.", "On est passé de Mocha à Vitest pour les tests."),
        ("Usamos Travis para la integración.", "Ya no usamos Travis para la integración, ahora es Buildkite."),
        ("O site é feito com Webpack.", "Não usamos mais Webpack no site, agora é Vite."),
        ("Для очередей используем RabbitMQ.", "Для очередей теперь используем Kafka вместо RabbitMQ."),
        ("缓存使用 Memcached。", "缓存从 Memcached 换成了 Redis。"),
        ("テストはJestで実行する。", "テストはJestではなくVitestで実行する。"),
        ("배포는 Jenkins로 한다.", "배포는 이제 Jenkins 대신 Buildkite로 한다."),
    ],
)
def test_what_is_said_to_be_over_is_replaced_in_each_language(old: str, new: str) -> None:
    assert relate(old, new) is Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Unit tests run with Mocha.", "We no longer use Jest for unit tests."),
        ("Run all checks before a push.", "Run all checks before a push, except in CI."),
        ("We dropped support for Ruby 2.7.", "Ruby 2.7 is no longer supported."),
    ],
)
def test_an_exception_or_the_end_of_something_else_replaces_nothing(old: str, new: str) -> None:
    assert relate(old, new) is not Relation.REPLACES


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The root cause is the image cache.", "That was wrong. The root cause is the unbounded socket buffer."),
        ("Root cause of the stalls: the pool is too small.", "I was mistaken: the cause of the stalls is a leaked lock."),
        ("Die Ursache ist der Zeitzonenwechsel.", "Das war falsch. Die Ursache ist ein doppelter Aufruf."),
    ],
)
def test_an_explanation_that_is_taken_back_is_replaced(old: str, new: str) -> None:
    agent = Assertion(old, by_user=False), Assertion(new, by_user=False)
    assert Comparer().compare(*agent).relation is RULES.compare(*agent).relation is Relation.REPLACES
    assert RULES.compare(Assertion(old), Assertion(new, by_user=False)).relation is not Relation.REPLACES


OPPOSED = [
    ("The viewer is built with gcc on Linux and clang on macOS.", "The viewer is built with clang on Linux and gcc on macOS."),
    ("Strict mode is off in the compiler.", "Strict mode is on in the compiler since the refactor."),
    ("Tests are named case_check.", "Tests are named check_case."),
    ("The agent polls the hub.", "The agent never polls the hub."),
    ("Run every check before a push.", "Run every check before a push, except on branches of docs."),
    ("Exports keep 30 columns.", "Exports keep 40 columns."),
    ("Migrations run before the pods start.", "Migrations run after the pods start."),
]


@pytest.mark.parametrize(("old", "new"), OPPOSED)
@pytest.mark.parametrize("comparer", [RULES, Comparer()], ids=["rules", "trained"])
def test_what_tells_statements_apart_is_never_merged_away(comparer: Comparer, old: str, new: str) -> None:
    for first, second in ((old, new), (new, old)):
        for source in (True, False):
            assert (
                comparer.compare(Assertion(first, by_user=source), Assertion(second, by_user=source)).relation
                is not Relation.SAME
            )


RULES_OF_ONE_KIND = [
    "Always run `tox -q` before you push.",
    "Before pushing, always run tox -q.",
    "Run tox -q before each push, always.",
    "You must always run tox -q before pushing.",
    "Always run the command tox -q before pushing.",
]


@pytest.mark.parametrize("old", RULES_OF_ONE_KIND)
@pytest.mark.parametrize("new", RULES_OF_ONE_KIND)
def test_a_rule_in_other_words_is_the_same_rule(old: str, new: str) -> None:
    assert Comparer().compare(Assertion(old), Assertion(new)).relation is Relation.SAME


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always run otter3 first.", "Always run otter4 first."),
        ("Always run the formatter first.", "Always run the migrations first."),
        ("The export reads shard1 last.", "The export reads shard2 last."),
    ],
)
def test_other_names_in_the_same_place_are_other_rules(old: str, new: str) -> None:
    found = Comparer().compare(Assertion(old), Assertion(new))
    assert found.relation is Relation.DIFFERENT
    if "otter" in old or "shard" in old:
        assert not found.doubtful


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Run the linter before the tests.", "Run the tests before the linter."),
        ("The worker calls the billing gateway.", "The billing gateway calls the worker."),
        ("Copy images from the depot to the edge.", "Copy images from the edge to the depot."),
        ("The index was on the large disk.", "The index is on the large disk."),
        ("Never rename my branches.", "Never rename your branches."),
        ("The probe answers at address 0x1c.", "The probe answers at address 0x2f."),
        ("토큰은 20분 뒤에 만료된다.", "토큰은 3시간 뒤에 만료된다."),
    ],
)
def test_the_same_words_in_another_relation_are_not_merged(old: str, new: str) -> None:
    for comparer in (RULES, Comparer()):
        assert comparer.compare(Assertion(old), Assertion(new)).relation is not Relation.SAME


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tokens expire after half an hour.", "Tokens expire after 30 minutes."),
        ("Logs are kept for two weeks.", "Logs are kept for 14 days."),
        ("The queue holds 25,000 jobs.", "The queue holds 25000 jobs."),
        ("The batch starts at 5 pm.", "The batch starts at 17:00."),
        ("The batch starts at 3 a.m.", "The batch starts at 03:00."),
        ("The disk has 24 gigs.", "The disk has 24 GB."),
        ("Les copies restent trente jours.", "Les copies restent 30 jours."),
    ],
)
def test_one_quantity_has_one_value_however_it_is_written(one: str, other: str) -> None:
    assert read_memory(one).values == read_memory(other).values != ()


@pytest.fixture(scope="module")
def reader() -> Comparer:
    return comparer_for(OnnxEmbedder())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The invoices are printed by the small printer.", "It is the small printer that prints the invoices."),
        ("The importer stopped since its token had run out.", "An expired token made the importer stop."),
        ("keep the paragraphs short", "Paragraphs are to be kept brief."),
    ],
)
def test_a_paraphrase_with_few_words_in_common_is_the_same_when_both_are_read_together(
    reader: Comparer, old: str, new: str
) -> None:
    assert reader.compare(Assertion(old), Assertion(new)).relation is Relation.SAME


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("write the tutorials in Danish", "from now on the tutorials are in Norwegian"),
        ("the mirror is at port 8085", "you reach the mirror on port 9443 since Tuesday"),
        ("Release notes are written by Jana.", "The release notes come from a script."),
        ("Toujours écrire les commentaires en français.", "Désormais, écris toujours les commentaires en anglais."),
        ("앞으로는 항상 npm을 사용해.", "앞으로는 npm 대신 pnpm을 사용해."),
    ],
)
def test_another_answer_of_the_user_replaces_the_older_one_when_both_are_read_together(
    reader: Comparer, old: str, new: str
) -> None:
    assert reader.compare(Assertion(old), Assertion(new)).relation is Relation.REPLACES


def test_a_less_certain_replacement_without_a_word_of_change_is_put_before_the_user(reader: Comparer) -> None:
    found = reader.compare(Assertion("Photos are resized by the phone."), Assertion("Photos are resized on the server."))
    assert (found.relation, found.doubtful) == (Relation.CONTRADICTS, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The thumbnails are kept on the old NAS.", "The invoices were moved to the new NAS."),
        ("Invoices are archived for ten years.", "Delivery notes are now archived for two years."),
        ("The report server has 4 GB of memory.", "The mail server was upgraded from 4 GB to 8 GB of memory."),
        ("Backups run at 02:00.", "Backups are compressed with zstd now."),
        ("Deploys go through ./ship.sh on the jump host.", "The staging server is called otter-3."),
    ],
)
def test_a_change_of_another_thing_or_property_ends_no_statement_of_the_user(reader: Comparer, old: str, new: str) -> None:
    found = reader.compare(Assertion(old, by_user=True), Assertion(new, by_user=True))
    assert found.relation not in (Relation.SAME, Relation.REPLACES, Relation.CONTRADICTS)


def test_two_opposite_rules_of_one_day_dispute_each_other(reader: Comparer) -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    old = Assertion("Always indent with tabs.", by_user=True, at=noon)
    new = Assertion("Always indent with two spaces.", by_user=True, at=noon + timedelta(minutes=5))
    assert reader.compare(old, new).relation in (Relation.CONTRADICTS, Relation.REPLACES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always use single quotes in JS.", "Always use double quotes in JS."),
        ("Use kebab-case names for assets.", "Use snake_case names for assets."),
        ("From now on use the named exports.", "From now on use default exports."),
        ("Please use rebase when you update a branch.", "Please use merge when you update a branch."),
        ("Always use make for scripts.", "Always use just for scripts."),
        ("Always write docs in Markdown.", "Always write docs in AsciiDoc."),
        ("Write the changelog in present tense.", "Write the changelog in past tense."),
        ("Always run tests with pytest.", "Always run tests with nose2."),
        ("Always store files in S3.", "Always store files in GCS."),
        ("Always name booleans is_x.", "Always name booleans has_x."),
        ("Always use Node 20.", "Always use Node 22."),
        ("Always target ES2019.", "Always target ES2022."),
    ],
)
def test_of_rules_that_ask_for_different_things_of_one_kind_only_one_holds(reader: Comparer, old: str, new: str) -> None:
    assert reader.compare(Assertion(old), Assertion(new)).relation in (Relation.CONTRADICTS, Relation.REPLACES)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always use type hints in tests.", "Always use factories in tests."),
        ("Always use the frontend logger for errors.", "Always use the backend logger for errors."),
        ("Always add unit tests for parsers.", "Always add property tests for parsers."),
        ("Always run unit tests before a push.", "Always run lint before a push."),
        ("Always use ruff for linting.", "Always use mypy for types."),
        ("Always test the UI with Chrome.", "Always test the UI with Firefox."),
        ("Write docs in English.", "Write tests in English."),
        ("Use dark mode in the app.", "Use dark mode in the docs."),
        ("Always handle errors in the frontend.", "Always handle errors in the backend."),
        ("Never use single quotes in JS.", "Never use double quotes in JS."),
    ],
)
def test_rules_that_can_all_be_obeyed_stay_side_by_side(reader: Comparer, old: str, new: str) -> None:
    assert reader.compare(Assertion(old), Assertion(new)).relation is Relation.DIFFERENT


@pytest.mark.parametrize(("old", "new"), OPPOSED)
def test_reading_statements_together_merges_no_opposites(reader: Comparer, old: str, new: str) -> None:
    for first, second in ((old, new), (new, old)):
        for source in (True, False):
            found = reader.compare(Assertion(first, by_user=source), Assertion(second, by_user=source))
            assert found.relation is not Relation.SAME


CERTAIN = {relation: 0.0 for relation in Relation} | {Relation.SAME: 1.0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The feeder retries.", "The feeder does not retry."),
        ("The pool holds 8 links.", "The pool holds 9 links."),
        ("Ask Ruth about the payroll.", "Ask Viktor about the payroll."),
        ("Orders go from the shop to the depot.", "Orders go from the depot to the shop."),
        ("Warnings are errors.", "Warnings are errors, except in the examples."),
        ("The debug build is signed.", "The release build is signed."),
        ("The report is sent on Monday.", "The report is sent on Friday."),
    ],
)
def test_no_probability_outweighs_what_only_one_side_has(old: str, new: str) -> None:
    for first, second in ((Assertion(old), Assertion(new)), (Assertion(new), Assertion(old))):
        assert not reads_the_same(first, second, reading(first), reading(second), CERTAIN)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Only the steward opens the vault.", "Nobody but the steward opens the vault.", True),
        ("Leave the ledger alone.", "Never touch the ledger.", True),
        ("The steward opens the vault.", "The steward never opens the vault.", False),
    ],
)
def test_a_denial_in_other_words_needs_near_certainty(old: str, new: str, same: bool) -> None:
    a, b = Assertion(old), Assertion(new)
    likely = CERTAIN | {Relation.SAME: 0.8}
    assert reads_the_same(a, b, reading(a), reading(b), CERTAIN) is same
    assert not reads_the_same(a, b, reading(a), reading(b), likely)


@pytest.mark.parametrize(
    ("rule", "task"),
    [
        (
            "Remember how we print the atlas, after every later change: always run `python tools/atlas.py --edition heron`.",
            "Take moss out of plants.csv and print the atlas again with our usual command; it goes to the shop tonight.",
        ),
        (
            "Remember this format, it holds for every ticket in this project: a ticket always ends in a dot and a control digit.",
            "It is like the ticket of a bus in our ticket format, with `T-` before it.",
        ),
        ("Tests run with `pytest -n 4`, never with more workers.", "Run the tests again and list what fails."),
        ("Always deploy with `make ship`.", "Fix the footer and deploy it."),
    ],
)
def test_a_task_keeps_back_no_rule_that_it_relies_on(reader: Comparer, rule: str, task: str) -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    found = reader.compare(Assertion(rule, by_user=True, at=noon), Assertion(task, by_user=True, at=noon + timedelta(minutes=1)))
    assert found.relation is Relation.DIFFERENT


def test_two_findings_of_one_day_do_not_replace_each_other_without_a_word_of_change() -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    likely = {relation: 0.0 for relation in Relation} | {Relation.REPLACES: 0.9, Relation.DIFFERENT: 0.1}
    nothing = Comparison(Relation.DIFFERENT)
    assert weighed(load_reader(), nothing, likely, False, False).relation is Relation.REPLACES
    soon = weighed(load_reader(), nothing, likely, False, False, replaceable=False)
    assert soon.relation is Relation.CONTRADICTS
    assert soon.doubtful
    early, late = Assertion("a", at=noon), Assertion("b", at=noon + timedelta(hours=3))
    assert stated_within_a_day(early, late)
    assert not stated_within_a_day(early, Assertion("b"))
    assert not stated_within_a_day(early, Assertion("b", at=noon + timedelta(days=2)))


@pytest.mark.parametrize(
    ("old", "new"), [("Note three.", "Note four."), ("After the storm.", "Under the storm."), ("Blue pen.", "Red cup.")]
)
def test_fragments_neither_replace_nor_contradict_each_other(reader: Comparer, old: str, new: str) -> None:
    for source in (True, False):
        assert reader.compare(Assertion(old, by_user=source), Assertion(new, by_user=source)).relation is Relation.DIFFERENT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Purge the cache before a rollout.", "Warm the pool after a rollout."),
        ("Parcels from Oslo come in by rail.", "Parcels to Oslo leave by truck."),
    ],
)
def test_another_order_or_direction_with_words_of_its_own_is_not_a_replacement(old: str, new: str) -> None:
    first, second = Assertion(old), Assertion(new)
    assert relates_otherwise(first, second, reading(first), reading(second))


def test_values_agree_however_a_date_a_length_of_time_or_a_frequency_is_written() -> None:
    same = [
        ("on 4 March 2027", "on March 4, 2027", "on 2027-03-04"),
        ("for a minute and a half", "for 90 seconds"),
        ("for two years", "for 24 months", "zwei Jahre lang"),
        ("polls at 5 Hz", "polls every 0.2 s"),
        ("lasts a week", "lasts 7 days"),
    ]
    for spellings in same:
        assert len({read_memory(text).values for text in spellings}) == 1, spellings
    assert read_memory("on 4 March").values != read_memory("on 3 April").values
    assert read_memory("os logs dos clientes").values == ()


def test_an_address_is_no_other_value_of_a_quantity() -> None:
    old, new = Assertion("The gateway answers at 10.0.0.7."), Assertion("The gateway answers within 7 s.")
    assert RULES.compare(old, new).relation not in CONFLICTS


SHORT = (
    "Deploys go through Jenkins.",
    "The wiki is on Gitea.",
    "Uploads are scanned twice.",
    "Invoices are numbered per year.",
    "Reviews of the backend are done by Ana.",
)
CHANGES = (
    "We replaced Kong with Envoy as the API gateway.",
    "We migrated from npm to pnpm, use pnpm to install packages.",
    "Ya no usamos Redis para la caché, ahora usamos Valkey.",
    "前端不再用 Webpack，改用 Vite 打包。",
    "The job queue no longer runs on Redis, it runs on NATS now.",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends_nothing_that_is_about_something_else(reader: Comparer, change: str) -> None:
    for text in (*SHORT, *(other for other in CHANGES if other != change)):
        found = reader.compare(Assertion(text, by_user=True), Assertion(change, by_user=True))
        assert found.relation not in (Relation.REPLACES, Relation.CONTRADICTS, Relation.SAME), (text, found)


def test_a_change_ends_what_it_is_about(reader: Comparer) -> None:
    earlier = (
        "The API gateway is Kong.",
        "Use npm to install packages.",
        "Usamos Redis para la caché.",
        "前端用 Webpack 打包。",
        "The job queue runs on Redis.",
    )
    for old, new in zip(earlier, CHANGES, strict=True):
        assert reader.compare(Assertion(old, by_user=True), Assertion(new, by_user=True)).relation is Relation.REPLACES, old
