"""Typed specs of providers and benchmarks, and their reader for YAML files.

The field `base_url` is the key `baseUrl` in the file. A field without a default is required. Pydantic checks names,
types and values. The `check` method of each class checks rules between keys and yields pairs of a dotted key and a
problem. Every error includes the file, line and key. This is the only module that imports PyYAML and pydantic.

`${VAR}` and `${VAR:-default}` (upper-case names) are environment variables, expanded when a file is read. Other `${…}`
placeholders belong to a provider's templates and are kept. `$${VAR}` results in the text `${VAR}`.
"""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast, dataclass_transform, get_args, get_type_hints

import yaml
from pydantic import AfterValidator, BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails, PydanticCustomError

from memeval.core.errors import ConfigError
from memeval.core.types import EMPTY, QuestionType

Problems = Iterator[tuple[str, str]]
Spec = TypeVar("Spec")
Value = TypeVar("Value")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_TEMPLATE = re.compile(r"\$\{([a-z]\w*)\}")
_VARIABLE = re.compile(r"\$?\$\{([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}")


def key_of(field_name: str) -> str:
    """Return the key in a file for a field name. For example, the key for `base_url` is `baseUrl`."""
    first, *rest = field_name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclass_transform(frozen_default=True)
def spec(kind: type[Value]) -> type[Value]:
    """Turn a class into a frozen dataclass that validates a mapping from a file."""
    config = ConfigDict(alias_generator=key_of, populate_by_name=True, extra="forbid", arbitrary_types_allowed=True)
    return cast(type[Value], dataclass(frozen=True, slots=True, config=config)(kind))


class _Scalar(str):
    """A scalar in a file.

    Contains the original text, which is used for text fields (`1.10`), and the `value` resolved by YAML.
    """

    value: Any = None


def _plain(value: Any) -> Any:
    if isinstance(value, _Scalar):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _whole(value: Any) -> Any:
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise PydanticCustomError("rule", "must be an integer, not {shown}", {"shown": _shown(plain)})
    return plain


def _number(value: Any) -> Any:
    plain = _plain(value)
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise PydanticCustomError("rule", "must be a number, not {shown}", {"shown": _shown(plain)})
    return float(plain)


def _flag(value: Any) -> Any:
    plain = _plain(value)
    if not isinstance(plain, bool):
        raise PydanticCustomError("rule", "must be true or false, not {shown}", {"shown": _shown(plain)})
    return plain


Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Plain = Annotated[Any, BeforeValidator(_plain)]
Frozen = Annotated[Mapping[str, Value], AfterValidator(MappingProxyType)]


