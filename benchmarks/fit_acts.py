"""Fit the offline reader's judge of memory acts, and measure it on sentences held out from the fit.

    python -m benchmarks.fit_acts            ten folds: figures of the rules, the judge and both, by kind of text
    python -m benchmarks.fit_acts --write    fit on all sentences and write memoryd/daydream/offline/acts.npy

The sentences are in benchmarks/acts.txt, one per line: + for an act of memory, - for one that only concerns the moment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.extraction import regress
from memoryd.core.text import CJK
from memoryd.daydream.offline.acts import acts_of
from memoryd.daydream.offline.reader import WEIGHTS
from memoryd.daydream.offline.sentences import statements
from memoryd.embed.onnx import OnnxEmbedder

SENTENCES = Path(__file__).with_name("acts.txt")
RIDGE = 0.11
FOLDS = 10
SEED = 7
# Share of lasting statements that may be refused. They become proposals and are not lost.
MAY_REFUSE = 0.04


@dataclass(frozen=True)
class Labelled:
    """Sentences with their labels (1 for lasting statements) and unit vectors."""

    texts: list[str]
    labels: np.ndarray
    vectors: np.ndarray


def load(path: Path = SENTENCES) -> list[tuple[bool, str]]:
    """Return (is an act, sentence) for each line. A duplicate sentence counts once."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:2] in ("+ ", "- ")]
    return [(line[0] == "+", line[2:].strip()) for line in dict.fromkeys(lines)]


def labelled() -> Labelled:
    """Return the sentences with their vectors."""
    entries = load()
    texts = [text for _, text in entries]
    return Labelled(texts, np.array([float(act) for act, _ in entries]), np.asarray(OnnxEmbedder().embed(texts), dtype=float))


def fit(vectors: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the bias and the weights."""
    return regress(np.hstack([np.ones((len(vectors), 1)), vectors]), labels, RIDGE)


def held_out(data: Labelled) -> np.ndarray:
    """Return a score for each sentence, using weights fitted without its fold."""
    fold = np.random.default_rng(SEED).permutation(len(data.texts)) % FOLDS
    scores = np.zeros(len(data.texts))
    for number in range(FOLDS):
        weights = fit(data.vectors[fold != number], data.labels[fold != number])
        scores[fold == number] = weights[0] + data.vectors[fold == number] @ weights[1:]
    return scores


def bar_of(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the score below which a sentence is refused."""
    return float(np.quantile(scores[labels == 1], MAY_REFUSE))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(argv)
    data = labelled()
    scores = held_out(data)
    bar = bar_of(scores, data.labels)
    rules = np.array([any(acts_of([one.text for one in statements(text)])) for text in data.texts])
    judged = scores >= bar
    wide = np.array([bool(CJK.search(text)) for text in data.texts])
    latin = np.array([text.isascii() for text in data.texts])
    acts = data.labels == 1
    for name, rows in (("all", acts | True), ("ASCII", latin), ("CJK", wide), ("others", ~latin & ~wide)):
        print(f"{name}: {int((rows & acts).sum())} acts, {int((rows & ~acts).sum())} of the moment")
        for what, taken in (("rules", rules), ("judge", judged), ("both", rules & judged)):
            right, wrong = int((taken & rows & acts).sum()), int((taken & rows & ~acts).sum())
            print(f"  {what}: keeps {right} acts and {wrong} of the moment")
    if args.write:
        weights = np.concatenate([[bar], fit(data.vectors, data.labels)]).astype(np.float32)
        np.save(WEIGHTS, weights)
        print(f"wrote {WEIGHTS.name}, {len(weights)} numbers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
