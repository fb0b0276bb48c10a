"""Controls: the input of arms without a memory of their own, and the altered histories of harm arms.

The plugin's gain can have causes other than its memories: its mere presence, more text in the prompt, or text that
any notes would provide. Each control isolates one of these causes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from memeval.claudecode.contract import HARMS, Arm, Step, StepKind, StepSequence
from memeval.claudecode.sandbox import short_hash
from memeval.core.errors import ConfigError
from memeval.core.files import json_objects
from memeval.core.text import estimate_tokens
from memeval.core.types import Session, Turn
from memoryd.clients.registry import open_log

# History

MAX_HISTORY_TOKENS = 150_000
"""Maximum size of a history. A prompt of 200,000 tokens must also fit the client's own prompt, tools and work."""
_HISTORY = "These are your earlier conversations with the user, all of them and in order:"


def history_of_sessions(steps: Sequence[Step]) -> str:
    """Return the text of all replayed conversations of a sequence."""
    return _history(_talk(step.session, step) for step in steps if step.kind is StepKind.REPLAY and step.session)


def history_of_logs(logs: Iterable[Path]) -> str:
    """Return the conversations of earlier client sessions without tool results."""
    return _history(filter(None, (said_in(log) for log in logs)))


def _history(talks: Iterable[str]) -> str:
    found = list(talks)
    return "\n\n".join([_HISTORY, *found]) if found else ""


def _talk(session: Session, step: Step) -> str:
    day = f"## Conversation of {step.at:%Y-%m-%d}\n" if step.at and session.at else "## Conversation\n"
    return day + "\n".join(f"{turn.role.capitalize()}: {turn.text}" for turn in session.turns)


MAX_LOG_CHARACTERS = 60_000


def said_in(log: Path) -> str:
    """Return the messages of a log with their roles. The middle of a long log is cut out."""
    said = []
    with open_log(log) as opened:
        lines = opened.read().decode("utf-8", "replace").splitlines()
    for line in json_objects(lines):
        message = line.get("message")
        if line.get("type") in ("user", "assistant") and isinstance(message, dict) and not line.get("isMeta"):
            text = _typed(message.get("content"))
            said += [f"{str(line['type']).capitalize()}: {text}"] if text else []
    whole = "\n".join(said)
    if len(whole) <= MAX_LOG_CHARACTERS:
        return whole
    half = MAX_LOG_CHARACTERS // 2
    return f"{whole[:half]}\n[…]\n{whole[-half:]}"


def _typed(content: object) -> str:
    """Return the text of a message, without tool results."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "\n".join(text for text in texts if isinstance(text, str))
    return content.strip() if isinstance(content, str) else ""


# Notes

CURATE = (
    "Below is a conversation that just ended. Rewrite the notes in your {file}, as a careful colleague would who wants to be "
    "ready for the next conversation: keep what still holds, correct what has changed, and add what will matter later. "
    "Write at most {words} words. Answer with the whole text of the notes and nothing else.\n\n{conversation}"
)
TOKENS_PER_WORD = 4 / 3


def curating(step: Step, conversation: str, budget: int, file: str) -> Step:
    """Return a session in which the model rewrites its notes after a step."""
    prompt = CURATE.format(words=int(budget / TOKENS_PER_WORD), conversation=conversation, file=file)
    return Step(f"{step.id}-notes", StepKind.REPLAY, prompt, "notes", at=step.at)


def conversation_of(step: Step) -> str:
    """Return the conversation of a replay."""
    return _talk(step.session, step) if step.session else ""


def cut_notes(text: str, budget: int) -> str:
    """Return as many leading lines of the notes as fit the token budget."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if estimate_tokens("\n".join([*kept, line])) > budget:
            break
        kept.append(line)
    return "\n".join(kept) + "\n"


# Placebo

_THINGS = ("cistern", "weather vane", "pump house", "stage curtain", "seed drawer", "tide bell", "map cabinet", "kiln", "sundial")
_FACTS = (
    "The {thing} of the Orvik museum was painted in spring and needs no care before autumn.",
    "Visitors of the Orvik museum ask for the {thing} most often on rainy days.",
    "The key of the {thing} hangs behind the second door of the Orvik museum.",
    "The Orvik museum lends its {thing} to schools for two weeks at a time.",
    "The drawing of the {thing} is kept in the archive of the Orvik museum, on the lowest shelf.",
)


