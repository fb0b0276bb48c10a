"""Readers in the order in which they are tried, and the state of those currently unavailable.

A reader that fails is paused, for longer each time. Meanwhile, the next one in the list is used, and finally the rules.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from memoryd.clients.registry import log_status
from memoryd.core.clock import local_midnight, to_iso
from memoryd.core.config import ASKS_A_MODEL, CLAUDE, ENDPOINT, OFFLINE, READS_BY_RULES, SESSION, Settings
from memoryd.core.errors import ConfigError, InputError, MemorydError, ModelError
from memoryd.core.openai_api import OPENROUTER_URL
from memoryd.core.protocols import LLM, Clock, Embedder, Extractor
from memoryd.core.state import GATHERING, Cursor, Job, State
from memoryd.core.types import Extraction, Passage
from memoryd.daydream.model_reader import Closable, UnusableAnswerError
from memoryd.daydream.transcript import LogChunk, ReadLimits
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.llm.claude import Logins

# When to ask a model. New text in a log waits until there is enough of it for a call.
#
# Each turn of a continuing session triggers a day dream. For a model, the new text stays unread on disk until there are
# `chunk_tokens` of it, or until nothing more is expected: the session ends, is compacted or is idle, or the user asks. The cursor
# does not move, so nothing is lost if the process is killed.

# After these events, the session continues. After all others, the available text is read.
CONTINUING_EVENTS = frozenset({"Stop", "SubagentStop"})
SILENT_SECONDS = 900.0
# A log has at least this many bytes per token of text, so a smaller log can't fill a chunk.
MIN_BYTES_PER_TOKEN = 4


class BatchPolicy:
    """Decides whether a job waits for more text. Handles one job at a time, and stores its notes about a log in the state."""

    def __init__(self, state: State, settings: Settings, reader: str) -> None:
        self._state = state
        self._tokens = settings.chunk_tokens
        self._on = reader in ASKS_A_MODEL

    def waits(self, job: Job, cursor: Cursor) -> bool:
        """Return whether the log has too few new bytes to be read.

        Text for which the user turned memory off is never delayed.
        """
        if not self._on or job.reason not in CONTINUING_EVENTS or self._is_off(job.session):
            return False
        size = -1
        with suppress(OSError):  # The reader reports the error.
            size = log_status(Path(job.transcript)).size
        return 0 <= size - cursor.offset < self._least_bytes(cursor)

    def is_small(self, job: Job, piece: LogChunk) -> bool:
        """Return whether a chunk is too small for a call.

        If so, the log is checked again when it has twice as much new text. All checks together thus read at most twice the new
        text.
        """
        if not self._on or job.reason not in CONTINUING_EVENTS or piece.more or not piece.turns or self._is_off(job.session):
            return False
        self._state.set_note(_note(job.transcript), f"{piece.start}:{2 * (piece.cursor.offset - piece.start)}")
        return True

    def hold(self, job: Job) -> None:
        """Postpone the job until the session is idle. Any other event makes the job due immediately."""
        self._state.defer_job(job, GATHERING, SILENT_SECONDS)

    def _least_bytes(self, cursor: Cursor) -> int:
        start, _, least = self._state.note(_note(cursor.transcript)).partition(":")
        return int(least) if start == str(cursor.offset) and least else MIN_BYTES_PER_TOKEN * self._tokens

    def _is_off(self, session: str) -> bool:
        record = self._state.session(session)
        return record is not None and (record.off or self._state.is_off(record.project, record.cwd))


def _note(transcript: str) -> str:
    return f"gathering {transcript}"


# Selection of the reader. docs/design/extractors.md describes when text leaves the machine.

WHOLE_LOG_TOKENS = 500_000


def choose(settings: Settings) -> str:
    """Return the reader: endpoint, claude, session or offline.

    `auto` sends text only to an endpoint configured for memoryd, or to Claude if the user has agreed.
    """
    if settings.reader != "auto":
        return settings.reader
    if settings.openai_base_url or settings.openai_api_key:
        return ENDPOINT
    return CLAUDE if settings.use_claude else SESSION


def models_of(settings: Settings) -> tuple[str, ...]:
    """Return the models to ask, in order.

    `auto` falls back from the endpoint to Claude if the user has agreed.
    """
    chosen = choose(settings)
    if chosen not in ASKS_A_MODEL:
        return ()
    return (chosen, CLAUDE) if settings.reader == "auto" and chosen == ENDPOINT and settings.use_claude else (chosen,)


def limits_for(settings: Settings, reader: str) -> ReadLimits:
    """Return the limits on the part of a log passed to a reader at once.

    For a model, the limit balances the cost of calls. Rules cost nothing and judge better with more context, as
    measured on whole logs compared with chunks of 6,000 tokens.
    """
    return ReadLimits(tokens=WHOLE_LOG_TOKENS if reader in READS_BY_RULES else max(1, settings.chunk_tokens))


def make_llm(settings: Settings, name: str, environ: Mapping[str, str] | None = None, logins: Logins | None = None) -> LLM:
    """Create the model for the endpoint or claude reader.

    Raises ConfigError if a key is missing, and InputError for other readers.
    """
    if name not in ASKS_A_MODEL:
        raise InputError(
            f"The {name} reader does not use a model.", fix="Choose endpoint or claude as the reader: memoryd setup."
        )
    from memoryd.llm import ClaudeLLM, OpenAILLM

    return OpenAILLM(settings, environ) if name == ENDPOINT else ClaudeLLM(settings, environ, logins=logins)


class OfflineReader:
    """Reads by rules.

    Results are recorded under `offline`, or under `session` if a session's model settles the rest.
    """

    def __init__(self, name: str = OFFLINE, embedder: Embedder | None = None) -> None:
        from memoryd.daydream.offline import ActClassifier, HeuristicExtractor

        # The classifier's weights only fit vectors of the bundled model.
        self._rules = HeuristicExtractor(judge=ActClassifier(embedder) if isinstance(embedder, OnnxEmbedder) else None)
        self._name = name

    @property
    def name(self) -> str:
        """The reader's name: offline or session."""
        return self._name

    def extract(self, passage: Passage) -> Extraction:
        """Return candidates in the order of their evidence."""
        return replace(self._rules.extract(passage), extractor=self._name)


