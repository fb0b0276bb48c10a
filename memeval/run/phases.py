"""Four of the five phases as functions of values.

They depend only on protocols. The subject records their return values.

Ingest    passes the sessions of a case to the provider, in time order and in batches, without hints at the gold answers
Search    asks the provider for memories that are relevant to a question
Answer    lets the answering model read the hits. Reader `direct` uses the reply unchanged. Reader `con` (chain of note,
          LongMemEval) passes the memories as JSON, lets the model write notes, and uses the text after the last `Answer:`.
          Reader `con-session` first has the model write a note on each session in a separate call, then answer from the notes
Evaluate  computes retrieval metrics of the hits and judges the answers

A score of a ranking is named `<level>.<metric>@<k>` (`session.recall_all@5`). Other scores have the name of their judge or
metric. The status of a score is `scored`, `unscored` (it should have a value, but the judge gave no clear verdict), `skipped`
(the protocol requires no score) or `failed` (an earlier phase failed).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import accumulate
from typing import Any

from memeval.core.errors import ModelError
from memeval.core.protocols import Judge, Model, Provider, RetrievalMetric
from memeval.core.text import estimate_tokens
from memeval.core.types import EMPTY, Answer, HookCall, Question, Retrieved, Score, SearchRequest, Session
from memeval.metrics import Targets, recall_all, recall_fraction, recency
from memeval.metrics.targets import ranking, scorer, user_side
from memeval.prompts import Prompt, format_memories
from memeval.prompts.memories import shown_date
from memeval.results.codec import retrieved_from_json, retrieved_to_json, score_entry, score_to_json, usage_to_json
from memeval.run.preparing import Chunks, chunked, preprocessed
from memeval.specs import BenchmarkSpec, IngestionMode
from memoryd.core.types import Completion, Usage

BULK = 50
"""Maximum sessions per call, which limits the work lost between checkpoints."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The sessions in one call. If `wait` is true, indexing is awaited after the call. `chunks` maps chunk ids to turn ids."""

    part: str
    sessions: tuple[Session, ...]
    wait: bool
    chunks: Chunks = field(default_factory=lambda: EMPTY)


def case_tag(benchmark: str, case_id: str) -> str:
    """Return the case's name for systems under test.

    The name is a digest because LongMemEval's ids mark unanswerable questions (`_abs`).
    """
    return sha256(f"{benchmark}|{case_id}".encode()).hexdigest()[:16]


def scope_of(template: str, run_id: str, benchmark: str, case_id: str) -> str:
    """Return the provider's name for a case: the filled-in template, limited to characters accepted by every system."""
    values = {"runId": run_id, "benchmark": benchmark, "caseId": case_tag(benchmark, case_id)}
    raw = re.sub(r"\$\{(\w+)\}", lambda match: values.get(match[1], match[0]), template)
    safe = re.sub(r"[^A-Za-z0-9_-]+", "-", raw)
    unique = "${runId}" in template and "${caseId}" in template
    if safe == raw and len(safe) <= 100 and unique:
        return safe
    return f"{safe[:80]}-{sha256(f'{raw}|{run_id}|{case_id}'.encode()).hexdigest()[:12]}"


def visible(session: Session) -> Session:
    """Return a session without its source id and metadata, because these can reveal the gold answer."""
    return replace(session, source_id="", turns=tuple(replace(turn, metadata=EMPTY) for turn in session.turns))


def batches(
    sessions: Sequence[Session], mode: IngestionMode, *, user_only: bool = False, spec: BenchmarkSpec | None = None
) -> Iterator[Batch]:
    """Yield the ingest calls for a case. Sessions are preprocessed as specified in the benchmark's file.

    They are ordered by `in_time_order`.
    """
    size = (spec.batching.size if spec else 0) or (BULK if mode is IngestionMode.BULK else 1)
    seen = [_prepared(visible(user_side(one) if user_only else one), spec) for one in in_time_order(sessions)]
    for number, start in enumerate(range(0, len(seen), size), start=1):
        some = seen[start : start + size]
        chunks = {id: turns for _, made in some for id, turns in made.items()}
        yield Batch(f"{number:06d}", tuple(one for one, _ in some), mode is IngestionMode.SESSION_BASED, chunks)


