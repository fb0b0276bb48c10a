"""Settings, in order of increasing precedence: defaults, config.toml, plugin options, environment, flags.

No other module reads the environment or the config file. Each key is defined once, in `KEYS`. Documentation and error
messages are generated from it (docs/configuration.md).
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from memoryd.core.errors import ConfigError
from memoryd.core.files import read_regular
from memoryd.core.paths import Paths

FIX_TOML = "Fix the TOML or delete the file."
ENV_PREFIX = "MEMORYD_"
OPTION_PREFIX = "CLAUDE_PLUGIN_OPTION_"
HOME_ENV = "MEMORYD_HOME"
INTERNAL_ENV = "MEMORYD_INTERNAL"
CLIENT_MARK = "CLAUDECODE"
IN_CLIENT = "client shell"  # Name of the caller when the command line runs inside the client.
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "fish", "ksh", "ash", "busybox"})
CLIENT_PREFIXES = ("ANTHROPIC_", "CLAUDE")
CLIENT_KEPT = frozenset({"CLAUDE_CONFIG_DIR"})
ENDPOINT, CLAUDE, SESSION, OFFLINE = "endpoint", "claude", "session", "offline"
READERS = ("auto", ENDPOINT, CLAUDE, SESSION, OFFLINE)
# Readers that call their own model for each chunk. All other readers are rule-based and free.
ASKS_A_MODEL = frozenset({ENDPOINT, CLAUDE})
READS_BY_RULES = frozenset(READERS) - ASKS_A_MODEL - {"auto"}
# Former names of settings and values, which are still accepted.
OLD_NAMES: Mapping[str, str] = {"extractor": "reader"}
OLD_READERS: Mapping[str, str] = {"openai": ENDPOINT, "heuristic": OFFLINE}
RANKS = ("maxsim", "hybrid", "bm25")
GUARD_MODES = ("off", "note", "ask", "block")
NOTICES = ("new", "always", "off")
LEVELS = ("debug", "info", "warning", "error")
LISTENS = ("auto", "tcp")
HOME = "home"
FILES = "files"  # The value of `store` for Markdown files in the home folder.


_ADDRESS = re.compile(r"https?://[^\s/?#]+", re.IGNORECASE)
_TEAM = re.compile(r"[\w.-]{1,60}")
SCHEMES = ("postgres", "postgresql")


def is_address(store: str) -> bool:
    """Return whether the setting `store` names a Postgres database."""
    return store.partition("://")[0] in SCHEMES


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their final values. Token budgets are in estimated model tokens."""

    home: Path
    store: str = FILES
    team: str = ""
    reader: str = "auto"
    use_claude: bool = False
    openai_base_url: str = ""
    openai_model: str = "openai/gpt-5-mini"
    openai_api_key: str = ""
    openai_timeout_seconds: float = 60.0
    claude_command: str = "claude"
    claude_model: str = "haiku"
    daily_token_budget: int = 200_000
    chunk_tokens: int = 8_000
    embedder: str = "bge-small"
    embedding_base_url: str = ""
    embedding_api_key: str = ""
    rank: str = "maxsim"
    floor: float = 0.5
    weight_recency: float = 0.1
    weight_relevancy: float = 0.9
    recency_days: float = 90.0
    inject_session: bool = True
    inject_prompt: bool = True
    inject_tools: bool = True
    start_notice: str = "new"
    guard: str = "note"
    session_budget: int = 600
    prompt_budget: int = 300
    tool_budget: int = 2_000
    ann_threshold: int = 20_000
    lease_minutes: float = 30.0
    sync_minutes: int = 30
    dream_time: str = "03:30"
    dream_idle_minutes: float = 20.0
    dream_min_new: int = 20
    dream_max_share: float = 0.2
    dream_max_items: int = 50
    dream_journal: int = 100
    dream_project_cap: int = 2_000
    dream_floor: float = 0.03
    dream_ask_model: bool = True
    exclude: tuple[str, ...] = ()
    log_level: str = "info"
    listen: str = "auto"
    console_port: int = 0

    @property
    def paths(self) -> Paths:
        """Layout of the home folder."""
        return Paths(self.home)