def _rule(fits: Callable[[Any], bool], problem: Callable[[Any], str]) -> Callable[[Any], Any]:
    """Return a validator for a single value. For an invalid value, the error message is `problem(value)`."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise PydanticCustomError("rule", "{problem}", {"problem": problem(value)})
        return value

    return check


def _one_of(*known: str) -> Callable[[Any], Any]:
    return _rule(lambda value: value in known, lambda value: f"is {value!r}; known are {', '.join(known)}")


def _unknown_parts(template: str) -> set[str]:
    return set(_TEMPLATE.findall(template)) - {"runId", "benchmark", "caseId"}


def _unknown_places(template: str) -> set[str]:
    return set(re.findall(r"\{(\w*)\}", template)) - {"text", "speaker", "role", "date"}


def _expression_fault(text: str) -> str:
    """Describe the error in a regular expression, or return an empty text if there is none."""
    try:
        re.compile(text)
    except re.error as error:
        return f"is not a regular expression: {error}"
    return ""


def _pattern_fault(text: str) -> str:
    """Describe the error in a regular expression for splitting text into results.

    Returns an empty text if there is none.
    """
    if not text or (fault := _expression_fault(text)):
        return fault if text else ""
    return "" if re.compile(text).groupindex else "names no group; write e.g. (?P<content>.+)"


_is_url = _rule(
    lambda text: text.startswith(("http://", "https://")),
    lambda text: f"is {text!r}, which does not begin with http:// or https://",
)
_is_time = _rule(lambda value: 0 < value < math.inf, lambda value: f"is {value:g}, but must be a positive number of seconds")
_is_least_0 = _rule(lambda value: 0 <= value < math.inf, lambda value: f"is {value:g}, but must be at least 0")
_is_method = _rule(lambda text: text.upper() in METHODS, lambda text: f"is {text!r}, which is not one of {', '.join(METHODS)}")
_is_run_id_format = _rule(
    lambda text: not _unknown_parts(text),
    lambda text: f"has ${{{min(_unknown_parts(text))}}}; known are ${{runId}}, ${{benchmark}}, ${{caseId}}",
)
_are_cut_offs = _rule(lambda ks: all(k >= 1 for k in ks), lambda ks: f"has {min(ks)}; cut-offs must be at least 1")
_are_levels = _rule(
    lambda levels: {"session", "turn"}.issuperset(levels),
    lambda levels: f"has {next(one for one in levels if one not in ('session', 'turn'))!r}; known are session, turn",
)
_is_pattern = _rule(lambda text: not _pattern_fault(text), lambda text: _pattern_fault(text))
_is_share = _rule(lambda value: 0 <= value <= 1, lambda value: f"is {value:g}, but must be from 0 to 1")
_is_least_1 = _rule(lambda value: value >= 1, lambda value: f"is {value}, but must be at least 1")
_is_strategy = _one_of("turns", "sentences", "words", "characters")
_is_escape = _one_of("", "html", "json")
_are_fields = _rule(
    lambda names: {"speaker", "role", "date"}.issuperset(names),
    lambda names: f"has {next(one for one in names if one not in ('speaker', 'role', 'date'))!r}; known are speaker, role, date",
)
_is_template = _rule(
    lambda text: not text or ("{text}" in text and not _unknown_places(text)),
    lambda text: f"must contain {{text}}, and otherwise only {{speaker}}, {{role}}, {{date}}, not {text!r}",
)
_is_expression = _rule(lambda text: not _expression_fault(text), lambda text: _expression_fault(text))
_is_granularity = _one_of("session", "round", "turn")
_is_any_granularity = _one_of("", "session", "round", "turn")
_is_entry_name = _rule(
    lambda text: re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,59}", text) is not None,
    lambda text: f"is {text!r}; use letters, digits, spaces, dots, dashes and underscores",
)
Least0 = Annotated[Number, AfterValidator(_is_least_0)]


class ProviderType(StrEnum):
    """The location of a memory system."""

    HOSTED = "hosted"
    LOCAL = "local"
    DOCKER = "docker"
    MCP = "mcp"


class AuthType(StrEnum):
    """The authentication method of requests."""

    BEARER = "bearer"
    TOKEN = "token"
    APIKEY = "apikey"
    NONE = "none"


class ScopeType(StrEnum):
    """The method of isolating cases from each other."""

    CONTAINER_TAGS = "containerTags"
    USER_ID = "userId"
    SESSION_ID = "sessionId"
    CUSTOM = "custom"


class SpeakerRole(StrEnum):
    """The role of a turn's speaker."""

    USER = "user"
    ASSISTANT = "assistant"


class AddUnit(StrEnum):
    """The unit of data in one call of the add endpoint."""

    SESSION = "session"
    TURN = "turn"
    BATCH = "batch"


class SourceType(StrEnum):
    """The kind of source of a benchmark's data."""

    HUGGINGFACE = "huggingface"
    URL = "url"
    LOCAL = "local"


class IngestionMode(StrEnum):
    """The mode of ingesting sessions.

    All at once, one by one, or one by one with a wait for indexing after each session.
    """

    BULK = "bulk"
    INCREMENTAL = "incremental"
    SESSION_BASED = "session-based"


@dataclasses.dataclass(frozen=True, slots=True)
class SpecOrigin:
    """The file of a spec and the line of each key. `lines` maps dotted paths to line numbers, starting at 1."""

    path: Path = Path()
    lines: Mapping[str, int] = dataclasses.field(default_factory=lambda: EMPTY)

    def where(self, key: str) -> str:
        """Return `file:line: key`. If the key isn't in the file, the line of its nearest parent is used."""
        probe = key
        while probe and probe not in self.lines:
            probe = probe.rpartition(".")[0]
        line = f":{self.lines[probe]}" if probe in self.lines else ""
        return f"{self.path}{line}: {key}"


