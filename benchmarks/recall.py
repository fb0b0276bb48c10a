"""Measure the memories found by the prompt hook and by explicit search, for prompts worded differently from the memories.

    python -m benchmarks.recall CORPUS PROMPTS [KEYS] [--projects FILE] [--rank maxsim]

CORPUS, PROMPTS and KEYS are those of benchmarks/fit_keys.py. Without KEYS, the memories have no keys. All facts are
written to one store in a scratch home, each under its project, and all prompts are run in their own projects with the
product's own ranking and floor. `--projects` specifies a JSON list of projects. Their prompts are counted separately.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fit_keys import FORMS
from benchmarks.fit_relevance import GENERIC
from memoryd.core.clock import SystemClock
from memoryd.core.config import Settings
from memoryd.core.types import Hit, Kind, MemoryItem, Query
from memoryd.embed import make_embedder, make_encoder
from memoryd.recall.governance import split_by_floor
from memoryd.recall.injection import PROMPT_CANDIDATES, PROMPT_CHARACTERS, PROMPT_MARGIN, is_searchable
from memoryd.service import Orchestrator

FIRST = 3


@dataclass(frozen=True)
class Found:
    """The result for one prompt. `hook` and `search` are the returned ids in order."""

    project: str
    form: str
    lang: str
    right: frozenset[str]
    hook: tuple[str, ...]
    sure: tuple[str, ...]
    search: tuple[str, ...]
    ranked: tuple[str, ...]


def store(facts: Mapping[str, Mapping[str, str]], keys: Mapping[str, Sequence[str]], service: Orchestrator) -> dict[str, str]:
    """Write the facts. Return a mapping of memory ids to fact ids."""
    now = SystemClock().now()
    ids = sorted(facts)
    items = [
        MemoryItem(
            facts[id]["text"], kind=Kind.FACT, project=facts[id]["project"], created_at=now, asked_as=tuple(keys.get(id, ()))
        )
        for id in ids
    ]
    return dict(zip(service.write_many(items), ids, strict=True))


def ask(prompt: Mapping[str, Any], service: Orchestrator, names: Mapping[str, str], floor: float) -> Found:
    """Run one prompt through the hook and through an explicit search."""
    query = Query(text=prompt["text"], project=prompt["project"] or None)
    shown = service.search(replace(query, text=prompt["text"][:PROMPT_CHARACTERS]), PROMPT_CANDIDATES)
    hook = [hit for hit in shown if hit.relevancy >= floor + PROMPT_MARGIN] if is_searchable(prompt["text"]) else []
    hits = service.search(query, 8)
    sure, unsure = split_by_floor(prompt["text"], hits, floor)

    def of(found: Sequence[Hit]) -> tuple[str, ...]:
        return tuple(names[hit.item.id] for hit in found)

    right = frozenset(prompt["fact_ids"])
    return Found(
        prompt["project"], prompt["form"], prompt.get("lang", "en"), right, of(hook), of(sure), of([*sure, *unsure]), of(hits)
    )


def report(label: str, found: Sequence[Found]) -> None:
    """Print the total, a line for each form, and a line for each language if there are any besides English."""
    parts = [(label, list(found)), *((f"  {form}", [one for one in found if one.form == form]) for form in FORMS)]
    if languages := sorted({one.lang for one in found} - {"en"}):
        parts += [
            ("  English", [one for one in found if one.lang == "en"]),
            ("  others", [one for one in found if one.lang != "en"]),
        ]
        parts += [(f"    {lang}", [one for one in found if one.lang == lang]) for lang in languages]
    for name, part in parts:
        yes, no = [one for one in part if one.right], [one for one in part if not one.right]
        if not yes or not no:
            continue
        cells: dict[str, Any] = {
            "hook": np.mean([bool(one.right.intersection(one.hook)) for one in yes]),
            "silent": np.mean([not one.hook for one in no]),
            f"search, first {FIRST}": np.mean([bool(one.right.intersection(one.search[:FIRST])) for one in yes]),
            "of these sure": np.mean([bool(one.right.intersection(one.sure[:FIRST])) for one in yes]),
            "search sure of nothing": np.mean([not one.sure for one in no]),
            f"ranked, first 1 / {FIRST}": (
                np.mean([bool(one.right.intersection(one.ranked[:1])) for one in yes]),
                np.mean([bool(one.right.intersection(one.ranked[:FIRST])) for one in yes]),
            ),
        }
        shown = "  ".join(f"{key} {np.round(value, 2)}" for key, value in cells.items())
        print(f"{name:24} {len(yes)} + {len(no)}:  {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("keys", type=Path, nargs="?")
    parser.add_argument("--projects", type=Path)
    parser.add_argument("--rank", default="maxsim")
    options = parser.parse_args()
    sessions = json.loads((options.corpus / "gold.json").read_text("utf-8"))
    facts = {f"{s['session']}/{f['id']}": {"project": s["project"], "text": f["text"]} for s in sessions for f in s["facts"]}
    keys = json.loads(options.keys.read_text("utf-8")) if options.keys else {}
    prompts = json.loads(options.prompts.read_text("utf-8"))
    generic = [{"project": "", "form": "", "lang": "en", "fact_ids": [], "text": text} for text in GENERIC]
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(Path(home), rank=options.rank)
        service = Orchestrator(settings, SystemClock(), make_embedder(settings), encoder=make_encoder(settings))
        names = store(facts, keys, service)
        service.settle(600)
        found = [ask(prompt, service, names, settings.floor) for prompt in prompts]
        others = [ask(prompt, service, names, settings.floor) for prompt in generic]
        service.close()
    named = set(json.loads(options.projects.read_text("utf-8"))) if options.projects else set()
    report("these projects", [one for one in found if one.project in named])
    report("other projects", [one for one in found if one.project not in named])
    silent, nothing = (np.mean([not getattr(one, name) for one in others]) for name in ("hook", "search"))
    print(
        f"{len(others)} prompts unrelated to any memory, everywhere: hook silent {silent:.2f}, search gives nothing {nothing:.2f}"
    )


if __name__ == "__main__":
    main()
