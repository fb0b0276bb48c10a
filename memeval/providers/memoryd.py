"""memoryd, running in process. This is the only provider that imports memoryd.

Each scope has its own home folder under the work folder. In a shared folder, the word statistics of one case would
affect the scores of another, so a resumed run could differ. A turn (or a round, with the option `unit`) becomes one
memory. Its text is the content, its turn ids are the evidence lines, and its time is both transaction time and valid
time. In chats, user turns are tagged. In conversations between people, the text includes the names. Ids are derived
only from the turns, so ingestion is idempotent and ties are broken in the same way in every run.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from memeval import registry
from memeval.core.errors import ProviderError
from memeval.core.protocols import Capabilities
from memeval.core.types import GRANULARITIES, HookCall, Retrieved, SearchRequest, Session
from memeval.providers.local import LocalProvider, Options
from memeval.providers.memoryd_guard import NO_TIME, GuardedProject, in_utc
from memeval.providers.retrieval import (
    CONTEXT_CHARACTERS,
    NamedEmbedder,
    RetrievalUnit,
    Vectors,
    best,
    cut,
    in_context,
    with_times,
)
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings, setting_names, with_flags
from memoryd.core.errors import MemorydError
from memoryd.core.protocols import LLM, Embedder, FloatArray, QueryTokens, TokenEncoder
from memoryd.core.types import USER_TAG, Evidence, Hit, Kind, MemoryItem, Query, Source
from memoryd.daydream.key_writer import with_keys
from memoryd.daydream.readers import choose, make_llm
from memoryd.embed import make_embedder, make_encoder
from memoryd.service import Orchestrator

OPEN_SCOPES = 4
EMBED_CHARACTERS = 480
REACH = 100
PROJECT = "conversation"
CONTEXT, QUESTION = EXPANSIONS = ("context", "question")
_FIX = "Run 'memoryd doctor'."


class _ShortEmbedder:
    """An embedder that only embeds the start of each text, because embedding 500 long turns in full takes minutes."""

    def __init__(self, inner: Embedder, characters: int) -> None:
        self._inner = inner
        self._characters = characters or None

    @property
    def name(self) -> str:
        return f"{self._inner.name}/{self._characters or 'all'}"

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> FloatArray:
        return self._inner.embed([text[: self._characters] for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        return self._inner.embed_queries(texts)


class _ShortEncoder:
    """An encoder that returns token vectors for the start of each text, in the context of the end of the previous text."""

    def __init__(self, inner: TokenEncoder, characters: int) -> None:
        self._inner = inner
        self._characters = characters

    @property
    def name(self) -> str:
        return f"{self._inner.name}/{self._characters}"

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        size = self._characters
        return self._inner.encode([text[:size] for text in texts], [context[-size:] for context in contexts])

    def encode_query(self, text: str) -> QueryTokens:
        return self._inner.encode_query(text)


class _TextEmbedder(_ShortEmbedder):
    """Adapts memoryd's embedder for other providers, converting its errors to memeval's."""

    def embed(self, texts: Sequence[str]) -> FloatArray:
        with _as_provider_error("embed"):
            return super().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        with _as_provider_error("embed"):
            return np.asarray(self._inner.embed_queries([text])[0], dtype=np.float32)


def text_embedder(name: str, characters: int = 0) -> NamedEmbedder:
    """Create a memoryd embedder by name (bge-small or hash), for use by other providers.

    `characters` is the number of characters to embed per text, or 0 for all. Raises ProviderError for an unknown name.
    """
    with _as_provider_error("embed"):
        return _TextEmbedder(make_embedder(Settings(home=Path(), embedder=name)), characters)


@contextmanager
def _as_provider_error(doing: str) -> Iterator[None]:
    try:
        yield
    except MemorydError as error:
        raise ProviderError(f"memoryd could not {doing}: {error.message}", fix=error.fix or _FIX) from error


@registry.provider("memoryd")
class MemorydProvider(LocalProvider):
    """A provider that runs memoryd.

    The option `unit` is turn or round. `embedCharacters` is the number of characters to embed per memory, or 0 for
    all. `settings` may contain any of memoryd's settings.

    If `keyExpansion` is true or context, the previous text is added to the key of a memory. If it is question, the
    model in the settings writes keys for each memory, as with `memoryd reindex --keys`. `timeAware` raises the scores
    of hits from a time mentioned in the question.

    Tool calls are judged by the guard of a project whose day dream has read the sessions (see `memoryd_guard`).
    """

    capabilities = Capabilities(provenance=True, guard=True).searching("timeAware")

    def configure(self, options: Options) -> None:
        """Read the options."""
        self._unit = options.text("unit", "turn", GRANULARITIES[1:])
        self._characters = options.count("embedCharacters", EMBED_CHARACTERS)
        expansion = options.get("keyExpansion", False)
        if expansion not in (True, False, *EXPANSIONS):
            raise options.wrong("keyExpansion", expansion, f"true, false or one of {', '.join(EXPANSIONS)}")
        self._context = CONTEXT_CHARACTERS if expansion in (True, CONTEXT) else 0
        self._time_aware = options.flag("timeAware", False)
        with _as_provider_error("be set up"):
            self._settings = with_flags(Settings(home=Path()), **options.part("settings"))
            self._writer = _key_model(self._settings) if expansion == QUESTION else None
            embedder = make_embedder(self._settings)
            encoder = make_encoder(self._settings)
        self._encoder = _ShortEncoder(encoder, self._characters) if encoder and self._characters else encoder
        self._whole = embedder
        self._embedder = _ShortEmbedder(embedder, self._characters)
        self._services: OrderedDict[str, Orchestrator] = OrderedDict()
        self._in_use: Counter[str] = Counter()
        self._lock = threading.RLock()
        self._guarded: OrderedDict[str, GuardedProject] = OrderedDict()

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Store one memory for each turn or round. The vectors are computed in the background."""
        new = self.store.add(scope, sessions)
        by_user = frozenset(turn.id for session in sessions for turn in session.turns if turn.role == "user" and not turn.speaker)
        items = [_item(piece, by_user) for piece in in_context(cut(sessions, self._unit), self._context)]
        with self._service(scope) as service:
            if self._writer is not None:
                known = {item.id: item.asked_as for item in service.all()}  # A resumed run reuses existing keys.
                items = [replace(item, asked_as=known.get(item.id, ())) for item in items]
                items = [*with_keys(self._writer, [item for item in items if not item.asked_as]),
                         *(item for item in items if item.asked_as)]  # fmt: skip
            service.write_many(items)
        return {"sessions": len(sessions), "new": new, "memories": len(items)}

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Wait until every memory has its vector. Raises ProviderError if this takes too long or the embedder fails."""
        if not self.store.folder(scope).exists():
            return
        end = time.monotonic() + timeout_seconds
        with self._service(scope) as service:
            while not service.settle(min(1.0, max(0.0, end - time.monotonic()))):
                health = service.health()
                if health.embedder_error:
                    raise ProviderError(f"memoryd could not embed: {health.embedder_error}", fix=_FIX)
                if time.monotonic() >= end:
                    left = f"{health.waiting} memories still have no vector after {timeout_seconds:g} s"
                    raise ProviderError(f"memoryd: {left}.", fix="Allow more time.", transient=True)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Search with memoryd. Memories are merged into sessions if requested."""
        if not self.store.folder(scope).exists():
            return []
        sessions = self.store.all(scope)
        now = in_utc(request.at) if request.at else max((in_utc(session.at) for session in sessions), default=NO_TIME)
        wider = request.granularity != self._unit
        reach = max(request.k, REACH) if wider else request.k
        with self._service(scope) as service:
            hits = service.search(Query(text=request.text, project=PROJECT, now=now), reach)
        found = _placed(hits, cut(sessions, request.granularity))
        scores = np.array([hit.score for _, hit in found])
        if self._time_aware:
            scores = with_times(scores, [piece for piece, _ in found], request.text, request.at)
        return [_retrieved(*found[number], score) for number, score in best(scores, request.k)]

    def guard(self, scope: str, call: HookCall, before: Sequence[HookCall]) -> str:
        """Return memoryd's message about the call. The sessions are read at the first call of a scope."""
        with _as_provider_error("judge a call"), self._lock:
            if scope not in self._guarded:
                while len(self._guarded) >= OPEN_SCOPES:
                    self._guarded.popitem(last=False)[1].close()
                folder = self.store.folder(scope) / "guard"
                self._guarded[scope] = GuardedProject(folder, self._settings, self._whole, self.store.all(scope))
            self._guarded.move_to_end(scope)
            return self._guarded[scope].respond(call, before)

    @contextmanager
    def _service(self, scope: str) -> Iterator[Orchestrator]:
        """Yield the service of the scope. Scopes may be used concurrently, and a service in use is never closed."""
        with _as_provider_error("do its work"):
            with self._lock:
                service = self._opened(scope)
                self._in_use[scope] += 1
            try:
                yield service
            finally:
                with self._lock:
                    self._in_use[scope] -= 1

    def _opened(self, scope: str) -> Orchestrator:
        if scope not in self._services:
            settings = replace(self._settings, home=self.store.folder(scope) / "home")
            service = Orchestrator(settings, SystemClock(), self._embedder, encoder=self._encoder)
            self._services[scope] = service
            service.catch_up()
            idle = [name for name in self._services if name != scope and not self._in_use[name]]
            for name in idle[: max(0, len(self._services) - OPEN_SCOPES)]:
                self._services.pop(name).close()
        self._services.move_to_end(scope)
        return self._services[scope]

    def provenance(self) -> Mapping[str, Any]:
        """Return the embedder and the non-default settings."""
        defaults = Settings(home=Path())
        changed = {name: getattr(self._settings, name) for name in setting_names() if name != "home"}
        return {
            "index_backend": f"FTS5 and sqlite-vec by apsw, {self._embedder.name}",
            "settings": {name: value for name, value in changed.items() if value != getattr(defaults, name)},
        }

    def clear(self, scope: str) -> None:
        """Close the scope's services and delete its homes."""
        with self._lock:
            for opened in (self._services.pop(scope, None), self._guarded.pop(scope, None)):
                if opened is not None:
                    opened.close()
        super().clear(scope)

    def close(self) -> None:
        """Close all services."""
        with self._lock, _as_provider_error("be closed"):
            for opened in (self._services, self._guarded):
                while opened:
                    opened.popitem(last=False)[1].close()
        super().close()


