"""Form values, as the pages parse them."""

from __future__ import annotations

from memoryd.console.fields import from_form


def test_a_false_flag_and_a_zero_are_values_and_not_missing() -> None:
    fields = from_form(b"dry=0&count=0")
    assert fields.flag("dry") is False
    assert fields.count("count", 5) == 0


def test_what_was_not_given_is_the_default() -> None:
    fields = from_form(b"dry=&count=")
    assert fields.flag("dry") is False
    assert fields.count("count", 5) == 5
