"""Build HTML with all data escaped, and render the frame shared by all pages."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_VOID = frozenset({"br", "input", "meta"})
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_BESIDE = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9_.-]*)?(?:#[A-Za-z0-9_-]+)?")
_LINKS = frozenset({"href", "src", "action"})


class Html(str):
    """Text that is already markup. Template engines that support `__html__` do not escape it."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


Child = object


def esc(value: object) -> Html:
    """Escape a text. Bidirectional controls and characters that HTML can't contain become U+FFFD."""
    if isinstance(value, Html):
        return value
    if value is None:
        return Html("")
    plain = _BIDI.sub("\ufffd", _CONTROL.sub("\ufffd", str(value)))
    return Html(html.escape(plain, quote=True))


def join(children: Iterable[Child], between: str = "") -> Html:
    """Concatenate children. Lists are flattened and None is skipped."""
    return Html(between.join(_flat(child) for child in children))


def _flat(child: Child) -> str:
    if isinstance(child, list | tuple):
        return join(child)
    return esc(child)


def el(tag: str, *children: Child, **attributes: object) -> Html:
    """Build an element. Raises ValueError for an invalid name or a link that points outside the folder."""
    opening = f"<{_checked(tag)}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{join(children)}</{tag}>")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a valid element or attribute name")
    return name


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = "class" if name == "cls" else name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {_checked(name)}"
    if name in _LINKS and not _BESIDE.fullmatch(str(value)):
        raise ValueError(f"{value!r} points outside the report's folder")
    return f' {_checked(name)}="{esc(str(value))}"'


@lru_cache(maxsize=2)
def asset(name: str) -> str:
    """Read a text file from this module's folder."""
    return files("memeval.report.html").joinpath(name).read_text("utf-8")


def page(title: str, *content: Child, script: str = "") -> str:
    """Render a whole page. The browser runs no code other than `script`."""
    style = asset("style.css")
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Html(style)),
    )
    body = el("body", el("main", *content), el("script", Html(script)) if script else None, cls="no-script")
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    code = _hash(script) if script else "'none'"
    return f"default-src 'none'; style-src {_hash(style)}; script-src {code}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def table(
    columns: tuple[str, ...], rows: Iterable[Sequence[Child]], numbers: frozenset[str] = frozenset(), *, stacked: bool = False
) -> Html:
    """Render a table with the columns in `numbers` aligned right. Wide tables scroll horizontally.

    A `stacked` table can be displayed as one card per row, as memoryd's console does in narrow windows. Its cells
    contain the names of their columns, and ARIA roles preserve the table semantics.
    """
    kinds = ["n" if name in numbers else None for name in columns]

    def role(name: str) -> str | None:
        return name if stacked else None

    def cell(value: Child, column: str, kind: str | None) -> Html:
        return el("td", value, cls=kind, role=role("cell"), data_column=column if stacked else None)

    head = [el("th", name, cls=kind, scope="col", role=role("columnheader")) for name, kind in zip(columns, kinds, strict=True)]
    body = [
        el(
            "tr",
            [cell(value, *which) for value, which in zip(row, zip(columns, kinds, strict=True), strict=True)],
            role=role("row"),
        )
        for row in rows
    ]
    parts = (el("thead", el("tr", head, role=role("row")), role=role("rowgroup")), el("tbody", body, role=role("rowgroup")))
    return el("div", el("table", *parts, role=role("table")), cls="scroll stacked" if stacked else "scroll", tabindex="0")


def tile(name: str, value: str, note: str = "") -> Html:
    """Render a figure with its label."""
    return el("div", el("span", name, cls="soft small"), el("b", value), el("span", note, cls="soft small"), cls="tile")


def card(title: str, *content: Child, note: str = "") -> Html:
    """Render a chart with its title."""
    return el("section", el("h3", title), el("p", note, cls="soft small") if note else None, join(content), cls="card")


def facts(pairs: list[tuple[str, Child]]) -> Html:
    """Render names with their values, skipping names without a value."""
    return el("dl", [[el("dt", name), el("dd", value)] for name, value in pairs if value not in (None, "")])