FIRST_PRINTED, DELETE = 32, 127
MAX_INJECTED_TOKENS = 2_400  # The client truncates hook output at 10,000 characters.
MAX_ANSWER_TOKENS = 20_000  # The client warns about tool results larger than this, then truncates them.
MAX_NUMBER = 10**15  # The API's JSON supports 64-bit integers.


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its field name, help text, parser, and allowed values if it is an enumeration."""

    name: str
    help: str
    parse: Callable[[Any], Any]
    choices: tuple[str, ...] = ()


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("expected a text")
    return _printed(value.strip())


def _printed(text: str) -> str:
    """Return the text unchanged. Reject control characters, which would only fail much later in a path, name or header."""
    if any(ord(character) < FIRST_PRINTED or ord(character) == DELETE for character in text):
        raise ValueError("expected a text without control characters")
    return text


def _address(value: Any) -> str:
    """Return the address of a web service, or an empty text."""
    text = _text(value)
    if text and not _ADDRESS.match(text):
        raise ValueError("expected an address such as https://models.example.com/v1")
    return text


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if str(value).strip().lower() not in known:
        raise ValueError("expected true or false")
    return known[str(value).strip().lower()]


def _count(value: Any) -> int:
    if isinstance(value, bool) or isinstance(value, float) and not value.is_integer():
        raise ValueError("expected a whole number")
    number = int(value)
    if not 0 <= number <= MAX_NUMBER:
        raise ValueError(f"expected a number from 0 to {MAX_NUMBER}")
    return number


def _between(low: int, high: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        number = _count(value)
        if not low <= number <= high:
            raise ValueError(f"expected a number from {low} to {high}")
        return number

    return parse


def _port(value: Any) -> int:
    number = _count(value)
    if number > 65_535:
        raise ValueError("expected a port, 0 to 65535")
    return number


def _positive(value: Any) -> float:
    number = float(value)
    if not 0 < number < float("inf"):
        raise ValueError("expected a number above 0")
    return number


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError("expected a number from 0 to 1")
    return number


def _choice(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return str(value)

    return parse


def _reader(value: Any) -> str:
    return _choice(*READERS)(OLD_READERS.get(value, value) if isinstance(value, str) else value)


def _store(value: Any) -> str:
    text = _text(value)
    if text != FILES and not is_address(text):
        raise ValueError("expected files or the address of a Postgres database")
    return text


def _team(value: Any) -> str:
    text = _text(value)
    if text and not _TEAM.fullmatch(text):
        raise ValueError("expected at most 60 letters, digits, dots, dashes and underscores")
    return text


def _clock_time(value: Any) -> str:
    hour, _, minute = _text(value).partition(":")
    if not (hour.isdigit() and minute.isdigit() and int(hour) < 24 and int(minute) < 60):
        raise ValueError("expected a time such as 03:30")
    return f"{int(hour):02}:{int(minute):02}"


def _path_list(value: Any) -> tuple[str, ...]:
    entries = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, str) for entry in entries):
        raise ValueError("expected a list of paths")
    return tuple(str(Path(_printed(entry)).expanduser()) for entry in entries if entry)


KEYS: dict[str, Setting] = {
    key.name: key
    for key in (
        Setting("home", "Folder for everything memoryd stores.", lambda value: Path(_text(value)).expanduser().absolute()),
        Setting(
            "store",
            "files (Markdown files in the home folder) or postgres://user@host/database (extra `postgres`, docs/postgres.md).",
            _store,
        ),
        Setting("team", "Team whose memories are read and written besides your own, in a Postgres store.", _team),
        Setting(
            "reader",
            "Who decides what is kept: auto, endpoint (a model behind openai_base_url), claude (`claude -p`), "
            "session (the session's own model settles proposals) or offline (rules).",
            _reader,
            READERS,
        ),
        Setting(
            "use_claude", "Your consent: `auto` may run `claude -p` with your login to read sessions (memoryd setup).", _flag
        ),
        Setting(
            "openai_base_url", "OpenAI-compatible endpoint; empty means OpenRouter. When set, `auto` means endpoint.", _address
        ),
        Setting("openai_model", "Model of the endpoint reader.", _text),
        Setting("openai_api_key", "Key for the endpoint. When set, `auto` means endpoint.", _text),
        Setting("openai_timeout_seconds", "Timeout of one model call, in seconds.", _positive),
        Setting("claude_command", "The Claude Code client that the claude reader runs.", _text),
        Setting("claude_model", "Model of the claude reader.", _text),
        Setting("daily_token_budget", "Model tokens per day for the day dream; 0 forbids model calls.", _count),
        Setting("chunk_tokens", "Longest part of a session sent to a model in one call, in tokens.", _between(1, 200_000)),
        Setting("embedder", "bge-small (bundled), hash, hub:<model> or openai:<model>.", _text),
        Setting("embedding_base_url", "Endpoint of an openai:<model> embedder.", _address),
        Setting("embedding_api_key", "Key for the embedding endpoint.", _text),
        Setting(
            "rank", "maxsim (words, meaning, tokens), hybrid (words and meaning) or bm25 (words only).", _choice(*RANKS), RANKS
        ),
        Setting("floor", "Relevancy below which recall returns nothing, 0..1.", _share),
        Setting("weight_recency", "Ranking weight of recency (w_r).", _share),
        Setting("weight_relevancy", "Ranking weight of relevancy (w_s).", _share),
        Setting("recency_days", "Time constant of the recency term (tau), in days.", _positive),
        Setting("inject_session", "Whether SessionStart injects governance.", _flag),
        Setting("inject_prompt", "Whether prompts get relevant memories.", _flag),
        Setting("inject_tools", "Whether tool calls, failed tools and subagents get relevant memories.", _flag),
        Setting(
            "start_notice",
            "One-line notice at a session's start: new (when something was learnt), always or off.",
            _choice(*NOTICES),
            NOTICES,
        ),
        Setting(
            "guard",
            "What happens to a tool call that violates a check of a rule: off (nothing), note (the agent is "
            "given the rule), ask (you are asked) or block (it is refused). A check may have its own mode.",
            _choice(*GUARD_MODES),
            GUARD_MODES,
        ),
        Setting("session_budget", "Maximum tokens injected at SessionStart.", _between(0, MAX_INJECTED_TOKENS)),
        Setting("prompt_budget", "Maximum tokens injected with a prompt.", _between(0, MAX_INJECTED_TOKENS)),
        Setting("tool_budget", "Maximum tokens in an MCP tool's result.", _between(0, MAX_ANSWER_TOKENS)),
        Setting("ann_threshold", "Number of memories above which the HNSW index is used (extra `ann`).", _count),
        Setting("lease_minutes", "Minutes of inactivity after which the daemon shuts down.", _positive),
        Setting("sync_minutes", "Minutes between syncs with your other machines (`memoryd sync`); 0: only by command.", _count),
        Setting("dream_time", "Local time of the nightly dream, HH:MM.", _clock_time),
        Setting("dream_idle_minutes", "Minutes without a session after which a dream may start early.", _positive),
        Setting("dream_min_new", "New memories since the last dream that an early dream requires.", _count),
        Setting("dream_max_share", "Largest share of all memories that a dream may drop without asking, 0..1.", _share),
        Setting("dream_max_items", "Largest number of memories that a dream may drop without asking.", _count),
        Setting("dream_journal", "Number of dreams kept in the journal, for undo.", _count),
        Setting(
            "dream_project_cap",
            "Maximum active memories per project; the dream archives the least valuable ones above it.",
            _count,
        ),
        Setting("dream_floor", "Value below which the dream archives a memory, 0..1.", _share),
        Setting(
            "dream_ask_model",
            "Whether a dream asks the reader's model about doubtful pairs of memories.",
            _flag,
        ),
        Setting("exclude", "Folders whose sessions are ignored.", _path_list),
        Setting("log_level", "debug, info, warning or error.", _choice(*LEVELS), LEVELS),
        Setting("listen", "auto (Unix socket where available) or tcp (loopback port with a token).", _choice(*LISTENS), LISTENS),
        Setting("console_port", "Loopback port of the console (memoryd console); 0 picks a free one.", _port),
    )
}


def parse_value(name: str, value: Any, where: str) -> Any:
    """Parse the value of a setting from a string or a TOML value.

    Raises:
        ConfigError: The value is invalid. The message contains `where`.
    """
    key = KEYS[current_name(name)]
    try:
        return key.parse(value)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {name} = {value!r}: {error}.", fix=key.help) from error


def check_name(name: str, where: str) -> None:
    """Raise ConfigError if there is no setting with this name."""
    if name in KEYS or name in OLD_NAMES:
        return
    near = difflib.get_close_matches(name[:100], KEYS, 1)  # Comparing names takes quadratic time in their length.
    hint = f"Did you mean '{near[0]}'? " if near else ""
    raise ConfigError(f"{where}: there is no setting '{name}'.", fix=f"{hint}Known: {', '.join(KEYS)}.")


MAX_FILE_BYTES = 1_000_000


def _from_file(path: Path) -> dict[str, Any]:
    try:
        text = read_regular(path, MAX_FILE_BYTES).decode("utf-8")
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path} can't be read: {error}", fix=FIX_TOML) from error
    return _from_toml(text, str(path))


def _from_toml(text: str, where: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # Also a number of thousands of digits, and lists that are nested too deeply.
        raise ConfigError(f"{where} can't be read: {error}", fix=FIX_TOML) from error
    for name in values:
        check_name(name, where)
    return {current_name(name): parse_value(name, value, where) for name, value in _new_last(values) if name != HOME}


def current_name(name: str) -> str:
    """Return the current name of a setting, given its current or a former name."""
    return OLD_NAMES.get(name, name)


def _new_last(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Sort settings so that former names come first and are overridden by current names."""
    return sorted(values.items(), key=lambda pair: pair[0] not in OLD_NAMES)


