"""Questions that ask for all memories of a kind or of a time: `what is still open?`, `what did we do yesterday?`.

Such a question has no subject: beside words for a kind and a time it says nothing. One that has a subject is searched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from memoryd.router.times import Span, asked_span
from memoryd.types import Kind

MOST_WORDS = 12
_KINDS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        Kind.TODO: frozenset(
            """open todo todos remaining remains left pending unfinished outstanding backlog
            offen offene offenes übrig ausstehend unerledigt reste restant restants inachevé pendiente pendientes abierto
            осталось открыто незакончено незавершено недоделано""".split()
        ),
        Kind.DECISION: frozenset(
            """decide decided decision decisions chose chosen choose agreed agreements entschieden entscheidungen beschlossen
            décidé décisions decidido decisiones decidimos решили решения""".split()
        ),
        Kind.RULE: frozenset("rule rules conventions guidelines regeln règles reglas правила".split()),
        Kind.PREFERENCE: frozenset("preferences preference prefer vorlieben préférences preferencias предпочтения".split()),
        Kind.DEAD_END: frozenset("failed attempts tried gescheitert échoué fracasos".split()),
        Kind.FIX: frozenset("fixed fixes solved repaired behoben gelöst corrigé arreglado починили исправили".split()),
    }
)
# Where words are not divided by spaces, and where two words make one.
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bto[\s-]dos?\b|\bnext\s+steps?\b|\bà\s+faire\b|\bpor\s+hacer\b|\bzu\s+tun\b"), " todo "),
    (re.compile(r"\bdead\s+ends?\b|\bdidn.?t\s+work\b"), " failed "),
    (re.compile(r"\broot\s+causes?\b"), " fixes "),
    (re.compile(r"还没(?:有)?(?:做|完成)\w{0,4}|待办\w{0,3}|未完成\w{0,4}|没做完\w{0,4}"), " todo "),
    (re.compile(r"决定了?"), " decided "),
    (re.compile(r"规则|约定"), " rules "),
    (re.compile(r"昨天|\bgestern\b|\bhier\b|\bayer\b|\bвчера\b"), " yesterday "),
    (re.compile(r"今天|\bheute\b|\baujourd.?hui\b|\bhoy\b|\bсегодня\b"), " today "),
    (re.compile(r"上(?:个)?(?:星期|周)|\bletzte\s+woche\b|\bla\s+semaine\s+dernière\b|\bla\s+semana\s+pasada\b|\bна\s+прошлой\s+неделе\b"),
     " last week "),
    (re.compile(r"我们|什么|哪些|还有|有|做了?|吗|呢|的|了|过"), " "),
)  # fmt: skip
_FILLER = frozenset(
    """a an the and or of to in on at for is are was were be been it that this these those there here so far yet still again
    what which who list show tell me give us i we our my you your all any every everything anything something things thing items
    do did does done doing have has had made make get got happen happened happening work worked working learn learned learnt
    remember remembered know known new newly recent recently lately currently now today's project s re ve need needs next on
    please can could should would us up with about during since from until between
    was welche welcher welches ist sind noch haben hat wir alles gemacht getan es gibt alle zeig mir
    qu est ce que qui quoi on a avons fait encore tout les nous des il y
    que quedado queda qué hicimos hemos hecho está están todavía hay cuáles las los
    что мы ещё еще есть какие делали сделали сделать у нас там нам надо все""".split()
)
_TIME_WORDS = frozenset(
    """yesterday today tonight morning afternoon evening night last past previous this week weeks month months day days year years
    weekend quarter ago before earlier couple few one two three four five six seven
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december""".split()
)
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Listing:
    """What is to be listed: memories of these kinds (none: of all), learnt in this time (None: at any)."""

    kinds: tuple[Kind, ...] = ()
    span: Span | None = None


def asked_listing(text: str, now: datetime) -> Listing | None:
    """The kinds and the time that a question asks for; None when it has a subject, or asks for neither."""
    folded = text[: 40 * MOST_WORDS].casefold()
    if len(folded.split()) > MOST_WORDS or len(text) > len(folded) + 40:
        return None
    for pattern, word in _PHRASES:
        folded = pattern.sub(word, folded)
    words = _WORD.findall(folded)
    kinds = tuple(kind for kind, of in _KINDS.items() if any(word in of for word in words))
    known = _FILLER.union(_TIME_WORDS, *_KINDS.values())
    if any(word not in known and not word.isdigit() for word in words):
        return None
    span = asked_span(folded, now)
    return Listing(kinds, span) if kinds or span else None
