"""Recompute the reports published by PrecisionMemBench from the ids that they list, and compare every number.

    python -m benchmarks.precisionmembench CLONE [--cases FILE]

CLONE is a clone of github.com/tenurehq/precisionMemBench. Each row of each report in test-results/baseline, and its
summary, are scored by memeval.core.precisionmembench. The exit code is 1 if a number differs. `--cases` specifies a
file with a subset of the cases (`beliefs`, `cases`). The table then also contains each system's scores on that
subset.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memeval.benchmarks.precisionmembench import FILES, USER, read_demands
from memeval.benchmarks.reading import Field, load_json
from memeval.core.precisionmembench import Demands, Entry, recomputed, summary

ROW = {"retrievalPrecision": "precision", "retrievalRecall": "recall", "passed": "passed"}


def demands_of(path: Path, beliefs: Path) -> Mapping[str, Demands]:
    """Return the demands by case, or by turn of a session."""
    pinned = [item["_id"] for item in json.loads(beliefs.read_text("utf-8")) if item["pinned"] and item["user_id"] == USER]
    return read_demands(Field(load_json(path), str(path), "1").items(), pinned)


def differences(report: Mapping[str, Any], demands: Mapping[str, Demands], *, session: bool) -> Iterator[str]:
    """Return the differences between a published report and its recomputed rows."""
    entries = []
    for row in report["cases"]:
        entry = recomputed(row, demands[name_of(row, session)], session=session)
        entries.append(entry)
        yield from _row_differences(row, entry, session)
    found = summary(entries)
    head = report["retrieval"]
    yield from (
        f"head: {key}: {head[key]!r} published, {found[key]!r} recomputed" for key in found if head.get(key) != found[key]
    )


def _row_differences(row: Mapping[str, Any], entry: Entry, session: bool) -> Iterator[str]:
    pairs = {**ROW, **({"driftScore": "drift"} if session else {"pinnedCoverage": "pinned_coverage"})}
    for key, name in pairs.items():
        if row[key] != getattr(entry, name):
            yield f"{row['caseId']}: {key}: {row[key]!r} published, {getattr(entry, name)!r} recomputed"
    if len(row["failures"]) != len(entry.failures):
        yield f"{row['caseId']}: {len(row['failures'])} failures published, {len(entry.failures)} recomputed"


def name_of(row: Mapping[str, Any], session: bool) -> str:
    """Return the key of a row's demands."""
    return f"{row['caseId']}:{row['turnIndex']}" if session else str(row["caseId"])


def chosen(report: Mapping[str, Any], demands: Mapping[str, Demands], names: set[str]) -> str:
    """Return the passes by type, the precision and the recall of a system on a subset of the cases."""
    head = summary([recomputed(row, demands[row["caseId"]], session=False) for row in report["cases"] if row["caseId"] in names])
    active, structural, empty = head["passTypes"].values()
    passed = (
        f"{head['totalPassed']}/{head['totalCases']} passed ({active} active, {structural} structural, {empty} trivially empty)"
    )
    return f"{passed}, precision {head['meanPrecision']}, recall {head['meanRecall']}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. Return exit code 1 if a number differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone", type=Path)
    parser.add_argument("--cases", type=Path)
    options = parser.parse_args(arguments)
    fixtures = options.clone / "fixtures"
    beliefs = fixtures / FILES["beliefs"]
    by_kind = {
        False: demands_of(fixtures / FILES["cases"], beliefs),
        True: demands_of(fixtures / FILES["session_cases"], beliefs),
    }
    names = {case["caseId"] for case in json.loads(options.cases.read_text("utf-8"))["cases"]} if options.cases else set()
    wrong = 0
    for path in sorted((options.clone / "test-results" / "baseline").glob("*.json")):
        session = path.name.startswith("session-")
        report = json.loads(path.read_text("utf-8"))
        found = list(differences(report, by_kind[session], session=session))
        wrong += len(found)
        print(
            f"{path.name}: {len(report['cases'])} rows and their summary, "
            + (f"{len(found)} numbers differ" if found else "equal")
        )
        for line in found[:10]:
            print(f"  {line}")
        if names and not session:
            print(f"  on the {len(names)} cases: {chosen(report, by_kind[False], names)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
