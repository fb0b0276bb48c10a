"""Read OpenCode sessions from its database, as lines in Claude Code's format.

OpenCode keeps all sessions in one SQLite file with the tables `session`, `message` and `part`. The latter two store
JSON in `data`. Only complete messages are read, so the lines of a session only grow.

Only text typed by the user counts as a prompt. Text added by OpenCode (`synthetic`: file contents, command results,
memoryd's own context), files and the prompts of subagents do not count.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from memoryd.clients.base import LogStatus
from memoryd.clients.lines import TEXT_CHARS, VALUE_CHARS, bounded, cut, mapping
from memoryd.core.clock import to_iso
from memoryd.core.errors import StoreError

# Time without changes after which an unanswered prompt or truncated answer counts as complete.
SETTLED_AFTER_MS = 10 * 60_000
TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "list": "LS",
    "read": "Read",
    "task": "Task",
    "todowrite": "TodoWrite",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "write": "Write",
}
_ARGUMENTS = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}
_REJECTED = ("The user rejected permission to use this specific tool call", "The user dismissed this question")
_COMMAND = "memoryd_command"  # Marks the text of a command; set by the plugin (plugin/opencode/memoryd.js).
_SESSION = "SELECT directory, parent_id, permission, revert FROM session WHERE id = ?"
_MESSAGES = "SELECT id, time_created, time_updated, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
_CHANGED = "SELECT max(time_updated), count(*) FROM {} WHERE session_id = ?"
_TOP_LEVEL = "SELECT id FROM session WHERE parent_id IS NULL ORDER BY time_updated, id"


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    folder: str
    is_subagent: bool
    is_scripted: bool
    reverted_from: str


@dataclass(frozen=True, slots=True)
class _Message:
    id: str
    created: int
    updated: int
    data: Mapping[str, Any]

    @property
    def is_prompt(self) -> bool:
        return self.data.get("role") == "user"

    @property
    def is_complete(self) -> bool:
        times = self.data.get("time")
        return bool(self.data.get("error")) or isinstance(times, Mapping) and bool(times.get("completed"))


def open_session(path: Path, now: datetime | None = None) -> BinaryIO:
    """Return the session's lines. `path` is the database path followed by the session id. Raises OSError."""
    now = now or datetime.now(UTC)
    return io.BytesIO(b"".join(orjson.dumps(line) + b"\n" for line in _lines(path, int(now.timestamp() * 1000))))


def session_status(path: Path) -> LogStatus:
    """Return the size of the session's lines. They are reread only if the database has changed. Raises OSError."""
    now = datetime.now(UTC).timestamp() * 1000
    changed = [_rows(path.parent, _CHANGED.format(table), path.name)[0] for table in ("message", "part")]
    latest = max(row[0] or 0 for row in changed)
    # Which texts are complete also depends on the time.
    key = (*(value for row in changed for value in row), now - latest > SETTLED_AFTER_MS)
    return LogStatus(_size(path, key), latest / 1000)


@lru_cache(maxsize=512)
def _size(path: Path, key: tuple[Any, ...]) -> int:
    return len(open_session(path).read())


def session_folder(path: Path) -> str:
    """Return the folder in which the session was started, or an empty string."""
    try:
        rows = _rows(path.parent, "SELECT directory FROM session WHERE id = ?", path.name)
    except OSError:
        return ""
    return str(rows[0][0]) if rows else ""


def sessions_of(database: Path) -> list[Path]:
    """Return the paths of the sessions in a database, oldest first, excluding subagents. Raises OSError."""
    return [database / str(id) for (id,) in _rows(database, _TOP_LEVEL)]


