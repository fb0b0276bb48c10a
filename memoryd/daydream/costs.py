"""Expected costs of a reader, based on the sizes of real sessions (benchmarks/reader_cost.py)."""

from __future__ import annotations

# Based on 28 real development sessions (docs/quality.md): their requests, and answers in the format of the prompt.
CALLS_A_SESSION = 2.0
INPUT_TOKENS_A_SESSION = 14_000
OUTPUT_TOKENS_A_SESSION = 1_400
SESSIONS_A_DAY = 8
# The price of the cheapest Claude model, in dollars per million tokens, at the time of the measurement.
INPUT_PRICE, OUTPUT_PRICE = 1.0, 5.0


def tokens_a_day() -> int:
    """Return the daily numbers of input and output tokens for SESSIONS_A_DAY sessions."""
    return SESSIONS_A_DAY * (INPUT_TOKENS_A_SESSION + OUTPUT_TOKENS_A_SESSION)


def dollars_a_day() -> float:
    """Return the cost of such a day in dollars without a subscription."""
    return SESSIONS_A_DAY * (INPUT_TOKENS_A_SESSION * INPUT_PRICE + OUTPUT_TOKENS_A_SESSION * OUTPUT_PRICE) / 1e6


def expected() -> str:
    """Describe the costs of a typical day in one sentence."""
    return (
        f"A day of {SESSIONS_A_DAY} sessions takes about {tokens_a_day():,} tokens of the cheapest Claude model "
        f"(about ${dollars_a_day():.2f} when billed by use)"
    )
