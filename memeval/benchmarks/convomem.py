"""ConvoMem: evidence items in six categories, with the conversations that contain their evidence.

The category is the folder's name (`.../changing_evidence/2_evidence/x.json`), or the item's own `category`. Items contain only
evidence conversations. The option `fillers` adds distractor conversations from other items in the same file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, role_of
from memeval.benchmarks.reading import Field, load_json
from memeval.core.types import Case, Question, QuestionType, Session


@registry.benchmark_loader("convomem")
class ConvoMem(FileBenchmark):
    """Reads files of the form `{"evidence_items": [...]}`, or files with an array or lines of items.

    Files are only a few megabytes and are read whole. The option `fillers` is the number of conversations to add.
    They are drawn with `seed` and placed before, between and after the evidence.
    """

    OPTIONS = {"fillers": 0, "seed": 0}

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            items = _items(path)
            for index in range(len(items)):
                yield self._case(path, index, items)

    def _case(self, path: Path, index: int, items: Sequence[Field]) -> Case:
        item = items[index]
        name = f"{self._prefix(path)}:{index + 1}"
        category = _category(item, path, self.spec.question_types)
        conversations = [(field, True) for field in item["conversations"].items()]
        own = {_key(field) for field, _ in conversations}
        others = [
            field for other in items if other is not item for field in other["conversations"].items() if _key(field) not in own
        ]
        random = Random(f"{self.options['seed']}:{name}")
        for field in random.sample(others, min(self.options["fillers"], len(others))):
            conversations.insert(random.randint(0, len(conversations)), (field, False))
        sessions = tuple(_session(number, field) for number, (field, _) in enumerate(conversations, start=1))
        evidence = [session for session, (_, is_evidence) in zip(sessions, conversations, strict=True) if is_evidence]
        return Case(name, sessions, (self._question(name, item, category, evidence),))

    def _question(self, name: str, item: Field, category: str, evidence: Sequence[Session]) -> Question:
        turns, unresolved = _evidence_turns(item["message_evidences"], evidence)
        homes = tuple(dict.fromkeys(turn.partition(":")[0] for turn in turns))
        return Question(
            id=f"{name}:q1",
            text=item["question"].filled(),
            type=self.type_of(item, category),
            answers=(item["answer"].scalar(),),
            evidence_sessions=homes,
            evidence_turns=turns,
            category=category,
            metadata={"evidence_texts": _texts(item), **({"unresolved_evidence": unresolved} if unresolved else {})},
        )

    def _prefix(self, path: Path) -> str:
        """Return the path relative to the data folder, without suffix. Unlike the file name, it is unique across categories."""
        relative = Path(path.name) if path == self.source else path.relative_to(self.source)
        return relative.as_posix().partition(".json")[0]


def _items(path: Path) -> list[Field]:
    """Return the items of a file, numbered from 1."""
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        return list(file_records(path))
    whole = Field(load_json(path), str(path), "1")
    listed = whole if isinstance(whole.value, list) else whole["evidence_items"]
    return [Field(field.value, str(path), str(number)) for number, field in enumerate(listed.items(), start=1)]


def _category(item: Field, path: Path, known: Mapping[str, QuestionType]) -> str:
    for part in reversed(path.parts):
        if part in known:
            return part
    own = item["category"] if item["category"].present else item["evidence_category"]
    return own.filled()


def _key(conversation: Field) -> str:
    """Return a key that identifies a conversation: its id, or its text if it has none."""
    if conversation["id"].present:
        return conversation["id"].scalar()
    return repr(conversation["messages"].value)


def _session(number: int, conversation: Field) -> Session:
    said = (RawTurn(role_of(message["speaker"]), message["text"].text()) for message in conversation["messages"].items())
    return build_session(number, said, source_id=conversation["id"].scalar() if conversation["id"].present else "")


def _evidence_turns(evidences: Field, sessions: Sequence[Session]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Match evidence messages to turns, using each turn once. Also return the unmatched messages."""
    found: list[str] = []
    unresolved: list[str] = []
    for message in evidences.items() if evidences.present else []:
        role, text = role_of(message["speaker"]), _plain(message["text"].text())
        places = (turn for session in sessions for turn in session.turns if turn.role == role and _plain(turn.text) == text)
        place = next((turn.id for turn in places if turn.id not in found), None)
        if place is None:
            unresolved.append(message["text"].text())
        else:
            found.append(place)
    return tuple(found), tuple(unresolved)


def _texts(item: Field) -> tuple[str, ...]:
    """Return the texts of the evidence messages, in the form expected by the official judge for facts."""
    evidences = item["message_evidences"]
    return tuple(message["text"].text() for message in evidences.items()) if evidences.present else ()


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()
