"""Measure how statement pairs are compared: as the same, refined, replaced, contradicted or different.

The file is a list (or an object with `pairs`) of {id, old, new, old_date, new_date, source_old, source_new: user |
assistant, relation: one of those five, lang, kind}. Each pair takes both paths of the product: `remember` (the older
statement, then the newer one, in a separate project) and a dream over both. Only counts are printed.

    python -m benchmarks.pairs FILE …                       both routes, with the bundled embedder
    python -m benchmarks.pairs FILE … --words               without an embedder: rules on words only
    python -m benchmarks.pairs FILE … --ask FOLDER          write a dream's questions to a model, in batches, to FOLDER/ask_N.md
    python -m benchmarks.pairs FILE … --answers FOLDER      the dream with the answers of FOLDER/answer_N.json
    python -m benchmarks.pairs FILE … --crossed N           N pairs of statements from different pairs, which are unrelated
    python -m benchmarks.pairs FILE … --model PATH          with PATH.onnx and PATH.npz, as benchmarks/tune_pairs.py writes them
    python -m benchmarks.pairs FILE … --show                the misjudged pairs, with their texts (never on a test set)
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.core.config import load_settings
from memoryd.core.errors import ModelError
from memoryd.core.types import Candidate, Completion, Kind, LinkType, MemoryItem, Message, Passage, Source, Usage
from memoryd.daydream.reconcile import KeepAction as ScanCache
from memoryd.daydream.reconcile import Outcome, Reconciler
from memoryd.dream.plan import DEFAULTS, Action, DreamLimits, Plan
from memoryd.dream.planner import make_plan
from memoryd.embed.onnx import OnnxEmbedder
from memoryd.embed.pairs import CrossEncoder
from memoryd.language import Assertion, Comparer
from memoryd.language.classifier import load_reader
from memoryd.service import Orchestrator, comparer_for
from memoryd.testing import FakeClock

RELATIONS = ("same", "refines", "replaces", "contradicts", "different")
SOURCES = {"user": Source.USER, "assistant": Source.AGENT_STEP}
CROSSED_SEED = 7
NOW = datetime(2026, 12, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Pair:
    id: str
    old: str
    new: str
    old_at: datetime
    new_at: datetime
    old_source: Source
    new_source: Source
    relation: str
    lang: str
    kind: str

    @property
    def may_replace(self) -> bool:
        """Return whether the source of the newer statement permits it to replace the older one."""
        return self.new_source is Source.USER or self.old_source is not Source.USER


@dataclass(frozen=True)
class Seen:
    """The product's result for a pair: the relation, and whether a statement was closed, merged away or refused."""

    relation: str
    dropped: bool = False


def load(paths: Iterable[Path]) -> list[Pair]:
    out = []
    for path in paths:
        raw = json.loads(path.read_text("utf-8"))
        for number, entry in enumerate(raw["pairs"] if isinstance(raw, dict) else raw):
            old_at, new_at = (_moment(entry[name]) for name in ("old_date", "new_date"))
            out.append(
                Pair(
                    f"{path.stem}:{entry.get('id', number)}",
                    entry["old"],
                    entry["new"],
                    min(old_at, new_at),
                    new_at,
                    SOURCES[entry["source_old"]],
                    SOURCES[entry["source_new"]],
                    entry["relation"],
                    entry.get("lang", "en"),
                    entry.get("kind", ""),
                )
            )
    return out


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def candidate(text: str, source: Source, at: datetime) -> Candidate:
    return Candidate(text, Kind.NOTE, source=source, at=at, confidence=0.8)


def by_remember(pairs: Sequence[Pair], home: Path, comparer: Comparer, *, words: bool) -> list[Seen]:
    """Remember the statements of each pair one after the other, in a separate project."""
    settings = load_settings(home=str(home), environ={})
    clock = FakeClock(NOW)
    service = Orchestrator(settings, clock, None if words else OnnxEmbedder())
    service.comparer = comparer
    reconciler = Reconciler(service, clock)
    try:
        firsts = [reconciler.keep(candidate(p.old, p.old_source, p.old_at), passage(n, p)) for n, p in enumerate(pairs)]
        service.settle(600)
        seconds = [reconciler.keep(candidate(p.new, p.new_source, p.new_at), passage(n, p)) for n, p in enumerate(pairs)]
        return [_remembered(service, *outcomes) for outcomes in zip(firsts, seconds, strict=True)]
    finally:
        service.close()


