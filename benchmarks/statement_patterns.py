"""Make pairs of statements from the patterns in benchmarks/data/statement_patterns.txt.

A pattern is an attribute of some subjects: its values, and how a statement about it is worded, changed, refined or
denied. Two wordings of one value are the same, another value replaces the first, another subject or attribute makes a
different statement. Some texts are lower-cased like a user's, or lose their little words like a word-by-word translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

FILE = Path(__file__).with_name("data") / "statement_patterns.txt"
PLACES = (
    *("in production", "in staging", "on macOS", "on Linux", "in the EU region", "in the US region"),
    *("for free accounts", "for paid accounts", "on the ARM build", "in the test environment"),
)
PLACED = frozenset({"service", "repo", "job", "flag"})
# Classes in which a change of one attribute can end a statement about another one: what is done has no deadline any more.
LINKED = frozenset({"rule", "todo", "flag", "cause"})
# How often a statement about something else reports a change. Otherwise any report of a change would seem to end any statement.
REPORTS_CHANGE = 0.5
LITTLE = frozenset(
    """the a an is are was were be been of to in on at for by with has have had do does did it its that this as will would can
    may must should i we you they""".split()
)
SHARES = {"same": 24, "replaces": 26, "refines": 14, "different": 26, "contradicts": 10}
DENIED_SHARES = {"same": 20, "replaces": 0, "refines": 14, "different": 26, "contradicts": 40}


@dataclass(frozen=True)
class Attribute:
    """One block of the file."""

    kind: str
    name: str
    subjects: list[str]
    values: list[str] = field(default_factory=lambda: [""])
    texts: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    denials: list[str] = field(default_factory=list)

    @property
    def lasting(self) -> bool:
        """Return whether two values can't follow each other, so that they contradict each other."""
        return self.kind == "fact" or self.name == "root"


@dataclass(frozen=True)
class Made:
    """A pair made from patterns."""

    relation: str
    old: str
    new: str


FIELDS = {"v": "values", "t": "texts", "c": "changes", "d": "details", "n": "denials"}


def load() -> list[Attribute]:
    out: list[Attribute] = []
    kind, subjects = "", [""]
    for line in FILE.read_text("utf-8").splitlines():
        key, _, rest = line.partition(" ")
        if key == "==":
            kind = rest
        elif key == "s:":
            subjects = rest.split("|")
        elif key == "--":
            out.append(Attribute(kind, rest, subjects))
        elif key[:1] in FIELDS and key[1:] == ":":
            getattr(out[-1], FIELDS[key[0]])[:] = rest.split("|")
    return out


def pairs(count: int, seed: int = 3) -> list[Made]:
    """Make this many different pairs."""
    random, attributes = Random(seed), load()
    out: dict[tuple[str, str], Made] = {}
    while len(out) < count:
        made = _pair(random, attributes)
        if made is not None and made.old != made.new:
            out[made.old, made.new] = made
    return list(out.values())


def _pair(random: Random, attributes: Sequence[Attribute]) -> Made | None:
    one = random.choice(attributes)
    shares = DENIED_SHARES if one.denials else SHARES
    relation = random.choices(list(shares), list(shares.values()))[0]
    maker = {"same": _same, "replaces": _replaced, "refines": _refined, "contradicts": _contradicted}.get(relation)
    made = maker(random, one) if maker else _different(random, one, attributes)
    return None if made is None else _styled(random, _placed(random, made, one))


def _same(random: Random, one: Attribute) -> Made:
    subject, value = random.choice(one.subjects), random.choice(one.values)
    old = ""
    texts = one.texts
    if len(one.denials) > 1 and random.random() < 0.15:
        texts = one.denials
    elif len(one.changes) > 1 and len(one.values) > 1 and random.random() < 0.12:
        texts, old = one.changes, _other(random, one.values, value)
    first, second = random.sample(texts, 2)
    return Made("same", say(first, subject, value, old), say(second, subject, value, old))


def _replaced(random: Random, one: Attribute) -> Made | None:
    subject, value = random.choice(one.subjects), random.choice(one.values)
    old = say(random.choice(one.texts), subject, value)
    if len(one.values) == 1:
        if not one.changes:
            return None
        new = say(random.choice(one.changes), subject)
        return Made("replaces", new, old) if random.random() < 0.2 else Made("replaces", old, new)
    later = _other(random, one.values, value)
    if one.changes and random.random() < 0.5:
        return Made("replaces", old, say(random.choice(one.changes), subject, later, value))
    relation = "contradicts" if one.lasting else "replaces" if one.changes else "different"
    return Made(relation, old, say(random.choice(one.texts), subject, later))


