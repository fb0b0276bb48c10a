"""Validate a model's answer strictly and link it to its evidence. Pure functions.

The model proposes wordings and line numbers. This module derives the speaker of each statement, and thus its authority, from the
cited turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import orjson

from memoryd.core.text import case_folded, containment, keywords, normalise, one_line, shorten, token_count
from memoryd.core.types import Candidate, Kind, MemoryItem, Passage, Polarity, Refused, Scope, Source, Status, Turn, TurnKind
from memoryd.daydream import proposed_checks
from memoryd.daydream.proposed_checks import WORD_END, WORD_START
from memoryd.daydream.quoted import asserted
from memoryd.daydream.quoted_signs import BARE_WORDS, META_WORDS, OPENERS, ORDER
from memoryd.guard.binding import BINDING_KINDS
from memoryd.guard.gloss import EASTERN, in_english
from memoryd.language import language, lexicon, read
from memoryd.language.stems import root, roots

# Pure functions that render a passage for a model. The known memories come first, then numbered turns. Tool output is
# cut first.

SPEAKER = {
    TurnKind.USER: "USER",
    TurnKind.ASSISTANT: "ASSISTANT",
    TurnKind.TOOL_USE: "STEP",
    TurnKind.TOOL_RESULT: "TOOL",
    TurnKind.INTERRUPT: "INTERRUPT",
    TurnKind.COMPACTION: "SUMMARY",
}
EVIDENCE_KINDS = frozenset({TurnKind.USER, TurnKind.ASSISTANT, TurnKind.TOOL_USE, TurnKind.TOOL_RESULT})
CONTEXT_CHARACTERS = 400
KNOWN_CHARACTERS = 240
CONTINUED = "\n    "
END_MARK = "This piece is the end of the session: write the handoff."
_TAG = re.compile(r"<(?=\s{0,8}/?\s{0,8}(?:session|known)\b)", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum characters per turn, by speaker."""

    user: int
    assistant: int
    tool: int


# Tried in order until the chunk fits. Tool output is cut first, and the user's text last.
STEPS = (
    Limits(8_000, 3_000, 500),
    Limits(8_000, 2_000, 200),
    Limits(6_000, 1_000, 80),
    Limits(4_000, 500, 0),
    Limits(1_500, 200, 0),
    Limits(500, 80, 0),
    Limits(120, 0, 0),
)


