"""The common parts of all memory systems described by a YAML file (HTTP and MCP): sending data and parsing responses.

Values available to templates (see `http_client`):

- everywhere: `runTag` (the scope), `setup` (the response to the setup call)
- add: `id`, `content`, `session`, `at` (ISO 8601), `timestamp` (seconds), `turns` (ids), `metadata` (source of the unit, sent
  along so that answers can be traced), `messages` (role, speaker, content, at); with `unit: batch` all of these for each
  element of `items`; `embedding` of the content when `options.embedder` is set
- status: `id` (the value of `response.idField` in the add response)
- search: `query`, `k`, `at`, `embedding`
- clear: `ids` (from the add responses), or one of them as `id` with `eachId`
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memeval.core.calls import Stop
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.protocols import Provider
from memeval.core.types import EMPTY, Retrieved, SearchRequest, Session
from memeval.providers.http_client import SentLog, find, find_all, mentioned, roots
from memeval.providers.local import Options
from memeval.providers.memoryd import text_embedder
from memeval.providers.retrieval import RetrievalUnit, cut, render
from memeval.specs import AddUnit, EndpointSpec, EndpointsSpec, ProviderSpec, ToolSpec, ToolsSpec, key_of

EVERYWHERE = frozenset({"runTag", "setup"})
UNIT = frozenset({"id", "content", "messages", "session", "turns", "at", "timestamp", "metadata"})
QUERY = frozenset({"query", "k", "at"})


def check_calls(spec: ProviderSpec, calls: EndpointsSpec | ToolsSpec, *, embeds: bool) -> None:
    """Check the paths of the calls.

    Raises ConfigError with the file, line and key of a malformed path, or of a path to a value that is unavailable in the call.
    """
    key = place_of(calls)
    for one in fields(calls):
        call = getattr(calls, one.name)
        if call is None:
            continue
        known = _known(one.name, call) | ({"embedding"} if embeds and one.name in ("add", "search") else set())
        for part in ("path", "query", "headers", "body") if isinstance(call, EndpointSpec) else ("arguments",):
            for place, text, inside in _texts(getattr(call, part), f"{key}.{one.name}.{part}"):
                _check(spec, place, text, known | inside)
        for field in fields(call.response):
            if field.name not in ("pattern", "nothing"):
                _check_path(spec, f"{key}.{one.name}.response.{key_of(field.name)}", getattr(call.response, field.name))


def place_of(calls: EndpointsSpec | ToolsSpec) -> str:
    """Return the key in the file under which the calls are defined."""
    return "tools" if isinstance(calls, ToolsSpec) else "endpoints"


def _known(name: str, call: EndpointSpec | ToolSpec) -> frozenset[str]:
    if name == "add":
        return EVERYWHERE | (frozenset({"items", "session"}) if call.unit is AddUnit.BATCH else UNIT)
    others = {"status": frozenset({"id"}), "search": QUERY, "clear": frozenset({"ids", "id"})}
    return EVERYWHERE | others.get(name, frozenset())


def _texts(template: Any, key: str, inside: frozenset[str] = frozenset()) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield each string in a template with its dotted key and the additional values available there."""
    if isinstance(template, str):
        yield key, template, inside
    elif isinstance(template, Mapping):
        listed = set(template) == {"each", "item"}
        for name, value in template.items():
            yield from _texts(value, f"{key}.{name}", inside | {"item"} if listed and name == "item" else inside)
    elif isinstance(template, Sequence):
        for number, value in enumerate(template):
            yield from _texts(value, f"{key}[{number}]", inside)


def _check(spec: ProviderSpec, key: str, text: str, known: frozenset[str]) -> None:
    try:
        names = list(mentioned(text))
    except ConfigError as error:
        raise _wrong(spec, key, error) from None
    if wrong := [name for name in names if name and name not in known]:
        raise ConfigError(f"{spec.origin.where(key)}: there is no value {wrong[0]!r}.", fix=f"Known: {', '.join(sorted(known))}.")


def _check_path(spec: ProviderSpec, key: str, path: str) -> None:
    try:
        list(roots(path) if path else ())
    except ConfigError as error:
        raise _wrong(spec, key, error) from None


def _wrong(spec: ProviderSpec, key: str, error: ConfigError) -> ConfigError:
    return ConfigError(f"{spec.origin.where(key)}: {error.message}", fix=error.fix)


