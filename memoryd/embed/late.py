"""Token vectors for late interaction (ColBERT, Khattab & Zaharia 2020) from the bundled answerai-colbert-small-v1.

The bundled file lacks the model's own projection, so the 384 numbers of a token are projected to 224 with the matrix in
`late_projection.npy`. It holds the principal axes of states over general texts, randomly rotated (made by
benchmarks/fit_projection.py). Each run encodes one text on our own graph, as in memoryd.embed.onnx.
"""

from __future__ import annotations

import hashlib
import string
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import FloatArray, QueryTokens
from memoryd.embed.onnx import (
    MAX_CHARACTERS,
    TOKEN_DIGESTS,
    TOKEN_FOLDER,
    WORKERS,
    Loaded,
    OnnxModel,
    bundled_folder,
    load_onnx,
    run_states,
)
from memoryd.embed.vectors import clean_text

PROJECTION_FILE = Path(__file__).with_name("late_projection.npy")
LATE_GRAPH = Path(__file__).with_name("colbert_small.onnx")
STATES = 384
QUERY_TOKENS = 64
# Maximum tokens of the preceding text, taken from its end. This is enough to resolve a reference such as "she".
CONTEXT_TOKENS = 96
# Maximum tokens of a text together with its context. A longer text needs less context.
READ_TOKENS = 128
# Number of a text's tokens that get a vector. The rest of a long text is found by its words and by its dense vector.
OWN_TOKENS = 256
_QUERY_MARK = "[unused0]"
_TEXT_MARK = "[unused1]"
_SHORTEST = 1e-9


@dataclass(frozen=True, slots=True)
class _Model:
    loaded: Loaded
    projection: FloatArray
    start: int
    end: int
    query_mark: int
    text_mark: int
    punctuation: frozenset[int]


class LateEncoder:
    """Encodes texts as token vectors of length 1. The model is loaded on first use (0.3 s). Thread-safe."""

    def __init__(self, projection: Path | None = PROJECTION_FILE) -> None:
        """Create the encoder. Without a projection, the vectors have 384 dimensions."""
        self._projection = projection
        self._matrix = _read_projection(projection)
        matrix = hashlib.sha256(self._matrix.tobytes()).hexdigest()[:8]
        cuts = f"{OWN_TOKENS}+{CONTEXT_TOKENS}<{READ_TOKENS}"
        self._name = f"answerai-colbert-small-v1-int8@{TOKEN_DIGESTS['model.onnx'][:8]}/{matrix}/{cuts}"
        self._lock = threading.Lock()
        self._model: _Model | None = None

    @property
    def name(self) -> str:
        """Identity of the model: its file, projection and truncation."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a token's vector."""
        return int(self._matrix.shape[1])

    def encode(self, texts: Sequence[str], contexts: Sequence[str]) -> list[FloatArray]:
        """Encode each text into shape (tokens, dimensions), with at least one token. Punctuation gets no vectors.

        A text is read after the end of its context, which gets no vectors itself. A text of READ_TOKENS or more is read alone.

        Raises:
            EmbeddingError: The model can't be loaded or failed.
        """
        if not texts:
            return []
        model = self._load()
        inputs = _inputs(model, texts, contexts)
        if len(inputs) == 1:
            return [_own_vectors(model, *inputs[0])]
        with ThreadPoolExecutor(WORKERS, "encode") as pool:
            return list(pool.map(lambda pair: _own_vectors(model, *pair), inputs))

    def encode_query(self, text: str) -> QueryTokens:
        """Encode a query's tokens, and return the word to which each token belongs.

        Raises:
            EmbeddingError: The model can't be loaded or failed.
        """
        model = self._load()
        ids, words = _query_input(model, text)
        kept = [place for place, id in enumerate(ids) if id not in model.punctuation]
        vectors = _vectors(model, [model.start, model.query_mark, *ids, model.end], [place + 2 for place in kept])
        return QueryTokens(vectors, tuple(words[place] for place in kept))

    def _load(self) -> _Model:
        with self._lock:
            if self._model is None:
                self._model = _open(self._matrix)
            return self._model


def _read_projection(path: Path | None) -> FloatArray:
    if path is None:
        return np.eye(STATES, dtype=np.float32)
    try:
        matrix = np.load(path, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"{path} is not a projection: {error}", fix="Reinstall memoryd.") from error
    if matrix.ndim != 2 or matrix.shape[0] != STATES:
        raise EmbeddingError(f"{path} has the shape {matrix.shape}.", fix="Reinstall memoryd.")
    return np.asarray(matrix, dtype=np.float32)


def _open(projection: FloatArray) -> _Model:
    folder = bundled_folder(TOKEN_FOLDER)
    loaded = load_onnx(OnnxModel("answerai-colbert-small-v1", STATES, digests=TOKEN_DIGESTS, folder=folder, graph=LATE_GRAPH))
    tokenizer = loaded.tokenizer
    punctuation = frozenset(id for mark in string.punctuation if (id := tokenizer.token_to_id(mark)) is not None)
    start, end, query, text = (int(tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]", _QUERY_MARK, _TEXT_MARK))
    return _Model(loaded, projection, start, end, query, text, punctuation)


def _ids(model: _Model, texts: Sequence[str]) -> list[list[int]]:
    encodings = model.loaded.tokenizer.encode_batch_fast(
        [clean_text(text, MAX_CHARACTERS) for text in texts], add_special_tokens=False
    )
    return [encoding.ids for encoding in encodings]


def _inputs(model: _Model, texts: Sequence[str], contexts: Sequence[str]) -> list[tuple[list[int], int]]:
    """Return the input token ids of each text, and the index of the first id that belongs to the text itself."""
    ends = [context[-8 * CONTEXT_TOKENS :] for context in contexts]
    out = []
    for own, before in zip(_ids(model, texts), _ids(model, ends), strict=True):
        own = own[:OWN_TOKENS]
        before = before[max(0, len(before) - _room(len(own))) :]
        out.append(([model.start, model.text_mark, *before, *own, model.end], 2 + len(before)))
    return out


def _room(own: int) -> int:
    """Return the maximum number of context tokens for a text of `own` tokens."""
    return min(CONTEXT_TOKENS, max(0, READ_TOKENS - own))


def _own_vectors(model: _Model, ids: Sequence[int], first: int) -> FloatArray:
    kept = [place for place in range(first, len(ids) - 1) if ids[place] not in model.punctuation]
    # A text that consists only of punctuation is represented by the state of the whole text.
    return _vectors(model, ids, kept or [0])


def _query_input(model: _Model, text: str) -> tuple[list[int], list[str]]:
    encoding = model.loaded.tokenizer.encode(clean_text(text, MAX_CHARACTERS), add_special_tokens=False)
    ids = encoding.ids[:QUERY_TOKENS]
    words = encoding.word_ids[:QUERY_TOKENS]
    spans: dict[int, list[int]] = {}
    for word, (start, end) in zip(words, encoding.offsets, strict=False):
        span = spans.setdefault(word, [start, end])
        span[1] = end
    return ids, [text[slice(*spans[word])].casefold() for word in words]


def _vectors(model: _Model, ids: Sequence[int], kept: Sequence[int]) -> FloatArray:
    """Return the projected states of these tokens, normalised to length 1."""
    if not kept:
        return np.zeros((0, model.projection.shape[1]), dtype=np.float32)
    vectors = run_states(model.loaded, ids, kept, projection=model.projection)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(norms).all():
        raise EmbeddingError("The token model returned a vector that is not finite.", fix="Run 'memoryd doctor'.")
    return np.asarray(vectors / np.maximum(norms, _SHORTEST), dtype=np.float32)
