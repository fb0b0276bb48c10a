"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "starts turn": 0.54,
        "length good": 0.46,
        "answers question": 0.41,
        "agreed": 0.38,
        "alone": 0.3,
        "condition": 0.3,
        "proposal": 0.3,
        "wish": 0.29,
        "prohibition": 0.26,
        "norm": 0.24,
        "reason": 0.18,
        "standing rule": 0.17,
        "via rejected_tool": 0.04,
        "alternative": 0.03,
        "noise uncertain": -0.02,
        "noise request": -0.03,
        "length medium": -0.12,
        "noise question": -0.14,
        "via queue": -0.14,
        "half echoed": -0.19,
        "length short": -0.28,
        "no identifier": -0.29,
        "noise report": -0.46,
        "pasted": -0.55,
        "bias": -1.86,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.93,
        "like the user's": 0.6,
        "behaviour": 0.57,
        "identifiers 3": 0.56,
        "verb of state": 0.55,
        "nearly said twice": 0.52,
        "said twice": 0.49,
        "limit": 0.4,
        "contrast": 0.37,
        "root cause": 0.33,
        "fix": 0.32,
        "heading good": 0.32,
        "length medium": 0.29,
        "because": 0.28,
        "arrow": 0.25,
        "second sentence": 0.25,
        "length good": 0.19,
        "identifiers 2": 0.15,
        "identifiers 1": 0.05,
        "heading bad": -0.03,
        "noise leans": -0.16,
        "noise transient": -0.2,
        "noise progress": -0.23,
        "noise speculation": -0.24,
        "length tiny": -0.25,
        "noise commit": -0.29,
        "noise plan": -0.41,
        "noise first person": -0.57,
        "heading": -0.61,
        "long turn": -0.7,
        "identifiers 0": -0.76,
        "bias": -2.68,
    }
)
