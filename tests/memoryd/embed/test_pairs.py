from pathlib import Path

import numpy as np
import pytest

from memoryd.core.errors import EmbeddingError
from memoryd.embed import pairs as pairs_module
from memoryd.embed.pairs import PAIR_GRAPH, CrossEncoder
from memoryd.language.classifier import ORDER, load_reader, states_of


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return CrossEncoder()


def test_two_texts_read_together_give_the_same_numbers_each_time(encoder: CrossEncoder) -> None:
    first = encoder.read("The kettle is on.", "The kettle was switched on.")
    assert first.shape == (3, 384)
    assert np.isfinite(first).all()
    assert np.array_equal(first, encoder.read("The kettle is on.", "The kettle was switched on."))
    assert not np.allclose(first, encoder.read("The kettle was switched on.", "The kettle is on."))


@pytest.mark.parametrize("text", ["", "\x00\ud800", "word " * 5_000, "电" * 3_000])
def test_odd_texts_are_read(encoder: CrossEncoder, text: str) -> None:
    assert np.isfinite(encoder.read(text, "A plain statement.")).all()
    assert np.isfinite(encoder.read("A plain statement.", text)).all()


def test_a_changed_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pairs_module.PAIR_DIGESTS, "model.onnx", "0" * 64)
    with pytest.raises(EmbeddingError, match="does not match the pinned digest"):
        CrossEncoder().read("one", "other")


def test_changed_tuned_layers_are_refused(tmp_path: Path) -> None:
    changed = tmp_path / "pairs.onnx"
    changed.write_bytes(PAIR_GRAPH.read_bytes() + b" ")
    with pytest.raises(EmbeddingError, match=r"pairs\.onnx does not match the pinned digest") as caught:
        CrossEncoder(changed).read("one", "other")
    assert caught.value.fix == "Reinstall memoryd."


def test_the_classifier_fits_the_tuned_layers(encoder: CrossEncoder) -> None:
    states = states_of(encoder, "The kettle is on.", "The kettle was switched on.")
    assert load_reader().of_states(states).shape == (len(ORDER),)
