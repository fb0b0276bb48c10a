"""All text functions are linear: public functions of text are discovered and measured with 2, 4 and 8 times the text."""

from __future__ import annotations

import random

import pytest

from tests.memoryd.text_growth import LEFT_OUT, SEEDS, TextFunction, problem, text_functions

FUNCTIONS = list(text_functions())
SEEDS_IN_SAMPLE = 2
BY_NAME = {function.name: function for function in FUNCTIONS}


def test_the_functions_are_found_and_each_that_is_left_out_exists() -> None:
    assert len(FUNCTIONS) > 100
    assert {"memoryd.core.text.words", "memoryd.daydream.redact.redact", "memoryd.daydream.speakers.clean_user"} <= BY_NAME.keys()
    assert all(reason for reason in LEFT_OUT.values())


def test_a_quadratic_function_is_noticed() -> None:
    def quadratic(text: str) -> None:
        sum(1 for _ in text for _ in text)  # Steps of the interpreter, because copying memory costs almost nothing per character.

    assert "growing by the power" in problem(TextFunction("quadratic", quadratic, (str,)), "a", 200)


def test_no_function_of_text_grows_faster_than_its_text_in_a_sample() -> None:
    found = []
    for function in FUNCTIONS:
        seeds = random.Random(function.name).sample(SEEDS, SEEDS_IN_SAMPLE)
        found += [fault for seed in seeds if (fault := problem(function, seed, 1_500))]
    assert found == []


PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))  # parallel processes share them
def test_no_function_of_text_grows_faster_than_its_text(part: int) -> None:
    functions = FUNCTIONS[part::PARTS]
    found = [fault for function in functions for seed in SEEDS if (fault := problem(function, seed, 3_000))]
    print(f"{len(functions)} functions, {len(SEEDS)} texts each: {len(found)} too steep")
    assert found == []
