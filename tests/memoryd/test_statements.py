from __future__ import annotations

import pytest

from memoryd.statements import Relation, relate


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("The staging database listens on port 5432.", "No, the staging database is on port 5544, not on 5432."),
        ("Deploys happen on Fridays.", "No, deploys happen on Tuesdays, not on Fridays."),
        ("Logs are written to the console.", "Nope, logs are written to a file, not to the console."),
    ],
)
def test_a_denial_with_the_right_value_corrects_the_wrong_one(known: str, new: str) -> None:
    assert relate(known, new) is Relation.CORRECTED
    assert relate(new, known) is not Relation.SAME


def test_a_denied_rule_is_still_a_prohibition() -> None:
    assert relate("Push to main.", "No, do not push to main.") is Relation.NEGATED
