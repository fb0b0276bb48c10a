"""Check a page, as a browser sees it, for anything that runs code, loads resources or leads to unsafe targets."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

FORBIDDEN = {"img", "svg", "iframe", "object", "embed", "base", "style", "b", "video", "audio"}
SAFE = re.compile(r"/(?![/\\])|#|https?://|mailto:")


class Auditor(HTMLParser):
    """Collects elements that run code, load resources or lead to unsafe targets."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def handle_starttag(self, tag: str, attributes: list[Any]) -> None:
        values = dict(attributes)
        if tag in FORBIDDEN or (tag == "script" and not str(values.get("src")).startswith("/static/")):
            self.found.append(tag)
        for name, value in attributes:
            leads = name in ("href", "src", "action", "formaction")
            if name.startswith("on") or name in ("style", "srcdoc") or (leads and not SAFE.match(value or "")):
                self.found.append((tag, name, value))


def harm(html: str) -> list[Any]:
    """Return all problems in a page or fragment."""
    auditor = Auditor()
    auditor.feed(html)
    return auditor.found
