"""What may become a memory: units of text with the names of the cues that they show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryd.daydream.heuristic import cues
from memoryd.daydream.heuristic.sentences import Statement, size, statements
from memoryd.text import keywords, one_line
from memoryd.types import Turn, TurnKind

PASTE_CHARS = 900
_FILLER = re.compile(
    r"^(?:(?:ok(?:ay)?|so|well|hmm+|um+|ah+|oh|please|pls|hey|hi|hello|also|and|but|then|now|great|thanks?|thank you|cool|nice|alright|yeah?|yep|yes|sure|"
    r"perfect|good|right|got it|嗯|好的?|那|哦|啊|ну|так|ок)(?:[\s,.!:;—-]+|(?<=[嗯好那哦啊的])[，,。]?))+",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement of one turn. `cues` are names of features that hold; `words` its key words, for comparing."""

    text: str
    turn: Turn
    statement: Statement
    cues: frozenset[str] = frozenset()
    words: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def by_user(self) -> bool:
        """Whether the user said it."""
        return self.turn.kind is TurnKind.USER


@dataclass(frozen=True, slots=True)
class Episode:
    """What the user said at one time and all that followed until the next time. `before` is the text it answers."""

    user: tuple[Turn, ...]
    rest: tuple[Turn, ...]
    before: Turn | None = None
    interrupted: bool = False
    first: bool = False


def _merge(parts: list[Statement], limit: int) -> list[Statement]:
    """Neighbouring short statements of a user message in one, up to `limit` words."""
    out: list[Statement] = []
    for part in parts:
        last = out[-1] if out else None
        if last and not part.bullet and not last.bullet and size(last.text) + size(part.text) <= limit:
            out[-1] = Statement(f"{last.text} {part.text}", last.heading, last.bullet, last.position)
        else:
            out.append(part)
    return out


def user_statements(turn: Turn, limit: int = 36) -> list[Statement]:
    """Statements of a message of the user; short ones that belong together are joined."""
    if turn.via == "answer":
        asked = one_line(turn.detail)
        return [Statement(f"{asked} {one_line(turn.text)}" if asked else one_line(turn.text))]
    parts = statements(turn.text)
    if len(turn.text) > PASTE_CHARS:
        return parts
    kept = [s for s in parts if not cues.USER_NOISE["permission"].fullmatch(s.text)]
    return _merge(kept, limit)


def _length(text: str) -> str:
    words = size(text)
    for name, top in (("tiny", 4), ("short", 8), ("medium", 16), ("good length", 32), ("long", 48)):
        if words <= top:
            return f"length {name}"
    return "length huge"


def _shape(statement: Statement) -> set[str]:
    names = {_length(statement.text)}
    found = len(set(cues.IDENTIFIER.findall(statement.text)))
    names.add(f"identifiers {min(found, 3)}")
    if cues.NUMBER.search(statement.text):
        names.add("number")
    if statement.bullet:
        names.add("bullet")
    if statement.heading:
        good, bad = cues.GOOD_HEADING.search(statement.heading), cues.BAD_HEADING.search(statement.heading)
        names |= {"heading good"} if good and not bad else {"heading bad"} if bad else {"heading"}
    if "→" in statement.text or " = " in statement.text or "->" in statement.text:
        names.add("arrow")
    return names


def _named(table: object, text: str, prefix: str) -> set[str]:
    assert hasattr(table, "items")
    return {prefix + name for name, pattern in table.items() if pattern.search(text)}


_ANAPHORA = re.compile(
    r"^(?:this|that|it|these|those|they|so|but|which|both|and|also|otherwise|because|das|dies|cela|ça|esto|это|这|它|但|所以)\b|^[这它但所]",
    re.I,
)


def agent_statements(turn: Turn, limit: int = 24) -> list[Statement]:
    """Statements of the assistant; one that leans on the one before it ("That …", "So …") is joined to it."""
    out: list[Statement] = []
    for part in statements(turn.text):
        last = out[-1] if out else None
        if (
            last
            and not part.bullet
            and not last.bullet
            and last.position == part.position
            and _ANAPHORA.match(part.text)
            and size(last.text) + size(part.text) <= limit
        ):
            out[-1] = Statement(f"{last.text} {part.text}", last.heading, last.bullet, last.position)
        else:
            out.append(part)
    return out


def _similar(words: frozenset[str], others: Sequence[frozenset[str]]) -> float:
    """The greatest token F1 with one of the others."""
    return max((2 * len(words & o) / (len(words) + len(o)) for o in others if o), default=0.0) if words else 0.0


