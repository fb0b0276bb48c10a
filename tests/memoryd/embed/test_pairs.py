import numpy as np
import pytest

from memoryd.core.errors import EmbeddingError
from memoryd.embed import pairs as pairs_module
from memoryd.embed.pairs import FIRST_LAYER, PAIR_LAYERS, CrossEncoder


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return CrossEncoder()


def test_two_texts_read_together_give_the_same_numbers_each_time(encoder: CrossEncoder) -> None:
    first = encoder.read("The kettle is on.", "The kettle was switched on.")
    assert first.shape == (PAIR_LAYERS - FIRST_LAYER, 3, 384)
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
