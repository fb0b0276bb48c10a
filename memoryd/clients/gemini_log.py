"""Read a session of Gemini CLI from its recording, as lines in Claude Code's format.

A recording is a file of JSON lines: a head, messages, changes of the head (`$set`), and `$rewindTo`. A message is written again
when its tools have ended; its text stays the same. Until 2026 it was one JSON object that was rewritten.

Messages of the type `user` also hold results of tools, files that a prompt names, context of hooks, and notes of Gemini CLI. What
was typed is in `displayContent` if it differs from what the model was given.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from memoryd.clients.converted import ConvertedFiles, complete_lines, loaded
from memoryd.clients.lines import TEXT_CHARS, VALUE_CHARS, bounded, cut, mapping
from memoryd.core.files import read_regular

FILE_BYTES = 200_000_000
FOLDER_BYTES = 16_384
PROJECTS_BYTES = 10_000_000
TOOLS = {
    "glob": "Glob",
    "google_web_search": "WebSearch",
    "grep_search": "Grep",
    "invoke_agent": "Task",
    "list_directory": "LS",
    "read_file": "Read",
    "replace": "Edit",
    "run_shell_command": "Bash",
    "search_file_content": "Grep",
    "web_fetch": "WebFetch",
    "write_file": "Write",
    "write_todos": "TodoWrite",
}
_ENDED = frozenset({"success", "error", "cancelled"})
_OPEN, _CLOSE = "<hook_context>", "</hook_context>"  # Gemini CLI escapes these in the context itself
_FILES = "--- Content from referenced files ---"
_OWN_TEXTS = (
    "<session_context>",
    "<state_snapshot>",
    "This is the Gemini CLI. We are setting up the context",
    "I ran the following shell command:",
    "System: ",
    "[System",
)
_OWN_PROMPTS = frozenset({"Please continue."})
_FOLDER = re.compile(
    r"(?:Workspace Directories:\*\*\n\s{1,8}- |working in the (?:directory|following directories):\s{1,8}(?:- )?)([^\n]{1,4000})"
)
_UNTRUSTED = re.compile(r"\A<untrusted_context>\n?|\n?</untrusted_context>\s{0,8}\Z")
_EXIT_CODE = re.compile(r"^Exit Code: (-?\d{1,9})$", re.MULTILINE)


def converted_size(path: Path, size: int) -> int:
    """Return the size of the session's lines that the first bytes of the file hold. Raises OSError.

    The old format is rewritten as a whole, so all that it holds now counts.
    """
    return FILES.converted_size(path, path.stat().st_size if path.suffix == ".json" else size)


def session_id(path: Path) -> str:
    """Return the id in the recording's head, or the file's name if it can't be read."""
    is_whole = path.suffix == ".json"
    try:
        start = read_regular(path, FILE_BYTES if is_whole else 4_000).partition(b"\0" if is_whole else b"\n")[0]
        return str(mapping(orjson.loads(start)).get("sessionId") or path.stem)
    except (OSError, orjson.JSONDecodeError):
        return path.stem


def project_folder(path: Path) -> str:
    """Return the folder of a recording's project, or an empty string."""
    return folder_of(path.parent.parent if path.parent.name == "chats" else path.parent.parent.parent)


def folder_of(home: Path) -> str:
    """Return the folder of the project for which Gemini CLI keeps `home`, or an empty string: it is in a file there.

    Old versions named `home` after the hash of the project's folder, which is then looked for among the known projects.
    """
    try:
        return read_regular(home / ".project_root", FOLDER_BYTES).decode("utf-8").strip()
    except (OSError, ValueError):
        pass  # Old versions write no such file.
    try:
        known = mapping(mapping(orjson.loads(read_regular(home.parent.parent / "projects.json", PROJECTS_BYTES))).get("projects"))
    except (OSError, orjson.JSONDecodeError):
        return ""
    return next((folder for folder in known if hashlib.sha256(folder.encode()).hexdigest() == home.name), "")


def without_context(text: str) -> str:
    """Return a prompt without the context of hooks at its start."""
    start = 0
    while text.startswith(_OPEN, start) and (end := text.find(_CLOSE, start)) >= 0:
        start = end + len(_CLOSE)
        while text.startswith("\n", start):
            start += 1
    return text[start:]


