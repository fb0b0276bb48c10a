"""Fit the weights for memories with keys in memoryd/router/relevance.json, on prompts in other words than the facts.

    python -m benchmarks.fit_keys CORPUS PROMPTS KEYS SPLIT [--silence 0.9] [--write]

CORPUS holds gold.json (sessions with facts). PROMPTS is a list of {project, fact_ids, form, lang, text}, fact ids as
`session/fact`, empty for a prompt that nothing answers though its subject is known. KEYS maps fact ids to questions. Each prompt
is asked over the facts of its own project. SPLIT lists the projects of the first half: the weights are fitted and the floor of
a prompt's hook is chosen on these, so that it stays silent for `--silence` of their unanswerable prompts. Both halves are
reported. What `--write` keeps is fitted on all prompts, after that.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_relevance import fit
from memoryd.config import Settings
from memoryd.embed import make_embedder
from memoryd.recall.inject import PROMPT_CHARACTERS, PROMPT_MARGIN
from memoryd.router.relevance import (
    FEATURES_OF,
    WEIGHTS_FILE,
    is_foreign,
    item_terms,
    key_match,
    load_model,
    overlap_of,
    stem,
    term_weights,
)

Array = NDArray[np.float64]
SETS = ("keys", "key_words")
# Of each prompt the facts that look best are fitted: the many that share nothing with it are told apart by anything.
HARDEST = 4
FORMS = ("question", "task", "long", "other_language")


@dataclass(frozen=True)
class Asked:
    """One prompt with its project's facts: features by name, and which of them answer it."""

    project: str
    form: str
    features: dict[str, Array]
    right: Array
    plain: Array

    @property
    def answerable(self) -> bool:
        return bool(self.right.any())


def ask(facts: dict[str, dict[str, str]], keys: dict[str, list[str]], prompts: Sequence[dict[str, Any]]) -> list[Asked]:
    """Features of every prompt with every fact of its project."""
    ids = sorted(facts)
    owned = [(id, key) for id in ids for key in keys.get(id, ())]
    with tempfile.TemporaryDirectory() as home:
        embedder = make_embedder(Settings(Path(home)))
        queries = embedder.embed_queries([prompt["text"][:PROMPT_CHARACTERS] for prompt in prompts])
        to_keys = queries @ embedder.embed_queries([key for _, key in owned]).T
        to_facts = queries @ embedder.embed([facts[id]["text"] for id in ids]).T
    terms = {id: item_terms(facts[id]["text"]) for id in ids}
    everything = {id: terms[id].union(*map(item_terms, keys.get(id, ()))) for id in ids}
    frequency: Callable[[str], int] = cache(lambda word: sum(stem(word) in of for of in everything.values()))
    model = load_model()
    out = []
    for row, prompt in enumerate(prompts):
        text = prompt["text"][:PROMPT_CHARACTERS]
        weights = term_weights(text, frequency, len(ids))
        own = [id for id in ids if facts[id]["project"] == prompt["project"]]
        matches = []
        for id in own:
            cosines = [float(to_keys[row, place]) for place, (owner, _) in enumerate(owned) if owner == id]
            matches.append(key_match(text, weights, terms[id], keys.get(id, []), cosines))
        plain = [
            model.estimate(overlap_of(weights, terms[id]), float(to_facts[row, ids.index(id)]), foreign=is_foreign(text))
            for id in own
        ]
        features = {
            "key": np.array([match.cosine or 0.0 for match in matches]),
            "coverage": np.array([match.overlap.coverage for match in matches]),
            "key_coverage": np.array([match.best for match in matches]),
            "asks": np.array([float(match.asks) for match in matches]),
            "length": np.array([match.length for match in matches]),
        }
        right = np.array([id in prompt["fact_ids"] for id in own], dtype=bool)
        out.append(Asked(prompt["project"], prompt["form"], features, right, np.array(plain)))
    return [asked for asked in out if len(asked.right)]