def problem_of(text: str, where: str) -> ConfigError | None:
    """Return the error in the text of a config.toml, or None if the text is valid."""
    try:
        _from_toml(text, where)
    except ConfigError as error:
        return error
    return None


def _from_options(path: Path) -> dict[str, Any]:
    """Read the last known plugin options.

    Invalid ones are skipped, because they were reported earlier and must not prevent a start.
    """
    try:
        stored = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    out: dict[str, Any] = {}
    for name, value in stored.items() if isinstance(stored, dict) else ():
        with contextlib.suppress(ConfigError):
            out |= _from_texts({name: str(value)}, OPTION_PREFIX)
    return out


def _from_texts(values: Mapping[str, str], prefix: str) -> dict[str, Any]:
    out = {}
    for name in (*OLD_NAMES, *KEYS):
        variable = prefix + name.upper()
        if values.get(variable, "") != "":
            out[current_name(name)] = parse_value(name, values[variable], variable)
    return out


def find_home(environ: Mapping[str, str]) -> Path:
    """Return the home folder: MEMORYD_HOME, the plugin's option or ~/.memoryd."""
    chosen = environ.get(HOME_ENV) or environ.get(OPTION_PREFIX + "HOME") or "~/.memoryd"
    return _home_folder(chosen)


def _home_folder(text: str) -> Path:
    try:
        text.encode("utf-8")  # The path appears in responses and in the endpoint file.
        return Path(text).expanduser().absolute()
    except (RuntimeError, UnicodeEncodeError) as error:
        raise ConfigError(f"{text!r} can't be memoryd's home folder: {error}", fix="Name another folder.") from error


