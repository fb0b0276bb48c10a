"""Convert a line of a session log to turns.

Each turn is attributed to its actual speaker, without text added by the client. Supports the lines of Claude Code 1.0
to 2.1, and the `stream-json` output of `claude -p`. Unknown lines are counted by reason and skipped. Unexpected
values never raise an error.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from memoryd.core.client_tags import NAMES, RECALL_TAG, folded, without_hidden
from memoryd.core.clock import from_iso, to_iso
from memoryd.core.deadline import NEVER, Deadline
from memoryd.core.errors import InputError
from memoryd.core.text import shorten
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.quoted import Instructions, own_words
from memoryd.daydream.redact import Redacted, redact, redact_output, strip_private, strip_whole_private
from memoryd.daydream.secret_context import prints_secret
from memoryd.llm import is_internal_text

# The reader's memory between two readings of a log, stored as JSON in the cursor. Its size is limited.
#
# Everything here depends only on the lines before the cursor, never on how the reading was divided.

VERSION = 2
SEEN_LIMIT = 1_200
TOOLS_LIMIT = 64
ECHO_LIMIT = 16
QUEUE_LIMIT = 16
PATH_LIMIT = 2_000
CONTEXT_TURNS = 6
CONTEXT_CHARS = 1_000


def short_hash(text: str) -> str:
    """Return ten hex digits, enough to distinguish the lines of one log."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=5).hexdigest()


def queued_uuid(text: str) -> str:
    """Return the identity of a queued prompt, whose log line has no uuid."""
    return f"queued {short_hash(text.strip())}"


PROMPT, REPLY, OTHER = "p", "r", "-"


@dataclass(slots=True)
class Conversation:
    """The tree of a log's recent lines, without the branches that the user left.

    Attributes:
        lines: The lines in the order of the log, each as a mark (PROMPT, REPLY or OTHER) and a short hash.
        parents: The parent's short hash of each line that does not continue the line before it. Empty for a root.
        chained: Whether a line named its parent, so that a prompt without one starts at the root.
    """

    lines: list[str] = field(default_factory=list)
    parents: dict[str, str] = field(default_factory=dict)
    chained: bool = False

    def add(self, uuid: str, parent: str, mark: str) -> set[str]:
        """Add a line. Return the short hashes of the lines that it abandons.

        Only a prompt abandons lines: branches with a prompt that are older than the branch which it continues. Lines of parallel
        tools form branches as well, but the conversation continues from a line that is older than they are.
        """
        code, above = short_hash(uuid), short_hash(parent) if parent else ""
        left = self._abandoned(above) if mark == PROMPT else set()
        if left:
            self._remove(left)
        self.chained = self.chained or bool(parent)
        if not self.lines or self.lines[-1][1:] != above:
            self.parents[code] = above
        self.lines.append(mark + code)
        for line in self.lines[:-PATH_LIMIT]:
            self.parents.pop(line[1:], None)
        del self.lines[:-PATH_LIMIT]
        return left

    def _continues_last_prompt(self, above: str) -> bool:
        """Return whether the line `above` is below the newest prompt, so that there is nothing to abandon."""
        at = above
        for n in range(len(self.lines) - 1, -1, -1):
            mark, code = self.lines[n][0], self.lines[n][1:]
            if mark == PROMPT:
                return code == at
            if code == at:
                at = self.parents.get(code, self.lines[n - 1][1:] if n else "")
        return True

    def _parents(self) -> dict[str, str]:
        """Return the parent of each line, in order."""
        parents: dict[str, str] = {}
        before = ""
        for line in self.lines:
            code = line[1:]
            if code not in parents:  # otherwise the log repeats a line
                parents[code] = self.parents.get(code, before or "?")
            before = code
        return parents

    def _abandoned(self, above: str) -> set[str]:
        """Return the lines that a prompt below the line `above` abandons."""
        if self._continues_last_prompt(above):
            return set()
        parents = self._parents()
        places = {line[1:]: n for n, line in reversed(list(enumerate(self.lines)))}
        # For each line that the prompt continues, the place of the next line towards the prompt
        onward: dict[str, int] = {}
        at, next_place = above, len(places)
        while at in places and at not in onward:
            onward[at], next_place = next_place, places[at]
            at = parents[at]
        if not at and self._restarts(next_place):
            onward[""] = next_place
        tops: dict[str, str] = {}  # for each other line, the first line of its branch
        abandoned: set[str] = set()
        for code, parent in parents.items():
            if code not in onward:
                tops[code] = tops.get(parent, code)
                if self.lines[places[code]][0] == PROMPT and onward.get(parents[tops[code]], -1) > places[code]:
                    abandoned.add(tops[code])
        return {code for code, top in tops.items() if top in abandoned}

    def _restarts(self, root: int) -> bool:
        """Return whether a line without a parent, at this place, replaces the only prompt before it.

        After several prompts, it is a fresh start in the same log, which abandons nothing.
        """
        prompts = sum(line[0] == PROMPT for line in self.lines[:root])
        typed = root == len(self.lines) or self.lines[root][0] != OTHER
        return self.chained and typed and prompts == 1 and len(self.lines) < PATH_LIMIT

    def _remove(self, gone: set[str]) -> None:
        parents = self._parents()
        self.lines = [line for line in self.lines if line[1:] not in gone]
        codes = [line[1:] for line in self.lines]
        self.parents = {code: parents[code] for n, code in enumerate(codes) if not n or codes[n - 1] != parents[code]}


