"""PrecisionMemBench: 35 beliefs of a user, and queries that must retrieve exactly the relevant ones.

The official data are three files in `fixtures/`: beliefs.seed.json, retrieval.cases.json and
session-retrieval.cases.json. A single file with `beliefs`, `cases` and `session_cases` is also accepted. Each belief
becomes a session with a single turn. The text is the same as in the harness (name, aliases, content, why it matters).
If the option `part` is `single`, the single-turn cases are used, with a separate scope per user. If it is `session`,
the turns of the sessions are used, each in a scope with the seed and the additions of earlier turns. An updated
belief is added again with its new text, as the harness does for systems without updates.

The harness itself always supplies the persona's text, so it isn't requested here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session
from memeval.benchmarks.reading import Field, load_json
from memeval.core.errors import ConfigError, DataError
from memeval.core.precisionmembench import Demands, Frame, to_json
from memeval.core.types import Case, Question, Session

FILES = {"beliefs": "beliefs.seed.json", "cases": "retrieval.cases.json", "session_cases": "session-retrieval.cases.json"}
USER = "test-user"
"""The user of cases that don't specify one."""
SESSION_CATEGORY = "Session-level noise isolation"
PARTS = ("single", "session")
Parts = tuple[str, tuple[str, ...], str, str]
"""The components of a belief's text: name, aliases, content and why it matters."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A belief from the seed, or one added by a turn of a session."""

    id: str
    user: str
    kind: str
    text: str
    parts: Parts
    scope: tuple[str, ...]
    pinned: bool
    closed: bool
    resolved: bool
    participants: tuple[str, ...] = ()


@dataclass(slots=True)
class _Seed:
    """The beliefs in order of first appearance, and the sequence in which they are sent. An updated belief occurs in it again."""

    beliefs: dict[str, Belief] = field(default_factory=dict)
    sent: list[Belief] = field(default_factory=list)

    def add(self, belief: Belief) -> None:
        self.beliefs[belief.id] = belief
        self.sent.append(belief)


@registry.benchmark_loader("precisionmembench")
class PrecisionMemBench(FileBenchmark):
    """Reads the folder that contains the three files, a folder above it, or a single file with all data."""

    OPTIONS = {"part": "single"}

    def files(self) -> list[Path]:
        """Return the three files or the single file. Other files in a clone, such as reports, are ignored."""
        if self.source.is_file():
            return [self.source]
        found = [sorted(self.source.rglob(name)) for name in FILES.values()]
        for name, paths in zip(FILES.values(), found, strict=True):
            if len(paths) != 1:
                raise DataError(
                    f"{self.source} contains {len(paths)} files named {name} instead of one.",
                    fix="Give the folder fixtures/ of the repository.",
                )
        return [paths[0] for paths in found]

    def _cases(self) -> Iterator[Case]:
        if self.options["part"] not in PARTS:
            where = self.spec.origin.where("options.part")
            raise ConfigError(f"{where} is {self.options['part']!r}.", fix=f"Known: {', '.join(PARTS)}.")
        parts = self._parts()
        seed = _Seed()
        for item in parts["beliefs"].items():
            seed.add(_belief(item))
        if self.options["part"] == "single":
            yield from self._single(seed, parts["cases"])
        else:
            yield from self._sessions(seed, parts["session_cases"])

    def _parts(self) -> Mapping[str, Field]:
        files = self.files()
        if len(files) == 1:
            whole = Field(load_json(files[0]), str(files[0]), "1")
            return {name: whole[name] for name in FILES}
        return {name: Field(load_json(path), str(path), "1") for name, path in zip(FILES, files, strict=True)}

    def _single(self, seed: _Seed, cases: Field) -> Iterator[Case]:
        by_user: dict[str, list[Field]] = {}
        for item in cases.items():
            by_user.setdefault(_user(item), []).append(item)
        for user, items in by_user.items():
            sessions, names = _sessions_of(seed.sent, user)
            questions = (self._question(item, item["caseId"].filled(), "query", seed, user, names) for item in items)
            yield Case(user, sessions, tuple(questions))

    def _sessions(self, seed: _Seed, cases: Field) -> Iterator[Case]:
        """Yield a scope for each turn. The additions of a turn are visible to all later turns, even in other sessions."""
        for item in cases.items():
            name = item["caseId"].filled()
            for turn in item["turns"].items():
                sessions, names = _sessions_of(seed.sent, USER)
                label = f"{name}:{turn['turnIndex'].integer()}"
                question = self._question(turn, label, "userMessage", seed, USER, names)
                yield Case(label, sessions, (question,), {"cluster": name})
                _apply(turn, seed)

    def _question(self, item: Field, name: str, text: str, seed: _Seed, user: str, names: Mapping[str, str]) -> Question:
        session = text == "userMessage"
        scope = _texts(item["scope"])
        demands = _demands(item["expect"], [b.id for b in seed.beliefs.values() if b.pinned and b.user == user])
        frame = _frame(seed.beliefs.values(), user, scope, names, item["budget"])
        category = SESSION_CATEGORY if session else item["category"].filled()
        places: dict[str, list[str]] = {}
        for turn, belief in names.items():
            places.setdefault(belief, []).append(turn)
        turns = tuple(turn for belief in demands.gold for turn in places.get(belief, ()))
        return Question(
            id=name,
            text=item[text].text(),
            type=self.type_of(item["category"], category),
            evidence_sessions=tuple(turn.partition(":")[0] for turn in turns),
            evidence_turns=turns,
            category=category,
            metadata={"precisionmembench": {"session": session, "frame": to_json(frame), "demands": to_json(demands)}},
        )


