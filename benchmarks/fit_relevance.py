"""Fit the weights for memories without keys in memoryd/retrieval/relevance.json on a corpus of labelled sessions.

    python benchmarks/fit_relevance.py CORPUS [--write] [--seed 0]

CORPUS contains gold.json: sessions with `facts` (id, text) and `queries` (q, answer_fact_ids; an empty list marks an
unanswerable query). All facts are in one store. Each query is run against all facts and against those of its own project.
Figures are cross-validated by session.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.core.config import Settings
from memoryd.embed import make_embedder
from memoryd.language.stems import is_foreign, stem
from memoryd.retrieval.relevance import (
    FORMAT,
    PLAIN_FEATURES,
    WEIGHTS_FILE,
    features_of,
    item_terms,
    overlap_of,
    term_weights,
)

Array = NDArray[np.float64]
FOLDS = 7
RIDGE = 1.0
KEEP = {"meaning": 0.92, "words": 0.8}  # Words alone separate right from wrong less well, so they sacrifice more answers.
FEATURES = {name: features_of(name) for name in ("meaning", "words")}
COLUMN = {name: number for number, name in enumerate(PLAIN_FEATURES)}
# Typical prompts that no memory answers. Half are used for the fit, half for the figures.
GENERIC = (
    "zebra quantum cheesecake", "continue", "What is my favourite pizza topping?", "ok thanks", "go on please",
    "yes, do it", "fix it", "looks good to me", "Write a poem about the sea.", "What's the capital of Mongolia?",
    "How do I bake sourdough bread?", "Who won the world cup in 1998?", "Rename this variable to total.", "try again",
    "can you explain that?", "what is this?", "Add a docstring to this function.", "commit",
    "Translate this sentence into French.", "make it faster", "why?", "undo that", "Book a flight to Lisbon for two.",
    "what do you think?", "How tall is Mount Everest?", "show me the diff", "Remind me to water the plants.",
    "run it again", "Summarise the article about penguins.", "is that all?", "Plan a birthday party for my niece.",
    "stop", "Which guitar strings sound warmest?", "use the other one", "Compute the volume of a sphere.", "hello",
    "Recommend a novel about whales.", "let's move on", "How many moons has Jupiter?", "purple elephant tax spreadsheet",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A query over one scope: features and labels of all facts in it. An empty `group` marks a generic prompt."""

    group: str
    scope: str
    answerable: bool
    foreign: bool
    features: Array
    labels: Array


def load(corpus: Path) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """Load the facts and queries of the corpus, each with its session and project. Generic prompts are last."""
    sessions = json.loads((corpus / "gold.json").read_text("utf-8"))
    facts = [
        {"session": s["session"], "project": s["project"], "id": f["id"], "text": f["text"]} for s in sessions for f in s["facts"]
    ]
    queries = [
        {"session": s["session"], "project": s["project"], "text": q["q"], "answers": set(q["answer_fact_ids"])}
        for s in sessions
        for q in s["queries"]
    ]
    queries += [{"session": "", "project": "", "text": text, "answers": set()} for text in GENERIC]
    return facts, queries


def ask(facts: Sequence[dict[str, str]], queries: Sequence[dict[str, Any]]) -> list[Asked]:
    """Compute the features of all queries with all facts, over the whole corpus and over the query's project."""
    with tempfile.TemporaryDirectory() as home:
        embedder = make_embedder(Settings(Path(home)))
        cosines = embedder.embed_queries([q["text"] for q in queries]) @ embedder.embed([f["text"] for f in facts]).T
    terms = [item_terms(f["text"]) for f in facts]
    frequency: Callable[[str], int] = lambda word: sum(stem(word) in t for t in terms)  # noqa: E731
    out = []
    for row, query in enumerate(queries):
        weights = term_weights(query["text"], frequency, len(facts))
        overlaps = [overlap_of(weights, t) for t in terms]
        features = np.array(
            [[value(o, cosines[row, i]) for value, _ in PLAIN_FEATURES.values()] for i, o in enumerate(overlaps)], dtype=float
        )
        labels = np.array([float(f["session"] == query["session"] and f["id"] in query["answers"]) for f in facts])
        own = np.array([f["project"] == query["project"] for f in facts])
        common = (bool(query["answers"]), is_foreign(query["text"]))
        out.append(Asked(query["session"], "everything", *common, features, labels))
        if query["session"]:
            out.append(Asked(query["session"], "project", *common, features[own], labels[own]))
    return out


def fit(x: Array, y: Array) -> Array:
    """Fit a ridge-penalised logistic regression by Newton's method on standardised columns.

    Return (bias, weights) for raw columns.
    """
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    a = np.c_[np.ones(len(x)), (x - mean) / spread]
    penalty = np.eye(a.shape[1]) * RIDGE
    penalty[0, 0] = 0.0
    b = np.zeros(a.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-a @ b))
        step = np.linalg.solve((a * (p * (1 - p))[:, None]).T @ a + penalty, a.T @ (p - y) + penalty @ b)
        b -= step
        if np.abs(step).max() < 1e-9:
            break
    weights = b[1:] / spread
    return np.asarray(np.r_[b[0] - weights @ mean, weights])