def passage(number: int, pair: Pair) -> Passage:
    return Passage((), session=f"s{number}", project=f"pair-{number}")


def _remembered(service: Orchestrator, first: Outcome, second: Outcome) -> Seen:
    if second.action is ScanCache.KNOWN:
        return Seen("same", dropped=True)
    if second.action is ScanCache.SUPERSEDES:
        same = "confirmed" in second.reason
        return Seen("same" if same else "replaces", dropped=True)
    if second.action is ScanCache.CONTRADICTS:
        return Seen("contradicts")
    if second.action is ScanCache.REFUSED:
        return Seen("refused", dropped=True)
    links = service.require(second.id).links
    refines = any(link.type is LinkType.RELATES_TO and link.target == first.id for link in links)
    return Seen("refines" if refines else "different")


def items_of(pairs: Sequence[Pair]) -> list[MemoryItem]:
    out = []
    for number, pair in enumerate(pairs):
        for place, (text, source, at) in enumerate(
            ((pair.old, pair.old_source, pair.old_at), (pair.new, pair.new_source, pair.new_at))
        ):
            id = f"mem_{2 * number + place:012x}"
            item = MemoryItem(text, id=id, kind=Kind.NOTE, source=source, project=str(number), session=f"s{place}")
            out.append(replace(item, created_at=at, valid_from=at))
    return out


def by_dream(pairs: Sequence[Pair], comparer: Comparer, *, words: bool, llm: Any = None) -> list[Seen]:
    """Plan a dream over all pairs in one store, each in a separate project, on the day after the last pair."""
    items = items_of(pairs)
    embedder = None if words else OnnxEmbedder()
    vectors = (
        {}
        if embedder is None
        else dict(zip((item.id for item in items), embedder.embed([i.content for i in items]), strict=True))
    )
    limits: DreamLimits = replace(DEFAULTS, asked=10_000)
    now = max(pair.new_at for pair in pairs) + timedelta(days=1)
    plan = make_plan(items, now=now, vectors=vectors, llm=llm, limits=limits, comparer=comparer)
    return [_dreamt(plan, number) for number in range(len(pairs))]


def _dreamt(plan: Plan, number: int) -> Seen:
    old, new = f"mem_{2 * number:012x}", f"mem_{2 * number + 1:012x}"
    changes = [change for change in plan.changes if change.after.project == str(number)]
    if any(change.action is Action.CREATE for change in changes):
        return Seen("same", dropped=True)
    closed = {change.id for change in changes if change.action is Action.SUPERSEDE}
    if closed:
        return Seen("replaces" if old in closed else "replaced by the older statement", dropped=True)
    if any({pair.first, pair.second} == {old, new} for pair in plan.undecided):
        return Seen("contradicts")
    refines = any(c.id == new and any(link.target == old for link in c.after.links) for c in changes)
    return Seen("refines" if refines else "different")


# A model played by hand


class Asked:
    """A model that writes its questions to a folder. Its answers leave everything unchanged."""

    name = "asked"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.batches = 0
        self.text = ""

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        self.batches += 1
        text = "\n\n".join(f"## {message.role}\n\n{message.content}" for message in messages)
        self.text += messages[-1].content
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"ask_{self.batches}.md").write_text(text + "\n", "utf-8")
        raise ModelError("Only asked.", fix="")


class Answered:
    """A model that returns the answers in a folder, in the order of the questions."""

    name = "played by hand"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._batches = 0

    def complete(self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None) -> Completion:
        self._batches += 1
        file = self._folder / f"answer_{self._batches}.json"
        if not file.exists():
            raise ModelError(f"{file} is missing.", fix="Answer every question.")
        return Completion(file.read_text("utf-8"), self.name, Usage(calls=1))


# Counting


