"""What may be read, and what may be written, whoever proposed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from memoryd.config import Settings
from memoryd.daydream.agreed import as_agreed
from memoryd.daydream.answer import restrain
from memoryd.daydream.decided import refused
from memoryd.daydream.quoted import asserted
from memoryd.daydream.redact import redact
from memoryd.daydream.transcript import Piece
from memoryd.llm import extractor_folder, is_internal_text
from memoryd.types import Candidate, Extraction, Kind, Polarity, Refused, Source, Turn, TurnKind

# For each turn of the user: a log that is read late is given what it would have been given turn by turn.
MAX_CANDIDATES = 25
MAX_CONTENT = 1_000


def is_excluded(settings: Settings, folder: str) -> bool:
    """Whether the folder lies in one that the user excluded."""
    if not folder or not settings.exclude:
        return False
    spellings = _spellings(folder)
    return any(
        root in (spelling, *spelling.parents)
        for entry in settings.exclude
        for root in _spellings(entry)
        for spelling in spellings
    )


def _spellings(folder: str) -> set[Path]:
    """The path as it is written and with its links followed, where that can be told."""
    path = Path(folder).absolute()
    try:
        path = Path(folder).expanduser().absolute()
        return {path, path.resolve()}
    except (OSError, ValueError, RuntimeError):  # a NUL, a name too long, a loop of links
        return {path}


def is_own_run(settings: Settings, cwd: str, piece: Piece) -> bool:
    """Whether the log is of a model run of ours: by its folder or by the mark in its prompt."""
    folder = extractor_folder(settings)
    if cwd and folder in (Path(cwd), *Path(cwd).parents):
        return True
    return any(turn.kind is TurnKind.USER and is_internal_text(turn.text) for turn in (*piece.context, *piece.turns))


def admissible(extraction: Extraction, turns: Sequence[Turn]) -> tuple[list[Candidate], list[Refused]]:
    """The candidates from these turns that may be written (no secrets, no rules from others, not too many), and the others."""
    out: list[Refused] = []
    good: list[Candidate] = []
    for candidate in extraction.candidates:
        problem = _problem(candidate)
        if problem:
            out.append(refused(candidate, problem))
        else:
            good.append(restrain(as_agreed(_as_asked(candidate), turns)))
    order = sorted(range(len(good)), key=lambda i: (-good[i].importance, -good[i].confidence, i))
    most = MAX_CANDIDATES * max(1, sum(turn.kind is TurnKind.USER for turn in turns))
    out += [refused(good[i], "over the limit") for i in order[most:]]
    return [good[i] for i in sorted(order[:most])], out


def _as_asked(candidate: Candidate) -> Candidate:
    """What the user only wonders or supposes binds nobody."""
    binds = candidate.kind in (Kind.RULE, Kind.PREFERENCE) or candidate.polarity is not Polarity.KNOW
    if candidate.source is not Source.USER or not binds or asserted(candidate.content):
        return candidate
    kind = Kind.FACT if candidate.kind in (Kind.RULE, Kind.PREFERENCE) else candidate.kind
    return replace(candidate, kind=kind, polarity=Polarity.KNOW)


def _problem(candidate: Candidate) -> str:
    if not candidate.content.strip():
        return "empty"
    if len(candidate.content) > MAX_CONTENT:
        return "too long"
    texts = (candidate.content, *candidate.tags, *candidate.entities, *candidate.paths, *candidate.asked_as)
    return "holds a secret" if any(redact(text).found for text in texts) else ""


def summed(*counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by reason added up, zeros left out."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return {reason: number for reason, number in total.items() if number}
