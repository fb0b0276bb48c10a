"""Efficiency: the share of the model's tokens that memory takes.

    efficiency = memory tokens / total tokens      total: all input and output tokens of the answer

Source: own (the platform's design). Lower is leaner; read it next to accuracy.
"""

from __future__ import annotations


def efficiency(memory_tokens: int, total_tokens: int) -> float | None:
    """Value for one question, between 0 and 1; unscored when the total is unknown (0).

    Memory tokens are an estimate where the model reports only its own total, so the value is cut at 1.
    """
    if total_tokens <= 0:
        return None
    return min(1.0, max(0, memory_tokens) / total_tokens)
