"""Read a session of Codex CLI from its rollout file, as lines in Claude Code's format.

Each line of a rollout file holds a time, a type and a payload. `response_item`s are what the model was given or answered: with
the role `user` they also hold Codex's own notes, instructions of the project and memoryd's context, so the user's prompts are
taken from the events instead (`item_completed` with a `UserMessage`; `user_message` until 2026). Files of early 2025 have
neither types nor events: there, only texts that Codex does not mark as its own are prompts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memoryd.clients.converted import ConvertedFiles, complete_lines, loaded
from memoryd.clients.lines import TEXT_CHARS, VALUE_CHARS, bounded, cut, mapping
from memoryd.core.files import open_regular

LINE_BYTES = 16_000_000  # longer lines hold images
INTERRUPTED = "[Request interrupted by user]"
_IRRELEVANT = re.compile(
    rb'"type":"(?:world_state|turn_context|token_usage_record|token_count|reasoning|thread_settings_applied|agent_\w{1,40})"'
)
_HEAD_BYTES = 200
_TOOLS = {"exec_command": "Bash", "shell": "Bash", "shell_command": "Bash", "local_shell": "Bash", "update_plan": "TodoWrite"}
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
_FOLDER = re.compile(r"<cwd>([^<\n]{1,4000})</cwd>|^Current working directory: ([^\n]{1,4000})$", re.MULTILINE)
_RUN = re.compile(
    r"\A(?:Chunk ID|Wall time|Exit code|Process)[^\n]{0,200}\n(?:[^\n]{0,200}\n){0,5}?(?:Output|Total output lines):"
)
_EXIT_CODE = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,9})\n")
_OWN_TEXTS = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
_REQUEST = "## My request for Codex:"  # an editor puts its files and selections before this line
_PATCH = "*** Begin Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.{1,4000})")


@dataclass(frozen=True, slots=True)
class SessionHead:
    """The folder of a session, and whether an agent started it."""

    folder: str = ""
    is_subagent: bool = False


def session_head(path: Path) -> SessionHead:
    """Return what the first line of a file says. It is empty if the file can't be read."""
    try:
        with open_regular(path) as stream:
            line = stream.readline(LINE_BYTES)
    except OSError:
        return SessionHead()
    kind, payload = _parts(loaded(line))
    return SessionHead(str(payload.get("cwd", "")), _is_subagent(payload)) if kind == "session_meta" else SessionHead()


def id_in_name(stem: str) -> str:
    """Return the session's id at the end of a file's name, or the whole name."""
    found = _ID.search(stem)
    return found[0] if found else stem


