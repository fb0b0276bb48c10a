"""NoLiMa: a needle hidden in a book, and questions that share no words with it.

The official data is a folder with `needlesets/*.json` and `haystack/<set>/*.txt`. A case is a needle (with one set of
arguments) at one depth of one book, with a question for each hop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, data_files, document_sessions, file_records, passages
from memeval.benchmarks.reading import Field
from memeval.core.errors import DataError
from memeval.core.types import Case, Question, Session

_SLOT = re.compile(r"\{(CHAR|\d+)\}")


@registry.benchmark_loader("nolima")
class NoLiMa(FileBenchmark):
    """Reads NoLiMa.

    The options are `needle_set` (a file name), `context_words` (the length of the book), `depths` (in percent), `books` (the
    number of books to use), `hops` and `seed`.

    The character in a needle is drawn from its set with `seed` and is the same for all depths and books. The book is
    split into passages of `passage_words`. The needle is a separate passage.
    """

    OPTIONS = {
        "needle_set": "needle_set.json",
        "context_words": 12000,
        "passage_words": 120,
        "depths": (0, 25, 50, 75, 100),
        "books": 1,
        "hops": ("onehop", "twohop"),
        "seed": 0,
    }

    def files(self) -> list[Path]:
        """Return the files of the needle set and of the books in use."""
        return [self._needles(), *self._books()]

    def _cases(self) -> Iterator[Case]:
        books = [(path.stem, self._book(path)) for path in self._books()]
        for record in file_records(self._needles(), "id"):
            for test, arguments in _tests(record):
                for book, pieces in books:
                    for depth in self.options["depths"]:
                        yield self._case(record, (test, arguments), (book, pieces), depth)

    def _needles(self) -> Path:
        if self.source.is_file():
            return self.source
        wanted = self.options["needle_set"]
        for path in data_files(self.source, self.SUFFIXES):
            if path.name.removesuffix(".gz") == wanted:
                return path
        raise DataError(f"{self.source} contains no needle set {wanted!r}.", fix="Check options.needle_set and the folder.")

    def _books(self) -> list[Path]:
        folder = self.source.parent if self.source.is_file() else self.source
        return data_files(folder, (".txt",))[: self.options["books"]]

    def _book(self, path: Path) -> list[str]:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is not valid UTF-8 (byte {error.start}).", fix="Download the file again.") from error
        words = self.options["passage_words"]
        return list(islice(passages(text, words), max(1, self.options["context_words"] // words)))

    def _case(self, record: Field, test: tuple[str, Sequence[str]], book: tuple[str, list[str]], depth: int) -> Case:
        (test_name, arguments), (title, pieces) = test, book
        set_name = record["id"].scalar()
        characters = [field.filled() for field in record["character_set"].items()]
        if not characters:
            raise record["character_set"].error("at least one character")
        character = Random(f"{self.options['seed']}:{set_name}:{test_name}").choice(characters)
        needle = _fill(record["needle"], character, arguments)
        at = round(len(pieces) * depth / 100)
        sessions = document_sessions([*pieces[:at], needle, *pieces[at:]])
        place = _place(sessions, at)
        name = f"{set_name}:{test_name}:{title}:{depth}"
        questions = tuple(self._question(name, hop, field, character, arguments, place) for hop, field in self._hops(record))
        return Case(name, sessions, questions, {"depth": depth, "book": title, "cluster": f"{set_name}:{test_name}"})

    def _hops(self, record: Field) -> Iterator[tuple[str, Field]]:
        for hop, field in record["questions"].fields():
            if hop in self.options["hops"] and field.present and field.text().strip():
                yield hop, field

    def _question(self, case: str, hop: str, field: Field, character: str, arguments: Sequence[str], place: str) -> Question:
        return Question(
            id=f"{case}:{hop}",
            text=_fill(field, character, arguments),
            type=self.type_of(field, hop),
            answers=(character,),
            evidence_sessions=(place.partition(":")[0],),
            evidence_turns=(place,),
            category=hop,
        )


def _tests(record: Field) -> Iterator[tuple[str, Sequence[str]]]:
    for name, test in record["tests"].fields():
        yield name, [argument.scalar() for argument in test["input_args"].items()]


def _fill(template: Field, character: str, arguments: Sequence[str]) -> str:
    values: Mapping[str, str] = {"CHAR": character} | {str(number): text for number, text in enumerate(arguments, start=1)}

    def value(match: re.Match[str]) -> str:
        if match.group(1) not in values:
            raise template.error(f"slots up to {{{len(arguments)}}}, the number of arguments")
        return values[match.group(1)]

    return _SLOT.sub(value, template.filled())


def _place(sessions: Sequence[Session], index: int) -> str:
    """Return the id of the passage with this index, counted over all sessions."""
    ids = [turn.id for session in sessions for turn in session.turns]
    return ids[index]
