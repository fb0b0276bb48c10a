"""Train the classifiers of statement pairs: memoryd/language/weights.json and reader.npz. Deterministic, numpy only.

    python -m benchmarks.train_pairs                 validate, print figures, write the weights
    python -m benchmarks.train_pairs --dry-run       figures only
    python -m benchmarks.train_pairs --reader        only the classifier that reads both texts

The pairs are in benchmarks/data: pairs_*.json (see benchmarks/pairs.py; each file has a different author) and
pairs_*.txt. The labelled pairs of the dream's tests have less weight, because they don't distinguish contradictions.
Near misses, which combine a statement with the nearest one from another pair, also have less weight. The thresholds
of the classifier that reads both texts are chosen on held-out authors: each pairs_*.json in turn is left out (the
author of pairs_*.txt also wrote the rules).
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
from memoryd.embed.pairs import CrossEncoder
from memoryd.language.classifier import LIMITS, ORDER, READER_FILE, WEIGHTS_FILE, ClassifierWeights, states_of
from memoryd.language.compare import Assertion, Comparison, Relation, compare_read, may_be_same, reading
from memoryd.language.comparer import is_near, reads_the_same, weighed
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
# Number of principal axes of the states of two texts, and the ridge penalty on them and on the word features.
AXES = 160
READER_RIDGE = 100.0
# Near misses and the labelled pairs of the dream's tests have less weight than pairs with a fully judged relation.
READER_NEAR = 0.15
READ_REPLACES, READ_CONFLICT = 0.9, 0.85
# Without a word that indicates a change, too few statements of an assistant replace another one to choose a threshold from.
READ_UNMARKED = 0.65


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


# The classifier that reads both texts


def read_all(pairs: Sequence[LabelledQuery]) -> Array:
    """Return the states of each pair, one row per pair."""
    reader = CrossEncoder()
    return np.stack([states_of(reader, pair.old.text, pair.new.text) for pair in pairs]).astype(np.float32)


def main_axes(states: Array) -> tuple[Array, Array]:
    """Return the mean of the rows, and the matrix that maps them to AXES principal components of variance 1."""
    mean, scale = states.mean(axis=0), np.maximum(states.std(axis=0), 1e-6)
    rows = (states - mean) / scale
    power, left = np.linalg.eigh((rows @ rows.T).astype(np.float64))
    power, left = power[::-1][:AXES], left[:, ::-1][:, :AXES]
    return mean, (rows.T @ (left / power) * np.sqrt(len(rows))) / scale[:, None]


def fit_reader(numbers: Array, states: Array, y: NDArray[np.int64], weight: Array) -> dict[str, Array]:
    """Fit a model of word features and states.

    The weights of the principal axes are multiplied out into weights of the states.
    """
    middle, axes = main_axes(states)
    model = fit(np.hstack([numbers, (states - middle) @ axes]), y, weight, READER_RIDGE)
    count = numbers.shape[1]
    scaled = model["weights"][count:] / model["scale"][count:, None]
    of_states = axes @ scaled
    return {
        "mean": model["mean"][:count],
        "scale": model["scale"][:count],
        "weights": model["weights"][:count],
        "bias": model["bias"] - model["mean"][count:] @ scaled - middle @ of_states,
        "states": of_states,
    }


def read_chances(model: dict[str, Array], numbers: Array, states: Array) -> Array:
    scores = ((numbers - model["mean"]) / model["scale"]) @ model["weights"] + states @ model["states"] + model["bias"]
    power = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def train_reader(pairs: Sequence[LabelledQuery], data: Measured, states: Array) -> dict[str, Array]:
    """Validate on held-out authors, choose thresholds there, and train on all pairs."""
    y = np.array([ORDER.index(pair.relation) for pair in pairs])
    weight = np.array([pair.weight for pair in pairs])
    measured = np.array([pair.measured for pair in pairs])
    weight = np.where(measured, weight, READER_NEAR)
    author = np.array([pair.author for pair in pairs])
    many = sorted({name for name in author[measured].tolist() if name.endswith(".json")})
    guess = np.zeros((len(pairs), len(ORDER)))
    judged = np.zeros(len(pairs), dtype=bool)
    for name in many:
        rows, own = author != name, (author == name) & measured
        model = fit_reader(data.x[rows], states[rows], y[rows], weight[rows])
        guess[own] = read_chances(model, data.x[own], states[own])
        judged |= own
        print(f"  {name}: {int(own.sum())} pairs, right {(guess[own].argmax(axis=1) == y[own]).mean():.2f} (author left out)")
    conflict = guess[:, 2] + guess[:, 3]
    mergeable = np.array(
        [
            reads_the_same(pair.old, pair.new, reading(pair.old), reading(pair.new), dict(zip(ORDER, row.tolist(), strict=True)))
            for pair, row in zip(pairs, guess, strict=True)
        ]
    )
    marked = np.array([pair.marked for pair in pairs])
    limits = {
        "same": max(
            MIN_SAME, threshold(np.where(mergeable, guess[:, 0], 0.0)[judged], (y == 0)[judged], PRECISION["same"], "same")
        ),
        "replaces": READ_UNMARKED,
        "conflict": threshold(conflict[judged], ((y == 2) | (y == 3))[judged], READ_CONFLICT, "conflict"),
        "marked": threshold(guess[judged & marked, 2], (y == 2)[judged & marked], READ_REPLACES, "marked"),
    }
    for name in many:
        own_rows = [number for number in np.flatnonzero(judged).tolist() if author[number] == name]
        print(f"  {name}:")
        gates = [bool(mergeable[number]) for number in own_rows]
        part = Measured(data.x[own_rows], [data.rules[number] for number in own_rows], gates)
        decided([pairs[number] for number in own_rows], guess[own_rows], part, limits)
    model = fit_reader(data.x, states, y, weight)
    return {name: array.astype(np.float32) for name, array in model.items()} | {
        name: np.asarray(limits[name], np.float32) for name in LIMITS
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--reader", action="store_true")
    options = parser.parse_args()
    pairs = load()
    texts = sorted({said.text for pair in pairs for said in (pair.old, pair.new)})
    vectors = dict(zip(texts, OnnxEmbedder().embed(texts), strict=True))
    pairs += near_misses(pairs, vectors)
    full = measure(pairs, vectors)
    if not options.reader:
        out = train(pairs, full, measure(pairs, None))
        if not options.dry_run:
            WEIGHTS_FILE.write_bytes(orjson.dumps(out))
            print(f"{WEIGHTS_FILE}: {WEIGHTS_FILE.stat().st_size} bytes")
    weights = train_reader(pairs, full, read_all(pairs))
    if not options.dry_run:
        np.savez_compressed(READER_FILE, **weights)  # type: ignore[arg-type]
        print(f"{READER_FILE}: {READER_FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
