"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "starts turn": 0.5,
        "length good": 0.47,
        "agreed": 0.37,
        "condition": 0.37,
        "answers question": 0.36,
        "proposal": 0.34,
        "wish": 0.3,
        "norm": 0.29,
        "alone": 0.25,
        "prohibition": 0.21,
        "standing rule": 0.21,
        "reason": 0.19,
        "alternative": 0.11,
        "length tiny": -0.05,
        "noise uncertain": -0.06,
        "via queue": -0.1,
        "length medium": -0.11,
        "no identifier": -0.19,
        "half echoed": -0.23,
        "length short": -0.33,
        "noise report": -0.45,
        "noise question": -0.46,
        "pasted": -0.51,
        "bias": -1.9,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.91,
        "behaviour": 0.64,
        "like the user's": 0.59,
        "verb of state": 0.55,
        "said twice": 0.39,
        "contrast": 0.38,
        "nearly said twice": 0.38,
        "limit": 0.36,
        "fix": 0.34,
        "root cause": 0.34,
        "identifiers 2": 0.33,
        "identifiers 3": 0.33,
        "because": 0.3,
        "heading good": 0.3,
        "second sentence": 0.3,
        "length medium": 0.28,
        "length good": 0.25,
        "arrow": 0.24,
        "identifiers 1": 0.12,
        "length short": -0.06,
        "heading bad": -0.17,
        "noise speculation": -0.2,
        "noise transient": -0.23,
        "noise leans": -0.24,
        "noise progress": -0.25,
        "noise commit": -0.29,
        "length tiny": -0.3,
        "noise plan": -0.4,
        "noise first person": -0.56,
        "long turn": -0.65,
        "heading": -0.66,
        "identifiers 0": -0.78,
        "bias": -2.48,
    }
)
