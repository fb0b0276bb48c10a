"""Support blind judging of the statements kept by readers and of the memories given to sessions.

    python -m benchmarks.judging sheets FOLDER --reader offline=a.json --reader model=b.json [--rubric keep|given]
    python -m benchmarks.judging tally FOLDER [--judge answers] [--judge second]

`sheets` takes any number of readers' outputs. Each is a JSON list of {"session", "content", ...} (the optional keys
`kind` and `context` are shown). Statements are grouped by session and shuffled within it. A statement of several
readers is a single row. Sheets (Markdown) are written to FOLDER/sheets, one empty answers file per sheet to
FOLDER/answers, and the origin of each statement to FOLDER/key.json, which judges must not see. A second judge fills
in a copy of the answers folder.

`tally` prints counts and shares by reader with 95 % Wilson intervals (Wilson 1927). With two judges, it also prints
their agreement on the letter and on good versus not good. Rows without an answer are counted separately, never as a
letter.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROWS_PER_SHEET = 60
Z_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Rubric:
    """The meaning of the letters, and the letters that count as good and as bad."""

    question: str
    letters: Mapping[str, str]
    good: frozenset[str]
    bad: frozenset[str]


RUBRICS = {
    "keep": Rubric(
        "Imagine a developer and the assistant weeks later in the same project. The statement is shown to them at the start "
        "of a session. Which letter fits? You may search the session's log to check whether it is true.",
        {
            "A": "understandable alone, still true or binding, changes what one does or saves work",
            "B": "true and understandable, of little use later",
            "C": "a request or order for that task, a question, small talk, a permission given once",
            "D": "not understandable alone",
            "E": "wrong, refuted, or misleading",
        },
        frozenset("A"),
        frozenset("CDE"),
    ),
    "given": Rubric(
        "The memory was handed to the session below, at the moment that is named. What did it do for that session?",
        {
            "U": "useful: it bears on what the session was about and saves work or a mistake",
            "N": "neutral: true, but does not bear on it",
            "H": "harmful: wrong, out of date, or it leads the assistant astray",
        },
        frozenset("U"),
        frozenset("H"),
    ),
}


@dataclass(slots=True)
class Row:
    """A statement to judge, and the readers that produced it."""

    session: str
    content: str
    kind: str
    context: str
    readers: list[str]
    id: str = ""


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the bounds of the 95 % Wilson score interval of hits / total, or (0, 1) for an empty sample."""
    if total == 0:
        return 0.0, 1.0
    share, square = hits / total, Z_95 * Z_95
    middle = share + square / (2 * total)
    spread = Z_95 * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    return (middle - spread) / (1 + square / total), (middle + spread) / (1 + square / total)


def collect(outputs: Mapping[str, Sequence[Mapping[str, Any]]], seed: int) -> list[Row]:
    """Return numbered rows of all readers, merged by session, content and context, and shuffled within each session."""
    rows: dict[tuple[str, str, str], Row] = {}
    for reader, statements in outputs.items():
        for statement in statements:
            content = " ".join(str(statement["content"]).split())
            key = (str(statement["session"]), content, str(statement.get("context", "")))
            row = rows.setdefault(key, Row(key[0], content, str(statement.get("kind", "")), key[2], []))
            if reader not in row.readers:
                row.readers.append(reader)
    by_session: dict[str, list[Row]] = defaultdict(list)
    for row in rows.values():
        by_session[row.session].append(row)
    shuffler = random.Random(seed)
    out: list[Row] = []
    for session in sorted(by_session):
        shuffler.shuffle(by_session[session])
        out += by_session[session]
    for number, row in enumerate(out, 1):
        row.id = f"{number:04d}"
    return out


def render_sheet(rubric: Rubric, rows: Sequence[Row]) -> str:
    """Return the Markdown of a sheet: the question, the letters, and the statements by session."""
    lines = [rubric.question, ""]
    lines += [f"- **{letter}** {meaning}" for letter, meaning in rubric.letters.items()]
    session = ""
    for row in rows:
        if row.session != session:
            session = row.session
            lines += ["", f"## {session}", ""]
        kind = f" ({row.kind})" if row.kind else ""
        context = f" — {row.context}" if row.context else ""
        lines.append(f"- `{row.id}`{kind}{context}: {row.content}")
    return "\n".join(lines) + "\n"


