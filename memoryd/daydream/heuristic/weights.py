"""Weights of the cues in log odds. Fitted by benchmarks/extraction.py --write; don't edit by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

USER_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "length good": 0.47,
        "condition": 0.46,
        "starts turn": 0.45,
        "agreed": 0.4,
        "norm": 0.38,
        "answers question": 0.37,
        "proposal": 0.33,
        "alone": 0.23,
        "standing rule": 0.23,
        "wish": 0.23,
        "prohibition": 0.22,
        "reason": 0.19,
        "alternative": 0.11,
        "via prompt": 0.11,
        "via rejected_tool": 0.03,
        "noise request": -0.03,
        "noise uncertain": -0.07,
        "via queue": -0.09,
        "first message": -0.13,
        "no identifier": -0.16,
        "length tiny": -0.2,
        "half echoed": -0.29,
        "length short": -0.29,
        "noise report": -0.41,
        "noise question": -0.43,
        "pasted": -0.52,
        "bias": -2.12,
    }
)
AGENT_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "about request": 0.97,
        "behaviour": 0.78,
        "like the user's": 0.71,
        "verb of state": 0.51,
        "said twice": 0.49,
        "contrast": 0.43,
        "limit": 0.39,
        "nearly said twice": 0.39,
        "identifiers 3": 0.37,
        "fix": 0.36,
        "root cause": 0.36,
        "because": 0.34,
        "length medium": 0.33,
        "heading good": 0.29,
        "identifiers 2": 0.27,
        "length good": 0.26,
        "second sentence": 0.25,
        "arrow": 0.21,
        "identifiers 1": 0.15,
        "heading bad": -0.14,
        "noise speculation": -0.14,
        "noise progress": -0.17,
        "noise commit": -0.33,
        "noise plan": -0.4,
        "length tiny": -0.46,
        "heading": -0.49,
        "noise first person": -0.49,
        "long turn": -0.67,
        "identifiers 0": -0.79,
        "bias": -2.62,
    }
)