def read_demands(cases: Sequence[Field], pinned: Sequence[str]) -> dict[str, Demands]:
    """Return the demands of single-turn cases by id, or those of session turns by `id:turn`.

    Used to rescore published reports.
    """
    out: dict[str, Demands] = {}
    for item in cases:
        name = item["caseId"].filled()
        if item["turns"].present:
            for turn in item["turns"].items():
                out[f"{name}:{turn['turnIndex'].integer()}"] = _demands(turn["expect"], pinned)
        else:
            out[name] = _demands(item["expect"], pinned)
    return out


def _user(item: Field) -> str:
    return item["userId"].filled() if item["userId"].present else USER


def _belief(item: Field) -> Belief:
    aliases = _texts(item["aliases"]) if item["aliases"].present else ()
    why = item["why_it_matters"].text() if item["why_it_matters"].present else ""
    parts = (item["canonical_name"].filled(), aliases, item["content"].filled(), why)
    return Belief(
        id=item["_id"].filled(),
        user=item["user_id"].filled(),
        kind=item["type"].filled(),
        text=_joined(parts),
        parts=parts,
        scope=_texts(item["scope"]),
        pinned=item["pinned"].value is True,
        closed=item["superseded_by"].present or item["resolved_at"].present,
        resolved=item["resolved_at"].present,
        participants=_texts(item["participants"]) if item["participants"].present else (),
    )


def _joined(parts: Parts) -> str:
    name, aliases, content, why = parts
    return " ".join(part for part in (name, *aliases, content, why) if part)


def _texts(field: Field) -> tuple[str, ...]:
    return tuple(item.text() for item in field.items())


def _sessions_of(sent: Sequence[Belief], user: str) -> tuple[tuple[Session, ...], dict[str, str]]:
    """Convert the beliefs sent for a user to sessions. Also return the belief of each turn."""
    own = [belief for belief in sent if belief.user == user]
    sessions = tuple(build_session(n, [RawTurn("user", b.text)], source_id=b.id) for n, b in enumerate(own, start=1))
    return sessions, {session.turns[0].id: session.source_id for session in sessions}


def _apply(turn: Field, seed: _Seed) -> None:
    """Apply the additions and updates of a turn. The official harness only updates aliases."""
    if turn["createBeliefAtTurn"].present:
        seed.add(_belief(turn["createBeliefAtTurn"]))
    update = turn["updateBeliefAtTurn"]
    if update.present and update["addAliases"].present:
        old = seed.beliefs.get(update["beliefId"].filled())
        if old is not None:
            name, aliases, content, why = old.parts
            new = (alias.strip().lower() for alias in _texts(update["addAliases"]))
            parts = (name, tuple(dict.fromkeys((*aliases, *new))), content, why)
            seed.add(replace(old, text=_joined(parts), parts=parts))


def _frame(beliefs: Iterable[Belief], user: str, scope: Sequence[str], names: Mapping[str, str], budget: Field) -> Frame:
    own = [belief for belief in beliefs if belief.user == user]
    here = [belief for belief in own if not set(scope).isdisjoint(belief.scope)]
    visible = {belief.id for belief in here}
    limits = {}
    for key, name in (("maxBeliefs", "max_beliefs"), ("maxQuestions", "max_questions")):
        if budget.present and budget[key].present:
            limits[name] = budget[key].integer()
    return Frame(
        names=names,
        pinned=tuple(b.id for b in here if b.pinned and b.kind != "open_question" and not b.closed),
        questions=tuple(b.id for b in here if b.pinned and b.kind == "open_question" and not b.resolved),
        relations={
            b.id: tuple(name for name in b.participants if name in visible)
            for b in own
            if b.kind == "relation" and b.participants
        },
        **limits,
    )


_DEMANDS = (
    ("relevantBeliefs", "mustInclude", "must_include"),
    ("relevantBeliefs", "mustExclude", "must_exclude"),
    ("relevantBeliefs", "shouldInclude", "should_include"),
    ("relevantBeliefs", "shouldOnlyInclude", "only"),
    ("pinnedFacts", "mustInclude", "pinned_include"),
    ("pinnedFacts", "mustExclude", "pinned_exclude"),
    ("openQuestions", "mustInclude", "questions_include"),
    ("openQuestions", "mustExclude", "questions_exclude"),
    ("noiseCheck", "mustNotSurface", "noise"),
)


def _demands(expect: Field, pinned: Sequence[str]) -> Demands:
    given: dict[str, Any] = {"seed_pinned": tuple(pinned)}
    for part, key, name in _DEMANDS:
        if expect[part].present and expect[part][key].present:
            given[name] = _texts(expect[part][key])
    beliefs = expect["relevantBeliefs"]
    if beliefs.present:
        for key, name in (("maxCount", "max_count"), ("minCount", "min_count")):
            if beliefs[key].present:
                given[name] = beliefs[key].integer()
        if beliefs["orderedBefore"].present:
            given["ordered"] = tuple(_pair(pair) for pair in beliefs["orderedBefore"].items())
    return Demands(**given)


def _pair(field: Field) -> tuple[str, str]:
    items = _texts(field)
    if len(items) != 2:
        raise field.error("two ids")
    return items[0], items[1]