SESSION_KEY = "memeval_session"
TURNS_KEY = "memeval_turns"
READY = ("done", "completed", "complete", "ready", "success", "succeeded", "indexed", "processed", "true")
FAILED = ("failed", "error", "errored", "cancelled", "canceled")


@dataclass(frozen=True, slots=True)
class _Unit:
    """An add call, with its log key, its values and the pieces it sends."""

    key: str
    values: Mapping[str, Any]
    sources: tuple[str, tuple[str, ...]]


class RemoteProvider(Provider):
    """A memory system described by a YAML file. Subclasses make the calls.

    The options are `embedder` and `embedCharacters` (for systems that accept vectors), `batch` (the number of units per
    call), `maxQuery` (in characters, 0 for no limit) and `maxResults` (the maximum number of results to request, 0 for no
    limit).
    """

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any], calls: EndpointsSpec | ToolsSpec) -> None:
        self.spec = spec
        self._calls = calls
        read = Options(spec, options)
        embedder = read.text("embedder", "")
        self._embedder = text_embedder(embedder, read.count("embedCharacters", 2_000)) if embedder else None
        self._batch = read.count("batch", 100, least=1)
        self._longest_query = read.count("maxQuery", 0) or None
        self._most = read.count("maxResults", 0)
        read.finish()
        check_calls(spec, calls, embeds=self._embedder is not None)
        self.stop = Stop()
        self._log: SentLog | None = None

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self.spec.name

    def use_stop(self, stop: Stop) -> None:
        """Use this flag to interrupt waits after a stop has been requested."""
        self.stop = stop

    def call(self, call: Any, kind: str, scope: str, values: Mapping[str, Any], page: Mapping[str, Any] = EMPTY) -> Any:
        """Make one call and parse the response. `kind` is add, search, clear, status or setup."""
        raise NotImplementedError

    @property
    def log(self) -> SentLog:
        """The log of sent units. Raises ProviderError before `open`."""
        if self._log is None:
            raise ProviderError(f"Provider {self.name} is not open.", fix="Call open first.")
        return self._log

    def open(self, workdir: Path) -> None:
        """Open the log of sent units."""
        self._log = SentLog(workdir / "sent.db")

    # Ingest

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Send all unsent units. Each unit is recorded as soon as the system accepts it."""
        self._set_up(scope)
        sent = self.log.units(scope)
        fresh = 0
        for unit in self._units(sessions, sent):
            answer = self.call(self._calls.add, "add", scope, {**unit.values})
            self._note(scope, unit, answer)
            fresh += 1
        return {"sessions": len(sessions), "calls": fresh}

    def _set_up(self, scope: str) -> None:
        if self._calls.setup is not None and self.log.setup(scope) is None:
            answer = self.call(self._calls.setup, "setup", scope, {})
            self.log.set_setup(scope, {} if answer is None else answer)

    def _units(self, sessions: Sequence[Session], sent: set[str]) -> Iterator[_Unit]:
        unit = self._calls.add.unit
        if unit is AddUnit.SESSION:
            by_id = {session.id: session for session in sessions}
            for piece in cut(sessions, "session"):
                if piece.session not in sent:
                    yield _Unit(piece.session, self._values(piece, by_id[piece.session]), (piece.session, piece.turns))
            return
        for session in sessions:
            pieces = [piece for piece in cut([session], "turn") if piece.turns[0] not in sent]
            if unit is AddUnit.TURN:
                yield from (_Unit(p.turns[0], self._values(p, session), (p.session, p.turns)) for p in pieces)
                continue
            yield from self._batches(session, pieces)

    def _batches(self, session: Session, pieces: Sequence[RetrievalUnit]) -> Iterator[_Unit]:
        for start in range(0, len(pieces), self._batch):
            some = pieces[start : start + self._batch]
            turns = tuple(id for piece in some for id in piece.turns)
            items = [self._values(piece, session) for piece in some]
            yield _Unit("\n".join(turns), {"items": items, "session": session.id}, (session.id, turns))

    def _values(self, piece: RetrievalUnit, session: Session) -> dict[str, Any]:
        turns = [turn for turn in session.turns if turn.id in piece.turns]
        values: dict[str, Any] = {
            "id": piece.session if len(turns) != 1 or self._calls.add.unit is AddUnit.SESSION else piece.turns[0],
            "content": render(turns, piece.at),
            "session": piece.session,
            "turns": list(piece.turns),
            "at": _iso(piece.at),
            "timestamp": int(_utc(piece.at).timestamp()) if piece.at else None,
            "metadata": {SESSION_KEY: piece.session, TURNS_KEY: ",".join(piece.turns)},
            "messages": [
                {"role": t.role, "speaker": t.speaker or t.role, "content": t.text, "at": _iso(t.at or piece.at)} for t in turns
            ],
        }
        if self._embedder is not None:
            values["embedding"] = self._embedder.embed([piece.key])[0].tolist()
        return values

    def _note(self, scope: str, unit: _Unit, answer: Any) -> None:
        response = self._calls.add.response
        remotes = [str(id) for id in find_all(response.id_field, answer)] if response.id_field else []
        waits = self._calls.status is not None
        if waits and not remotes:
            problem = f"{self.name}: the response to add has nothing at {response.id_field!r}, so its indexing can't be followed"
            raise ProviderError(f"{problem}.", fix=f"Correct {place_of(self._calls)}.add.response.idField.")
        session, turns = unit.sources
        if self._calls.add.unit is AddUnit.BATCH:
            for number, turn in enumerate(turns):
                self.log.add(scope, turn, remotes[number] if number < len(remotes) else turn, (session, [turn]), not waits)
            return
        self.log.add(scope, unit.key, remotes[0] if remotes else unit.key, (session, turns), not waits)

    # Indexing

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Poll the status endpoint until all units are indexed. Raises ProviderError on a failure or timeout."""
        end = time.monotonic() + timeout_seconds
        while self._calls.status is not None and (waiting := self.log.waiting(scope)):
            for remote in waiting:
                if self._is_ready(self._calls.status, scope, remote):
                    self.log.set_ready(scope, remote)
                if time.monotonic() >= end:
                    break
            left = self.log.waiting(scope)
            if left and time.monotonic() >= end:
                problem = f"{self.name}: {len(left)} of the units are still not indexed after {timeout_seconds:g} s"
                raise ProviderError(f"{problem}.", fix="Allow more time.", transient=True)
            if left:
                self.stop.sleep(min(self.spec.rate_limit.poll_delay, max(0.0, end - time.monotonic())))

    def _is_ready(self, endpoint: EndpointSpec | ToolSpec, scope: str, remote: str) -> bool:
        answer = self.call(endpoint, "status", scope, {"id": remote})
        state = find(endpoint.response.status_field or "$.status", answer)
        word = str(state).lower()
        if word in [value.lower() for value in endpoint.failed_values or FAILED]:
            raise ProviderError(f"{self.name} could not index {remote}: {str(answer)[:300]}", fix="Check the system's own logs.")
        return word in [value.lower() for value in endpoint.ready_values or READY]

    # Search

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return up to k results in the system's order, requesting them page by page."""
        if request.k <= 0 or (not self.log.units(scope) and self.log.setup(scope) is None):
            return []
        return self._search(scope, request)

    def remaining(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the results still found in a scope after `clear`, if the file defines a clear call and no setup call.

        An ordinary search can't be used, because it depends on the log, which is empty by then. An error means that
        the scope no longer exists, so the result is empty.
        """
        if self._calls.clear is None or self._calls.setup is not None:
            return []
        try:
            return self._search(scope, request)
        except ProviderError:
            return []

    def _search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        found: list[Retrieved] = []
        for answer in self._pages(scope, request):
            found += self._results(scope, answer)
            if len(found) >= request.k:
                break
        return found[: request.k]

    def _pages(self, scope: str, request: SearchRequest) -> Iterator[Any]:
        endpoint = self._calls.search
        values: dict[str, Any] = {
            "query": request.text[: self._longest_query],
            "k": min(request.k, self._most or request.k),
            "at": _iso(request.at),
        }
        if self._embedder is not None:
            values["embedding"] = self._embedder.embed_query(request.text).tolist()
        paging = endpoint.paging if isinstance(endpoint, EndpointSpec) else None
        token: Any = None
        for number in range(paging.max_pages if paging else 1):
            extra = {} if paging is None or number == 0 else {paging.param: token}
            answer = self.call(endpoint, "search", scope, values, extra)
            yield answer
            if paging is None or not find_all(endpoint.response.results or "$", answer):
                return
            token = find(endpoint.response.next_page, answer) if endpoint.response.next_page else paging.start + number + 1
            if token is None or token is False or token == "":
                return

    def _results(self, scope: str, answer: Any) -> list[Retrieved]:
        """Return the results with a text.

        Raises ProviderError if there are results but none has a text, which indicates a wrong path.
        """
        response = self._calls.search.response
        results = find_all(response.results or "$", answer)
        found = [retrieved for result in results if (retrieved := self._retrieved(scope, result)) is not None]
        if not found and any(isinstance(result, str | int | float) or result for result in results) and not response.chunks_field:
            raise self._unreadable("contentField", response.content_field or response.results, "a text", results[0])
        return found

    def _retrieved(self, scope: str, result: Any) -> Retrieved | None:
        response = self._calls.search.response
        text = self._text(result)
        if not text:
            return None
        sessions, turns = self._sources(scope, result)
        at = _parse_time(find(response.timestamp_field, result)) if response.timestamp_field else None
        return Retrieved(text, self._score(result), sessions, turns, at)

    def _score(self, result: Any) -> float:
        """Return the score, or 0 if there is none.

        Raises ProviderError if the score isn't a finite number, because this would affect the order.
        """
        path = self._calls.search.response.score_field
        score = find(path, result) if path else None
        if score is None:
            return 0.0
        if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
            raise self._unreadable("scoreField", path, "a finite number", score)
        return float(score)

    def _unreadable(self, key: str, path: str, wanted: str, value: Any) -> ProviderError:
        shown = repr(value)[:120]
        where = self.spec.origin.where(f"{place_of(self._calls)}.search.response.{key}")
        return ProviderError(
            f"{self.name}: the search returned {shown} at {path} instead of {wanted}.",
            fix=f"Correct {where}; see `memeval check {self.name}`.",
        )

    def _text(self, result: Any) -> str:
        response = self._calls.search.response
        parts = [find(response.content_field, result)] if response.content_field else []
        if parts and parts[0] is not None and not isinstance(parts[0], str):
            raise self._unreadable("contentField", response.content_field, "a text", parts[0])
        if response.chunks_field:
            parts += find_all(response.chunks_field, result)
        texts = [part for part in parts if isinstance(part, str) and part.strip()]
        return "\n".join(dict.fromkeys(texts))

    def _sources(self, scope: str, result: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the sources of a result.

        They come from the metadata returned by the system, or else from the log of ids. Returns nothing if neither has them.
        """
        response = self._calls.search.response
        metadata = find(response.metadata_field, result) if response.metadata_field else None
        if isinstance(metadata, Mapping) and metadata.get(SESSION_KEY):
            turns = str(metadata.get(TURNS_KEY, ""))
            return (str(metadata[SESSION_KEY]),), tuple(turn for turn in turns.split(",") if turn)
        known: list[tuple[str, tuple[str, ...]]] = []
        for id in find_all(response.id_field, result) if response.id_field else []:
            if (sources := self.log.sources(scope, str(id))) is not None:
                known.append(sources)
        sessions = dict.fromkeys(session for session, _ in known)
        return tuple(sessions), tuple(dict.fromkeys(turn for _, turns in known for turn in turns))

    # Clearing, closing

    def clear(self, scope: str) -> None:
        """Delete the scope in the log, and in the system if the API supports it."""
        units = self.log.units(scope)
        if (units or self.log.setup(scope) is not None) and self._calls.clear is not None:
            self._clear(self._calls.clear, scope, self.log.remotes(scope))
        self.log.clear(scope)

    def _clear(self, call: EndpointSpec | ToolSpec, scope: str, ids: Sequence[str]) -> None:
        if call.each_id:
            for id in ids:
                self.call(call, "clear", scope, {"id": id, "ids": [id]})
        else:
            self.call(call, "clear", scope, {"ids": list(ids)})

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            self._log.close()
            self._log = None


def _utc(at: datetime) -> datetime:
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _iso(at: datetime | None) -> str | None:
    return _utc(at).isoformat() if at else None


def _parse_time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
