"""Decide what may be read and written, regardless of which reader proposed it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.core.paths import spellings
from memoryd.core.project import find_git
from memoryd.core.text import keywords
from memoryd.core.types import AGREED_TAG, Candidate, Extraction, Kind, Polarity, Refused, Scope, Source, Status, Turn, TurnKind
from memoryd.daydream.addressed import is_titled_list, is_unsure, states_rule
from memoryd.daydream.model_answer import restrain
from memoryd.daydream.quoted import asserted
from memoryd.daydream.reconcile import refused
from memoryd.daydream.redact import redact
from memoryd.daydream.transcript import LogChunk
from memoryd.llm import extractor_folder, is_internal_text

# Statements worded by the agent and merely confirmed by the user. They become decisions marked as agreed, never user rules.

# A turn this short ("yes, do that", "option 2", an option's label) can't contain the statement that cites it.
FEW_WORDS = 8
# Words that a reader may add ("uses", "project"). More additions mean that the statement is not in the user's words.
SPARE_WORDS = 2


def as_agreed(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """Mark the candidate as agreed if it attributes words to the user that the cited turns don't contain.

    This only affects chosen options, answers to the agent's questions and very short turns.
    """
    if candidate.source is not Source.USER:
        return candidate
    cited = [turn for turn in turns if turn.kind is TurnKind.USER and _is_cited(turn, candidate)]
    if not cited:
        return candidate
    typed = " ".join(turn.text for turn in cited if not turn.offered)
    said = set(keywords(typed))
    foreign = [word for word in keywords(candidate.content) if word not in said]
    chosen = any(turn.offered for turn in cited) and bool(foreign)
    answers = any(turn.via == "answer" for turn in cited)
    short = len(typed.split()) <= FEW_WORDS
    if not chosen and not ((answers or short) and len(foreign) > SPARE_WORDS):
        return candidate
    return replace(
        candidate,
        source=Source.AGENT_STEP,
        kind=Kind.DECISION if candidate.kind in (Kind.RULE, Kind.PREFERENCE) else candidate.kind,
        polarity=Polarity.KNOW,
        scope=Scope.PROJECT,
        tags=tuple(dict.fromkeys([*candidate.tags, AGREED_TAG])),
    )


def _is_cited(turn: Turn, candidate: Candidate) -> bool:
    return (turn.uuid in candidate.uuids) if turn.uuid and candidate.uuids else turn.line in candidate.lines


# Limit per user turn, so that reading a log late yields as much as reading it turn by turn.
MAX_CANDIDATES = 25
MAX_CONTENT = 1_000


def is_excluded(settings: Settings, folder: str) -> bool:
    """Return whether the folder, or the repository of which it is a worktree, is inside a folder excluded by the user."""
    if not folder or not settings.exclude:
        return False
    paths = spellings(folder)
    if git := find_git(Path(folder)):
        paths.add(git.common_dir)
    return any(root in (path, *path.parents) for entry in settings.exclude for root in spellings(entry) for path in paths)


def is_own_run(settings: Settings, cwd: str, piece: LogChunk) -> bool:
    """Return whether the log belongs to one of memoryd's own model runs.

    It is recognised by its folder or by the marker in its prompt.
    """
    folder = extractor_folder(settings)
    if cwd and folder in (Path(cwd), *Path(cwd).parents):
        return True
    return any(turn.kind is TurnKind.USER and is_internal_text(turn.text) for turn in (*piece.context, *piece.turns))


def admissible(extraction: Extraction, turns: Sequence[Turn]) -> tuple[list[Candidate], list[Refused]]:
    """Split the candidates into admissible and refused ones.

    Candidates are refused if they contain secrets, are rules from anyone but the user, or exceed the limit.
    """
    out: list[Refused] = []
    good: list[Candidate] = []
    for candidate in extraction.candidates:
        problem = _problem(candidate)
        if problem:
            out.append(refused(candidate, problem))
        else:
            good.append(restrain(as_agreed(_as_addressed(_as_asked(candidate), turns), turns)))
    order = sorted(range(len(good)), key=lambda i: (-good[i].importance, -good[i].confidence, i))
    most = MAX_CANDIDATES * max(1, sum(turn.kind is TurnKind.USER for turn in turns))
    out += [refused(good[i], "over the limit") for i in order[most:]]
    return [good[i] for i in sorted(order[:most])], out


def _as_asked(candidate: Candidate) -> Candidate:
    """Downgrade the user's questions and suppositions so that they are not binding."""
    binds = candidate.kind in (Kind.RULE, Kind.PREFERENCE) or candidate.polarity is not Polarity.KNOW
    if candidate.source is not Source.USER or not binds or _asserts_rule(candidate.content):
        return candidate
    kind = Kind.FACT if candidate.kind in (Kind.RULE, Kind.PREFERENCE) else candidate.kind
    return replace(candidate, kind=kind, polarity=Polarity.KNOW)


def _asserts_rule(content: str) -> bool:
    """Return whether the text asserts something and, if it contains words of a rule, asserts these too."""
    stated = asserted(content)
    return bool(stated) and (states_rule(stated) or not states_rule(content))


def _as_addressed(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """Hold back a rule that may be about somebody else or belong to a document, until it is confirmed."""
    binds = candidate.kind in (Kind.RULE, Kind.PREFERENCE) or candidate.polarity is not Polarity.KNOW
    if candidate.source is not Source.USER or not binds:
        return candidate
    listed = any(is_titled_list(turn.text) for turn in turns if turn.kind is TurnKind.USER and _is_cited(turn, candidate))
    return replace(candidate, status=Status.CANDIDATE) if listed or is_unsure(candidate.content) else candidate


def _problem(candidate: Candidate) -> str:
    if not candidate.content.strip():
        return "empty"
    if len(candidate.content) > MAX_CONTENT:
        return "too long"
    texts = (candidate.content, *candidate.tags, *candidate.entities, *candidate.paths, *candidate.asked_as)
    return "holds a secret" if any(redact(text).found for text in texts) else ""


def summed(*counts: Mapping[str, int]) -> dict[str, int]:
    """Sum the counts by reason, omitting zeros."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return {reason: number for reason, number in total.items() if number}
