"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "starts turn": 0.51,
        "length good": 0.45,
        "condition": 0.39,
        "agreed": 0.37,
        "answers question": 0.36,
        "proposal": 0.34,
        "norm": 0.3,
        "wish": 0.3,
        "alone": 0.27,
        "prohibition": 0.21,
        "standing rule": 0.21,
        "reason": 0.17,
        "alternative": 0.09,
        "length tiny": -0.04,
        "noise uncertain": -0.06,
        "via queue": -0.09,
        "length medium": -0.11,
        "half echoed": -0.25,
        "length short": -0.32,
        "no identifier": -0.36,
        "noise report": -0.44,
        "noise question": -0.45,
        "pasted": -0.52,
        "bias": -1.87,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.94,
        "identifiers 3": 0.59,
        "like the user's": 0.59,
        "behaviour": 0.56,
        "verb of state": 0.55,
        "nearly said twice": 0.46,
        "said twice": 0.4,
        "limit": 0.39,
        "contrast": 0.36,
        "fix": 0.33,
        "root cause": 0.33,
        "heading good": 0.31,
        "because": 0.28,
        "length medium": 0.26,
        "second sentence": 0.25,
        "arrow": 0.23,
        "length good": 0.21,
        "identifiers 2": 0.13,
        "identifiers 1": 0.05,
        "heading bad": -0.07,
        "noise transient": -0.21,
        "noise progress": -0.22,
        "noise speculation": -0.23,
        "length tiny": -0.25,
        "noise leans": -0.25,
        "noise commit": -0.28,
        "noise plan": -0.4,
        "noise first person": -0.55,
        "heading": -0.62,
        "long turn": -0.68,
        "identifiers 0": -0.77,
        "bias": -2.66,
    }
)