def make_extractor(
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    record: Path | None = None,
    replay: Path | None = None,
    name: str = "",
    logins: Logins | None = None,
    embedder: Embedder | None = None,
) -> Extractor:
    """Create the configured reader, or the reader with this name.

    Args:
        settings: The settings.
        environ: Environment variables, including keys.
        record: A folder in which to store a model's answers.
        replay: A folder of answers to use instead of asking the model.
        name: The reader's name. The default is the configured reader.
        logins: The sessions' logins.
        embedder: The bundled embedder. With it, the rules are stricter.

    Raises:
        ConfigError: if a key is missing.
        InputError: if `record` or `replay` is given for a reader without a model.
    """
    name = name or choose(settings)
    if name not in ASKS_A_MODEL:
        if record or replay:
            raise InputError(f"The {name} reader does not use a model.", fix="Add --reader endpoint or --reader claude.")
        return OfflineReader(name, embedder)
    from memoryd.daydream.model_reader import ModelExtractor
    from memoryd.llm import RecordingLLM, ReplayLLM

    if replay:
        return ModelExtractor(ReplayLLM(replay), settings, name)
    llm = make_llm(settings, name, environ, logins)
    return ModelExtractor(RecordingLLM(llm, record) if record else llm, settings, name)


log = logging.getLogger(__name__)
FIRST_REST_SECONDS = 15.0
LONGEST_REST_SECONDS = 3600.0
_STATUS_DIGITS = 3  # Other words with digits are ids, times or amounts. An HTTP status distinguishes problems.
PROBLEM, PROBLEM_SHOWN = "reader problem", "reader problem told"


class BudgetReached(MemorydError):
    """Raised when the daily budget of model tokens is used up."""

    code = "budget"


@dataclass(frozen=True, slots=True)
class Waiting:
    """The result when no model is available: the reason, and the time of the next attempt (in seconds since 1970)."""

    problem: str
    until: float