def report(title: str, pairs: Sequence[Pair], seen: Sequence[Seen]) -> None:
    print(f"\n{title}: {len(pairs)} pairs")
    print("  relation      precision        recall")
    for relation in RELATIONS:
        found = [p.relation for p, s in zip(pairs, seen, strict=True) if s.relation == relation]
        wanted = [_is_seen(p, s) for p, s in zip(pairs, seen, strict=True) if p.relation == relation]
        right = found.count(relation)
        print(f"  {relation:12}  {_share(right, len(found))}  {_share(sum(wanted), len(wanted))}")
    both = list(zip(pairs, seen, strict=True))
    merged = sum(p.relation in ("replaces", "contradicts") and s.relation == "same" for p, s in both)
    lost = sum(p.relation in ("refines", "different") and s.dropped for p, s in both)
    print(f"  opposites merged {merged}, true statements dropped {lost}")
    for group, key in (("language", lambda p: p.lang), ("kind", lambda p: f"{p.relation}/{p.kind}")):
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for pair, each in both:
            if pair.relation in ("same", "replaces"):
                counts[key(pair)].update(all=1, right=int(_is_seen(pair, each)))
        if group == "language":
            result = ", ".join(f"{name} {c['right']}/{c['all']}" for name, c in sorted(counts.items()))
            print(f"  seen as same or replaces, by {group}: {result}")
    table: Counter[tuple[str, str]] = Counter((p.relation, s.relation) for p, s in both)
    for relation in RELATIONS:
        row = ", ".join(f"{seen_as} {n}" for (gold, seen_as), n in sorted(table.items()) if gold == relation)
        print(f"  {relation:12} seen as: {row}")


def _is_seen(pair: Pair, seen: Seen) -> bool:
    """Return whether the relation was recognised.

    A statement from a weaker source that would replace the user's words counts if the pair is presented to the user.
    """
    if pair.relation == "replaces" and not pair.may_replace:
        return seen.relation in ("replaces", "contradicts")
    return seen.relation == pair.relation


def _share(part: int, whole: int) -> str:
    return f"{part / whole:5.2f} ({part:3}/{whole:3})" if whole else "   –  (  0/  0)"


def show(pairs: Sequence[Pair], seen: Sequence[Seen]) -> None:
    for pair, each in zip(pairs, seen, strict=True):
        if not _is_seen(pair, each):
            print(f"  {pair.relation} seen as {each.relation} [{pair.lang}, {pair.kind}] {pair.old} => {pair.new}")


def crossed(pairs: Sequence[Pair], count: int, comparer: Comparer) -> Counter[str]:
    """Compare older statements with newer ones of other pairs, chosen by lot, as two statements of the user."""
    lots = np.random.default_rng(CROSSED_SEED)
    seen: Counter[str] = Counter()
    while seen.total() < count:
        first, second = (int(place) for place in lots.integers(0, len(pairs), 2))
        if first != second:
            old, new = Assertion(pairs[first].old, by_user=True), Assertion(pairs[second].new, by_user=True)
            seen[comparer.compare(old, new).relation.value] += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--ask", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--crossed", type=int, default=0, metavar="N")
    options = parser.parse_args()
    pairs = load(options.files)
    comparer = comparer_for(None if options.words else OnnxEmbedder())
    if options.model:
        reader = CrossEncoder(options.model.with_suffix(".onnx"), digest=None)
        comparer = Comparer(OnnxEmbedder(), reader=reader, weights=load_reader(options.model.with_suffix(".npz")))
    if options.crossed:
        seen_as = crossed(pairs, options.crossed, comparer)
        print(f"{options.crossed} unrelated pairs seen as:", ", ".join(f"{name} {n}" for name, n in seen_as.most_common()))
        return
    if options.ask:
        asked = Asked(options.ask)
        by_dream(pairs, comparer, words=options.words, llm=asked)
        about = Counter(pair.relation for pair in pairs if json.dumps(pair.new, ensure_ascii=False) in asked.text)
        whole = Counter(pair.relation for pair in pairs)
        print("asked about:", ", ".join(f"{relation} {about[relation]}/{whole[relation]}" for relation in RELATIONS))
        print(f"{asked.batches} batches of questions in {options.ask}. Answer each ask_N.md in answer_N.json")
        return
    if not options.answers:
        with tempfile.TemporaryDirectory() as home:
            seen = by_remember(pairs, Path(home), comparer, words=options.words)
        report("remember", pairs, seen)
        if options.show:
            show(pairs, seen)
    seen = by_dream(pairs, comparer, words=options.words, llm=Answered(options.answers) if options.answers else None)
    report("dream", pairs, seen)
    if options.show:
        show(pairs, seen)


if __name__ == "__main__":
    main()