def tool_call(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a call with the tool and its arguments named as in Claude Code."""
    renamed = {"dir_path": "path"} if name in ("list_directory", "glob", "grep_search") else {"absolute_path": "file_path"}
    values = {renamed.get(key, key): value for key, value in given.items()}
    if name.startswith("mcp_") and not name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp_").partition("_")
        return f"mcp__{server}__{tool}", values
    return TOOLS.get(name, name), values


def _convert(path: Path, size: int) -> bytes:
    conversion = _GeminiConversion(path.stem, project_folder(path))
    for record in _records(path, size):
        conversion.take(record)
    return b"".join(orjson.dumps(line) + b"\n" for _, line in conversion.lines)


def _records(path: Path, size: int) -> Iterator[Mapping[str, Any]]:
    if path.suffix == ".json":
        yield loaded(read_regular(path, FILE_BYTES))
    else:
        yield from map(loaded, complete_lines(path, size, FILE_BYTES))


@dataclass(slots=True)
class _GeminiConversion:
    """The lines so far, each with the id of its message."""

    session: str
    folder: str
    lines: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    is_subagent: bool = False

    def take(self, record: Mapping[str, Any]) -> None:
        """Convert one record."""
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("id"), str):
            self._message(record)
        else:
            head = mapping(record.get("$set")) or record
            if isinstance(head.get("sessionId"), str):
                self.session = head["sessionId"]
            self.is_subagent = self.is_subagent or head.get("kind") == "subagent"
            # A compressed history replaces the messages; those that were read stay.
            for message in head["messages"] if isinstance(head.get("messages"), list) else ():
                if isinstance(message, Mapping) and isinstance(message.get("id"), str):
                    self._message(message)

    def _rewind(self, message: str) -> None:
        """Remove a message and all after it, which the user took back. Like Gemini CLI, remove all if it is unknown."""
        start = next((number for number, (id, _) in enumerate(self.lines) if id == message), 0)
        del self.lines[start:]

    def _message(self, message: Mapping[str, Any]) -> None:
        id, kind = message["id"], message.get("type")
        if kind == "user" and id not in self.written:
            self.written.add(id)
            self._prompt(id, message)
        elif kind == "gemini":
            text = "\n".join(part for part in _texts(message.get("content")) if part.strip())
            if text and id not in self.written:
                self.written.add(id)
                self._add(id, id, message, "assistant", [{"type": "text", "text": cut(text, TEXT_CHARS)}])
            for call in message["toolCalls"] if isinstance(message.get("toolCalls"), list) else ():
                self._call(id, message, mapping(call))

    def _prompt(self, id: str, message: Mapping[str, Any]) -> None:
        shown = message.get("displayContent")
        texts = list(_typed(_texts(shown if shown is not None else message.get("content"))))
        if not self.folder and (found := _FOLDER.search("\n".join(_texts(message.get("content")))[:TEXT_CHARS])):
            self.folder = found[1].strip()
        if texts:
            self._add(id, id, message, "user", [{"type": "text", "text": cut(text, TEXT_CHARS)} for text in texts])

    def _call(self, id: str, message: Mapping[str, Any], call: Mapping[str, Any]) -> None:
        use = f"{id}:{call.get('id', '')}"
        if call.get("status") not in _ENDED or use in self.written:
            return
        self.written.add(use)
        name, given = tool_call(str(call.get("name", "")), mapping(call.get("args")))
        values = {key: bounded(value) for key, value in given.items()}
        self._add(id, use, message, "assistant", [{"type": "tool_use", "id": use, "name": name, "input": values}])
        text = "\n".join(_results(call.get("result")))
        code = _EXIT_CODE.search(text) if name == "Bash" else None
        failed = call["status"] != "success" or code is not None and code[1] != "0"
        result = {"type": "tool_result", "tool_use_id": use, "content": cut(text, VALUE_CHARS), "is_error": failed}
        self._add(id, f"{use}:result", message, "user", [result])

    def _add(self, id: str, uuid: str, message: Mapping[str, Any], role: str, content: list[dict[str, Any]]) -> None:
        line = {
            "type": role,
            "isSidechain": self.is_subagent,
            "uuid": f"{self.session}:{uuid}",
            "parentUuid": self.lines[-1][1]["uuid"] if self.lines else None,
            "sessionId": self.session,
            "cwd": self.folder,
            "timestamp": str(message.get("timestamp", "")),
            "message": {"role": role, "content": content},
        }
        self.lines.append((id, line))


def _typed(texts: list[str]) -> Iterator[str]:
    """Yield what the user may have typed: not Gemini CLI's notes, the context of hooks, and files after the prompt."""
    for text in texts:
        before, files, _ = text.partition(_FILES)
        typed = without_context(before)
        if typed.strip() and not typed.lstrip().startswith(_OWN_TEXTS) and typed.strip() not in _OWN_PROMPTS:
            yield typed
        if files:
            return


def _texts(content: Any) -> list[str]:
    parts = [content] if isinstance(content, str | Mapping) else content if isinstance(content, list) else []
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return [text for text in texts if isinstance(text, str)]


def _results(result: Any) -> Iterator[str]:
    for part in [result] if isinstance(result, str) else result if isinstance(result, list) else []:
        if isinstance(part, str):
            yield part
            continue
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        text = response.get("output", response.get("error"))
        if isinstance(text, str):
            yield _UNTRUSTED.sub("", text)


FILES = ConvertedFiles(_convert)