def middle_cut(text: str, limit: int) -> str:
    """Shorten a text to about `limit` characters by cutting out the middle.

    Errors and conclusions are often at the end, so both head and tail are kept.
    """
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    head = -(-limit * 2 // 3)
    return f"{text[:head].rstrip()} […] {text[len(text) - (limit - head) :].lstrip()}"


def render(passage: Passage, budget_tokens: int) -> str:
    """Render a passage as a message: known memories, the turns as data, and whether the session ends here."""
    parts = [f"<known>\n{_known(passage.known)}\n</known>"] if passage.known else []
    parts.append(f"<session>\n{render_turns(passage, budget_tokens)}\n</session>")
    return "\n".join([*parts, END_MARK] if passage.ends else parts)


def alias(position: int) -> str:
    """Return the alias for the known memory at this position (from 0) in the prompt. It is independent of the store's ids."""
    return f"m{position + 1}"


def _known(items: Sequence[MemoryItem]) -> str:
    lines = []
    for position, item in enumerate(items):
        mark = ", unconfirmed" if item.status is Status.CANDIDATE else ""
        said = shorten(_harmless(one_line(item.content)), KNOWN_CHARACTERS)
        lines.append(f"[{alias(position)}] {item.kind.value}{mark}: {said}")
    return "\n".join(lines)


def render_turns(passage: Passage, budget_tokens: int) -> str:
    """Render the turns, numbered from 1."""
    text = ""
    for limits in STEPS:
        text = "\n".join([*_context(passage.context), *_numbered(passage.turns, limits)])
        if token_count(text) <= budget_tokens:
            break
    return text


def _harmless(text: str) -> str:
    """Remove our own tags and control characters from a text."""
    return _TAG.sub("<\u200b", _CONTROL.sub(" ", text))


def _indented(text: str) -> str:
    """Indent all lines of a text except the first, so that they can't be mistaken for separate turns."""
    return CONTINUED.join(line.rstrip() for line in _harmless(text).splitlines())


def _context(turns: Sequence[Turn]) -> list[str]:
    return [
        f"earlier {SPEAKER[turn.kind]}: {middle_cut(_harmless(one_line(turn.text)), CONTEXT_CHARACTERS)}"
        for turn in turns
        if turn.text.strip() and turn.kind is not TurnKind.TOOL_RESULT
    ]


def _numbered(turns: Sequence[Turn], limits: Limits) -> list[str]:
    out = []
    for number, turn in enumerate(turns, 1):
        said = _indented(_said(turn, limits))
        if said or turn.kind is TurnKind.USER:
            out.append(f"[{number}] {_who(turn)}: {said}")
    return out


def _who(turn: Turn) -> str:
    speaker = "SUBAGENT" if turn.sidechain else SPEAKER[turn.kind]
    return f"{speaker} {turn.tool}{' FAILED' if turn.error else ''}".rstrip() if turn.tool else speaker


def _said(turn: Turn, limits: Limits) -> str:
    if turn.via == "answer" and turn.text.strip():
        return middle_cut(f"(asked: {one_line(turn.detail)}) {turn.text.strip()}", limits.user)
    if turn.kind in (TurnKind.USER, TurnKind.COMPACTION):
        return middle_cut(turn.text.strip(), limits.user)
    if turn.kind is TurnKind.ASSISTANT:
        return middle_cut(turn.text.strip(), limits.assistant)
    if turn.kind is TurnKind.TOOL_USE:
        return middle_cut(one_line(turn.detail or turn.text), limits.tool)
    return middle_cut(one_line(turn.text), limits.tool)


MAX_CONTENT = 600
MAX_CANDIDATES = 40
MAX_HANDOFF = 1_200
MAX_KEYS = 8
MAX_KEY_CHARS = 200
# Minimum share of a statement's keywords in its evidence. Paraphrases reach a third, fabrications almost nothing.
MIN_SUPPORT = 0.25
# Minimum share of a statement in the user's turns for it to count as the user's own words.
ESSENTIAL, USEFUL = 3, 2
SURE = 0.75
MIN_USER_SUPPORT = 0.5
# With a smaller share, the statement may still be the user's in other words or another language, but some of it must match.
MIN_REWORDED = 0.2
# A line of tool output that contains this share of a statement is its origin, unless the user said at least as much of it.
MIN_TOOL_SUPPORT = 0.6
LONGEST_READ = 24_000
MIN_STEM = 3

_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_ENTRY: dict[str, Any] = {
    "content": {"type": "string"},
    "kind": {"type": "string", "enum": [kind.value for kind in Kind]},
    "polarity": {"type": "string", "enum": [polarity.value for polarity in Polarity]},
    "scope": {"type": "string", "enum": [Scope.PROJECT.value, Scope.USER.value]},
    "evidence": {"type": "array", "items": {"type": "integer"}},
    "importance": {"type": "integer"},
    "confidence": {"type": "number"},
    "asked_as": _TEXTS,
    "repeats": _TEXTS,
    "replaces": _TEXTS,
    "closes": _TEXTS,
    "check": proposed_checks.SCHEMA,
}
# An endpoint that enforces the schema must return all keys. Other answers may omit these.
_OPTIONAL = frozenset({"asked_as", "repeats", "replaces", "closes", "check"})
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "candidates": {
            "type": "array",
            "items": {"type": "object", "properties": _ENTRY, "required": list(_ENTRY), "additionalProperties": False},
        },
        "handoff": {"type": "string"},
    },
    "required": ["candidates", "handoff"],
    "additionalProperties": False,
}
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_TOKEN = re.compile(r"[^\s\"'`“”‘’«»()\[\]{}<>,;!?。，；！？、（）]{1,200}")
_CLAUSE = re.compile(rf"[\n.!?;,。！？；，]+|\bbut\b|\bsondern\b|(?={proposed_checks.INSTEAD})")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:;。！？：；]\s{0,4}|\n\s{0,4})\W{0,4}\Z")


