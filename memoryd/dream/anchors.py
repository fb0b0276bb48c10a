"""Memories about code: when a file that one speaks of is gone or looks different, it is marked "check".

A memory is anchored to the paths of its evidence. The first dream that sees it keeps a sketch of each
file; later ones compare. No process and no network: a file whose size and time are as they were is
not even read, and each dream reads at most MAX_READS files.

Sketch: the 64 smallest hashes of the file's lines; the share that two sketches have in common among
the 64 smallest of both estimates the Jaccard similarity of the sets of lines (bottom-k sketch,
Broder 1997). Under FITS the file counts as changed a lot. Larger files are compared by size only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from memoryd.dream.plan import Action, Change
from memoryd.ledger import Print
from memoryd.types import CHECK_TAG, MemoryItem, Status

STAGE = "anchors"
FITS = 0.5
SKETCH_SIZE = 64
MAX_BYTES = 1_000_000
MAX_READS = 2_000
_BY_SIZE = "size "
_STILL_DIFFERENT = "-"
_GONE = Print(-1, 0, "")

RootsOf = Callable[[MemoryItem], Sequence[Path]]


@dataclass(slots=True)
class Inspection:
    """What a look at the files gave: prints to keep, and the memories whose mark must change, with the reason."""

    prints: dict[str, dict[str, Print]] = field(default_factory=dict)
    mark: dict[str, str] = field(default_factory=dict)
    unmark: dict[str, str] = field(default_factory=dict)


def sketch_of(data: bytes) -> str:
    """The sketch of a file's bytes, as text."""
    lines = {line.strip() for line in data.splitlines()} - {b""}
    hashes = sorted(hashlib.blake2b(line, digest_size=6).hexdigest() for line in lines)
    return " ".join(hashes[:SKETCH_SIZE])


def similarity(a: str, b: str) -> float:
    """How much two files have in common by their sketches, 0..1."""
    if a.startswith(_BY_SIZE) or b.startswith(_BY_SIZE):
        return _size_similarity(a, b)
    left, right = set(a.split()), set(b.split())
    smallest = sorted(left | right)[:SKETCH_SIZE]
    return len([code for code in smallest if code in left and code in right]) / len(smallest) if smallest else 1.0


def _size_similarity(a: str, b: str) -> float:
    if not (a.startswith(_BY_SIZE) and b.startswith(_BY_SIZE)):
        return 0.0
    small, large = sorted((int(a.removeprefix(_BY_SIZE)), int(b.removeprefix(_BY_SIZE))))
    return small / large


def inspect(items: Iterable[MemoryItem], known: Mapping[str, Mapping[str, Print]], roots_of: RootsOf) -> Inspection:
    """Compare the files of all active memories with what is known. Nothing is written."""
    look = _Look(MAX_READS)
    out = Inspection()
    for item in sorted(items, key=lambda item: item.id):
        if item.evidence.paths and item.status is Status.ACTIVE:
            _inspect(item, known.get(item.id, {}), roots_of(item), look, out)
    return out


def _inspect(item: MemoryItem, known: Mapping[str, Print], roots: Sequence[Path], look: _Look, out: Inspection) -> None:
    now, problems = {}, []
    for path in item.evidence.paths:
        found = look.at(path, roots, known.get(path))
        if found is None:
            continue
        problem = _problem(path, known.get(path), found)
        first = known.get(path, found)
        now[path] = replace(found, sketch=first.sketch, marked=bool(problem))
        problems += [problem] if problem else []
    if now != dict(known):
        out.prints[item.id] = {**known, **now}
    if problems and CHECK_TAG not in item.tags:
        out.mark[item.id] = "; ".join(problems)
    elif now and not problems and CHECK_TAG in item.tags and any(print.marked for print in known.values()):
        out.unmark[item.id] = "the file fits again"


def _problem(path: str, before: Print | None, found: Print) -> str:
    if before is None:
        return ""
    if found.size < 0:
        return f"{path} is gone"
    return "" if similarity(before.sketch, found.sketch) >= FITS else f"{path} has changed a lot"


class _Look:
    """Looks at files, up to a number of reads. `at` gives None for what can't be judged now."""

    def __init__(self, reads: int) -> None:
        self._reads = reads

    def at(self, path: str, roots: Sequence[Path], known: Print | None) -> Print | None:
        places = [Path(path)] if Path(path).is_absolute() else [root / path for root in roots if root.is_dir()]
        for place in places:
            try:
                if place.is_file():
                    return self._read(place, known)
            except OSError:
                return None  # no permission, a dead mount: nothing is known
        # What never was a file, such as "and/or", or whose whole project is away, says nothing.
        return _GONE if known is not None and _project_is_there(path, roots) else None

    def _read(self, place: Path, known: Print | None) -> Print | None:
        stat = place.stat()
        if known is not None and (stat.st_size, stat.st_mtime_ns) == (known.size, known.mtime_ns):
            return replace(known, sketch=_STILL_DIFFERENT) if known.marked else known
        if self._reads <= 0:
            return None
        self._reads -= 1
        sketch = f"{_BY_SIZE}{stat.st_size}" if stat.st_size > MAX_BYTES else sketch_of(place.read_bytes())
        return Print(stat.st_size, stat.st_mtime_ns, sketch)


def _project_is_there(path: str, roots: Sequence[Path]) -> bool:
    return Path(path).parent.parent.is_dir() if Path(path).is_absolute() else any(root.is_dir() for root in roots)


def changes(items: Mapping[str, MemoryItem], found: Inspection) -> list[Change]:
    """The marks as changes, by id."""
    out = []
    for id, reason in sorted({**found.mark, **found.unmark}.items()):
        item = items[id]
        tags = (*item.tags, CHECK_TAG) if id in found.mark else tuple(tag for tag in item.tags if tag != CHECK_TAG)
        out.append(Change(STAGE, Action.CHECK, item, replace(item, tags=tags), reason))
    return out
