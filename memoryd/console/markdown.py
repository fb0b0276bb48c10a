"""Memory text as HTML that can do nothing. The only importer of markdown_it.

CommonMark with tables and strike-through. Raw HTML is shown as text; images become their description (nothing is loaded
from afar); a link may lead to http, https, mailto or a page of the console, anything else stays text.
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
NOT_RENDERED = '<p class="muted">Shown as it is written: as Markdown a part of it would not be seen.</p>\n'
ABSOLUTE = ("http://", "https://", "mailto:")


class _Renderer(RendererHTML):
    def link_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[index]
        if str(token.attrGet("href") or "").startswith(ABSOLUTE):
            token.attrSet("rel", "noopener noreferrer nofollow")
            token.attrSet("target", "_blank")
        return self.renderToken(tokens, index, options, env)

    def _heading(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Below the page's title, and never more than a level below the heading before: the page's outline stays whole."""
        token = tokens[index]
        if token.nesting > 0:
            env["level"] = min(6, int(token.tag[1:]) + HEADING_SHIFT, env.get("level", 1) + 1)
        return f"<{'/' if token.nesting < 0 else ''}h{env['level']}>"

    heading_open = heading_close = _heading

    def _cell(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Without the inline style of an alignment, which the Content-Security-Policy forbids."""
        return f"<{tokens[index].tag}>"

    th_open = td_open = _cell

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """One that is too wide scrolls, by keyboard too."""
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
    """Safe HTML of a Markdown text; what lies beyond MAX_CHARACTERS is left out.

    Markdown leaves some text unseen (definitions of links, their titles, cells beyond the columns, what is nested deeply), and a
    model reads that, too. So a text of which anything would not be seen is shown as it is written.
    """
    text, env = visible(text[:MAX_CHARACTERS]), dict[str, Any]()
    tokens = _parser().parse(text, env)
    if _letters(text) - _seen(tokens):
        return f"<pre>{escape(text)}</pre>\n{NOT_RENDERED}"
    return str(_parser().renderer.render(tokens, _parser().options, env))


def _letters(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _seen(tokens: Sequence[Token]) -> Counter[str]:
    """The letters and digits that come out: texts, where links lead, numbers of lists, languages of code."""
    seen: Counter[str] = Counter()
    for token, after in zip_longest(tokens, tokens[1:]):
        seen += _seen(token.children) if token.children else _letters(_shown(token))
        if (
            token.type == "link_open" and token.info == "auto"
        ):  # an address that is its own text counts once, however it is encoded
            seen += _letters(str(token.attrGet("href"))) - _letters(after.content)
    return seen


def _shown(token: Token) -> str:
    if token.type == "link_open":
        return "" if token.info == "auto" else unquote(str(token.attrGet("href") or ""))
    if token.type == "fence":
        language, _, more = token.info.strip().partition(" ")
        return token.content + (language if not more and len(language) <= LONGEST_LANGUAGE else "")
    return token.info if token.type == "list_item_open" else token.content