@dataclass(slots=True)
class ParserState:
    """Identities of recent lines, names of called tools, expected repetitions of prompts, the last turns, and the branch.

    Attributes:
        queued: The offset, line and hash of pending queued prompts. Their text remains in the log.
        heard: Hashes of prompts that were read because a session ended while they were in the queue. They may still be withdrawn.
        conversation: The recent lines with their parents.
        printing: Recent calls whose output is a secret, because their command prints one.
    """

    seen: OrderedDict[str, None] = field(default_factory=OrderedDict)
    tools: OrderedDict[str, str] = field(default_factory=OrderedDict)
    echoes: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    queued: list[tuple[int, int, str]] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    conversation: Conversation = field(default_factory=Conversation)
    foreign: str = ""
    prompted: bool = False
    skipping: bool = False
    cwd: str = ""
    apart: bool = False
    latest: str = ""
    printing: list[str] = field(default_factory=list)

    def in_order(self, at: datetime | None, not_after: datetime | None) -> datetime | None:
        """Return the time of a line, adjusted so that times never decrease. The clock may have been set back.

        A time after the log's last modification is not trusted. A line with such a time, or without a time, gets the time of the
        line above.
        """
        latest = from_iso(self.latest) if self.latest else None
        if at is None or (not_after is not None and at > not_after):
            return latest
        if latest is not None and at < latest:
            return latest
        self.latest = at.isoformat()
        return at

    def is_known(self, identity: str) -> bool:
        """Return whether a line with this identity (its uuid, or its time and words) recently yielded turns."""
        return bool(identity) and short_hash(identity) in self.seen

    def remember(self, identity: str) -> None:
        """Record that the line was used."""
        if identity:
            _put(self.seen, short_hash(identity), None, SEEN_LIMIT)

    def remember_tool(self, use: str, name: str) -> None:
        """Record the name of a called tool, so that its result can be attributed to it."""
        if use:
            _put(self.tools, use, name, TOOLS_LIMIT)

    def remember_printing(self, use: str) -> None:
        """Record that the result of this call is a secret."""
        if use:
            self.printing = [*self.printing, use][-ECHO_LIMIT:]

    def expect_echo(self, text: str) -> None:
        """Record a queued prompt, because its text may occur again as a prompt line."""
        self.echoes = [*self.echoes, short_hash(text)][-ECHO_LIMIT:]

    def take_echo(self, text: str) -> bool:
        """Return whether the text repeats a queued prompt. If so, the repetition is no longer expected."""
        code = short_hash(text)
        if code not in self.echoes:
            return False
        self.echoes.remove(code)
        return True

    def enqueue(self, text: str, offset: int, line: int) -> None:
        """Record a queued prompt's position in the log."""
        self.queued = [*self.queued, (offset, line, short_hash(text.strip()))][-QUEUE_LIMIT:]

    def unqueue(self, text: str, *, strict: bool = False) -> None:
        """Remove a prompt that was withdrawn or delivered.

        This is the prompt with this text. If there is none, the oldest one is removed, unless `strict` is set.
        """
        code = short_hash(text.strip())
        place = next((n for n, entry in enumerate(self.queued) if entry[2] == code), -1)
        if place >= 0 or (self.queued and not strict and not text.strip()):
            del self.queued[max(place, 0)]

    def withdraw(self, text: str) -> str:
        """Withdraw a queued prompt. Return the hash of its line if it was already read, and an empty string otherwise."""
        code = short_hash(queued_uuid(text))
        if code not in self.heard:
            return ""
        self.heard.remove(code)
        return code

    def follow(self, uuid: str, parent: str, mark: str) -> set[str]:
        """Add a line to the conversation. Return the short hashes of the lines on branches that it abandons."""
        left = self.conversation.add(uuid, parent, mark)
        if left:
            self.turns = [turn for turn in self.turns if short_hash(turn.uuid) not in left]
        return left

    def keep_context(self, turn: Turn) -> None:
        """Keep the turn as context for the next chunk if it is part of the conversation."""
        if turn.kind in (TurnKind.USER, TurnKind.ASSISTANT) and not turn.sidechain and turn.text:
            kept = replace(turn, text=shorten(turn.text, CONTEXT_CHARS), detail=shorten(turn.detail, 200))
            self.turns = [*self.turns, kept][-CONTEXT_TURNS:]

    def dump(self) -> str:
        """Return JSON of at most about 100 KB, usually much less."""
        values = {
            "v": VERSION,
            "seen": "".join(self.seen),
            "tools": dict(self.tools),
            "echoes": self.echoes,
            "turns": [turn_to_dict(turn) for turn in self.turns],
            "queued": self.queued,
            "heard": self.heard,
            "path": "".join(self.conversation.lines),
            "parents": self.conversation.parents,
            "chained": self.conversation.chained,
            "foreign": self.foreign,
            "prompted": self.prompted,
            "skipping": self.skipping,
            "cwd": self.cwd,
            "apart": self.apart,
            "latest": self.latest,
            "printing": self.printing,
        }
        return orjson.dumps(values).decode()