class Readers:
    """Asks the first available model, with the rules as a fallback. Handles one passage at a time."""

    def __init__(
        self,
        settings: Settings,
        state: State,
        clock: Clock,
        extractor: Extractor | None = None,
        logins: Logins | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._embedder = embedder
        self._settings = settings
        self._state = state
        self._clock = clock
        self._logins = logins
        self._made: dict[str, Extractor] = {}
        self._models = models_of(settings)
        self._rules: Extractor | None = None
        self._closing = False
        self.chosen = extractor.name if extractor else choose(settings)
        if extractor is not None and extractor.name in READS_BY_RULES:
            self._models, self._rules = (), extractor
        elif extractor is not None:
            self._models, self._made = (extractor.name,), {extractor.name: extractor}

    @property
    def has_model(self) -> bool:
        """Whether a model decides what to keep, even if it is currently paused."""
        return bool(self._models)

    @property
    def rules(self) -> Extractor:
        """The reader without a model, created on first use."""
        if self._rules is None:
            self._rules = OfflineReader(self.chosen if self.chosen in READS_BY_RULES else SESSION, self._embedder)
        return self._rules

    def can_ask(self) -> bool:
        """Return whether any model may be asked now. Configuration errors are raised here."""
        return any(self._ready(name) is not None for name in self._models)

    def ask(self, passage: Passage) -> Extraction | Waiting:
        """Return the answer of the first available model, or Waiting if there is none.

        Raises UnusableAnswerError, and any error raised on close.
        """
        if self._logins is not None:
            self._logins.select(passage.session)
        for name in self._models:
            reader = self._ready(name)
            if reader is None:
                continue
            try:
                extraction = reader.extract(passage)
            except UnusableAnswerError:
                raise
            except ModelError as error:
                if self._closing:
                    raise
                self._rest(name, error)
            else:
                self._answered(name)
                return extraction
        return Waiting(self.problem(), self.next_try())

    def close(self) -> None:
        """Stop a running model process. Can be called from any thread."""
        self._closing = True
        for reader in list(self._made.values()):
            if isinstance(reader, Closable):
                reader.close()

    def problem(self) -> str:
        """Return why the last model is unavailable, or an empty string if it is available."""
        return self._state.note(PROBLEM)

    def next_try(self) -> float:
        """Return the time of the next attempt, in seconds since 1970."""
        return min((_rest_of(self._state, name)[0] for name in self._models), default=0.0)

    def _ready(self, name: str) -> Extractor | None:
        if _rest_of(self._state, name)[0] > self._clock.now().timestamp():
            return None
        try:
            if name not in self._made:
                self._made[name] = make_extractor(self._settings, name=name, logins=self._logins)
            self._check_budget()
        except (ConfigError, BudgetReached) as error:
            self._rest(name, error)
            return None
        return self._made[name]

    def _check_budget(self) -> None:
        budget = self._settings.daily_token_budget
        if self._state.tokens_since(to_iso(local_midnight(self._clock.now()))) >= budget:
            raise BudgetReached(
                f"The daily token budget of {budget} is used up; the remaining text will be read tomorrow.",
                fix="Raise daily_token_budget to read it today.",
            )

    def _rest(self, name: str, error: MemorydError) -> None:
        now = self._clock.now()
        attempts = _rest_of(self._state, name)[1]
        until = now.timestamp() + min(FIRST_REST_SECONDS * 2.0 ** min(attempts, 20), LONGEST_REST_SECONDS)
        if isinstance(error, BudgetReached):
            until = (local_midnight(local_midnight(now) + timedelta(hours=36))).timestamp()
        self._state.set_note(f"rest {name}", f"{until}:{attempts + 1}")
        # The problem of a fallback must not hide that of the chosen one.
        preferred = name == self._models[0] or not self.problem()
        if preferred and not _is_same_problem(self.problem(), str(error)):
            log.warning("the %s reader can't answer, the next one is used instead: %s", name, error)
            self._state.set_note(PROBLEM, str(error))

    def _answered(self, name: str) -> None:
        """End the pause of a model that answers again. While another model stands in, the chosen one stays paused."""
        recovered = bool(_rest_of(self._state, name)[1])
        if recovered:
            self._state.set_note(f"rest {name}", "")
        if name == self._models[0] and self.problem():
            self._state.set_note(PROBLEM, "")
            self._state.set_note(PROBLEM_SHOWN, "")
            recovered = True
        if recovered:
            self._state.release_held()


def _is_same_problem(first: str, second: str) -> bool:
    """Return whether two messages differ at most in numbers and ids, such as the id of a request."""
    return _without_ids(first) == _without_ids(second)


def _without_ids(message: str) -> list[str]:
    words = (word.strip("()[].,:;") for word in message.split())
    return [word for word in words if len(word) == _STATUS_DIGITS or not any(map(str.isdigit, word))]


def _rest_of(state: State, name: str) -> tuple[float, int]:
    """Return when a reader's pause ends, and how often it has failed."""
    until, _, attempts = state.note(f"rest {name}").partition(":")
    return (float(until), int(attempts)) if attempts else (0.0, 0)


def wake(state: State) -> None:
    """Reset failures, so that models can be asked immediately and waiting chunks become due."""
    for name in ASKS_A_MODEL:
        state.set_note(f"rest {name}", "")
    state.set_note(PROBLEM, "")
    state.release_held()


def at_work(settings: Settings, state: State) -> str:
    """Return the reader in use: the configured one, or the next one while it is unavailable."""
    chosen = choose(settings)
    if not current_problem(settings, state):
        return chosen
    return next((name for name in models_of(settings)[1:] if not _rest_of(state, name)[1]), SESSION)


_STAND_INS = {
    CLAUDE: "claude -p reads in the meantime",
    SESSION: "rules and each session's own model decide in the meantime",
}


def unavailable(settings: Settings, state: State, problem: str) -> str:
    """Describe the reader's problem and which reader is used in the meantime, without a final full stop."""
    return f"{choose(settings)} is unavailable, so {_STAND_INS[at_work(settings, state)]}: {problem.rstrip('.')}"


def current_problem(settings: Settings, state: State) -> str:
    """Return why the configured reader is unavailable. Empty for readers without a model, which may follow one that failed."""
    return "" if choose(settings) in READS_BY_RULES else state.note(PROBLEM)


def unreported_problem(settings: Settings, state: State) -> str:
    """Return why the configured reader is unavailable, unless the user has already been notified."""
    problem = current_problem(settings, state)
    if not problem or _is_same_problem(state.note(PROBLEM_SHOWN), problem):
        return ""
    state.set_note(PROBLEM_SHOWN, problem)
    return problem


def spending(state: State, clock: Clock) -> dict[str, Any]:
    """Return the tokens and dollars spent on models today and this month, in local time.

    The dollars are None if a cost is unknown.
    """
    midnight = local_midnight(clock.now())
    month = local_midnight(midnight.astimezone().replace(day=1))
    today, since = state.spent_since(to_iso(midnight)), state.spent_since(to_iso(month))
    return {
        "tokens_today": today.input_tokens + today.output_tokens,
        "usd_today": _rounded(today.cost_usd),
        "tokens_month": since.input_tokens + since.output_tokens,
        "usd_month": _rounded(since.cost_usd),
    }


def _rounded(cost_usd: float | None) -> float | None:
    return None if cost_usd is None else round(cost_usd, 4)


def _dollars(cost_usd: float | None) -> str:
    return "cost unknown" if cost_usd is None else f"${cost_usd:.2f}"


def reader_line(settings: Settings, spent: Mapping[str, Any], problem: str = "") -> str:
    """Describe the current reader, its costs and how to change it, in one line.

    `spent` is the result of `spending`, and `problem` that of `unavailable`, if the reader is unavailable.
    """
    name = choose(settings)
    if name == OFFLINE:
        description = "rules decide what is kept, at no cost and without sending anything"
    elif name == SESSION:
        description = "the session's own model decides on proposals, at most 350 tokens with every third prompt, no extra calls"
    else:
        where = f"claude -p ({settings.claude_model}, your login)"
        if name == ENDPOINT:
            where = f"{settings.openai_model} at {settings.openai_base_url or OPENROUTER_URL}"
        description = (
            f"{where}; today {spent['tokens_today']:,.0f} of {settings.daily_token_budget:,} tokens "
            f"({_dollars(spent['usd_today'])}), this month {spent['tokens_month']:,.0f} ({_dollars(spent['usd_month'])})"
        )
    resting = f". {problem}" if problem else ""
    return f"{name}: {description}{resting}. Change it: memoryd setup"
