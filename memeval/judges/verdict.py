"""Reading a judge's reply. Strict: the reply is the verdict and nothing else, or there is none."""

from __future__ import annotations

import re

_WRAPPING = re.compile(r"^[\s\"'`*_(]+|[\s\"'`*_).!]+$")


def yes_or_no(reply: str) -> bool | None:
    """True for yes, False for no, None for anything else. Case, quotes, bold and a full stop do not matter."""
    return {"yes": True, "no": False}.get(_bare(reply))


def grade(reply: str) -> float | None:
    """1 for yes, 0.5 for partly, 0 for no, None for anything else."""
    return {"yes": 1.0, "partly": 0.5, "no": 0.0}.get(_bare(reply))


def _bare(reply: str) -> str:
    return _WRAPPING.sub("", reply).casefold()
