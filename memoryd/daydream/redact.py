"""Secrets out of a text, before anything of it is stored or sent.

Two nets: patterns of our own (vendors' key prefixes, private keys, credentials in URLs and headers, assignments,
one-time codes), then the detectors of detect-secrets. Its entropy, keyword and IP detectors stay off: in sessions they
take git hashes, identifiers and addresses for secrets. Nothing here logs or verifies what it finds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from memoryd.daydream.secret_rules import MARK, RULES, Rule


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text without secrets, and how many were found of each kind (never the secrets themselves)."""

    text: str
    found: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def _replace(rule: Rule, text: str, found: Counter[str]) -> str:
    """The text with the rule's secrets replaced."""

    def put(match: re.Match[str]) -> str:
        if MARK in match["secret"] or not rule.accept(match):
            return match[0]
        found[rule.kind] += 1
        start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
        return f"{match[0][:start]}{MARK}{rule.kind}]{match[0][end:]}"

    return rule.pattern.sub(put, text)


_UNUSED_DETECTORS = frozenset(
    {"Base64 High Entropy String", "Hex High Entropy String", "Secret Keyword", "Public IP (ipv4)", "Basic Auth Credentials"}
)
_SHORTEST_FOUND = 10


@lru_cache(maxsize=1)
def _detectors() -> tuple[tuple[str, Any], ...]:
    """The detectors of detect-secrets that are used, with their kinds. Only `analyze_string` is called: no network."""
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class

    classes: Mapping[str, Any] = get_mapping_from_secret_type_to_class()
    return tuple((_slug(name), kind()) for name, kind in sorted(classes.items()) if name not in _UNUSED_DETECTORS)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


_DIGIT = re.compile(r"[0-9]")
_LONG_RUN = re.compile(r"[\w+/=-]{10,}")
# Detectors with slow patterns, and what a text must hold for them. Others always run.
_NEEDS = MappingProxyType(
    {
        "artifactory-credentials": ("AKC", "AP"),
        "cloudant-credentials": ("cl",),
        "ibm-cloud-iam-key": ("ibm", "IBM"),
        "ibm-cos-hmac-credentials": ("secret", "SECRET", "Secret"),
        "mailchimp-access-key": ("-us",),
        "private-key": ("PRIVATE KEY",),
        "softlayer-credentials": ("sl", "SL", "softlayer", "SOFTLAYER"),
    }
)


def _occurs(words: tuple[str, ...], text: str) -> bool:
    for word in words:  # noqa: SIM110 - a loop takes half the time of any() here
        if word in text:
            return True
    return False


def _detect(text: str, found: Counter[str]) -> str:
    """What detect-secrets finds on top. Its matches hold a digit and ten characters, so plain prose is passed over."""
    if _DIGIT.search(text) is None or _LONG_RUN.search(text) is None:
        return text
    for kind, detector in _detectors():
        if kind in _NEEDS and not _occurs(_NEEDS[kind], text):
            continue
        for value in set(detector.analyze_string(text)):
            secret = str(value).strip("\"'=: \t\r\n")
            if len(secret) < _SHORTEST_FOUND or MARK in secret or not any(c.isdigit() for c in secret):
                continue
            found[kind] += text.count(secret)
            text = text.replace(secret, f"{MARK}{kind}]")
    return text


def redact(text: str) -> Redacted:
    """The text with each secret replaced by `[redacted:<kind>]`. Doing it twice changes nothing."""
    found: Counter[str] = Counter()
    # Secrets that touch hide one another, so look again until there are none. Each round leaves less to look at.
    while (new := _round(text, found)) != text:
        text = new
    return Redacted(text, MappingProxyType(dict(found)))


def _round(text: str, found: Counter[str]) -> str:
    folded = text.casefold()
    for rule in RULES:
        if _occurs(rule.words, folded):
            text = _replace(rule, text, found)
    return _detect(text, found)