def _put(table: OrderedDict[str, Any], key: str, value: Any, limit: int) -> None:
    table[key] = value
    table.move_to_end(key)
    while len(table) > limit:
        table.popitem(last=False)


def load_memo(text: str) -> ParserState | None:
    """Load the output of `ParserState.dump`.

    Returns None if the data is damaged or from another version, so that reading starts over.
    """
    if not text:
        return ParserState()
    try:
        values = orjson.loads(text)
        if values["v"] != VERSION:
            return None
        seen = values["seen"]
        return ParserState(
            OrderedDict.fromkeys(seen[i : i + 10] for i in range(0, len(seen), 10)),
            OrderedDict(values["tools"]),
            list(values["echoes"]),
            [turn_from_dict(turn) for turn in values["turns"]],
            [(int(offset), int(line), str(code)) for offset, line, code in values["queued"]],
            list(values.get("heard", ())),
            Conversation(
                [values["path"][i : i + 11] for i in range(0, len(values["path"]), 11)],
                dict(values.get("parents", {})),
                values["chained"],
            ),
            values["foreign"],
            values["prompted"],
            values["skipping"],
            values["cwd"],
            values.get("apart", False),
            values.get("latest", ""),
            list(values.get("printing", ())),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, InputError):
        return None


def turn_to_dict(turn: Turn) -> dict[str, Any]:
    """Convert a turn to plain values."""
    values: dict[str, Any] = {"kind": turn.kind.value, "text": turn.text, "line": turn.line}
    optional = {"uuid": turn.uuid, "detail": turn.detail, "tool": turn.tool, "at": to_iso(turn.at) if turn.at else ""}
    return values | {name: value for name, value in optional.items() if value} | {"via": turn.via, "offered": turn.offered}


def turn_from_dict(values: Mapping[str, Any]) -> Turn:
    """Convert the output of `turn_to_dict` back to a turn."""
    return Turn(
        TurnKind(values["kind"]),
        values["text"],
        values.get("uuid", ""),
        values["line"],
        from_iso(values["at"]) if "at" in values else None,
        values["via"],
        values.get("tool", ""),
        values.get("detail", ""),
        offered=bool(values.get("offered")),
    )


# Extract the text actually typed by the user from messages with the role `user`.
#
# The client wraps commands, adds reminders and hook output, and replaces prompts with its own notices. This text is never the
# user's. Pure functions.

OBSERVER_MARKERS = ("<observed_from_primary_session>", "specialized observer tool for creating searchable memory")
INTERRUPTED = "[Request interrupted by user"
CONTINUED = "This session is being continued from a previous conversation"

_CLIENT_TAG = re.compile(rf"<\s{{0,8}}(?P<close>/?)\s{{0,8}}(?P<name>{NAMES})(?![\w-])(?P<rest>[^<>]{{0,2000}})>", re.IGNORECASE)
_CLIENT_CUT = re.compile(rf"\A\s*<\s{{0,8}}/?\s{{0,8}}(?:{NAMES})(?![\w-])", re.IGNORECASE)
_COMMAND = re.compile(r"\A\s*<command-(?:name|message)>")
_COMMAND_NAME = re.compile(r"<command-name>([^<]{0,400})</command-name>")
_ARGS_OPEN, _ARGS_CLOSE = "<command-args>", "</command-args>"
# Not followed by a colon, which would introduce the text.
_PLACEHOLDER = re.compile(
    r"\[(?:Image #\d{1,9}|Image: [^\[\]\n]{0,1000}|Pasted text #\d{1,9}[^\[\]\n]{0,200}|Audio #\d{1,9})\](?!\s{0,3}[:：=])"
)
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_CONTROL = re.compile("\x1b[\\[\\]()]|[\x07\x08\x0b\u202d\u202e]")
_ERROR_TAG = re.compile(r"</?tool_use_error>")
_INTERRUPT = re.compile(r"\[Request interrupted by user[^\[\]\n]{0,200}\]")
_BARE_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*")
_CLIENT_STARTS = (
    "Caveat: The messages below were generated",
    "Base directory for this skill:",
    "Stop hook feedback:",
    "Unknown slash command:",
    "Unknown skill:",
    "# claudeMd",
    "<task-notification>",
    '{"task_id":',
    "[SYSTEM NOTIFICATION",
)


@dataclass(frozen=True, slots=True)
class UserText:
    """The typed text (possibly empty), the slash command whose argument it was, and whether it marks an interrupt."""

    text: str = ""
    command: str = ""
    interrupt: bool = False


