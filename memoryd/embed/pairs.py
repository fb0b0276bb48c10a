"""Read two texts together with the bundled cross-encoder (ms-marco-MiniLM-L-12), for features that compare statements.

The model was trained to score how well a passage answers a query. This score is not used here. Unlike two separate
embeddings, the states of its middle layers show how the words of one text relate to those of the other. Each run
reads one pair, as in memoryd.embed.onnx, so that a pair always gives the same result.
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray
from memoryd.embed.onnx import Loaded, OnnxModel, bundled_folder, load_onnx
from memoryd.embed.vectors import clean_text

PAIR_FOLDER = "reranker_en"
PAIR_DIGESTS = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
# The later the layer, the less its states encode beyond whether one text answers the other.
FIRST_LAYER, PAIR_LAYERS = 3, 9
MAX_TOKENS = 160
MAX_CHARACTERS = 2_000
PAIR_GRAPH = Path(__file__).with_name("reranker.onnx")


class CrossEncoder:
    """Reads two texts together. The model is loaded on first use (0.2 s). Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    def read(self, first: str, second: str) -> FloatArray:
        """Return the [CLS] state and the mean token state of each text, in shape (layers, 3, width).

        Raises EmbeddingError.
        """
        loaded = self._load()
        encoding = loaded.tokenizer.encode(clean_text(first, MAX_CHARACTERS), clean_text(second, MAX_CHARACTERS))
        kinds = np.asarray(encoding.type_ids, dtype=np.int64)
        feed = {"input_ids": np.asarray([encoding.ids], dtype=np.int64), "kinds": kinds[None]}
        try:
            states = np.asarray(loaded.session.run(None, feed)[0], dtype=np.float32)
        except loaded.faults as error:
            raise EmbeddingError(f"The model failed: {error}", fix="Run 'memoryd doctor'.") from error
        return np.stack([states[:, 0], states[:, kinds == 0].mean(axis=1), states[:, kinds == 1].mean(axis=1)], axis=1)

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open()
            return self._loaded


def _open() -> Loaded:
    folder = bundled_folder(PAIR_FOLDER)
    model = OnnxModel("ms-marco-MiniLM-L-12-int8", 384, digests=PAIR_DIGESTS, folder=folder, graph=PAIR_GRAPH)
    loaded = load_onnx(model)
    loaded.tokenizer.enable_truncation(MAX_TOKENS)
    return loaded