def patch_edits(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the tool of Claude Code and its arguments for each file of a patch, also if a command contains the patch."""
    edits: list[tuple[str, dict[str, Any]]] = []
    found: tuple[str, str] | None = None
    lines: list[str] = []
    for line in [*text.partition(_PATCH)[2].splitlines(), "*** End Patch"]:
        if not line.startswith("*** ") or line == "*** End of File":
            lines.append(line)
            continue
        if found:
            edits.append(_edit(*found, lines))
        header = _FILE.fullmatch(line)
        found, lines = (header[1], header[2].strip()) if header else None, []
    return edits


def _edit(change: str, path: str, lines: list[str]) -> tuple[str, dict[str, Any]]:
    if change == "Add":
        return "Write", {"file_path": path, "content": "\n".join(line[1:] for line in lines if line.startswith("+"))}
    old, new = ("\n".join(line[1:] for line in lines if line.startswith((" ", sign))) for sign in "-+")
    return "Edit", {"file_path": path, "old_string": old, "new_string": "" if change == "Delete" else new}


def _convert(path: Path, size: int) -> bytes:
    conversion = _CodexConversion(id_in_name(path.stem))
    for line in complete_lines(path, size, LINE_BYTES):
        conversion.take(line)
    return b"".join(orjson.dumps(line) + b"\n" for line in conversion.lines)


def _parts(entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the type and the payload of a line. A line of early 2025 is an item itself."""
    if "payload" in entry:
        return str(entry.get("type", "")), mapping(entry["payload"])
    return ("response_item" if "type" in entry else ""), entry


def _is_subagent(meta: Mapping[str, Any]) -> bool:
    return isinstance(meta.get("source"), Mapping) or meta.get("thread_source") == "subagent"


@dataclass(slots=True)
class _CodexConversion:
    """The lines so far, and what later ones depend on."""

    session: str
    lines: list[dict[str, Any]] = field(default_factory=list)
    folder: str = ""
    at: str = ""
    is_subagent: bool = False
    by_agent: bool = False  # whether another agent started this turn
    has_events: bool = False
    origin: str = ""  # the session that an old fork copies
    prompts: list[int] = field(default_factory=list)  # the numbers of lines with which the user's turns begin
    last_prompt: tuple[str, str] = ("", "")
    seen: Counter[bytes] = field(default_factory=Counter)

    def take(self, raw: bytes) -> None:
        """Convert one line of the file."""
        if _IRRELEVANT.search(raw[:_HEAD_BYTES]):
            return
        entry = loaded(raw)
        kind, payload = _parts(entry)
        if isinstance(entry.get("timestamp"), str):
            self.at = entry["timestamp"]
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "event_msg":
            self.has_events = True
            self._event(payload)
        elif kind == "response_item":
            self._item(payload)
        elif kind == "compacted" and isinstance(payload.get("message"), str) and payload["message"].strip():
            self._add({"type": "user", "isCompactSummary": True}, "user", cut(payload["message"], TEXT_CHARS))

    def _meta(self, payload: Mapping[str, Any]) -> None:
        self.origin = str(payload.get("id", ""))
        if not self.folder:
            self.folder, self.is_subagent = str(payload.get("cwd", "")), _is_subagent(payload)
        self.has_events = True

    def _event(self, payload: Mapping[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "task_started":
            turn = mapping(payload.get("turn_attribution"))
            self.by_agent = bool(turn.get("parent_turn_id") or turn.get("initiating_agent_path"))
        elif kind == "user_message" and payload.get("kind") in (None, "plain"):
            self._prompt("user_message", payload.get("message"))
        elif kind == "item_completed":
            item = mapping(payload.get("item"))
            if item.get("type") == "UserMessage":
                self._prompt("item_completed", "\n".join(_texts(item.get("content"))))
        elif kind == "turn_aborted" and payload.get("reason") == "interrupted":
            self._add({"type": "user"}, "user", INTERRUPTED)
        elif kind == "thread_rolled_back" and isinstance(payload.get("num_turns"), int):
            self._roll_back(payload["num_turns"])

    def _prompt(self, source: str, text: Any) -> None:
        if not isinstance(text, str) or not text.strip():
            return
        if self.last_prompt[0] not in ("", source) and self.last_prompt[1] == text:  # some versions write both events
            self.last_prompt = ("", "")
            return
        self.last_prompt = (source, text)
        self.prompts.append(len(self.lines))
        typed = text.rpartition(_REQUEST)[2].lstrip("\n") if _REQUEST in text else text
        self._add({"type": "user", "isSidechain": self.is_subagent or self.by_agent}, "user", cut(typed, TEXT_CHARS))

    def _roll_back(self, turns: int) -> None:
        """Remove the last turns, which the user took back."""
        if turns > 0:
            start = self.prompts[max(0, len(self.prompts) - turns)] if self.prompts else len(self.lines)
            del self.lines[start:]
            self.prompts = [number for number in self.prompts if number < start]

    def _item(self, item: Mapping[str, Any]) -> None:
        kind = item.get("type")
        if kind == "message":
            self._message(item)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(item)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._result(item)

    def _message(self, item: Mapping[str, Any]) -> None:
        texts = [text for text in _texts(item.get("content")) if text.strip()]
        if item.get("role") == "assistant" and texts:
            self._assistant([{"type": "text", "text": cut(text, TEXT_CHARS)} for text in texts])
        elif item.get("role") == "user" and not self.has_events:
            for text in texts:
                if folder := _FOLDER.search(text[:TEXT_CHARS]) if text.lstrip().startswith(_OWN_TEXTS) else None:
                    self.folder = self.folder or (folder[1] or folder[2]).strip()
                elif not text.lstrip().startswith(_OWN_TEXTS):
                    self._prompt("message", text)

    def _call(self, item: Mapping[str, Any]) -> None:
        call, name = str(item.get("call_id", "")), str(item.get("name", ""))
        if item.get("type") == "local_shell_call":
            name, given = "local_shell", mapping(item.get("action"))
        else:
            given = _arguments(item)
        space = str(item.get("namespace") or "")
        command = _command(given)
        patched = patch_edits(str(given.get("input") or command))
        uses = (
            patched if name == "apply_patch" and patched else [(_TOOLS.get(name, f"{space}__{name}" if space else name), given)]
        )
        if command and name in _TOOLS:
            uses = [(_TOOLS[name], {"command": command}), *patched]
        self._assistant(
            [
                {
                    "type": "tool_use",
                    "id": f"{call}:{number}" if number else call,
                    "name": tool,
                    "input": {key: bounded(value) for key, value in values.items()},
                }
                for number, (tool, values) in enumerate(uses)
            ]
        )

    def _result(self, item: Mapping[str, Any]) -> None:
        text, failed = _output(item.get("output"))
        block = {"type": "tool_result", "tool_use_id": str(item.get("call_id", "")), "content": cut(text, VALUE_CHARS)}
        self._add({"type": "user"}, "user", [block | {"is_error": failed}])

    def _assistant(self, content: list[dict[str, Any]]) -> None:
        self._add({"type": "assistant"}, "assistant", content)

    def _add(self, line: dict[str, Any], role: str, content: Any) -> None:
        previous = self.lines[-1]["uuid"] if self.lines else None
        # A fork of old versions copies lines with new times: the same line of the same session has the same uuid.
        digest = hashlib.blake2b(orjson.dumps([role, content]), digest_size=12).digest()
        self.seen[digest] += 1
        uuid = f"{self.origin or self.session}:{digest.hex()}:{self.seen[digest]}"
        self.lines.append(
            {
                "isSidechain": self.is_subagent,
                "uuid": uuid,
                "parentUuid": previous,
                "sessionId": self.session,
                "cwd": self.folder,
                "timestamp": self.at,
                **line,
                "message": {"role": role, "content": content},
            }
        )


def _texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list) else []
    return [block["text"] for block in blocks if isinstance(block, Mapping) and isinstance(block.get("text"), str)]


def _arguments(item: Mapping[str, Any]) -> Mapping[str, Any]:
    if item.get("type") == "custom_tool_call":
        return {"input": item.get("input")}
    return mapping(item.get("arguments"))


def _command(given: Mapping[str, Any]) -> str:
    command = given.get("cmd", given.get("command"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        return words[2] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return command if isinstance(command, str) else ""


def _output(output: Any) -> tuple[str, bool]:
    """Return the text of a tool's output, and whether the tool failed."""
    if isinstance(output, str) and output.startswith('{"output":'):  # versions of 2025
        values = loaded(output.encode("utf-8", "surrogateescape"))
        code = mapping(values.get("metadata")).get("exit_code")
        return str(values.get("output", "")), code not in (0, None)
    if isinstance(output, Mapping):
        return str(output.get("content", "")), output.get("success") is False
    text = output if isinstance(output, str) else "\n".join(_texts(output))
    if head := _RUN.match(text):
        code = _EXIT_CODE.search(head[0])
        return text[head.end() :].lstrip("\n"), code is not None and code[1] != "0"
    return text, False


FILES = ConvertedFiles(_convert)