# Words that a reader may add. Names of things that can be chosen, such as tools, are not included.
_PLAIN_WORDS = (
    BARE_WORDS | META_WORDS | OPENERS | frozenset(f"{lexicon.SYNONYMS} {lexicon.LIGHT} {lexicon.WEAK}".replace("-", " ").split())
) - frozenset(lexicon.CHOICES.split())


# Common word endings in languages without a word list.
_INFLECTED = {
    "de": ("en", "ern", "eln", "st", "t", "e", "em", "er", "es", "ung", "heit", "keit", "lich", "ig", "isch"),
    "fr": ("er", "ez", "e", "es", "ent", "tion", "ment", "oir", "ir", "s"),
    "es": ("ar", "er", "ir", "a", "o", "as", "os", "es", "an", "en", "e"),
    "pt": ("ar", "er", "ir", "a", "o", "as", "os", "es", "am", "em", "e"),
}


class InvalidAnswerError(ValueError):
    """Raised when the answer violates the schema. The message says where."""


@dataclass(frozen=True, slots=True)
class ProposedMemory:
    """An entry in a valid answer.

    `evidence` contains turn numbers, starting at 1. `repeats`, `replaces` and `closes` are ids as given in the prompt. `check` is
    not validated.
    """

    content: str
    kind: Kind
    polarity: Polarity
    scope: Scope
    evidence: tuple[int, ...]
    importance: int
    confidence: float
    asked_as: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    closes: tuple[str, ...] = ()
    check: Any = ()


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A valid answer: the proposals, and a session summary for use as a handoff."""

    proposals: tuple[ProposedMemory, ...]
    handoff: str = ""


def without_fence(text: str) -> str:
    """Return an answer without the fence of a code block around it, which some models add to JSON."""
    fenced = _FENCE.match(text)
    return fenced[1] if fenced else text


def parse_answer(text: str) -> ModelAnswer:
    """Parse a model's answer. Raises InvalidAnswerError with the position of the error.

    Any unknown key makes the answer invalid, so that an invented format is not mistaken for an answer without proposals.
    """
    try:
        value = orjson.loads(without_fence(text))
    except orjson.JSONDecodeError as error:
        raise InvalidAnswerError(f"not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("candidates"), list):
        raise InvalidAnswerError('expected an object with the list "candidates"')
    if extra := value.keys() - {"candidates", "handoff"}:
        raise InvalidAnswerError(f"unknown keys {sorted(extra)}")
    if len(value["candidates"]) > MAX_CANDIDATES:
        raise InvalidAnswerError(f"more than {MAX_CANDIDATES} candidates")
    proposals = tuple(_proposal(entry, f"candidates[{i}]") for i, entry in enumerate(value["candidates"]))
    return ModelAnswer(proposals, _handoff(value.get("handoff") or ""))


def _handoff(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidAnswerError("handoff: expected a text")
    return shorten(one_line(value), MAX_HANDOFF)


def _proposal(entry: Any, where: str) -> ProposedMemory:
    if not isinstance(entry, dict):
        raise InvalidAnswerError(f"{where}: expected an object")
    missing, extra = _ENTRY.keys() - entry.keys() - _OPTIONAL, entry.keys() - _ENTRY.keys()
    if missing or extra:
        raise InvalidAnswerError(f"{where}: missing keys {sorted(missing)}, unknown keys {sorted(extra)}")
    return ProposedMemory(
        content=_content(entry["content"], where),
        kind=Kind(_one_of(entry, "kind", where)),
        polarity=Polarity(_one_of(entry, "polarity", where)),
        scope=Scope(_one_of(entry, "scope", where)),
        evidence=_evidence(entry["evidence"], where),
        importance=int(_number(entry, "importance", where, 1, 3)),
        confidence=_number(entry, "confidence", where, 0, 1),
        asked_as=_keys(entry, where),
        repeats=_texts(entry, "repeats", where),
        replaces=_texts(entry, "replaces", where),
        closes=_texts(entry, "closes", where),
        check=entry.get("check") or (),
    )


def _content(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidAnswerError(f"{where}.content: expected a sentence")
    if len(value) > MAX_CONTENT:
        raise InvalidAnswerError(f"{where}.content: longer than {MAX_CONTENT} characters")
    return one_line(value)


def _one_of(entry: Mapping[str, Any], key: str, where: str) -> str:
    if entry[key] not in _ENTRY[key]["enum"]:
        raise InvalidAnswerError(f"{where}.{key}: expected one of {', '.join(_ENTRY[key]['enum'])}")
    return str(entry[key])


def _evidence(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in value):
        raise InvalidAnswerError(f"{where}.evidence: expected a list of turn numbers")
    return tuple(dict.fromkeys(value))


def _texts(entry: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = entry.get(key) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidAnswerError(f"{where}.{key}: expected a list of texts")
    return tuple(dict.fromkeys(one_line(text) for text in value if text.strip()))


def _keys(entry: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Return the valid keys.

    Keys only help search and are not evidence, so invalid ones don't justify asking the model again.
    """
    return tuple(text for text in _texts(entry, "asked_as", where) if len(text) <= MAX_KEY_CHARS)[:MAX_KEYS]


