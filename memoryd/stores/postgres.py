"""Postgres store: memories as rows with their Markdown text, for many users and machines, searched by words and by meaning.

A row contains the text of the memory's file (`markdown`), which is the source of truth, and the values parsed from
it. Changes that can't be sent wait in an outbox and are applied once, in order. Until then, this machine's reads
include them. If two machines change a memory independently, the later version becomes current and the other one is
kept as an earlier version.
"""

from __future__ import annotations

import hashlib
import logging
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from memoryd.core import codec
from memoryd.core.clock import SystemClock
from memoryd.core.errors import BrokenFileError, DatabaseUnavailable, EmbeddingError, StoreError
from memoryd.core.postgres import Postgres, PostgresSession, read_vector, vector_text
from memoryd.core.protocols import Clock, Embedder, FloatArray
from memoryd.core.types import Backend, Hit, MemoryItem, Query, Scope, Source, Trust
from memoryd.stores import memory_file, postgres_schema
from memoryd.stores.fulltext import (
    ListPosition,
    QueryTerm,
    affordable,
    index_text,
    inverse_frequency,
    is_single_cjk,
    keys_of,
    query_words,
    searchable,
    word_hit,
)
from memoryd.stores.layout import canonical_path, id_in_name
from memoryd.stores.memory_file import StoredFile
from memoryd.stores.outbox import Outbox, QueuedWrite
from memoryd.stores.prefetch import PrefetchCache
from memoryd.stores.rows import Dialect, from_payload, seconds, where
from memoryd.stores.sync import SyncReport
from memoryd.stores.vector import QueryCosines
from memoryd.stores.vector_matrix import unit_vectors

log = logging.getLogger(__name__)
POSTGRES = Dialect(mark="%s", source="source", has_tag="%s = ANY(@tags)", everything="true")
_CHUNK = 500
_PAGE = 1_000
MAX_POSITIONS = 16_000  # The maximum position in a tsvector.
MAX_LEXEME_BYTES = 2_000
MIN_IDF = 1e-6  # FTS5's floor for words found in most texts.
# Maximum age of the counts used for scores. They change little.
COUNTS_SECONDS = 60.0
COUNTS_KEPT = 5_000
# Up to this number of matching memories, all cosines are computed. An approximate index could miss hits behind a filter.
EXACT = 5_000
# In a large database the number grows with the root of its size: computing all cosines takes time in proportion to the
# matching memories, a filtered search in proportion to the inverse of their share (0.5 s and 1 s for 20,000 of a million).
EXACT_BY_ROOT = 30
HNSW_REACH = 200
HNSW_SCANNED = 100_000  # Rows that a filtered search examines before giving up.
CHANNEL_SECONDS = 30.0
MAX_MISSING = 2_000
LOOK_SECONDS = 600.0
COLUMNS = (
    "space id kind scope project session source status created_at expired_at valid_from valid_to tags digest payload"
    " markdown words length origin"
).split()
_MARKS = ", ".join("%s::tsvector" if name == "words" else "%s" for name in COLUMNS)
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS[2:])
_UPSERT = (
    f"INSERT INTO memoryd.memories ({', '.join(COLUMNS)}) VALUES ({_MARKS}) ON CONFLICT (space, id) DO UPDATE SET {_UPDATES}"
)
_REMOVED = (
    "INSERT INTO memoryd.removed (space, id, markdown, origin) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (space, id) DO UPDATE SET markdown = excluded.markdown, origin = excluded.origin"
)
# A teammate's text counts as a plain statement, which can't become a rule, until another member has approved it.
_UNREVIEWED = "(space LIKE 'team:%%' AND author <> session_user AND approved_by IS NULL)"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Row:
    """The stored row of a memory."""

    space: str
    item: MemoryItem
    markdown: str
    written_at: datetime
    origin: str
    author: str
    unreviewed: bool


