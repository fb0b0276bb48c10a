"""The operation with which a session's own model settles the candidates offered to it (see recall.offer)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from memoryd.api.parameters import count, flag, objects, parse, plain_objects, request, share, text
from memoryd.api.registry import Caller, Shown, Tool, operation
from memoryd.api.shared import asked_as_parameter, keys_of, kind_parameter, polarity_parameter
from memoryd.core.checks import PROPOSED_FIELDS
from memoryd.core.clock import to_iso
from memoryd.core.config import SESSION
from memoryd.core.errors import InputError
from memoryd.core.text import one_line
from memoryd.core.types import Kind, Polarity
from memoryd.recall.prompt_block import TAG, harmless

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.core.decision_log import LoggedDecision
    from memoryd.daydream.settle import SessionOrigin, SettleAnswer, Settled, Settler

MAX_ITEMS = 24
MAX_OWN = 2
MAX_STATEMENT = 400
MAX_LINE_ID = 20
MAX_REPLACES = 40
RECENT_SESSIONS = 50
DEFAULT_CONFIDENCE = 0.8
_RESERVED = re.compile(rf"<\s*/?\s*(?:{TAG}|system|private)\b", re.IGNORECASE)


def _content() -> Any:
    description = "The statement in your words: one sentence with names, numbers and its reason, in the user's language."
    return text(description, model_limit=MAX_STATEMENT)


def _replaces() -> Any:
    description = "Id of the known memory, also of one kept in this session, that is no longer true because of this one."
    return text(description, limit=MAX_REPLACES, model_limit=MAX_REPLACES)


def _importance() -> Any:
    description = (
        "3: you can name the mistake or the lost hour that it spares a later session. 2: useful, but quickly found out "
        "again. 1: minor, only found when searched for."
    )
    return count(description, default=2, low=1, high=3)


def _confidence() -> Any:
    return share(
        "How certain you are that it is true, still applies and passes the test, 0..1; below .75 if only this task needed it."
    )


def _check() -> Any:
    return plain_objects(
        PROPOSED_FIELDS,
        "For each rule of the user that tool calls can break: objects that say what breaks it, usually one, with the fields that "
        "matter. Every entry is copied from the user's turn; what is only described there (lock files, tests, lint, force push, "
        "project root) is written so, in English. command: words are forbidden commands, or a flag, NAME=value or host; instead; "
        "unless: flags or NAME=value that make it right (a required flag: words [npm ci], unless [--ignore-scripts]); branch: "
        "only there. path: paths or patterns not to change; read: nor to read; new 'only': just creating is wrong; where files "
        "belong: files, unless (those places), new 'only'. content: words not to write; call: a function; imports: a library; "
        "files, paths: only there; unless: places. companion: one of first must have run before words ('git commit', or 'end' of "
        "an answer). branch: words are allowed names. message: of commits; form with its example, or forbidden words.",
    )


@request
class SettledLine:
    """The model's decision on an offered line."""

    id: str = text("The line's id.", required=True, model_limit=MAX_LINE_ID)
    keep: bool | None = flag("true: keep it as `content`. false: drop it.", default=None, asked_of_models=True)
    content: str = _content()
    kind: Kind | None = kind_parameter()
    polarity: Polarity | None = polarity_parameter()
    asked_as: tuple[str, ...] = asked_as_parameter()
    replaces: str = _replaces()
    importance: int = _importance()
    confidence: float | None = _confidence()
    check: tuple[Mapping[str, Any], ...] = _check()


@request
class OwnStatement:
    """A statement that the model adds beyond the offered lines."""

    content: str = text(
        "The statement in your words: one sentence with names, numbers and its reason, in the user's language.",
        required=True,
        model_limit=MAX_STATEMENT,
    )
    kind: Kind | None = kind_parameter()
    polarity: Polarity | None = polarity_parameter()
    asked_as: tuple[str, ...] = asked_as_parameter()
    replaces: str = _replaces()
    importance: int = _importance()
    confidence: float | None = _confidence()


