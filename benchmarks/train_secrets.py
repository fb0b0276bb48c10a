"""Train the network that detects secrets (memoryd/daydream/secret_network.py).

    python -m benchmarks.train_secrets --plain FOLDER [--plain FOLDER ...] [--leave-out 'round 12'] [--letters] [--write]

Secrets and harmless strings come from `benchmarks.secret_samples`. Each secret is also replaced by other values, so
that the wording counts as much as the value. `--plain` specifies folders with code and manuals that contain no
secrets. Passages that the other detectors would redact are not used. `--leave-out` trains without one round, and
prints how much of it would be found. `--letters` first counts which sequences of letters occur in words, in the plain
files and the glossary; the network was trained for these counts.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.secret_samples import Sample, harmless, rounds, secrets
from memoryd.core.protocols import FloatArray
from memoryd.daydream.redact import has_secret_by_rules, scan
from memoryd.daydream.secret_network import BUCKETS, NETWORK_FILE, NearWords, Network, candidates, features
from memoryd.daydream.secret_values import LETTERS_FILE, letter_sequences, load_letters

HIDDEN, EPOCHS, BATCH, RATE, DECAY = 32, 9, 512, 3e-3, 1e-5
WINDOW, WINDOWS, FROM_A_WINDOW = 1_500, 4_000, 25
SUFFIXES = frozenset(".md .rst .py .txt .ts .tsx .js .mjs .go .yml .yaml .toml .sh .conf .json .html".split())
LIMIT = 0.65
GLOSSARY = Path(__file__).parent.parent / "memoryd" / "language" / "glossary.txt"
SIGNS = "!#$%&*?@^~+-_.,;:|()[]/"
WORDS = """three green frogs shark laser lamp harbour violet tram lighthouse anchor biscuit marmalade otter quartz copper falcon velvet thunder pickle garden
window candle ladder mirror saddle rocket pebble walnut cactus penguin summer winter monday coffee butter dragon purple orange silver hammer never sleeps under
the stairs with my really change only forever Apfel Birne Kuchen Garten Wolke Regen Sommer Kaffee Katze nube gato luna verano perro casa fleur chat soleil
neige pomme zebra tiger moon river stone bridge forest ocean""".split()


@dataclass(frozen=True, slots=True)
class Row:
    """A candidate: its features, whether it is a secret, its weight, and its sample."""

    numbers: list[float]
    buckets: list[int]
    secret: bool
    weight: float
    source: tuple[str, int]


def rows_of(text: str, needles: Iterable[str], weight: float, source: tuple[str, int]) -> Iterator[Row]:
    """Yield the candidates of a text. Those that only overlap a secret are left out."""
    scanned = scan(text)
    near = NearWords(scanned)
    spans = [(at, at + len(needle)) for needle in needles for at in _places(text, needle)]
    for one in candidates(scanned, near):
        shared = [(min(end, one.end) - max(start, one.start), end - start) for start, end in spans]
        secret = any(both >= 0.6 * (one.end - one.start) and both >= 0.5 * size for both, size in shared)
        if secret or all(both <= 0 for both, _ in shared):
            numbers, buckets = features(text, near, one)
            yield Row(numbers, buckets, secret, weight, source)


def _places(text: str, needle: str) -> Iterator[int]:
    at = text.find(needle)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


class Values:
    """A generator of secrets as people and programs choose them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def word(self) -> str:
        """Return a word."""
        return self.random.choice(WORDS)

    def signs(self, alphabet: str, least: int, most: int) -> str:
        """Return random characters."""
        return "".join(self.random.choice(alphabet) for _ in range(self.random.randint(least, most)))

    def one(self) -> str:
        """Return a value of a random kind."""
        word, number, sign = self.word, self.random.randint, self.random.choice(SIGNS[:8])
        alnum = string.ascii_letters + string.digits
        makers = (
            lambda: word() + "".join(word().title() for _ in range(number(1, 3))),
            lambda: self.random.choice("-_.").join(word() for _ in range(number(2, 5))),
            lambda: self.random.choice("-_.").join([word(), str(number(10, 2030)), word()]),
            lambda: word() + self.random.choice(["", "-", "_", ".", "!"]) + str(number(1, 9999)),
            lambda: word().title() + sign + word() + str(number(1, 99)),
            lambda: self.signs(alnum + SIGNS, 10, 64),
            lambda: self.signs("0123456789abcdef", length := self.random.choice([16, 24, 32, 40, 48, 64]), length),
            lambda: self.signs(alnum, 8, 44),
            lambda: self.signs(alnum, 8, 44),
            lambda: self.signs(alnum + "-_", 16, 64),
            lambda: self.signs(alnum + "+/", 20, 43) + "=",
            lambda: (word() + word().title()).translate(str.maketrans("aeios", "43105")),
            lambda: word().title() + word().title() + str(number(0, 99)) + sign,
            lambda: self.signs(string.ascii_lowercase + string.digits, 8, 32),
            lambda: word().title() + sign + word().title(),
            lambda: word() + self.random.choice("&!?+") + word(),
        )
        return self.random.choice(makers)()

    def others(self, sample: Sample, copies: int) -> Iterator[tuple[str, str]]:
        """Yield the text of a sample with other values, and the values. Secrets of several words or lines are skipped."""
        secret = sample.needles[0] if len(sample.needles) == 1 else ""
        if len(secret) < 6 or any(c.isspace() for c in secret) or secret.isdigit() or sample.text.count(secret) != 1:  # noqa: PLR2004
            return
        before, after = sample.text.split(secret)
        if before[-1:].isalnum() or after[:1].isalnum() or before[-1:] in ("_", "-", "+", "/") and before:
            return
        quote = before[-1:] if before[-1:] in ('"', "'", "`") and before[-1:] == after[:1] else ""
        for _ in range(copies):
            value = self.one()
            if not quote:
                value = value.translate(str.maketrans("", "", "\"'`;,|()[]<>{}:/@"))
            if len(value) >= 6 and not (quote and quote in value):  # noqa: PLR2004
                yield before + value + after, value


