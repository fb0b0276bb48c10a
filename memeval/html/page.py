"""The shell of a page: everything in one file, and a policy by which the browser loads and runs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files

from memeval.html.markup import Child, Html, el, join


@lru_cache(maxsize=2)
def asset(name: str) -> str:
    """Text of a file beside this module."""
    return files("memeval.html").joinpath(name).read_text("utf-8")


def page(title: str, *content: Child, script: str = "") -> str:
    """A whole page. `script` is the only code that the browser will run."""
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


def table(columns: tuple[str, ...], rows: Iterable[Sequence[Child]], numbers: frozenset[str] = frozenset()) -> Html:
    """A table; columns in `numbers` stand to the right. Wide ones scroll in themselves."""
    kinds = ["n" if name in numbers else None for name in columns]
    head = el("tr", [el("th", name, cls=kind, scope="col") for name, kind in zip(columns, kinds, strict=True)])
    body = [el("tr", [el("td", cell, cls=kind) for cell, kind in zip(row, kinds, strict=True)]) for row in rows]
    return el("div", el("table", el("thead", head), el("tbody", body)), cls="scroll", tabindex="0")


def tile(name: str, value: str, note: str = "") -> Html:
    """One number with its name."""
    return el("div", el("span", name, cls="soft small"), el("b", value), el("span", note, cls="soft small"), cls="tile")


def card(title: str, *content: Child, note: str = "") -> Html:
    """A chart with its title."""
    return el("section", el("h3", title), el("p", note, cls="soft small") if note else None, join(content), cls="card")


def facts(pairs: list[tuple[str, Child]]) -> Html:
    """Names and values; those without a value are left out."""
    return el("dl", [[el("dt", name), el("dd", value)] for name, value in pairs if value not in (None, "")])
