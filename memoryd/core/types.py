"""Every value that crosses a module border. All frozen; nothing here does work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
USER_TAG = "by-user"  # a turn of a stored chat that the user said, not the assistant
CONFIRMED_TAG = "confirmed"  # the user looked at it and kept it; only a person can set it
AGREED_TAG = "agreed"  # the agent's words, to which the user said yes
HIDDEN_TAG = "hidden-by-model"  # a model had it forgotten: that binds models, not the user
CHECK_TAG = "check"  # a file that the memory speaks of is gone or has changed a lot
# Tags that mean something to memory itself; a model neither sets nor removes them.
RESERVED_TAGS = frozenset({USER_TAG, CONFIRMED_TAG, AGREED_TAG, HIDDEN_TAG, CHECK_TAG, "archived", "expired", "merged", "pinned"})


class Kind(StrEnum):
    """What sort of statement a memory is."""

    PREFERENCE = "preference"
    RULE = "rule"
    DECISION = "decision"
    FACT = "fact"
    FIX = "fix"
    DEAD_END = "dead_end"
    ENVIRONMENT = "environment"
    TODO = "todo"
    NOTE = "note"


class Polarity(StrEnum):
    """The heading under which governance shows a memory."""

    KNOW = "know"
    DO = "do"
    DONT = "dont"


class Scope(StrEnum):
    """Who a memory is for: the person everywhere, one project, or a project's team."""

    USER = "user"
    PROJECT = "project"
    TEAM = "team"


class Source(StrEnum):
    """Who said it."""

    USER = "user"
    AGENT_STEP = "agent_step"
    TOOL = "tool"
    RECONCILED = "reconciled"
    IMPORT = "import"
    NOTE = "note"  # a file in the vault that was not written through memoryd


class Trust(StrEnum):
    """How far a text may go: only `instruction` text can become a rule."""

    INSTRUCTION = "instruction"
    STATEMENT = "statement"
    DATA = "data"


class Status(StrEnum):
    """Life of a memory.

    A candidate is a statement that looked promising and that nobody has confirmed: it is found by an explicit search,
    with a mark, and is never given to a session unasked. Superseded and blacklisted ones stay readable for `as_of`.
    """

    ACTIVE = "active"
    CANDIDATE = "candidate"
    SUPERSEDED = "superseded"
    BLACKLISTED = "blacklisted"


class LinkType(StrEnum):
    """Edge types of the graph."""

    RELATES_TO = "RELATES_TO"
    CONTRADICTS = "CONTRADICTS"
    SUPERSEDES = "SUPERSEDES"
    MERGED = "MERGED"
    MENTIONS = "MENTIONS"


class Backend(StrEnum):
    """Where a query is answered."""

    MARKDOWN = "markdown"
    VECTOR = "vector"
    GRAPH = "graph"
    HYBRID = "hybrid"


TRUST_OF_SOURCE: Mapping[Source, Trust] = MappingProxyType(
    {
        Source.USER: Trust.INSTRUCTION,
        Source.AGENT_STEP: Trust.STATEMENT,
        Source.RECONCILED: Trust.STATEMENT,
        Source.IMPORT: Trust.STATEMENT,
        Source.NOTE: Trust.STATEMENT,
        Source.TOOL: Trust.DATA,
    }
)


# Whose word stands when two memories can't both hold; the higher number.
AUTHORITY: Mapping[Source, int] = MappingProxyType(
    {Source.USER: 3, Source.IMPORT: 2, Source.NOTE: 2, Source.RECONCILED: 2, Source.AGENT_STEP: 1, Source.TOOL: 0}
)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge to another memory (`mem_…`) or, for MENTIONS, to an entity name."""

    type: LinkType
    target: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a memory comes from. Empty fields mean: not known."""

    transcript: str = ""
    lines: tuple[str, ...] = ()
    commit: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One self-contained statement with its history.

    `created_at`/`expired_at` are transaction time (when memory believed it),
    `valid_from`/`valid_to` valid time (when it was true). All times are aware, UTC.
    An empty `id` means: not written yet; a store gives one.
    `asked_as` are keys: questions or task phrasings, in other words than the statement, for which it matters. They are
    searched beside the statement; they are never evidence and never shown to a session.
    """

    content: str
    id: str = ""
    kind: Kind = Kind.NOTE
    polarity: Polarity = Polarity.KNOW
    scope: Scope = Scope.PROJECT
    project: str = ""
    session: str = "manual"
    source: Source = Source.USER
    confidence: float = 0.7
    relevancy: float = 1.0
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    supersedes: str | None = None
    links: tuple[Link, ...] = ()
    created_at: datetime = EPOCH
    expired_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    evidence: Evidence = Evidence()
    pinned: bool = False
    asked_as: tuple[str, ...] = ()

    @property
    def trust(self) -> Trust:
        """Derived, never stored as truth: a file can't promote itself."""
        return TRUST_OF_SOURCE[self.source]

    @property
    def is_turn(self) -> bool:
        """Whether this is something that was said in a conversation, stored as it was said."""
        stored_as_said = self.kind is Kind.NOTE and self.source is Source.IMPORT
        return stored_as_said and bool(self.evidence.lines) and self.session != "manual"


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. Empty filters mean: any.

    `as_of` asks what memory held at that time, `valid_at` what was true then, or at some moment up to `valid_until`.
    With `as_of` unset only `statuses` are returned (default: active ones).
    `project` lets through that project's memories and the user's own (scope `user`).
    """

    text: str = ""
    project: str | None = None
    scopes: tuple[Scope, ...] = ()
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    session: str | None = None
    statuses: tuple[Status, ...] = (Status.ACTIVE,)
    as_of: datetime | None = None
    valid_at: datetime | None = None
    valid_until: datetime | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    backend: Backend | None = None
    relationship: bool = False
    needs_semantic: bool = False
    now: datetime | None = None
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer. `score` is comparable within one list only; `parts` add up to it.

    `relevancy` is the calibrated 0..1 estimate that the item answers the query;
    recall compares it with the floor.
    """

    item: MemoryItem
    score: float
    backend: Backend
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    relevancy: float = 0.0


