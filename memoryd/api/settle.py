"""The call by which a session's own model settles what it was offered (see recall.offer)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from memoryd.api.memories import Caller, keys_of
from memoryd.api.params import Params
from memoryd.clock import to_iso
from memoryd.daydream.keeping import Keeper
from memoryd.daydream.redact import redact
from memoryd.daydream.settle import Answer, Origin, Settled, Settler
from memoryd.errors import InputError
from memoryd.project import ProjectRegistry
from memoryd.protocols import Clock
from memoryd.recall.fence import TAG, harmless
from memoryd.recall.inject import Injector
from memoryd.service import Orchestrator
from memoryd.state import Run, State
from memoryd.text import one_line
from memoryd.types import Kind, Polarity
from memoryd.verdicts import KEPT, KNOWN, REFUSED, Verdict

MOST_ITEMS = 24
MOST_OWN = 2
MAX_STATEMENT = 400
RECENT_SESSIONS = 50
READER = "session"
_RESERVED = re.compile(rf"<\s*/?\s*(?:{TAG}|system|private)\b", re.IGNORECASE)
_OUTCOMES: Mapping[str, str] = {"kept": KEPT, "known": KNOWN, "dropped": REFUSED, "refused": REFUSED}


class SettleCalls:
    """settle."""

    def __init__(self, service: Orchestrator, state: State, injector: Injector, registry: ProjectRegistry, clock: Clock) -> None:
        self._service = service
        self._state = state
        self._injector = injector
        self._registry = registry
        self._clock = clock
        self._keeper = Keeper(service, clock)

    def settle(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Keep or drop offered candidates of the caller's project, and up to two statements beside them.

        Each entry has a result of its own: one that is unknown, settled already or not valid does not fail the others.
        """
        items = params.objects("items", MOST_ITEMS)
        own = params.objects("own", MOST_OWN)
        params.done()
        if not caller.cwd:
            raise InputError("settle: which project?", fix="Call it from a project's folder.")
        if not items and not own:
            raise InputError("settle: nothing to settle.", fix="Give items, as offered, or own.")
        project = self._registry.resolve(caller.cwd)
        origin = self._origin(project.id, caller.cwd, [entry.get("id") for entry in items])
        settler = Settler(self._service, self._state, self._keeper)
        results = [self._one(settler, entry, origin) for entry in items]
        results += [self._one(settler, entry, origin, own=True) for entry in own]
        self._record(results, origin)
        if any(result.status == "kept" for result in results):
            self._injector.cache_governance(project)
        counts = Counter(result.status for result in results)
        told = [{name: value for name, value in asdict(result).items() if value and name != "statement"} for result in results]
        return {"results": told, "kept": counts["kept"], "dropped": counts["dropped"]}

    def _origin(self, project: str, cwd: str, ids: Iterable[Any]) -> Origin:
        """The session that answers, which a tool is not told: the one that was offered these, else the project's latest."""
        entries = [self._state.offers.entry(project, id) for id in ids if isinstance(id, str)]
        given_to = next((entry.given_to for entry in entries if entry is not None), "")
        records = [record for record in self._state.sessions(RECENT_SESSIONS) if record.project == project]
        records.sort(key=lambda record: record.session != given_to)
        if not records:
            return Origin("manual", project, "", cwd)
        return Origin(records[0].session, project, records[0].transcript, records[0].cwd)

    def _one(self, settler: Settler, entry: Mapping[str, Any], origin: Origin, *, own: bool = False) -> Settled:
        named = entry.get("id")
        id = "own" if own else named if isinstance(named, str) else ""
        try:
            answer = parse_answer(entry, own=own)
        except InputError as error:
            return Settled(id[:20], "refused", reason=str(error))
        return settler.add(answer, origin) if own else settler.settle(answer, origin)

    def _record(self, results: list[Settled], origin: Origin) -> None:
        """On record like a day dream, so that the session's report shows it."""
        decided = [self._verdict(result) for result in results if result.status in _OUTCOMES]
        if not decided:
            return
        counts = Counter(result.status for result in results)
        run = Run(
            session=origin.session,
            transcript=origin.transcript,
            project=origin.project,
            at=to_iso(self._clock.now()),
            start=0,
            stop=0,
            kept=counts["kept"],
            known=counts["known"],
            skipped={reason: counts[reason] for reason in ("dropped", "refused") if counts[reason]},
            extractor=READER,
        )
        self._state.record_decisions(run, decided)

    def _verdict(self, result: Settled) -> Verdict:
        item = self._service.get(result.memory) if result.memory else None
        why = result.reason or ("settled by the session's model" if result.status == "kept" else "dropped by the session's model")
        kind, source = (item.kind.value, item.source.value) if item else ("", "")
        return Verdict(_OUTCOMES[result.status], why, memory=result.memory, kind=kind, source=source)


def parse_answer(entry: Mapping[str, Any], *, own: bool = False) -> Answer:
    """One entry of the call, every value checked. Raises InputError that names the fault."""
    params = Params("settle", entry)
    id = "" if own else params.required("id").removeprefix("#")
    keep = True if own else params.flag("keep", params.has("content"))
    content = _statement(params.text("content"))
    answer = Answer(
        id=id,
        keep=keep,
        content=content,
        kind=params.choice("kind", Kind),
        polarity=params.choice("polarity", Polarity),
        asked_as=keys_of(params),
        replaces=params.text("replaces", limit=40),
        importance=params.count("importance", 2, low=1, high=3),
        confidence=0.8 if (sure := params.share("confidence")) is None else sure,
    )
    params.done()
    if own and not content:
        raise InputError("settle: own: content is missing.", fix="Give the statement.")
    return answer


def _statement(text: str) -> str:
    """A statement on one line without secrets. Raises InputError when it is too long or holds what only memoryd writes."""
    text = one_line(text)
    if len(text) > MAX_STATEMENT:
        raise InputError(f"settle: content: {len(text)} characters are too many.", fix=f"One sentence, at most {MAX_STATEMENT}.")
    if _RESERVED.search(text):
        raise InputError("settle: content: holds a reserved tag.", fix="Write a plain sentence.")
    return harmless(redact(text).text)