def strip_client(text: str) -> str:
    """Remove blocks added by the client, its hooks or memoryd.

    Each block extends to the last closing tag with its name, because its content may contain closing tags. In text
    that is not the user's, an unclosed block is kept. If memoryd injected it, it extends to the end.
    """
    return _scan(text, unclosed=False)[0] if "<" in text else text


def _scan(text: str, *, unclosed: bool) -> tuple[str, bool]:
    """Return the text outside the client's blocks, and whether there is a closing tag without an opening one.

    With `unclosed`, a block without a closing tag extends to the end of the text.
    """
    found = _client_tags(text)
    last = {match["name"].casefold(): match.end() for match in found if match["close"]}
    out: list[str] = []
    at, stray = 0, False
    for match in found:
        if match.start() < at:
            continue
        name = match["name"].casefold()
        end = last.get(name, 0)
        if match["close"] or (end <= match.start() and not unclosed and name != RECALL_TAG):
            stray = stray or bool(match["close"])
            out.append(text[at : match.start()])
            at = match.end() if match["close"] else match.start()
            if not match["close"]:
                out.append(match[0])
                at = match.end()
            continue
        out.append(text[at : match.start()])
        at = end if end > match.start() else len(text)
    out.append(text[at:])
    return "".join(out), stray


def _client_tags(text: str) -> list[re.Match[str]]:
    plain = folded(text)
    return list(_CLIENT_TAG.finditer(plain)) if "<" in plain else []


def _typed_in(text: str) -> str:
    """Return the typed part of a text in the log, or an empty string if the parts can't be distinguished."""
    rest, stray = _scan(text, unclosed=True)
    return "" if stray or _CLIENT_CUT.match(folded(rest)) else rest


def well_formed(text: str) -> str:
    """Make a text encodable as UTF-8.

    Lone surrogates are replaced. NULs and terminal colours are removed.
    """
    text = text.replace("\x00", "")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_signs(text: str) -> str:
    """Remove invisible characters that could disguise a tag. Joiners required in scripts and emojis are kept."""
    text = well_formed(text)
    return without_hidden(text)


def clean(text: str) -> str:
    """Clean text that is not the user's. Injected text, client text and complete private blocks are removed."""
    text = strip_whole_private(well_formed(text))
    if "<" not in text:
        return text.strip()
    return _ERROR_TAG.sub("", strip_client(_ERROR_TAG.sub("", text))).strip()


def is_client_text(text: str) -> bool:
    """Return whether the whole text is a notice from the client, recognised by its beginning."""
    return text.lstrip().startswith(_CLIENT_STARTS)


def clean_user(text: str) -> UserText:
    """Return the typed part of a text with the role `user`."""
    return typed_text([text])


def typed_text(texts: Sequence[str]) -> UserText:
    """Return the typed part of a message's text blocks.

    The client writes its own blocks separately from the prompt. A block that can't be parsed alone is joined with the others.
    """
    parts = [plain_signs(strip_private(well_formed(text))) for text in texts]
    parts = [part for part in parts if not is_client_text(part)]
    joined = "\n".join(parts)
    if not parts:
        return UserText()
    if _COMMAND.match(joined):
        return _command(joined)
    whole = all(_is_balanced(part) for part in parts)
    text = "\n".join(filter(None, map(_typed_in, parts))) if whole else _typed_in(joined)
    interrupt = INTERRUPTED in text
    text = _PLACEHOLDER.sub("", _INTERRUPT.sub("", text)).strip()
    if is_client_text(text) or _BARE_COMMAND.fullmatch(text):
        text = ""
    return UserText(text, "", interrupt)


def without_colours(text: str) -> str:
    """Return the text before the first line with terminal control or bidirectional characters, which nobody types."""
    match = _CONTROL.search(text)
    return text if match is None else text[: text.rfind("\n", 0, match.start()) + 1]


def _is_balanced(text: str) -> bool:
    """Return whether each client block opened in the text is also closed in it."""
    names = [(match["name"].casefold(), bool(match["close"])) for match in _client_tags(text)]
    return {name for name, close in names if close} == {name for name, close in names if not close}


def _command(text: str) -> UserText:
    """Return the arguments typed after a slash command."""
    name = _COMMAND_NAME.search(text)
    start, end = text.find(_ARGS_OPEN), text.rfind(_ARGS_CLOSE)
    args = text[start + len(_ARGS_OPEN) : end if end > start else len(text)] if start >= 0 else ""
    return UserText(_PLACEHOLDER.sub("", _typed_in(args)).strip(), name.group(1).strip() if name else "")


def foreign_run(text: str) -> str:
    """Return the kind of automated session that this first prompt belongs to: own_run or observer.

    Returns an empty string for a person's session.
    """
    if is_internal_text(text.lstrip()):
        return "own_run"
    return "observer" if any(marker in text for marker in OBSERVER_MARKERS) else ""


# The user's answers to the client's questions (AskUserQuestion), including option texts. Pure functions.

