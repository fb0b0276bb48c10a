"""Query routing: a pure function over a table of named rules.

The first matching rule decides (docs/design/router.md lists them with examples). A learned router with the same signature can
replace `route`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import orjson

from memoryd.core.codec import ID_PATTERN
from memoryd.core.protocols import FloatArray
from memoryd.core.text import keywords
from memoryd.core.types import Backend, Kind, Query, Route
from memoryd.language.entities import find_entities
from memoryd.language.stems import is_foreign
from memoryd.language.times import ANY_TIME, Span, asked_span, times_in_english
from memoryd.retrieval.relevance import asks_question

# Listings: questions for all memories of a kind or time, or for the point where work stopped, such as `what is still open?` and
# `where were we?`.
#
# A listing question consists only of words for kinds and times. A question that names a subject is searched instead. Questions
# about where work stopped use set phrases, which may begin any prompt.

MAX_WORDS = 12
_KINDS: Mapping[Kind, frozenset[str]] = MappingProxyType(
    {
        Kind.TODO: frozenset(
            """open todo todos remaining remains left pending unfinished outstanding backlog
            offen offene offenes übrig ausstehend unerledigt reste restant restants inachevé pendiente pendientes abierto
            falta faltan aberto aberta pendentes aperto aperta sospeso resta
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
# Phrases of several words, and words in languages without spaces between words
_PHRASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\bto[\s-]dos?\b|\bnext\s+steps?\b|\bà\s+faire\b|\bpor\s+(?:hacer|fazer)\b"), " todo "),
    (re.compile(r"\bzu\s+(?:tun|erledigen)\b|\bda\s+fare\b|\bem\s+aberto\b|\bin\s+sospeso\b"), " todo "),
    (re.compile(r"(?:残って|終わって|やって)い?(?:る|ます|ない|ません)(?:こと|もの|タスク|作業)?"), " todo "),
    (re.compile(r"未完了|残り?の?(?:タスク|作業)|やること"), " todo "),
    (re.compile(r"(?:남은|남아\s?있는|안\s?끝난|해야\s?할)\s*(?:일|것|작업)?|할\s?일|미완료"), " todo "),
    (re.compile(r"\bdead\s+ends?\b|\bdidn.?t\s+work\b"), " failed "),
    (re.compile(r"\broot\s+causes?\b"), " fixes "),
    (re.compile(r"还没(?:有)?(?:做|完成)\w{0,4}|待办\w{0,3}|未完成\w{0,4}|没做完\w{0,4}"), " todo "),
    (re.compile(r"决定了?"), " decided "),
    (re.compile(r"规则|约定"), " rules "),
    (re.compile(r"我们|什么|哪些|还有|有|做了?|吗|呢|的|了|过"), " "),
    (re.compile(r"私たち|何|なに|まだ|を|が|は|に|し(?:まし)?た|あり?ます|ある|です|か|っけ|の"), " "),
    (re.compile(r"우리(?:가|는)?|아직|뭐|무엇|무슨|예요|야|[은는이가을를]\b"), " "),
    (re.compile(r"[했있](?:지|어|나요|나|니|습니까)?"), " "),
)  # fmt: skip
_FILLER = frozenset(
    """a an the and or of to in on at for is are was were be been it that this these those there here so far yet still again
    what which who list show tell me give us i we our my you your all any every everything anything something things thing items
    do did does done doing have has had made make get got happen happened happening work worked working learn learned learnt
    remember remembered know known new newly recent recently lately currently now today's project s re ve need needs next on
    please can could should would us up with about during since from until between
    was welche welcher welches ist sind hier noch haben hat wir alles gemacht getan wurde wurden es gibt alle zeig mir
    qu est ce que qui quoi on a avons fait encore tout les nous des il y
    que quedado queda qué hicimos hemos hecho está están todavía hay cuáles las los
    o ainda fizemos feito fazer está temos hacer cosa cos abbiamo fatto ancora c è resta che
    что мы ещё еще есть какие делали сделали сделать у нас там нам надо все""".split()
)
_TIME_WORDS = frozenset(
    """yesterday today tonight morning afternoon evening night last past previous this week weeks month months day days year years
    weekend quarter ago before earlier couple few one two three four five six seven
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december""".split()
)
_WORD = re.compile(r"[^\W_]+")
# Matched only at the start of a prompt. Later, "where we left off" is more likely a statement than a question.
LEFT_OFF_CHARACTERS = 200
_END = r"\s*(?:[?!,;:]|\.(?!\w)|$)"
_LAST_TIME = r"(?:(?:in\s+)?(?:the\s+|our\s+)?(?:last|previous)\s+(?:time|session)|yesterday|before|again|last)"
_LEFT_OFF = re.compile(
    rf"""
      \bwhere\s+(?:did|had|have|do)\s+(?:we|i|you)\s+(?:last\s+)?(?:le(?:ave|ft)\s+(?:it\s+|things\s+)?off|stop(?:ped)?|finish(?:ed)?
        |end(?:ed)?(?:\s+up)?|get\s+to|got\s+to|paused?)(?:\s+{_LAST_TIME})?{_END}
    | \bwhere\s+(?:we|i|you)\s+(?:had\s+|have\s+)?(?:left\s+(?:it\s+|things\s+)?off|stopped|were\s+{_LAST_TIME})\b
    | \bwhere\s+(?:did|had|have)\s+(?:we|i|you)\s+(?:leave|left)\s+(?:it\s+|things\s+)?off\b
    | \bwhere\s+(?:were|was|are)\s+(?:we|i)(?:\s+(?:{_LAST_TIME}|at|now|then|standing|in\s+(?:this|our\s+work)))?{_END}
    | \bwhat\s+(?:were|was)\s+(?:we|i)\s+(?:just\s+|last\s+)?(?:working\s+on|doing|up\s+to)(?:\s+{_LAST_TIME})?{_END}
    | \bwhat\s+(?:did|have|had)\s+(?:we|i|you)\s+(?:do|done|did|work(?:ed)?\s+on|get\s+done|finish(?:ed)?)
        \s+(?:in\s+)?(?:the\s+|our\s+)?(?:last|previous)\s+(?:time|session)\b
    | \bwhat\s+have\s+(?:we|i|you)\s+done\s+so\s+far{_END}
    | \b(?:what\s+happened|summar\w{{2,6}}|recap)\s+(?:in\s+|of\s+)?(?:the\s+|our\s+|my\s+)?(?:last|previous)\s+session\b
    | ^\W*(?:so\W+|and\W+)?what(?:['’]?s|\s+is|\s+(?:should|do|shall|can)\s+(?:we|i)\s+do)\s+next{_END}
    | \bwo\s+(?:sind|waren)\s+wir\s+(?:denn\s+)?(?:zuletzt\s+|gestern\s+|das\s+letzte\s+mal\s+)?stehen\s?geblieben
    | \bwo\s+(?:sind|waren)\s+wir(?:\s+(?:zuletzt|gestern|gerade|das\s+letzte\s+mal))?{_END}
    | \bwo\s+(?:haben|hatten|habe|hatte)\s+(?:wir|ich)\s+(?:\w+\s+){{0,3}}(?:aufgehört|unterbrochen)
    | \bwo\s+(?:wir|ich)\s+(?:\w+\s+){{0,3}}(?:aufgehört|stehen\s?geblieben|unterbrochen)
    | \b(?:was|woran)\s+(?:haben|hatten)\s+wir\s+(?:zuletzt|beim\s+letzten\s+mal|(?:das\s+)?letztes?\s+mal)\b
    | \b(?:was|woran)\s+(?:haben|hatten)\s+wir\s+in\s+der\s+letzten\s+sitzung\b
    | ^\W*(?:wie\s+geht(?:\s+e?s|['’]s)\s+weiter|was\s+steht\s+(?:noch\s+|als\s+nächstes\s+)?an){_END}
    | \boù\s+en\s+(?:étions|sommes|étais|suis|est|était)[\s-](?:nous|on|je)\b
    | \b(?:on|nous|j['’])\s*(?:nous\s+)?en\s+(?:étions|était|est|sommes|étais)\s+où\b
    | \boù\s+(?:nous|on|j['’])\s*(?:nous\s+)?en\s+(?:étions|était|est|sommes|étais)\b
    | \boù\s+(?:est-ce\s+qu['’])?(?:on|nous)\s+(?:s['’](?:est|était)|nous\s+(?:sommes|étions))\s+arrêtés?
    | \boù\s+(?:s['’]est-on|nous\s+sommes-nous)\s+arrêtés?
    | \bqu['’](?:est-ce\s+qu['’]on\s+a|est-ce\s+que\s+nous\s+avons|avons-nous|a-t-on)\s+fait\s+la\s+dernière\s+fois
    | \b(?:d[óo]nde|en\s+qu[ée])\s+(?:nos\s+)?(?:hab[ií]amos\s+)?(?:quedamos|quedado|lo\s+dejamos|[ií]bamos|est[aá]bamos){_END}
    | \b(?:d[óo]nde|en\s+qu[ée])\s+(?:nos\s+quedamos|lo\s+dejamos|est[aá]bamos\s+trabajando)\b
    | \bqu[ée]\s+hicimos\s+(?:la\s+última\s+vez|en\s+la\s+última\s+sesión)
    | \bonde\s+(?:n[óo]s\s+)?(?:paramos|ficamos|est[áa]vamos|tínhamos\s+parado){_END}
    | \bo\s+que\s+fizemos\s+(?:da|na)\s+última
    | \bdove\s+(?:eravamo|siamo|ci\s+siamo|ci\s+eravamo)\s+(?:rimasti|arrivati|fermati)
    | \ba\s+che\s+punto\s+(?:eravamo|siamo){_END}
    | \bcosa\s+abbiamo\s+fatto\s+(?:l['’]ultima\s+volta|nell['’]ultima\s+sessione)
    | \bна\s+ч[её]м\s+(?:же\s+)?(?:мы\s+|я\s+)?(?:в\s+прошлый\s+раз\s+|вчера\s+)?(?:остановил|закончил|прервал)
    | \b(?:где|места,?\s+(?:где|на\s+котором))\s+(?:мы\s+|я\s+)?(?:остановил|закончил|прервал)
    | \b(?:что|над\s+чем)\s+(?:мы\s+)?(?:делали|сделали|работали)\s+(?:мы\s+)?в\s+прошл(?:ый\s+раз|ой\s+сессии)
    | (?:做|进行|说|聊|讲|停|写|改|弄|干)(?:到|在)了?(?:哪|什么(?:地方|阶段|程度))
    | 到(?:哪(?:一步|里|儿|个阶段)|什么阶段)了
    | 上(?:次|一次|个会话)(?:我们|咱们)?都?(?:做|干|完成|聊|改)了?些?(?:什么|哪)
    | (?:接着|继续|从)上次(?:停|中断|结束|没|的?(?:地方|工作|进度|进展|继续)|\s*$)
    | どこまで(?:やり|やっ|進|すす|し(?:た|まし)|でき|終わ|話)
    | 前回(?:は|の)?(?:何|なに|どこ|続き) | (?:この|前の|さっきの)?続きから
    | 어디까지\s?(?:했|진행|하|갔|끝) | 지난\s?번에?\s?(?:우리\s?)?(?:뭐|무엇|어디)
    | (?:멈춘|그만둔|중단한)\s?(?:곳|데|부분)
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Listing:
    """A request to list memories of these kinds (all kinds if empty) learnt in this time (any time if None)."""

    kinds: tuple[Kind, ...] = ()
    span: Span | None = None


def asks_left_off(text: str) -> bool:
    """Return whether the text begins by asking where work stopped, as in `where did we leave off?`."""
    return _LEFT_OFF.search(text[:LEFT_OFF_CHARACTERS]) is not None


def span_of_handoffs(text: str, now: datetime) -> Span | None:
    """Return the period for which handoffs are requested, or None if none are requested. ANY_TIME means the latest handoff.

    Like memories, handoffs record open and completed work in a period.
    """
    listing = asked_listing(text, now)
    if listing is not None and listing.kinds in ((), (Kind.TODO,)):
        return listing.span or ANY_TIME
    return ANY_TIME if asks_left_off(text) else None


def asked_listing(text: str, now: datetime) -> Listing | None:
    """Return the requested kinds and time, or None if the question mentions a subject or requests neither."""
    folded = text[: 40 * MAX_WORDS].casefold()
    if len(folded.split()) > MAX_WORDS or len(text) > len(folded) + 40:
        return None
    left_off = asks_left_off(folded)
    folded = _LEFT_OFF.sub(" todo ", folded) if left_off else folded
    folded = times_in_english(folded)
    for pattern, word in _PHRASES:
        folded = pattern.sub(word, folded)
    words = _WORD.findall(folded)
    kinds = tuple(kind for kind, of in _KINDS.items() if any(word in of for word in words))
    known = _FILLER.union(_TIME_WORDS, *_KINDS.values())
    if any(word not in known and not word.isdigit() for word in words):
        return None
    span = None if left_off else asked_span(folded, now)  # Open tasks may be older than the time when work stopped.
    return Listing(kinds, span) if kinds or span else None


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
class RoutingRule:
    """A condition and the backend that it selects. `reason` completes the sentence 'because …'."""

    name: str
    fits: Callable[[Query], bool]
    backend: Backend
    reason: str


def _only_names(query: Query) -> bool:
    """Return whether the query consists of names (paths, identifiers, errors …) and at most one other word."""
    rest = query.text.casefold()
    names = find_entities(query.text)
    for name in names:
        rest = rest.replace(name.casefold(), " ")
    return bool(names) and len(keywords(rest)) <= 1


RULES = (
    RoutingRule("empty", lambda q: not q.text.strip(), Backend.MARKDOWN, "a query without text lists the newest memories"),
    RoutingRule("relationship_flag", lambda q: q.relationship, Backend.GRAPH, "the caller asked for relationships"),
    RoutingRule("semantic_flag", lambda q: q.needs_semantic, Backend.VECTOR, "the caller asked for meaning, not words"),
    RoutingRule("memory_id", lambda q: bool(ID_PATTERN.fullmatch(q.text.strip())), Backend.MARKDOWN, "it is a memory id"),
    RoutingRule(
        "relationship_words",
        lambda q: _RELATIONSHIP.search(q.text) is not None,
        Backend.GRAPH,
        "its wording asks for connections",
    ),
    RoutingRule(
        "other_script",
        lambda q: is_foreign(q.text),
        Backend.HYBRID,
        "the bundled embedder only supports English, so words and word parts matter most",
    ),
    RoutingRule(
        "question",
        lambda q: asks_question(q.text),
        Backend.HYBRID,
        "a question may use other words than its answer",
    ),
    RoutingRule("quoted", lambda q: _QUOTED.search(q.text) is not None, Backend.MARKDOWN, "quoted text is searched literally"),
    RoutingRule("names", _only_names, Backend.MARKDOWN, "names of files, identifiers and errors are searched literally"),
    RoutingRule(
        "long_text", lambda q: len(q.text.split()) >= LONG_WORDS, Backend.HYBRID, "a long text shares meaning rather than words"
    ),
    RoutingRule(
        "few_words", lambda q: len(q.text.split()) <= SHORT_WORDS, Backend.MARKDOWN, "a few keywords are searched literally"
    ),
    RoutingRule("default", lambda q: True, Backend.HYBRID, "words and meaning together find most"),
)


def route(query: Query) -> Route:
    """Return the backend for a query and the rule that chose it. A backend specified in the query always wins."""
    if query.backend is not None:
        return Route(query.backend, "given", "the caller specified the backend")
    rule = next(rule for rule in RULES if rule.fits(query))
    return Route(rule.backend, rule.name, rule.reason)


def explain(route: Route) -> str:
    """Explain the choice of backend in one sentence."""
    return f"{route.backend.value}, because {route.reason} (rule {route.rule})."


# Learned router: multinomial logistic regression over the query's embedding and the rules' features.
#
# It is trained by `memoryd router train` (see `training`) and stored as JSON in the home folder. It decides only queries whose
# text matters: explicit flags and backends, ids and empty texts are left to the rules.

FORMAT = 1
CERTAIN = frozenset({"given", "empty", "relationship_flag", "semantic_flag", "memory_id"})
_CUES = tuple(rule for rule in RULES if rule.name not in CERTAIN and rule.name != "default")
FEATURES = (*(rule.name for rule in _CUES), "words", "entities", "question_mark", "signs")
# Components of a 384-dimensional unit vector are about 0.05. Unscaled, the penalty would shrink their weights to nothing.
EMBEDDING_SCALE = 4.0
MAX_LENGTH_WORDS = 64
_REASON = "similar queries are best answered that way (learned, {:.0%} sure)"

Embed = Callable[[str], FloatArray]


@dataclass(frozen=True, slots=True)
class RouterModel:
    """A trained router.

    Attributes:
        weights: Array of shape (backends, dimensions + FEATURES + 1). The last column is the bias.
        used: Whether it outperformed the rules.
        scores: Results of the router and the rules on held-out queries.
    """

    embedder: str
    backends: tuple[Backend, ...]
    weights: FloatArray
    used: bool
    scores: Mapping[str, Any]

    def choose(self, row: FloatArray) -> tuple[Backend, float]:
        """Return the most probable backend for a query's features, and its probability (softmax)."""
        logits = self.weights @ row
        place = int(np.argmax(logits))
        return self.backends[place], float(1.0 / np.exp(logits - logits[place]).sum())


@dataclass(frozen=True, slots=True)
class RouterChoice:
    """The active router and the reason for choosing it.

    Without a `model`, the rules decide. `problem` is the reason why the file is unusable.
    """

    model: RouterModel | None
    reason: str
    problem: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {"used": "learned" if self.model else "rules", "reason": self.reason, "problem": self.problem}


class LearnedRouter:
    """Drop-in replacement for `route` that uses a trained model. `embed` returns the unit vector of a query."""

    def __init__(self, model: RouterModel, embed: Embed) -> None:
        self._model = model
        self._embed = embed

    def __call__(self, query: Query) -> Route:
        """Return the backend for a query. Errors from `embed` are not caught."""
        by_rules = route(query)
        if by_rules.rule in CERTAIN:
            return by_rules
        row = features(query.text, self._embed(query.text))
        if len(row) != self._model.weights.shape[1]:
            return by_rules
        backend, sure = self._model.choose(row)
        return Route(backend, "learned", _REASON.format(sure))


def features(text: str, vector: FloatArray) -> FloatArray:
    """Return the query's unit vector times EMBEDDING_SCALE, then FEATURES (each from 0 to 1), then 1 for the bias."""
    query = Query(text)
    letters = max(1, len(text))
    own = [
        *(float(rule.fits(query)) for rule in _CUES),
        math.log(1 + min(MAX_LENGTH_WORDS, len(text.split()))) / math.log(1 + MAX_LENGTH_WORDS),
        min(1.0, sum(map(len, find_entities(text))) / letters),
        float(text.rstrip().endswith(("?", "？"))),
        sum(not (c.isalnum() or c.isspace()) for c in text) / letters,
    ]
    return np.concatenate([EMBEDDING_SCALE * np.asarray(vector, dtype=np.float32), np.asarray([*own, 1.0], dtype=np.float32)])


def load_router(path: Path, embedder: str) -> RouterChoice:
    """Load the learned router. Falls back to the rules if it is missing, outdated, damaged or no better than the rules."""
    try:
        model = _read(path)
        scores = _summary(model.scores)
    except FileNotFoundError:
        return RouterChoice(None, "no learned router; create one with 'memoryd router train'")
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        return RouterChoice(None, f"{path} is ignored: {error}", problem=True)
    if model.embedder != embedder:
        why = f"it was trained with the embedder {model.embedder}, the current one is {embedder or 'none'}"
        return RouterChoice(None, f"{path} is ignored: {why}", problem=True)
    if not model.used:
        return RouterChoice(None, f"the learned router did not beat the rules: {scores}")
    return RouterChoice(model, f"the learned router beat the rules: {scores}")


def _read(path: Path) -> RouterModel:
    raw = orjson.loads(path.read_bytes())
    if raw["format"] != FORMAT or raw["features"] != list(FEATURES):
        raise ValueError("it has the format of another version")
    backends = tuple(Backend(name) for name in raw["backends"])
    weights = np.asarray(raw["weights"], dtype=np.float32)
    if weights.ndim != 2 or len(weights) != len(backends) or not len(backends) or not np.isfinite(weights).all():
        raise ValueError("its weights are damaged")
    return RouterModel(str(raw["embedder"]), backends, weights, raw["used"] is True, raw["scores"])


def _summary(scores: Mapping[str, Any]) -> str:
    learned, rules = (float(scores[name]["accuracy"]) for name in ("learned", "rules"))
    return f"right {learned:.1%} against {rules:.1%} on {int(scores['n'])} held-out queries, p = {float(scores['p']):.3g}"


def router_to_json(model: RouterModel) -> bytes:
    """Serialise a model so that `load_router` can read it."""
    raw = {
        "format": FORMAT,
        "used": model.used,
        "scores": dict(model.scores),
        "embedder": model.embedder,
        "features": list(FEATURES),
        "backends": [backend.value for backend in model.backends],
        "weights": [[round(float(value), 5) for value in row] for row in model.weights],
    }
    return orjson.dumps(raw, option=orjson.OPT_INDENT_2)
