"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "condition": 0.5,
        "length good": 0.44,
        "starts turn": 0.44,
        "agreed": 0.39,
        "norm": 0.39,
        "answers question": 0.36,
        "proposal": 0.34,
        "prohibition": 0.27,
        "wish": 0.27,
        "alone": 0.24,
        "standing rule": 0.21,
        "reason": 0.16,
        "alternative": 0.14,
        "via prompt": 0.1,
        "via rejected_tool": 0.03,
        "noise uncertain": -0.07,
        "via queue": -0.09,
        "first message": -0.12,
        "no identifier": -0.14,
        "noise terminal": -0.16,
        "length tiny": -0.22,
        "length short": -0.28,
        "half echoed": -0.3,
        "noise question": -0.4,
        "noise report": -0.44,
        "pasted": -0.52,
        "bias": -2.17,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.92,
        "behaviour": 0.74,
        "like the user's": 0.65,
        "said twice": 0.56,
        "verb of state": 0.52,
        "contrast": 0.5,
        "fix": 0.45,
        "nearly said twice": 0.39,
        "identifiers 3": 0.38,
        "limit": 0.36,
        "root cause": 0.35,
        "length medium": 0.32,
        "identifiers 2": 0.29,
        "length good": 0.29,
        "because": 0.27,
        "heading good": 0.26,
        "second sentence": 0.21,
        "identifiers 1": 0.19,
        "arrow": 0.17,
        "heading bad": -0.06,
        "noise progress": -0.1,
        "noise speculation": -0.12,
        "noise question": -0.2,
        "noise commit": -0.33,
        "noise plan": -0.43,
        "heading": -0.47,
        "length tiny": -0.47,
        "noise first person": -0.56,
        "long turn": -0.71,
        "identifiers 0": -0.87,
        "bias": -2.62,
    }
)
