"""Create memoryd/embed/late_projection.npy: the 224 principal axes of token states of general texts, randomly rotated.

    python benchmarks/fit_projection.py [FILE OR FOLDER ...] [--write]

Without arguments, the texts are the sample conversations and the pages of docs/, which contain no benchmark text. The
axes are the eigenvectors of the states' second moments, which are not centred because vectors are compared by their
products. The seeded random rotation preserves all products and spreads a vector's length evenly over its components,
so that four bits per component are enough. The script prints the share of the squared length that is preserved.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryd.embed.late import PROJECTION_FILE, STATES, LateEncoder

ROOT = Path(__file__).parents[1]
TEXTS = (ROOT / "memeval" / "data" / "sample" / "conversations.json", ROOT / "docs", ROOT / "README.md")
DIMENSIONS = 224  # 114 bytes per token with its scale. A memory of 25 tokens takes less than 3 KB.
SEED = 0
SHORTEST = 20
LONGEST = 600


def strings(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def texts_of(path: Path) -> Iterator[str]:
    """Yield the paragraphs or strings of a file, or of all Markdown files in a folder."""
    if path.is_dir():
        for file in sorted(path.rglob("*.md")):
            yield from texts_of(file)
    elif path.suffix == ".json":
        yield from strings(json.loads(path.read_text("utf-8")))
    else:
        yield from path.read_text("utf-8").split("\n\n")


def moments(texts: list[str]) -> NDArray[np.float64]:
    """Return the sum of the outer products of all token states, shape (STATES, STATES)."""
    encoder = LateEncoder(None)
    total = np.zeros((STATES, STATES))
    for start in range(0, len(texts), 64):
        batch = texts[start : start + 64]
        for states in encoder.encode(batch, [""] * len(batch)):
            wide = states.astype(np.float64)
            total += wide.T @ wide
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", default=TEXTS)
    parser.add_argument("--write", action="store_true", help="replace the projection")
    options = parser.parse_args()
    texts = sorted({text.strip()[:LONGEST] for path in options.paths for text in texts_of(path) if len(text) >= SHORTEST})
    values, axes = np.linalg.eigh(moments(texts))
    print(f"{len(texts)} texts; {values[-DIMENSIONS:].sum() / values.sum():.3f} of the squared length kept")
    matrix = axes[:, ::-1][:, :DIMENSIONS]
    matrix *= np.where(np.abs(matrix).max(axis=0) == matrix.max(axis=0), 1, -1)
    matrix = matrix @ np.linalg.qr(np.random.default_rng(SEED).normal(size=(DIMENSIONS, DIMENSIONS)))[0]
    if options.write:
        np.save(PROJECTION_FILE, matrix.astype(np.float16), allow_pickle=False)


if __name__ == "__main__":
    main()
