"""Train the classifier of statement pairs that uses only their words: memoryd/language/weights.json. Deterministic, numpy only.

    python -m benchmarks.train_pairs                 validate, print figures, write the weights
    python -m benchmarks.train_pairs --dry-run       figures only

The pairs are in benchmarks/data: pairs_*.json (see benchmarks/pairs.py; each file has a different author) and
pairs_*.txt. The labelled pairs of the dream's tests have less weight, because they don't distinguish contradictions.
Near misses, which combine a statement with the nearest one from another pair, also have less weight. The model that reads
both texts is trained by benchmarks/tune_pairs.py.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from memoryd.embed.onnx import OnnxEmbedder
from memoryd.language.classifier import ORDER, WEIGHTS_FILE, ClassifierWeights
from memoryd.language.compare import Assertion, Comparison, Relation, compare_read, may_be_same, reading
from memoryd.language.comparer import is_near, weighed
from memoryd.language.cues import has_correction
from memoryd.language.features import features
from memoryd.language.stems import is_foreign

Array = NDArray[Any]  # In floats of either precision.

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).with_name("data")
LABELLED = ROOT / "tests" / "memoryd" / "dream" / "pairs"
OF_LABEL = {"paraphrase": "same", "contradicting": "replaces", "different": "different", "unrelated": "different"}
LABELLED_WEIGHT, NEAR_WEIGHT = 0.4, 0.5
NEAR_MISSES = 500
TOO_NEAR = 0.93
RIDGE = 30.0
FOLDS = 5
BARE = 0.4
MIN_SAME = 0.3
PRECISION = {"same": 0.93, "replaces": 0.91, "conflict": 0.85}
SEED = 7


@dataclass(frozen=True)
class LabelledQuery:
    old: Assertion
    new: Assertion
    relation: Relation
    weight: float
    measured: bool
    group: int
    author: str = ""

    @property
    def marked(self) -> bool:
        """Return whether both statements are the user's, or the newer one mentions a change."""
        return (self.old.by_user and self.new.by_user) or has_correction(self.new.text)


def load() -> list[LabelledQuery]:
    out: list[LabelledQuery] = []
    for file in sorted(DATA.glob("pairs_*.json")):
        raw = json.loads(file.read_text("utf-8"))
        for entry in raw["pairs"] if isinstance(raw, dict) else raw:
            old = Assertion(entry["old"], by_user=entry["source_old"] == "user")
            new = Assertion(entry["new"], by_user=entry["source_new"] == "user")
            out.append(LabelledQuery(old, new, Relation(entry["relation"]), 1.0, True, len(out), file.name))
    for file in sorted(DATA.glob("pairs_*.txt")):
        for line in file.read_text("utf-8").splitlines():
            if line and not line.startswith("#"):
                relation, _, sources, texts = (part.strip() for part in line.split(" | ", 3))
                first, second = texts.split(" => ")
                old, new = Assertion(first, by_user=sources[0] == "u"), Assertion(second, by_user=sources[1] == "u")
                out.append(LabelledQuery(old, new, Relation(relation), 1.0, True, len(out), file.name))
    for labelled in sorted(LABELLED.glob("*.jsonl")):
        for line in labelled.read_text("utf-8").splitlines():
            entry = json.loads(line)
            relation_ = Relation(OF_LABEL[entry["label"]])
            out.append(LabelledQuery(Assertion(entry["a"]), Assertion(entry["b"]), relation_, LABELLED_WEIGHT, False, len(out)))
    return out


def near_misses(pairs: Sequence[LabelledQuery], vectors: dict[str, Array]) -> list[LabelledQuery]:
    texts = sorted(vectors)
    where: dict[str, set[int]] = {}
    for pair in pairs:
        for said in (pair.old, pair.new):
            where.setdefault(said.text, set()).add(pair.group)
    matrix = np.stack([vectors[text] for text in texts])
    random = np.random.default_rng(SEED)
    measured = [pair for pair in pairs if pair.measured]
    out = []
    for place in random.permutation(len(measured))[:NEAR_MISSES].tolist():
        pair = measured[place]
        nearness = matrix @ vectors[pair.old.text]
        for row in np.argsort(-nearness).tolist():
            if not where[texts[row]] & where[pair.old.text] and nearness[row] < TOO_NEAR:
                other = Assertion(texts[row], by_user=bool(random.random() < 0.5))
                out.append(LabelledQuery(pair.old, other, Relation.DIFFERENT, NEAR_WEIGHT, False, pair.group, pair.author))
                break
    return out


@dataclass(frozen=True)
class Measured:
    """Pairs as numbers, the results of the rules for each, and the pairs that pass the gates of a merge."""

    x: Array
    rules: list[Comparison]
    gates: list[bool]


def measure(pairs: Sequence[LabelledQuery], vectors: dict[str, Array] | None) -> Measured:
    out = Measured(np.zeros((0, 0)), [], [])
    rows = []
    for pair in pairs:
        a, b = reading(pair.old), reading(pair.new)
        foreign = is_foreign(pair.old.text) or is_foreign(pair.new.text)
        cosine = None if vectors is None or foreign else float(vectors[pair.old.text] @ vectors[pair.new.text])
        out.rules.append(compare_read(pair.old, pair.new, a, b, cosine))
        out.gates.append(is_near(a, b, cosine) and may_be_same(pair.old, pair.new, a, b))
        rows.append(features(pair.old, pair.new, a, b, out.rules[-1]))
    return Measured(np.stack(rows), out.rules, out.gates)