def _prepared(session: Session, spec: BenchmarkSpec | None) -> tuple[Session, dict[str, list[str]]]:
    if spec is not None and spec.preprocessing is not None:
        session = preprocessed(session, spec.preprocessing)
    return chunked(session, spec.chunking) if spec is not None and spec.chunking is not None else (session, {})


def in_time_order(sessions: Sequence[Session]) -> list[Session]:
    """Sort sessions by time. Keep the benchmark's order if a time is missing or only some times have a time zone."""
    if any(session.at is None for session in sessions):
        return list(sessions)
    if len({session.at.tzinfo is None for session in sessions if session.at}) > 1:
        return list(sessions)
    return sorted(sessions, key=lambda session: session.at.timestamp() if session.at else 0.0)


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The parameters of a search.

    `depth` hits are requested. Texts are recorded for the first `kept` hits, and only sources for the rest.

    Hits with a score below `threshold` are dropped. `chunks` contains the chunks from the ingest of the case.
    """

    depth: int
    kept: int
    granularity: str
    threshold: float | None = None
    chunks: Chunks = field(default_factory=lambda: EMPTY)
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


def search(provider: Provider, scope: str, question: Question, plan: SearchPlan) -> dict[str, Any]:
    """Search and return the payload of the search record. Raises ProviderError."""
    request = SearchRequest(question.text, plan.depth, question.at, plan.granularity, plan.options)
    raw = provider.search(scope, request)[: plan.depth] if question.text.strip() else []  # An empty query has no results.
    pieces = _of_data([piece for piece in raw if plan.threshold is None or piece.score >= plan.threshold], plan.chunks)
    hits = {"kept": plan.kept, "retrieved": [_kept(piece, rank < plan.kept) for rank, piece in enumerate(pieces)]}
    return {**hits, **_guarded(provider, scope, question)}


def _guarded(provider: Provider, scope: str, question: Question) -> dict[str, Any]:
    """Have the provider's guard judge the tool call in question, if there is both a guard and a call."""
    if not provider.capabilities.guard or "call" not in question.metadata:
        return {}
    call, *before = (
        HookCall(one["tool"], one["input"], one["cwd"]) for one in (question.metadata["call"], *question.metadata["before"])
    )
    started = time.perf_counter()
    said = provider.guard(scope, call, before)
    return {"guard": {"said": said, "seconds": time.perf_counter() - started}}


def _of_data(pieces: Sequence[Retrieved], chunks: Chunks) -> list[Retrieved]:
    """Map hits to the turns of the data.

    Chunks of the same turn are merged at the position of the best chunk, with all their texts.
    """
    if not chunks:
        return list(pieces)
    out: dict[object, Retrieved] = {}
    for number, piece in enumerate(pieces):
        turns = tuple(dict.fromkeys(turn for id in piece.turns for turn in chunks.get(id, (id,))))
        key: object = turns or number
        if key in out:
            out[key] = replace(out[key], text=f"{out[key].text}\n{piece.text}")
        else:
            out[key] = replace(piece, turns=turns)
    return list(out.values())


def _kept(piece: Retrieved, with_text: bool) -> dict[str, Any]:
    data = retrieved_to_json(piece)
    data["tokens"] = estimate_tokens(piece.text)
    if not with_text:
        data["text"], data["metadata"] = "", {}
    return data


def found(payload: Mapping[str, Any]) -> list[Retrieved]:
    """Return the hits of a search record, best first."""
    return [retrieved_from_json(item) for item in payload["retrieved"]]


def sizes(payload: Mapping[str, Any]) -> list[int]:
    """Estimate the tokens of each hit in a record. Hits that older versions stored without a text count as 0."""
    return [int(item["tokens"]) if "tokens" in item else estimate_tokens(item["text"]) for item in payload["retrieved"]]


PromptFor = Callable[[Question], Prompt]
_FINAL = re.compile(r"^\W*answer\W*:\s*", re.IGNORECASE | re.MULTILINE)


_CONFIDENCE = re.compile(r"\n?^\W*confidence\W*:\W*(\d{1,3})(?:\.\d+)?\W*\Z", re.IGNORECASE | re.MULTILINE)
_ASK_CONFIDENCE = (
    'After that write one more line, "Confidence: N": how sure you are, from 0 to 100, that the answer is right and that the '
    "memories hold it."
)
WITHHELD = "No information available."
"""The answer given when the model is not confident enough."""
NOTHING = frozenset({"", "empty", "none", "nothing"})
"""Notes that mark a session as irrelevant to the question."""