_ANSWER = re.compile(r'"((?:[^"\\]|\\.)+)"="((?:[^"\\]|\\.)*)"')
_MARK = re.compile(r"\s*\((?:recommended|empfohlen|recommandé|recomendad[oa]|рекомендуется|推荐)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question and its answer.

    `offered` means that the answer is an option in the agent's words rather than typed text.
    """

    question: str
    text: str
    offered: bool


def answers_of(tool: str, text: str, result: Any) -> list[AnsweredQuestion]:
    """Return the answers in a result of AskUserQuestion. Return nothing for other tools.

    Args:
        tool: The tool's name.
        text: The text shown to the model.
        result: The client's own record. If it contains the options, an answer that matches one is returned as "label:
            description". Without a record, options can't be distinguished from typed text.
    """
    if tool != "AskUserQuestion":
        return []
    record: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    answers = record.get("answers")
    if isinstance(answers, Mapping):
        pairs = [(_string(question), _text(answer)) for question, answer in answers.items()]
    else:
        pairs = [(match.group(1), match.group(2)) for match in _ANSWER.finditer(text)]
    options = _options(record.get("questions"))
    known = isinstance(record.get("questions"), list)
    labels = {_plain_label(label) for described in options.values() for label in described}
    return [_answer(question, answer, options.get(question, {}), known, labels) for question, answer in pairs]


def _answer(question: str, answer: str, options: Mapping[str, str], known: bool, labels: Set[str]) -> AnsweredQuestion:
    """Return the answer. It is an option if it equals a label of any question, regardless of case and punctuation."""
    text = _with_descriptions(answer, options)
    return AnsweredQuestion(question, text, not known or text != answer or _plain_label(answer) in labels)


def _plain_label(label: str) -> str:
    return " ".join(re.findall(r"\w+", label.casefold()))


def _string(value: Any) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _text(value: Any) -> str:
    """Return an answer as text.

    It may be a string, a list of strings, or, in early versions of the client, a list of text blocks.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [entry.get("text") if isinstance(entry, Mapping) else entry for entry in value]
        return ", ".join(part for part in map(_string, parts) if part)
    return _string(value)


def _options(questions: Any) -> dict[str, dict[str, str]]:
    """Return the description of each option, by question and label."""
    out: dict[str, dict[str, str]] = {}
    for entry in questions if isinstance(questions, list) else []:
        options = entry.get("options") if isinstance(entry, Mapping) else None
        for option in options if isinstance(options, list) else []:
            if isinstance(option, Mapping) and _string(option.get("label")):
                described = out.setdefault(_string(entry.get("question")), {})
                described[_string(option["label"])] = _string(option.get("description"))
    return out


def _with_descriptions(answer: str, options: Mapping[str, str]) -> str:
    """Add the descriptions of the chosen options. The client's record joins several options with commas."""
    chosen = [answer] if answer in options else [label for label in options if _names(answer, label)]
    if not chosen:
        return answer
    return "; ".join(_described(label, options[label]) for label in chosen)


def _names(answer: str, label: str) -> bool:
    """Return whether the label is one of the answer's parts. Labels may contain commas."""
    return re.search(rf"(?:\A|, ){re.escape(label)}(?:\Z|, )", answer) is not None


def _described(label: str, description: str) -> str:
    plain = _MARK.sub("", label).strip()
    return f"{plain}: {description.strip()}" if description.strip() else plain


Entry = Mapping[str, Any]

_REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "[Request interrupted by user for tool use]",
)
# The client's own record of a rejection. Any tool could imitate the result text.
_REJECTION_MARK = "User rejected tool use"
_REJECTS = frozenset({"reject", "rejected", "deny", "denied"})
_SAID = "the user said:\n"
_AFTER_SAID = "\n\nNote: The user's next message may contain a correction"
_DETAIL_KEYS = ("command", "file_path", "notebook_path", "path", "url", "query", "pattern", "skill", "subject", "prompt")
_DETAIL_CHARS = 500
_DESCRIPTION_CHARS = 300
_SUMMARY_CHARS = 4_000
_PASTED_CHARS = 4_000
PASTE = "paste"
# Flags of lines that the client wrote itself, and sources of prompts written by a person and by the agent or client.
_CLIENT_FLAGS = ("isMeta", "isVisibleInTranscriptOnly", "turnCompanion", "repeatsCompactSummary")
_TYPED_SOURCES = ("typed", "sdk", "queued")
_SOURCES_OF_OTHERS = ("suggestion_accepted", "system")
_HARNESS_ERRORS = ("API Error", "No response requested.", "Prompt is too long", "Invalid API key", "Credit balance is too low")


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Limits on the characters in a turn's text and in a tool result, and on the seconds per line."""

    turn: int = 24_000
    result: int = 800
    seconds: float = math.inf


def _cut_middle(text: str, limit: int) -> str:
    """Cut out the middle of a text.

    In a long paste or output, both the beginning and the end (with the errors) matter.
    """
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    return f"{text[:head]}\n[…]\n{text[-(limit - head) :]}"


