"""Locate results, and read and write result files and the ledger.

<results>/v0.1/<benchmark>-<timestamp>.json   one file for each run, described in results/SCHEMA.md
<results>/ledger.jsonl                        one line for each finished run, only ever appended to
<results>/runs/<run id>/run.db, state/        checkpoints and the data of local providers
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval.core.errors import ConfigError, RunError, UnknownRunError
from memeval.core.files import append_line, json_objects
from memoryd.core.files import write_atomic
from memeval.results.store import RunStore

SCHEMA_VERSION = 1
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")


@dataclass(frozen=True, slots=True)
class ResultsDir:
    """A results folder."""

    root: Path

    @property
    def ledger(self) -> Path:
        """Return the ledger's path."""
        return self.root / "ledger.jsonl"

    def run_dir(self, run_id: str) -> Path:
        """Return the folder of a run, which may not exist.

        Raises ConfigError for an id that could point outside the results folder.
        """
        if not _RUN_ID.fullmatch(run_id):
            raise ConfigError(f"{run_id!r} is not a run id.", fix="Use letters, digits, dot, dash and underscore.")
        return self.root / "runs" / run_id

    def run_ids(self) -> list[str]:
        """Return the ids of all runs with a store, in sorted order."""
        return sorted(path.parent.name for path in (self.root / "runs").glob("*/run.db"))

    def find(self, run: str) -> Path:
        """Return the folder of a run given by id or path. Raises RunError with similar ids if there is none."""
        if (Path(run) / "run.db").is_file():
            return Path(run)
        if _RUN_ID.fullmatch(run) and (self.run_dir(run) / "run.db").is_file():
            return self.run_dir(run)
        known = self.run_ids()
        near = difflib.get_close_matches(run, known, n=3, cutoff=0.4)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UnknownRunError(f"There is no run {run!r} in {self.root}.", fix=f"{hint}`memeval status` lists the runs.")

    def group(self, run: str) -> list[str]:
        """Expand a name to run ids: the run itself, or all runs of a command, whose ids begin with `run.`."""
        if (Path(run) / "run.db").is_file() or run in (known := self.run_ids()):
            return [run]
        members = [name for name in known if name.startswith(f"{run}.")]
        return members or [str(self.find(run))]

    def open(self, run: str) -> RunStore:
        """Open the store of a run for reading. The file is never changed, because a runner of another version may be using it."""
        return RunStore(self.find(run) / "run.db", read_only=True)

    def choose_file(self, version: str, benchmark: str, stamp: str) -> Path:
        """Return an unused path for a result, relative to the root."""
        major_minor = ".".join(version.split(".")[:2])
        base = Path(f"v{major_minor}") / f"{benchmark}-{stamp}"
        number = 1
        path = base.with_name(f"{base.name}.json")
        while (self.root / path).exists():
            number += 1
            path = base.with_name(f"{base.name}-{number}.json")
        return path

    def write(self, path: Path, result: Mapping[str, Any]) -> Path:
        """Write a result file, then its ledger line if that is missing. The call can be repeated after a crash."""
        target = self.root / path
        write_atomic(target, result_text(result).encode(), private=False)
        if result.get("status") == "broken":
            return target  # The run measured nothing, and the ledger lists only finished runs.
        line = ledger_line(result, path)
        known = ((old.get("run_id"), old.get("finished_at")) for old in self.ledger_lines())
        if (line["run_id"], line["finished_at"]) not in known:
            append_line(self.ledger, json.dumps(line, ensure_ascii=False, sort_keys=True))
        return target

    def ledger_lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the ledger, skipping incomplete ones."""
        if not self.ledger.exists():
            return
        with self.ledger.open(encoding="utf-8") as stream:
            yield from json_objects(stream)

    def load(self, run: str) -> dict[str, Any]:
        """Load the result of a run, given its id or the path of its result file or folder. Raises RunError."""
        path = Path(run)
        if path.suffix == ".json" and path.is_file():
            return read_result(path)
        with self.open(run) as store:
            name = store.meta("result_file")
        if not name or not (self.root / name).is_file():
            raise RunError(f"Run {run} has no report yet.", fix=f"Finish it: memeval eval --resume {run}")
        return read_result(self.root / name)


def result_text(result: Mapping[str, Any]) -> str:
    """Format a result file with indentation, but with each question on one line, because there can be thousands."""
    mark = "questions-stand-here"
    frame = json.dumps({**result, "questions": mark}, ensure_ascii=False, indent=1)
    lines = (json.dumps(question, ensure_ascii=False) for question in result["questions"])
    before, _, after = frame.rpartition(f'"{mark}"')
    joined = ",\n".join(lines)
    return f"{before}[\n{joined}\n]{after}\n"


def ledger_line(result: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the ledger entry of a run."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": result["run_id"],
        "file": path.as_posix(),
        "benchmark": result["benchmark"]["name"],
        "provider": result["provider"]["name"],
        "finished_at": result["times"]["finished_at"],
        "commit": (result["provenance"]["git"] or {}).get("commit"),
        **({"suite": suite} if (suite := result.get("settings", {}).get("suite")) else {}),
        "questions": result["totals"]["total"],
        "primary_metric": result.get("primary_metric"),
        "metrics": {name: cell["value"] for name, cell in result["metrics"].items()},
        "cost_usd": result["usage"]["total"]["cost_usd"],
    }


def read_result(path: Path) -> dict[str, Any]:
    """Read a result file. Raises RunError if the file is not a result or has a newer schema."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path} can't be read as a result: {error}.", fix="Give a run id or a result file.") from None
    if not isinstance(data, dict) or not isinstance(data.get("schema_version"), int):
        raise RunError(f"{path} is not a result file: schema_version is missing.", fix="Give a run id or a result file.")
    if data["schema_version"] > SCHEMA_VERSION:
        raise RunError(f"{path} has schema version {data['schema_version']}, but only {SCHEMA_VERSION} is supported.", fix="Update memeval.")
    return data