@dataclass(frozen=True, slots=True)
class ReaderSetup:
    """The prompts, the reader and the required confidence of the answering model. None means that no confidence is requested."""

    prompt_for: PromptFor
    reader: str = "direct"
    note_for: PromptFor | None = None
    abstain_below: float | None = None


def answer(model: Model, reading: ReaderSetup, question: Question, pieces: Sequence[Retrieved]) -> Answer:
    """Return the model's answer. Raises ModelError, including for an empty reply."""
    prompt, reader = reading.prompt_for(question), reading.reader
    calls: list[Completion] = []
    if reader == "con-session" and reading.note_for is not None:
        pieces = list(_notes(model, reading.note_for(question), question, pieces, calls))
    messages = prompt.render(_values(question, pieces, as_json=reader == "con", by_time=prompt.by_time))
    if reading.abstain_below is not None:
        last = messages[-1]
        messages = (*messages[:-1], replace(last, content=f"{last.content}\n\n{_ASK_CONFIDENCE}"))
    made = model.complete(messages)
    calls.append(made)
    reply, confidence = confident(made.text) if reading.abstain_below is not None else (made.text, None)
    text = final_answer(reply) if reader == "con" else reply.strip()
    if not text:
        raise ModelError(f"{made.model} returned an empty answer.", fix="Try again, or use another model.")
    usage = sum((call.usage for call in calls), Usage())
    result = Answer(text, made.model, prompt.hash, usage, sum(call.seconds for call in calls), confidence)
    unsure = confidence is not None and confidence < (reading.abstain_below or 0.0)
    return replace(result, text=WITHHELD, withheld=text) if unsure else result


def _values(question: Question, pieces: Sequence[Retrieved], *, as_json: bool = False, by_time: bool = False) -> dict[str, str]:
    return {
        "question": asked(question),
        "memories": format_memories(pieces, as_json=as_json, by_time=by_time),
        "date": shown_date(question.at) or "not known",
        "speakers": str(question.metadata.get("speakers", "")),
    }


def _notes(
    model: Model, prompt: Prompt, question: Question, pieces: Sequence[Retrieved], calls: list[Completion]
) -> Iterator[Retrieved]:
    """Yield the model's note on each session, at the position of the session's first hit. Empty notes are dropped."""
    sessions: dict[tuple[str, ...] | int, list[Retrieved]] = {}
    for number, piece in enumerate(pieces):
        sessions.setdefault(piece.sessions or number, []).append(piece)
    for some in sessions.values():
        made = model.complete(prompt.render(_values(question, some, by_time=prompt.by_time)))
        calls.append(made)
        if (note := made.text.strip()).strip(" .\"'*`").casefold() not in NOTHING:
            yield replace(some[0], text=note)


def confident(reply: str) -> tuple[str, float | None]:
    """Split off the final `Confidence: N` line of the reply. Return the rest and N as a fraction, or None without such a line."""
    match = _CONFIDENCE.search(reply.rstrip())
    if match is None:
        return reply, None
    return reply[: match.start()], min(int(match[1]), 100) / 100


def asked(question: Question) -> str:
    """Return the question as shown to the model, including the benchmark's answer choices (`options`), if any."""
    options = question.metadata.get("options") or ()
    return "\n".join([question.text, "", *map(str, options)]) if options else question.text


def final_answer(text: str) -> str:
    """Return the text after the last `Answer:` line, or the whole reply."""
    return _FINAL.split(text)[-1].strip()


BUDGETS = (1000, 2000, 4000)
"""Token budgets for recall, as estimated by `memeval.core.text`."""
NO_TURNS = "the results of this system are not single turns"


@dataclass(frozen=True, slots=True)
class Gold:
    """The targets of a ranking at each level, and the time of each evidence id."""

    targets: tuple[Targets, ...]
    dates: Mapping[str, datetime] = field(default_factory=lambda: EMPTY)


