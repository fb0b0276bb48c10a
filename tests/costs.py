"""Compare what a call costs for texts of different lengths. Only ratios within one run are judged, because machines differ."""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Callable

# Eight times the text costs a linear function 8 times as much, and a quadratic function 64 times. The limit is between
# them, at n to the 1.5.
MAX_EXPONENT = 1.5
FACTOR = 8
# What takes less is too little to be compared.
MIN_SECONDS = 0.02
# A call for the shorter text that takes longer is steep without another measurement, which could take hours.
MAX_SECONDS = 6.0
INFINITE = 9.9
REPEATS = (1, 3, 5)
_CALLS = itertools.count()

Call = Callable[[str], object]
Text = Callable[[int], str]


def repeated(unit: str) -> Text:
    """Return the function that repeats the unit up to a number of characters.

    A number follows that no other text has, because some functions cache their texts.
    """
    return lambda characters: f"{(unit * (characters // len(unit) + 1))[:characters]} {next(_CALLS)}"


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of one call. The garbage collector is off, because its cost depends on all objects of the process."""
    collects = gc.isenabled()
    gc.disable()
    begun = time.thread_time()
    try:
        call()
    finally:
        spent = time.thread_time() - begun
        if collects:
            gc.enable()
    return spent


def exponent(call: Call, text: Text, characters: int, repeats: int = 1) -> tuple[float, float]:
    """Return the power of the text's length with which the cost grows, and the seconds for eight times `characters`.

    Return 0 if even that takes less than MIN_SECONDS. Return INFINITE if one shorter text takes too long. The power is
    that of the last two doublings, because caches and start-up costs are hidden in the first one.
    """

    def cost(length: int) -> float:
        given = text(length)
        return seconds(lambda: call(given))

    if (first := cost(characters)) > MAX_SECONDS:
        return INFINITE, first
    if (long := cost(FACTOR * characters)) < MIN_SECONDS:
        return 0.0, long
    short = min(cost(FACTOR // 4 * characters) for _ in range(repeats))
    long = min([long, *(cost(FACTOR * characters) for _ in range(repeats - 1))])
    return math.log(long / max(short, 1e-4), 4), long


def steep(call: Call, text: Text, characters: int) -> str:
    """Return the problem with the growth of the cost, or an empty text. A suspected problem is measured again."""
    for repeats in REPEATS:
        power, cost = exponent(call, text, characters, repeats)
        if power <= MAX_EXPONENT:
            return ""
    return f"{cost:.2f} s for {FACTOR * characters} characters, growing by the power {power:.1f}"


def assert_linear(call: Call, text: Text | str, characters: int) -> None:
    """Fail if eight times `characters` cost much more than eight times as much. A text is a unit to be repeated."""
    assert steep(call, repeated(text) if isinstance(text, str) else text, characters) == ""
