"""Every question of a run: a line that opens and shows what was retrieved, answered, expected and judged. No script needed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from memeval.html.markup import Html, el, join
from memeval.html.page import facts, table
from memeval.report.failures import evidence_found
from memeval.report.numbers import NONE, seconds, short
from memeval.report.runs import Piece, QuestionResult, ScoreEntry
from memeval.types import Phase

MARKS = ("right", "partly", "wrong", "failed", "unscored", "skipped", "open")


def anchor(question: QuestionResult) -> str:
    """Fragment of a question, the same in each report of the benchmark."""
    return f"q-{sha256(question.key.encode()).hexdigest()[:12]}"


def mark(question: QuestionResult, metric: str | None) -> str:
    """The verdict in one word, by the metric of the page."""
    if question.status == "pending":
        return "open"
    if question.status == "failed":
        return "failed"
    if metric is None:
        return "unscored"
    entry = question.entry(metric)
    if entry.value is None:
        return entry.status if entry.status in MARKS else "unscored"
    return "right" if entry.value >= 1 else "partly" if entry.value > 0 else "wrong"


def question_row(question: QuestionResult, metric: str | None) -> Html:
    """The line and what is behind it."""
    word = mark(question, metric)
    value = question.entry(metric).value if metric else None
    shown = word if value is None or word != "partly" else f"{word} {value:.2f}"
    line = el(
        "summary",
        el("span", shown, cls=f"mark {word}"),
        el("span", question.text, cls="text"),
        el("span", question.type, cls="soft small"),
    )
    return el("details", line, _opened(question), cls="q", id=anchor(question), data_type=question.type, data_mark=word)


def _opened(question: QuestionResult) -> Html:
    return join(
        [
            facts(
                [
                    ("question", question.key),
                    ("category", question.category),
                    ("asked at", question.at),
                    ("error", f"{question.error_phase}: {question.error}" if question.error_phase else ""),
                    ("evidence found", evidence_found(question)),
                    ("time", _times(question)),
                ]
            ),
            el("h3", "Answered"),
            _said([question.hypothesis] if question.hypothesis is not None else [], "No answer was made."),
            el("h3", "Expected"),
            _said(question.answers, "The data set has no gold answer."),
            el("h3", "Judged"),
            _judged(question),
            el("h3", "Retrieved"),
            [_piece(piece, question) for piece in question.retrieved] or el("p", "Nothing was retrieved.", cls="soft"),
        ]
    )


def _times(question: QuestionResult) -> str:
    return ", ".join(f"{phase} {seconds(question.seconds[phase])}" for phase in Phase if phase in question.seconds)


def _said(texts: Iterable[str], otherwise: str) -> Html:
    found = [el("div", text or "(empty)", cls="said", dir="auto") for text in texts]
    return join(found or [el("p", otherwise, cls="soft")])


def _judged(question: QuestionResult) -> Html:
    """Scores of answers one by one; those of rankings, which are many, behind a line."""
    answers = {name: entry for name, entry in question.scores.items() if "." not in name}
    rankings = {name: entry for name, entry in question.scores.items() if "." in name}
    parts: list[Html] = [_scores(answers)] if answers else []
    if rankings:
        parts.append(el("details", el("summary", f"{len(rankings)} retrieval scores", cls="small"), _rankings(rankings)))
    return join(parts or [el("p", "Nothing was scored.", cls="soft")])


def _scores(scores: dict[str, ScoreEntry]) -> Html:
    rows = [
        (name, f"{entry.value:.3f}" if entry.value is not None else NONE, entry.status, entry.reason, entry.judge)
        for name, entry in scores.items()
    ]
    return table(("metric", "value", "status", "reason", "judge"), rows, frozenset({"value"}))


def _rankings(scores: dict[str, ScoreEntry]) -> Html:
    """A row for each metric, a column for each cut-off; a value that is not there gives its status."""
    rows: dict[str, dict[str, str]] = {}
    for name, entry in scores.items():
        stem, _, cut_off = name.partition("@")
        rows.setdefault(stem, {})[cut_off] = entry.status if entry.value is None else f"{entry.value:.3g}"
    cut_offs = sorted({k for row in rows.values() for k in row}, key=lambda k: (len(k), k))
    columns = ("metric", *(f"@{k}" if k else "value" for k in cut_offs))
    return table(columns, [(stem, *(row.get(k, "") for k in cut_offs)) for stem, row in rows.items()], frozenset(columns[1:]))


def _piece(piece: Piece, question: QuestionResult) -> Html:
    """A piece; with a green edge when it comes from the evidence."""
    is_hit = not {*question.evidence_sessions, *question.evidence_turns}.isdisjoint({*piece.sessions, *piece.turns})
    where = ", ".join([*piece.sessions, *piece.turns][:8])
    more = f" … {piece.length - len(piece.text):,} characters more" if piece.length > len(piece.text) else ""
    score = "" if piece.score is None else f", score {short(round(piece.score, 3))}"
    heading = f"{piece.rank}{' (evidence)' if is_hit else ''}{score}{', ' + piece.at if piece.at else ''}"
    return join(
        [
            el("p", heading, el("br"), where, cls="soft small"),
            el("div", piece.text or "(empty)", el("span", more, cls="soft"), cls="said hit" if is_hit else "said", dir="auto"),
        ]
    )
