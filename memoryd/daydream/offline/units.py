"""Units: pieces of text that may become a memory, with the names of their cues."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from memoryd.core.text import containment, dice, keywords, one_line, shorten
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.offline import cues
from memoryd.daydream.offline.acts import is_rule, says_it_lasts
from memoryd.daydream.offline.sentences import Episode, Sentence, joined, plain, sentences, size, statements, without_code
from memoryd.daydream.offline.weights import AGENT_WEIGHTS, USER_WEIGHTS
from memoryd.language.cues import negations

# The user's choice, such as "option 2" or "the second one", resolved against the assistant's list. Pure functions.

_NAMES = {"first": "1", "second": "2", "third": "3", "fourth": "4", "a": "1", "b": "2", "c": "3", "d": "4"}
_PICK = re.compile(
    r"\b(?:options?|choice|approach|variante?|opci[oó]n|вариант)\s*#?(?P<number>\d|[a-d])\b|(?:选项|方案|选)\s*(?P<han>\d)"
    r"|\bthe (?P<ordinal>first|second|third|fourth) (?:one|option|approach)\b|^\s*(?P<bare>\d)(?=\s*[.,!]?\s*$|"
    r"\s+(?:please|does|is|sounds|looks|seems)\b)",
    re.I,
)
_DOUBTS = re.compile(
    r"\b(?:against|instead|rather|why|what|how|compare|difference|between|versus|vs)\b|\?|吗|为什么",
    re.I,
)
_DETAIL_CHARS = 220
# "(recommended)" in an option, and the "or" before the next option.
_TAIL = re.compile(
    r"\s{0,8}\((?:recommended|empfohlen|recommandé|recomendad[oa]|рекомендуется|推荐)\)|[,;]? (?:or|oder|ou|или)\W{0,40}$", re.I
)


def _refuses(text: str) -> bool:
    return negations(text) > 0 or _DOUBTS.search(text) is not None


def picked(text: str) -> str:
    """Return the number of the option chosen in a short message, or an empty string. Doubts and questions choose nothing."""
    match = _PICK.search(text)
    if not match or len(text) > 400 or _refuses(text[: match.end() + 60]):
        return ""
    found = next(value for value in match.groups() if value)
    return _NAMES.get(found.lower(), found)


def offered(text: str, number: str) -> str:
    """Return the title and first statement of the option in the assistant's text.

    Returns an empty string if there is no such list.
    """
    lines = without_code(text).splitlines()
    letter = chr(ord("a") + int(number) - 1) if number != "0" else "0"
    named = re.compile(
        rf"^[\W_]*(?:option|choice|approach|variante?|opci[oó]n|вариант|选项|方案)\s*(?:{number}|{letter})\s*(?:[:.)—–-]|"
        rf"\*\*|$)[\W_]*(?P<title>.*)$",
        re.I,
    )
    listed = re.compile(rf"^\s*(?:#+\s*)?(?:\*\*)?{number}[.)]\s*(?P<title>.+)$")
    for pattern, which in ((named, 0), (listed, -1)):
        places = [index for index, line in enumerate(lines) if pattern.match(line)]
        if places:
            return _with_detail(lines, places[which], pattern)
    return ""


def _with_detail(lines: list[str], index: int, pattern: re.Pattern[str]) -> str:
    match = pattern.match(lines[index])
    title = plain(match.group("title")).strip(" :-—") if match else ""
    below = statements("\n".join(lines[index + 1 : index + 8]))
    detail = below[0].text.rstrip(":") if below and len(title) < 80 and not below[0].text.endswith("?") else ""
    text = f"{title}. {detail}" if title and detail else title or detail
    return shorten(without_marks(text), _DETAIL_CHARS)


def without_marks(option: str) -> str:
    """Return an option's text without "(recommended)" and without the "or" that leads to the next option."""
    return _TAIL.sub("", option)


_ASKS_LEAVE = re.compile(
    r"\b(?:should|shall|may|can) (?:I|we)\b(?! (?:use|store|keep|support|name|call|put))|"
    r"\b(?:do|would) you (?:want|like) (?:me|us)\b|"
    r"\bready to\b|\bsoll ich\b|\bdois-je\b|\b(?:debo|quieres que)\b|\bмне (?:сделать|начать|продолжить)|"
    r"(?:需|想)?要我|我(?:可以|应该)",
    re.I,
)
_LEAVE = re.compile(
    r"^\W*(?:(?:yes|no|ok(?:ay)?|sure|skip|go ahead|proceed|continue|later|not now|cancel|stop|wait|ja|nein|oui|non|sí|"
    r"да|нет)\b|"
    r"是的?|好的?|可以|不用|继续|跳过)",
    re.I,
)