@spec
class ConnectionSpec:
    """The base URL, and the request timeout in seconds."""

    base_url: Annotated[str, AfterValidator(_is_url)]
    timeout: Annotated[Number, AfterValidator(_is_time)] = 30.0


@spec
class AuthSpec:
    """The authentication of requests.

    `prefix` precedes the key in the header. By default, it is `Bearer ` for bearer, `Token ` for token, and empty for other
    types.
    """

    type: AuthType = AuthType.NONE
    header: str = "Authorization"
    prefix: str | None = None
    env_var: str = ""

    @property
    def effective_prefix(self) -> str:
        """The prefix, or the default prefix of the type."""
        if self.prefix is not None:
            return self.prefix
        return {AuthType.BEARER: "Bearer ", AuthType.TOKEN: "Token "}.get(self.type, "")


@spec
class ScopingSpec:
    """The isolation of cases.

    `run_id_format` may contain ${runId}, ${benchmark} and ${caseId}. `field` is the field name for type custom.
    """

    type: ScopeType = ScopeType.CUSTOM
    run_id_format: Annotated[str, AfterValidator(_is_run_id_format)] = "${benchmark}-${caseId}-${runId}"
    field: str = ""


@spec
class ResponseSpec:
    """JSONPath expressions for reading a response. Those named `...Field` are relative to a result.

    `pattern` is for tools that respond with text. It is a regular expression, and the named groups of each match form a
    result. Text without a match is an error unless it matches `nothing`, which describes the tool's message for an empty
    result.
    """

    results: str = ""
    content_field: str = ""
    score_field: str = ""
    chunks_field: str = ""
    id_field: str = ""
    metadata_field: str = ""
    timestamp_field: str = ""
    status_field: str = ""
    next_page: str = ""
    pattern: Annotated[str, AfterValidator(_is_pattern)] = ""
    nothing: Annotated[str, AfterValidator(_is_expression)] = ""


@spec
class PagingSpec:
    """Pagination. The next token (from `response.nextPage`) or the page number is sent as `param`."""

    param: str
    location: str = "query"
    start: Whole = 1
    max_pages: Whole = 20


@spec
class EndpointSpec:
    """An API call. Strings in path, query, headers and body may contain ${runTag} and JSONPath (`$.content`).

    With `each_id`, for clear, the call is made once for each id assigned by the system, with the id as `$.id`.
    """

    path: str
    method: Annotated[str, AfterValidator(_is_method)] = "POST"
    body: Plain = None
    query: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    headers: Frozen[str] = field(default_factory=lambda: EMPTY)
    response: ResponseSpec = ResponseSpec()
    paging: PagingSpec | None = None
    unit: AddUnit = AddUnit.SESSION
    ready_values: tuple[str, ...] = ()
    failed_values: tuple[str, ...] = ()
    ignore_status: tuple[Whole, ...] = ()
    each_id: Flag = False

    @property
    def names_scope(self) -> bool:
        """Return whether the call already contains the scope, so that it doesn't need to be added."""
        texts = f"{self.path} {self.body!r} {dict(self.query)!r} {dict(self.headers)!r}"
        return "runTag" in texts or "setup" in texts


@spec
class EndpointsSpec:
    """The calls of an API. `status` polls asynchronous indexing, and `setup` runs before the first add."""

    add: EndpointSpec
    search: EndpointSpec
    clear: EndpointSpec | None = None
    status: EndpointSpec | None = None
    setup: EndpointSpec | None = None


@spec
class ToolSpec:
    """An MCP tool call. Strings in `arguments` may contain ${runTag} and JSONPath, as in the body of an endpoint.

    With `each_id`, for clear, the tool is called once for each id assigned by the system, with the id as `$.id`.
    """

    tool: str
    arguments: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    response: ResponseSpec = ResponseSpec()
    unit: AddUnit = AddUnit.SESSION
    ready_values: tuple[str, ...] = ()
    failed_values: tuple[str, ...] = ()
    each_id: Flag = False


@spec
class ToolsSpec:
    """The tools of an MCP server. `status` polls asynchronous indexing, and `setup` runs before the first add."""

    add: ToolSpec
    search: ToolSpec
    clear: ToolSpec | None = None
    status: ToolSpec | None = None
    setup: ToolSpec | None = None


