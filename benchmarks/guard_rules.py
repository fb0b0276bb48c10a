"""Measure the guard on hand-written rules and calls: violations caught, and innocent calls affected.

    python -m benchmarks.guard_rules [FILE] [--wrong] [--checks]          checks that are compiled offline
    python -m benchmarks.guard_rules [FILE] --in-passing                  also how many rules bind when they are said in passing
    python -m benchmarks.guard_rules FILE --ask FOLDER [--door DOOR]      write what a model is asked to FOLDER/ask_N.md
    python -m benchmarks.guard_rules FILE --answers FOLDER [--door DOOR]  checks of what is kept from FOLDER/answer_N.json

FILE is a JSON list of rules: `rule` as a user types it, `kind`, optionally `cwd`, and `calls`, each with `tool`,
`input`, `violates` and optionally `cwd`, `branch` and `before` (earlier shell commands). Without FILE, the rules and
calls are those of memeval's benchmark rule-compliance. Each rule is compiled offline, as if it had been kept as a rule.
`memeval eval --benchmarks rule-compliance --providers memoryd` measures the whole way from the user's words.

A model sees the rules as the user's turns of a session, by one of two doors: `reader` (the model that reads finished
sessions) or `settle` (the tool of the session's own model). With `--answers`, its answer takes the product's whole
validation; where no proposed check is accepted, the rule is compiled offline. Only rules that are kept have checks.
`--every N` and `--skip N` take every Nth rule, starting at a later one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from memeval.benchmarks.rule_compliance import RuleCounts, score, sessions
from memeval.core.types import HookCall
from memoryd.api import settle
from memoryd.api.parameters import input_schema
from memoryd.api.registry import operations
from memoryd.core.checks import Check, check_to_dict
from memoryd.core.config import Settings
from memoryd.core.errors import InputError, ModelError
from memoryd.core.tool_calls import ToolCall
from memoryd.core.types import Completion, Kind, MemoryItem, Message, Passage, Polarity, Source, Turn, TurnKind, Usage
from memoryd.daydream.model_answer import is_users, said_by_user
from memoryd.daydream.model_reader import ModelExtractor, messages_for, print_prompt
from memoryd.daydream.offline.acts import acts_of
from memoryd.daydream.offline.reader import ActClassifier
from memoryd.daydream.offline.sentences import statements
from memoryd.daydream.proposed_checks import accepted
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.guard.binding import may_bind
from memoryd.guard.compile import compile_rule
from memoryd.guard.evaluate import evaluate
from memoryd.recall.offer import BUDGET, PROMPT_NOTE, SHOWN, OfferLine, block

ROOT = "/home/sam/shop"
SETTINGS = Settings(home=Path("home"))
cached = lru_cache(maxsize=10_000)(compile_rule)
ChecksOf = Callable[[str], Sequence[Check]]


def compiled(rule: str, call: HookCall, before: Sequence[HookCall]) -> bool:
    """Judge a call by the offline check of the rule."""
    lines = [str(earlier.input.get("command", "")) for earlier in before if earlier.tool == "Bash"]
    return touches(offline(rule), ToolCall(call.tool, call.input, ROOT, ROOT), lines)


def offline(rule: str) -> Sequence[Check]:
    """Return the check that is compiled from the rule, if any."""
    check = cached(rule)
    return (check,) if check else ()


def touches(checks: Sequence[Check], call: ToolCall, before: Sequence[str], branch: str = "") -> bool:
    """Return whether one of a rule's checks is violated. A rule without a check affects no calls."""
    return any(evaluate(check, call, before, branch).violation for check in checks)


def judge(rows: Sequence[Mapping[str, Any]], checks_of: ChecksOf = offline) -> dict[str, RuleCounts]:
    """Return the counts by kind, with the total under the key `all`."""
    counts: dict[str, RuleCounts] = defaultdict(RuleCounts)
    for row in rows:
        for one in row["calls"]:
            cwd = str(one.get("cwd") or row.get("cwd") or ROOT)
            call = ToolCall(one["tool"], one["input"], cwd, ROOT if f"{cwd}/".startswith(f"{ROOT}/") else cwd)
            touched = touches(checks_of(row["rule"]), call, one.get("before", ()), str(one.get("branch", "")))
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


# A model played by hand


class Answered:
    """A model that returns a written answer."""

    name = "played by hand"

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        """Return the answer once. A request for a repair fails, since the answer is final."""
        if len(messages) > 2:
            raise ModelError(f"The answer can't be used: {messages[-1].content}", fix="Correct the answer.")
        return Completion(self._text, self.name, Usage(calls=1))


class ReaderDoor:
    """The model that reads finished sessions."""

    batch = 12

    def ask(self, rules: Sequence[str]) -> str:
        """Return the whole request for a session in which the user says these rules."""
        return print_prompt(messages_for(_session(rules), SETTINGS.chunk_tokens))

    def memories(self, rules: Sequence[str], answer: str) -> Iterator[tuple[str, MemoryItem]]:
        """Yield each memory that the product keeps of an answer, with the rule that it comes from."""
        found = ModelExtractor(Answered(answer), SETTINGS).extract(_session(rules))
        for each in found.candidates:
            item = MemoryItem(each.content, kind=each.kind, source=each.source, status=each.status, check=each.check)
            yield from ((rules[line - 1], item) for line in each.lines)


