"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "starts turn": 0.5,
        "length good": 0.47,
        "condition": 0.38,
        "proposal": 0.37,
        "agreed": 0.35,
        "answers question": 0.35,
        "norm": 0.31,
        "wish": 0.29,
        "alone": 0.27,
        "prohibition": 0.21,
        "standing rule": 0.2,
        "reason": 0.16,
        "alternative": 0.08,
        "via rejected_tool": 0.06,
        "length tiny": -0.04,
        "noise uncertain": -0.06,
        "via queue": -0.09,
        "length medium": -0.12,
        "half echoed": -0.25,
        "length short": -0.32,
        "no identifier": -0.36,
        "noise report": -0.45,
        "noise question": -0.46,
        "pasted": -0.53,
        "bias": -1.84,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.92,
        "like the user's": 0.61,
        "identifiers 3": 0.58,
        "behaviour": 0.57,
        "verb of state": 0.55,
        "nearly said twice": 0.49,
        "said twice": 0.41,
        "limit": 0.4,
        "contrast": 0.38,
        "fix": 0.33,
        "root cause": 0.33,
        "heading good": 0.32,
        "because": 0.28,
        "length medium": 0.27,
        "second sentence": 0.25,
        "arrow": 0.24,
        "length good": 0.2,
        "identifiers 2": 0.13,
        "identifiers 1": 0.05,
        "heading bad": -0.06,
        "noise leans": -0.16,
        "noise transient": -0.2,
        "noise progress": -0.22,
        "noise speculation": -0.24,
        "length tiny": -0.26,
        "noise commit": -0.28,
        "noise plan": -0.41,
        "noise first person": -0.56,
        "heading": -0.62,
        "long turn": -0.72,
        "identifiers 0": -0.77,
        "bias": -2.66,
    }
)