def scores(model: Array, asked: Asked, columns: Sequence[int]) -> Array:
    """Return the log-odds of each fact. A fact without common terms and without a cosine gets -inf."""
    z: Array = model[0] + asked.features[:, columns] @ model[1:]
    if COLUMN["cosine"] in columns:
        return z
    return np.asarray(np.where(asked.features[:, COLUMN["coverage"]] > 0, z, -math.inf))


def train(asked: Sequence[Asked], name: str) -> Array:
    """Fit one set of weights, shifted so that a share KEEP of the answers over the own project has log-odds above 0."""
    columns = [COLUMN[feature] for feature in FEATURES[name]]
    used = [a for a in asked if name == "words" or not a.foreign]
    model = fit(np.concatenate([a.features for a in used])[:, columns], np.concatenate([a.labels for a in used]))
    right = np.concatenate([scores(model, a, columns)[a.labels == 1] for a in used if a.scope == "project"])
    finite = np.where(np.isfinite(right), right, -1e3)
    model[0] -= np.quantile(finite, 1 - KEEP[name])
    return model


def folds(asked: Sequence[Asked], seed: int) -> dict[str, int]:
    """Map sessions to folds. Generic prompts are handled separately."""
    sessions = sorted({a.group for a in asked if a.group})
    np.random.default_rng(seed).shuffle(sessions)
    return {session: i % FOLDS for i, session in enumerate(sessions)}


def split(asked: Sequence[Asked], fold_of: dict[str, int], fold: int) -> tuple[list[Asked], list[Asked]]:
    """Return the training and test parts of a fold. Generic prompts alternate."""
    generic = [a for a in asked if not a.group]
    real = [a for a in asked if a.group]
    inside = [a for a in real if fold_of[a.group] == fold]
    outside = [a for a in real if fold_of[a.group] != fold]
    return outside + generic[fold % 2 :: 2], inside + (generic[1 - fold % 2 :: 2] if fold < 2 else [])


def validate(asked: Sequence[Asked], name: str, seed: int) -> dict[str, dict[str, float]]:
    """Return cross-validated figures for each scope."""
    columns = [COLUMN[feature] for feature in FEATURES[name]]
    word_columns = [COLUMN[feature] for feature in FEATURES["words"]]
    fold_of, judged = folds(asked, seed), []
    for fold in range(FOLDS):
        training, test = split(asked, fold_of, fold)
        model, words = train(training, name), train(training, "words")
        judged += [(a, scores(words, a, word_columns) if a.foreign else scores(model, a, columns)) for a in test]
    return {
        scope: figures([(a, z) for a, z in judged if a.scope == scope and a.group]) for scope in ("everything", "project")
    } | {"generic": figures([(a, z) for a, z in judged if not a.group])}


def figures(judged: Sequence[tuple[Asked, Array]]) -> dict[str, float]:
    """Return the shares of kept facts, answered queries and silent queries, and the wrong facts per answerable query."""
    yes = [(a, z) for a, z in judged if a.answerable]
    no = [z for a, z in judged if not a.answerable]
    out = {"silent": float(np.mean([not (z >= 0).any() for z in no])), "unanswerable": len(no)}
    if yes:
        kept = np.concatenate([z[a.labels == 1] >= 0 for a, z in yes])
        out |= {
            "facts_kept": float(kept.mean()),
            "queries_answered": float(np.mean([(z[a.labels == 1] >= 0).any() for a, z in yes])),
            "wrong_per_query": float(np.mean([((z >= 0) & (a.labels == 0)).sum() for a, z in yes])),
            "first_right": float(np.mean([a.labels[np.argmax(z)] for a, z in yes])),
        }
    return {key: round(value, 3) for key, value in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="replace the weights file")
    options = parser.parse_args()
    asked = ask(*load(options.corpus))
    out: dict[str, Any] = json.loads(WEIGHTS_FILE.read_text("utf-8"))  # The weights with keys are not changed.
    out |= {"format": FORMAT, "embedder": "bge-small-en-v1.5"}
    for name, features in FEATURES.items():
        for scope, values in validate(asked, name, options.seed).items():
            print(f"{name:8} {scope:10} " + "  ".join(f"{key} {value:g}" for key, value in values.items()))
        model = train(asked, name)
        named = dict(zip(("bias", *features), model.tolist(), strict=True))
        out[name] = {key: round(value, 4) for key, value in named.items()}
    print(json.dumps(out, indent=2))
    if options.write:
        WEIGHTS_FILE.write_text(json.dumps(out, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
