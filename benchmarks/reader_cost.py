"""Measure the size of a model reader's requests for a folder of session logs, without calling a model.

    python benchmarks/reader_cost.py FOLDER [--answers DIR]

`--answers` contains recorded or hand-written answers (memoryd daydream … --replay DIR), from which the output size is
computed. Without it, only the input is measured. The constants in memoryd/daydream/costs.py are results of this
script.
"""

from __future__ import annotations

import argparse
import json
import statistics
from datetime import UTC, datetime
from pathlib import Path

from memoryd.core.config import Settings
from memoryd.core.text import token_count
from memoryd.daydream.pipeline import requests


def main() -> None:
    """Print calls and tokens for each session and in total."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--answers", type=Path)
    given = parser.parse_args()
    settings, now = Settings(home=given.folder / "no-home"), datetime(2026, 1, 1, tzinfo=UTC)
    sessions = []
    for path in sorted(given.folder.glob("*.jsonl")):
        sent = [sum(token_count(m.content) for m in messages) for messages in requests(path, settings, now)]
        sessions.append(sent)
        print(f"{path.name:32} {len(sent):3} calls {sum(sent):8,} input tokens")
    tokens, calls = [sum(sent) for sent in sessions], [len(sent) for sent in sessions]
    print(
        f"{len(sessions)} sessions: {statistics.mean(calls):.1f} calls, {statistics.mean(tokens):,.0f} input tokens on average, ",
        end="",
    )
    print(f"median {statistics.median(tokens):,.0f}, maximum {max(tokens):,}")
    if given.answers:
        print(f"output: {statistics.mean(_answers(given.answers)):,.0f} tokens per call")


def _answers(folder: Path) -> list[int]:
    found = [json.loads(path.read_text("utf-8"))["answer"] for path in sorted(folder.glob("*.json"))]
    texts = [answer.get("text") or json.dumps(answer, ensure_ascii=False) for answer in found if isinstance(answer, dict)]
    return [token_count(text) for text in texts] or [0]


if __name__ == "__main__":
    main()