def write_sheets(folder: Path, rubric_name: str, rows: Sequence[Row]) -> int:
    """Write sheets, empty answers and the key. Return the number of sheets."""
    rubric = RUBRICS[rubric_name]
    for name in ("sheets", "answers"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    parts = [rows[start : start + ROWS_PER_SHEET] for start in range(0, len(rows), ROWS_PER_SHEET)]
    for number, part in enumerate(parts, 1):
        (folder / "sheets" / f"{number:02d}.md").write_text(render_sheet(rubric, part), "utf-8")
        answers = folder / "answers" / f"{number:02d}.json"
        if not answers.exists():
            answers.write_text(json.dumps({row.id: "" for row in part}, indent=1), "utf-8")
    key = {row.id: {"readers": row.readers, "session": row.session, "content": row.content} for row in rows}
    (folder / "key.json").write_text(json.dumps({"rubric": rubric_name, "rows": key}, ensure_ascii=False, indent=1), "utf-8")
    return len(parts)


def read_answers(folder: Path, letters: Mapping[str, str]) -> dict[str, str]:
    """Return one judge's letters by row id. Raises ValueError with the file name for a letter that is not in the rubric."""
    out: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        for id, letter in json.loads(path.read_text("utf-8")).items():
            letter = str(letter).strip().upper()[:1]
            if letter and letter not in letters:
                raise ValueError(f"{path}: row {id}: '{letter}' is not one of {', '.join(letters)}.")
            out[id] = letter
    return out


def tally(key: Mapping[str, Any], answers: Mapping[str, str]) -> list[str]:
    """Return one line per reader: the share of each letter, and of good and bad, with their intervals."""
    rubric = RUBRICS[key["rubric"]]
    readers = sorted({reader for row in key["rows"].values() for reader in row["readers"]})
    lines = ["| reader | judged | " + " | ".join(rubric.letters) + " | good [95 %] | bad [95 %] | no answer |"]
    lines.append("|---|---|" + "---|" * len(rubric.letters) + "---|---|---|")
    for reader in readers:
        ids = [id for id, row in key["rows"].items() if reader in row["readers"]]
        counts = Counter(answers.get(id, "") for id in ids)
        judged = len(ids) - counts[""]
        shares = " | ".join(f"{counts[letter]} ({_percent(counts[letter], judged)})" for letter in rubric.letters)
        good, bad = (_interval(sum(counts[letter] for letter in group), judged) for group in (rubric.good, rubric.bad))
        lines.append(f"| {reader} | {judged} | {shares} | {good} | {bad} | {counts['']} |")
    return lines


def agreement(rubric: Rubric, first: Mapping[str, str], second: Mapping[str, str]) -> str:
    """Return how often two judges agree on the letter, and on good versus not good, over the rows judged by both."""
    both = [id for id in first if first[id] and second.get(id)]
    letter = sum(first[id] == second[id] for id in both)
    side = sum((first[id] in rubric.good) == (second[id] in rubric.good) for id in both)
    return f"{len(both)} rows judged twice: same letter {_percent(letter, len(both))}, same side {_percent(side, len(both))}"


def _percent(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else "–"


def _interval(count: int, total: int) -> str:
    low, high = wilson(count, total)
    return f"{_percent(count, total)} [{100 * low:.0f}, {100 * high:.0f}]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `sheets` or `tally`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    sheets = commands.add_parser("sheets", help="make blind sheets")
    sheets.add_argument("folder", type=Path)
    sheets.add_argument("--reader", action="append", required=True, metavar="NAME=FILE")
    sheets.add_argument("--rubric", choices=sorted(RUBRICS), default="keep")
    sheets.add_argument("--seed", type=int, default=1)
    counts = commands.add_parser("tally", help="count the answers")
    counts.add_argument("folder", type=Path)
    counts.add_argument("--judge", action="append", metavar="FOLDER", help="answers folder in FOLDER (default: answers)")
    options = parser.parse_args(arguments)
    if options.command == "sheets":
        pairs = [entry.partition("=") for entry in options.reader]
        rows = collect({name: json.loads(Path(file).read_text("utf-8")) for name, _, file in pairs}, options.seed)
        print(f"{len(rows)} rows on {write_sheets(options.folder, options.rubric, rows)} sheets in {options.folder}")
        return 0
    key = json.loads((options.folder / "key.json").read_text("utf-8"))
    letters = RUBRICS[key["rubric"]].letters
    judges = [read_answers(options.folder / name, letters) for name in options.judge or ["answers"]]
    print("\n".join(tally(key, judges[0])))
    for other in judges[1:]:
        print(agreement(RUBRICS[key["rubric"]], judges[0], other))
    return 0


if __name__ == "__main__":
    sys.exit(main())
