"""Count the heuristic extractor's errors by kind on a folder of labelled session logs, with intervals.

    python -m benchmarks.extraction_errors FOLDER                     a table of current errors, reading after each message
    python -m benchmarks.extraction_errors FOLDER --mode session      whole logs
    python -m benchmarks.extraction_errors FOLDER --save FILE         keep the predictions
    python -m benchmarks.extraction_errors FOLDER --before FILE       compare with the saved predictions of an earlier version

The shipped weights are used. Intervals are 95 % bootstrap intervals over sessions (2,000 samples, seeded).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.extraction import Session, load_scorer, load_sessions, predict
from memoryd.daydream.offline.cues import AGENT_NOISE, USER_NOISE
from memoryd.daydream.offline.sentences import size
from memoryd.daydream.offline.units import DEFAULT

SAMPLES = 2_000
SEED = 7
Predictions = Mapping[str, list[str]]

# The first match determines the kind of a wrong statement. Only the wording counts, so all versions are comparable.
KINDS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("a question, or a choice that only permits", lambda text: text.rstrip(".").endswith(("?", "？"))),
    ("a task or request for now", lambda text: bool(USER_NOISE["request"].search(text))),
    ("a plan or promise of the assistant", lambda text: bool(AGENT_NOISE["promise"].search(text))),
    ("terminal or pasted text", lambda text: bool(USER_NOISE["terminal"].search(text) or USER_NOISE["label"].search(text))),
    ("a report of what just happened", lambda text: bool(USER_NOISE["report"].search(text))),
    ("progress, or true for the moment", lambda text: _any(AGENT_NOISE, ("progress", "transient"), text)),
    ("a guess", lambda text: _any(AGENT_NOISE, ("speculation",), text)),
    ("a fragment: its subject stands elsewhere", lambda text: _fragment(text)),
)
UNLABELLED = "another statement (unlabelled, or worded too far from the label)"
ROWS = ("matched", "junk: refuted, replaced, or one-off", "said twice", *(name for name, _ in KINDS), UNLABELLED)


def _any(table: Mapping[str, re.Pattern[str]], names: Sequence[str], text: str) -> bool:
    return any(table[name].search(text) for name in names)


def _fragment(text: str) -> bool:
    return bool(USER_NOISE["no subject"].search(text) or AGENT_NOISE["no subject"].search(text)) or size(text) < 6


def kind_of(text: str) -> str:
    """Return the kind of a statement that matches no label."""
    return next((name for name, fits in KINDS if fits(text)), UNLABELLED)


def counted(predictions: Predictions, sessions: Sequence[Session], scorer: ModuleType) -> dict[str, Counter[str]]:
    """Return the number of statements in each table row, per session."""
    _, rows = scorer.score(predictions, [session.gold for session in sessions])
    out: dict[str, Counter[str]] = {}
    for name, _, _, matched, _, _, double, _, _, bad, unlabelled in rows:
        counts = Counter({"matched": matched, "junk: refuted, replaced, or one-off": len(bad), "said twice": double})
        counts.update(kind_of(text) for text in unlabelled)
        out[name] = counts
    return out


def measures(predictions: Predictions, sessions: Sequence[Session], scorer: ModuleType) -> np.ndarray:
    """Return precision, weighted recall and junk rate, followed by the bounds of their 95 % intervals, as a 3 by 3 array."""
    parts = [_sums(session, predictions, scorer) for session in sessions]
    table = np.array(parts)
    generator = np.random.default_rng(SEED)
    drawn = np.array([_rates(table[generator.integers(0, len(table), len(table))]) for _ in range(SAMPLES)])
    return np.vstack([_rates(table), np.percentile(drawn, 2.5, axis=0), np.percentile(drawn, 97.5, axis=0)])


def _sums(session: Session, predictions: Predictions, scorer: ModuleType) -> tuple[float, ...]:
    """Return the sums of extracted statements, matches, junk, importance found and total importance."""
    total, _ = scorer.score({session.name: predictions[session.name]}, [session.gold])
    there = sum(fact["importance"] for fact in session.gold["facts"])
    return total["predictions"], total["matched"], total["junk"] + total["obsolete"], total["recall_weighted"] * there, there


def _rates(table: np.ndarray) -> np.ndarray:
    made, matched, junk, found, there = table.sum(axis=0)
    return np.array([matched / max(made, 1), found / max(there, 1), junk / max(made, 1)])


def print_table(columns: Mapping[str, Predictions], sessions: Sequence[Session], scorer: ModuleType) -> None:
    """Print a Markdown table with one column per version."""
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    found = {name: sum(counted(made, sessions, scorer).values(), Counter()) for name, made in columns.items()}
    for row in ROWS:
        print(f"| {row} | {' | '.join(str(found[name][row]) for name in columns)} |")
    print(f"| all | {' | '.join(str(sum(found[name].values())) for name in columns)} |")
    measured = {name: measures(made, sessions, scorer) for name, made in columns.items()}
    for index, row in enumerate(("precision", "weighted recall", "junk rate")):
        cells = [f"{m[0, index]:.3f} [{m[1, index]:.3f}, {m[2, index]:.3f}]" for m in measured.values()]
        print(f"| {row} | {' | '.join(cells)} |")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=("session", "chunk", "turn"), default="turn")
    parser.add_argument("--save", type=Path, help="write the predictions to this file")
    parser.add_argument("--before", type=Path, help="predictions of an earlier version")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each wrong statement with its kind")
    args = parser.parse_args(argv)
    scorer, sessions = load_scorer(args.folder), load_sessions(args.folder)
    now: dict[str, list[str]] = {session.name: predict(session, DEFAULT, args.mode) for session in sessions}
    if args.save:
        args.save.write_text(json.dumps(now, ensure_ascii=False, indent=1), encoding="utf-8")
    before: dict[str, Any] = {"before": json.loads(args.before.read_text(encoding="utf-8"))} if args.before else {}
    print_table({**before, "now": now}, sessions, scorer)
    if args.verbose:
        _print_wrong(now, sessions, scorer)
    return 0


def _print_wrong(predictions: Predictions, sessions: Sequence[Session], scorer: ModuleType) -> None:
    _, rows = scorer.score(predictions, [session.gold for session in sessions])
    for row in rows:
        for text in row[9]:
            print(f"{row[0]}: junk: {text[:200]}")
        for text in row[10]:
            print(f"{row[0]}: {kind_of(text)}: {text[:200]}")


if __name__ == "__main__":
    sys.exit(main())