@spec
class McpSpec:
    """The start parameters of an MCP server. `${folder}` in command, environment and cwd is its data folder.

    With `per_case` (the default), each case has its own server and folder. Otherwise, one server handles all cases, and the
    arguments of its tools must include `${runTag}`. `stop` is a command that cleans up processes left behind by the server.
    Times are in seconds.
    """

    command: tuple[str, ...]
    stop: tuple[str, ...] = ()
    environment: Frozen[str] = field(default_factory=lambda: EMPTY)
    cwd: str = ""
    per_case: Flag = True
    start_timeout: Annotated[Number, AfterValidator(_is_time)] = 60.0
    call_timeout: Annotated[Number, AfterValidator(_is_time)] = 120.0


@spec
class CapabilitiesSpec:
    """The capabilities of a system. They are shown in reports, and the runner skips unsupported features."""

    async_indexing: Flag = False
    timestamps: Flag = False
    sources: Flag = False
    clear: Flag = True
    chunks: Flag = False
    offline: Flag = False


@spec
class RateLimitSpec:
    """The delays between calls in seconds, and the retries of failed calls with exponential back-off and jitter."""

    add_delay: Least0 = 0.0
    search_delay: Least0 = 0.0
    poll_delay: Least0 = 1.0
    retries: Annotated[Whole, AfterValidator(_is_least_0)] = 3
    backoff: Least0 = 1.0
    backoff_max: Least0 = 60.0
    honour_retry_after: Flag = True


@spec
class DockerSpec:
    """A compose file (path relative to the YAML file), and the health path of the service."""

    compose: str
    service: str = ""
    health_path: str = "/"
    health_timeout: Number = 120.0


@spec
class ProviderSpec:
    """A memory system.

    `implementation` is the name of a registered class. The default is `http`, or the system's own name for a local system.
    `adapter` is a custom class, given as `./file.py:Class` relative to the YAML file.
    """

    name: str
    type: ProviderType
    display_name: str = ""
    description: str = ""
    implementation: str = ""
    adapter: str = ""
    connection: ConnectionSpec | None = None
    auth: AuthSpec = AuthSpec()
    scoping: ScopingSpec = ScopingSpec()
    endpoints: EndpointsSpec | None = None
    mcp: McpSpec | None = None
    tools: ToolsSpec | None = None
    capabilities: CapabilitiesSpec = CapabilitiesSpec()
    rate_limit: RateLimitSpec = RateLimitSpec()
    docker: DockerSpec | None = None
    options: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    tags: tuple[str, ...] = ()
    origin: SpecOrigin = field(default_factory=SpecOrigin)

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags of the provider, its type, and `offline` if it needs no network."""
        return (*self.tags, str(self.type), *(("offline",) if self.capabilities.offline else ()))

    @property
    def effective_implementation(self) -> str:
        """The registered name of the implementation."""
        by_type = {ProviderType.LOCAL: "python" if self.adapter else self.name, ProviderType.MCP: "mcp"}
        return self.implementation or by_type.get(self.type, "http")

    def check(self) -> Problems:
        """Yield violations of the rules between keys."""
        yield from self._check_mcp()
        if self.adapter and (self.type is not ProviderType.LOCAL or self.implementation):
            yield "adapter", "is for type local, without an implementation"
        remote = self.type in (ProviderType.HOSTED, ProviderType.DOCKER)
        if remote and self.connection is None:
            yield "connection", f"is needed for type {self.type}"
        if remote and self.endpoints is None and self.effective_implementation == "http":
            yield "endpoints", f"are needed for type {self.type}"
        if self.type is ProviderType.DOCKER and self.docker is None:
            yield "docker", "is needed for type docker"
        if self.auth.type is not AuthType.NONE and not self.auth.env_var:
            yield "auth.envVar", f"is needed for auth type {self.auth.type}"
        calls = (self.endpoints.add, self.endpoints.search) if self.endpoints is not None else ()
        named = bool(calls) and all(call.names_scope for call in calls)
        if self.scoping.type is ScopeType.CUSTOM and remote and not self.scoping.field and not named:
            yield "scoping.field", "is needed for scoping type custom, unless add and search contain ${runTag}"
        if self.capabilities.async_indexing and self.endpoints is not None and self.endpoints.status is None:
            yield "endpoints.status", "is needed when capabilities.asyncIndexing is true"

    def _check_mcp(self) -> Problems:
        if self.type is not ProviderType.MCP:
            for name in ("mcp", "tools"):
                if getattr(self, name) is not None:
                    yield name, "is for type mcp"
            return
        if self.mcp is None or not self.mcp.command:
            yield "mcp.command", "is needed for type mcp: the program and its arguments"
        if self.tools is None:
            yield "tools", "are needed for type mcp"


@spec
class FileSpec:
    """A data file, with its path in the data set (and in the cache), its URL, and its SHA-256 if published."""

    path: str
    url: str = ""
    sha256: str = ""
    bytes: Whole | None = None


@spec
class SourceSpec:
    """The source of data: a data set on the hub at a revision, URLs, or files next to the YAML file."""

    type: SourceType
    dataset: str = ""
    revision: str = "main"
    path: str = ""
    files: tuple[FileSpec, ...] = ()
    instructions: str = ""


@spec
class SchemaSpec:
    """The JSONPath of each part, for data that doesn't need its own loader.

    Paths within a session, turn or question are relative to it. Without `questions`, each record is a case with a single
    question, and the question's paths are relative to the record. `roles` maps the data's own roles to user and assistant.
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
    roles: Frozen[SpeakerRole] = field(default_factory=lambda: EMPTY)