def _refined(random: Random, one: Attribute) -> Made | None:
    if not one.details:
        return None
    subject, value, detail = random.choice(one.subjects), random.choice(one.values), random.choice(one.details)
    first, second = random.choice(one.texts), random.choice(one.texts)
    text = say(second, subject, value).rstrip(".")
    return Made("refines", say(first, subject, value), f"{text}. {detail}" if detail[0].isupper() else f"{text}, {detail}.")


def _contradicted(random: Random, one: Attribute) -> Made | None:
    subject, value = random.choice(one.subjects), random.choice(one.values)
    old = say(random.choice(one.texts), subject, value)
    if one.denials:
        new = say(random.choice(one.denials), subject)
        return Made("contradicts", new, old) if random.random() < 0.5 else Made("contradicts", old, new)
    if not one.lasting or len(one.values) == 1:
        return None
    return Made("contradicts", old, say(random.choice(one.texts), subject, _other(random, one.values, value)))


def _different(random: Random, one: Attribute, attributes: Sequence[Attribute]) -> Made:
    subject, value, choice = random.choice(one.subjects), random.choice(one.values), random.random()
    first = random.choice(one.texts)
    old = say(first, subject, value)
    if choice < 0.45:
        another = _other(random, one.subjects, subject)
        if one.changes and random.random() < REPORTS_CHANGE:
            return Made("different", old, _changed(random, one, another, value))
        new = say(random.choice([first, random.choice(one.texts)]), another, random.choice([value, *one.values]))
        return Made("different", old, new)
    same_class = choice < 0.9
    other = random.choice([each for each in attributes if each.name != one.name and (each.kind == one.kind) == same_class])
    about = subject if same_class else random.choice(other.subjects)
    if other.changes and not (same_class and one.kind in LINKED) and random.random() < REPORTS_CHANGE:
        return Made("different", old, _changed(random, other, about))
    return Made("different", old, say(random.choice(other.texts), about, random.choice(other.values)))


def _changed(random: Random, one: Attribute, subject: str, old: str = "") -> str:
    """Return the report of a change of an attribute, from `old` if it is one of its values."""
    before = old if old in one.values else random.choice(one.values)
    value = _other(random, one.values, before) if len(one.values) > 1 else ""
    return say(random.choice(one.changes), subject, value, before)


def _placed(random: Random, made: Made, one: Attribute) -> Made:
    """Add a place to both statements. In another place the statement is another one."""
    if one.kind not in PLACED or made.relation == "contradicts" or random.random() > 0.1:
        return made
    here = random.choice(PLACES)
    there, relation = here, made.relation
    if random.random() < 0.35:
        others = [place for place in PLACES if place[:3] == here[:3] and place != here]
        there, relation = random.choice(others or [here]), "different"
    if there == here and relation != made.relation:
        return made
    old = f"{capital(here)} {made.old[:1].lower()}{made.old[1:]}"
    return Made(relation, old, f"{made.new.rstrip('.')} {there}" + ("." if made.new.endswith(".") else ""))


def _styled(random: Random, made: Made) -> Made:
    old, new = (_casual(text) if random.random() < 0.25 else text for text in (made.old, made.new))
    both = random.random() < 0.12
    old, new = (without_little_words(random, text) if both or random.random() < 0.04 else text for text in (old, new))
    return Made(made.relation, old, new)


def _casual(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def without_little_words(random: Random, text: str) -> str:
    """Return the text without most of its little words, similar to the gloss of a text in another language."""
    words = [word for word in text.rstrip(".").split() if word.lower().strip(",") not in LITTLE or random.random() < 0.2]
    return " ".join(words).lower() if len(words) >= 3 else text


def say(text: str, subject: str, value: str = "", old: str = "") -> str:
    """Fill in a text. A sentence starts with a capital letter."""
    out = text.replace("{S}", capital(subject)).replace("{s}", subject).replace("{v}", value).replace("{o}", old)
    return capital(out) if out.endswith(".") else out


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _other(random: Random, among: Sequence[str], one: str) -> str:
    return random.choice([each for each in among if each != one])