class SettleDoor:
    """The tool of the session's own model."""

    batch = SHOWN

    def ask(self, rules: Sequence[str]) -> str:
        """Return the tool, the session so far, and the lines that are offered with its next prompt."""
        tool = operations()["settle"].tool
        assert tool is not None
        schema = json.dumps(input_schema(settle.Settle), ensure_ascii=False, indent=1)
        lines = [OfferLine(MemoryItem(rule, source=Source.USER), f"r{at:03}") for at, rule in enumerate(rules, 1)]
        offered, _ = block(lines, PROMPT_NOTE, 10 * BUDGET)
        turns = "\n".join(f"USER: {rule}" for rule in rules)
        return f"# Tool `settle`\n\n{tool.description}\n\n{schema}\n\n# Session\n\n{turns}\nUSER: Thanks.\n{offered}"

    def memories(self, rules: Sequence[str], answer: str) -> Iterator[tuple[str, MemoryItem]]:
        """Yield each memory that the product keeps of a call of the tool, with the rule that it comes from."""
        passage = _session(rules)
        for entry in json.loads(answer)["items"]:
            at = int(str(entry["id"])[1:]) - 1
            try:
                settled = settle.parse_answer(entry)
            except InputError as error:
                print(f"refused: {error}", file=sys.stderr)
                continue
            turn, content = passage.turns[at], settled.content or rules[at]
            if settled.keep and is_users(content, settled.polarity or Polarity.DO, [turn], passage):
                check = accepted(settled.check, content, said_by_user([turn]))
                yield rules[at], MemoryItem(content, kind=settled.kind or Kind.RULE, source=Source.USER, check=check)


DOORS: Mapping[str, type[ReaderDoor | SettleDoor]] = {"reader": ReaderDoor, "settle": SettleDoor}


def _session(rules: Sequence[str]) -> Passage:
    turns = tuple(Turn(TurnKind.USER, rule, f"u{at}", at) for at, rule in enumerate(rules, 1))
    return Passage(turns, session="s1", project="p1", cwd=ROOT)


def _batches(rules: Sequence[str], size: int) -> Iterator[tuple[int, Sequence[str]]]:
    yield from ((at // size + 1, rules[at : at + size]) for at in range(0, len(rules), size))


def write_questions(rules: Sequence[str], door: ReaderDoor | SettleDoor, folder: Path) -> int:
    """Write the requests to a folder and return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in _batches(rules, door.batch):
        (folder / f"ask_{number}.md").write_text(door.ask(batch) + "\n", "utf-8")
    return -(-len(rules) // door.batch)


def read_answers(rules: Sequence[str], door: ReaderDoor | SettleDoor, folder: Path) -> tuple[ChecksOf, Counter[str]]:
    """Return the checks of the memories that are kept, and counts: rules kept, and checks by their origin."""
    checks: dict[str, list[Check]] = defaultdict(list)
    kept: set[str] = set()
    counts: Counter[str] = Counter()
    for number, batch in _batches(rules, door.batch):
        for rule, item in door.memories(batch, (folder / f"answer_{number}.json").read_text("utf-8")):
            if not may_bind(item):
                continue
            kept.add(rule)
            check = item.check or cached(item.content)
            if check:
                checks[rule].append(check)
                counts["by the model" if item.check else "offline"] += 1
    counts["kept"] = len(kept)
    return lambda rule: checks.get(rule, ()), counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table.

    With `--wrong`, also print the wrong judgements. With `--checks`, also print the checks of each rule.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--in-passing", action="store_true")
    parser.add_argument("--ask", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--door", choices=sorted(DOORS), default="reader")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0)
    options = parser.parse_args(arguments)
    if not options.file:
        if options.ask or options.answers:
            parser.error("--ask and --answers need a FILE")
        _print(score(compiled), list(dict.fromkeys(session.rule for session in sessions())), offline, options)
        return 0
    rows = json.loads(options.file.read_text("utf-8"))[options.skip :: options.every]
    rules = [str(row["rule"]) for row in rows]
    door = DOORS[options.door]()
    if options.ask:
        number = write_questions(rules, door, options.ask)
        print(f"{len(rules)} rules in {number} questions. Answer each {options.ask}/ask_N.md in answer_N.json.")
        return 0
    checks_of: ChecksOf = offline
    if options.answers:
        checks_of, origins = read_answers(rules, door, options.answers)
        print(", ".join(f"{name}: {number}" for name, number in sorted(origins.items())))
    _print(judge(rows, checks_of), rules, checks_of, options)
    return 0


def binds_in_passing(rule: str, classifier: ActClassifier) -> bool:
    """Return whether the offline reader keeps the rule from a message without "remember", in a form that has a check."""
    acts = acts_of([one.text for one in statements(rule)])
    kept = [act for act in acts if act.outright or classifier.agrees([act.text])[0]]
    return any(act.kind in (Kind.RULE, Kind.PREFERENCE, Kind.DECISION) and compile_rule(act.text) is not None for act in kept)


def _print(counts: Mapping[str, RuleCounts], rules: Sequence[str], checks_of: ChecksOf, options: argparse.Namespace) -> None:
    with_check = sum(bool(checks_of(rule)) for rule in rules)
    print(f"{table(counts)}\n\n{with_check} of {len(rules)} rules have a check.")
    if options.in_passing:
        checked = [rule for rule in rules if checks_of(rule)]
        judge_of_acts = ActClassifier(OnnxEmbedder())
        print(f"{sum(binds_in_passing(rule, judge_of_acts) for rule in checked)} of these bind when they are said in passing.")
    for rule in rules if options.checks else ():
        print("\n".join([rule, *(f"    {check_to_dict(check)}" for check in checks_of(rule))]))
    if options.wrong:
        print("\n".join(counts["all"].wrong))


if __name__ == "__main__":
    sys.exit(main())
