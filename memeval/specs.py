"""What the YAML files of providers and benchmarks hold, as frozen values.

A field `base_url` is the key `baseUrl` in the file; a field without a default must be given. The rules between
fields are in `check` of each class: it yields (dotted key, what is wrong), and the loader adds file and line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from memeval.types import EMPTY, QuestionType

Problems = Iterator[tuple[str, str]]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_TEMPLATE = re.compile(r"\$\{([a-z]\w*)\}")


class ProviderType(StrEnum):
    """Where a memory system runs."""

    HOSTED = "hosted"
    LOCAL = "local"
    DOCKER = "docker"


class AuthType(StrEnum):
    """How a request proves who sends it."""

    BEARER = "bearer"
    TOKEN = "token"
    APIKEY = "apikey"
    NONE = "none"


class ScopeType(StrEnum):
    """What keeps one case apart from another in the system."""

    CONTAINER_TAGS = "containerTags"
    USER_ID = "userId"
    SESSION_ID = "sessionId"
    CUSTOM = "custom"


class AddUnit(StrEnum):
    """How much one call of the add endpoint carries."""

    SESSION = "session"
    TURN = "turn"
    BATCH = "batch"


class SourceType(StrEnum):
    """Where a benchmark's data comes from."""

    HUGGINGFACE = "huggingface"
    URL = "url"
    LOCAL = "local"


class IngestionMode(StrEnum):
    """How sessions reach a provider: all at once, one after another, or one with its own wait for indexing."""

    BULK = "bulk"
    INCREMENTAL = "incremental"
    SESSION_BASED = "session-based"


@dataclass(frozen=True, slots=True)
class Origin:
    """The file of a spec and the line of each key (dotted path → line, from 1)."""

    path: Path = Path()
    lines: Mapping[str, int] = field(default_factory=lambda: EMPTY)

    def where(self, key: str) -> str:
        """`file:line: key`, with the line of the nearest key above if that one is not in the file."""
        probe = key
        while probe and probe not in self.lines:
            probe = probe.rpartition(".")[0]
        line = f":{self.lines[probe]}" if probe in self.lines else ""
        return f"{self.path}{line}: {key}"


@dataclass(frozen=True, slots=True)
class ConnectionSpec:
    """Base URL, and how many seconds a request may take."""

    base_url: str
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class AuthSpec:
    """`prefix` comes before the key in the header: default `Bearer ` for bearer, `Token ` for token, else nothing."""

    type: AuthType = AuthType.NONE
    header: str = "Authorization"
    prefix: str | None = None
    env_var: str = ""

    @property
    def effective_prefix(self) -> str:
        """The prefix with the defaults of the type."""
        if self.prefix is not None:
            return self.prefix
        return {AuthType.BEARER: "Bearer ", AuthType.TOKEN: "Token "}.get(self.type, "")


@dataclass(frozen=True, slots=True)
class ScopingSpec:
    """`run_id_format` may use ${runId}, ${benchmark}, ${caseId}; `field` names the field of type custom."""

    type: ScopeType = ScopeType.CUSTOM
    run_id_format: str = "${benchmark}-${caseId}-${runId}"
    field: str = ""


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """JSONPath expressions of what is read from a response; the `...Field` ones are relative to one result."""

    results: str = ""
    content_field: str = ""
    score_field: str = ""
    chunks_field: str = ""
    id_field: str = ""
    metadata_field: str = ""
    timestamp_field: str = ""
    status_field: str = ""
    next_page: str = ""


@dataclass(frozen=True, slots=True)
class PagingSpec:
    """How further pages are asked for: the next token (from `response.nextPage`) or number goes into `param`."""

    param: str
    location: str = "query"
    start: int = 1
    max_pages: int = 20


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """One call. Strings in path, query, headers and body may hold ${runTag} and JSONPath (`$.content`)."""

    path: str
    method: str = "POST"
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    response: ResponseSpec = ResponseSpec()
    paging: PagingSpec | None = None
    unit: AddUnit = AddUnit.SESSION
    ready_values: tuple[str, ...] = ()
    failed_values: tuple[str, ...] = ()
    ignore_status: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EndpointsSpec:
    """The calls of an API; `status` for those that index later, `setup` for what must exist before the first add."""

    add: EndpointSpec
    search: EndpointSpec
    clear: EndpointSpec | None = None
    status: EndpointSpec | None = None
    setup: EndpointSpec | None = None