def _number(entry: Mapping[str, Any], key: str, where: str, low: float, high: float) -> float:
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidAnswerError(f"{where}.{key}: expected a number from {low} to {high}")
    return float(value)


def support(content: str, evidence: str) -> float:
    """Return the share (0 to 1) of the content's keywords found in the evidence."""
    return containment(roots(content), roots(evidence))


def ground(proposals: Sequence[ProposedMemory], passage: Passage) -> tuple[list[Candidate], list[Refused]]:
    """Return the grounded candidates, in the order of their evidence, and the rejected ones.

    A candidate is grounded if its evidence exists and supports it.
    """
    kept: list[tuple[int, Candidate]] = []
    refused: list[Refused] = []
    known = {alias(position): item for position, item in enumerate(passage.known)}
    everything = " ".join([*(_words(turn) for turn in (*passage.context, *passage.turns)), *(i.content for i in passage.known)])
    for proposal in proposals:
        cited = [n for n in sorted(proposal.evidence) if _is_evidence(n, passage.turns)]
        turns = [passage.turns[n - 1] for n in cited]
        problem = _problem(proposal, turns, everything)
        if problem:
            first = turns[0] if turns else None
            said = (source_of(first), first.line, first.at) if first else (Source.AGENT_STEP, 0, None)
            refused.append(Refused(proposal.content, problem, *said))
        else:
            source = _source(proposal, turns, passage)
            kept.append((cited[0], _with_check(_candidate(proposal, turns, source, known), proposal.check, turns)))
    ordered = [candidate for _, candidate in sorted(kept, key=lambda pair: pair[0])]
    users = {normalise(candidate.content) for candidate in ordered if candidate.source is Source.USER}
    echoes = [one for one in ordered if one.source is not Source.USER and _echoes(one.content, users)]
    refused += [Refused(one.content, _ECHO, one.source, one.lines[0] if one.lines else 0, one.at) for one in echoes]
    return [candidate for candidate in ordered if candidate not in echoes], refused


# The same answer also attributes the sentence to the user. Keeping this copy would contradict or replace the user's statement.
_ECHO = "repeats the user's statement"
_TO_AVOID = "To avoid: "


def _echoes(content: str, said: Set[str]) -> bool:
    """Return whether another speaker's statement repeats, contains or advises against one of the user's."""
    bare = content.removeprefix(_TO_AVOID)
    return any(normalise(piece) in said for piece in (bare, *_PIECES.split(bare)) if piece.strip())