@spec
class PromptsSpec:
    """Names or paths of prompt files, or inline text. `judge_by_type` contains a prompt for each unified question type."""

    answer: str = ""
    judge: str = ""
    answer_by_type: Frozen[str] = field(default_factory=lambda: EMPTY)
    judge_by_type: Frozen[str] = field(default_factory=lambda: EMPTY)


@spec
class JudgeSpec:
    """The judge of the protocol, given by its registered name."""

    name: str = "f1"
    options: Frozen[Plain] = field(default_factory=lambda: EMPTY)


@spec
class ModelsSpec:
    """The default models of a run and their options."""

    answering: str = ""
    answering_options: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    judge: str = ""
    judge_options: Frozen[Plain] = field(default_factory=lambda: EMPTY)


@spec
class ChunkingSpec:
    """The splitting of sessions before ingestion. `size` and `overlap` are in units of `strategy`.

    `turns` groups `size` turns into a chunk. `sentences`, `words` and `characters` split longer turns.
    """

    size: Annotated[Whole, AfterValidator(_is_least_1)]
    overlap: Annotated[Whole, AfterValidator(_is_least_0)] = 0
    strategy: Annotated[str, AfterValidator(_is_strategy)] = "sentences"


@spec
class BatchingSpec:
    """The number of sessions per ingest call (by default determined by `ingestion`), and the delay between calls in seconds."""

    size: Annotated[Whole, AfterValidator(_is_least_0)] = 0
    delay: Least0 = 0.0


@spec
class PreprocessingSpec:
    """Changes to turns before ingestion. Fields are removed, the text is inserted into a template, and the result is escaped.

    `remove` may list speaker, role and date. `template` may contain {text}, {speaker}, {role} and {date}. `escape` is html or
    json.
    """

    remove: Annotated[tuple[str, ...], AfterValidator(_are_fields)] = ()
    template: Annotated[str, AfterValidator(_is_template)] = ""
    escape: Annotated[str, AfterValidator(_is_escape)] = ""


@spec
class SearchSpec:
    """The maximum number of passages to request and read, and the minimum score of a passage.

    A `limit` of 0 means as many as required by the metrics.
    """

    limit: Annotated[Whole, AfterValidator(_is_least_0)] = 0
    threshold: Number | None = None


@spec
class PublishedSpec:
    """A published percentage and its source. `note` describes differences from a run here."""

    system: str
    metric: str
    value: Number
    source: str
    note: str = ""


@spec
class RetrievalSpec:
    """The cut-offs, levels (session, turn), variant (see `metrics.targets`) and default unit (session, round or turn)."""

    k: Annotated[tuple[Whole, ...], AfterValidator(_are_cut_offs)] = (1, 3, 5, 10, 30, 50)
    levels: Annotated[tuple[str, ...], AfterValidator(_are_levels)] = ("session", "turn")
    variant: str = ""
    granularity: Annotated[str, AfterValidator(_is_granularity)] = "turn"


