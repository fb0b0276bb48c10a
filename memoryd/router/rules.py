"""Which backend answers a query: one pure function over a table of named rules.

The first rule that fits decides (docs/design/router.md lists them with examples). A learned
router can take the place of `route` with the same signature.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memoryd.codec import ID_PATTERN
from memoryd.entities import find_entities
from memoryd.router.relevance import asks_question, is_foreign
from memoryd.text import keywords
from memoryd.types import Backend, Query, Route

SHORT_WORDS = 3
LONG_WORDS = 12
_RELATIONSHIP = re.compile(
    r"""
    \b(?:related|connected|linked|tied)\s+(?:to|with)\b | \bassociated\s+with\b | (?<!used\s)\bto\s+do\s+with\b
    | \b(?:relations?|relationships?|connections?|links?)\s+(?:between|of|to|with)\b
    | \b(?:what|which|who|everything|anything|all|that)
      (?:\s+(?!(?:did|do|does|should|shall|can|could|will|would|may|might|must)\b)[\w.-]+){0,2}\s+
      (?:depends?\s+on|uses?|mentions?|refers?\s+to|contradicts?|supersedes?)\s+\S
    | \b(?:used|mentioned|referenced|contradicted|superseded|replaced)\s+by\s+(?:what|which|whom?|it|this)\b
    | \bh(?:ä|ae)ng(?:t|en)\b.{0,60}\b(?:zusammen|ab)\b | \b(?:verbunden|verkn(?:ü|ue)pft)\s+mit\b | \bzusammenhang\b
    | \bli(?:é|ée|és|ées)\s+(?:à|au|aux|avec)\b | \bqu(?:i|oi)\s+d(?:é|e)pend\b
    | \brelacionad[oa]s?\s+con\b | \bqu(?:é|e)\s+depende\s+de\b
    | \bсвязан\w*\s+с\b | \bсвяз[ьи]\s+между\b | \b(?:что|кто|какие)\b.{0,40}\b(?:завис\w+\s+от|использу\w+|упомина\w+)
    | (?:和|与|跟|同).{1,40}?(?:相关|有关|关联|关系|相连)
    | (?:什么|哪些|谁)(?:会)?(?:依赖|用到|使用|引用|提到) | 之间的(?:关系|联系|关联)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED = re.compile(r"""["“«„「『](?P<text>[^"”»“」』]{2,})["”»“」』]|(?<!\w)'[^']{2,}'(?!\w)|`[^`]{2,}`""")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition with the backend it leads to. `reason` completes the sentence 'because …'."""

    name: str
    fits: Callable[[Query], bool]
    backend: Backend
    reason: str


def _only_names(query: Query) -> bool:
    """Whether nothing but names (paths, identifiers, errors …) and at most one other word is asked for."""
    rest = query.text.casefold()
    names = find_entities(query.text)
    for name in names:
        rest = rest.replace(name.casefold(), " ")
    return bool(names) and len(keywords(rest)) <= 1


RULES = (
    Rule("empty", lambda q: not q.text.strip(), Backend.MARKDOWN, "without a text the newest memories are listed"),
    Rule("relationship_flag", lambda q: q.relationship, Backend.GRAPH, "the caller asked for relationships"),
    Rule("semantic_flag", lambda q: q.needs_semantic, Backend.VECTOR, "the caller asked for meaning, not words"),
    Rule("memory_id", lambda q: bool(ID_PATTERN.fullmatch(q.text.strip())), Backend.MARKDOWN, "it is a memory's id"),
    Rule(
        "relationship_words",
        lambda q: _RELATIONSHIP.search(q.text) is not None,
        Backend.GRAPH,
        "its wording asks what is connected with something",
    ),
    Rule(
        "other_script",
        lambda q: is_foreign(q.text),
        Backend.HYBRID,
        "the bundled embedder knows English only, so words and their parts count most",
    ),
    Rule(
        "question",
        lambda q: asks_question(q.text),
        Backend.HYBRID,
        "a question may use other words than the answer",
    ),
    Rule("quoted", lambda q: _QUOTED.search(q.text) is not None, Backend.MARKDOWN, "quoted text is looked up literally"),
    Rule("names", _only_names, Backend.MARKDOWN, "names of files, identifiers and errors are looked up literally"),
    Rule(
        "long_text", lambda q: len(q.text.split()) >= LONG_WORDS, Backend.HYBRID, "a long text shares meaning rather than words"
    ),
    Rule("few_words", lambda q: len(q.text.split()) <= SHORT_WORDS, Backend.MARKDOWN, "a few keywords are looked up literally"),
    Rule("default", lambda q: True, Backend.HYBRID, "words and meaning together find most"),
)


def route(query: Query) -> Route:
    """The backend for a query, with the rule that chose it. A backend given in the query always wins."""
    if query.backend is not None:
        return Route(query.backend, "given", "the caller named the backend")
    rule = next(rule for rule in RULES if rule.fits(query))
    return Route(rule.backend, rule.name, rule.reason)


def explain(route: Route) -> str:
    """The choice in one sentence."""
    return f"{route.backend.value}, because {route.reason} (rule {route.rule})."
