"""Weights of the cues as log odds. They are fitted by benchmarks/extraction.py --write, so don't edit them by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "condition": 0.27,
        "length good": 0.26,
        "starts turn": 0.24,
        "alone": 0.23,
        "wish": 0.21,
        "answers question": 0.15,
        "prohibition": 0.13,
        "after interrupt": 0.1,
        "via rejected_tool": 0.07,
        "agreed": 0.06,
        "noise label": -0.02,
        "half echoed": -0.05,
        "no identifier": -0.05,
        "bare": -0.08,
        "noise report": -0.08,
        "noise uncertain": -0.09,
        "via queue": -0.11,
        "pasted": -0.14,
        "length medium": -0.25,
        "list": -0.28,
        "bias": -0.45,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.78,
        "like the user's": 0.57,
        "identifiers 3": 0.52,
        "nearly said twice": 0.52,
        "verb of state": 0.51,
        "said twice": 0.45,
        "behaviour": 0.33,
        "limit": 0.33,
        "length medium": 0.28,
        "second sentence": 0.28,
        "root cause": 0.27,
        "contrast": 0.26,
        "heading good": 0.25,
        "restated": 0.21,
        "because": 0.2,
        "fix": 0.19,
        "length good": 0.16,
        "arrow": 0.14,
        "identifiers 2": 0.07,
        "identifiers 1": 0.04,
        "heading bad": -0.04,
        "noise plan": -0.05,
        "length short": -0.06,
        "noise transient": -0.13,
        "noise leans": -0.14,
        "noise first person": -0.15,
        "noise speculation": -0.16,
        "middle": -0.18,
        "noise progress": -0.18,
        "noise aloud": -0.19,
        "noise commit": -0.2,
        "length tiny": -0.21,
        "opening": -0.25,
        "long episode": -0.3,
        "heading": -0.56,
        "long turn": -0.57,
        "identifiers 0": -0.63,
        "bias": -2.52,
    }
)
