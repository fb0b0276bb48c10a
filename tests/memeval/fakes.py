"""A tiny benchmark, provider and model, and a kill switch at a chosen call: `python -m tests.memeval.fakes ARGS`.

`MEMEVAL_TEST_KILL=search:3` ends the process with SIGKILL at the third search. `search+:3` does so right after the
search is done.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.errors import ModelError, ProviderError
from memeval.core.protocols import Capabilities, Model
from memeval.core.types import Case, Question, QuestionType, Retrieved, SearchRequest, Session, Turn
from memeval.run.checkpoint import Run
from memeval.run.phases import case_tag
from memeval.specs import BenchmarkSpec, ProviderSpec
from memoryd.core.types import Completion, Message, Usage

CONFIGS = {
    "benchmarks/tiny.yaml": """\
name: tiny
source: {type: local, path: tiny.json}
loader: tiny
ingestion: session-based
judge: {name: f1}
metrics: [recall_any, recall_all, mrr]
retrieval: {k: [1, 5], levels: [session, turn]}
""",
    "benchmarks/tiny.json": "{}",
    "benchmarks/bulky.yaml": """\
name: bulky
source: {type: local, path: tiny.json}
loader: tiny
ingestion: bulk
judge: {name: f1}
""",
    "benchmarks/broken.yaml": "name: broken\nsource: {type: local, path: conversations.json}\nloader: locomo\n",
    "providers/notes.yaml": "name: notes\ntype: local\noptions: {failCase: ''}\nrateLimit: {retries: 1, backoff: 0}\n",
}
COLOURS = ("red", "green", "blue", "white", "black", "amber")
_calls: Counter[str] = Counter()


def write_configs(folder: Path) -> Path:
    for name, text in CONFIGS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def reached(point: str) -> None:
    """Kill the process here if requested."""
    _calls[point] += 1
    if os.environ.get("MEMEVAL_TEST_KILL") == f"{point}:{_calls[point]}":
        os.kill(os.getpid(), getattr(signal, os.environ.get("MEMEVAL_TEST_SIGNAL", "SIGKILL")))


@registry.benchmark_loader("tiny")
class TinyBenchmark:
    """Three cases of three sessions, with two questions each. The last question of a case can't be answered."""

    def __init__(self, spec: BenchmarkSpec, source: Path, options: Mapping[str, Any]) -> None:
        self.name = spec.name

    def data_hash(self) -> str:
        return "0" * 64

    def cases(self) -> Iterator[Case]:
        for number in range(3):
            yield tiny_case(number)


def tiny_case(number: int) -> Case:
    start = datetime(2024, 5, 1, 9, 30, tzinfo=UTC) + timedelta(days=number)
    sessions = []
    for place in range(3):
        at = start + timedelta(days=place)
        colour = COLOURS[(number + place) % len(COLOURS)]
        turns = (
            Turn(f"s{place}:1", "user", f"My door number {place} is {colour}.", "Ann", at, {"gold": "secret"}),
            Turn(f"s{place}:2", "assistant", "Noted."),
        )
        sessions.append(Session(f"s{place}", turns, at, f"answer_{place}"))
    questions = (
        Question("q1", "Which colour is door number 1?", QuestionType.FACT_RECALL, (COLOURS[(number + 1) % 6],), start,
                 ("s1",), ("s1:1",), "single"),
        Question("q2", "Which colour is the roof?", QuestionType.ABSTENTION, (), start, (), (), "none"),
    )  # fmt: skip
    return Case(f"c{number}", tuple(sessions), questions)


@registry.provider("notes")
class NotesProvider:
    """Stores turns in one JSON file for each scope and searches by common words."""

    capabilities = Capabilities(provenance=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self.name = spec.name
        self.fail_case = str({**spec.options, **options}.get("failCase", ""))
        self.fail_search = str({**spec.options, **options}.get("failSearch", ""))

    def open(self, workdir: Path) -> None:
        self.workdir = workdir

    def provenance(self) -> dict[str, str]:
        return {"index_backend": "json"}

    def _path(self, scope: str) -> Path:
        return self.workdir / f"{scope}.json"

    def _load(self, scope: str) -> dict[str, Any]:
        path = self._path(scope)
        return json.loads(path.read_text()) if path.exists() else {}

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        reached("ingest")
        if self.fail_case and case_tag("tiny", self.fail_case) in scope:
            raise ProviderError("out of space", transient=True)
        kept = self._load(scope)
        for session in sessions:
            assert not session.source_id and not any(turn.metadata for turn in session.turns)
            kept[session.id] = [[turn.id, turn.text] for turn in session.turns]
        temporary = self._path(scope).with_suffix(".tmp")
        temporary.write_text(json.dumps(kept))
        temporary.replace(self._path(scope))
        reached("ingest+")
        return {"turns": sum(len(session.turns) for session in sessions)}

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        reached("await")

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        reached("search")
        if self.fail_search and self.fail_search in request.text:
            raise ProviderError("index is broken")
        asked = set(request.text.lower().strip("?").split())
        scored = [
            Retrieved(text, float(len(asked & set(text.lower().strip(".").split()))), (session,), (turn,))
            for session, turns in self._load(scope).items()
            for turn, text in turns
        ]
        reached("search+")
        return sorted(scored, key=lambda piece: (-piece.score, piece.turns))[: request.k]

    def clear(self, scope: str) -> None:
        self._path(scope).unlink(missing_ok=True)

    def close(self) -> None:
        return None


class Parrot(Model):
    """Repeats the best memory. Costs a tenth of a cent."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._name = name
        self.fail = str(options.get("fail", ""))
        self.price = options.get("price", 0.001)

    @property
    def name(self) -> str:
        return self._name

    def estimate(self, messages: Sequence[Message], max_tokens: int | None) -> float | None:
        return self.price  # type: ignore[no-any-return]

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> Completion:
        reached("model")
        text = messages[-1].content
        if self.fail and self.fail in text:
            raise ModelError("the model is away")
        line = next(
            (line for line in text.splitlines() if "door number 1" in line and "?" not in line), "No information available"
        )
        reached("model+")
        return Completion(line, self.name, Usage(1, len(text) // 4, len(line) // 4, self.price), 0.01)


registry.model("parrot")(Parrot)


def _die_in_the_record() -> None:
    """Kill at a record: `record:N` before the N-th record's transaction, `record+:N` right after it."""
    done = Run.done

    def dying(self: Run, *args: Any, **kwargs: Any) -> Any:
        reached("record")
        made = done(self, *args, **kwargs)
        reached("record+")
        return made

    Run.done = dying


def main() -> None:
    from memeval.cli import main as memeval
    from memeval.results import files
    from memeval.run import provider_subject

    _die_in_the_record()
    write = files.write_atomic  # type: ignore[attr-defined]

    def dying_write(path: Path, data: bytes, **options: Any) -> None:
        reached("report")
        write(path, data, **options)
        reached("report+")

    files.write_atomic = dying_write  # type: ignore[assignment, attr-defined]
    report = provider_subject.result_of  # type: ignore[attr-defined]

    def dying_report(*args: Any, **options: Any) -> Any:
        reached("build")
        return report(*args, **options)

    provider_subject.result_of = dying_report  # type: ignore[attr-defined]
    sys.argv[0] = "memeval"
    memeval()


if __name__ == "__main__":
    main()
