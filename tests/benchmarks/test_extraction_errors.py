"""The table of extraction errors: kinds by wording, intervals by session."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.extraction_errors import KINDS, UNLABELLED, kind_of, measures
from tests.benchmarks.fake_scorer import scorer, session


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Should we keep the old API?", "a question, or a choice that only permits"),
        ("please run the tests of the parser again", "a task or request for now"),
        ("Let me look at the settings first.", "a plan or promise of the assistant"),
        ("High Severity: the prefix is not in the list", "terminal or pasted text"),
        ("It still fails at the login screen here.", "a report of what just happened"),
        ("All tests pass and the build is green.", "progress, or true for the moment"),
        ("That is probably caused by the cache.", "a guess"),
        ("These belong to the index.", "a fragment: its subject stands elsewhere"),
        ("The staging database listens on port 5544.", UNLABELLED),
    ],
)
def test_a_wrong_statement_has_a_kind(text: str, kind: str) -> None:
    assert kind_of(text) == kind
    assert kind in {name for name, _ in KINDS} | {UNLABELLED}


def test_measures_come_with_intervals_that_hold_them_and_are_the_same_each_time() -> None:
    sessions = [session(f"s{n}", facts=("a", "b")) for n in range(6)]
    predictions = {f"s{n}": ["a"] * (n % 2) + ["x"] for n in range(6)}
    found = measures(predictions, sessions, scorer)
    assert found[0] == pytest.approx([3 / 9, 3 / 12, 0.0])
    assert (found[1] <= found[0]).all() and (found[0] <= found[2]).all()
    assert np.array_equal(found, measures(predictions, sessions, scorer))