@request
class Settle:
    """The decisions on the offered lines, and additional statements."""

    items: tuple[Mapping[str, Any], ...] = objects(SettledLine, "One entry for each line.", most=MAX_ITEMS)
    own: tuple[Mapping[str, Any], ...] = objects(
        OwnStatement, "Up to two more without a corresponding line.", most=MAX_OWN, model_most=MAX_OWN
    )


class SettledAnswer(TypedDict):
    """The outcome of each entry of the call."""

    results: Annotated[list[dict[str, Any]], Shown("id, status, memory, replaced, reason.", always=True)]
    kept: Annotated[int, Shown()]
    dropped: Annotated[int, Shown()]


@operation(
    Settle,
    SettledAnswer,
    tool=Tool(
        "Settle what was offered",
        "Answer to a block 'to settle': short lines, each with an id, that memory may keep of this session. You saw the"
        " session, so you judge. Call it once, alongside your other work, and don't mention it. A line is often cut, or "
        "weak itself, but comes from the turn where something worth keeping was said: then write that down instead. The "
        "test: a colleague who has the code, its history and its docs still would not know it, and acts "
        "differently because of it in a month. So keep a root cause with its fix, what was tried and why it failed, how this "
        "machine, its tools or services behave, what was chosen and why (also by picking an option, or by a short yes "
        "to your plan), rules and preferences that continue to apply. Above all look at your own long answers: what they "
        "found out is lost otherwise. Drop what fails the test: orders and questions of the moment, plans, progress and "
        "results of a run, what one change added or renamed, how the code is built, values that are in a file, "
        "guesses, what was refuted or changed since. Few and good: keeping nothing is a good answer. A rule or "
        "preference of the user: in the user's own words, only then does it count as the user's. One fact per sentence, "
        "understandable alone: name the thing, no 'this', 'it', 'the fix above'. If a known memory is shown next to a "
        "line: drop the line if it says the same, or name it in `replaces` if it is no longer true.",
        order=30,
        read_only=False,
        always_load=True,
        list_key="results",
        more="all were settled",
    ),
)
def settle(runtime: Runtime, request: Settle, caller: Caller) -> SettledAnswer:
    """Keep or drop offered candidates of the caller's project, and add up to two further statements.

    Each entry has its own result. An unknown, already settled or invalid entry does not fail the others.
    """
    from memoryd.daydream.settle import Settler

    items, own = request.items, request.own
    if not caller.cwd:
        raise InputError("settle: no project.", fix="Call it from a project's folder.")
    if not items and not own:
        raise InputError("settle: nothing to settle.", fix="Give items, as offered, or own.")
    project = runtime.registry.resolve(caller.cwd)
    origin = _origin(runtime, project.id, caller.cwd, [entry.get("id") for entry in items])
    settler = Settler(runtime.service, runtime.state, runtime.reconciler)
    results = [_one(settler, entry, origin) for entry in items]
    results += [_one(settler, entry, origin, own=True) for entry in own]
    _record(runtime, results, origin)
    if any(result.status == "kept" for result in results):
        runtime.injector.cache_governance(project)
    counts = Counter(result.status for result in results)
    shown = [
        {name: value for name, value in asdict(result).items() if value and name != "statement"} | _left_out(entry)
        for result, entry in zip(results, (*items, *own), strict=True)
    ]
    return {"results": shown, "kept": counts["kept"], "dropped": counts["dropped"]}


