"""Value types shared by all packages. Frozen dataclasses and enums; no behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

from memoryd.core.checks import Check

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
USER_TAG = "by-user"  # A turn in an imported chat written by the user rather than the assistant.
CONFIRMED_TAG = "confirmed"  # Reviewed and kept by the user. Only a person can set this.
AGREED_TAG = "agreed"  # Written by the agent and accepted by the user.
HIDDEN_TAG = "hidden-by-model"  # Hidden at a model's request. This binds models but not the user.
CHECK_TAG = "check"  # A file that the memory refers to is missing or has changed substantially.
# Prefix of tags that describe how cited code has changed. Recall adds them to its results, never to a file.
CODE_TAG = "code: "
# Tags with a special meaning. Models can neither set nor remove them.
RESERVED_TAGS = frozenset({USER_TAG, CONFIRMED_TAG, AGREED_TAG, HIDDEN_TAG, CHECK_TAG, "archived", "expired", "merged", "pinned"})


class Kind(StrEnum):
    """The kind of statement in a memory. `KINDS` defines the traits of each kind."""

    PREFERENCE = "preference"
    RULE = "rule"
    DECISION = "decision"
    FACT = "fact"
    FIX = "fix"
    DEAD_END = "dead_end"
    ENVIRONMENT = "environment"
    TODO = "todo"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class KindTraits:
    """Ranking and ageing of memories of one kind.

    Args:
        weight: Importance relative to other kinds, from 0 to 1.
        half_life_days: Time after which the dream has halved the relevancy of an unused memory.
        max_age_days: Age after which an unused memory is retired. None means no limit.
    """

    weight: float
    half_life_days: float
    max_age_days: float | None = None


KINDS: Mapping[Kind, KindTraits] = MappingProxyType(
    {
        Kind.RULE: KindTraits(1.0, 720.0),
        Kind.PREFERENCE: KindTraits(0.9, 540.0),
        Kind.DECISION: KindTraits(0.8, 360.0),
        Kind.ENVIRONMENT: KindTraits(0.75, 120.0, max_age_days=365.0),
        Kind.DEAD_END: KindTraits(0.6, 270.0),
        Kind.FIX: KindTraits(0.55, 270.0),
        Kind.FACT: KindTraits(0.5, 180.0),
        Kind.TODO: KindTraits(0.45, 30.0, max_age_days=60.0),
        Kind.NOTE: KindTraits(0.4, 90.0),
    }
)
WISH_KINDS = frozenset({Kind.RULE, Kind.PREFERENCE})  # What the user wants, as opposed to what is the case.


class Polarity(StrEnum):
    """Heading under which a memory is listed in the governance block."""

    KNOW = "know"
    DO = "do"
    DONT = "dont"


class Scope(StrEnum):
    """Where a memory applies: to the user everywhere, to one project, or to a project's team."""

    USER = "user"
    PROJECT = "project"
    TEAM = "team"


class Source(StrEnum):
    """Origin of a memory."""

    USER = "user"
    AGENT_STEP = "agent_step"
    TOOL = "tool"
    RECONCILED = "reconciled"
    IMPORT = "import"
    NOTE = "note"  # A file added to the vault without memoryd.
    TEAM = "team"  # A file on the default branch of a repository whose team the user joined.


class Trust(StrEnum):
    """How far a text is trusted. Only text with the levels `INSTRUCTION` and `TEAM` can become a rule.

    A rule of the team is shown as such, yields to the user's own words, and is at most noted by the guard.
    """

    INSTRUCTION = "instruction"
    TEAM = "team"
    STATEMENT = "statement"
    DATA = "data"


class Status(StrEnum):
    """Lifecycle state of a memory.

    A candidate is an unconfirmed proposal. Explicit searches return it, marked as such, but it is never injected into
    a session. Superseded and blacklisted memories remain available to `as_of` queries.
    """

    ACTIVE = "active"
    CANDIDATE = "candidate"
    SUPERSEDED = "superseded"
    BLACKLISTED = "blacklisted"


