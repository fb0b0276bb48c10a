"""MemoryAgentBench: long contexts read in pieces, with many questions about each. There are four splits.

Rows are `{context, questions, answers, metadata}`. The split is taken from the row's `split` or from the file name
(`Accurate_Retrieval-00000-of-00001.jsonl`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, document_sessions, file_records, passages
from memeval.benchmarks.reading import Field
from memeval.core.types import Case, Question

_RENAMED = {"selective_forgetting": "conflict_resolution"}


@registry.benchmark_loader("memoryagentbench")
class MemoryAgentBench(FileBenchmark):
    """Reads JSON, JSON lines or the hub's Parquet files.

    The option `passage_words` is the size of a piece of the context. The option `entities` is the path of
    entity2id.json, which the recommendation task requires.
    """

    OPTIONS = {"passage_words": 400, "entities": ""}

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            for number, record in enumerate(file_records(path), start=1):
                split = _split(record, path, self.spec.question_types)
                yield self._case(f"{split}:{number}", split, record)

    def _case(self, name: str, split: str, record: Field) -> Case:
        sessions = document_sessions(passages(record["context"].filled(), self.options["passage_words"]))
        questions, answers = record["questions"].items(), record["answers"].items()
        if len(questions) != len(answers):
            raise record["answers"].error(f"{len(questions)} answers, the same number as questions")
        extra = record["metadata"].decoded() if record["metadata"].present else Field({}, record.file, record.record)
        lists = {key: _listed(extra, f"{key}s") for key in ("question_type", "question_id")}
        points = _listed(extra, "keypoints")
        source = extra["source"].scalar() if extra["source"].present else ""
        built = tuple(
            Question(
                id=f"{name}:q{index + 1}",
                text=question.filled(),
                type=self.type_of(record, split),
                answers=_answers(answer),
                category=split,
                metadata={
                    "sub_dataset": source,
                    **{key: values[index] for key, values in lists.items() if index < len(values)},
                    **({"keypoints": tuple(points)} if points else {}),
                },
            )
            for index, (question, answer) in enumerate(zip(questions, answers, strict=True))
        )
        return Case(name, sessions, built, {"split": split, "source": source})


def _split(record: Field, path: Path, known: Any) -> str:
    text = record["split"].filled() if record["split"].present else "/".join(path.parts[-2:])
    text = text.lower().replace("-", "_")
    for old, new in _RENAMED.items():
        text = text.replace(old, new)
    for name in known:
        if name in text:
            return str(name)
    raise record["split"].error(f"one of the splits {', '.join(known)} (or a file named after one)")


def _listed(extra: Field, key: str) -> list[str]:
    field = extra[key]
    return [item.scalar() for item in field.items()] if field.present and isinstance(field.value, list) else []


def _answers(field: Field) -> tuple[str, ...]:
    if isinstance(field.value, list):
        return tuple(item.scalar() for item in field.items())
    return (field.scalar(),)
