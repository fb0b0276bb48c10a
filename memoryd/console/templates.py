"""Render templates. Everything is escaped, and an undefined name is an error. No other module imports jinja2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from memoryd.console import markdown
from memoryd.console.assets import Assets
from memoryd.console.replies import MEMORYD, Site
from memoryd.core.clock import from_iso
from memoryd.core.errors import DaemonError, InputError
from memoryd.core.text import visible

FOLDER = Path(__file__).parent / "templates"
_OWN = re.compile(r"/(?![/\\])[!-~]*")


class Templates:
    """Renders templates, which access the program as `site`. `folders` maps the pages of other packages to their folders."""

    def __init__(self, assets: Assets, folders: Mapping[str, Path] | None = None, site: Site = MEMORYD) -> None:
        self.site = site
        others = {name: FileSystemLoader(folder) for name, folder in (folders or {}).items()}
        self._environment = Environment(
            loader=ChoiceLoader([FileSystemLoader(FOLDER), PrefixLoader(others)]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(
            markdown=lambda text: Markup(markdown.render(str(text))),  # noqa: S704 - safe HTML by construction
            seen=lambda text: visible(str(text)),
            day=_day,
            minute=_minute,
            thousands=lambda number: f"{number:,}",
            money=_money,
            labelled=lambda name: (name, str(name).replace("_", " ")),
            segment=lambda text: quote(str(text), safe=""),
        )
        self._environment.globals.update(static=assets.url, link=link, back_link=back_link, site=site)

    def render(self, name: str, values: Mapping[str, Any]) -> bytes:
        """Render a template as UTF-8. Raises DaemonError if the values don't match the template, which is a bug."""
        try:
            return self._environment.get_template(name).render(values).encode("utf-8", "replace")
        except TemplateError as error:
            raise DaemonError(
                f"The page '{name}' can't be rendered: {error}", fix=f"This is a bug in {self.site.name}; please report it."
            ) from error


def _money(number: float | None) -> str:
    if number is None:
        return "cost unknown"
    return f"${number:,.4f}" if number < 1 else f"${number:,.2f}"


def is_own(path: str) -> bool:
    """Return whether browsers treat the address as a path of the console. They drop tabs, which could hide a second "/"."""
    return _OWN.fullmatch(path) is not None


def link(path: str, pairs: Mapping[str, Any] | None = None, **changes: Any) -> str:
    """Build a path with a query from `pairs`, overridden by `changes`. Values that are None or "" are omitted."""
    merged = {**(pairs or {}), **changes}
    kept = {name: value for name, value in merged.items() if value not in (None, "", [], ())}
    return f"{path}?{urlencode(kept, doseq=True)}" if kept else path


def back_link(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the URL of the current page. Repeated names in the query are kept."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _moment(value: Any) -> datetime | None:
    try:
        return from_iso(str(value)) if value else None
    except InputError:
        return None


def _day(value: Any) -> str:
    moment = _moment(value)
    return moment.strftime("%Y-%m-%d") if moment else str(value or "")


def _minute(value: Any) -> str:
    moment = _moment(value)
    return moment.strftime("%Y-%m-%d %H:%M") if moment else str(value or "")