_PIECES = re.compile(r"(?<=[.!?。！？])\s+|\n|<[^<>\n]{1,60}>")


def _is_evidence(number: int, turns: Sequence[Turn]) -> bool:
    return 1 <= number <= len(turns) and turns[number - 1].kind in EVIDENCE_KINDS


def _words(turn: Turn) -> str:
    return f"{turn.text} {turn.detail}"


def _problem(proposal: ProposedMemory, turns: Sequence[Turn], everything: str) -> str:
    if not turns:
        return "no valid evidence"
    if support(proposal.content, " ".join(_words(turn) for turn in turns)) < MIN_SUPPORT:
        return "not supported by its evidence"
    if not all(re.search(rf"(?<!\d){re.escape(number)}(?!\d)", everything) for number in _NUMBER.findall(proposal.content)):
        return "contains a number that nobody mentioned"
    return ""


def source_of(turn: Turn) -> Source:
    """Return the speaker of a turn.

    Prompts of subagents and options chosen by the user count as the agent's words, not the user's.
    """
    if turn.kind is TurnKind.TOOL_RESULT:
        return Source.TOOL
    return Source.USER if turn.kind is TurnKind.USER and not turn.sidechain and not turn.offered else Source.AGENT_STEP


def _source(proposal: ProposedMemory, turns: Sequence[Turn], passage: Passage) -> Source:
    """Return the speaker of the statement.

    This is the user only if the user's turns contain the whole statement and no tool output matches better.
    """
    if is_users(proposal.content, proposal.polarity, turns, passage):
        return Source.USER
    if any(source_of(turn) is Source.AGENT_STEP and support(proposal.content, _words(turn)) >= MIN_SUPPORT for turn in turns):
        return Source.AGENT_STEP
    best = source_of(max(turns, key=lambda turn: support(proposal.content, _words(turn))))
    if best is Source.USER and _best_line(proposal.content, _tool_lines(passage)) >= MIN_TOOL_SUPPORT:
        return Source.TOOL
    return Source.AGENT_STEP if best is Source.USER else best


def is_users(content: str, polarity: Polarity, turns: Sequence[Turn], passage: Passage) -> bool:
    """Return whether the user's own turns contain the statement and nothing else in the passage matches better.

    Names, hosts, commands, flags, numbers and negations must all occur in them. Everything else may be in other
    words. The user's questions and suppositions don't count.
    """
    own = [turn for turn in turns if source_of(turn) is Source.USER]
    said = said_by_user(own)
    if not said or _lacks_a_name(content, said, _folder(passage)) or _lacks_a_negation(content, polarity, said):
        return False
    share = support(content, said)
    by_tool = _best_line(content, _tool_lines(passage))
    if by_tool >= MIN_TOOL_SUPPORT and by_tool > share:
        return False
    if _takes_a_word(content, f"{said} {_folder(passage)}", passage):
        return False
    return share >= MIN_USER_SUPPORT or _is_reworded(content, said, share, _said_before(own, passage))


def _takes_a_word(content: str, said: str, passage: Passage) -> bool:
    """Return whether the statement contains an uncommon word used by another speaker but not by the user."""
    code = language(content)
    missing = {root(word) for word in keywords(content) if _may_be_a_name(word, code)} - roots(said) - _plain_roots()
    heard = {_uninflected(word) for word in roots(said)}
    missing = {word for word in missing if _uninflected(word) not in heard}
    if not missing:
        return False
    return any(missing & roots(text) for turn in (*passage.context, *passage.turns) for text in _foreign_texts(turn))


def _uninflected(word: str) -> str:
    """Return a word without its English ending, so that "signed" and "logging" are the user's "sign" and "log"."""
    stem = _ENDING.sub("", word)
    return stem[:-1] if len(stem) > MIN_STEM and stem[-1] == stem[-2] else stem


_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|er|es|e|s)$")