def ranking_scores(
    pieces: Sequence[Retrieved],
    gold: Gold,
    metrics: Sequence[RetrievalMetric],
    cut_offs: Sequence[int],
    granularity: str = "turn",
    single_turns: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield the scores of all metrics at all levels and cut-offs, then recency.

    If `single_turns` is false, hits span several turns. The turn level is then skipped, because k hits are not k turns.
    """
    for aim in gold.targets:
        no_turns = aim.level == "turn" and not single_turns and not aim.skipped
        target = replace(aim, skipped=NO_TURNS) if no_turns else aim
        score = scorer(pieces, target, granularity)
        for metric in metrics:
            if target.variant == "locomo_official" and metric.name != "recall_fraction":
                continue  # The official script has no other metric.
            for k in cut_offs:
                name = f"{target.level}.{metric.name}@{k}"
                value = None if target.skipped else score(metric, k)
                yield score_entry(name, value, target.skipped or _why_unscored(value))
        yield _recency(pieces, target, gold, granularity)


def budget_scores(
    pieces: Sequence[Retrieved], tokens: Sequence[int], gold: Gold, granularity: str = "turn"
) -> Iterator[dict[str, Any]]:
    """Yield the recall within token budgets, counting whole hits in order, so that any hit sizes are comparable."""
    for target in gold.targets:
        whole = scorer(pieces, target, granularity)
        for budget in BUDGETS:
            fitting = sum(total <= budget for total in accumulate(tokens))
            score = scorer(pieces[:fitting], target, granularity)
            for metric in (recall_fraction, recall_all):
                if target.variant == "locomo_official" and metric is recall_all:
                    continue
                known = not target.skipped and whole(metric, max(1, len(pieces))) is not None
                value = score(metric, max(1, fitting)) if known else None
                name = f"{target.level}.{metric.name}@{budget}tokens"
                yield score_entry(name, value, target.skipped or _why_unscored(value))


def _recency(pieces: Sequence[Retrieved], target: Targets, gold: Gold, granularity: str) -> dict[str, Any]:
    name = f"{target.level}.recency"
    if skipped := target.skipped or ("" if target.ids else "no evidence that can be resolved"):
        return score_entry(name, None, skipped)
    fresh = recency(ranking(pieces, target, granularity), target.ids, gold.dates)
    return score_entry(name, fresh, "" if fresh is not None else "dates not known")


def _why_unscored(value: float | None) -> str:
    return "" if value is not None else "the provider does not report sources"


def answer_scores(question: Question, answer: Answer, judges: Sequence[Judge]) -> Iterator[dict[str, Any]]:
    """Yield the scores of all judges. Raises ModelError if a judge does not handle a failure of its model."""
    for judge in judges:
        for score in judge.score(question, answer):
            data = score_to_json(score)
            data["status"] = score_status(score)
            if not score.usage.calls and not score.usage.cached_calls:
                del data["usage"]
            yield data


def over_epochs(epochs: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Merge the scores of a question's epochs. The value is their mean, with unclear verdicts counted as 0."""
    found = [{score["metric"]: score for score in scores} for scores in epochs]
    return [_over_epochs([scores[name] for scores in found if name in scores], len(epochs)) for name in found[0]]


def _over_epochs(scores: Sequence[Mapping[str, Any]], epochs: int) -> dict[str, Any]:
    usage = {"usage": total_usage(scores)} if any("usage" in score for score in scores) else {}
    values = [score["value"] for score in scores if score["value"] is not None]
    if not values:
        return {**scores[0], **usage}
    unclear = f"{epochs - len(values)} of {epochs} epochs without a clear verdict" if len(values) < epochs else ""
    per_epoch = [score["value"] or 0.0 for score in scores]
    return {**scores[0], "value": sum(values) / epochs, "status": "scored", "reason": unclear, "epochs": per_epoch, **usage}


def score_status(score: Score) -> str:
    """Return the status of a score. A score without a value is `skipped` if its reason says that the protocol requires none."""
    if score.value is not None:
        return "scored"
    return "skipped" if score.reason.startswith("skipped") else "unscored"


def total_usage(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the total usage of the judges."""
    total = Usage()
    for score in scores:
        if "usage" in score:
            total += Usage(**score["usage"])
    return usage_to_json(total)


def gold_from_json(payload: Mapping[str, Any]) -> Gold:
    """Parse the gold stored with a question."""
    aims = tuple(map(Targets.from_json, payload["targets"]))
    return Gold(aims, {name: datetime.fromisoformat(at) for name, at in payload["dates"].items()})