def _time(value: Any) -> datetime | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return from_iso(value)
    except (InputError, OverflowError):
        return None


def _moment(turn: Turn) -> str:
    return f"{turn.at.isoformat()} {turn.kind} {turn.detail} {turn.text}" if turn.at else ""


def _blocks(content: Any) -> list[Mapping[str, Any]]:
    """Return the content as a list of blocks.

    Plain text becomes a single block. Anything else is dropped.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [{"type": "text", "text": b} if isinstance(b, str) else b for b in content if isinstance(b, str | Mapping)]


def _texts(content: Any) -> list[str]:
    return [_string(block.get("text")) for block in _blocks(content) if block.get("type") == "text"]


def _is_coloured(content: Any) -> bool:
    return any(without_colours(text) != text for block in _blocks(content) if isinstance(text := block.get("text"), str))


def _uncoloured(content: Any) -> list[str]:
    """Return the texts without pasted terminal output."""
    texts = [block.get("text") for block in _blocks(content) if block.get("type") == "text"]
    return [_string(without_colours(text)) for text in texts if isinstance(text, str)]


def _joined(content: Any) -> str:
    """Join all text blocks, so that a code fence spanning several blocks is recognised."""
    return "\n".join(_texts(content))


class EntryReader:
    """Converts the entries of a log one by one to turns without secrets.

    Attributes:
        skipped: The number of skipped lines by reason.
        redacted: The number of secrets of each kind.
        left: Short hashes of the uuids of lines on branches that the user left (/rewind, or editing and sending again).
        at: The offset of the current line.
        not_after: The latest time at which the lines can have been written.
    """

    def __init__(
        self, memo: ParserState, limits: TextLimits, known: Callable[[str], bool], not_after: datetime | None = None
    ) -> None:
        self._not_after = not_after
        self.skipped: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self._memo = memo
        self._limits = limits
        self._known = known
        self._instructions = Instructions()
        self._cwd = memo.cwd
        self.at = 0
        self._deadline = NEVER
        self.left: set[str] = set()
        self._kinds: dict[str, Callable[[Entry, Turn], Iterator[Turn]]] = {
            "user": self._user,
            "assistant": self._assistant,
            "system": self._system,
            "queue-operation": self._queue,
            "attachment": self._attachment,
        }

    def read(self, entry: Entry, line: int) -> list[Turn]:
        """Return the entry's turns in order.

        Returns nothing if the entry contains nothing for an extractor. Raises TooSlowError.
        """
        self._deadline = Deadline(self._limits.seconds)
        self._cwd = _string(entry.get("cwd")) or self._memo.cwd
        turns = self._new_turns(entry, line)
        self._follow(entry, turns)
        if self._memo.foreign:
            return self._skip(self._memo.foreign)
        if turns:
            self._note_cwd(entry)
        return turns

    def _follow(self, entry: Entry, turns: list[Turn]) -> None:
        """Track the active branch. If a prompt continues an older line, record the abandoned lines."""
        uuid, sidechain = _string(entry.get("uuid")), entry.get("isSidechain") is True
        if not uuid or sidechain or "parentUuid" not in entry:
            return
        prompt = any(turn.kind is TurnKind.USER and turn.via in ("prompt", "queue") for turn in turns)
        parent = _string(entry.get("parentUuid")) or _string(entry.get("logicalParentUuid"))
        mark = PROMPT if prompt else REPLY if entry.get("type") == "assistant" else OTHER
        self.left |= self._memo.follow(uuid, parent, mark)

    def _new_turns(self, entry: Entry, line: int) -> list[Turn]:
        kind = entry.get("type")
        reader = self._kinds.get(kind) if isinstance(kind, str) else None
        if reader is None:
            return self._skip("unknown_kind")
        uuid = _string(entry.get("uuid"))
        if self._memo.is_known(uuid) or (uuid and self._known(uuid)):
            return self._skip("duplicate")
        sidechain = entry.get("isSidechain") is True or bool(entry.get("parent_tool_use_id"))
        base = Turn(TurnKind.USER, "", uuid, line, _time(entry.get("timestamp")), sidechain=sidechain)
        turns = list(reader(entry, base))
        if not turns:
            return []
        # A resumed session may repeat lines under new uuids but with the same time and words.
        moment = _moment(turns[0])
        if self._memo.is_known(moment):
            return self._skip("duplicate")
        self._memo.remember(uuid)
        self._memo.remember(moment)
        return self._in_order(turns)

    def _in_order(self, turns: list[Turn]) -> list[Turn]:
        at = self._memo.in_order(turns[0].at, self._not_after)
        return turns if at == turns[0].at else [replace(turn, at=at) for turn in turns]

    def _skip(self, reason: str) -> list[Turn]:
        self.skipped[reason] += 1
        return []

    def _safe(self, text: str, limit: int, redacting: Callable[[str, Deadline], Redacted] = redact) -> str:
        """Redact the text, then truncate it.

        A generous first cut limits the work without leaving half a secret in the result.
        """
        if not text:
            return ""
        self._deadline.check()
        safe = redacting(_cut_middle(text, 2 * limit), self._deadline)
        self._deadline.check()
        self.redacted.update(safe.found)
        return _cut_middle(safe.text, limit)

    def _note_cwd(self, entry: Entry) -> None:
        cwd = _string(entry.get("cwd"))
        if cwd:
            self._memo.cwd = cwd

    # Kinds of lines

    def _user(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        message = entry.get("message")
        if not isinstance(message, Mapping) or message.get("role", "user") != "user":
            self._skip("no_message")
            return
        content = message.get("content")
        for block in _blocks(content):
            if block.get("type") == "tool_result":
                yield from self._result(block, entry, base)
        texts = [text for text in _texts(content) if text.strip()]
        if _is_coloured(content):
            texts = _uncoloured(content)
        if any(text.strip() for text in texts):
            yield from self._spoken(texts, entry, base)

    def _spoken(self, texts: list[str], entry: Entry, base: Turn) -> Iterator[Turn]:
        text = "\n".join(texts)
        self._check_foreign(text)
        reason = _reason_not_prompt(text, entry)
        if reason == "compaction":
            yield replace(base, kind=TurnKind.COMPACTION, text=self._safe(clean(strip_private(text)), _SUMMARY_CHARS))
        elif reason:
            self._skip(reason)
        elif base.sidechain or entry.get("planContent"):
            # The agent wrote the prompts of subagents, and the plan passed to a new session.
            yield from self._said(strip_private(text), base)
        else:
            self._memo.unqueue(text, strict=True)
            yield from self._typed(texts, base)

    def _typed(self, texts: list[str], base: Turn, via: str = "prompt") -> Iterator[Turn]:
        """Yield typed text as turns: the user's own words first, then pasted or quoted text."""
        typed = typed_text(texts)
        if typed.interrupt:
            yield replace(base, kind=TurnKind.INTERRUPT)
        if not typed.text:
            if not typed.interrupt:
                self._skip("injected")
            return
        self._memo.prompted = True
        safe = self._safe(typed.text, self._limits.turn)
        spoken = own_words(safe, lambda line: self._instructions.holds(line, self._cwd), self._deadline)
        self._deadline.check()
        if via == "prompt" and self._memo.take_echo(spoken.own):
            self._skip("duplicate")
            return
        yield replace(base, text=spoken.own, via=via, detail=typed.command)
        if spoken.quoted:
            pasted = _cut_middle(spoken.quoted, _PASTED_CHARS)
            yield replace(base, kind=TurnKind.TOOL_RESULT, text=pasted, tool=PASTE)

    def _check_foreign(self, text: str) -> None:
        """Detect from the first prompt whether a session belongs to memoryd itself or to another tool's observer."""
        if not self._memo.prompted and not self._memo.foreign:
            self._memo.foreign = foreign_run(text)

    def _assistant(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        message = entry.get("message")
        if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
            self._skip("no_message")
            return
        content = message.get("content")
        text = _joined(content)
        if entry.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>" or text.startswith(_HARNESS_ERRORS):
            self._skip("api_error")
            return
        if text.strip():
            yield from self._said(text, base)
        for block in _blocks(content):
            if block.get("type") == "tool_use":
                yield self._tool_use(block, base)

    def _said(self, text: str, base: Turn) -> Iterator[Turn]:
        cleaned = clean(text)
        if cleaned:
            yield replace(base, kind=TurnKind.ASSISTANT, text=self._safe(cleaned, self._limits.turn))

    def _tool_use(self, block: Entry, base: Turn) -> Turn:
        name = _string(block.get("name"))
        self._memo.remember_tool(_string(block.get("id")), name)
        values = block.get("input")
        values = values if isinstance(values, Mapping) else {}
        detail = next((_string(values[key]) for key in _DETAIL_KEYS if _string(values.get(key))), "")
        description = _string(values.get("description"))
        if prints_secret(detail):
            self._memo.remember_printing(_string(block.get("id")))
        return replace(
            base,
            kind=TurnKind.TOOL_USE,
            text=self._safe(clean(description), _DESCRIPTION_CHARS),
            tool=name,
            detail=self._safe(clean(detail), _DETAIL_CHARS),
        )

    def _result(self, block: Entry, entry: Entry, base: Turn) -> Iterator[Turn]:
        use = _string(block.get("tool_use_id"))
        tool = self._memo.tools.get(use, "")
        error = block.get("is_error") is True
        text = _joined(block.get("content"))
        rejected = error and text.startswith(_REJECTED) and _is_rejection(entry, tool)
        said = text.partition(_SAID)[2].partition(_AFTER_SAID)[0] if rejected else ""
        shown = text.partition(_SAID)[0] if rejected else text
        yield replace(
            base,
            kind=TurnKind.TOOL_RESULT,
            text=self._safe(clean(shown), self._limits.result, redact_output if use in self._memo.printing else redact),
            tool=tool,
            error=error,
        )
        if said and not base.sidechain:
            yield from self._typed([said], base, "rejected_tool")
        if not base.sidechain:
            yield from self._answers(tool, text, entry.get("toolUseResult"), base)

    def _answers(self, tool: str, text: str, result: Any, base: Turn) -> Iterator[Turn]:
        """Yield the user's answers to AskUserQuestion, each option followed by its description.

        `detail` contains the question.
        """
        for answer in answers_of(tool, text, result):
            for turn in self._typed([answer.text], base, "answer"):
                if turn.kind is TurnKind.USER:
                    turn = replace(
                        turn, tool=tool, detail=self._safe(clean(answer.question), _DETAIL_CHARS), offered=answer.offered
                    )
                yield turn

    def _system(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        if entry.get("subtype") == "compact_boundary":
            yield replace(base, kind=TurnKind.COMPACTION)
        else:
            self._skip("system")

    def _queue(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        """Handle a queued prompt.

        It counts once it is delivered, as a prompt or an attachment. Until then, it may be withdrawn.
        """
        operation, text = entry.get("operation"), _joined(entry.get("content"))
        if operation == "enqueue" and not _reason_not_prompt(text, entry):
            self._check_foreign(text)
            self._memo.enqueue(text, self.at, base.line)
        elif operation == "popAll":
            self._memo.queued.clear()
            self.left |= set(self._memo.heard)
            self._memo.heard.clear()
        elif operation != "enqueue":  # "dequeue", "remove", or one that is not known yet
            self._memo.unqueue(text)
            self.left |= {self._memo.withdraw(text)} - {""}
        self._skip("queued")
        yield from ()

    def undelivered(self, entry: Entry, line: int) -> list[Turn]:
        """Return the turns of a queued prompt that was still pending when the session ended. Raises TooSlowError."""
        self._deadline = Deadline(self._limits.seconds)
        identity = queued_uuid(_joined(entry.get("content")))
        self._memo.heard = [*self._memo.heard, short_hash(identity)][-QUEUE_LIMIT:]
        base = Turn(TurnKind.USER, "", identity, line, _time(entry.get("timestamp")))
        turns = list(self._typed(_texts(entry.get("content")), base, "queue"))
        return self._in_order(turns) if turns else []

    def _attachment(self, entry: Entry, base: Turn) -> Iterator[Turn]:
        attachment = entry.get("attachment")
        queued = isinstance(attachment, Mapping) and _is_queued_prompt(attachment)
        if not isinstance(attachment, Mapping) or base.sidechain or not queued or _reason_not_prompt("", entry):
            self._skip("attachment")
            return
        for turn in self._typed(_texts(attachment.get("prompt")), base, "queue"):
            if turn.kind is TurnKind.USER:
                self._memo.expect_echo(turn.text)
            yield turn
        self._memo.unqueue(_joined(attachment.get("prompt")), strict=True)


def _is_rejection(entry: Entry, tool: str) -> bool:
    """Return whether the client itself recorded that the user rejected this call.

    Tool servers' results are logged unchanged, so only the client's own record counts.
    """
    decision = entry.get("permissionDecision")
    if isinstance(decision, Mapping):
        return decision.get("decision") in _REJECTS and str(decision.get("source", "")).startswith("user")
    result = entry.get("toolUseResult")
    return bool(tool) and not tool.startswith("mcp__") and isinstance(result, str) and result.strip() == _REJECTION_MARK


def _by_machine(entry: Entry) -> bool:
    origin = entry.get("origin")
    return isinstance(origin, Mapping) and origin.get("kind") not in (None, "human")


def _is_queued_prompt(attachment: Entry) -> bool:
    prompt = attachment.get("type") == "queued_command" and attachment.get("commandMode", "prompt") == "prompt"
    return prompt and not _reason_not_prompt(_joined(attachment.get("prompt")), attachment)


def _reason_not_prompt(text: str, entry: Entry) -> str:
    """Return why a text with the role `user` is not a person's prompt, or an empty string if it is one."""
    if entry.get("isCompactSummary") is True or text.startswith(CONTINUED):
        return "compaction"
    if entry.get("rowSource") == "harness" or any(entry.get(flag) is True for flag in _CLIENT_FLAGS):
        return "meta"
    if _by_machine(entry) or (entry.get("turnOrigin") or "human") not in ("human", "sdk") or entry.get("sourceToolUseID"):
        return "harness"
    return "" if _is_typed_source(entry) else "harness"


def _is_typed_source(entry: Entry) -> bool:
    """Return whether a person may have written the prompt, by the source that the client recorded.

    A prompt that the agent suggested stays the agent's when the user accepts it. A source that is not known here
    counts only if the client names a person as its origin.
    """
    source = entry.get("promptSource") or entry.get("inputSource") or "typed"
    if source in _SOURCES_OF_OTHERS or entry.get("inputSource") in _SOURCES_OF_OTHERS:
        return False
    return source in _TYPED_SOURCES or isinstance(entry.get("origin"), Mapping)
