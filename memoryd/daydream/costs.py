"""Expected costs of a reader, estimated from real sessions (benchmarks/reader_cost.py)."""

from __future__ import annotations

# Requests of 28 real development sessions (docs/quality.md), and answers in the prompt's format.
CALLS_A_SESSION = 2.0
INPUT_TOKENS_A_SESSION = 14_600
OUTPUT_TOKENS_A_SESSION = 1_400
SESSIONS_A_DAY = 8
# Price of the cheapest Claude model at the time of measurement, in dollars per million tokens.
INPUT_PRICE, OUTPUT_PRICE = 1.0, 5.0


def tokens_a_day() -> int:
    """Return the number of input and output tokens per day of SESSIONS_A_DAY sessions."""
    return SESSIONS_A_DAY * (INPUT_TOKENS_A_SESSION + OUTPUT_TOKENS_A_SESSION)


def dollars_a_day() -> float:
    """Return the cost of such a day in dollars, without a subscription."""
    return SESSIONS_A_DAY * (INPUT_TOKENS_A_SESSION * INPUT_PRICE + OUTPUT_TOKENS_A_SESSION * OUTPUT_PRICE) / 1e6


def expected() -> str:
    """Describe the cost of a typical day in one sentence."""
    return (
        f"A day of {SESSIONS_A_DAY} sessions takes about {tokens_a_day():,} tokens of the cheapest Claude model "
        f"(about ${dollars_a_day():.2f} when billed by usage)"
    )
