"""Front matter and body of a memory file. Parsing keeps every byte, and an edit changes nothing else.

python-frontmatter reads the front matter, and PyYAML writes it. An edit changes only the requested values. Comments,
foreign keys, their order, CRLF line endings and a byte order mark are preserved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from memoryd.core.codec import is_id
from memoryd.core.errors import BrokenFileError

try:
    from yaml import CSafeDumper as _BaseDumper
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML was built without libyaml.
    from yaml import SafeDumper as _BaseDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]

_OPENING = re.compile(r"-{3,}[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"^-{3,}[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"^[\w\"'][^\n]*:(?:[ \t\r]|$)", re.MULTILINE)
_LEADING_BLANK = re.compile(r"(?:[ \t]*\r?\n)*")
_WIDE = 1_000_000
# Nested aliases multiply: n of them can expand to e^(n/e) copies.
_MAX_ALIASES = 12
_MAX_DIGITS = 1_000
_SHORT = 100
LINES_KEPT = 2_000


@dataclass(frozen=True, slots=True)
class Document:
    """The parts of a file. Joined together, they give the original.

    `opening` and `closing` are the fence lines. Without front matter, they and `head` are empty. `values` is the parsed
    block.
    """

    bom: str
    opening: str
    head: str
    closing: str
    body: str
    newline: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the document as the bytes of a file."""
        return "".join((self.bom, self.opening, self.head, self.closing, self.body)).encode("utf-8")

    @property
    def content(self) -> str:
        """Body without surrounding blank lines, with LF line endings. If the body is empty, this is the `content` key."""
        text = trim(self.body.replace("\r\n", "\n"))
        return text if text or self.values.get("content") is None else str(self.values["content"])


class UnquotedTime(str):
    """An ISO 8601 time written without quotes."""

    __slots__ = ()


class QuotedText(str):
    """A text that is always written in double quotes, so that replacing words in a file seldom makes it invalid."""

    __slots__ = ()


class _Block(dict[str, Any]):
    """A mapping written with one key per line and nested values inline."""


class _Dumper(_BaseDumper):
    pass


class _Loader(_BaseLoader):
    """YAML loader that rejects absurdly long numbers, because a number in base 60 (1:30:00) takes quadratic time."""


