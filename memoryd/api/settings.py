"""Operations that show settings with their origins and costs, and change config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from memoryd.api.parameters import NoParameters, request, values
from memoryd.api.registry import Caller, operation
from memoryd.core.config import HOME, KEYS, Settings, load_settings, sources
from memoryd.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime

# Settings that are only read when the daemon starts.
AT_START = frozenset(
    """store team embedder embedding_base_url embedding_api_key rank weight_recency weight_relevancy recency_days ann_threshold
    tool_budget dream_time lease_minutes log_level listen console_port""".split()
)
SECRET = frozenset({"openai_api_key", "embedding_api_key", "store"})  # A database address can contain a password.
OVERRULED = {"option": "an option of the plugin", "environment": "the environment"}
_KINDS: Mapping[type, str] = {bool: "flag", int: "count", float: "number", str: "text", tuple: "paths"}

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Reading sessions": (
        "reader",
        "use_claude",
        "daily_token_budget",
        "openai_model",
        "openai_base_url",
        "openai_api_key",
        "openai_timeout_seconds",
        "claude_model",
        "claude_command",
        "chunk_tokens",
    ),
    "Handing over": (
        "inject_session",
        "start_notice",
        "guard",
        "session_budget",
        "inject_prompt",
        "inject_tools",
        "prompt_budget",
        "tool_budget",
        "floor",
    ),
    "Dreams": (
        "dream_time",
        "dream_idle_minutes",
        "dream_min_new",
        "dream_ask_model",
        "dream_max_share",
        "dream_max_items",
        "dream_project_cap",
        "dream_floor",
        "dream_journal",
    ),
    "Excluded folders": ("exclude",),
    "Finding": (
        "rank",
        "embedder",
        "embedding_base_url",
        "embedding_api_key",
        "weight_relevancy",
        "weight_recency",
        "recency_days",
        "ann_threshold",
    ),
    "The daemon": ("home", "store", "team", "lease_minutes", "sync_minutes", "console_port", "listen", "log_level"),
}
COSTS: Mapping[str, str] = {
    "reader": "offline costs nothing and sends nothing; session adds at most 350 tokens to every third prompt. endpoint "
    "and claude use model tokens, and send the conversation (without secrets) to the model.",
    "use_claude": "Model tokens of your plan or bill, at most daily_token_budget a day.",
    "daily_token_budget": "At most this many model tokens a day; the rest is read the next day.",
    "openai_model": "The model's price; Timeline shows it per session.",
    "openai_base_url": "The text of sessions is sent to this address.",
    "openai_api_key": "Model calls are billed to it.",
    "openai_timeout_seconds": "Longer: a call that hangs delays the following ones longer.",
    "claude_model": "Model calls count against your Claude account.",
    "claude_command": "Nothing by itself; its calls count against your Claude account.",
    "chunk_tokens": "Longer chunks: fewer calls with more tokens each.",
    "inject_session": "Up to session_budget tokens of each session.",
    "start_notice": "No tokens: the line is shown to you, not to the model.",
    "guard": "About 50 tokens for each call that violates a rule.",
    "session_budget": "Up to this many tokens of each session.",
    "inject_tools": "At most 120 tokens with a tool call whose file, command or symbol memory knows something about.",
    "inject_prompt": "Up to prompt_budget tokens with each prompt for which memories are found.",
    "prompt_budget": "Up to this many tokens with each such prompt.",
    "tool_budget": "Up to this many tokens for each answer.",
    "floor": "Lower: more tokens, less relevant. Higher: more often nothing.",
    "dream_time": "A little CPU time of this machine, at low priority.",
    "dream_idle_minutes": "Shorter: more dreams.",
    "dream_min_new": "Fewer: more dreams.",
    "dream_ask_model": "Model tokens within daily_token_budget.",
    "dream_max_share": "Higher: more is done without asking.",
    "dream_max_items": "Higher: more is done without asking.",
    "dream_project_cap": "Lower: more is archived.",
    "dream_floor": "Higher: more is archived.",
    "dream_journal": "Disk space: each entry keeps the files that it changed.",
    "exclude": "Nothing is learned in these folders.",
    "rank": "maxsim: more memory, slower indexing. bm25: paraphrases are not found.",
    "embedder": "bge-small runs locally. openai:… sends memories to its endpoint. A change recomputes all vectors.",
    "embedding_base_url": "Memories are sent to this address.",
    "embedding_api_key": "Embeddings are billed to it.",
    "weight_relevancy": "No tokens: only affects the order of results.",
    "weight_recency": "No tokens: only affects the order of results.",
    "recency_days": "No tokens: only affects the order of results.",
    "ann_threshold": "Lower: more memory, for search in large stores.",
    "store": "Memories are sent to this database, and stay there.",
    "team": "Memories with the scope team can be read by its members.",
    "home": "Disk space for the memories and their indexes.",
    "lease_minutes": "Memory of this machine until then; afterwards, the next use restarts the daemon.",
    "sync_minutes": "A pull and a push through your repository or folder each time, once sync is set up.",
    "console_port": "Nothing; if the port is in use, the console is not available.",
    "listen": "Nothing; tcp: other programs on this machine can reach the port, and need its token.",
    "log_level": "debug: a larger log.",
}


class SettingsAnswer(TypedDict):
    """Settings in groups. If the file is invalid, `problem` is the reason and the values are those currently in effect."""

    path: str
    problem: dict[str, str] | None
    groups: list[dict[str, Any]]
    waiting: list[str]


@operation(NoParameters, SettingsAnswer)
def settings(runtime: Runtime, request: NoParameters, caller: Caller) -> SettingsAnswer:
    """Show every setting with its value, default, origin, meaning and cost. Never shows API keys.

    If the file is invalid, `problem` is the reason, and the values are those currently in effect. Otherwise,
    `problem` is None. `waiting` lists settings that take effect when the daemon restarts.
    """
    now, origin, problem = _wanted(runtime)
    default = Settings(home=runtime.settings.home)
    groups = [
        {"title": title, "settings": [_describe(name, now, default, origin) for name in names]} for title, names in GROUPS.items()
    ]
    return {
        "path": str(runtime.settings.paths.config),
        "problem": {"message": problem.message, "fix": problem.fix} if problem else None,
        "groups": groups,
        "waiting": sorted(name for name in AT_START if getattr(now, name) != getattr(runtime.started, name)),
    }


def _wanted(runtime: Runtime) -> tuple[Settings, dict[str, str], ConfigError | None]:
    home = runtime.settings.home
    try:
        return load_settings(home=str(home)), sources(home), None
    except ConfigError as error:
        return runtime.settings, {}, error


@request
class ChangeSettings:
    """The new values of settings, by name."""

    values: dict[str, Any] | None = values(help="Settings by name; null resets one to its default.")


class ChangedSettings(TypedDict):
    """Changed settings, settings overridden elsewhere, and settings that take effect when the daemon restarts."""

    path: str
    changed: list[str]
    overruled: dict[str, str]
    waiting: list[str]


@operation(ChangeSettings, ChangedSettings, person_only=True)
def change_settings(runtime: Runtime, request: ChangeSettings, caller: Caller) -> ChangedSettings:
    """Write settings to config.toml: all of them or none. A null value resets a setting to its default.

    Comments in the file are kept. Changes take effect immediately, except for settings that are only read at daemon start.
    """
    from memoryd.core.config_file import change_file

    if not request.values:
        raise InputError("change_settings: no setting given.", fix="Give a setting and its value: see 'memoryd config'.")
    changed = change_file(runtime.settings.paths.config, request.values)
    runtime.renew()
    origins = sources(runtime.settings.home)
    overruled = {name: OVERRULED[origin] for name, origin in origins.items() if name in changed and origin in OVERRULED}
    return {
        "path": str(runtime.settings.paths.config),
        "changed": sorted(changed),
        "overruled": overruled,
        "waiting": sorted(AT_START & changed.keys()),
    }


def _describe(name: str, now: Settings, default: Settings, origin: Mapping[str, str]) -> dict[str, Any]:
    value, key = getattr(now, name), KEYS[name]
    source = "" if name == HOME else origin.get(name, "default")
    secret = name in SECRET
    return {
        "name": name,
        "value": "" if secret else _plain(value),
        "is_set": bool(value),
        "default": _plain(getattr(default, name)),
        "help": key.help,
        "cost": COSTS.get(name, ""),
        "kind": "choice" if key.choices else _KINDS.get(type(value), "text"),
        "choices": list(key.choices),
        "source": source,
        "overruled_by": OVERRULED.get(source, ""),
        "secret": secret,
        "at_start": name in AT_START,
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else str(value) if isinstance(value, Path) else value
