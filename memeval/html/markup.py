"""HTML and SVG that can't be injected into: every text is escaped unless it was made here.

`el("a", "text", href=...)` gives an element. Names of attributes: `cls` is class, `_` becomes `-`. An attribute of
None or False is left out; True gives a bare one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_VOID = frozenset({"br", "input", "meta"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_BESIDE = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*)?(?:#[A-Za-z0-9_-]+)?")
_LINKS = frozenset({"href", "src", "action"})


class Html(str):
    """Text that is markup already; a template engine that knows `__html__` leaves it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


Child = object


def esc(value: object) -> Html:
    """A text as markup; what HTML can't hold, and what turns the reading direction context, is shown as U+FFFD."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("")
    plain = _BIDI.sub("\ufffd", _CONTROL.sub("\ufffd", str(value)))
    return Html(html.escape(plain, quote=True))


def join(children: Iterable[Child], between: str = "") -> Html:
    """Children side by side; lists are opened, None is left out."""
    return Html(between.join(_flat(child) for child in children))


def _flat(child: Child) -> str:
    if isinstance(child, list | tuple):
        return join(child)
    return esc(child)


def el(tag: str, *children: Child, **attributes: object) -> Html:
    """An element. Raises ValueError for a name that is none, or a link that leaves the folder."""
    opening = f"<{_checked(tag)}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{join(children)}</{tag}>")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an element or attribute")
    return name


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = "class" if name == "cls" else name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {_checked(name)}"
    if name in _LINKS and not _BESIDE.fullmatch(str(value)):
        raise ValueError(f"{value!r} would leave the folder of the report")
    return f' {_checked(name)}="{esc(str(value))}"'
