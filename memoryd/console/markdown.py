"""Render memory text as safe HTML. No other module imports markdown_it.

The dialect is CommonMark with tables and strikethrough. Raw HTML is shown as text and images as their description.
Nothing remote is loaded. Links may point to http, https, mailto or a console page. Other links remain text.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML

from memoryd.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

MAX_CHARACTERS = 100_000
HEADING_SHIFT = 2
LONGEST_LANGUAGE = 20
NOT_RENDERED = '<p class="muted">Shown as source because rendering it as Markdown would hide a part of it.</p>\n'
ABSOLUTE = ("http://", "https://", "mailto:")


class _Renderer(RendererHTML):
    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        if str(token.attrGet("href") or "").startswith(ABSOLUTE):
            token.attrSet("rel", "noopener noreferrer nofollow")
            token.attrSet("target", "_blank")
        return self.renderToken(tokens, index, options, env)

    def _heading(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Move headings below the page title's level without skipping levels, so that the page outline stays valid."""
        token = tokens[index]
        if token.nesting > 0:
            env["level"] = min(6, int(token.tag[1:]) + HEADING_SHIFT, env.get("level", 1) + 1)
        return f"<{'/' if token.nesting < 0 else ''}h{env['level']}>"

    heading_open = heading_close = _heading

    def _cell(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Omit the inline style that aligns a cell, because the Content-Security-Policy forbids it."""
        return f"<{tokens[index].tag}>"

    th_open = td_open = _cell

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Make wide tables scrollable by mouse and keyboard."""
        return '<div class="scroll" tabindex="0" role="group" aria-label="Table">\n<table>\n'

    def table_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        return "</table>\n</div>\n"


def _is_safe_link(url: str) -> bool:
    text = url.strip().lower()
    if text.startswith(ABSOLUTE):
        return True
    return text.startswith(("/", "#")) and not text.startswith(("//", "/\\"))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"]).disable(["image", "html_block", "html_inline", "entity"])
    checked: Any = parser
    checked.validateLink = _is_safe_link
    return parser


def render(text: str) -> str:
    """Render a Markdown text as safe HTML, truncated to MAX_CHARACTERS.

    Markdown hides some text (link definitions and titles, excess cells, deep nesting) that a model would still read.
    A text with any hidden part is therefore shown as source.
    """
    text, env = visible(text[:MAX_CHARACTERS]), dict[str, Any]()
    tokens = _parser().parse(text, env)
    if _letters(text) - _seen(tokens):
        return f"<pre>{escape(text)}</pre>\n{NOT_RENDERED}"
    return str(_parser().renderer.render(tokens, _parser().options, env))


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _seen(tokens: Sequence[Token]) -> Counter[str]:
    """Count the letters and digits displayed in texts, link targets, list numbers and code languages."""
    seen: Counter[str] = Counter()
    for token, after in zip_longest(tokens, tokens[1:]):
        seen += _seen(token.children) if token.children else _letters(_shown(token))
        # The address of an autolink is also its text and counts once, however it is encoded.
        if token.type == "link_open" and token.info == "auto":
            seen += _letters(str(token.attrGet("href"))) - _letters(after.content)
    return seen


def _shown(token: Token) -> str:
    if token.type == "link_open":
        return "" if token.info == "auto" else unquote(str(token.attrGet("href") or ""))
    if token.type == "fence":
        language, _, more = token.info.strip().partition(" ")
        return token.content + (language if not more and len(language) <= LONGEST_LANGUAGE else "")
    return token.info if token.type == "list_item_open" else token.content
