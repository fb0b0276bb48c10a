"""Find the code that a statement is about when it is learnt.

A statement cites the files it mentions. It also cites files that the session had just read or edited, if they define
a name in the statement or contain a line quoted in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from memoryd.citations.repository import blob_id, read_file
from memoryd.citations.symbols import body_digest, definition, holds_text
from memoryd.citations.versions import WELL_KNOWN, claims, link, values_of
from memoryd.core.project import find_git
from memoryd.core.tool_calls import EDITING_TOOLS
from memoryd.core.types import Citation, Kind, Passage, TurnKind
from memoryd.language.entities import find_entities

# Wishes and plans remain valid even if the code changes.
CITING_KINDS = frozenset({Kind.FACT, Kind.FIX, Kind.DEAD_END, Kind.ENVIRONMENT, Kind.DECISION, Kind.NOTE})
MAX_TOUCHED = 24
MAX_NAMES = 16
MAX_CITED = 6
MIN_QUOTED = 8
_FILE_TOOLS = EDITING_TOOLS | {"Read"}
_SECRET_FILE = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?!example|sample|template)\w{1,20})?|id_\w{2,10}|[^/]{1,80}\.(?:pem|key|p12|pfx|kdbx))$"
)
_QUOTED = re.compile(r"`([^`\n]{2,200})`")
_SYNTAX = re.compile(r"[ =:(\[]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,60}")


def working_tree(cwd: str) -> Path | None:
    """Return the root of the working tree that contains a folder, or the folder itself outside a repository."""
    if not cwd or not Path(cwd).is_dir():
        return None
    git = find_git(Path(cwd))
    return git.root if git else Path(cwd)


def cite(statement: str, kind: Kind, passage: Passage, commit: str, paths: Iterable[str] = ()) -> tuple[Citation, ...]:
    """Return up to six citations for a statement. `paths` are the files that the reader gave as evidence."""
    root = working_tree(passage.cwd) if kind in CITING_KINDS else None
    if root is None:
        return ()
    found = list(_cited(statement, root, passage, commit, tuple(paths)))
    exact = {citation.path for citation in found if citation.symbol or citation.text or citation.key}
    # A file need not be cited as a whole if something exact in it is cited.
    kept = [citation for citation in found if citation.symbol or citation.text or citation.key or citation.path not in exact]
    return tuple(dict.fromkeys(kept))[:MAX_CITED]


def _cited(statement: str, root: Path, passage: Passage, commit: str, paths: Sequence[str]) -> Iterator[Citation]:
    names = find_entities(statement, MAX_NAMES)
    named = list(_existing((*names, *paths), root, passage.cwd))
    touched = _touched(passage, root)
    by_name = {PurePosixPath(path).name.casefold(): path for path in touched}
    named += [by_name[name.casefold()] for name in names if name.casefold() in by_name]
    sources = {path: source for path in dict.fromkeys([*named, *touched]) if (source := _source(root, path)) is not None}
    if claims(statement):
        yield from _versions(statement, root, commit, sources)
    for path, (data, text) in sources.items():
        blob = blob_id(data)
        for symbol in _symbols(statement, names):
            if (body := definition(text, symbol)) is not None:
                yield Citation(path, commit, blob, symbol, body_digest(body))
        for quoted in _quotes(statement):
            if holds_text(text, quoted):
                yield Citation(path, commit, blob, text=quoted)
        if path in named:
            yield Citation(path, commit, blob)


def renewed(citation: Citation, root: Path, commit: str) -> Citation:
    """Return a citation of the current version of the same code. If the code is no longer in the file, cite only the file."""
    source = _source(root, citation.path)
    if source is None:
        return citation
    now = Citation(citation.path, commit, blob_id(source[0]))
    if citation.key:
        value = values_of(citation.path, source[1]).get(citation.key)
        return replace(now, key=citation.key, value=value) if value is not None else now
    if citation.symbol and (body := definition(source[1], citation.symbol)) is not None:
        return replace(now, symbol=citation.symbol, body=body_digest(body))
    return replace(now, text=citation.text) if citation.text and holds_text(source[1], citation.text) else now


def _versions(statement: str, root: Path, commit: str, sources: dict[str, tuple[bytes, str]]) -> Iterator[Citation]:
    for path in dict.fromkeys([*sources, *WELL_KNOWN]):
        source = sources.get(path) or _source(root, path)
        linked = link(statement, values_of(path, source[1])) if source else None
        if source and linked:
            yield Citation(path, commit, blob_id(source[0]), key=linked[0], value=linked[1])
            return


def _source(root: Path, path: str) -> tuple[bytes, str] | None:
    if _SECRET_FILE.search(path):
        return None
    data = read_file(root / path)
    return None if data is None or b"\0" in data[:8_000] else (data, data.decode("utf-8", "replace"))


def inside(path: str, root: Path, cwd: str = "") -> str:
    """Return a path relative to the working tree, or an empty text if it is outside."""
    try:
        full = Path(cwd or root, Path(path).expanduser()).resolve()
        return full.relative_to(root.resolve()).as_posix()
    except (OSError, ValueError, RuntimeError):
        return ""


def _existing(names: Iterable[str], root: Path, cwd: str) -> Iterator[str]:
    for name in names:
        if not ("/" in name or "." in name or name in WELL_KNOWN):
            continue
        for base in dict.fromkeys((cwd, str(root))):
            path = inside(name, root, base)
            try:
                if path and path != "." and not path.startswith(".git/") and (root / path).is_file():
                    yield path
                    break
            except OSError:
                continue  # The name is too long for a path, or its folder can't be read.


def _touched(passage: Passage, root: Path) -> list[str]:
    """Return the files that the session read or edited in this working tree, latest first."""
    turns = (*passage.context, *passage.turns)
    used = [turn.detail for turn in turns if turn.kind is TurnKind.TOOL_USE and turn.tool in _FILE_TOOLS and turn.detail]
    paths = [inside(path, root, passage.cwd) for path in reversed(used)]
    return [path for path in dict.fromkeys(paths) if path][:MAX_TOUCHED]


def _symbols(statement: str, names: Iterable[str]) -> list[str]:
    """Return the names in a statement that might be defined in code."""
    words = [name.removesuffix("()").rpartition(".")[2].rpartition("::")[2] for name in (*names, *_QUOTED.findall(statement))]
    names_code = (word for word in words if _IDENTIFIER.fullmatch(word) and _looks_like_code(word, statement))
    return list(dict.fromkeys(names_code))[:MAX_NAMES]


def _looks_like_code(word: str, statement: str) -> bool:
    return word.lower() != word or "_" in word or f"`{word}" in statement or f"{word}()" in statement


def _quotes(statement: str) -> list[str]:
    """Return the parts of code lines that a statement quotes."""
    quoted = [text.strip() for text in _QUOTED.findall(statement)]
    return [text for text in quoted if len(text) >= MIN_QUOTED and not _IDENTIFIER.fullmatch(text) and _SYNTAX.search(text)]