def options_problem(options: Mapping[str, str]) -> str:
    """Return the error in the plugin's options, or an empty string."""
    try:
        _from_texts(options, OPTION_PREFIX)
    except ConfigError as error:
        return str(error)
    return ""


def load_settings(environ: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    """Resolve all settings. Flags with value None are ignored.

    Raises:
        ConfigError: A setting is invalid; the message names its source.
    """
    env = os.environ if environ is None else environ
    home = _home_folder(flags["home"]) if flags.get("home") else find_home(env)
    paths = Paths(home)
    values: dict[str, Any] = {}
    values |= _from_file(paths.config)
    values |= _from_options(paths.plugin_options)
    values |= _from_texts(env, OPTION_PREFIX)
    values |= _from_texts(env, ENV_PREFIX)
    values |= _from_flags(flags)
    values["home"] = home
    return Settings(**values)


def sources(home: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the source of each setting that is not a default: "file", "option" or "environment".

    Raises:
        ConfigError: A setting is invalid.
    """
    env = os.environ if environ is None else environ
    paths = Paths(home)
    layers = (
        ("file", _from_file(paths.config)),
        ("option", _from_options(paths.plugin_options) | _from_texts(env, OPTION_PREFIX)),
        ("environment", _from_texts(env, ENV_PREFIX)),
    )
    return {name: source for source, values in layers for name in values}


def with_flags(settings: Settings, **flags: Any) -> Settings:
    """Return the settings with these flags applied. Flags with value None are ignored."""
    return replace(settings, **_from_flags(flags))


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in flags.items() if value is not None}
    return {current_name(name): parse_value(name, value, "flag") for name, value in _new_last(given)}


def openai_key(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Return the API key for the endpoint reader: memoryd's own setting, or else the vendor's environment variable."""
    env = os.environ if environ is None else environ
    if settings.openai_api_key:
        return settings.openai_api_key
    if "openrouter.ai" in settings.openai_base_url or not settings.openai_base_url:
        return env.get("OPENROUTER_API_KEY", "")
    return env.get("OPENAI_API_KEY", "")


def daemon_environment(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a daemon started by the client, without the client's login and session variables."""
    env = os.environ if environ is None else environ
    kept = {name: value for name, value in env.items() if name in CLIENT_KEPT or not name.startswith(CLIENT_PREFIXES)}
    kept.pop(INTERNAL_ENV, None)
    return kept | {HOME_ENV: str(settings.home)}


def inside_client(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether a model started this process from the client's shell.

    Checks for the client's variable in this process and in the parent shell.
    """
    env = os.environ if environ is None else environ
    if env.get(CLIENT_MARK):
        return True
    try:
        parent = Path(f"/proc/{os.getppid()}")
        name = (parent / "comm").read_text("utf-8", "replace").strip()
        return name in SHELLS and f"\0{CLIENT_MARK}=".encode() in b"\0" + (parent / "environ").read_bytes()
    except (OSError, ValueError):  # This system has no /proc.
        return False


def is_internal(environ: Mapping[str, str] | None = None) -> bool:
    """Return whether this process belongs to one of memoryd's own model runs, which must not be observed."""
    return bool((os.environ if environ is None else environ).get(INTERNAL_ENV))


_CLIENT_SESSION = frozenset(
    """CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_SSE_PORT
    CLAUDE_PROJECT_DIR CLAUDE_ENV_FILE CLAUDE_PID CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_CHILD_NOTES_DIR
    CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_MESSAGING_TOKEN AI_AGENT""".split()
)


def child_environment(extra: Mapping[str, str], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a client process started by memoryd, without memoryd's settings and any outer session."""
    env = os.environ if environ is None else environ
    ours = (ENV_PREFIX, OPTION_PREFIX, "CLAUDE_PLUGIN_")
    kept = {name: value for name, value in env.items() if name not in _CLIENT_SESSION and not name.startswith(ours)}
    return {**kept, INTERNAL_ENV: "1", **extra}


def setting_names() -> list[str]:
    """Return all keys in documentation order."""
    return [field.name for field in fields(Settings)]