def _rows(database: Path, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    from memoryd.core.db import read_only  # Imported here because most commands don't need SQLite.

    try:
        return read_only(database, sql, parameters)
    except StoreError as error:
        raise OSError(error.message) from error


def _lines(path: Path, now: int) -> Iterator[dict[str, Any]]:
    session = _session(path)
    parts: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for message_id, id, data in _rows(path.parent, _PARTS, path.name):
        parts.setdefault(message_id, []).append((str(id), mapping(data)))
    previous: str | None = None
    for message in _settled(_messages(path, session), now):
        for suffix, line in _lines_of(message, parts.get(message.id, []), session):
            uuid = f"{message.id}{suffix}"
            yield line | {
                "uuid": uuid,
                "parentUuid": previous,
                "sessionId": session.id,
                "cwd": session.folder,
                "timestamp": to_iso(datetime.fromtimestamp(message.created / 1000, UTC)),
                "isSidechain": session.is_subagent,
            }
            previous = uuid


def _session(path: Path) -> _Session:
    rows = _rows(path.parent, _SESSION, path.name)
    if not rows:
        raise FileNotFoundError(f"no session {path.name}")
    folder, parent, permission, revert = rows[0]
    return _Session(
        path.name, str(folder), bool(parent), _denies_questions(permission), str(mapping(revert).get("messageID", ""))
    )


def _denies_questions(permission: Any) -> bool:
    """Return whether the session was started by `opencode run`, which can't ask the user questions."""
    try:
        rules = orjson.loads(permission or "[]")
    except orjson.JSONDecodeError:
        return False
    entries = [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list) else []
    return any(rule.get("permission") == "question" and rule.get("action") == "deny" for rule in entries)


def _messages(path: Path, session: _Session) -> list[_Message]:
    found = []
    for id, created, updated, data in _rows(path.parent, _MESSAGES, path.name):
        if id == session.reverted_from:  # The user reverted this message and all later ones.
            break
        found.append(_Message(str(id), int(created), int(updated), mapping(data)))
    return found


def _settled(messages: list[_Message], now: int) -> Iterator[_Message]:
    """Yield the messages before the first one that can still change."""
    later_prompts = sum(message.is_prompt for message in messages)
    for number, message in enumerate(messages):
        later_prompts -= message.is_prompt
        # OpenCode writes all parts of a prompt before the answer begins, and the next prompt after the answer has ended.
        followed = number + 1 < len(messages) if message.is_prompt else bool(later_prompts)
        if not (followed or message.is_complete or now - message.updated > SETTLED_AFTER_MS):
            return
        yield message


def _lines_of(
    message: _Message, parts: list[tuple[str, Mapping[str, Any]]], session: _Session
) -> Iterator[tuple[str, dict[str, Any]]]:
    if message.is_prompt:
        yield from _prompt(parts, session)
    elif message.data.get("summary") is True:
        text = "\n".join(_texts(parts))
        yield "", {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": text}}
    else:
        yield from _answer(message, parts)


def _prompt(parts: list[tuple[str, Mapping[str, Any]]], session: _Session) -> Iterator[tuple[str, dict[str, Any]]]:
    typed = [_unwrapped(text) if session.is_scripted else text for text in _texts(parts)]
    if typed:
        yield "", {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text} for text in typed]}}
    for id, part in parts:
        if part.get("type") == "text" and (command := _command(part)):
            # The text is the command's template. The user typed only its name and arguments.
            text = f"<command-name>/{command['name']}</command-name><command-args>{command['arguments']}</command-args>"
            yield f":{id}", {"type": "user", "message": {"role": "user", "content": text}}


def _command(part: Mapping[str, Any]) -> Mapping[str, str] | None:
    metadata = part.get("metadata")
    found = metadata.get(_COMMAND) if isinstance(metadata, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    return {key: str(found.get(key, "")).replace("<", " ") for key in ("name", "arguments")}


def _unwrapped(text: str) -> str:
    """Return a prompt without the quotes that `opencode run` adds around arguments with spaces."""
    return text[1:-1].replace('\\"', '"') if len(text) > 1 and text[0] == text[-1] == '"' else text


def _texts(parts: list[tuple[str, Mapping[str, Any]]]) -> list[str]:
    shown = (part for _, part in parts if part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"))
    return [cut(part["text"], TEXT_CHARS) for part in shown if isinstance(part.get("text"), str) and not _command(part)]


def _answer(message: _Message, parts: list[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in _texts(parts) if text.strip()]
    results: list[tuple[dict[str, Any], bool]] = []
    for _, part in parts:
        if part.get("type") == "tool":
            use, result = _tool(part)
            content.append(use)
            results.append(result)
    error = message.data.get("error")
    yield (
        "",
        {
            "type": "assistant",
            "isApiErrorMessage": bool(error) and not content,
            "message": {
                "id": message.id,
                "role": "assistant",
                "model": str(message.data.get("modelID", "")),
                "content": content,
                "usage": _usage(message.data.get("tokens")),
            },
        },
    )
    for answered, rejected in results:
        line: dict[str, Any] = {"type": "user", "message": {"role": "user", "content": [answered]}}
        yield f":{answered['tool_use_id']}", line | ({"toolUseResult": "User rejected tool use"} if rejected else {})


def _tool(part: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[dict[str, Any], bool]]:
    state = mapping(part.get("state"))
    name, id = str(part.get("tool", "")), str(part.get("callID", ""))
    given = {_ARGUMENTS.get(key, key): bounded(value) for key, value in mapping(state.get("input")).items()}
    failed = state.get("status") == "error"
    text = state.get("error" if failed else "output")
    text = text if isinstance(text, str) else ""
    use = {"type": "tool_use", "id": id, "name": TOOLS.get(name, name), "input": given}
    result = {"type": "tool_result", "tool_use_id": id, "content": cut(text, VALUE_CHARS), "is_error": failed}
    return use, (result, failed and name in TOOLS and text.startswith(_REJECTED))


def _usage(tokens: Any) -> dict[str, int]:
    counts = mapping(tokens)
    cache = mapping(counts.get("cache"))
    named = {
        "input_tokens": counts.get("input"),
        "output_tokens": counts.get("output"),
        "cache_read_input_tokens": cache.get("read"),
        "cache_creation_input_tokens": cache.get("write"),
    }
    return {name: count for name, count in named.items() if isinstance(count, int)}