def _key_model(settings: Settings) -> LLM:
    """Return the reading model in the settings. Raises InputError if the settings specify no model."""
    return make_llm(settings, choose(settings))


def _item(piece: RetrievalUnit, by_user: frozenset[str]) -> MemoryItem:
    digest = hashlib.sha256("\0".join(piece.turns).encode()).hexdigest()
    at = in_utc(piece.at)
    return MemoryItem(
        content=piece.key,
        id=f"mem_{digest[:12]}",
        kind=Kind.NOTE,
        project=PROJECT,
        session=piece.session,
        source=Source.IMPORT,
        tags=(USER_TAG,) if by_user.issuperset(piece.turns) else (),
        created_at=at,
        valid_from=at,
        evidence=Evidence(lines=piece.turns),
    )


def _placed(hits: Sequence[Hit], pieces: Sequence[RetrievalUnit]) -> list[tuple[RetrievalUnit, Hit]]:
    """Remove duplicate passages. A passage keeps the rank of its best hit."""
    owner = {id: piece for piece in pieces for id in piece.turns}
    out: dict[int, tuple[RetrievalUnit, Hit]] = {}
    for hit in hits:
        for id in hit.item.evidence.lines:
            if (piece := owner.get(id)) is not None:
                out.setdefault(piece.order, (piece, hit))
    return list(out.values())


def _retrieved(piece: RetrievalUnit, hit: Hit, score: float) -> Retrieved:
    return replace(piece.retrieved(score), metadata={"memory": hit.item.id, "relevancy": hit.relevancy})