class PostgresStore:
    """A MemoryStore in a Postgres database, with the interface of MarkdownStore. Thread-safe.

    Connects on first use, and creates or migrates the schema if the role may create schemas.

    Args:
        url: Address of the database. The login role is the user.
        home: Folder of the outbox.
        clock: Source of the current time.
        team: Team whose memories are read and written in addition to the user's own, or empty for none.
        dimensions: Size of the vectors in a new database.
    """

    def __init__(
        self, url: str, home: Path, clock: Clock | None = None, *, team: str = "", dimensions: int = postgres_schema.DIMENSIONS
    ) -> None:
        self.db = Postgres(url)
        self._clock = clock or SystemClock()
        self._team = team
        self._dimensions = dimensions
        self.origin = uuid.uuid4().hex[:12]
        self._outbox = Outbox(home / "outbox.db")
        self._sending = threading.RLock()
        self._tokens = self._outbox.db.tokenizer("porter", "unicode61", "remove_diacritics", "2")
        self._user = ""
        self._spaces: list[str] = []
        self._seen = 0
        self._backlog: dict[str, None] = {}
        self._counts: dict[str, tuple[float, float]] = {}
        self._corpus: tuple[float, float, float] = (-math.inf, 0.0, 1.0)
        self._stop = threading.Event()
        self._listener: threading.Thread | None = None
        self._pending: dict[str, MemoryItem | None] = {}
        for change in self._outbox.everything():
            self._note_pending(change)

    # Connection

    def run(self, work: Callable[[PostgresSession], T], *, patient: bool = False) -> T:
        """Run work in a transaction, after preparing the database and opening the user's spaces."""
        while not self._spaces:
            self.db.run(self._prepare, patient=patient)
        return self.db.run(work, patient=patient)

    def _prepare(self, session: PostgresSession) -> None:
        if not postgres_schema.migrate(session, self._dimensions):
            return
        user = str(session.value("SELECT session_user"))
        spaces = [f"user:{user}", *([f"team:{self._team}"] if self._team else [])]
        for space in spaces:
            session.execute("SELECT memoryd.open_space(%s)", (space,))
        self._seen = self._seen or int(session.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text"))
        self._user, self._spaces = user, spaces

    def _space_of(self, item: MemoryItem) -> str:
        if item.scope is Scope.TEAM and self._team:
            return f"team:{self._team}"
        return f"user:{self._user}"

    def close(self) -> None:
        """Stop listening and close all connections. Safe to call twice."""
        self._stop.set()
        if self._listener is not None:
            self._listener.join(5)
        self.db.close()
        self._outbox.close()

    # Writing

    def write(self, item: MemoryItem) -> str:
        """Store the item and return its id (see MemoryStore). If the database can't be reached, the item is queued.

        Raises:
            InputError: The item can't be stored.
            StoreError: The database refused it.
        """
        return self.write_many([item])[0]

    def write_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store items in transactions of 500. Return their ids in order."""
        ready = [memory_file.checked(item) for item in items]
        ids: list[str] = []
        for start in range(0, len(ready), _CHUNK):
            chunk = ready[start : start + _CHUNK]
            fresh = all(not item.id for item in chunk)
            named = [item if item.id else replace(item, id=codec.new_id()) for item in chunk]
            self._submit(QueuedWrite(self._clock.now().timestamp(), tuple(named), fresh=fresh))
            ids += [item.id for item in named]
        return ids

    def delete(self, id: str) -> None:
        """Remove the item. Its text is kept in the table of removed memories, so that `restore` can bring it back."""
        if codec.is_id(id):
            self._submit(QueuedWrite(self._clock.now().timestamp(), deleted=(id,)))

    def _submit(self, change: QueuedWrite) -> None:
        """Apply the change after all pending ones, or queue it."""
        with self._sending:
            try:
                self._send_waiting(patient=False)
                self.run(lambda session: self._apply(session, change, late=False))
            except DatabaseUnavailable as error:
                log.warning("a change could not be sent and stays queued: %s", error)
                self._outbox.add([change])
                self._note_pending(change)
            self._forget_counts()

    def _note_pending(self, change: QueuedWrite) -> None:
        self._pending |= {item.id: item for item in change.items} | dict.fromkeys(change.deleted)

    def send_waiting(self) -> int:
        """Send the pending changes in order. Return their number.

        Raises:
            DatabaseUnavailable: The database can't be reached.
        """
        with self._sending:
            return self._send_waiting(patient=True)

    def _send_waiting(self, patient: bool) -> int:
        sent = 0
        while waiting := self._outbox.waiting():
            for change in waiting:
                self._send(change, patient)
                self._outbox.remove(change)
                self._backlog |= dict.fromkeys(item.id for item in change.items)
                sent += 1
        if sent:
            self._pending.clear()
            log.info("sent %d queued changes", sent)
        return sent

    def _send(self, change: QueuedWrite, patient: bool) -> None:
        """Send one pending change. If the database refuses it, report and drop it, so that it does not block the others."""
        try:
            self.run(lambda session: self._apply(session, change, late=True), patient=patient)
        except DatabaseUnavailable:
            raise
        except StoreError as error:
            ids = ", ".join(item.id for item in change.items) or ", ".join(change.deleted)
            log.warning("the database refused a queued change (%s): %s", ids, error)

    def waiting(self) -> int:
        """Return the number of changes waiting for the database."""
        return self._outbox.count()

    def _apply(self, session: PostgresSession, change: QueuedWrite, *, late: bool) -> None:
        recorded = "INSERT INTO memoryd.applied (operation) VALUES (%s) ON CONFLICT DO NOTHING RETURNING 1"
        if session.value(recorded, (change.operation,)) is None:
            return  # It was applied, and only the confirmation was lost.
        latest = {item.id: item for item in change.items}
        found = {} if change.fresh else self._locked_rows(session, [*latest, *change.deleted])
        newer = self._newer(session, change, found) if late else set()
        self._apply_items(session, [latest[id] for id in sorted(latest) if id not in newer], found)
        for id in newer & latest.keys():
            row = found[id]
            session.execute("SELECT memoryd.note_version(%s, %s, %s)", (row.space, id, memory_file.render(latest[id]).decode()))
        for id in change.deleted:
            if id in found and id not in newer:
                self._remove(session, found[id])

    def _locked_rows(self, session: PostgresSession, ids: Sequence[str]) -> dict[str, _Row]:
        """Lock and return the rows with these ids, always in the same order so that two writers can't deadlock."""
        rows = session.execute(
            f"SELECT id, space, payload, markdown, written_at, origin, author, {_UNREVIEWED} FROM memoryd.memories"
            " WHERE space = ANY(%s) AND id = ANY(%s) ORDER BY space DESC, id FOR UPDATE",
            (self._spaces, sorted(set(ids))),
        )
        return {row[0]: _Row(row[1], from_payload(row[2]), *row[3:]) for row in reversed(rows)}

    def _newer(self, session: PostgresSession, change: QueuedWrite, found: Mapping[str, _Row]) -> set[str]:
        """Return the ids that another machine has changed since this change was made."""
        age = max(0.0, self._clock.now().timestamp() - change.at)
        made: datetime = session.value("SELECT clock_timestamp() - make_interval(secs => %s)", (age,))
        return {id for id, row in found.items() if row.origin != self.origin and row.written_at > made}

    def _apply_items(self, session: PostgresSession, items: Sequence[MemoryItem], found: Mapping[str, _Row]) -> None:
        values, moved = [], []
        for item in items:
            row, space = found.get(item.id), self._space_of(item)
            if row is not None and row.unreviewed and _is_upkeep(_as_statement(row.item), item):
                # It remains its author's.
                item = replace(item, source=row.item.source, pinned=row.item.pinned, check=row.item.check)
            markdown = _markdown_of(item, row)
            if row is not None and row.space != space:
                moved.append((row.space, item.id))
            elif row is not None and row.markdown == markdown:
                continue
            values.append(self._values(item, space, markdown))
        session.executemany("DELETE FROM memoryd.memories WHERE space = %s AND id = %s", moved)
        session.executemany(_UPSERT, values)

    def _values(self, item: MemoryItem, space: str, markdown: str) -> tuple[Any, ...]:
        plain = codec.item_to_dict(item)
        words, length = self._word_vector(item)
        return (
            space,
            item.id,
            item.kind.value,
            item.scope.value,
            _text(item.project),
            _text(item.session),
            item.source.value,
            item.status.value,
            seconds(item.created_at),
            seconds(item.expired_at),
            seconds(item.valid_from),
            seconds(item.valid_to),
            [_text(tag) for tag in item.tags],
            codec.digest_of(plain),
            codec.item_to_json(item).decode(),
            markdown,
            words,
            length,
            self.origin,
        )

    def _remove(self, session: PostgresSession, row: _Row) -> None:
        session.execute(_REMOVED, (row.space, row.item.id, row.markdown, self.origin))
        session.execute("DELETE FROM memoryd.memories WHERE space = %s AND id = %s", (row.space, row.item.id))

    def restore(self, id: str) -> MemoryItem | None:
        """Restore a removed memory and return it. An existing memory is returned unchanged. Return None if there is neither."""
        return self._live(lambda session: self._restore(session, id)) if codec.is_id(id) else None

    def _restore(self, session: PostgresSession, id: str) -> MemoryItem | None:
        if live := self._locked_rows(session, [id]).get(id):
            return _as_statement(live.item) if live.unreviewed else live.item
        rows = session.execute(
            "DELETE FROM memoryd.removed WHERE space = ANY(%s) AND id = %s AND markdown IS NOT NULL RETURNING space, markdown",
            (self._spaces, id),
        )
        if not rows:
            return None
        space, markdown = rows[0]
        item = _parsed(id, markdown)
        session.executemany(_UPSERT, [self._values(item, space, markdown)])
        return item

    def purge(self, id: str) -> bool:
        """Delete the memory with its earlier versions and removed copies. Return whether there was anything to delete.

        Raises:
            DatabaseUnavailable: The database can't be reached. The deletion is not queued.
        """
        return self._live(lambda session: self._purge(session, id))

    def _purge(self, session: PostgresSession, id: str) -> bool:
        found = self._locked_rows(session, [id]).get(id)
        parameters = (self._spaces, id)
        copies = session.execute(
            "SELECT space FROM memoryd.removed WHERE space = ANY(%s) AND id = %s AND markdown IS NOT NULL", parameters
        )
        session.execute("DELETE FROM memoryd.memories WHERE space = ANY(%s) AND id = %s", parameters)
        session.execute("DELETE FROM memoryd.history WHERE space = ANY(%s) AND id = %s", parameters)
        for space in {row[0] for row in copies} | ({found.space} if found else set()):
            session.execute(_REMOVED, (space, id, None, self.origin))
        return bool(copies or found)

    def _live(self, work: Callable[[PostgresSession], T]) -> T:
        """Run work that can't be queued, after sending all pending changes."""
        with self._sending:
            self._send_waiting(patient=True)
            self._forget_counts()
            return self.run(work)

    # Reading

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist."""
        return self.fetch([id]).get(id)

    def fetch(self, ids: Sequence[str], query: Query | None = None) -> dict[str, MemoryItem]:
        """Return the items that exist and pass the query's filters, by id."""
        pending = self._pending
        known = [id for id in dict.fromkeys(ids) if codec.is_id(id)]
        out = {} if query else {id: item for id in known if (item := pending.get(id)) is not None}
        asked = known if query else [id for id in known if id not in pending]
        condition, parameters = _where(query) if query else ("true", [])
        for start in range(0, len(asked), _PAGE):
            chunk = asked[start : start + _PAGE]
            out |= self._items(f"id = ANY(%s) AND {condition} ORDER BY space DESC", [chunk, *parameters])
        return out

    def _items(self, condition: str, parameters: Sequence[Any]) -> dict[str, MemoryItem]:
        """Return items in the order of the condition. The user's own space comes last, so that it takes precedence."""
        return {item.id: item for item in self._select(condition, parameters)}

    def _select(self, condition: str, parameters: Sequence[Any]) -> list[MemoryItem]:
        sql = f"SELECT payload, {_UNREVIEWED} FROM memoryd.memories WHERE space = ANY(%s) AND {condition}"
        return [_read(*row) for row in self.run(lambda session: session.execute(sql, (self._spaces, *parameters)))]

    def all(self) -> Iterator[MemoryItem]:
        """Yield every item, ordered by id."""
        last = ""
        while page := self._select("id > %s ORDER BY id LIMIT %s", (last, _PAGE)):
            yield from page
            last = page[-1].id

    def page(self, query: Query, k: int, after: ListPosition | None = None) -> list[MemoryItem]:
        """Return the newest items that pass the filters, starting after the key `after`. The query's text is ignored."""
        condition, parameters = _where(query)
        if after is not None:
            moment = seconds(after.created_at)
            condition += " AND created_at <= %s AND (created_at < %s OR id > %s)"
            parameters += [moment, moment, after.id]
        return self._select(f"{condition} ORDER BY created_at DESC, id LIMIT %s", [*parameters, min(k, 2**31)]) if k > 0 else []

    def count(self, query: Query) -> int:
        """Return the number of items that pass the query's filters."""
        return int(self._ask("count(*)", query)[0][0])

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """Return (kind, status, count) of the items that pass the filters."""
        return [(kind, status, int(n)) for kind, status, n in self._ask("kind, status, count(*)", query, "GROUP BY kind, status")]

    def checked(self) -> list[MemoryItem]:
        """Return the items that have a check."""
        return [item for item in self._select("strpos(payload, %s) > 0", ('"check":{"',)) if item.check is not None]

    def projects(self) -> dict[str, int]:
        """Return the number of items per project, whatever their status."""
        return {project: int(n) for project, n in self._ask("project, count(*)", Query(statuses=()), "GROUP BY project")}

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the creation times of the oldest and the newest item."""
        ((first, last),) = self._ask("min(created_at), max(created_at)", Query(statuses=()))
        return (None, None) if first is None else (datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last, UTC))

    def digests(self) -> dict[str, str]:
        """Return the digest of each item by id."""
        return {id: digest for id, digest in self._ask("id, digest", Query(statuses=()))}

    def _ask(self, columns: str, query: Query, end: str = "") -> list[tuple[Any, ...]]:
        condition, parameters = _where(query)
        sql = f"SELECT {columns} FROM memoryd.memories WHERE space = ANY(%s) AND {condition} {end}"
        return self.run(lambda session: session.execute(sql, (self._spaces, *parameters)))

    def holds(self, query: Query) -> bool:
        """Return False if no item can pass the query's project and session."""
        if query.project is None and query.session is None:
            return True
        lasting = Query(project=query.project, session=query.session, statuses=())
        condition, parameters = _where(lasting)
        sql = f"SELECT EXISTS (SELECT 1 FROM memoryd.memories WHERE space = ANY(%s) AND {condition})"
        return bool(self.run(lambda session: session.value(sql, (self._spaces, *parameters))))

    def approve(self, id: str) -> None:
        """Approve the current text of a teammate's memory, so that it can become a rule for the whole team.

        Raises:
            StoreError: The user is its author, or the memory does not exist.
        """

        def work(session: PostgresSession) -> None:
            row = self._locked_rows(session, [id]).get(id)
            if row is None or row.space == f"user:{self._user}":
                raise StoreError(f"{id} is not a memory of the team.", fix="Share it first.")
            sql = "UPDATE memoryd.memories SET approved_by = session_user, origin = %s WHERE space = %s AND id = %s"
            session.execute(sql, (self.origin, row.space, id))

        self._live(work)

    def markdown(self, id: str) -> str | None:
        """Return the text of the memory's file, or None if it does not exist."""
        if (item := self._pending.get(id)) is not None:
            return memory_file.render(item).decode()
        rows = self.run(lambda session: self._locked_rows(session, [id]))
        return rows[id].markdown if id in rows else None

    def file_of(self, id: str) -> StoredFile | None:
        """Return the memory's text and the path that its file would have."""
        text, item = self.markdown(id), self.get(id)
        return StoredFile(canonical_path(item), text.encode()) if text is not None and item is not None else None

    def read_file(self, relative: str) -> bytes | None:
        """Return the text of the memory whose file would have this path, or None."""
        file = self.file_of(id_in_name(relative))
        return file.data if file is not None and file.path == relative else None

    def put_files(self, files: Mapping[str, bytes | None], mtimes_ns: Mapping[str, int]) -> list[Path]:
        """Store these texts unchanged. None removes the memory, unless the same call gives it another path.

        Raises:
            DatabaseUnavailable: The database can't be reached. Nothing was changed.
        """
        texts = {id_in_name(path): data.decode() for path, data in files.items() if data is not None}
        gone = sorted({id_in_name(path) for path in files} - texts.keys())
        self._live(lambda session: self._put_texts(session, texts, gone))
        self._backlog |= dict.fromkeys([*texts, *gone])
        return []

    def _put_texts(self, session: PostgresSession, texts: Mapping[str, str], gone: Sequence[str]) -> None:
        found = self._locked_rows(session, [*texts, *gone])
        parsed = {id: _parsed(id, text) for id, text in sorted(texts.items())}
        moved = [(row.space, id) for id, row in found.items() if id in parsed and row.space != self._space_of(parsed[id])]
        session.executemany("DELETE FROM memoryd.memories WHERE space = %s AND id = %s", moved)
        session.executemany(_UPSERT, [self._values(item, self._space_of(item), texts[id]) for id, item in parsed.items()])
        for id in gone:
            if id in found:
                self._remove(session, found[id])

    def fingerprint(self, id: str) -> str:
        """Return the SHA-256 of the memory's text, or an empty string if there is none."""
        text = self.markdown(id)
        return "" if text is None else hashlib.sha256(text.encode()).hexdigest()

    def versions(self, id: str) -> list[tuple[str, datetime, str]]:
        """Return the author, time and text of each earlier version of a memory, oldest first."""
        sql = "SELECT author, written_at, markdown FROM memoryd.history WHERE space = ANY(%s) AND id = %s ORDER BY written_at"
        return [(row[0], row[1], row[2]) for row in self.run(lambda session: session.execute(sql, (self._spaces, id)))]

    # Search by words

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return up to k hits, best first. `parts` contains `bm25` (the score) and `coverage` (see FullTextSearch)."""
        if k <= 0:
            return []
        if not query.text.strip():
            return [Hit(item, 0.0, Backend.MARKDOWN) for item in self.page(query, k)]
        terms = self._terms(query.text)
        scores = self._best(query, k, terms)
        items = self.fetch(list(scores))
        return [word_hit(items[id], score, terms, self._tokens) for id, score in scores.items() if id in items]

    def scores(self, query: Query, k: int = 8) -> dict[str, float]:
        """Return the BM25 scores by id, in order, of the hits that `search` would return for a text."""
        return self._best(query, k, self._terms(query.text)) if k > 0 else {}

    def _best(self, query: Query, k: int, terms: Sequence[QueryTerm]) -> dict[str, float]:
        found = sorted((term for term in terms if term.found), key=lambda term: (term.found, term.word))
        chosen = affordable(found)
        best = self._ranked(query, k, chosen)
        return self._ranked(query, k, found) if len(best) < k and len(chosen) < len(found) else best

    def _ranked(self, query: Query, k: int, terms: Sequence[QueryTerm]) -> dict[str, float]:
        """Return the ids and scores of the k best items. The filters are checked further down the ranking until k items pass."""
        if not terms:
            return {}
        most = 2 * k + 50
        while True:
            ranked = self._ranking(query, terms, most)
            passing = self._passing(query, [id for id, _ in ranked])
            out = {id: score for id, score in ranked if id in passing}
            if len(out) >= k or len(ranked) < most:
                return dict(list(out.items())[:k])
            most *= 16

    def _ranking(self, query: Query, terms: Sequence[QueryTerm], most: int) -> list[tuple[str, float]]:
        total, average = self._total()
        weights = [max(MIN_IDF, math.log((total - min(t.found, total) + 0.5) / (t.found + 0.5))) for t in terms]
        queries = [_ts_query(term) for term in terms]
        lexemes = [term.stems[0] if len(term.stems) == 1 and not is_single_cjk(term.word) else None for term in terms]
        sql = (
            "SELECT id, score FROM memoryd.find_words("
            "%s::text[]::tsquery[], %s::text[], %s::float8[], %s, %s, %s, %s) ORDER BY score DESC, id"
        )
        project = None if query.project is None else _text(query.project)
        parameters = (queries, lexemes, weights, average, self._spaces, project, min(most, 10**8))
        return [(id, float(score)) for id, score in self.run(lambda session: session.execute(sql, parameters))]

    def _passing(self, query: Query, ids: Sequence[str]) -> set[str]:
        condition, parameters = _where(query)
        sql = f"SELECT id FROM memoryd.memories WHERE space = ANY(%s) AND id = ANY(%s) AND {condition}"
        return {id for (id,) in self.run(lambda session: session.execute(sql, (self._spaces, list(ids), *parameters)))}

    def _terms(self, text: str) -> list[QueryTerm]:
        named: dict[tuple[str, ...], str] = {}
        for word in query_words(text):
            if stems := tuple(_fitting(self._tokens(word))):
                named.setdefault(stems, word)
        total = int(self._total()[0])
        terms = [QueryTerm(word, stems, 0, 0.0) for stems, word in named.items()]
        counts = self._frequencies(terms)
        return [
            replace(term, found=found, idf=inverse_frequency(total, min(found, total)))
            for term, found in zip(terms, counts, strict=True)
        ]

    def _frequencies(self, terms: Sequence[QueryTerm]) -> list[int]:
        """Return the number of items that contain each term. Counts are cached for a minute, or until this store writes."""
        now = time.monotonic()
        keys = [_ts_query(term) for term in terms]
        known = self._counts
        missing = [
            (key, term) for key, term in zip(keys, terms, strict=True) if key not in known or known[key][0] < now - COUNTS_SECONDS
        ]
        if missing:
            queries = [key for key, _ in missing]
            lexemes = [t.stems[0] if len(t.stems) == 1 and not is_single_cjk(t.word) else None for _, t in missing]
            sql = "SELECT memoryd.frequencies(%s::text[]::tsquery[], %s::text[], %s)"
            found = self.run(lambda session: session.value(sql, (queries, lexemes, self._spaces)))
            self._counts = known = ({} if len(known) > COUNTS_KEPT else known) | {
                key: (now, count) for key, count in zip(queries, found, strict=True)
            }
        return [math.ceil(known[key][1]) for key in keys]

    def _total(self) -> tuple[float, float]:
        """Return the number of items and their mean length in words, both cached for up to a minute."""
        at, items, average = self._corpus
        if at < time.monotonic() - COUNTS_SECONDS:
            sql = "SELECT items, average FROM memoryd.corpus(%s)"
            ((items, average),) = self.run(lambda session: session.execute(sql, (self._spaces,)))
            self._corpus = (time.monotonic(), items, average)
        return items, average

    def estimated_size(self) -> float:
        """Return the number of items, for a large space as estimated by the server."""
        return self._total()[0]

    def _forget_counts(self) -> None:
        if self._corpus[1] < postgres_schema.ESTIMATED:
            self._counts, self._corpus = {}, (-math.inf, 0.0, 1.0)

    def document_frequency(self, word: str) -> int:
        """Return the number of items that contain the word's stem."""
        stems = tuple(_fitting(self._tokens(word)))
        return self._frequencies([QueryTerm(word, stems, 0, 0.0)])[0] if stems else 0

    def size(self) -> int:
        """Return the number of items of any status. Large numbers are estimates."""
        return int(self._total()[0])

    def _word_vector(self, item: MemoryItem) -> tuple[str, int]:
        """Return the words of an item as a tsvector, and the number of words."""
        tokens = self._tokens(index_text(searchable(item)))
        keys = self._tokens(index_text("\n".join(keys_of(item))))
        places: dict[str, list[str]] = {}
        for place, token in enumerate([*tokens, "", *keys], 1):  # A gap, so that no phrase spans the two.
            if place <= MAX_POSITIONS and token and len(token.encode()) < MAX_LEXEME_BYTES:
                places.setdefault(token, []).append(str(place))
        return " ".join(f"{_quoted(token)}:{','.join(at[:255])}" for token, at in places.items()), len(tokens) + len(keys)

    # Following other machines

    def sync(self, changed: Iterable[Path] | None = None) -> SyncReport:
        """Return changes made by other machines, and queued changes sent by this one, since the last call."""
        with self._sending:
            backlog, self._backlog = self._backlog, {}
            try:
                report = self.run(self._changes)
                items = {item.id: item for item in report.changed} | self.fetch(list(backlog))
            except StoreError:
                self._backlog = backlog | self._backlog
                raise
        removed = {*report.removed, *backlog} - items.keys()
        if items or removed:
            self._forget_counts()
        return SyncReport(tuple(items.values()), tuple(sorted(removed)))

    def _changes(self, session: PostgresSession) -> SyncReport:
        # A transaction that began earlier may still commit with a lower number, so reading starts at the oldest one still
        # running.
        horizon = int(session.value("SELECT pg_snapshot_xmin(pg_current_snapshot())::text"))
        since = (self._spaces, str(self._seen), self.origin)
        condition = "space = ANY(%s) AND changed >= %s::xid8 AND origin <> %s"
        rows = session.execute(
            f"SELECT payload, {_UNREVIEWED} FROM memoryd.memories WHERE {condition} ORDER BY space DESC, id", since
        )
        gone = session.execute(
            f"SELECT id FROM memoryd.removed AS r WHERE {condition} AND NOT EXISTS"
            " (SELECT 1 FROM memoryd.memories AS m WHERE m.space = r.space AND m.id = r.id)",
            since,
        )
        self._seen = horizon
        return SyncReport(tuple(_read(*row) for row in rows), tuple(id for (id,) in gone))

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call `on_change` in a separate thread when another machine writes, and when a lost connection is restored.

        Pending changes are sent before the call.
        """
        self._listener = threading.Thread(target=self._listen, args=(on_change,), name="memoryd-listen", daemon=True)
        self._listener.start()

    def _listen(self, on_change: Callable[[], None]) -> None:
        pause = 0.5
        while not self._stop.is_set():
            try:
                for note in self._notes():
                    pause = 0.5
                    if note or self._outbox.count():
                        self.send_waiting()
                        on_change()
            except DatabaseUnavailable as error:
                log.info("listening: %s", error.message)
            except StoreError as error:
                if not self._stop.is_set():
                    log.warning("failed to follow the database: %s", error)
            self._stop.wait(pause)
            pause = min(2 * pause, CHANNEL_SECONDS)

    def _notes(self) -> Iterator[bool]:
        """Yield True once connected and for each notification from another machine in our spaces. Yield False for all others."""
        first = True
        for note in self.db.notifications(postgres_schema.CHANNEL, self._stop):
            ours = {hashlib.md5(space.encode(), usedforsecurity=False).hexdigest() for space in self._spaces}
            space, _, origin = note.partition(" ")
            yield first or (space in ours and origin != self.origin)
            first = False

    # Methods needed only for files

    def path_of(self, id: str) -> Path | None:
        """Return None, because rows have no files."""
        return None

    def broken(self) -> list[BrokenFileError]:
        """Return an empty list, because unparsable text is never stored."""
        return []

    def last_sync(self) -> datetime | None:
        """Return None, because there is no folder to compare."""
        return None

    def flush(self) -> None:
        """Do nothing, because there is no keyword file."""

    def scrub(self) -> None:
        """Delete the records of changes applied more than a month ago. Postgres itself removes deleted texts."""
        self.run(lambda session: session.execute("DELETE FROM memoryd.applied WHERE at < now() - interval '30 days'"))

    def rebuild(self) -> None:
        """Rebuild the search words of every row from its text."""
        sql = "UPDATE memoryd.memories SET words = %s::tsvector, length = %s WHERE space = ANY(%s) AND id = %s"
        last = ""
        while page := self._select("id > %s ORDER BY id LIMIT %s", (last, _PAGE)):
            self.run(
                partial(PostgresSession.executemany, sql=sql, rows=[(*self._word_vector(i), self._spaces, i.id) for i in page])
            )
            last = page[-1].id


class PostgresVectors:
    """The vectors of a PostgresStore, with the interface of MeaningIndex.

    A database stores the vectors of one model. With any other model, every call raises EmbeddingError, and searches
    use only words.
    """

    def __init__(
        self,
        store: PostgresStore,
        embedder: Embedder,
        enqueue: Callable[[Sequence[str]], None],
        read_key: Callable[[str], str] = str,
    ) -> None:
        self._store = store
        self._enqueue = enqueue
        self._embedder = embedder
        self._read_key = read_key
        self._queries = PrefetchCache(self._embed_query, "embed-query")
        self._claimed = ""
        self._next_look = 0.0
        self._matching: dict[tuple[Any, ...], tuple[float, int]] = {}

    def _is_ours(self, session: PostgresSession) -> bool:
        """Return whether the database contains vectors of this model. The first model to ask claims the database."""
        if not self._claimed:
            self._claimed = str(session.value("SELECT memoryd.claim_model(%s)", (self._embedder.name,)))
        return self._claimed == self._embedder.name

    def _check_model(self, session: PostgresSession) -> None:
        if not self._is_ours(session):
            what = f"The database contains vectors of {self._claimed}, not of {self._embedder.name}."
            raise EmbeddingError(what, fix="Set 'embedder' to that model. Until then, only word search is used.")

    def write_many(self, items: Iterable[MemoryItem]) -> None:
        """Embed and store items whose texts have changed, except those still queued for the database.

        Does nothing if the database contains vectors of another model. Searches report this.

        Raises:
            EmbeddingError: Embedding failed.
        """
        everything = {item.id: item for item in items}
        held = self._store.run(lambda session: self._made_from(session, list(everything)))
        fresh = [item for item in everything.values() if item.id in held and held[item.id][1] != _made_from(item)]
        rows: list[tuple[Any, ...]] = []
        for item, vectors in zip(fresh, self._embed(fresh), strict=True):
            space, made_from = held[item.id][0], _made_from(item)
            texts = ("", *keys_of(item))
            rows += [
                (space, item.id, part, _text(key), made_from, vector_text(vector))
                for part, (key, vector) in enumerate(zip(texts, vectors, strict=True))
            ]
        if rows:
            self._store.run(lambda session: self._put(session, rows))

    def _made_from(self, session: PostgresSession, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
        if not self._is_ours(session):
            return {}
        sql = (
            "SELECT m.id, m.space, coalesce(v.made_from, '') FROM memoryd.memories AS m LEFT JOIN memoryd.vectors AS v"
            " ON v.space = m.space AND v.id = m.id AND v.part = 0 WHERE m.space = ANY(%s) AND m.id = ANY(%s)"
        )
        return {id: (space, made_from) for id, space, made_from in session.execute(sql, (self._spaces, list(ids)))}

    @property
    def _spaces(self) -> list[str]:
        return self._store._spaces

    def _embed(self, items: Sequence[MemoryItem]) -> list[list[FloatArray]]:
        """Return the vectors of the statement and the keys of each item."""
        if not items:
            return []
        statements = unit_vectors(self._embedder.embed([item.content for item in items]), len(items), self._embedder.name)
        keys = [self._read_key(key) for item in items for key in keys_of(item)]
        asked = iter(unit_vectors(self._embedder.embed_queries(keys), len(keys), self._embedder.name) if keys else ())
        return [[statement, *(next(asked) for _ in keys_of(item))] for item, statement in zip(items, statements, strict=True)]

    def _put(self, session: PostgresSession, rows: Sequence[tuple[Any, ...]]) -> None:
        gone = sorted({(row[0], row[1]) for row in rows})
        live = {
            pair
            for pair in gone
            if session.value("SELECT 1 FROM memoryd.memories WHERE space = %s AND id = %s FOR KEY SHARE", pair) is not None
        }
        session.executemany("DELETE FROM memoryd.vectors WHERE space = %s AND id = %s", gone)
        marks = "VALUES (%s, %s, %s, %s, %s, %s::halfvec) ON CONFLICT DO NOTHING"
        session.executemany(f"INSERT INTO memoryd.vectors {marks}", [row for row in rows if (row[0], row[1]) in live])

    def missing(self, most: int) -> list[str]:
        """Return ids of memories without a vector."""
        if not self._store.run(self._is_ours):
            return []
        sql = (
            "SELECT id FROM memoryd.memories AS m WHERE space = ANY(%s) AND NOT EXISTS"
            " (SELECT 1 FROM memoryd.vectors AS v WHERE v.space = m.space AND v.id = m.id) LIMIT %s"
        )
        return [id for (id,) in self._store.run(lambda session: session.execute(sql, (self._spaces, most)))]

    def catch_up(self) -> None:
        """Queue memories without a vector for embedding. The first machine to get to them embeds them."""
        self._enqueue(self.missing(MAX_MISSING))

    def vectors(self) -> dict[str, FloatArray]:
        """Return the unit vectors of all embedded statements, by id. Vectors of another model are never returned."""
        if not self._store.run(self._is_ours):
            return {}
        sql = "SELECT id, embedding::text FROM memoryd.vectors WHERE space = ANY(%s) AND part = 0"
        rows = self._store.run(lambda session: session.execute(sql, (self._spaces,)))
        return {id: read_vector(text) for id, text in rows}

    def scores(self, query: Query, k: int) -> dict[str, float]:
        """Return the cosines of the nearest items by id, nearest first. Items with a cosine of 0 or less are omitted."""
        if k <= 0:
            return {}
        vector = vector_text(self.query_vector(query.text))
        exact = max(EXACT, int(EXACT_BY_ROOT * math.sqrt(self._store.estimated_size())))
        found = self._store.run(lambda session: self._nearest(session, vector, query, k, exact))
        best: dict[str, float] = {}
        for id, cosine in found:
            best[id] = max(best.get(id, 0.0), round(float(cosine), 6))
        ranked = sorted(((id, cosine) for id, cosine in best.items() if cosine > 0), key=lambda pair: (-pair[1], pair[0]))
        return dict(ranked[:k])

    def _nearest(self, session: PostgresSession, vector: str, query: Query, k: int, exact: int) -> list[tuple[Any, ...]]:
        self._check_model(session)
        condition, parameters = _where(query, "m")
        distance = "v.embedding <=> %s::halfvec"
        if self._count(session, condition, parameters, exact + 1) <= exact:
            # The sum keeps the planner from using the approximate index.
            distance = f"({distance}) + 0"
        else:
            session.execute(f"SET LOCAL hnsw.ef_search = {max(HNSW_REACH, min(1000, 2 * k))}")
            session.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            session.execute(f"SET LOCAL hnsw.max_scan_tuples = {HNSW_SCANNED}")
        sql = (
            f"SELECT v.id, 1 - (v.embedding <=> %s::halfvec) FROM memoryd.vectors AS v JOIN memoryd.memories AS m"
            f" ON m.space = v.space AND m.id = v.id WHERE v.space = ANY(%s) AND m.space = ANY(%s) AND {condition}"
            f" ORDER BY {distance} LIMIT %s"
        )
        # One memory can take several places in the result because of its keys.
        return session.execute(sql, (vector, self._spaces, self._spaces, *parameters, vector, 3 * k + 20))

    def _count(self, session: PostgresSession, condition: str, parameters: Sequence[Any], most: int) -> int:
        """Return the number of matching memories, up to `most`. It reads a row for each, so it is cached for a minute."""
        key, now = (condition, most, *map(repr, parameters)), time.monotonic()
        at, count = self._matching.get(key, (-math.inf, 0))
        if at < now - COUNTS_SECONDS:
            some = f"SELECT 1 FROM memoryd.memories AS m WHERE m.space = ANY(%s) AND {condition} LIMIT {most}"
            count = int(session.value(f"SELECT count(*) FROM ({some}) AS limited", (self._spaces, *parameters)))
            self._matching = ({} if len(self._matching) > COUNTS_KEPT else self._matching) | {key: (now, count)}
        return count

    def score(self, text: str, ids: Sequence[str]) -> dict[str, float]:
        """Return the cosine of each item that has a vector."""
        return {id: cosines.best for id, cosines in self.compare(text, ids).items()}

    def compare(self, text: str, ids: Sequence[str]) -> dict[str, QueryCosines]:
        """Return the cosines of the text with the statement and the keys of each item that has a vector."""
        if not ids or not text.strip():
            return {}
        vector = vector_text(self.query_vector(text))
        sql = (
            "SELECT id, key, part, 1 - (embedding <=> %s::halfvec) FROM memoryd.vectors"
            " WHERE space = ANY(%s) AND id = ANY(%s) ORDER BY space, id, part"
        )

        def work(session: PostgresSession) -> list[tuple[Any, ...]]:
            self._check_model(session)
            return session.execute(sql, (vector, self._spaces, list(ids)))

        rows = self._store.run(work)
        out: dict[str, QueryCosines] = {}
        for id, key, part, cosine in rows:
            value = round(float(cosine), 6)
            if part == 0:
                out[id] = QueryCosines(value)
            elif id in out:
                out[id] = replace(out[id], keys=(*out[id].keys, value), texts=(*out[id].texts, key))
        return out

    def query_vector(self, text: str) -> FloatArray:
        """Return the unit vector of a query."""
        return self._queries.get(text)

    def prepare(self, text: str) -> None:
        """Start embedding a query in the background."""
        self._queries.prepare(text)

    def _embed_query(self, text: str) -> FloatArray:
        vector: FloatArray = unit_vectors(self._embedder.embed_queries([text]), 1, self._embedder.name)[0]
        return vector

    def delete(self, id: str) -> None:
        """Do nothing, because vectors are deleted together with their memory."""

    def scrub(self) -> None:
        """Do nothing, because Postgres itself removes deleted vectors."""

    def maintain(self) -> None:
        """Every ten minutes, queue memories for embedding that other machines have left without vectors."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_SECONDS
            self.catch_up()

    def rebuild(self) -> None:
        """Embed everything again."""
        self._store.run(lambda session: session.execute("DELETE FROM memoryd.vectors WHERE space = ANY(%s)", (self._spaces,)))
        self.catch_up()

    def close(self) -> None:
        """Stop the worker thread."""
        self._queries.close()


def _read(payload: str, unreviewed: bool) -> MemoryItem:
    return _as_statement(from_payload(payload)) if unreviewed else from_payload(payload)


def _as_statement(item: MemoryItem) -> MemoryItem:
    """Return a teammate's item, demoted to a plain statement if it claims to be an instruction or a reviewed rule."""
    claims = item.trust in (Trust.INSTRUCTION, Trust.TEAM)
    return replace(item, source=Source.IMPORT, pinned=False, check=None) if claims else item


def _is_upkeep(old: MemoryItem, new: MemoryItem) -> bool:
    """Return whether two versions differ only in fields changed by maintenance (see `says_the_same` in the schema)."""
    return new == replace(old, relevancy=new.relevancy, links=new.links, asked_as=new.asked_as, backends=new.backends)


def _text(text: str) -> str:
    """Return a text as stored in a column, without NUL and lone surrogates. The payload contains the exact value."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _where(query: Query, alias: str = "") -> tuple[str, list[Any]]:
    condition, parameters = where(query, alias, POSTGRES if not alias else replace(POSTGRES, source=f"{alias}.source"))
    return condition, [_text(value) if isinstance(value, str) else value for value in parameters]


def _markdown_of(item: MemoryItem, row: _Row | None) -> str:
    """Return the new text of a memory. Keys and comments that other tools added to the current text are kept."""
    if row is None:
        return memory_file.render(item).decode()
    data, place = row.markdown.encode(), canonical_path(row.item)
    file = memory_file.read(data, f"{row.space}/{item.id}", place, 0)
    return memory_file.update(file, item, f"{row.space}/{item.id}", place).decode()


def _parsed(id: str, markdown: str) -> MemoryItem:
    return memory_file.read(markdown.encode(), id, f"{id}.md", 0).item


def _made_from(item: MemoryItem) -> str:
    """Return a digest of the texts embedded for an item."""
    return hashlib.sha256("\0".join((item.content, *keys_of(item))).encode("utf-8", "replace")).hexdigest()[:32]


def _fitting(tokens: Sequence[str]) -> list[str]:
    return [token for token in tokens if len(token.encode()) < MAX_LEXEME_BYTES]


def _quoted(token: str) -> str:
    escaped = token.replace("\\", "\\\\").replace("'", "''").replace("\0", "")
    return f"'{escaped}'"


def _ts_query(term: QueryTerm) -> str:
    """Return the tsquery of a term: a word, a phrase, or the start of a pair of CJK characters."""
    words = " <-> ".join(map(_quoted, term.stems))
    return f"{words}:*" if is_single_cjk(term.word) else f"({words})" if len(term.stems) > 1 else words
