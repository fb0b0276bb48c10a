"""Working memory: a single page about the user.

The page starts as a template and is returned as a whole. A model rewrites it after each session. Without a model, sentences in
which users talk about themselves are filed under the template line with the most shared words, and the newest sentences are
kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from memeval import registry
from memeval.core.text import content_stems, sentences, stem
from memeval.core.types import Retrieved, SearchRequest, Session, Turn
from memeval.providers.local import ModelAided, Options, ask, sqlite_notes
from memeval.providers.retrieval import cut

TEMPLATE = """\
# About the user
- Name and identity (name, age, called, born):
- Home and places (live, living, moved, home, city, country, apartment, house):
- Work and study (work, job, boss, company, project, study, school, university, degree, career):
- People (wife, husband, partner, mother, father, sister, brother, friend, son, daughter, kids, dog, cat):
- Likes and dislikes (like, love, prefer, favorite, enjoy, hate, dislike, allergic):
- Health (doctor, health, diet, sleep, exercise, pain, injury):
- Belongings and money (bought, own, car, bike, phone, paid, cost, price):
- Plans (plan, planning, going, want, hope, next, will):
- Events (went, visited, attended, started, finished, met, yesterday, last, trip, party):
- Other:
"""
INSTRUCTION = (
    "You keep one page of notes about the people in a conversation. You get the page so far and a new session. Answer with the "
    "whole new page: keep its headings, add what is lasting with its date, correct what changed, invent nothing."
)
_FIRST_PERSON = re.compile(r"\b(i|i'm|i've|i'd|i'll|my|me|we|our)\b", re.I)
_LINE = re.compile(r"^- (?P<label>[^(:]+?)\s*(?:\((?P<cues>[^)]*)\))?:\s*$")
_LONGEST = 300


@registry.provider("working-memory")
class WorkingMemoryProvider(ModelAided):
    """A provider that keeps a page about the user.

    The options are `template` (Markdown with lines such as `- Label (cue, words):`), `perLine` (the number of entries to keep
    per line) and `model`.
    """

    def configure(self, options: Options) -> None:
        """Read the options."""
        super().configure(options)
        self._template = options.text("template", TEMPLATE)
        self._per_line = options.count("perLine", 12, least=1)

    def index_fresh(self, scope: str, sessions: Sequence[Session]) -> None:
        """Update the page with these sessions if there is a model."""
        if self.model is not None and sessions:
            self._written(scope, self.store.all(scope), {session.id for session in sessions})

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return the page as one passage."""
        sessions = self.store.all(scope)
        if not sessions:
            return []
        if self.model is not None:
            return [Retrieved(self._written(scope, sessions), 1.0)]
        return self._filed(sessions)

    def _written(self, scope: str, sessions: Sequence[Session], fresh: Collection[str] = ()) -> str:
        """Return the page after the last session. Earlier versions are stored so that a killed run can resume."""
        pieces = cut(sessions, "session")
        texts = {piece.session: piece.text for piece in pieces}
        before = dict(zip(texts, ["", *texts], strict=False))

        def ask_for(session: str, pages: Mapping[str, Any]) -> str:
            assert self.model is not None
            page = pages.get(before[session], self._template)
            return ask(self.model, INSTRUCTION, f"Page:\n{page}\n\nSession:\n{texts[session]}", 2_000)

        pages = self.answers(scope, sqlite_notes(self.store.folder), list(texts), ask_for, fresh)
        return str(pages[pieces[-1].session]) if pieces else self._template

    def _filed(self, sessions: Sequence[Session]) -> list[Retrieved]:
        lines = _lines(self._template)
        filed: dict[str, list[tuple[str, Session, Turn]]] = {label: [] for label, _ in lines}
        for sentence, session, turn in _own_sentences(sessions):
            if label := _label(sentence, lines):
                filed[label].append((sentence, session, turn))
        kept = {label: entries[-self._per_line :] for label, entries in filed.items()}
        sources = [entry for entries in kept.values() for entry in entries]
        ids = dict.fromkeys(session.id for _, session, _ in sources)
        turns = dict.fromkeys(turn.id for _, _, turn in sources)
        return [Retrieved(self._page(kept), 1.0, tuple(ids), tuple(turns), sessions[-1].at)]

    def _page(self, kept: dict[str, list[tuple[str, Session, Turn]]]) -> str:
        out = []
        for line in self._template.splitlines():
            match = _LINE.match(line)
            if match is None:
                out.append(line)
                continue
            out.append(f"- {match['label']}:")
            out += [f"  - {_dated(sentence, session, turn)}" for sentence, session, turn in kept[match["label"]]]
        return "\n".join(out)


def _lines(template: str) -> list[tuple[str, frozenset[str]]]:
    """Parse the labels and the stems of their cue words. A label without cue words uses the words of the label."""
    matches = (match for line in template.splitlines() if (match := _LINE.match(line)))
    return [(m["label"], frozenset(map(stem, re.findall(r"[\w']+", (m["cues"] or m["label"]).lower())))) for m in matches]


def _own_sentences(sessions: Sequence[Session]) -> Iterator[tuple[str, Session, Turn]]:
    for session in sessions:
        for turn in session.turns:
            if turn.role == "user" or turn.speaker:
                for sentence in sentences(turn.text):
                    if _FIRST_PERSON.search(sentence) and not sentence.endswith("?") and len(sentence) <= _LONGEST:
                        yield sentence, session, turn


def _label(sentence: str, lines: Sequence[tuple[str, frozenset[str]]]) -> str:
    """Return the label of the line that shares the most words with the sentence (the first in a tie), or the last label."""
    found = set(content_stems(sentence)) | {stem(word) for word in sentence.lower().split()}
    shared = [len(found & cues) for _, cues in lines]
    if not lines or max(shared) == 0:
        return lines[-1][0] if lines else ""
    return lines[shared.index(max(shared))][0]


def _dated(sentence: str, session: Session, turn: Turn) -> str:
    at = turn.at or session.at
    who = f"{turn.speaker}: " if turn.speaker else ""
    return f"{at:%Y-%m-%d} {who}{sentence}" if at else f"{who}{sentence}"