@dataclass(frozen=True, slots=True)
class CapabilitiesSpec:
    """What a system can do; reports show it, and the runner leaves out what can't be done."""

    async_indexing: bool = False
    timestamps: bool = False
    sources: bool = False
    clear: bool = True
    chunks: bool = False
    offline: bool = False


@dataclass(frozen=True, slots=True)
class RateLimitSpec:
    """Seconds between calls, and how failed ones are tried again (exponential back-off with jitter)."""

    add_delay: float = 0.0
    search_delay: float = 0.0
    poll_delay: float = 1.0
    retries: int = 3
    backoff: float = 1.0
    backoff_max: float = 60.0
    honour_retry_after: bool = True


@dataclass(frozen=True, slots=True)
class DockerSpec:
    """A compose file (relative to the YAML file) and the path that answers once the service is ready."""

    compose: str
    service: str = ""
    health_path: str = "/"
    health_timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A memory system. `implementation` is the registered class: by default `http`, for a local one its own name."""

    name: str
    type: ProviderType
    display_name: str = ""
    description: str = ""
    implementation: str = ""
    connection: ConnectionSpec | None = None
    auth: AuthSpec = AuthSpec()
    scoping: ScopingSpec = ScopingSpec()
    endpoints: EndpointsSpec | None = None
    capabilities: CapabilitiesSpec = CapabilitiesSpec()
    rate_limit: RateLimitSpec = RateLimitSpec()
    docker: DockerSpec | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    origin: Origin = Origin()

    @property
    def effective_implementation(self) -> str:
        """Registered name of the class that does the work."""
        return self.implementation or (self.name if self.type is ProviderType.LOCAL else "http")

    def check(self) -> Problems:
        """Rules between keys, and what values may be."""
        yield from self._values()
        remote = self.type is not ProviderType.LOCAL
        if remote and self.connection is None:
            yield "connection", f"is needed for type {self.type}"
        if remote and self.endpoints is None and self.effective_implementation == "http":
            yield "endpoints", f"are needed for type {self.type}"
        if self.type is ProviderType.DOCKER and self.docker is None:
            yield "docker", "is needed for type docker"
        if self.auth.type is not AuthType.NONE and not self.auth.env_var:
            yield "auth.envVar", f"is needed for auth type {self.auth.type}"
        if self.scoping.type is ScopeType.CUSTOM and remote and not self.scoping.field:
            yield "scoping.field", "is needed for scoping type custom"
        if self.capabilities.async_indexing and self.endpoints is not None and self.endpoints.status is None:
            yield "endpoints.status", "is needed when capabilities.asyncIndexing is true"

    def _values(self) -> Problems:
        """Values that a request would fail with."""
        if (there := self.connection) is not None and not there.base_url.startswith(("http://", "https://")):
            yield "connection.baseUrl", f"is {there.base_url!r}, which does not begin with http:// or https://"
        if there is not None and not 0 < there.timeout < math.inf:
            yield "connection.timeout", f"is {there.timeout:g}, which is no time in seconds above 0"
        for name in (limit.name for limit in fields(self.rate_limit)):
            key = re.sub("_(.)", lambda part: part[1].upper(), name)
            if not 0 <= (value := getattr(self.rate_limit, name)) < math.inf:
                yield f"rateLimit.{key}", f"is {value:g}, but must be 0 or more"
        for one in fields(self.endpoints) if self.endpoints is not None else ():
            end = getattr(self.endpoints, one.name)
            if end is not None and end.method.upper() not in METHODS:
                yield f"endpoints.{one.name}.method", f"is {end.method!r}, which is not one of {', '.join(METHODS)}"
        if unknown := set(_TEMPLATE.findall(self.scoping.run_id_format)) - {"runId", "benchmark", "caseId"}:
            yield "scoping.runIdFormat", f"has ${{{min(unknown)}}}; known are ${{runId}}, ${{benchmark}}, ${{caseId}}"


@dataclass(frozen=True, slots=True)
class FileSpec:
    """A file of the data: its path in the data set (and in the cache), where it is, and its SHA-256 if published."""

    path: str
    url: str = ""
    sha256: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """Where data comes from: a hub data set at a revision, URLs, or files beside the YAML file."""

    type: SourceType
    dataset: str = ""
    revision: str = "main"
    path: str = ""
    files: tuple[FileSpec, ...] = ()
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class SchemaSpec:
    """JSONPath of each part, for data that needs no loader of its own.

    Paths of a session are relative to it, likewise of a turn and a question. Without `questions` each record is one
    case with one question, whose paths are relative to the record.
    """

    sessions: str
    turns: str = "$"
    text: str = "$.content"
    role: str = "$.role"
    records: str = "$"
    case_id: str = ""
    session_id: str = ""
    session_date: str = ""
    turn_id: str = ""
    turn_date: str = ""
    speaker: str = ""
    questions: str = ""
    question_id: str = "$.id"
    question: str = "$.question"
    answer: str = "$.answer"
    question_type: str = ""
    question_date: str = ""
    evidence_sessions: str = ""
    evidence_turns: str = ""
    date_formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptsSpec:
    """Names or paths of prompt files, or text in place; `judge_by_type` is keyed by unified question type."""

    answer: str = ""
    judge: str = ""
    answer_by_type: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    judge_by_type: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """The judge that the protocol asks for, by registered name."""

    name: str = "f1"
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class RetrievalSpec:
    """Cut-offs, levels (session, turn), variant (see `metrics.targets`) and default unit (session, round, turn)."""

    k: tuple[int, ...] = (1, 3, 5, 10, 30, 50)
    levels: tuple[str, ...] = ("session", "turn")
    variant: str = ""
    granularity: str = "turn"


@dataclass(frozen=True, slots=True)
class BenchmarkSpec:
    """A benchmark. `question_types` maps its own categories to the unified types. `loader` or `schema`, not both."""

    name: str
    source: SourceSpec
    display_name: str = ""
    description: str = ""
    format: str = "json"
    loader: str = ""
    schema: SchemaSpec | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    question_types: Mapping[str, QuestionType] = field(default_factory=lambda: EMPTY)
    ingestion: IngestionMode = IngestionMode.BULK
    prompts: PromptsSpec = PromptsSpec()
    judge: JudgeSpec = JudgeSpec()
    metrics: tuple[str, ...] = ()
    retrieval: RetrievalSpec = RetrievalSpec()
    metadata: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    origin: Origin = Origin()

    @property
    def effective_loader(self) -> str:
        """Registered name of the loader; `schema` for the general one."""
        return self.loader or "schema"

    def check(self) -> Problems:
        """Rules between keys."""
        if bool(self.loader) == (self.schema is not None):
            yield "schema" if self.schema else "loader", "give either a loader or a schema mapping"
        source = self.source
        if source.type is SourceType.HUGGINGFACE and not source.dataset:
            yield "source.dataset", "is needed for source type huggingface"
        if source.type is SourceType.LOCAL and not (source.path or source.files):
            yield "source.path", "is needed for source type local"
        for number, file in enumerate(source.files):
            if source.type is SourceType.URL and not file.url:
                yield f"source.files[{number}].url", "is needed for source type url"
        if source.type is SourceType.URL and not source.files:
            yield "source.files", "are needed for source type url"
        if any(k < 1 for k in self.retrieval.k):
            yield "retrieval.k", f"has {min(self.retrieval.k)}; cut-offs are 1 or more"
        if wrong := [level for level in self.retrieval.levels if level not in ("session", "turn")]:
            yield "retrieval.levels", f"has {wrong[0]!r}; known are session, turn"
        if self.retrieval.granularity not in ("session", "round", "turn"):
            yield "retrieval.granularity", f"is {self.retrieval.granularity!r}; known are session, round, turn"