@spec
class BenchmarkSpec:
    """A benchmark. It has either a `loader` or a `schema`.

    `question_types` maps the benchmark's own categories to the unified types. `targets` are the values (0 to 1) that a run
    should reach, by metric. `published` lists figures published elsewhere. `custom_evaluator` is a custom judge, given as
    `./file.py:name` relative to the YAML file.
    """

    name: str
    source: SourceSpec
    display_name: str = ""
    description: str = ""
    format: str = "json"
    loader: str = ""
    schema: SchemaSpec | None = None
    options: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    question_types: Frozen[QuestionType] = field(default_factory=lambda: EMPTY)
    ingestion: IngestionMode = IngestionMode.BULK
    prompts: PromptsSpec = field(default_factory=PromptsSpec)
    judge: JudgeSpec = field(default_factory=JudgeSpec)
    custom_evaluator: str = ""
    models: ModelsSpec = field(default_factory=ModelsSpec)
    chunking: ChunkingSpec | None = None
    batching: BatchingSpec = BatchingSpec()
    preprocessing: PreprocessingSpec | None = None
    search: SearchSpec = SearchSpec()
    targets: Frozen[Annotated[Number, AfterValidator(_is_share)]] = field(default_factory=lambda: EMPTY)
    published: tuple[PublishedSpec, ...] = ()
    metrics: tuple[str, ...] = ()
    retrieval: RetrievalSpec = RetrievalSpec()
    metadata: Frozen[Plain] = field(default_factory=lambda: EMPTY)
    licence: str = ""
    citation: str = ""
    homepage: str = ""
    tags: tuple[str, ...] = ()
    origin: SpecOrigin = field(default_factory=SpecOrigin)

    @property
    def all_tags(self) -> tuple[str, ...]:
        """The tags of the benchmark, and the unified types of its questions."""
        return (*self.tags, *sorted({str(kind) for kind in self.question_types.values()}))

    @property
    def effective_loader(self) -> str:
        """The registered name of the loader. The name of the generic loader is `schema`."""
        return self.loader or "schema"

    def check(self) -> Problems:
        """Yield violations of the rules between keys."""
        if self.chunking is not None and self.chunking.overlap >= self.chunking.size:
            yield "chunking.overlap", "must be less than chunking.size"
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


# Reading


@spec
class SuiteEntrySpec:
    """A benchmark in a suite, with the settings that affect its figure. Empty values mean the benchmark's defaults.

    `metric` is shown in the suite's table. With `answers`, questions are answered by a model and scored by the benchmark's
    judge.
    """

    name: Annotated[str, AfterValidator(_is_entry_name)]
    benchmark: str
    metric: str = ""
    variant: str = ""
    granularity: Annotated[str, AfterValidator(_is_any_granularity)] = ""
    answers: Flag = False
    question_types: tuple[str, ...] = ()
    dev_slice: Number | None = None
    limit: Whole | None = None
    top_k: Whole = 10
    epochs: Whole = 1


@spec
class SuiteSpec:
    """A list of benchmarks for a common table. Change the `version` with every change that affects a figure."""

    name: str
    version: str
    entries: tuple[SuiteEntrySpec, ...]
    description: str = ""
    origin: SpecOrigin = field(default_factory=SpecOrigin)

    @property
    def identity(self) -> str:
        """The name, the version and a digest of the entries. A changed file is never mistaken for the original version."""
        content = json.dumps(to_plain(self.entries), sort_keys=True).encode()
        return f"{self.name} {self.version} {hashlib.sha256(content).hexdigest()[:8]}"

    def check(self) -> Problems:
        """Yield violations of the rules between keys."""
        if not self.entries:
            yield "entries", "names no benchmark"
        names = [entry.name for entry in self.entries]
        for number, name in enumerate(names):
            if name in names[:number]:
                yield f"entries.{number}.name", f"is {name!r}, the same as an earlier entry"


def load_suite_spec(path: Path, environ: Mapping[str, str] | None = None) -> SuiteSpec:
    """Read and check the file of a suite. Raises ConfigError with the file, line and key."""
    return _checked(_load(path, SuiteSpec, environ))


def load_provider_spec(path: Path, environ: Mapping[str, str] | None = None) -> ProviderSpec:
    """Read and check the file of a provider. Raises ConfigError with the file, line and key."""
    return _checked(_load(path, ProviderSpec, environ))