@cache
def _plain_roots() -> frozenset[str]:
    return frozenset(map(root, _PLAIN_WORDS | _NOUNS | _RULE_WORDS))


# Words with which a rule is put into one sentence.
_RULE_WORDS = frozenset(
    "must may shall should can cannot stay stays remain keep kept allowed permitted edited modify modified update updated create"
    " created write written call called execute executed file files folder folders directory project repository code command"
    " commands instead rather because since hand manually package packages darf dürfen wird werden wurde soll sollen muss"
    " müssen kann können bleibt bleiben angefasst geändert bearbeitet ausgeführt verwendet verändert gelöscht erlaubt händisch"
    " statt sondern weil anything anyone anywhere nothing everything everyone everywhere".split()
)


def _may_be_a_name(word: str, code: str) -> bool:
    """Return whether a word of a statement may be a name.

    Names of tools are written in Latin letters.
    """
    if not word.isascii() or word in _PLAIN_WORDS:
        return False
    return code not in _INFLECTED or not word.endswith(_INFLECTED[code])


def _foreign_texts(turn: Turn) -> tuple[str, ...]:
    """Return the parts of a turn that are not the user's words.

    For an answer to a question, this is the question. Otherwise, it is the whole turn.
    """
    return (turn.detail[:LONGEST_READ],) if source_of(turn) is Source.USER else (_words(turn)[:LONGEST_READ],)


def _said_before(own: Sequence[Turn], passage: Passage) -> list[str]:
    """Return the agent's lines that the user had already seen."""
    last = max((n for n, turn in enumerate(passage.turns) if any(turn is one for one in own)), default=0)
    earlier = (*passage.context, *passage.turns[:last])
    return [line for turn in earlier if turn.kind is TurnKind.ASSISTANT for line in turn.text[:LONGEST_READ].splitlines()]


def _is_reworded(content: str, said: str, share: float, before: Sequence[str]) -> bool:
    """Return whether the user made the same statement in other words or another language.

    Only statements count, not questions.
    """
    if _best_line(content, before) > max(share, MIN_USER_SUPPORT):
        return False
    words, code = roots(content), language(content)
    for sentence in said.splitlines():
        shared = words & roots(sentence) if _is_instruction(sentence) else None
        if shared and (len(shared) >= MIN_REWORDED * len(words) or language(sentence) != code):
            return True
    return False


# "No sudo", "python: no print()", "ne modifie rien"
_NO = re.compile(
    r"\W{0,5}(?:[\w /]{1,30}: )?(?:no|non|ne|não|nao|nie|не|inte|ikke|niet) [\w`\"'.@!/-]",
    re.IGNORECASE,
)


def _is_instruction(sentence: str) -> bool:
    """Return whether a sentence says what to do or not to do, in any language that rules are read in."""
    return (
        ORDER.search(sentence) is not None
        or proposed_checks.keeps_away(sentence)
        or _NO.match(sentence) is not None
        or ORDER.search(in_english(sentence)) is not None
    )


def _folder(passage: Passage) -> str:
    """Return the name of the project's folder.

    A self-contained statement may add this name to the user's words.
    """
    return passage.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _lacks_a_name(content: str, said: str, folder: str) -> bool:
    """Return whether a name, host, path, command, flag or number in the statement is missing from the text."""
    heard, heard_roots = case_folded(f"{said} {folder}"), roots(f"{said} {folder}")
    for match in _TOKEN.finditer(content):
        token = match.group().rstrip(".:")
        parts = _LATIN.findall(token) if _EASTERN.search(token) else [token]
        if any(_is_exact(part) and not _is_heard(part, heard) for part in parts):
            return True
        if _EASTERN.search(token):
            continue  # Such a language writes names without spaces around them.
        begins = _SENTENCE_START.search(content, max(0, match.start() - 12), match.start())
        if _is_capitalised(token) and not begins and token.casefold() not in _NOUNS and not roots(token) <= heard_roots:
            return True
    return False


