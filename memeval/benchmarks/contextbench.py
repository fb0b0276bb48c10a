"""ContextBench: the parts of a repository needed for a coding task, by file, block and line.

Records are SWE-bench-like tasks with `gold_context`, a list (often as a string) of `{file, start_line, end_line}`.
The code itself is not part of the data. The option `repos` is a folder with checkouts named `<instance_id>/` or
`<owner>__<name>/<base_commit>/`. Without this option, cases have gold but nothing to ingest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from memeval import registry
from memeval.benchmarks.base import FileBenchmark, RawTurn, build_session, file_records
from memeval.benchmarks.reading import Field
from memeval.benchmarks.swe import TASK, task_question
from memeval.core.errors import DataError
from memeval.core.types import Case, Session


@dataclass(frozen=True, slots=True)
class Block:
    """A range of lines in a file. Line numbers start at 1, and both ends are inclusive."""

    file: str
    start: int
    end: int


@registry.benchmark_loader("contextbench")
class ContextBench(FileBenchmark):
    """Reads ContextBench.

    The options are `repos`, `block_lines` (the size of a turn) and `suffixes` (of the files to ingest).

    A file is a session, and a block of lines is a turn. The turn's metadata has `file`, `start_line` and `end_line`. The
    question's metadata has `gold_blocks`, a list of (file, start, end), and `code`, which maps each session to its file and
    number of lines. Both are needed for recall and precision by file, line and block.
    """

    OPTIONS = {
        "repos": "",
        "block_lines": 40,
        "suffixes": (".py", ".java", ".js", ".ts", ".tsx", ".go", ".rs", ".c", ".h", ".cc", ".cpp", ".hpp", ".rb", ".php"),
    }

    def _cases(self) -> Iterator[Case]:
        for path in self.files():
            for record in file_records(path, "instance_id"):
                yield self._case(record)

    def _case(self, record: Field) -> Case:
        name = record["instance_id"].filled()
        gold = _gold(record["gold_context"])
        sessions = tuple(self._sessions(record, name)) if self.options["repos"] else ()
        evidence = tuple(session.id for session in sessions if session.source_id in {block.file for block in gold})
        extra = {
            "gold_blocks": tuple((block.file, block.start, block.end) for block in gold),
            "block_lines": self.options["block_lines"],
            "code": {
                session.id: (session.source_id, session.turns[-1].metadata["end_line"]) for session in sessions if session.turns
            },
        }
        question = task_question(record, self.type_of(record, TASK), evidence, extra)
        return Case(
            name,
            sessions,
            (replace(question, evidence_turns=_touched(sessions, gold)),),
            {"has_code": bool(sessions), "cluster": record["repo"].scalar() if record["repo"].present else name},
        )

    def _sessions(self, record: Field, name: str) -> Iterator[Session]:
        root = self._checkout(record, name)
        suffixes = tuple(self.options["suffixes"])
        files = sorted(path for path in root.rglob("*") if path.name.endswith(suffixes) and path.is_file())
        for number, path in enumerate(files, start=1):
            relative = path.relative_to(root).as_posix()
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            yield build_session(number, _blocks(relative, lines, self.options["block_lines"]), source_id=relative)

    def _checkout(self, record: Field, name: str) -> Path:
        repos = Path(self.options["repos"]).expanduser()
        by_commit = repos / record["repo"].filled().replace("/", "__") / record["base_commit"].filled()
        for place in (repos / name, by_commit):
            if place.is_dir():
                return place
        raise DataError(f"{self.name}: there is no checkout for {name}.", fix=f"Put it at {repos / name} or {by_commit}.")


def _gold(field: Field) -> tuple[Block, ...]:
    return tuple(_block(item) for item in field.decoded().items())


def _block(item: Field) -> Block:
    start, end = item["start_line"].integer(), item["end_line"].integer()
    if not 1 <= start <= end:
        raise item["end_line"].error(f"a line number of at least {max(start, 1)}")
    return Block(item["file"].filled(), start, end)


def _blocks(file: str, lines: Sequence[str], size: int) -> Iterator[RawTurn]:
    for start in range(0, len(lines), size):
        piece = lines[start : start + size]
        place = {"file": file, "start_line": start + 1, "end_line": start + len(piece)}
        yield RawTurn("user", f"{file}, lines {start + 1} to {start + len(piece)}:\n" + "\n".join(piece), metadata=place)


def _touched(sessions: Sequence[Session], gold: Sequence[Block]) -> tuple[str, ...]:
    """Return the turns that overlap a gold block."""
    return tuple(
        turn.id
        for session in sessions
        for turn in session.turns
        if any(
            block.file == session.source_id
            and block.start <= turn.metadata["end_line"]
            and turn.metadata["start_line"] <= block.end
            for block in gold
        )
    )