def load_benchmark_spec(path: Path, environ: Mapping[str, str] | None = None) -> BenchmarkSpec:
    """Read and check the file of a benchmark. Raises ConfigError with the file, line and key."""
    return _checked(_load(path, BenchmarkSpec, environ))


AnySpec = TypeVar("AnySpec", ProviderSpec, BenchmarkSpec, SuiteSpec)


def _checked(found: AnySpec) -> AnySpec:
    origin = found.origin
    for key, problem in found.check():
        raise ConfigError(f"{origin.where(key)} {problem}.", fix=f"Add or correct {key} in that file.")
    if found.name != origin.path.stem:
        raise ConfigError(
            f"{origin.where('name')} is {found.name!r}, but the file is named {origin.path.name}.",
            fix=f"Name the file {found.name}.yaml.",
        )
    return found


def _load(path: Path, kind: type[AnySpec], environ: Mapping[str, str] | None) -> AnySpec:
    file = _File(path, os.environ if environ is None else environ)
    data = file.read()
    if isinstance(data, dict) and "origin" in data:  # A field of the class, but not a key.
        raise file.unknown("origin", _keys_of(kind))
    try:
        found = TypeAdapter(kind).validate_python(data, by_alias=True, by_name=False)
    except ValidationError as error:
        raise file.fault(error, kind) from None
    return dataclasses.replace(found, origin=SpecOrigin(path, MappingProxyType(file.keys)))


def parse_yaml(text: str, name: str = "<text>") -> Any:
    """Parse YAML text without a schema, such as the value of a flag, into plain values. Raises ConfigError."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _syntax_error(Path(name), error) from None


def to_plain(value: Any) -> Any:
    """Convert a spec to dicts, lists and plain values.

    The result has the same keys as the file. Used by `describe` and in result files.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value) if f.name != "origin")
        return {key_of(name): to_plain(item) for name, item in named}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, StrEnum | Path):
        return str(value)
    return value


def _keys_of(kind: Any) -> list[str]:
    return [key_of(one.name) for one in dataclasses.fields(kind) if one.name != "origin"]


def _syntax_error(path: Path, error: yaml.YAMLError) -> ConfigError:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    line = f":{mark.line + 1}" if mark else ""
    problem = error.problem if isinstance(error, yaml.MarkedYAMLError) and error.problem else str(error)
    return ConfigError(f"{path}{line}: not valid YAML: {problem}.", fix="Correct that line.")


def _shown(value: Any) -> str:
    names: dict[type, str] = {dict: "a mapping", list: "a list", type(None): "empty"}
    return names.get(type(value)) or repr(value)