_LATIN = re.compile(r"[!-~]{1,200}")
_EASTERN = re.compile(f"[{EASTERN}]")
_NOUNS = frozenset(
    "projekt projekte projekts repository repo ordner datei dateien verzeichnis verzeichnisse befehl befehle aufruf aufrufe"
    " regel regeln hand händen änderung änderungen inhalt inhalte code quellcode build test tests commit commits branch"
    " branches nachricht nachrichten werkzeug bibliothek bibliotheken paket pakete abhängigkeit abhängigkeiten installation"
    " formatierung stelle nutzer".split()
)
"""German nouns of every project. They are written with a capital without being names."""


def _is_heard(name: str, heard: str) -> bool:
    singular = name[:-1] if re.fullmatch("[A-Z]{2,6}s", name) else name  # "PRs"
    return _has_word(heard, case_folded(name)) or _has_word(heard, case_folded(singular)) or _is_sibling(name, heard)


def _is_sibling(token: str, heard: str) -> bool:
    """Return whether a name such as console.warn was said as in "console.error / warn"."""
    found = re.fullmatch(r"([A-Za-z_]\w{1,40})\.([a-z]\w{1,40})", token)
    if found is None:
        return False
    parent, name = case_folded(found[1]), case_folded(found[2])
    return re.search(rf"(?<!\w){parent}\.\w{{1,40}}\s?{_AND}\s?{name}(?!\w)", heard) is not None


_AND = r"(?:/|,|and|or|und|oder)"


def _is_exact(token: str) -> bool:
    """Return whether a token must match literally because it contains a digit, a code character or inner capitals."""
    return (
        any(sign.isdigit() for sign in token)
        or re.search(r"\w[./_@:\\=]\w|\A-{1,2}\w|\A[~/.]{1,3}\w", token) is not None
        or any(sign.isupper() for sign in token[1:])
    )


def _is_capitalised(token: str) -> bool:
    return len(token) > 1 and token[0].isupper()


def _has_word(text: str, word: str) -> bool:
    """Return whether a text has a whole word. Languages without spaces may go on directly after a Latin one."""
    return re.search(rf"{WORD_START}{re.escape(word)}{WORD_END}", text) is not None


def _lacks_a_negation(content: str, polarity: Polarity, said: str) -> bool:
    """Return whether exactly one of the statement and the user's sentence prohibits or negates something."""
    clauses = [clause for clause in _CLAUSE.split(said) if clause.strip()]
    best = max(clauses, key=lambda clause: support(content, clause), default="")
    if polarity is Polarity.DONT or proposed_checks.denies(content):
        if polarity is not Polarity.DONT and not _denies_itself(content) and _denies_itself(best):
            return True  # "Merge without a review" is the opposite of "don't merge without a review".
        # Check each line, because the language may change within a session.
        lines = said.splitlines()
        if any(proposed_checks.denies(line) for line in lines):
            return False
        return not (_EXCEPTS.search(content) and any(_RESTRICTS.search(line) for line in lines))
    if _RESTRICTS.search(content) or _WITHOUT.search(best) and _denies_itself(best):
        return False  # "Only via X" forbids something, too, and "run Y before X" means "never X without Y".
    return proposed_checks.denies(best) and support(content, best) == support(content, said)


def _denies_itself(text: str) -> bool:
    """Return whether a text negates more than what it does without."""
    return proposed_checks.denies(_WITHOUT.sub(" ", text))


_WITHOUT = re.compile(r"(?<![\w-])(?:without|ohne|sin|sans|sem|senza|zonder|bez|без|utan|uden)(?![\w-])", re.IGNORECASE)
# What a prohibition that follows from "only" leaves: "never anything but X", "not outside X".
_EXCEPTS = re.compile(
    r"\b(?:only|other|others|but|except|else|elsewhere|outside|instead|directly|nur|außer|andere\w?|sonst|außerhalb)\b",
    re.IGNORECASE,
)
_RESTRICTS = re.compile(
    r"(?<![\w-])(?:only|exclusively|solely|nur|ausschließlich|solo|sólo|seulement|uniquement|somente|soltanto|только)(?![\w-])",
    re.IGNORECASE,
)