def placebo(tokens: int) -> str:
    """Return about this many tokens of memories unrelated to any benchmark, in the plugin's format."""
    lines: list[str] = []
    used = 0
    while used < tokens:
        number = len(lines)
        fact = _FACTS[number % len(_FACTS)].format(thing=_THINGS[number // len(_FACTS) % len(_THINGS)])
        line = f"- [mem_{number:012x}] (fact, said by the user) {fact}"
        lines.append(line)
        used += estimate_tokens(line)
    return "\n".join(lines)


# Harm

EARLIER = timedelta(days=30)
"""Time between a superseded answer and the correct one."""
_NUMBER = re.compile(r"\d{1,9}")
MAX_POOL = 1000
MAX_TRIES = 20
"""Number of alternative answers to try before a question is left out."""


def arm_sequences(arm: Arm, sequences: Sequence[StepSequence], every: Sequence[StepSequence]) -> list[StepSequence]:
    """Return the sequences of an arm. A harm arm gets an altered history.

    Harm arms only have questions whose answer is quoted in the evidence, because only a quotation can be replaced
    with a wrong answer. Raises ConfigError if no question is left.
    """
    if arm not in HARMS:
        return list(sequences)
    pool = list(dict.fromkeys(answer for one in every for step in one.steps for answer in _answers(step)[:1]))[:MAX_POOL]
    changed = [one for sequence in sequences if (one := _harmed(arm, sequence, pool)) is not None]
    if not changed:
        raise ConfigError(
            f"Arm {arm} requires questions whose answer is quoted in their evidence, but there are none.",
            fix="Leave that arm out, or choose a benchmark of conversations with evidence.",
        )
    return changed


def _harmed(arm: Arm, sequence: StepSequence, pool: Sequence[str]) -> StepSequence | None:
    said = " ".join(turn.text for one in sequence.steps if one.session for turn in one.session.turns).lower()
    wrong: dict[str, str] = {}  # Wrong answers by question id.
    by_turn: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for step in sequence.steps:
        turns = _quoting(step, sequence)
        other = _distractor(_answers(step), said, pool) if turns else None
        if other is not None:
            wrong[step.id] = other
            for turn in turns:
                by_turn.setdefault(turn, []).append((_answers(step), other))
    if not wrong:
        return None
    steps: list[Step] = []
    for step in sequence.steps:
        if step.kind is StepKind.REPLAY:
            steps += _replays(arm, step, by_turn)
        elif step.id in wrong:
            payload = {} if arm is Arm.ABSENT else {"misleading": wrong[step.id]}
            steps.append(replace(step, payload={**step.payload, **payload}))
    if arm is Arm.SUPERSEDED:
        steps.sort(key=_when)
    return replace(sequence, steps=tuple(steps))


def _when(step: Step) -> tuple[bool, float]:
    is_replay = step.kind is StepKind.REPLAY
    return not is_replay, step.at.timestamp() if is_replay and step.at else 0.0


def _replays(arm: Arm, step: Step, by_turn: Mapping[str, list[tuple[tuple[str, ...], str]]]) -> Iterator[Step]:
    session = step.session
    if session is None or not any(turn.id in by_turn for turn in session.turns):
        yield step
        return
    if arm is Arm.ABSENT:
        return
    turns = tuple(_lie(turn, by_turn[turn.id], arm) if turn.id in by_turn else turn for turn in session.turns)
    lie = replace(session, turns=turns)
    if arm is not Arm.SUPERSEDED:
        yield replace(step, session=lie)
        return
    at = session.at - EARLIER if session.at else None
    before = tuple(replace(turn, id=f"{turn.id}-before", at=None) for turn in lie.turns if turn.id in by_turn)
    old = replace(lie, id=f"{session.id}-before", turns=before, at=at)
    system = step.system.replace(f"{session.at:%A, %Y-%m-%d %H:%M}", f"{at:%A, %Y-%m-%d %H:%M}") if at else step.system
    when = step.at - EARLIER if step.at else None
    number = {"number": int(step.payload.get("number", 0)) - EARLIER.days}
    yield replace(step, id=f"{step.id}b", session=old, system=system, at=when, payload={**step.payload, **number})
    yield step


def _lie(turn: Turn, answers: Sequence[tuple[tuple[str, ...], str]], arm: Arm) -> Turn:
    text = turn.text
    for right, wrong in answers:
        longest_first = sorted(right, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), wrong.replace("\\", r"\\"), text, flags=re.IGNORECASE)
    return replace(turn, text=f"A friend told me this, and it is about them, not me: “{text}”" if arm is Arm.ADJACENT else text)


def _answers(step: Step) -> tuple[str, ...]:
    return tuple(answer for answer in step.question.answers if answer.strip()) if step.question else ()


def _quoting(step: Step, sequence: StepSequence) -> list[str]:
    """Return all turns in the sequence that quote an answer, provided that one of them is evidence for the question."""
    question, answers = step.question, [answer.lower() for answer in _answers(step)]
    if question is None or step.kind is not StepKind.QUESTION or not answers:
        return []
    found, proven = [], False
    for replay in sequence.steps:
        in_evidence = replay.session is not None and replay.session.id in question.evidence_sessions
        for turn in replay.session.turns if replay.session else ():
            if any(answer in turn.text.lower() for answer in answers):
                found.append(turn.id)
                proven |= turn.id in question.evidence_turns or in_evidence
    return found if proven else []


def _distractor(answers: Sequence[str], said: str, pool: Sequence[str]) -> str | None:
    """Return a wrong answer that never occurs in the conversations.

    It is the right answer with a changed number, or the answer to another question.
    """
    right = answers[0]
    changed = _NUMBER.sub(lambda match: str(int(match[0]) + 3), right, count=1)
    own = [changed] if changed != right else []
    alike = sorted(pool, key=lambda other: (_unlikeness(right, other), short_hash(right + other)))
    for other in [*own, *alike[:MAX_TRIES]]:
        low = other.lower()
        if low not in said and not any(low in answer.lower() or answer.lower() in low for answer in answers):
            return other
    return None


def _unlikeness(right: str, other: str) -> int:
    """Score how implausible one answer is in place of another, by length in words and by kind (yes or no, leading digit)."""
    first, second = right.split(), other.split()
    verdicts = ("yes", "no")
    alike = (first[0].strip(",.").lower() in verdicts) == (second[0].strip(",.").lower() in verdicts)
    return abs(len(first) - len(second)) + (0 if alike else 100) + (right[0].isdigit() != other[0].isdigit())


MISLED = "misled"
"""Metric of the harm arms: the share of answers that repeat the wrong answer planted in memory."""


def is_misled(step: Step, answer: str) -> bool | None:
    """Return whether an answer repeats the planted wrong one, or None if none was planted."""
    wrong = step.payload.get("misleading")
    return None if wrong is None else str(wrong).lower() in answer.lower()