def fit(x: Array, y: NDArray[np.int64], weight: Array, ridge: float = RIDGE) -> dict[str, Array]:
    """Fit a ridge-penalised softmax regression by Newton-like steps (Böhning 1992: a fixed bound on the curvature)."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale < 1e-6, 1.0, scale)
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    target = np.eye(len(ORDER))[y]
    penalty = np.full(z.shape[1], ridge)
    penalty[-1] = 1e-3
    bound = 0.5 * (z * weight[:, None]).T @ z + np.diag(penalty)
    inverse = np.linalg.inv(bound)
    theta = np.zeros((z.shape[1], len(ORDER)))
    for _ in range(400):
        scores = z @ theta
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances = power / power.sum(axis=1, keepdims=True)
        theta += inverse @ (z.T @ ((target - chances) * weight[:, None]) - penalty[:, None] * theta)
    return {"mean": mean, "scale": scale, "weights": theta[:-1], "bias": theta[-1]}


def chances(model: dict[str, Array], x: Array) -> Array:
    scores = ((x - model["mean"]) / model["scale"]) @ model["weights"] + model["bias"]
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = power / power.sum(axis=1, keepdims=True)
    return shares


def threshold(score: Array, right: NDArray[np.bool_], precision: float, name: str) -> float:
    """Return the lowest score at which a cut still has the required precision."""
    order = np.argsort(-score)
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    ok = np.flatnonzero(shares >= precision)
    last = int(ok[-1]) if len(ok) else 0
    found = int(right[order][: last + 1].sum())
    print(f"    {name:9} from {score[order][last]:.2f} on: precision {shares[last]:.2f}, recall {found}/{int(right.sum())}")
    return float(score[order][last])


def train(pairs: Sequence[LabelledQuery], full: Measured, bare: Measured) -> dict[str, object]:
    """Train on each pair twice, with its cosine and, at a lower weight, without it, because not every embedder provides one."""
    y = np.array([ORDER.index(pair.relation) for pair in pairs])
    weight = np.array([pair.weight for pair in pairs])
    measured = np.array([pair.measured for pair in pairs])
    folds = np.random.default_rng(SEED).permutation(max(pair.group for pair in pairs) + 1) % FOLDS
    fold = np.array([folds[pair.group] for pair in pairs])

    def taught(rows: NDArray[np.bool_]) -> dict[str, Array]:
        x = np.vstack([full.x[rows], bare.x[rows]])
        return fit(x, np.tile(y[rows], 2), np.concatenate([weight[rows], BARE * weight[rows]]))

    limits: dict[str, float] = {}
    for name, data in (("without", bare), ("with", full)):
        guess = np.zeros((len(pairs), len(ORDER)))
        for number in range(FOLDS):
            guess[fold == number] = chances(taught(fold != number), data.x[fold == number])
        share = (guess.argmax(axis=1) == y)[measured].mean()
        print(f"{name} cosine: {int(measured.sum())} pairs, right {share:.2f} (in folds that were not trained on)")
        conflict = guess[:, 2] + guess[:, 3]
        same = np.where(np.array(data.gates) & (conflict < 0.2), guess[:, 0], 0.0)
        limits = {
            "same": max(MIN_SAME, threshold(same[measured], (y == 0)[measured], PRECISION["same"], "same")),
            "replaces": threshold(guess[measured, 2], (y == 2)[measured], PRECISION["replaces"], "replaces"),
            "conflict": threshold(conflict[measured], ((y == 2) | (y == 3))[measured], PRECISION["conflict"], "conflict"),
        }
        limits["marked"] = limits["replaces"]
        decided(pairs, guess, data, limits)
    model = taught(np.ones(len(pairs), dtype=bool))
    return {name: np.round(array, 5).tolist() for name, array in model.items()} | limits


def decided(pairs: Sequence[LabelledQuery], guess: Array, data: Measured, limits: dict[str, Any]) -> None:
    """Print the product's decisions on held-out pairs."""
    none = np.zeros(0, dtype=np.float32)
    model = ClassifierWeights(none, none, none, none, **limits)
    table: Counter[tuple[str, str]] = Counter()
    for number, pair in enumerate(pairs):
        if pair.measured:
            row = dict(zip(ORDER, guess[number].tolist(), strict=True))
            both = pair.old.by_user and pair.new.by_user
            found = weighed(model, data.rules[number], row, both, data.gates[number], marked=pair.marked)
            table[pair.relation.value, found.relation.value] += 1
    for relation in ("same", "replaces"):
        right = table[relation, relation]
        found_, wanted = (sum(n for key, n in table.items() if key[side] == relation) for side in (1, 0))
        print(f"    decided {relation}: precision {right}/{found_}, recall {right}/{wanted}")
    merged = sum(table[gold, "same"] for gold in ("replaces", "contradicts"))
    dropped = sum(table[gold, seen] for gold in ("refines", "different") for seen in ("same", "replaces"))
    print(f"    opposites merged {merged}, true statements dropped {dropped}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    pairs = load()
    texts = sorted({said.text for pair in pairs for said in (pair.old, pair.new)})
    vectors = dict(zip(texts, OnnxEmbedder().embed(texts), strict=True))
    pairs += near_misses(pairs, vectors)
    full = measure(pairs, vectors)
    out = train(pairs, full, measure(pairs, None))
    if not options.dry_run:
        WEIGHTS_FILE.write_bytes(orjson.dumps(out))
        print(f"{WEIGHTS_FILE}: {WEIGHTS_FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
