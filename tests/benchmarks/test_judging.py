"""Judging sheets hide who said what, and the tally counts what was answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.judging import RUBRICS, agreement, collect, main, wilson

FIRST = [
    {"session": "one", "content": "Deploys go through the blue queue, since the red one drops jobs.", "kind": "fact"},
    {"session": "one", "content": "Run it again."},
    {"session": "two", "content": "Backups live on host atlas."},
]
SECOND = [{"session": "two", "content": "Backups  live on host atlas."}]


def sheets(folder: Path) -> dict[str, dict[str, object]]:
    for name, rows in (("first", FIRST), ("second", SECOND)):
        (folder / f"{name}.json").write_text(json.dumps(rows))
    readers = [f"--reader={name}={folder / name}.json" for name in ("first", "second")]
    assert main(["sheets", str(folder / "out"), *readers]) == 0
    rows: dict[str, dict[str, object]] = json.loads((folder / "out" / "key.json").read_text())["rows"]  # type: ignore[no-redef]
    return rows  # type: ignore[return-value]


def test_a_sheet_shows_each_statement_once_and_no_reader(tmp_path: Path) -> None:
    rows = sheets(tmp_path)
    text = (tmp_path / "out" / "sheets" / "01.md").read_text()
    assert len(rows) == 3
    assert text.count("host atlas") == 1
    assert "first" not in text and "second" not in text


def test_the_tally_counts_letters_and_leaves_unanswered_rows_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = sheets(tmp_path)
    letter = {"Deploys": "A", "Run": "C", "Backups": ""}
    answers = {id: letter[str(row["content"]).split()[0]] for id, row in rows.items()}
    (tmp_path / "out" / "answers" / "01.json").write_text(json.dumps(answers))
    capsys.readouterr()
    main(["tally", str(tmp_path / "out")])
    first, second = capsys.readouterr().out.splitlines()[2:]
    assert first.startswith("| first | 2 | 1 (50 %) | 0 (0 %) | 1 (50 %) |") and first.endswith("| 1 |")
    assert second.startswith("| second | 0 |") and second.endswith("| 1 |")


def test_a_letter_that_the_rubric_lacks_names_the_file_and_the_row(tmp_path: Path) -> None:
    id = next(iter(sheets(tmp_path)))
    (tmp_path / "out" / "answers" / "01.json").write_text(json.dumps({id: "Z"}))
    with pytest.raises(ValueError, match=rf"01\.json: row {id}: 'Z'"):
        main(["tally", str(tmp_path / "out")])


def test_two_judges_agree_on_the_side_where_only_the_letters_differ() -> None:
    line = agreement(RUBRICS["keep"], {"1": "C", "2": "A", "3": "A"}, {"1": "D", "2": "A", "3": ""})
    assert line == "2 rows judged twice: same letter 50 %, same side 100 %"


def test_the_order_within_a_session_does_not_follow_the_readers() -> None:
    many = {reader: [{"session": "s", "content": f"{reader} {n}"} for n in range(20)] for reader in ("x", "y")}
    order = [row.content[0] for row in collect(many, seed=3)]
    assert order != sorted(order)


def test_the_interval_is_the_one_in_the_textbook() -> None:
    low, high = wilson(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
    assert wilson(0, 0) == (0.0, 1.0)