CURRENT_STATUSES = frozenset({Status.ACTIVE, Status.CANDIDATE})  # Neither replaced nor forgotten.


class LinkType(StrEnum):
    """Edge types of the graph."""

    RELATES_TO = "RELATES_TO"
    CONTRADICTS = "CONTRADICTS"
    SUPERSEDES = "SUPERSEDES"
    MERGED = "MERGED"
    MENTIONS = "MENTIONS"


class Backend(StrEnum):
    """The index used to answer a query."""

    MARKDOWN = "markdown"
    VECTOR = "vector"
    GRAPH = "graph"
    HYBRID = "hybrid"


class ExportForm(StrEnum):
    """Markdown that a client loads by itself: a section of a rules file, or Claude Code's MEMORY.md."""

    SECTION = "section"
    MEMORY = "memory"


TRUST_OF_SOURCE: Mapping[Source, Trust] = MappingProxyType(
    {
        Source.USER: Trust.INSTRUCTION,
        Source.TEAM: Trust.TEAM,
        Source.AGENT_STEP: Trust.STATEMENT,
        Source.RECONCILED: Trust.STATEMENT,
        Source.IMPORT: Trust.STATEMENT,
        Source.NOTE: Trust.STATEMENT,
        Source.TOOL: Trust.DATA,
    }
)


# Precedence of sources when two memories contradict each other. Higher numbers win.
AUTHORITY: Mapping[Source, int] = MappingProxyType(
    {
        Source.USER: 3,
        Source.TEAM: 2,
        Source.IMPORT: 2,
        Source.NOTE: 2,
        Source.RECONCILED: 2,
        Source.AGENT_STEP: 1,
        Source.TOOL: 0,
    }
)


@dataclass(frozen=True, slots=True)
class Link:
    """A typed edge to another memory (`mem_…`). MENTIONS links point to the name of an entity instead."""

    type: LinkType
    target: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Provenance of a memory. Empty fields are unknown.

    Attributes:
        client: Name of the client in which the statement was made. Empty for Claude Code.
    """

    transcript: str = ""
    lines: tuple[str, ...] = ()
    commit: str = ""
    paths: tuple[str, ...] = ()
    client: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """Reference to code that a memory is about, as it was when the memory was learnt. Empty fields are unknown.

    Attributes:
        path: Path of the file with `/`, relative to the root of the working tree.
        commit: HEAD at that time. The file may have had uncommitted changes.
        blob: Git's id of the file's content at that time.
        symbol: Function, class or constant mentioned in the memory. If set, only its definition is compared.
        body: Digest of that definition.
        text: A line, or part of one, quoted in the memory. If set, only this text is compared.
        key: Key of a version or port in a configuration file, such as `engines.node`.
        value: Value of the key at that time.
    """

    path: str
    commit: str = ""
    blob: str = ""
    symbol: str = ""
    body: str = ""
    text: str = ""
    key: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class MemoryItem:
    """One self-contained statement with its history.

    Attributes:
        id: Empty until the item is written, when the store assigns an id.
        created_at: Start of transaction time, during which memory contained the statement. `expired_at` is its end.
        valid_from: Start of valid time, during which the statement was true. `valid_to` is its end. All times are aware UTC.
        asked_as: Keys: questions or tasks to which the statement is relevant although they use different words. They
            are searched together with the statement, but are never evidence and never injected.
        cites: The code that the statement is about. Recall compares it with the working tree.
        check: The part of a rule that can be decided from a tool call alone.
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
    cites: tuple[Citation, ...] = ()
    check: Check | None = None

    @property
    def trust(self) -> Trust:
        """Trust level, derived from the source, so that a file can't promote itself."""
        return TRUST_OF_SOURCE[self.source]

    @property
    def is_turn(self) -> bool:
        """Whether the item is a conversation turn stored verbatim."""
        stored_as_said = self.kind is Kind.NOTE and self.source is Source.IMPORT
        return stored_as_said and bool(self.evidence.lines) and self.session != "manual"


