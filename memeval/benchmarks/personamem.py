"""PersonaMem: multiple-choice questions to chatbots that know the user's changing profile.

`questions_32k.csv` assigns each question a shared context (from the lines `{id: messages}` of `shared_contexts_32k.jsonl`) and
a position in it (`end_index_in_shared_context`). Questions at the same position of a context form a case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records, role_of
from memeval.benchmarks.reading import DATA_SUFFIXES, Field
from memeval.core.errors import DataError
from memeval.core.types import Case, Question, Session


@registry.benchmark_loader("personamem")
class PersonaMem(FileBenchmark):
    """Reads a folder with a questions file and a contexts file of the same size.

    The option `size` (32k, 128k or 1M) selects the files by name. With `persona`, the profile at the start of each context is
    kept, as in the official script. The gold answer is a letter. The corresponding texts are in `options` and `answer_text`
    of the question's metadata.
    """

    OPTIONS = {"size": "32k", "persona": True}
    SUFFIXES = (*DATA_SUFFIXES, ".csv", ".csv.gz")

    def files(self) -> list[Path]:
        """Return the questions file and the contexts file."""
        return [self._file("questions"), self._file("shared_contexts")]

    def _cases(self) -> Iterator[Case]:
        questions, contexts = self.files()
        asked: dict[str, list[Field]] = defaultdict(list)
        for row in file_records(questions, "question_id"):
            asked[row["shared_context_id"].filled()].append(row)
        for record in file_records(contexts):
            for name, messages in _contexts(record):
                yield from self._context(name, messages, asked.pop(name, []))
        if asked:
            row = next(iter(asked.values()))[0]
            raise row["shared_context_id"].error(f"a context in {contexts}")

    def _file(self, kind: str) -> Path:
        folder = self.source.parent if self.source.is_file() else self.source
        found = [path for path in sorted(folder.rglob(f"{kind}_*")) if path.name.endswith(self.SUFFIXES)]
        for path in found:
            if path.name.startswith(f"{kind}_{self.options['size']}."):
                return path
        raise DataError(f"{folder} contains no {kind}_{self.options['size']} file.", fix="Check the folder and options.size.")

    def _context(self, name: str, messages: Sequence[Field], rows: Sequence[Field]) -> Iterator[Case]:
        ends: dict[int, list[Field]] = defaultdict(list)
        for row in rows:
            ends[row["end_index_in_shared_context"].integer()].append(row)
        for end, group in sorted(ends.items()):
            if not 0 <= end <= len(messages):
                raise group[0]["end_index_in_shared_context"].error(
                    f"a number up to {len(messages)}, the number of messages in the context"
                )
            sessions = _sessions(messages[:end], persona=self.options["persona"])
            yield Case(f"{name}:{end}", sessions, tuple(map(self._question, group)))

    def _question(self, row: Field) -> Question:
        options = tuple(option.filled() for option in row["all_options"].decoded().items())
        letter = row["correct_answer"].filled()
        answer = next((option for option in options if option.startswith(letter)), None)
        if answer is None:
            raise row["correct_answer"].error("the letter of one of all_options")
        category = row["question_type"]
        return Question(
            id=row["question_id"].filled(),
            text=row["user_question_or_message"].filled(),
            type=self.type_of(category),
            answers=(letter,),
            category=category.text(),
            metadata={"options": options, "answer_text": answer, "topic": row["topic"].text() if row["topic"].present else ""},
        )


def _contexts(record: Field) -> Iterator[tuple[str, list[Field]]]:
    """Yield the contexts in a line of the form `{id: messages}` or `{shared_context_id, messages}`."""
    if record["shared_context_id"].present:
        yield record["shared_context_id"].filled(), record["messages"].items()
        return
    for name, messages in record.fields():
        yield name, messages.items()


def _sessions(messages: Sequence[Field], *, persona: bool) -> tuple[Session, ...]:
    """Split the messages into sessions.

    Each system message (the profile) starts a new session. A repeated profile is included only once.
    """
    groups: list[list[RawTurn]] = [[]]
    profiles: set[str] = set()
    for message in messages:
        text = message["content"].text()
        if message["role"].text() == "system":
            if groups[-1]:
                groups.append([])
            if persona and text not in profiles:
                groups[-1].append(RawTurn("user", text, "profile"))
            profiles.add(text)
        else:
            groups[-1].append(RawTurn(role_of(message["role"]), text))
    return tuple(build_session(number, group) for number, group in enumerate(filter(None, groups), start=1))