def _tool_lines(passage: Passage) -> list[str]:
    results = (turn for turn in (*passage.context, *passage.turns) if turn.kind is TurnKind.TOOL_RESULT)
    return [line for turn in results for line in turn.text[:LONGEST_READ].splitlines() if line.strip()]


def _best_line(content: str, lines: Sequence[str]) -> float:
    return max((support(content, line) for line in lines), default=0.0)


def initial_status(importance: int, confidence: float, source: Source, refers: bool = False) -> Status:
    """Return the initial status of a model's statement: active, or a candidate found only in searches.

    In a blind review (docs/quality.md), these shares were worth keeping: 94 % of statements that a model rated
    essential (3), 74 % of those rated useful (2) with confidence, 51 % of other useful ones, and 38 % of minor ones.
    The user's own statements are never held back. Neither are statements that replace, close or confirm a known
    memory (`refers`), because the outdated memory would otherwise remain.
    """
    sure = importance >= ESSENTIAL or (importance >= USEFUL and confidence >= SURE)
    return Status.ACTIVE if sure or refers or source is Source.USER else Status.CANDIDATE


def _candidate(proposal: ProposedMemory, turns: Sequence[Turn], source: Source, known: Mapping[str, MemoryItem]) -> Candidate:
    def ids(named: Sequence[str]) -> tuple[str, ...]:
        return tuple(known[name].id for name in (name.strip("[] ") for name in named) if name in known)

    refers = any(map(ids, (proposal.repeats, proposal.replaces, proposal.closes)))
    return restrain(
        Candidate(
            content=proposal.content,
            status=initial_status(proposal.importance, proposal.confidence, source, refers),
            kind=proposal.kind,
            polarity=proposal.polarity,
            source=source,
            confidence=proposal.confidence,
            importance=proposal.importance,
            lines=tuple(dict.fromkeys(turn.line for turn in turns if turn.line)),
            uuids=tuple(dict.fromkeys(turn.uuid for turn in turns if turn.uuid)),
            scope=proposal.scope,
            at=max((turn.at for turn in turns if turn.at), default=None),
            asked_as=proposal.asked_as,
            repeats=ids(proposal.repeats),
            replaces=ids(proposal.replaces),
            closes=ids(proposal.closes),
        )
    )


def _with_check(candidate: Candidate, proposed: Any, turns: Sequence[Turn]) -> Candidate:
    if not proposed or candidate.source is not Source.USER or candidate.kind not in BINDING_KINDS:
        return candidate
    return replace(candidate, check=proposed_checks.accepted(proposed, candidate.content, said_by_user(turns)))


def said_by_user(turns: Sequence[Turn]) -> str:
    """Return what the user asserts in these turns, without quotes, questions and suppositions."""
    return asserted("\n".join(turn.text for turn in turns if source_of(turn) is Source.USER)[:LONGEST_READ])


def restrain(candidate: Candidate) -> Candidate:
    """Restrict a candidate that does not come from the user.

    Only the user can make rules, so rules from others become facts. Tool output never gives instructions.
    """
    if candidate.source is Source.USER:
        return candidate
    changes: dict[str, Any] = {"check": None} if candidate.check else {}
    if candidate.kind in (Kind.RULE, Kind.PREFERENCE):
        changes |= {"kind": Kind.FACT, "polarity": Polarity.KNOW}
    if candidate.source is Source.TOOL:
        changes["polarity"] = Polarity.KNOW
    if changes and candidate.polarity is Polarity.DONT and not read(candidate.content).negations:
        # Under the heading "don't", the text "use emojis" would mean the opposite.
        changes["content"] = f"{_TO_AVOID}{candidate.content}"
    if candidate.scope is Scope.USER:
        changes["scope"] = Scope.PROJECT
    return replace(candidate, **changes)