class _File:
    """Reads the nodes of a file as values, recording the line of each key and value."""

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        self.path = path
        self.environ = environ
        self.keys: dict[str, int] = {}
        self.values: dict[str, int] = {}

    def read(self) -> Any:
        """Read the whole file as dicts, lists and scalars. An empty value becomes None."""
        try:
            node = yaml.compose(self.path.read_text("utf-8"), Loader=yaml.SafeLoader)
        except OSError as error:
            raise ConfigError(
                f"{self.path} can't be read: {error.strerror}.", fix="Check the path and its permissions."
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(f"{self.path} is not UTF-8 text.", fix="Save it as UTF-8.") from None
        except yaml.YAMLError as error:
            raise _syntax_error(self.path, error) from None
        except RecursionError:
            raise ConfigError(f"{self.path} is nested too deeply.", fix="Remove the nesting.") from None
        if node is None:
            raise ConfigError(f"{self.path}:1: the file is empty.", fix="See the docs page on adding one.")
        try:
            return self._value(node, "")
        except RecursionError:  # An alias that refers to itself.
            raise ConfigError(f"{self.path} is nested too deeply.", fix="Remove the nesting.") from None

    def _value(self, node: yaml.Node, key: str) -> Any:
        self.values[key] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return {name: self._value(value, dotted) for name, dotted, value in self._items(node, key)}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, f"{key}[{number}]") for number, item in enumerate(node.value)]
        return self._scalar(node, key)

    def _items(self, node: yaml.MappingNode, key: str) -> Iterator[tuple[str, str, yaml.Node]]:
        seen: set[str] = set()
        for name_node, value in node.value:
            name = str(name_node.value)
            dotted = f"{key}.{name}" if key else name
            if name in seen:
                raise self.error(dotted, "is given twice", line=name_node.start_mark.line + 1)
            seen.add(name)
            self.keys[dotted] = name_node.start_mark.line + 1
            yield name, dotted, value

    def _scalar(self, node: yaml.Node, key: str) -> _Scalar | None:
        text = self._expanded(str(node.value), key)
        tag = node.tag
        if text != node.value and not cast(yaml.ScalarNode, node).style:
            tag = _resolved(text)
        if tag == "tag:yaml.org,2002:null":
            return None
        scalar = _Scalar(text)
        # Keep timestamps as text, because JSON has no type for them.
        scalar.value = text if tag.endswith(":timestamp") else self._constructed(tag, text, key)
        return scalar

    def _constructed(self, tag: str, text: str, key: str) -> Any:
        try:
            return yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError) as error:
            raise self.error(key, f"can't be read: {error}") from None

    def _expanded(self, text: str, key: str) -> str:
        """Expand environment variables. Raises ConfigError for a missing variable without a default."""

        def put(match: re.Match[str]) -> str:
            if match[0].startswith("$$"):
                return match[0][1:]
            value = self.environ.get(match[1]) or match[2]
            if value is None:
                problem = f"requires the environment variable {match[1]}, which is not set"
                raise self.error(key, problem, f"Set {match[1]}, or write ${{{match[1]}:-default}} in the file.")
            return value

        return _VARIABLE.sub(put, text)

    # Errors

    def error(self, key: str, problem: str, fix: str = "", *, line: int = 0) -> ConfigError:
        """Return the error for a value."""
        where = f"{self.path}:{line or self.values[key]}: {key or 'the file'}"
        return ConfigError(f"{where} {problem}.", fix=fix or "Correct that line.")

    def unknown(self, key: str, known: list[str]) -> ConfigError:
        """Return the error for an unknown key."""
        near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}? " if near else ""
        where = f"{self.path}:{self.keys[key]}: {key}"
        return ConfigError(f"{where} is not a known key.", fix=f"{hint}Known keys: {', '.join(known)}.")

    def fault(self, error: ValidationError, kind: type[Any]) -> ConfigError:
        """Return the first error in file order. Missing keys come after invalid ones."""
        found = [(_dotted(one["loc"]), one) for one in error.errors(include_url=False)]
        key, first = min(found, key=lambda one: (one[1]["type"] == "missing", self.values.get(one[0], 0)))
        return self._config_error(key, first, kind)

    def _config_error(self, key: str, fault: ErrorDetails, kind: type[Any]) -> ConfigError:
        value, context = _plain(fault["input"]), fault.get("ctx", {})
        if fault["type"] == "missing":
            return self.error(key, "is missing", f"Add {key}.", line=self.values[key.rpartition(".")[0]])
        if fault["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            return self.unknown(key, _keys_of(_inner(kind, fault["loc"][:-1])))
        if fault["type"] == "rule":
            return self.error(key, fault["msg"])
        if fault["type"] == "enum":
            known = ", ".join(re.findall(r"'([^']*)'", context["expected"]))
            return self.error(key, f"is {value!r}, which is not one of {known}")
        needed = {"string_type": "text", "tuple_type": "a list"}.get(fault["type"], "a mapping of keys to values")
        shown = f", not {_shown(value)}" if fault["type"] == "string_type" else ""
        return self.error(key, f"must be {needed}{shown}")


def _dotted(loc: tuple[int | str, ...]) -> str:
    key = ""
    for part in loc:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key


def _inner(kind: Any, loc: tuple[int | str, ...]) -> Any:
    """Return the class for the mapping at a path in a spec."""
    for part in loc:
        if isinstance(part, str):
            hints = {key_of(name): hint for name, hint in get_type_hints(kind).items()}
            kind = next(one for one in (hints[part], *get_args(hints[part])) if dataclasses.is_dataclass(one))
    return kind


def _resolved(text: str) -> str:
    """Return the YAML tag of a plain scalar with this text. The value of a variable may be a number."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        node = None
    return node.tag if isinstance(node, yaml.ScalarNode) and node.value == text else "tag:yaml.org,2002:str"
