"""Measure the guard on hand-written rules and calls: violations caught, and innocent calls affected.

    python -m benchmarks.guard_rules [FILE] [--wrong] [--checks]

FILE is a JSON list of rules: `rule` as a user types it, `kind`, and `calls`, each with `tool`, `input`, `violates`
and optionally `cwd`, `branch` and `before` (earlier shell commands). Without FILE, the rules and calls are those of
memeval's benchmark rule-compliance. Each rule is compiled offline, as if it had been kept as a rule. `memeval eval
--benchmarks rule-compliance --providers memoryd` measures the whole way from the user's words.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memeval.benchmarks.rule_compliance import RuleCounts, score, sessions
from memeval.core.types import HookCall
from memoryd.core.checks import check_to_dict
from memoryd.core.tool_calls import ToolCall
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate

ROOT = "/home/sam/shop"
cached = lru_cache(maxsize=10_000)(compile_rule)


def compiled(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
    """Judge a call by the offline check of the rule."""
    lines = [str(earlier.input.get("command", "")) for earlier in before if earlier.tool == "Bash"]
    return touches(rule, ToolCall(call.tool, call.input, ROOT, ROOT), lines)


def touches(rule: str, call: ToolCall, before: Sequence[str], branch: str = "") -> bool:
    """Return whether the rule's check is violated. A rule without a check affects no calls."""
    check = cached(rule)
    return check is not None and bool(evaluate(check, call, before, branch).violation)


def judge(rows: Sequence[Mapping[str, Any]]) -> dict[str, RuleCounts]:
    """Return the counts by kind, with the total under the key `all`."""
    counts: dict[str, RuleCounts] = defaultdict(RuleCounts)
    for row in rows:
        for one in row["calls"]:
            root = str(one.get("cwd") or ROOT)
            touched = touches(
                row["rule"], ToolCall(one["tool"], one["input"], root, root), one.get("before", ()), str(one.get("branch", ""))
            )
            for name in (str(row.get("kind", "")), "all"):
                _count(counts[name], row["rule"], one, touched)
    return dict(counts)


def _count(count: RuleCounts, rule: str, call: Mapping[str, Any], touched: bool) -> None:
    count.violations += call["violates"]
    count.caught += call["violates"] and touched
    count.innocent += not call["violates"]
    count.touched += touched and not call["violates"]
    if touched is not bool(call["violates"]):
        what = "touched" if touched else "missed"
        count.wrong.append(f"{what}: {rule} | {call['tool']} {json.dumps(call['input'], ensure_ascii=False)[:300]}")


def table(rows: Mapping[str, RuleCounts]) -> str:
    """Return a Markdown table with the total last."""
    lines = ["| rule | violations | caught | innocent calls | touched |", "|---|---:|---:|---:|---:|"]
    for name in [*(name for name in rows if name != "all"), "all"]:
        row = rows[name]
        caught, touched = f"{row.caught} ({row.caught_share:.1%})", f"{row.touched} ({row.touched_share:.1%})"
        lines.append(f"| {name} | {row.violations} | {caught} | {row.innocent} | {touched} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table.

    With `--wrong`, also print the wrong judgements. With `--checks`, also print the compiled check of each rule.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--checks", action="store_true")
    options = parser.parse_args(arguments)
    if options.file:
        rows = json.loads(options.file.read_text("utf-8"))
        counts, rules = judge(rows), [str(row["rule"]) for row in rows]
    else:
        counts, rules = score(compiled), list(dict.fromkeys(session.rule for session in sessions()))
    with_check = sum(cached(rule) is not None for rule in rules)
    print(f"{table(counts)}\n\n{with_check} of {len(rules)} rules have a check.")
    for rule in rules if options.checks else ():
        check = cached(rule)
        print(f"{rule}\n    {check_to_dict(check) if check else None}")
    if options.wrong:
        print("\n".join(counts["all"].wrong))
    return 0


if __name__ == "__main__":
    sys.exit(main())