def plain_windows(folders: Iterable[Path], seed: int, most: int = WINDOWS) -> Iterator[str]:
    """Yield excerpts of files in which the other detectors find nothing."""
    pick = random.Random(seed)
    files = sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES and "test" not in str(path)
    )
    pick.shuffle(files)
    found = 0
    for path in files:
        if found >= most:
            return
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        start = pick.randrange(max(1, len(text) - WINDOW))
        piece = text[start : start + WINDOW]
        if len(piece) > 200 and not has_secret_by_rules(piece):  # noqa: PLR2004
            found += 1
            yield piece


def write_letters(folders: Iterable[Path], seed: int) -> None:
    """Write how rare each sequence of three letters is, in sixteenths of a bit."""
    words = Counter[str]()
    for text in chain([GLOSSARY.read_text(encoding="utf-8")], plain_windows(folders, seed, WINDOWS * 2)):
        words.update(word.lower() for word in _LETTERS.findall(text))
    counts = np.full((27, 27, 27), 0.02)
    for word, number in words.items():
        for at in letter_sequences(word):
            counts[at // 729, at // 27 % 27, at % 27] += 1 + np.log2(number)
    rare = -np.log2(counts / counts.sum(axis=2, keepdims=True))
    np.save(LETTERS_FILE, np.clip(rare * 16, 0, 255).astype(np.uint8).reshape(-1))
    load_letters.cache_clear()


_LETTERS = re.compile(r"(?<![A-Za-z\d+/=_])[A-Za-z]{3,20}(?![A-Za-z\d+/=])")


def collect(folders: Iterable[Path], seed: int) -> list[Row]:
    """Return the candidates of all samples and of the plain texts."""
    values, pick, out = Values(seed), random.Random(seed), list[Row]()
    for number, sample in enumerate(chain(rounds(), secrets(seed, 3), harmless(seed, 6))):
        kind = sample.kind.removesuffix(", harmless")
        out += rows_of(sample.text, sample.needles, 4.0, (kind, number))
        for text, value in values.others(sample, 4 if kind.startswith("round") else 2):
            # Values in unmarked positions are the same as before, so only some of them are used.
            out += [
                row
                for row in rows_of(text, (value,), 0.7, (kind, number))
                if row.secret or pick.random() < 0.4  # noqa: PLR2004
            ]
    for number, piece in enumerate(plain_windows(folders, seed)):
        rows = list(rows_of(piece, (), 1.0, ("plain", number)))
        out += pick.sample(rows, min(FROM_A_WINDOW, len(rows)))
    return out


def train(rows: list[Row], seed: int = 1) -> Network:
    """Train with Adam. Features are dropped at random, so that no single one decides."""
    rng = np.random.default_rng(seed)
    numbers = np.asarray([row.numbers for row in rows], dtype=np.float32)
    truth = np.asarray([row.secret for row in rows], dtype=np.float32)
    weight = np.asarray([row.weight for row in rows], dtype=np.float32)
    mean, scale = numbers.mean(0), numbers.std(0) + 1e-3
    numbers = (numbers - mean) / scale
    params: list[FloatArray] = [
        rng.normal(0, 0.1, (numbers.shape[1], HIDDEN)).astype(np.float32),
        rng.normal(0, 0.05, (BUCKETS, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        rng.normal(0, 0.2, HIDDEN).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    first, second, step = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params], 0
    order = np.arange(len(rows))
    for epoch in range(EPOCHS):
        rng.shuffle(order)
        for begin in range(0, len(order), BATCH):
            at = order[begin : begin + BATCH]
            words = np.zeros((len(at), BUCKETS), np.float32)
            for line, index in enumerate(at):
                words[line, rows[index].buckets] = 1
            words *= rng.random(words.shape) > 0.3  # noqa: PLR2004
            dense = numbers[at] * (rng.random((len(at), numbers.shape[1])) > 0.05)  # noqa: PLR2004
            gradients = _gradients(params, dense.astype(np.float32), words, truth[at], weight[at], rng)
            step += 1
            rate = RATE * (1 - 0.9 * epoch / EPOCHS)
            for n, gradient in enumerate(gradients):
                first[n] = 0.9 * first[n] + 0.1 * gradient
                second[n] = 0.999 * second[n] + 0.001 * gradient**2
                move = first[n] / (1 - 0.9**step) / (np.sqrt(second[n] / (1 - 0.999**step)) + 1e-8)
                params[n] = (params[n] - rate * move).astype(np.float32)
    return Network(mean, scale, params[0], params[1], params[2], params[3], float(params[4][0]), LIMIT)


def _gradients(
    params: list[FloatArray],
    dense: FloatArray,
    words: FloatArray,
    truth: FloatArray,
    weight: FloatArray,
    rng: np.random.Generator,
) -> list[FloatArray]:
    by_number, by_word, bias, out, out_bias = params
    raw = dense @ by_number + words @ by_word + bias
    kept = (rng.random(raw.shape) > 0.2).astype(np.float32) / 0.8  # noqa: PLR2004
    hidden = np.maximum(raw, 0) * kept
    chance = 1 / (1 + np.exp(-np.clip(hidden @ out + out_bias, -30, 30)))
    error = ((chance - truth) * weight / len(truth)).astype(np.float32)
    back = np.outer(error, out) * kept * (raw > 0)
    return [
        dense.T @ back + DECAY * by_number,
        words.T @ back + DECAY * by_word,
        back.sum(0),
        hidden.T @ error,
        np.asarray([error.sum()], np.float32),
    ]


def report(network: Network, rows: list[Row]) -> None:
    """Print how many samples have a value above certain limits."""
    chances = network.chances([(row.numbers, row.buckets) for row in rows])
    for limit in 0.4, 0.5, 0.6, 0.7, 0.8, 0.9:
        over = [row for row, chance in zip(rows, chances, strict=True) if chance >= limit]
        hidden, plain = {row.source for row in rows if row.secret}, {row.source for row in over if not row.secret}
        print(
            f"{limit}: {len({r.source for r in over if r.secret} & hidden)} of {len(hidden)} secrets, {len(plain)} with another value"
        )


def _is_left_out(row: Row, name: str) -> bool:
    """Return whether a row belongs to the report. The report includes a fifth of the plain texts."""
    kind, number = row.source
    return row.weight >= 1 and kind == name or kind == "plain" and number % 5 == 0


def main() -> int:
    """Train, report, and write the weights if requested."""
    parser = argparse.ArgumentParser(description="Train the network that detects secrets.")
    parser.add_argument("--plain", type=Path, action="append", default=[])
    parser.add_argument("--leave-out", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--letters", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.letters:
        write_letters(options.plain, options.seed)
    rows = collect(options.plain, options.seed)
    left_out = [_is_left_out(row, options.leave_out) for row in rows]
    network = train(
        [row for row, out in zip(rows, left_out, strict=True) if options.write or not out and row.source[0] != options.leave_out],
        options.seed,
    )
    report(network, [row for row, out in zip(rows, left_out, strict=True) if out])
    if options.write:
        np.savez_compressed(
            NETWORK_FILE,
            mean=network.mean.astype(np.float32),
            scale=network.scale.astype(np.float32),
            numbers=network.numbers.astype(np.float16),
            words=network.words.astype(np.float16),
            bias=network.bias,
            out=network.out,
            out_bias=np.float32(network.out_bias),
            limit=np.float32(network.limit),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