def train(asked: Sequence[Asked], name: str, silence: float, floor: float) -> Array:
    """Bias and weights; `silence` of the unanswerable prompts stay below the floor of a prompt's hook."""
    columns = FEATURES_OF[name]
    x, y = [], []
    for one in asked:
        table = np.array([one.features[column] for column in columns]).T
        hardest = set(np.argsort(-(one.features["key"] + one.features["coverage"]))[:HARDEST].tolist())
        chosen = sorted(hardest | set(np.flatnonzero(one.right).tolist()))
        x.append(table[chosen])
        y.append(one.right[chosen].astype(float))
    model = fit(np.concatenate(x), np.concatenate(y))
    highest = [scores(one, name, model).max() for one in asked if not one.answerable]
    model[0] += math.log(floor / (1 - floor)) - float(np.quantile(highest, silence))
    return model


def scores(asked: Asked, name: str, model: Array) -> Array:
    """Log-odds of each fact."""
    return np.asarray(model[0] + np.array([asked.features[column] for column in FEATURES_OF[name]]).T @ model[1:])


def report(label: str, asked: Sequence[Asked], judge: Callable[[Asked], Array], floors: Sequence[float]) -> None:
    """Shares found and silent at each floor, the right fact among the first three at any, and by form at the last floor."""
    yes, no = [one for one in asked if one.answerable], [one for one in asked if not one.answerable]
    cells = []
    for floor in floors:
        z = math.log(floor / (1 - floor))
        found = np.mean([bool((judge(one)[one.right] >= z).any()) for one in yes])
        silent = np.mean([bool((judge(one) < z).all()) for one in no])
        cells.append(f"floor {floor:g}: found {found:.2f}, silent {silent:.2f}")
    first = np.mean([bool(one.right[np.argsort(-judge(one), kind="stable")[:3]].any()) for one in yes])
    print(
        f"{label:28} {len(yes)} answerable, {len(no)} not   " + "   ".join(cells) + f"   first three without a floor {first:.2f}"
    )
    z = math.log(floors[-1] / (1 - floors[-1]))
    by_form = []
    for form in FORMS:
        hits = [bool((judge(one)[one.right] >= z).any()) for one in yes if one.form == form]
        quiet = [bool((judge(one) < z).all()) for one in no if one.form == form]
        by_form.append(f"{form} {np.mean(hits):.2f} of {len(hits)}, silent {np.mean(quiet):.2f} of {len(quiet)}")
    print(" " * 28, "  ".join(by_form))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("keys", type=Path)
    parser.add_argument("split", type=Path)
    parser.add_argument("--silence", type=float, default=0.9)
    parser.add_argument("--write", action="store_true", help="replace these weights in the file")
    options = parser.parse_args()
    sessions = json.loads((options.corpus / "gold.json").read_text("utf-8"))
    facts = {f"{s['session']}/{f['id']}": {"project": s["project"], "text": f["text"]} for s in sessions for f in s["facts"]}
    prompts = json.loads(options.prompts.read_text("utf-8"))
    asked = ask(facts, json.loads(options.keys.read_text("utf-8")), prompts)
    first = set(json.loads(options.split.read_text("utf-8")))
    floor = Settings(Path()).floor
    floors = (floor, floor + PROMPT_MARGIN)
    parts = {"first half": [a for a in asked if a.project in first], "second half": [a for a in asked if a.project not in first]}
    for label, part in parts.items():
        report(f"without keys, {label}", part, lambda one: np.log(one.plain / (1 - one.plain) + 1e-12), floors)
    raw = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    for name in SETS:
        model = train(parts["first half"], name, options.silence, floors[-1])
        for label, part in parts.items():
            report(f"{name}, {label}", part, lambda one, name=name, model=model: scores(one, name, model), floors)  # type: ignore[misc]
        model = train(asked, name, options.silence, floors[-1])
        report(f"{name}, fitted on all", asked, lambda one, name=name, model=model: scores(one, name, model), floors)  # type: ignore[misc]
        raw[name] = {"bias": round(float(model[0]), 4)}
        raw[name] |= {column: round(value, 4) for column, value in zip(FEATURES_OF[name], model[1:].tolist(), strict=True)}
    print(json.dumps({name: raw[name] for name in SETS}, indent=2))
    if options.write:
        WEIGHTS_FILE.write_text(json.dumps(raw, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
