"""The Orchestrator: the only writer, and the only module that knows which stores exist.

The Markdown store, the source of truth, is written first. The graph follows in the same call. Vectors follow in the
background, because a model takes milliseconds per text. Indexes that are damaged, outdated or made by another model
are detected and rebuilt from the Markdown. Until then, queries are answered from the other indexes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from memoryd.core import candidates
from memoryd.core.clock import SKEW
from memoryd.core.config import Settings
from memoryd.core.errors import DatabaseUnavailable, EmbeddingError, InputError, NotFoundError
from memoryd.core.files import remove_stale_temporaries
from memoryd.core.ledger import Ledger
from memoryd.core.protocols import Clock, Embedder, FloatArray, TokenEncoder
from memoryd.core.types import HIDDEN_TAG, Backend, Hit, Link, LinkType, MemoryItem, Query, Related, Route, Scope, Status
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.embed.pairs import CrossEncoder
from memoryd.language import RULES, Assertion, Comparer, Comparison
from memoryd.language.gloss import gloss, in_english
from memoryd.lineage import earlier_wordings, is_undone, merged_ids, with_merges
from memoryd.retrieval import load_model
from memoryd.retrieval.ranking import CandidateSources, Ranker
from memoryd.stores.fulltext import key_of, parse_key
from memoryd.stores.graph import GraphStore, Subgraph
from memoryd.stores.indexing import (
    BackgroundIndexer,
    DerivedIndex,
    IndexHealth,
    LateIndex,
    MeaningIndex,
    T,
    Vectors,
    synchronise_index,
)
from memoryd.stores.manual_edits import ManualEdits
from memoryd.stores.markdown import MarkdownStore
from memoryd.stores.memory_file import StoredFile
from memoryd.stores.postgres import PostgresVectors
from memoryd.stores.primary import copy_all, open_primary
from memoryd.stores.sync import SyncReport
from memoryd.stores.tokens import TokenStore
from memoryd.stores.vector import VectorStore

log = logging.getLogger(__name__)
EVERY_PROJECT = "*"
CHECK_NEWEST = 50
HAD_MEMORIES_NOTE = "had memories"
_OFFLINE = Route(Backend.GRAPH, "offline", "the database can't be reached, so the copy on this machine was searched")
NAMES_OF_FILES = "names of files"  # Name under which the ledger records that old files were renamed.
MERGE_LINKS = "links of merges"  # Name under which the ledger records the one-time conversion.
# Maximum size of a batch whose links are written immediately. For a larger batch, links follow in the background,
# once it is durable and searchable by words.
LINKED_AT_ONCE = 100
# Maximum time that a purge waits for an embedding batch in progress, which may include the memory.
BATCH_SECONDS = 20.0
# Time after which an edited file is probably no longer open in an editor, and can get a name that fits its new text.
EDITOR_SECONDS = 900.0


class Orchestrator:
    """A MemoryStore over Markdown files, vectors and a graph. Thread-safe.

    Args:
        settings: All settings of memoryd.
        clock: Source of the current time.
        embedder: Embeds texts. With None (or `rank = bm25`), searches use only words.
        ledger: Records manual edits, if given.
        encoder: Token encoder for `rank = maxsim`. Without one, hits are ranked as with `hybrid`.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        embedder: Embedder | None = None,
        ledger: Ledger | None = None,
        encoder: TokenEncoder | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._embedder = embedder if settings.rank != "bm25" else None
        self._ledger = ledger
        self._manual_edits = ManualEdits(ledger)
        self._writing = threading.RLock()
        self._keeping = threading.RLock()
        self._unlinked: dict[str, None] = {}
        self._rebuilt: list[str] = []
        self.revision = 0
        self.checks_revision = 0
        self._checks: dict[str, MemoryItem] | None = None
        self._touched: set[str] = set()
        self._scrub_due = False
        self._reworded: set[str] = set()  # Memories that may have another text in the vector index.
        self._listing_due = False
        self._embedder_error = ""
        self._loaded = False
        primary = open_primary(settings, clock, self._embedder)
        self._markdown, self._database = primary.store, primary.database
        self._offline = ""
        self._graph = DerivedIndex(self._index_path("graph"), GraphStore, self._refill_graph, self._rebuilt)
        self._indexer = BackgroundIndexer(self._embed_waiting, self._on_embedding_error)
        self._vector: Vectors | None = self._make_vectors()
        self._late: LateIndex | None = None
        # Token vectors take a hundred times the space of a memory, so a shared database does not store them.
        local = self._database is None
        if local and encoder is not None and self._embedder is not None and settings.rank == "maxsim":
            self._late = LateIndex(self._index_path("tokens"), encoder, self._markdown, self._indexer.add, self._rebuilt)
        self.comparer = comparer_for(self._embedder)
        self.ranker = Ranker(settings, self._embedder.name if self._embedder else "")
        self.caught_up = False
        self._had_memories = False

    # Lifecycle

    def _make_vectors(self) -> Vectors | None:
        if self._embedder is None:
            return None
        if self._database is not None:
            return PostgresVectors(self._database, self._embedder, self._indexer.add, self._key_reader())
        return MeaningIndex(self._index_path("vector"), self._open_vector, self._refill_vector, self._rebuilt)

    def _key_reader(self) -> Callable[[str], str]:
        return in_english if self._embedder is not None and load_model().knows(self._embedder.name) else str

    def _open_vector(self, path: Path) -> VectorStore:
        assert self._embedder is not None
        return VectorStore(path, self._embedder, ann_threshold=self._settings.ann_threshold, read_key=self._key_reader())

    def _refill_graph(self, graph: GraphStore) -> None:
        synchronise_index(self._markdown, graph.digests(), graph.write_many, graph.delete)

    def _refill_vector(self, vector: VectorStore) -> None:
        synchronise_index(self._markdown, vector.digests(), self._enqueue, vector.delete)

    def _index_path(self, name: str) -> Path:
        return self._settings.paths.index / f"{name}.db"

    def catch_up(self) -> SyncReport:
        """Bring every index up to date with the Markdown files. Embedding continues in the background.

        If the memories are in an unreachable database, this is postponed until it is back (see `listen`).
        """
        try:
            return self._catch_up()
        except DatabaseUnavailable as error:
            self._note_offline(error)
            self.caught_up = True
            return SyncReport()

    def _catch_up(self) -> SyncReport:
        remove_stale_temporaries(self.folder)
        report = self.sync()
        self._rename_old_files()
        self._complete_supersessions()
        self._migrate_merges()
        self._graph.use(self._refill_graph)
        if self._vector is not None:
            with self._embedding():
                self._vector.catch_up()
        if self._late is not None:
            self._late.catch_up()
        self.caught_up = True
        self._offline = ""
        return report

    def _enqueue(self, items: Sequence[MemoryItem]) -> None:
        self._indexer.add(item.id for item in items)

    def _complete_supersessions(self) -> None:
        """Complete supersessions that were interrupted by a kill between their two writes."""
        for hit in self._markdown.search(Query(), CHECK_NEWEST):
            old = self._markdown.get(hit.item.supersedes) if hit.item.supersedes else None
            if old is not None and old.status is Status.ACTIVE:
                self._close_old(old, hit.item)

    def _migrate_merges(self) -> None:
        """Convert merges recorded by older versions to their own link type. This is done once."""
        if self._database is not None or self._ledger is None or self._ledger.is_done(MERGE_LINKS):
            return
        with self._writing:
            old = self._markdown.all()
            changed = [new for item in old if (new := with_merges(item, self._markdown.get)) is not item]
            if changed:
                self.write_many(changed)
            self._ledger.set_done(MERGE_LINKS)

    def _rename_old_files(self) -> None:
        """Rename the files of older versions, which were named by their ids alone. This is done once."""
        if not isinstance(self._markdown, MarkdownStore) or self._ledger is None or self._ledger.is_done(NAMES_OF_FILES):
            return
        with self._writing:
            self._markdown.rename_old()
            self._ledger.set_done(NAMES_OF_FILES)

    def warm(self) -> None:
        """Load the embedder and the glossary now, so that the first recall does not have to wait for them."""
        gloss("warm")
        if self._embedder is not None:
            with self._embedding():
                self._embedder.embed_queries(["warm"])
                self._loaded = True
                if self._late is not None:
                    self._late.warm()

    def settle(self, timeout: float = 60.0) -> bool:
        """Wait until all memories have vectors. Return False on timeout."""
        return self._indexer.settle(timeout)

    def close(self) -> None:
        """Stop background work and close all stores."""
        self._indexer.close()
        if self._scrub_due:
            with self._unless_offline():
                self.scrub()
        self.ranker.close()
        self._markdown.flush()
        self._markdown.close()
        self._graph.close()
        for index in (self._vector, self._late):
            if index is not None:
                index.close()

    # Background embedding

    def _embed_waiting(self, ids: Sequence[str]) -> None:
        self._link_waiting(ids)
        if self._vector is None:
            return
        found = self._markdown.fetch(ids)
        items = [found[id] for id in ids if id in found]
        self._vector.write_many(items)
        if self._late is not None:
            self._late.write(found)
        if not self._reworded.isdisjoint(ids):  # A scrub right after the change came before the old text was replaced here.
            self._reworded.difference_update(ids)
            self._scrub_due = True
        self._drop_purged(ids)
        self._embedder_error = ""

    def _drop_purged(self, ids: Sequence[str]) -> None:
        """Remove the vectors of memories that were deleted while being embedded."""
        with self._writing:  # A concurrent sync may still read deleted items from the graph.
            held = self._markdown.fetch(ids)
            if gone := [id for id in ids if id not in held]:
                self._unindex(gone)
                self._scrub_due = True

    def _on_embedding_error(self, error: EmbeddingError) -> None:
        self._embedder_error = str(error)

    @contextmanager
    def _embedding(self) -> Iterator[None]:
        try:
            yield
        except EmbeddingError as error:
            if not self._embedder_error:
                log.warning("embedder failed, using words only: %s", error)
            self._embedder_error = str(error)

    @contextmanager
    def _unless_offline(self) -> Iterator[None]:
        """Run postponable work. If the database can't be reached, record that instead of raising the error."""
        try:
            yield
        except DatabaseUnavailable as error:
            self._note_offline(error)

    def _note_offline(self, error: DatabaseUnavailable) -> None:
        if not self._offline:
            log.warning("working with the memories that reached this machine: %s", error)
        self._offline = error.message

    def listen(self, on_change: Callable[[], object]) -> bool:
        """Follow changes that other machines make to the database, calling `on_change` after each.

        Return False without a database.
        """
        if self._database is None:
            return False

        def follow() -> None:
            if self._offline:
                self.catch_up()
            self.sync(by_hand=False)
            on_change()

        self._database.listen(follow)
        return True

    # MemoryStore

    def writing(self) -> AbstractContextManager[object]:
        """Block all other writers in this process during a `with` block. Readers continue."""
        return self._writing

    def keeping(self) -> AbstractContextManager[object]:
        """Let no other statement be compared with the memories until this one is written.

        Otherwise, a statement that arrives twice at once would be new both times. Other writes need not wait.
        """
        return self._keeping

    def write(self, item: MemoryItem) -> str:
        """Store the item in the Markdown files, then in the indexes. Return its id."""
        return self.write_many([item])[0]

    def write_many(self, items: Sequence[MemoryItem]) -> list[str]:
        """Store items durably in one index transaction. Return their ids.

        Vectors follow in the background. For a large batch, so do links (see `settle`).
        """
        stamped = [self._with_check(self._stamped(item)) for item in items]
        with self._writing:
            self._touch_known([item.id for item in stamped if item.id])
            ids = self._markdown.write_many(stamped)
            self._index([replace(item, id=id) for item, id in zip(stamped, ids, strict=True)])
        return ids

    def _touch_known(self, ids: Sequence[str]) -> None:
        """Mark the projects of memories as touched before the memories are changed."""
        try:
            self._touch(self._markdown.fetch(ids).values())
        except DatabaseUnavailable as error:
            self._note_offline(error)
            self._touched.add(EVERY_PROJECT)

    def _known(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it is unknown here and the database can't be reached."""
        try:
            return self.get(id)
        except DatabaseUnavailable:
            return None

    def _stamped(self, item: MemoryItem) -> MemoryItem:
        if item.id or item.created_at.timestamp() > 0:
            return item
        return replace(item, created_at=self._clock.now())

    def _with_check(self, item: MemoryItem) -> MemoryItem:
        """Compile the check of a new or reworded rule. A check that the user edited or removed is not changed."""
        from memoryd.guard.binding import may_bind

        if not may_bind(item):
            return item
        before = self._known(item.id) if item.id else None
        if before is not None and (before.content, before.status) == (item.content, item.status):
            return item
        earlier = before or (self._known(item.supersedes) if item.supersedes else None)
        if item.check is not None and (earlier is None or item.check != earlier.check):
            return item
        from memoryd.guard.compile import compile_rule  # Slow to import, and needed by few processes.

        check = compile_rule(item.content)
        mode = item.check.mode if item.check else None
        return replace(item, check=replace(check, mode=mode) if check else None)

    def checked(self) -> Sequence[MemoryItem]:
        """Return the memories with a check. The result is cached and updated when memories change."""
        if self._checks is None:
            with self._writing:
                self._checks = {item.id: item for item in self._markdown.checked()}
                self.checks_revision += 1
        return list(self._checks.values())

    def contradictions(self, ids: Container[str]) -> list[tuple[MemoryItem, MemoryItem]]:
        """Return the pairs of memories that a link marks as contradictory, if one of them is among the given ones."""
        pairs = self._graph.use(lambda graph: graph.pairs(LinkType.CONTRADICTS))  # never waits for writers
        found = ((self._known(one), self._known(other)) for one, other in pairs if one in ids or other in ids)
        return [(one, other) for one, other in found if one is not None and other is not None]

    def _note_checks(self, items: Iterable[MemoryItem]) -> None:
        known = self._checks
        if known is None:
            return
        items = list(items)
        changed = {item.id: item for item in items if item.check is not None or item.id in known}
        if any(link.type is LinkType.CONTRADICTS and link.target in known for item in items for link in item.links):
            self.checks_revision += 1
        if changed:  # A new mapping, so that readers need no lock.
            self._checks = {id: item for id, item in {**known, **changed}.items() if item.check is not None}
            self.checks_revision += 1

    def _index(self, items: Sequence[MemoryItem]) -> None:
        self._note_memories()
        self._note_checks(items)
        self._touch(items)
        large = len(items) > LINKED_AT_ONCE
        if large:
            self._unlinked |= dict.fromkeys(item.id for item in items)
        else:
            self._write_links(items)
        if self._vector is not None or large:
            self._enqueue(items)

    def _write_links(self, items: Sequence[MemoryItem]) -> None:
        self._graph.use(lambda graph: graph.write_many(items))

    def _link_waiting(self, ids: Sequence[str]) -> None:
        """Write the outstanding links of these memories in their current state."""
        with self._writing:
            waiting = [id for id in ids if id in self._unlinked]
            self._write_links(list(self._markdown.fetch(waiting).values()))
            for id in waiting:
                del self._unlinked[id]

    def get(self, id: str) -> MemoryItem | None:
        """Return the item, or None if it does not exist.

        While the database can't be reached, this is the last version received by this machine.

        Raises:
            DatabaseUnavailable: The database can't be reached, and this machine has never received the item.
        """
        try:
            return self._markdown.get(id)
        except DatabaseUnavailable as error:
            self._note_offline(error)
            if (known := self._graph.use(lambda graph: graph.get(id))) is None:
                raise
            return known

    def all(self) -> Iterable[MemoryItem]:
        """Yield every item, ordered by id."""
        return self._markdown.all()

    def delete(self, id: str) -> None:
        """Move the item's file to the trash and remove it from the indexes."""
        with self._writing:
            self._touch(filter(None, [self.get(id)]))
            self._markdown.delete(id)
            self._unindex([id])
            self._scrub_due = True

    def _touch(self, items: Iterable[MemoryItem]) -> None:
        self.revision += 1
        self._touched |= {EVERY_PROJECT if item.scope is Scope.USER else item.project for item in items}

    def take_touched(self) -> set[str]:
        """Return the projects with memories that have changed since the last call.

        Includes EVERY_PROJECT if the user's own memories have changed.
        """
        with self._writing:
            touched, self._touched = self._touched, set()
        return touched

    def _unindex(self, ids: Iterable[str]) -> None:
        for id in ids:
            if self._checks:
                self._checks = {other: item for other, item in self._checks.items() if other != id}
                self.checks_revision += 1  # the memory may have contradicted a rule
            self._graph.use(partial(GraphStore.delete, id=id))
            if self._vector is not None:
                self._vector.delete(id)
            if self._late is not None:
                self._late.delete(id)

    def search(self, query: Query, k: int = 8) -> list[Hit]:
        """Return up to k hits, best first. `explain` also returns the route."""
        return self.explain(query, k)[1]

    def explain(self, query: Query, k: int = 8) -> tuple[Route, list[Hit]]:
        """Return the route and its hits."""
        asked = query if query.now else replace(query, now=self._clock.now())
        route, hits = self._explained(asked, k)
        now = asked.now or self._clock.now()
        return route, [hit for hit in hits if asked.as_of is not None or not candidates.is_faded(hit.item, now)]

    def _explained(self, asked: Query, k: int) -> tuple[Route, list[Hit]]:
        try:
            found = self._ranked(asked, k)
        except DatabaseUnavailable as error:
            # The graph contains a copy of every memory that this machine has received.
            self._note_offline(error)
            return _OFFLINE, self._search_graph(asked, k)
        self._offline = ""
        return found

    def _ranked(self, asked: Query, k: int) -> tuple[Route, list[Hit]]:
        if asked.backend is not Backend.MARKDOWN or self._loaded:  # A query by words does not wait for a model to load.
            with self._embedding():
                found = self.ranker.search(
                    asked, k, CandidateSources(self._markdown, self._vector, self._search_graph, self._late)
                )
                self._loaded = True
                return found
        return self.ranker.search(asked, k, CandidateSources(self._markdown, None, self._search_graph))

    def _search_graph(self, query: Query, k: int) -> list[Hit]:
        return self._graph.use(lambda graph: graph.search(query, k))

    # Operations on memories

    def require(self, id: str) -> MemoryItem:
        """Return the item.

        Raises:
            NotFoundError: There is no such item.
        """
        item = self.get(id)
        if item is None:
            raise NotFoundError(f"There is no memory '{id}'.", fix="Look it up with 'memoryd search' or 'memoryd list'.")
        return item

    def update(self, id: str, **changes: Any) -> MemoryItem:
        """Change fields of a memory in place and return the changed memory."""
        with self._writing:
            before = self.require(id)
            self._touch([before])
            item = replace(before, **changes)
            self.write(item)
            if item.content != before.content:
                self._reworded.add(id)
                self._scrub_due = True
        return item

    def supersede(self, old_id: str, new: MemoryItem) -> str:
        """Write the newer statement and close the older one. `as_of` queries still find the older one."""
        with self._writing:
            return self._supersede(self.require(old_id), new)

    def _supersede(self, old: MemoryItem, new: MemoryItem) -> str:
        link = Link(LinkType.SUPERSEDES, old.id)
        links = new.links if link in new.links else (*new.links, link)
        since = new.valid_from or self._clock.now()
        id = self.write(replace(new, supersedes=old.id, links=links, valid_from=since))
        self._close_old(old, self.require(id))
        return id

    def _close_old(self, old: MemoryItem, new: MemoryItem) -> None:
        ended = old.valid_to or new.valid_from or new.created_at
        self.write(replace(old, status=Status.SUPERSEDED, expired_at=old.expired_at or new.created_at, valid_to=ended))

    def forget(self, id: str) -> MemoryItem:
        """Blacklist a memory, those merged into it and its earlier versions.

        They are never recalled, and copies of them are refused.
        """
        with self._writing:
            for source in earlier_wordings(self.require(id), self.get):
                self.update(source, status=Status.BLACKLISTED)
            self._listing_due = True
            return self.update(id, status=Status.BLACKLISTED, expired_at=self._clock.now(), pinned=False)

    def purge(self, id: str, dropped: Sequence[str] = ()) -> list[str]:
        """Permanently delete a memory and its earlier wordings, including copies in the trash, and erase them from every index.

        Returns their ids. `dropped` are candidates in the trash to delete with them. Only a person may request this.
        """
        with self._writing:
            gone = [id, *self.wordings(id)]
            found = [self._erase(each) for each in gone]
            if not found[0]:
                self.require(id)
        self.erase(dropped, also_drop=gone)
        return gone

    def erase(self, ids: Sequence[str], also_drop: Sequence[str] = ()) -> None:
        """Delete what is left of memories, and overwrite their text in the indexes. `also_drop` were deleted before."""
        with self._writing:
            for id in ids:
                self._erase(id)
        self._indexer.finish_batch(BATCH_SECONDS)
        self._drop_purged([*also_drop, *ids])
        self.scrub()

    def _erase(self, id: str) -> bool:
        """Delete a memory everywhere. Return whether anything was stored about it."""
        self._touch(filter(None, [self.get(id)]))
        noted = self._manual_edits.erase(id)
        filed = self._markdown.purge(id)
        self._unindex([id])
        return noted or filed

    def dropped_candidates(self) -> list[MemoryItem]:
        """Return the candidates in the trash. A session's model dropped them, or they expired."""
        store = self._markdown
        return [item for item in store.in_trash() if item.status is Status.CANDIDATE] if isinstance(store, MarkdownStore) else []

    def wordings(self, id: str) -> list[str]:
        """Return the ids of a memory's other wordings: merged into it, before edits, or in changes that were undone."""
        item = self.get(id)
        if item is None:
            return []
        return list(dict.fromkeys([*earlier_wordings(item, self.get), *self._undone_wordings(item)]))

    def _undone_wordings(self, item: MemoryItem) -> list[str]:
        """Return the ids of edits and merges of this active memory that the user has undone, so that it is active again."""
        if item.status is not Status.ACTIVE:
            return []
        return [later.id for later in self._successors(item.id) if is_undone(later, item)]

    def scrub(self, settled_seconds: float = 0.0) -> None:
        """Erase the remains of deleted and replaced texts from the names of files and from the indexes.

        Files that a person changed within `settled_seconds` keep their names for now.
        """
        self._scrub_due = False
        self._tidy_names(settled_seconds)
        self._markdown.scrub()
        self._graph.use(GraphStore.scrub)
        if self._vector is not None:
            self._vector.scrub()
        if self._late is not None:
            self._late.use(TokenStore.scrub)

    def _tidy_names(self, settled_seconds: float) -> None:
        if isinstance(self._markdown, MarkdownStore):
            self._markdown.tidy_names(settled_seconds)

    def scrub_if_due(self, most: int) -> None:
        """Scrub the indexes if texts were deleted or replaced and there are at most `most` memories.

        After `forget`, only `inverted_index.json` is updated. The file and its index entries are kept.
        """
        if not (self._scrub_due or self._listing_due) or self._markdown.size() > most:
            return
        if self._scrub_due:
            self.scrub(EDITOR_SECONDS)
        else:
            self._listing_due = False
            self._markdown.flush()

    def restore(self, id: str) -> MemoryItem:
        """Undo the deletion, forgetting or supersession of this memory.

        A memory superseded before it was forgotten becomes superseded again, and a second call activates it. A
        superseded memory swaps places with its replacement. A candidate is restored as a candidate.
        """
        item = self.get(id) or self._markdown.restore(id)
        if item is None:
            raise NotFoundError(f"There is no memory '{id}', not even in the trash.", fix="See 'memoryd list --status all'.")
        successor = self._active_successor(id)
        if item.status is Status.BLACKLISTED and successor is not None:
            # It was superseded before it was forgotten. Reactivating it would leave two conflicting memories.
            return self.update(id, status=Status.SUPERSEDED, expired_at=successor.created_at)
        tags = tuple(tag for tag in item.tags if tag != HIDDEN_TAG)
        status = Status.CANDIDATE if item.status is Status.CANDIDATE else Status.ACTIVE
        revived = replace(item, status=status, expired_at=None, valid_to=None, tags=tags)
        self._release(id)
        if item.status is Status.SUPERSEDED and successor is not None and id not in merged_ids(successor):
            revived = self._swap(revived, self.require(successor.id))
        else:
            self.write(revived)
        for source in earlier_wordings(revived, self.get):
            self.update(source, status=Status.SUPERSEDED)
        return revived

    def _swap(self, revived: MemoryItem, successor: MemoryItem) -> MemoryItem:
        """Let a superseded memory replace its own replacement. Two conflicting memories must not both be active."""
        now = self._clock.now()
        back = Link(LinkType.SUPERSEDES, successor.id)
        revived = replace(revived, supersedes=successor.id, links=(*(link for link in revived.links if link != back), back))
        self.write(revived)
        left = tuple(link for link in successor.links if link != Link(LinkType.SUPERSEDES, revived.id))
        self.write(replace(successor, status=Status.SUPERSEDED, links=left, expired_at=now, valid_to=now))
        return revived

    def _release(self, id: str) -> None:
        """Detach the memory's successors. Otherwise, the next start would mistake it for an interrupted supersession."""
        for item in self._successors(id):
            if item.supersedes == id:
                self.write(replace(item, supersedes=None))

    def _successors(self, id: str) -> list[MemoryItem]:
        self._link_waiting(list(self._unlinked))
        found = [self.get(successor) for successor in self._graph.use(lambda graph: graph.successors(id))]
        return [item for item in found if item is not None]

    def active_successor(self, id: str) -> MemoryItem | None:
        """Return the active memory that replaced this one, directly or through others, or None."""
        return self._active_successor(id)

    def _active_successor(self, id: str) -> MemoryItem | None:
        """Return the active memory at the end of this one's chain of successors."""
        seen, waiting = {id}, self._successors(id)
        while waiting:
            item = waiting.pop()
            if item.status is Status.ACTIVE:
                return item
            if item.id not in seen:
                seen.add(item.id)
                waiting += self._successors(item.id)
        return None

    def near(
        self,
        content: str,
        *,
        project: str,
        k: int = 8,
        statuses: tuple[Status, ...] = tuple(Status),
    ) -> list[MemoryItem]:
        """Return the memories closest to a statement. The caller decides whether the statement is known, newer or forbidden.

        Memories whose files were deleted by a person come last, as blacklisted items. `get` does not find these.
        """
        settled = tuple(status for status in statuses if status is not Status.CANDIDATE)
        query = Query(text=content, project=project, statuses=settled, backend=Backend.HYBRID)
        found = [hit.item for hit in self.search(query, k)]
        waiting = replace(query, statuses=(Status.CANDIDATE,))
        if len(settled) < len(statuses) and not self._offline and self.count(waiting):
            # Searched separately. Otherwise, their number would hide the rest.
            found += [hit.item for hit in self.search(waiting, k)]
        return [*found, *self._manual_edits.forbidden(content, project)]

    def compare(self, old: Assertion, new: Assertion) -> Comparison:
        """Compare a statement with an older one, by words and, with the bundled embedder, by meaning."""
        try:
            return self.comparer.compare(old, new)
        except EmbeddingError as error:
            self._embedder_error = str(error)
            return RULES.compare(old, new)

    # Candidates

    def make_room(self, project: str) -> None:
        """Delete the least promising candidates if a project has too many."""
        query = Query(project=project, statuses=(Status.CANDIDATE,))
        if not self._offline and self.count(query) > candidates.MAX_CANDIDATES:
            for item in candidates.surplus(self._markdown.page(query, 2 * candidates.MAX_CANDIDATES)):
                self.delete(item.id)

    def fade_candidates(self) -> int:
        """Move the expired candidates of all projects to the trash. Return their number."""
        before = self._clock.now() - candidates.LIFETIME
        query = Query(statuses=(Status.CANDIDATE,), created_before=before)
        faded = 0
        while items := self._markdown.page(query, candidates.MAX_CANDIDATES):
            for item in items:
                self.delete(item.id)
            faded += len(items)
        return faded

    def related(self, id: str, *, depth: int = 2, types: Sequence[LinkType] = (), k: int = 10) -> list[Related]:
        """Return the memories linked with this one, nearest first."""
        self.require(id)
        return self._in_graph(lambda graph: graph.related(id, depth=depth, types=types, k=k))

    def _in_graph(self, work: Callable[[GraphStore], T]) -> T:
        """Run `work` on the graph after bringing it up to date."""
        self._link_waiting(list(self._unlinked))
        return self._graph.use(work)

    def vectors(self) -> dict[str, FloatArray]:
        """Return the unit vectors of all embedded memories, by id."""
        return self._vector.vectors() if self._vector is not None else {}

    # Listing

    def page(self, query: Query, k: int, after: str = "") -> list[MemoryItem]:
        """Return the newest items that pass the filters, starting after the key `after` if given.

        Memories recorded while the clock was ahead come last. Otherwise, they would lead each list until that day.

        Raises:
            InputError: `after` is not a key.
        """
        place, upto = parse_key(after) if after else None, self._clock.now() + SKEW
        ahead = replace(query, created_after=max(upto, query.created_after or upto))
        if not self._markdown.page(ahead, 1):
            return self._markdown.page(query, k, place)
        begun = place is not None and place.created_at >= upto
        before = replace(query, created_before=min(upto, query.created_before or upto))
        found = [] if begun else self._markdown.page(before, k, place)
        return found + self._markdown.page(ahead, k - len(found), place if begun else None) if len(found) < k else found

    def place_of(self, item: MemoryItem) -> str:
        """Return the item's key in the order used by `page`."""
        return key_of(item).to_text()

    def tally(self, query: Query) -> list[tuple[str, str, int]]:
        """Return (kind, status, count) of the items that pass the filters."""
        return self._markdown.tally(query)

    def span(self) -> tuple[datetime | None, datetime | None]:
        """Return the creation times of the oldest and the newest item."""
        return self._markdown.span()

    def project_counts(self) -> dict[str, int]:
        """Return the number of items per project, whatever their status."""
        return self._markdown.projects()

    def path_of(self, id: str) -> Path | None:
        """Return the path of the item's file."""
        return self._markdown.path_of(id)

    def fingerprint(self, id: str) -> str:
        """Return a digest of the item's file on disk, or an empty string if there is no file."""
        return self._markdown.fingerprint(id)

    def file_of(self, id: str) -> StoredFile | None:
        """Return the item's file with its current content."""
        return self._markdown.file_of(id)

    def read_file(self, relative: str) -> bytes | None:
        """Return the content of a memory file, given its path below `folder`, or None if it does not exist."""
        return self._markdown.read_file(relative)

    def put_files(self, files: Mapping[str, bytes | None], mtimes_ns: Mapping[str, int]) -> SyncReport:
        """Write the contents of memory files and index them. None deletes a file."""
        with self._writing:
            return self.sync(self._markdown.put_files(files, mtimes_ns), by_hand=False)

    def subgraph(self, about: str, query: Query, *, types: Sequence[LinkType], depth: int, most: int) -> Subgraph:
        """Return the neighbourhood of a memory or an entity, for display."""
        return self._in_graph(lambda graph: graph.subgraph(about, query, types=types, depth=depth, most=most))

    def names(self, prefix: str, k: int) -> list[tuple[str, int]]:
        """Return the entities with the number of mentions, most mentioned first."""
        return self._in_graph(lambda graph: graph.entities(prefix, k))

    def count(self, query: Query) -> int:
        """Return the number of items that pass the filters. The query's text is ignored."""
        return self._markdown.count(query)

    def unembedded(self) -> int:
        """Return the number of memories waiting to be embedded."""
        return self._indexer.waiting()

    # Files and health

    @property
    def folder(self) -> Path:
        """Folder of the Markdown files."""
        return self._settings.paths.memories

    def sync(self, paths: Iterable[Path] | None = None, *, by_hand: bool = True) -> SyncReport:
        """Apply file changes below `paths`, or in the whole folder if it is None.

        `by_hand=False` means that memoryd made the changes.
        """
        with self._writing:
            report = self._markdown.sync(paths)
            if by_hand and self._database is None:
                self._link_waiting(list(self._unlinked))
                self._graph.use(lambda graph: self._manual_edits.note(report, graph.get))
            self._unindex(report.removed)
            if report.changed:
                self._note_reworded(report.changed)
                self._index(report.changed)
            if report.changed or report.removed:
                self.revision += 1
                self._touched.add(EVERY_PROJECT)  # The file may have had another scope or project before.
                self._scrub_due = True
        self._note_vault(report)
        return report

    def _note_reworded(self, changed: Iterable[MemoryItem]) -> None:
        """Note the memories whose earlier text is still in the vector index. The graph has not taken over the changes yet."""
        for item in changed:
            before = self._graph.use(lambda graph, id=item.id: graph.get(id))  # type: ignore[misc]
            if before is not None and before.content != item.content:
                self._reworded.add(item.id)

    def _note_vault(self, report: SyncReport) -> None:
        if report.removed and self._is_vault_missing():
            log.warning("The folder of memories %s is missing; memories are picked up again when it is back.", self.folder)
        elif self._markdown.size():
            self._note_memories()

    def _note_memories(self) -> None:
        """Record that there are memories, so that a missing folder is noticed later."""
        if self._had_memories:
            return
        self._had_memories = True
        if self._ledger is not None and not self._ledger.is_done(HAD_MEMORIES_NOTE):
            self._ledger.set_done(HAD_MEMORIES_NOTE)

    @property
    def has_team(self) -> bool:
        """Whether memories with the scope `team` are shared with a team."""
        return self._database is not None and bool(self._settings.team)

    def approve(self, id: str) -> MemoryItem:
        """Approve a teammate's memory, so that it can be a rule for the whole team.

        Raises:
            StoreError: The memory is not a teammate's.
        """
        if self._database is None:
            raise InputError(
                "There is no team.", fix="Set 'store' to a Postgres database and 'team' to your team (docs/postgres.md)."
            )
        with self._writing:
            self._database.approve(id)
            item = self.require(id)
            self._index([item])
        return item

    def migrate(self, store: str, *, prepare: bool = False) -> tuple[int, int]:
        """Copy all memories to another store. Return how many are in it afterwards, and how many were copied.

        Args:
            store: A value of the setting `store`.
            prepare: Only create or update the tables of a database.

        Raises:
            StoreError: The other store can't be used, or is missing memories afterwards.
        """
        target = open_primary(replace(self._settings, store=store), self._clock, self._embedder).store
        try:
            copied = 0 if prepare else copy_all(self._markdown, target)
            return target.size(), copied
        finally:
            target.close()

    def reindex(self) -> IndexHealth:
        """Rebuild every index from the Markdown files."""
        self._markdown.rebuild()
        self._graph.rebuild()
        if self._vector is not None:
            self._vector.rebuild()
        if self._late is not None:
            self._late.rebuild()
        self._markdown.flush()
        return self.health()

    def maintain(self) -> None:
        """Do deferred work: write inverted_index.json, scrub the indexes, and rebuild the HNSW index of a large store."""
        self._tidy_names(EDITOR_SECONDS)
        self._markdown.flush()
        if self._scrub_due:
            with self._unless_offline():
                self.scrub(EDITOR_SECONDS)
        if self._vector is not None and not self._indexer.waiting():
            with self._embedding(), self._unless_offline():
                self._vector.maintain()

    def health(self) -> IndexHealth:
        """Return the figures for `status` and `doctor`.

        While the database can't be reached, they describe this machine's copy.
        """
        unsent = self._database.waiting() if self._database is not None else 0
        try:
            counts = self.count(Query(statuses=tuple(Status))), self.count(Query())
            broken = tuple(str(error) for error in self._markdown.broken())
        except DatabaseUnavailable as error:
            counts = (len(self._graph.use(lambda graph: graph.digests())),) * 2
            broken = (str(error), f"{unsent} changes are waiting for the database. Fix: They are sent when it is back.")
        return IndexHealth(
            memories=counts[0],
            active=counts[1],
            broken=broken,
            unsent=unsent,
            waiting=self._indexer.waiting(),
            embedder=self._embedder.name if self._embedder is not None else "none",
            embedder_error=self._embedder_error,
            rebuilt=tuple(self._rebuilt),
            missing_vault=self._is_vault_missing(),
        )

    def _is_vault_missing(self) -> bool:
        """Return whether the folder of memories is gone although there were memories. It may have been moved by mistake."""
        if self._database is not None or self.folder.is_dir():
            return False
        return self._had_memories or (self._ledger is not None and self._ledger.is_done(HAD_MEMORIES_NOTE))


def comparer_for(embedder: Embedder | None) -> Comparer:
    """Create the comparer of statements.

    Vectors and joint reading are used only with the bundled embedder, because the classifier was trained on its cosines.
    """
    if not isinstance(embedder, OnnxEmbedder):
        return Comparer()
    return Comparer(embedder, reader=CrossEncoder())