@dataclass(frozen=True, slots=True)
class Query:
    """A search request. Empty filters match everything.

    Attributes:
        as_of: Search the memory as it was at this time. If unset, only `statuses` are returned (active by default).
        valid_at: Return statements that were true at this time, or at any time up to `valid_until`.
        project: Restrict to this project's memories and the user's own (scope `user`).
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
    """One search result.

    Attributes:
        score: Sum of `parts`. Comparable only within one result list.
        relevancy: Calibrated estimate, from 0 to 1, that the item answers the query. Recall compares it with the floor.
    """

    item: MemoryItem
    score: float
    backend: Backend
    parts: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    relevancy: float = 0.0


@dataclass(frozen=True, slots=True)
class Route:
    """The router's choice, with the rule that determined it."""

    backend: Backend
    rule: str
    reason: str


class TurnKind(StrEnum):
    """The actual speaker of a turn, which may differ from the role in the log line."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    INTERRUPT = "interrupt"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance or action in a session, without injected and system text.

    Attributes:
        line: Line number in the log, starting at 1, or 0 if unknown.
        via: Origin of user text: prompt, rejected_tool, answer or queue.
        tool: Name of the tool, for tool turns.
        detail: The tool's command or path.
        error: Whether the tool failed.
        offered: Whether the user selected this text and the agent wrote it.

    Text that the user pasted or quoted becomes a result of the tool `paste`, placed after the user's own words.
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
    """Input of an extractor: new turns, preceded by a few earlier ones for context.

    Attributes:
        given: Statements extracted from this session so far.
        known: Possibly related memories, shown to the model.
        ends: Whether this is the end for now, so that a capable reader should summarise the session.
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
    """A statement proposed by a reader.

    Attributes:
        importance: 1 to 3.
        status: Active or candidate.
        asked_as: Keys of the memory (see MemoryItem).
        repeats: Ids of known memories that this statement repeats or confirms.
        replaces: Ids of known memories that this statement makes obsolete.
        closes: Ids of todos that are done.
        revises: Texts of earlier statements of the same session that the speaker retracts.
        check: Check of a rule, proposed by a model and found in the user's words.
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
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources used in model calls.

    `cost_usd` is None if unknown, which is different from free. `cached_calls` were answered from a cache at no cost.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    cached_calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum. The cost is unknown if either cost is."""
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
    """A statement that was considered and rejected. `line` is its line in the log, or 0 if unknown."""

    text: str
    reason: str
    source: Source = Source.USER
    line: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A reader's result.

    Attributes:
        skipped: Number of rejected statements by reason.
        refused: The rejected statements that came closest to being kept.
        retractions: Sentences in which the assistant retracts a cause. Memories of that cause end.
        handoff: Summary for whoever continues the work. Empty if none was requested or the reader can't write one.
    """

    candidates: tuple[Candidate, ...]
    skipped: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    extractor: str = ""
    model: str = ""
    usage: Usage = Usage()
    refused: tuple[Refused, ...] = ()
    handoff: str = ""
    retractions: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A chat message. `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer with its usage, and its duration in seconds if measured."""

    text: str
    model: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Project:
    """A stable project identity, shared by all worktrees and clones of a repository.

    `root` is the root of the working tree, for display. `common_dir` is the git common directory, or empty without git.
    """

    id: str
    name: str
    root: str
    common_dir: str = ""
    remote: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A memory found through the graph.

    Attributes:
        score: From 0 to 1. Higher is closer.
        path: Nodes from the start (a memory id or entity name) to the item's id.
        via: Type of the last edge on the path.
    """

    item: MemoryItem
    score: float
    path: tuple[str, ...]
    via: LinkType
