from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memeval.core.errors import ConfigError, RunError
from memeval.results.files import SCHEMA_VERSION, ResultsDir, ledger_line, read_result

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "results_v1.json"


def test_the_golden_file_of_version_1_is_still_read() -> None:
    data = read_result(GOLDEN)
    assert data["schema_version"] == 1
    line = ledger_line(data, Path("v0.1/x.json"))
    assert line["questions"] == 4
    assert line["metrics"]["session.recall_any@5"] == 0.5


def test_every_denominator_of_the_golden_file_adds_up() -> None:
    for cell in read_result(GOLDEN)["metrics"].values():
        for one in (cell, *cell["by_type"].values(), *cell["by_category"].values()):
            assert one["total"] == one["scored"] + one["failed"] + one["unscored"] + one["skipped"]


def test_the_schema_page_names_every_key_of_a_result() -> None:
    page = (ROOT / "results" / "SCHEMA.md").read_text()
    data = json.loads(GOLDEN.read_text())
    named = set(re.findall(r"`([a-z_]+)(?:\.[a-z_]+)?`", page))
    for keys in (data, data["questions"][0], next(iter(data["metrics"].values())), data["totals"], data["ingest"]):
        assert not set(keys) - named


def test_a_file_of_a_newer_schema_or_of_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    for content, words in [
        (json.dumps({"schema_version": SCHEMA_VERSION + 1}), "Update memeval"),
        ("{}", "schema_version is missing"),
        ("[]", "schema_version is missing"),
        ("{", "can't be read"),
    ]:
        path.write_text(content)
        with pytest.raises(RunError, match=words):
            read_result(path)


def test_a_result_that_is_written_twice_is_once_in_the_ledger_also_after_a_torn_line(tmp_path: Path) -> None:
    results = ResultsDir(tmp_path)
    results.ledger.write_text('{"run_id": "torn')
    data = read_result(GOLDEN)
    for _ in range(2):
        results.write(Path("v0.1/tiny.json"), data)
    assert [line["run_id"] for line in results.ledger_lines()] == ["golden"]
    assert len(results.ledger.read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["../x", "", ".x", "a/b", "a" * 200])
def test_a_run_id_that_could_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        ResultsDir(tmp_path).run_dir(name)