def _short_number(construct: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def checked(loader: Any, node: Any) -> Any:
        if len(node.value) > _MAX_DIGITS:
            raise yaml.constructor.ConstructorError(None, None, "a number with too many digits", node.start_mark)
        return construct(loader, node)

    return checked


_Loader.add_constructor("tag:yaml.org,2002:int", _short_number(_BaseLoader.construct_yaml_int))
_Loader.add_constructor("tag:yaml.org,2002:float", _short_number(_BaseLoader.construct_yaml_float))


def _represent_text(dumper: Any, text: str) -> Any:
    style = '"' if not text.isprintable() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(UnquotedTime, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:timestamp", str(text)))
_Dumper.add_representer(QuotedText, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"'))
_Dumper.add_representer(
    _Block, lambda dumper, block: dumper.represent_mapping("tag:yaml.org,2002:map", block.items(), flow_style=False)
)


def _dump(values: Mapping[str, Any]) -> str:
    """Write values as YAML, one key per line.

    Lines are independent, so common ones are cached and the rest are written together.
    """
    lines: list[str] = []
    rest: dict[str, Any] = {}
    for key, value in values.items():
        line = _known_line(key, value)
        if line and rest:
            lines.append(_dump_uncached(rest))
            rest = {}
        if line:
            lines.append(line)
        else:
            rest[key] = value
    return "".join([*lines, _dump_uncached(rest)] if rest else lines)


def _known_line(key: str, value: Any) -> str:
    """Return the line of a value that is common or needs no quotes. Return an empty text for all other values."""
    if isinstance(value, UnquotedTime) or (isinstance(value, str) and is_id(value)):
        return f"{key}: {value}\n" if key.isidentifier() else ""
    return _dump_scalar(key, value) if isinstance(value, str | bool | float) and len(str(value)) <= _SHORT else ""


def line(key: str, value: str) -> bytes:
    """Return the line of a key with a text, as `render` writes it."""
    return _dump_scalar(key, value).encode()


@lru_cache(maxsize=LINES_KEPT, typed=True)  # True, 1 and 1.0 compare as equal.
def _dump_scalar(key: str, value: str | bool | float) -> str:
    return _dump_uncached({key: value})


def _dump_uncached(values: Mapping[str, Any]) -> str:
    text = yaml.dump(_Block(values), Dumper=_Dumper, default_flow_style=True, sort_keys=False, allow_unicode=True, width=_WIDE)
    return str(text)


def trim(text: str) -> str:
    """Remove leading blank lines and trailing whitespace. The first line keeps its indentation."""
    return text[_leading(text) :].rstrip()


def _leading(text: str) -> int:
    match = _LEADING_BLANK.match(text)
    return match.end() if match else 0


def is_plain_body(content: str) -> bool:
    """Return whether the content would survive being written as the body and read again."""
    return trim(content) == content and "\r" not in content and not content.startswith("\ufeff")


def render(values: Mapping[str, Any], content: str) -> bytes:
    """Return the text of a new file."""
    if not is_plain_body(content):
        return f"---\n{_dump({**values, 'content': content})}---\n".encode()
    return f"---\n{_dump(values)}---\n\n{content}\n".encode()


def parse(data: bytes, path: str) -> Document:
    """Parse a file into a Document.

    Raises:
        BrokenFileError: The file is invalid. The error includes the line.
    """
    document = split(data, path)
    if document.opening:
        return replace(document, values=_load(document.head, path))
    opening = _OPENING.match(document.body)
    if opening and _KEY_LINE.match(document.body, opening.end()):
        raise BrokenFileError(path, 1, "the front matter has no closing '---' line")
    return document


def split(data: bytes, path: str) -> Document:
    """Split a file at the fences of its front matter, without parsing the front matter.

    Raises:
        BrokenFileError: The file is not valid UTF-8.
    """
    text = _decode(data, path)
    bom, text = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    end = text.find("\n")
    newline = "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Document(bom, "", "", "", text, newline)
    return Document(bom, opening.group(), text[opening.end() : closing.start()], closing.group(), text[closing.end() :], newline)


def _decode(data: bytes, path: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fix = "Save the file as UTF-8, or move it out of the folder."
        raise BrokenFileError(path, line, "the file is not valid UTF-8", fix) from error


def _load(head: str, path: str) -> dict[str, Any]:
    try:
        if "&" in head and "*" in head:
            _refuse_alias_bomb(head, path)
        values = YAMLHandler().load(head, Loader=_Loader)
    except yaml.YAMLError as error:
        raise BrokenFileError(path, _error_line(error, head), f"the front matter is not YAML: {_reason(error)}") from error
    except (ValueError, RecursionError, OverflowError) as error:  # An impossible value, such as the date 2026-13-45.
        raise BrokenFileError(path, _bad_value_line(head), f"the front matter has an impossible value: {error}") from error
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise BrokenFileError(path, 2, f"the front matter is a {type(values).__name__}, not keys with values")
    return {str(key): value for key, value in values.items()}


def _refuse_alias_bomb(head: str, path: str) -> None:
    aliases = (event for event in yaml.parse(head, Loader=_BaseLoader) if isinstance(event, yaml.AliasEvent))
    if len(list(islice(aliases, _MAX_ALIASES + 1))) > _MAX_ALIASES:
        raise BrokenFileError(path, 1, "the front matter uses too many aliases")


def _error_line(error: yaml.YAMLError, head: str) -> int:
    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark or error.context_mark):
        return int(mark.line) + 2
    position = getattr(error, "position", 0)
    return head.count("\n", 0, int(position or 0)) + 2


def _reason(error: yaml.YAMLError) -> str:
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    return str(reason)


def _bad_value_line(head: str) -> int:
    for number, line in enumerate(head.splitlines()):
        try:
            yaml.safe_load(line)
        except (ValueError, OverflowError):
            return number + 2
        except (yaml.YAMLError, RecursionError):
            continue  # A part of a value of several lines, which need not be YAML by itself.
    return 2


def with_values_quoted(document: Document, repairs: Mapping[str, Callable[[str], Any]], path: str) -> Document:
    """Return a document whose front matter is not YAML with the values of some keys written correctly.

    Args:
        document: The document, as `split` returns it.
        repairs: For each key, a function that returns the value meant by the text after its colon. The text includes the lines
            below that are indented or begin with a hyphen.
        path: Path of the file, for messages.

    Raises:
        BrokenFileError: Something else is invalid.
    """
    head = document.head
    for key, repair in repairs.items():
        found = re.search(rf"^{re.escape(key)}:(?P<text>[^\n]*(?:\n(?:[ \t]+\S|-[ \t])[^\n]*)*)", head, re.MULTILINE)
        if found:
            text = found["text"].replace("\r", "").strip()
            line = _dump_uncached({key: repair(text)}).rstrip("\n") + ("\r" if found["text"].endswith("\r") else "")
            head = head[: found.start()] + line + head[found.end() :]
    return replace(document, head=head, values=_load(head, path))


def unquoted(text: str) -> str:
    """Return a scalar without the quotes around it, also if it holds more of them and is therefore not YAML."""
    quote = text[:1]
    if quote not in ("'", '"') or len(text) < 2 or not text.endswith(quote):  # noqa: PLR2004 - two quotes
        return text
    inner = text[1:-1]
    return inner.replace("''", "'") if quote == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")


def line_of(document: Document, key: str) -> int:
    """Return the number of the line with a key, starting at 1, or 1 if the key is missing."""
    match = re.search(rf"^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*:", document.head, re.MULTILINE)
    return document.head.count("\n", 0, match.start()) + 2 if match else 1


# Editing


def edit(document: Document, changes: Mapping[str, Any], content: str | None = None) -> Document:
    """Return the document with some top-level keys set and, if `content` is given, with the content replaced.

    All other bytes are kept. The result's `values` are outdated, so parse it again to verify it.
    """
    if content is not None and (not is_plain_body(content) or _in_key(document)):
        changes = {**changes, "content": content}
        document = replace(document, body="")
    elif content is not None:
        document = replace(document, body=_new_body(document, content))
    if not document.opening and changes:
        fence = f"---{document.newline}"
        document = replace(document, opening=fence, closing=fence + document.newline if document.body else fence)
    if not document.closing.endswith("\n") and document.body:
        document = replace(document, closing=document.closing + document.newline)
    return replace(document, head=_edit_head(document.head, changes, document.newline)) if changes else document


def _in_key(document: Document) -> bool:
    return not trim(document.body) and document.values.get("content") is not None


def _new_body(document: Document, content: str) -> str:
    text = content.replace("\n", document.newline)
    start = _leading(document.body)
    if start == len(document.body.rstrip()):
        return f"{document.newline}{text}{document.newline}"
    return document.body[:start] + text + document.body[len(document.body.rstrip()) :]


def _edit_head(head: str, changes: Mapping[str, Any], newline: str) -> str:
    root = yaml.compose(head, Loader=yaml.SafeLoader)
    nodes = {str(key.value): (key, value) for key, value in root.value} if isinstance(root, yaml.MappingNode) else {}
    spans = [(_span(head, *nodes[key]), value) for key, value in changes.items() if key in nodes]
    for (start, end), value in sorted(spans, key=lambda span: span[0], reverse=True):
        space = " " if head[start - 1] == ":" else ""
        head = head[:start] + space + _inline(value) + head[end:]
    added = {key: value for key, value in changes.items() if key not in nodes}
    if not added:
        return head
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        return _add_to_flow(head, added)
    if head and not head.endswith("\n"):
        head += newline
    return head + _dump(added).replace("\n", newline)


def _inline(value: Any) -> str:
    return _dump({"k": value})[2:].strip()


def _span(head: str, key: Any, value: Any) -> tuple[int, int]:
    """Return the range of a value. A block value ends with its last line, so that comments after it are kept."""
    colon = head.index(":", key.end_mark.index) + 1
    block = getattr(value, "style", None) in ("|", ">") if isinstance(value, yaml.ScalarNode) else value.flow_style is False
    if not block:
        return max(colon, value.start_mark.index), max(colon, value.end_mark.index)
    lines = head[colon : value.end_mark.index].split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    return colon, colon + len("\n".join(lines).rstrip("\r"))


def _add_to_flow(head: str, added: Mapping[str, Any]) -> str:
    end = head.rindex("}")
    pairs = ", ".join(f"{key}: {_inline(value)}" for key, value in added.items())
    empty = head[:end].rstrip().endswith("{")
    return f"{head[:end].rstrip()}{'' if empty else ', '}{pairs}{head[end:]}"
