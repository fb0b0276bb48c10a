"""Statements that become active without confirmation, and those that never do, in sessions written for this test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.fit_acts import load
from memoryd.core.types import Kind, Passage, Polarity, Source, Status
from memoryd.daydream.offline import HeuristicExtractor
from memoryd.daydream.offline.acts import act_of
from memoryd.daydream.offline.reader import ActClassifier
from memoryd.daydream.offline.units import CueWeights
from memoryd.embed.onnx import OnnxEmbedder
from tests.memoryd.daydream.talk import active, acts, found, in_session, talk


def test_of_what_is_said_for_the_moment_nothing_becomes_active() -> None:
    wrong = [text for is_act, text in load() if not is_act and acts(text)]
    assert not wrong, "\n".join(wrong)


def test_nearly_all_that_is_said_for_good_becomes_active() -> None:
    said = [text for is_act, text in load() if is_act]
    missed = [text for text in said if not acts(text)]
    assert len(missed) <= 0.1 * len(said), "\n".join(missed)


def test_an_instruction_for_all_cases_needs_no_second_opinion() -> None:
    said = [
        "Always return early.",
        "always close the cursor",
        "Never restart the prod server without asking.",
        "nie auf main pushen",
        "Always keep the coverage above 80 %.",
    ]
    assert [text for text in said if not all(act.outright for act in acts(text)) or not acts(text)] == []
    shown = acts("Always show the newest entry first.")
    assert not any(act.outright for act in shown), "it may be a task"
    for text in ("never do this on a Friday haha", "Always the same with this", "always check the token, add that"):
        assert acts(text) == []


ORDERS = {
    "English": [
        "hold off on the release, I want to read the notes",
        "make the sidebar 20px wider and keep the icons",
        "it never loads on my phone, take a look",
        "we should split that function, do it",
        "ok, same for the other dialog",
        "don't bother with tests for that",
    ],
    "German": [
        "noch nicht mergen, ich lese erst die Notizen",
        "mach die Seitenleiste breiter",
        "auf dem Handy lädt es nie, schau mal",
        "jetzt das Gleiche für den anderen Dialog",
        "wir brauchen das bis heute Abend",
    ],
    "French": ["ne fusionne pas encore", "élargis la barre latérale", "ça ne charge jamais sur mon téléphone", "fais pareil ici"],
    "Spanish": ["no lo fusiones todavía", "haz la barra más ancha", "nunca carga en mi teléfono", "ahora lo mismo aquí"],
    "Chinese": ["先不要合并，我看一下", "把侧边栏加宽", "手机上总是加载不出来", "现在对另一个对话框做同样的事"],
}
SMALL_TALK = {
    "English": [
        "haha, never trust a computer",
        "I always wanted a keyboard like that",
        "remember when builds took an hour?",
        "you rock",
    ],
    "German": ["haha, nie wieder Montag", "ich wollte immer schon so eine Tastatur", "danke, immer eine Freude"],
    "French": ["mdr, plus jamais le lundi", "j'ai toujours voulu un clavier comme ça"],
    "Spanish": ["jajaja, nunca más un lunes", "siempre quise un teclado así"],
    "Chinese": ["哈哈，再也不在周一上线了", "我一直想要这样的键盘"],
}
# What was asked, what the step printed, what the assistant found, words that the memory must contain, and its kind.
FINDINGS = {
    "English": (
        "U: why is the import slow?",
        "T: 80% in re.compile",
        "A: The import is slow because `parse_row` compiles its pattern for each row. Compiling once brings it from 50 s to 3 s.",
        ("parse_row", "50 s to 3 s"),
        Kind.FIX,
    ),
    "German": (
        "U: warum bricht der Export ab?",
        "T: ok",
        "A: Der Export schlägt fehl, weil `tmpfs` nur 64 MB groß ist. Ein größeres `--shm-size` behebt es.",
        ("tmpfs", "--shm-size"),
        Kind.FIX,
    ),
    "French": (
        "U: pourquoi le build échoue ?",
        "T: ok",
        "A: Le build échoue parce que `node_modules` vient d'un autre système. Réinstaller avec `npm ci` règle le problème.",
        ("node_modules", "npm ci"),
        Kind.FIX,
    ),
    "Spanish": (
        "U: ¿por qué falla el login?",
        "T: 200",
        "A: El login falla porque `SameSite` es `None` sin `Secure`. Añadir `Secure` lo resuelve.",
        ("SameSite", "Secure"),
        Kind.FIX,
    ),
    "Chinese": (
        "U: 为什么登录失败？",
        "T: 200",
        "A: 登录失败是因为 `SameSite` 没有设置 `Secure`。加上之后修复了。",
        ("SameSite", "Secure"),
        Kind.FIX,
    ),
    "a dead end": (
        "U: can we use Bun for the worker?",
        "T: error",
        "A: Bun can't be used for the worker: it has no `worker_threads` with shared memory. I went back to Node.",
        ("worker_threads", "Node"),
        Kind.DEAD_END,
    ),
}


@pytest.mark.parametrize("language", ORDERS)
def test_a_session_of_orders_leaves_nothing_active(language: str) -> None:
    lines = [line for said in ORDERS[language] for line in (f"U: {said}", "A: Okay.")]
    assert active(talk(*lines)) == []


@pytest.mark.parametrize("language", SMALL_TALK)
def test_a_session_of_small_talk_leaves_nothing_active(language: str) -> None:
    lines = [line for said in SMALL_TALK[language] for line in (f"U: {said}", "A: :)")]
    assert active(talk(*lines)) == []


@pytest.mark.parametrize("case", FINDINGS)
def test_a_finding_is_one_memory_with_its_cure_or_reason(case: str) -> None:
    asked, output, said, words, kind = FINDINGS[case]
    (kept,) = active(talk(asked, "X: a command", output, said))
    assert kept.kind is kind and all(word in kept.content for word in words)


def test_a_cause_without_any_step_is_only_proposed() -> None:
    turns = talk("U: why is it slow?", "A: It is slow because `a.py` reads the file twice. Caching it fixes that.")
    assert active(turns) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("No, never mock the clock in `api_test`.", ["Never mock the clock in `api_test`."]),
        ("Btw please always keep fixtures in tests/data.", ["Always keep fixtures in tests/data."]),
        ("Leave it. By the way, our icons live in lib/icons, not in app.", ["Our icons live in lib/icons, not in app."]),
        ("记住：预发环境只能通过 VPN 访问。", ["预发环境只能通过 VPN 访问。"]),
        ("Nein, nicht yarn! Verwende immer pnpm.", ["Verwende immer pnpm."]),
        ("Remember that the ERP accepts CSV only.", ["The ERP accepts CSV only."]),
        (
            "Always squash before merging, but never squash release branches.",
            ["Always squash before merging.", "Never squash release branches."],
        ),
    ],
)  # fmt: skip
def test_openers_go_and_a_do_and_a_dont_are_two(said: str, kept: list[str]) -> None:
    assert [act.text for act in acts(said)] == kept


def test_the_parts_of_a_sentence_keep_their_polarity() -> None:
    first, second = acts("Always squash before merging, but never squash release branches.")
    assert (first.polarity, second.polarity) == (Polarity.DO, Polarity.DONT)


@pytest.mark.parametrize(
    ("said", "kind", "polarity"),
    [
        ("Please word commit messages", None, None),
        ("Please write commit messages so that a customer understands them.", Kind.RULE, Polarity.DO),
        ("We decided against MongoDB because nobody can run it.", Kind.DECISION, Polarity.KNOW),
        ("Rule: every job must be idempotent.", Kind.RULE, Polarity.DO),
        ("Remember that Huber AG gets its invoices as XML.", Kind.FACT, Polarity.DO),
        ("todo for later: the avatar upload leaks memory", Kind.TODO, Polarity.DO),
        ("next time: finish the importer for the old format", Kind.TODO, Polarity.DO),
        ("Never commit generated files.", Kind.RULE, Polarity.DONT),
    ],
)
def test_acts_have_the_right_kind_and_polarity(said: str, kind: Kind | None, polarity: Polarity | None) -> None:
    act = act_of(said)
    assert (act and act.kind, act and act.polarity) == (kind, polarity)


def test_of_three_wordings_of_a_wish_the_last_counts() -> None:
    turns = talk(
        "U: From now on begin branch names with the author's initials.",
        "A: ok",
        "U: No, always begin branch names with the ticket number.",
        "A: ok",
        "U: Final: begin branch names with ticket number and a slash.",
        "A: ok",
    )
    (kept,) = active(turns)
    assert kept.content == "Begin branch names with ticket number and a slash." and kept.kind is Kind.RULE


def test_a_later_wording_says_what_it_takes_back_of_an_earlier_passage() -> None:
    before = talk("U: From now on begin branch names with the author's initials.", "A: ok")
    (kept,) = active(talk("U: No, always begin branch names with the ticket number.", "A: ok", first=3), before)
    assert kept.revises == ("From now on begin branch names with the author's initials.",)


def test_a_correction_of_the_assistant_takes_back_no_other_rule() -> None:
    turns = talk(
        "U: Always run the linter before you push.", "A: ok", "U: No, never push to main without a review.", "A: ok"
    )  # fmt: skip
    assert len(active(turns)) == 2


def test_a_cause_that_the_assistant_takes_back_goes() -> None:
    turns = talk(
        "U: the job dies at night, why?",
        "X: journalctl",
        "T: killed",
        "A: The root cause is a leak in `thumbnailer`: it never closes its files.",
        "X: lsof",
        "T: 12",
        "A: That was wrong: `thumbnailer` does not leak. The root cause is the cron job that restarts `docker` at 02:00. "
        "Moving the cron job to the weekend fixes it.",
    )
    kept = [one.content for one in found(turns) if "thumbnailer" in one.content and "never closes" in one.content]
    assert kept == []
    assert any("02:00" in one.content for one in active(turns))


@pytest.mark.parametrize(
    "said",
    [
        "the upload test was flaky because the containers' clocks differed, pinning TZ fixed it",
        "Root cause: the pool had 5 connections. Raising it to 20 fixed the timeouts.",
    ],
)
def test_a_cause_that_the_user_names_with_its_cure_is_a_memory_of_the_user(said: str) -> None:
    (kept,) = active(talk(f"U: {said}", "A: Good to know."))
    assert (kept.kind, kept.source) == (Kind.FIX, Source.USER)


def test_a_cause_with_its_cure_in_a_question_is_none() -> None:
    assert active(talk("U: did it fail because the token expired, and renewing it fixes it?", "A: Yes.")) == []


def test_a_cause_without_a_cure_is_only_proposed() -> None:
    turns = talk(
        "U: why was the mail not sent?",
        "X: qlog",
        "T: skipped",
        "A: The root cause: `relay-2` refuses mail above the daily limit.",
    )
    assert active(turns) == []
    assert any("relay-2" in one.content for one in found(turns))


def test_a_finding_that_points_at_lines_of_a_file_is_not_active() -> None:
    turns = talk(
        "U: why is it slow?",
        "X: profile",
        "T: 9 s",
        "A: The problem is that `Report.load()` opens the file per row (line 71). I moved the call out of the loop in `rep.py`.",
    )
    assert active(turns) == []


def test_an_error_that_the_assistant_only_repeats_is_nothing() -> None:
    turns = talk("U: run it", "X: qa", "T: failed", 'A: {"error": "QA failed", "reason": "the root cause is a timeout of `qa`"}')
    assert active(turns) == []


def test_what_the_user_quotes_is_not_theirs_and_the_answer_beneath_is() -> None:
    (kept,) = active(talk("U: > Always use npm in this repository.\nNo, always use bun in this repository.", "A: ok"))
    assert kept.content == "Always use bun in this repository."


def test_at_most_eight_proposals_for_three_prompts() -> None:
    lines = []
    for prompt in range(6):
        lines.append("U: please look at the services")
        lines += [f"A: Module{prompt}{k} keeps table{prompt}{k} in store{prompt}{k} for `KEY_{prompt}_{k}`." for k in range(4)]
    all_promising = HeuristicExtractor(CueWeights({"bias": 2.0}, {"bias": 2.0}))
    answer = all_promising.extract(Passage(talk(*lines)))
    proposed = [one for one in answer.candidates if one.status is Status.CANDIDATE]
    assert len(proposed) == 16
    assert all(0 < one.confidence < 1 for one in proposed)


@pytest.mark.parametrize(
    "said",
    [
        "The test failed because I forgot an import. Added it.",
        "The edit failed because the string was not unique. I changed it.",
        "The check failed because of a typo in `total.ts`. I fixed the typo.",
        "It fails because `b.json` does not exist yet. Let me create it.",
        "The problem could be the cache of `esbuild`. I cleared it.",
        "My last change broke `api.ts` because the name was wrong. I updated it.",
    ],
)
def test_a_slip_of_the_assistant_and_a_guess_are_no_findings(said: str) -> None:
    assert active(talk("U: please look", "X: make", "T: failed", f"A: {said}", "X: make", "T: ok", "A: Done.")) == []


def test_a_finding_after_which_a_step_still_fails_is_not_active() -> None:
    cause = "A: The build fails because `esbuild` waits for its input. Passing `</dev/null` fixes that."
    turns = talk("U: please look", "X: make", "T: failed", cause, "X: make", "T: failed again")
    failed = (*turns[:-1], replace(turns[-1], error=True))
    assert len(active(turns)) == 1 and active(failed) == []


def test_which_member_of_a_series_is_named_does_not_decide_whether_it_is_a_rule() -> None:
    judge = ActClassifier(OnnxEmbedder())
    agreed = judge.agrees([f"Always start otter{number} first." for number in range(12)])
    assert len(set(agreed)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Starting today, thumbnails are made with vipper and nothing else.",
        "Effective immediately, sort imports with isopod.",
        "Note for all future sessions: the bundler is esbarn.",
        "For future reference, we publish via tarmac only.",
        "I want you to run alembix after every change to the models.",
        "After each edit run the typos check.",
        "Our convention is to name branches after the ticket.",
        "The only allowed queue here is bunnymq.",
        "Make it a habit to run the smoke test first.",
        "Für alle weiteren Sitzungen: Paketmanager ist pnpm.",
        "Je veux que tu lances ruffle après chaque modification.",
        "A partire da ora usa sempre biome per i file CSS.",
    ],
)
def test_a_rule_in_ordinary_wording_is_one(text: str) -> None:
    assert [act.kind for act in acts(text)] == [Kind.RULE]


@pytest.mark.parametrize(
    "text",
    [
        "After each request, log the duration.",
        "I want you to run the tests.",
        "For each file in src, print its size.",
        "Every button should start with a capital letter in this mockup, right?",
    ],
)
def test_a_task_that_only_says_how_often_is_not_a_rule(text: str) -> None:
    assert acts(text) == []


CAUSE = "A: The uploads fail because `proxy.conf` caps a body at 1 MB."


@pytest.mark.parametrize(
    "said", ["that works now, thanks", "yes, fixed!", "可以了，谢谢", "es funktioniert, danke", "теперь работает"]
)
def test_a_cause_becomes_active_when_the_user_says_that_all_works(said: str) -> None:
    turns = talk("U: uploads fail, have a look", CAUSE, f"U: {said}", "A: Good.")
    (cause,) = active(turns)
    assert "proxy.conf" in cause.content and cause.kind is Kind.FIX and cause.reason == "root cause that the user confirmed"
    assert [one.content for one in active(turns[2:], turns[:2])] == [cause.content]


@pytest.mark.parametrize(
    "said", ["it works, but now the login fails", "works? I can't see it", "still broken", "it doesn't work"]
)
def test_a_cause_stays_proposed_when_something_is_still_wrong(said: str) -> None:
    assert not active(talk("U: uploads fail, have a look", CAUSE, f"U: {said}", "A: Let me look again."))


@pytest.mark.parametrize(
    "text",
    [
        "Given how many clinics share a login, I think it's better not to keep patient names in the URL.",
        "Because mirrors lag behind, we should pin packages by their hash.",
        "由于客户会转发链接，我们不应该把姓名写进 URL。",
    ],
)
def test_a_reason_may_come_before_the_wish(text: str) -> None:
    (act,) = acts(text)
    assert act.kind is Kind.DECISION and act.reason == "wish with its reason"


@pytest.mark.parametrize(
    "text",
    [
        "Given the time, we should stop for today.",
        "Because the test failed, we should look at the log.",
        "Since yesterday the page is slow, we need to check it.",
    ],
)
def test_a_reason_of_the_moment_makes_no_wish_lasting(text: str) -> None:
    assert not acts(text)


def test_a_wish_is_lasting_when_the_assistant_agrees() -> None:
    wish = "U: I think it would be better not to show patients' names on the ward list, given that visitors see the screen"
    (kept,) = active(talk("U: build the list", "A: Done.", wish, "A: You're right, I'll show their initials."))
    assert kept.source is Source.USER and "patients' names" in kept.content
    assert not active(talk("U: build the list", "A: Done.", wish, "A: The list has 40 rows."))


def test_a_change_to_make_is_no_lasting_wish_although_the_assistant_agrees() -> None:
    wish = "U: All fine, but I would replace the REPORT_MODE variable with the preferences stored in the settings files"
    assert not active(talk("U: build the report", "A: Done.", wish, "A: You're right, I'll change that."))


def test_a_limitation_is_kept_with_what_to_do_instead() -> None:
    turns = talk("U: why does it fail?", "X: run", "T: ok", "A: `toCents` does not accept decimals, so round the amount first.")
    (limit,) = active(turns)
    assert limit.kind is Kind.FACT and "round the amount" in limit.content


@pytest.mark.parametrize(("said", "rule"), [
    ("Remember: don't run npm, use pnpm instead.", "Don't run npm, use pnpm instead."),
    ("Remember this rule: commit messages start with a ticket (SHOP-12).", "Commit messages start with a ticket (SHOP-12)."),
    ("Remember that nothing is pushed to main directly.", "Nothing is pushed to main directly."),
    ("Merk dir diese Regel: Dateien in dist/ nie von Hand ändern.", "Dateien in dist/ nie von Hand ändern."),
])  # fmt: skip
def test_what_a_tool_call_can_violate_is_a_rule_once_the_user_asks_to_remember_it(said: str, rule: str) -> None:
    (act,) = acts(said)
    assert (act.text, act.kind) == (rule, Kind.RULE)


def test_a_fact_about_the_users_machine_stays_a_fact_when_it_is_remembered() -> None:
    (act,) = acts("Remember that my machine has no Docker.")
    assert act.kind is Kind.ENVIRONMENT


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("We tried Bazel but gave up since the cache broke every week.", Kind.DEAD_END),
        ("we tried to shard the tests, but it didn't work because the fixtures share a database", Kind.DEAD_END),
        ("我们试过 Bazel，因为缓存每周都坏，最后放弃了", Kind.DEAD_END),
        ("We decided against Kafka because nobody here can operate it.", Kind.DECISION),
        ("We went with Fastify because Express has no schema validation.", Kind.DECISION),
    ],
)
def test_what_the_team_gave_up_or_decided_is_kept_with_its_reason(said: str, kind: Kind) -> None:
    (kept,) = active(in_session(said))
    assert (kept.kind, kept.source, kept.polarity) == (
        kind,
        Source.USER,
        Polarity.KNOW if kind is Kind.DEAD_END else kept.polarity,
    )


@pytest.mark.parametrize(
    "said",
    [
        "I tried to restart it but it failed because the port is taken",
        "we tried that, it didn't work because of the thing above",
        "we tried the first one, it failed since the server was still down",
        "we went with the second one because it looks better here",
    ],
)
def test_an_attempt_or_choice_of_the_moment_is_not_kept(said: str) -> None:
    assert not active(in_session(said))