def user_units(episode: Episode) -> list[Unit]:
    """Units of the user's turns of an episode."""
    reply = next((t for t in episode.rest if t.kind is TurnKind.ASSISTANT), None)
    agreed = bool(reply and cues.AGENT_CUES["agreement"].search(reply.text[:80]))
    said = " ".join(t.text for t in episode.rest if t.kind is TurnKind.ASSISTANT)
    echo = frozenset(keywords(said))
    answers = [frozenset(keywords(x.text)) for t in episode.rest if t.kind is TurnKind.ASSISTANT for x in statements(t.text)]
    opening = [frozenset(keywords(x.text)) for x in statements(reply.text)[:3]] if reply else []
    asked_before = bool(episode.before and cues.AGENT_NOISE["question"].search(episode.before.text[-300:]))
    out: list[Unit] = []
    for turn in episode.user:
        pasted = len(turn.text) > PASTE_CHARS
        parts = user_statements(turn)
        for statement in parts:
            text = _FILLER.sub("", statement.text)
            words = frozenset(keywords(text))
            names = _shape(statement) | _named(cues.USER_CUES, statement.text, "") | _named(cues.USER_NOISE, text, "noise ")
            names |= {f"via {turn.via}"} if turn.via != "prompt" else set()
            names |= {"pasted"} if pasted else set()
            names |= {"agreed"} if agreed and not pasted else set()
            names |= {"after interrupt"} if episode.interrupted else set()
            names |= {"first message"} if episode.first else set()
            names |= {"alone"} if len(parts) == 1 else set()
            if words:
                share = len(words & echo) / len(words)
                names |= {"echoed"} if share >= 0.7 else {"half echoed"} if share >= 0.4 else set()
            near = _similar(words, answers)
            names |= {"restated"} if near >= 0.5 else {"half restated"} if near >= 0.35 else set()
            names |= {"repeated in reply"} if _similar(words, opening) >= 0.3 else set()
            names |= {"answers question"} if asked_before else set()
            names |= {"starts turn"} if statement is parts[0] else set()
            out.append(Unit(text, turn, statement, frozenset(names), words))
    return out


def agent_units(episode: Episode) -> list[Unit]:
    """Units of the assistant's turns of an episode."""
    turns = [t for t in episode.rest if t.kind is TurnKind.ASSISTANT and not t.sidechain]
    asked = frozenset(w for t in episode.user if len(t.text) <= PASTE_CHARS for w in keywords(t.text))
    reported = any(cues.ERROR_REPORT.search(t.text[:PASTE_CHARS]) for t in episode.user)
    bags = [frozenset(keywords(t.text)) for t in turns]
    lines = [[frozenset(keywords(x.text)) for x in statements(t.text)] for t in turns]
    user_lines = [frozenset(keywords(x.text)) for t in episode.user if len(t.text) <= PASTE_CHARS for x in user_statements(t)]
    questioned = any(cues.USER_NOISE["question"].search(t.text) for t in episode.user)
    tools = [t for t in episode.rest if t.kind is TurnKind.TOOL_RESULT]
    failed = any(t.error for t in tools)
    out: list[Unit] = []
    for number, turn in enumerate(turns):
        elsewhere = frozenset().union(*(b for i, b in enumerate(bags) if i != number))
        where = {"last turn"} if number == len(turns) - 1 else set()
        where |= {"first turn"} if number == 0 else set()
        where |= {"user reports error"} if reported else set()
        where |= {"user asked"} if questioned else set()
        where |= {"tool failed"} if failed else set()
        where |= {"no tools"} if not tools else set()
        others = [x for i, b in enumerate(lines) if i != number for x in b]
        where |= {"long turn"} if len(turn.text) > 1500 else {"short turn"} if len(turn.text) < 400 else set()
        for index, statement in enumerate(agent_statements(turn)):
            words = frozenset(keywords(statement.text))
            if not words:
                continue
            names = (
                where
                | _shape(statement)
                | _named(cues.AGENT_CUES, statement.text, "")
                | _named(cues.AGENT_NOISE, statement.text, "noise ")
            )
            names |= {"first sentence"} if index == 0 else {"second sentence"} if index == 1 else set()
            share = len(words & asked) / len(words)
            near = _similar(words, user_lines)
            names |= {"like the user's"} if near >= 0.4 else {"half like the user's"} if near >= 0.25 else set()
            near = _similar(words, others)
            names |= {"said twice"} if near >= 0.6 else {"nearly said twice"} if near >= 0.4 else set()
            names |= {"names user's thing"} if re.search(r"\byour?\b|你的|ваш", statement.text, re.I) else set()
            names |= {"about request"} if share >= 0.5 else {"near request"} if share >= 0.25 else set()
            names |= {"restated"} if len(words & elsewhere) / len(words) >= 0.7 else set()
            out.append(Unit(statement.text, turn, statement, frozenset(names), words))
    return out


def episodes(turns: Sequence[Turn], context: Sequence[Turn] = ()) -> list[Episode]:
    """The turns cut at each time that the user speaks. `context` only tells what the first one answers."""
    out: list[Episode] = []
    before = next((t for t in reversed(context) if t.kind is TurnKind.ASSISTANT), None)
    cut = bool(context) and context[-1].kind is TurnKind.INTERRUPT
    user: list[Turn] = []
    rest: list[Turn] = []

    def close() -> None:
        nonlocal before, cut, user, rest
        if user or rest:
            out.append(Episode(tuple(user), tuple(rest), before, cut, not out and not context))
            before = next((t for t in reversed(rest) if t.kind is TurnKind.ASSISTANT), before)
            cut = bool(rest) and rest[-1].kind is TurnKind.INTERRUPT
        user, rest = [], []

    for turn in turns:
        if turn.sidechain:
            continue
        if turn.kind is TurnKind.USER and rest:
            close()
        (user if turn.kind is TurnKind.USER else rest).append(turn)
    close()
    return out