def only_permits(turn: Turn) -> bool:
    """Return whether an answer merely permits or refuses the current step."""
    return bool(_ASKS_LEAVE.search(turn.detail) and _LEAVE.match(turn.text))


def decided(turn: Turn) -> str:
    """Combine a question and its answer into one statement.

    If the answer is self-explanatory, only the question itself is kept before it.
    """
    question = one_line(turn.detail)
    asked = [part for part in sentences(question) if part.endswith(("?", "？"))]
    explained = ": " in turn.text and asked
    return one_line(f"{asked[0] if explained else question} {turn.text}")


# A choice with this many words beyond the option's name is self-explanatory.
EXPLAINED = 5


def is_choice(turn: Turn) -> bool:
    """Return whether the user chose a self-explanatory option of the assistant by name."""
    label, _, detail = turn.text.partition(": ")
    explained = len(detail.split()) >= EXPLAINED or len(detail) >= 4 * EXPLAINED
    return turn.via == "answer" and turn.offered and explained and not only_permits(turn) and not _LEAVE.match(label)


PASTE_CHARS = 900
# A first-person message up to this length counts as typed. Other pasted text has already been removed.
TALK_CHARS = 2_000
USER_JOIN, AGENT_JOIN = 36, 24
REPEATS_TOOL = 0.6
# Number of previous and following turns to search for repetitions. Limits the work for long stretches without the user.
NEAR_TURNS = 12
LONG_EPISODE = 15
# A message with more statements than this is a list or a quotation.
FEW_STATEMENTS = 6
# A shorter statement is rarely self-contained, unless it has a word for a wish, a reason or a time.
BARE_WORDS = 8
_SAYS_I = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|ich|je|yo|creo|vorrei|я)\b|我")
_LISTED = re.compile(r"^\s{0,8}(?:[-*+•#>|]|\d{1,3}[.)])\s", re.MULTILINE)
_FILLER = re.compile(
    r"^(?:(?:ok(?:ay)?|again|so|well|hmm+|u+m+|ah+|oh|please|pls|hey|hi|hello|also|and|but|then|now|thanks?|thank you|"
    r"alright|yeah?|yep|yes|sure|got it|(?:good|great|nice|fair) (?:idea|point|catch|call)|"
    # Before a noun, these words are part of a phrase, as in "good tests" and "right side".
    r"(?:great|cool|nice|perfect|good|right)(?=\s*(?:[,.!:;—]|-\s))|嗯|好的?|那|哦|啊|ну|так(?! же)|"
    r"ок)(?:[\s,.!:;—-]+|(?<=[嗯好那哦啊的])[，,。]?))+",
    re.IGNORECASE,
)
_LEANS = re.compile(
    r"^(?:this|that|it|these|those|they|so|but|which|both|and|also|otherwise|because|das|dies|cela|ça|esto|это)\b|^[这它但所]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A statement from one turn. `cues` are the names of its cues. `words` are its keywords, for comparisons.

    `before` is the assistant's text to which a user's statement responds.
    """

    text: str
    turn: Turn
    cues: frozenset[str] = frozenset()
    words: frozenset[str] = field(default=frozenset(), compare=False)
    before: str = field(default="", compare=False)

    @property
    def by_user(self) -> bool:
        """Whether the user made the statement."""
        return self.turn.kind is TurnKind.USER

    @property
    def pasted(self) -> bool:
        """Whether the turn's text is too long for the user to have typed it."""
        return "pasted" in self.cues


def is_talk(text: str) -> bool:
    """Return whether a long message was typed, which requires the first person and no list or heading."""
    return len(text) <= TALK_CHARS and bool(_SAYS_I.search(text)) and not _LISTED.search(text)


def user_statements(turn: Turn) -> list[Sentence]:
    """Return the statements in a user's message.

    Short neighbouring statements are joined. An answer is combined with its question.
    """
    if turn.via == "answer":
        return [] if only_permits(turn) else [Sentence(decided(turn))]
    parts = statements(turn.text)
    if len(turn.text) > PASTE_CHARS:
        return parts
    kept = [s for s in parts if not cues.USER_NOISE["permission"].fullmatch(s.text)]
    return joined(kept, lambda last, part: size(last.text) + size(part.text) <= USER_JOIN)


def agent_statements(turn: Turn) -> list[Sentence]:
    """Return the assistant's statements.

    A statement that refers to the previous one ("That …", "So …") is joined to it.
    """

    def leans(last: Sentence, part: Sentence) -> bool:
        near = last.position == part.position and size(last.text) + size(part.text) <= AGENT_JOIN
        return near and bool(_LEANS.match(part.text))

    return joined(statements(turn.text), leans)


def similarity(words: frozenset[str], others: Sequence[frozenset[str]]) -> float:
    """Return the highest token F1 (0 to 1) between this set of words and any of the others."""
    return max((dice(words, other) for other in others), default=0.0)


def _named(table: Mapping[str, re.Pattern[str]], text: str, prefix: str = "") -> set[str]:
    return {prefix + name for name, pattern in table.items() if pattern.search(text)}


def _length(text: str) -> set[str]:
    words = size(text)
    for name, top in (("tiny", 4), ("short", 8), ("medium", 16), ("good", 32)):
        if words <= top:
            return {f"length {name}"}
    return set()


def _bags(turns: Sequence[Turn]) -> list[frozenset[str]]:
    return [frozenset(keywords(t.text)) for t in turns]


def user_units(episode: Episode) -> list[Unit]:
    """Return the units of an episode's user turns."""
    replies = [t for t in episode.rest if t.kind is TurnKind.ASSISTANT]
    agreed = bool(replies and cues.AGREEMENT.search(replies[0].text[:80]))
    asked = bool(episode.before and cues.AGENT_NOISE["question"].search(episode.before.text[-300:]))
    echo = frozenset().union(*_bags(replies))
    out: list[Unit] = []
    for turn in episode.user:
        pasted = len(turn.text) > PASTE_CHARS
        about = ({"pasted"} if pasted else set()) | ({f"via {turn.via}"} if turn.via != "prompt" else set())
        about |= {"agreed"} if agreed and not pasted else set()
        about |= {"answers question"} if asked else set()
        about |= {"first message"} if episode.first else set()
        about |= {"after interrupt"} if episode.interrupted and turn is episode.user[0] else set()
        parts = _with_choice(turn, user_statements(turn), episode.before)
        about |= {"list"} if len(parts) > FEW_STATEMENTS else set()
        for index, statement in enumerate(parts):
            names = about | ({"starts turn"} if index == 0 else set()) | ({"alone"} if len(parts) == 1 else set())
            unit = _user_unit(turn, statement, names, echo)
            out.append(replace(unit, before=episode.before.text) if episode.before else unit)
    return out


def _with_choice(turn: Turn, parts: list[Sentence], before: Turn | None) -> list[Sentence]:
    """Add the text of the chosen option to the statement that chooses it."""
    number = picked(turn.text) if before and turn.via != "answer" else ""
    option = offered(before.text, number) if before and number else ""
    return [replace(s, text=f"{s.text}: {option}") if option and picked(s.text) else s for s in parts]


def _user_unit(turn: Turn, statement: Sentence, names: set[str], echo: frozenset[str]) -> Unit:
    text = _FILLER.sub("", statement.text)
    words = frozenset(keywords(text))
    names = names | _named(cues.USER_CUES, statement.text) | _named(cues.USER_NOISE, text, "noise ") | _length(text)
    names |= set() if cues.IDENTIFIER.search(text) else {"no identifier"}
    names |= {"bare"} if not names & set(cues.USER_CUES) and size(text) <= BARE_WORDS and turn.via != "answer" else set()
    if {"wish", "first message"} <= names and not is_rule(text):
        # A wish in the opening message is the current task.
        names = names - {"wish"} | {"noise task"}
    if "noise request" in names:
        names = names - {"wish"}
    if turn.via == "answer":
        # The question was asked by the assistant.
        names = names - {"noise question", "noise request", "noise task", "first message"}
    if 0.4 <= containment(words, echo) < 0.7:
        names |= {"half echoed"}
    return Unit(text, turn, frozenset(names), words)


def agent_units(episode: Episode) -> list[Unit]:
    """Return the units of an episode's assistant turns."""
    turns = [t for t in episode.rest if t.kind is TurnKind.ASSISTANT]
    typed = [t for t in episode.user or episode.asked if len(t.text) <= PASTE_CHARS]
    asked = frozenset().union(*_bags(typed))
    wishes = [frozenset(keywords(s.text)) for t in typed for s in user_statements(t)]
    tools = _bags([t for t in episode.rest if t.kind is TurnKind.TOOL_RESULT])
    bags = _bags(turns)
    lines = [[frozenset(keywords(s.text)) for s in statements(t.text)] for t in turns]
    out: list[Unit] = []
    for number, turn in enumerate(turns):
        near = [i for i in range(max(0, number - NEAR_TURNS), min(len(turns), number + NEAR_TURNS + 1)) if i != number]
        elsewhere = frozenset().union(*(bags[i] for i in near))
        context = _TurnContext(asked, wishes, elsewhere, [line for i in near for line in lines[i]])
        place = ({"middle"} if 0 < number < len(turns) - 1 else set()) | ({"opening"} if episode.first else set())
        place |= {"long episode"} if len(turns) >= LONG_EPISODE else set()
        for index, statement in enumerate(agent_statements(turn)):
            if says_it_lasts(statement.text) and _from_tool(statement, tools):
                continue
            names = place | ({"second sentence"} if index == 1 else set()) | ({"long turn"} if len(turn.text) > 1500 else set())
            out.append(_agent_unit(turn, statement, names, context))
    return [unit for unit in out if unit.words]


def _from_tool(statement: Sentence, tools: Sequence[frozenset[str]]) -> bool:
    """Return whether the assistant merely repeats a tool's output. Instructions in tool output are nobody's rule."""
    words = frozenset(keywords(statement.text))
    return any(containment(words, found) >= REPEATS_TOOL for found in tools)


@dataclass(frozen=True, slots=True)
class _TurnContext:
    """Keywords near an assistant turn: of the user's texts and of each statement in them, and the same for nearby turns."""

    asked: frozenset[str]
    wishes: Sequence[frozenset[str]]
    elsewhere: frozenset[str]
    lines: Sequence[frozenset[str]]


def _agent_unit(turn: Turn, statement: Sentence, names: set[str], context: _TurnContext) -> Unit:
    text = statement.text
    words = frozenset(keywords(text))
    names = names | ({"noise leans"} if _LEANS.match(text) else set())
    names = names | _named(cues.AGENT_CUES, text) | _named(cues.AGENT_NOISE, text, "noise ") | _length(text) | _shape(statement)
    names |= {"about request"} if containment(words, context.asked) >= 0.5 else set()
    names |= {"restated"} if containment(words, context.elsewhere) >= 0.7 else set()
    names |= {"like the user's"} if similarity(words, context.wishes) >= 0.4 else set()
    twice = similarity(words, context.lines)
    names |= {"said twice"} if twice >= 0.6 else {"nearly said twice"} if twice >= 0.4 else set()
    return Unit(text, turn, frozenset(names), words)


def _shape(statement: Sentence) -> set[str]:
    text, heading = statement.text, statement.heading
    found = min(3, len(set(cues.IDENTIFIER.findall(text))))
    names = {f"identifiers {found}"}
    names |= {"arrow"} if "→" in text or "->" in text or " = " in text else set()
    if heading:
        bad = cues.BAD_HEADING.search(heading)
        names.add("heading bad" if bad else "heading good" if cues.GOOD_HEADING.search(heading) else "heading")
    return names


# The value of a unit is the sum of its cues' weights. The weights come from logistic regression, so the sum is a log odds.

BIAS = "bias"


@dataclass(frozen=True, slots=True)
class CueWeights:
    """Weights of the cues as log odds, for statements of the user and of the assistant.

    `bias` is added for every statement.
    """

    user: Mapping[str, float]
    agent: Mapping[str, float]

    def of(self, unit: Unit) -> float:
        """Return the log odds that the unit is worth keeping. Unknown cues are ignored."""
        table = self.user if unit.by_user else self.agent
        return table.get(BIAS, 0.0) + sum(table.get(cue, 0.0) for cue in sorted(unit.cues))


DEFAULT = CueWeights(USER_WEIGHTS, AGENT_WEIGHTS)


def probability(log_odds: float) -> float:
    """Return the logistic function of the log odds, from 0 to 1."""
    return 1.0 / (1.0 + math.exp(-log_odds))
