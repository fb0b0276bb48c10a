"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "starts turn": 0.45,
        "condition": 0.44,
        "length good": 0.43,
        "answers question": 0.4,
        "agreed": 0.37,
        "norm": 0.36,
        "proposal": 0.34,
        "wish": 0.3,
        "alone": 0.23,
        "prohibition": 0.22,
        "standing rule": 0.22,
        "reason": 0.18,
        "alternative": 0.1,
        "noise request": -0.03,
        "length tiny": -0.04,
        "length medium": -0.06,
        "noise uncertain": -0.07,
        "noise task": -0.09,
        "via queue": -0.09,
        "first message": -0.12,
        "no identifier": -0.14,
        "half echoed": -0.3,
        "length short": -0.33,
        "noise report": -0.43,
        "noise question": -0.45,
        "pasted": -0.52,
        "bias": -1.94,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.95,
        "behaviour": 0.77,
        "like the user's": 0.62,
        "verb of state": 0.52,
        "said twice": 0.45,
        "contrast": 0.4,
        "nearly said twice": 0.4,
        "limit": 0.38,
        "root cause": 0.36,
        "because": 0.35,
        "fix": 0.35,
        "identifiers 3": 0.35,
        "heading good": 0.29,
        "length medium": 0.28,
        "identifiers 2": 0.27,
        "second sentence": 0.25,
        "length good": 0.24,
        "arrow": 0.21,
        "identifiers 1": 0.15,
        "length short": -0.05,
        "noise speculation": -0.14,
        "heading bad": -0.15,
        "noise progress": -0.21,
        "noise transient": -0.21,
        "noise leans": -0.29,
        "length tiny": -0.32,
        "noise commit": -0.32,
        "noise plan": -0.44,
        "noise first person": -0.52,
        "heading": -0.56,
        "long turn": -0.65,
        "identifiers 0": -0.77,
        "bias": -2.51,
    }
)