@dataclass(frozen=True, slots=True)
class Route:
    """The router's choice and the rule that made it."""

    backend: Backend
    rule: str
    reason: str


class TurnKind(StrEnum):
    """Who really speaks in a turn, whatever line of the log it was found in."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    INTERRUPT = "interrupt"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said in a session, cleaned of injected and system text.

    `via` tells where user text was found: prompt, rejected_tool, answer, queue.
    For tool turns `tool` is the tool's name, `detail` its command or path, `error` whether it failed.
    `line` is the 1-based line number in the file, 0 if unknown. `offered`: the user chose these words, the agent wrote them.
    Text that the user pasted or quoted is a tool result of the tool `paste`, after the user's own words.
    """

    kind: TurnKind
    text: str
    uuid: str = ""
    line: int = 0
    at: datetime | None = None
    via: str = "prompt"
    tool: str = ""
    detail: str = ""
    error: bool = False
    sidechain: bool = False
    offered: bool = False


@dataclass(frozen=True, slots=True)
class Passage:
    """What an extractor gets: new turns, with a few earlier ones for context only.

    `given` are the statements that the session gave before, `known` memories that may be related (a model is shown them).
    `ends`: nothing follows for now, so a reader that can is to sum the session up.
    """

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...] = ()
    session: str = ""
    project: str = ""
    cwd: str = ""
    transcript: str = ""
    given: tuple[str, ...] = ()
    known: tuple[MemoryItem, ...] = ()
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that a reader proposes to keep. `importance` 1..3 as in the corpus.

    `status` is active or candidate. `asked_as` are the memory's keys. `repeats`, `replaces` and `closes` are ids of known
    memories: those that it says again (or confirms), those that no longer hold because of it, and todos that are done.
    `revises` are earlier statements of the same session, by their text, that the speaker takes back with it.
    """

    content: str
    kind: Kind
    polarity: Polarity = Polarity.KNOW
    source: Source = Source.USER
    confidence: float = 0.6
    importance: int = 2
    lines: tuple[int, ...] = ()
    uuids: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    scope: Scope = Scope.PROJECT
    at: datetime | None = None
    reason: str = ""
    status: Status = Status.ACTIVE
    asked_as: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    revises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls used. Cost in US dollars; None means unknown, which is not free.

    `cached_calls` were answered by a cache, which costs nothing.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Sum of two usages; an unknown cost stays unknown."""
        cost = None if self.cost_usd is None or other.cost_usd is None else self.cost_usd + other.cost_usd
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
            self.cached_calls + other.cached_calls,
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """A statement that was looked at and is not proposed. `line` is the log's, 0 when unknown."""

    text: str
    reason: str
    source: Source = Source.USER
    line: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A reader's answer. `skipped` counts what it looked at and refused, by reason; `refused` are the nearest of these.

    `handoff` sums the session up for whoever goes on with the work; empty when the reader can't, or was not asked.
    """

    candidates: tuple[Candidate, ...]
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    extractor: str = ""
    model: str = ""
    usage: Usage = Usage()
    refused: tuple[Refused, ...] = ()
    handoff: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a model; role is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer as text, with what it used and the seconds that it took, where they were measured."""

    text: str
    model: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Project:
    """A stable identity: the same for all worktrees and clones of a repository.

    `root` is the working folder's top, for display; `common_dir` the git common
    directory, empty without git.
    """

    id: str
    name: str
    root: str
    common_dir: str = ""
    remote: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A memory reached in the graph.

    `score` is 0..1, higher is nearer. `path` runs from the start (a memory id or an entity
    name) to the item's id; `via` is the type of the last edge on it.
    """

    item: MemoryItem
    score: float
    path: tuple[str, ...]
    via: LinkType