def _left_out(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return a notice about secrets removed from an entry."""
    from memoryd.daydream.redact import left_out, storable_text

    asked = entry.get("asked_as")
    texts = [entry.get("content"), *(asked if isinstance(asked, list | tuple) else [asked])]
    found: Counter[str] = Counter()
    for given in texts:
        if isinstance(given, str):
            found.update(storable_text(one_line(given[: 4 * MAX_STATEMENT])).found)
    return left_out(found)


def _origin(runtime: Runtime, project: str, cwd: str, ids: Iterable[Any]) -> SessionOrigin:
    """Return the session that made the call. MCP calls do not identify their session.

    This is the session to which these lines were offered, or else the project's latest session.
    """
    from memoryd.daydream.settle import SessionOrigin

    entries = [runtime.state.offers.entry(project, id) for id in ids if isinstance(id, str)]
    given_to = next((entry.given_to for entry in entries if entry is not None), "")
    records = [record for record in runtime.state.sessions(RECENT_SESSIONS) if record.project == project]
    records.sort(key=lambda record: record.session != given_to)
    if not records:
        return SessionOrigin("manual", project, "", cwd)
    return SessionOrigin(records[0].session, project, records[0].transcript, records[0].cwd)


def _one(settler: Settler, entry: Mapping[str, Any], origin: SessionOrigin, *, own: bool = False) -> Settled:
    from memoryd.daydream.settle import Settled

    named = entry.get("id")
    id = "own" if own else named if isinstance(named, str) else ""
    try:
        answer = parse_answer(entry, own=own)
    except InputError as error:
        return Settled(id[:20], "refused", reason=str(error))
    return settler.add(answer, origin) if own else settler.settle(answer, origin)


def _record(runtime: Runtime, results: list[Settled], origin: SessionOrigin) -> None:
    """Record the outcome like a day dream's, so that the session's report shows it."""
    from memoryd.core.state import Run

    decided = [verdict for result in results if (verdict := _verdict(runtime, result)) is not None]
    if not decided:
        return
    counts = Counter(result.status for result in results)
    run = Run(
        session=origin.session,
        transcript=origin.transcript,
        project=origin.project,
        at=to_iso(runtime.clock.now()),
        start=0,
        stop=0,
        kept=counts["kept"],
        known=counts["known"],
        skipped={reason: counts[reason] for reason in ("dropped", "refused") if counts[reason]},
        extractor=SESSION,
    )
    runtime.state.record_decisions(run, decided)


def _verdict(runtime: Runtime, result: Settled) -> LoggedDecision | None:
    from memoryd.core.decision_log import KEPT, KNOWN, REFUSED, LoggedDecision

    outcome = {"kept": KEPT, "known": KNOWN, "dropped": REFUSED, "refused": REFUSED}.get(result.status)
    if outcome is None:
        return None
    item = runtime.service.get(result.memory) if result.memory else None
    why = result.reason or ("settled by the session's model" if result.status == "kept" else "dropped by the session's model")
    kind, source = (item.kind.value, item.source.value) if item else ("", "")
    return LoggedDecision(outcome, why, memory=result.memory, kind=kind, source=source)


def parse_answer(entry: Mapping[str, Any], *, own: bool = False) -> SettleAnswer:
    """Validate one entry of the call. Raises InputError, which names the invalid field."""
    from memoryd.daydream.settle import SettleAnswer

    asked = parse(OwnStatement, entry, "settle: own") if own else parse(SettledLine, entry, "settle")
    assert isinstance(asked, OwnStatement | SettledLine)
    return SettleAnswer(
        id=asked.id.removeprefix("#") if isinstance(asked, SettledLine) else "",
        keep=_is_kept(asked, entry) if isinstance(asked, SettledLine) else True,
        content=_statement(asked.content),
        kind=asked.kind,
        polarity=asked.polarity,
        asked_as=keys_of(asked.asked_as),
        replaces=asked.replaces,
        importance=asked.importance,
        confidence=DEFAULT_CONFIDENCE if asked.confidence is None else asked.confidence,
        check=asked.check if isinstance(asked, SettledLine) else (),
    )


def _is_kept(line: SettledLine, entry: Mapping[str, Any]) -> bool:
    """Return the value of `keep`. If it is missing, entries with content are kept."""
    return entry.get("content") is not None if line.keep is None else line.keep


def _statement(text: str) -> str:
    """Return the statement as one line without secrets. Raise InputError if it is too long or contains a reserved tag."""
    from memoryd.daydream.redact import says_something, storable_text

    text = one_line(text)
    if len(text) > MAX_STATEMENT:
        raise InputError(f"settle: content: {len(text)} characters are too many.", fix=f"One sentence, at most {MAX_STATEMENT}.")
    if _RESERVED.search(text):
        raise InputError("settle: content: contains a reserved tag.", fix="Write a plain sentence.")
    said = storable_text(text)
    if said.found and not says_something(said.text):
        raise InputError("settle: content: contains only a secret or private part.", fix="Leave this line out.")
    return harmless(said.text)
