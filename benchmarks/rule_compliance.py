"""Measure the violations that a guard catches, and the innocent calls that it touches.

    python -m benchmarks.rule_compliance [--guard MODULE:FUNCTION] [--sessions N] [--seed N] [--wrong]

The guard is called with the rule's text, the call (`tool`, `input`) and the earlier calls, and returns whether it touches the
call. Without `--guard`, two baselines are measured: one that touches nothing, and one that looks for the rule's words.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from memeval.benchmarks.rule_compliance import SESSIONS, Guard, HookCall, RuleCounts, mentions, score, sessions


def nothing(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
    """Let every call pass."""
    return False


def loaded(name: str) -> Guard:
    """Load the guard given as `module:function`."""
    module, _, function = name.partition(":")
    guard: Guard = getattr(importlib.import_module(module), function)
    return guard


def table(rows: dict[str, RuleCounts]) -> str:
    """Return a Markdown table with the total last."""
    lines = ["| rule | violations | caught | innocent calls | touched |", "|---|---:|---:|---:|---:|"]
    for name in [*(name for name in rows if name != "all"), "all"]:
        row = rows[name]
        caught, touched = f"{row.caught} ({row.caught_share:.1%})", f"{row.touched} ({row.touched_share:.1%})"
        lines.append(f"| {name} | {row.violations} | {caught} | {row.innocent} | {touched} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each guard."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guard", default="", help="MODULE:FUNCTION")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wrong", action="store_true", help="name what was judged wrongly")
    options = parser.parse_args(arguments)
    guards = {options.guard: loaded(options.guard)} if options.guard else {"nothing": nothing, "words of the rule": mentions}
    for name, guard in guards.items():
        rows = score(guard, sessions(options.sessions, options.seed))
        print(f"{name}\n\n{table(rows)}\n")
        if options.wrong:
            print("\n".join(rows["all"].wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
