"""How likely is it that an item answers a query? A calibrated 0..1 from words and meaning.

A logistic function (Platt 1999) of the cosine and of the idf-weighted share of the query's
terms that the item has. Ranks are left out on purpose: the best of many wrong answers ranks
first too, so they spoil abstention. The weights lie in `relevance.json`, fitted by
benchmarks/fit_relevance.py; 0.5 is the point chosen there between keeping answers and
saying nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import orjson

from memoryd.errors import ConfigError
from memoryd.text import CJK, keywords, words

WEIGHTS_FILE = Path(__file__).with_name("relevance.json")
FORMAT = 1
PRIOR_DOCUMENTS = 200
WIDE_WEIGHT = 0.5
TASK_WEIGHT = 0.35
STEMS_KEPT = 50_000
_FOREIGN = re.compile(r"[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯\u0370-\u03ff\u0400-\u052f\u0590-\u06ff\u0900-\u0e7f]")
_LETTER = re.compile(r"[^\W\d_]")
_CYRILLIC = re.compile(r"[\u0400-\u052f]")
_CYRILLIC_ENDING = re.compile(
    r"(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|[аеиоуыэюяйьё]{1,3}|ов|ев|ом|ем|ам|ям|ах|ях|ых|их|ым|им)$"
)
_ENDINGS = ("ations", "ation", "ingly", "ings", "ing", "edly", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e")
_QUESTION_WORDS = frozenset(
    """怎么 什么 为什 么样 如何 是否 可以 哪个 哪些 哪里 多少 吗 呢 需要 应该 怎样 样才 才能 能不 不能 我们 这个 那个 一个
    как что где когда почему зачем какой какая какие какое кто чем ли это эта этот есть нужно нужны нужен можно для или при без
    под над про из на по от до не ни бы же за об во со ко и а но мы вы он она они мой наш
    wie was wo wann warum wer welche welcher welches ist sind der die das ein eine und oder nicht mit für auf im wir ich soll kann
    comment pourquoi quel quelle quand où est sont le la les un une des et ou pas avec pour sur dans nous je faut
    please need want get make happen know tell thing way""".split()
)


@lru_cache(maxsize=STEMS_KEPT)  # the words of 200 candidates a query are mostly the same
def stem(word: str) -> str:
    """A crude stem of a lower-case word: common English and Russian endings cut, at least three letters kept."""
    if _CYRILLIC.search(word):
        cut = _CYRILLIC_ENDING.sub("", word)
        return cut if len(cut) >= 3 else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


# What any prompt may say to an assistant; such a word says little about what it is about.
_TASK_WORDS = frozenset(
    map(
        stem,
        """use using go run try look good nice great fix add stop continue commit move let one show explain write create implement
        update change check thanks thank ok yes sure rename start begin finish done redo undo retry proceed again keep right now
        better first next last new old work help find think see give take put set do file code function
        related relation connected connection linked associated depend depends""".split(),
    )
)


def is_foreign(text: str) -> bool:
    """Whether at least 30 % of the letters are of a script that an English embedder can't judge."""
    letters = len(_LETTER.findall(text))
    return letters > 0 and len(_FOREIGN.findall(text)) >= 0.3 * letters


def query_terms(text: str) -> dict[str, str]:
    """Stem -> word for the words of a query that carry meaning, in order of appearance."""
    out: dict[str, str] = {}
    for word in keywords(text):
        if word not in _QUESTION_WORDS:
            out.setdefault(stem(word), word)
    return out


def term_weights(text: str, document_frequency: Callable[[str], int], documents: int) -> dict[str, float]:
    """Weight 0..1 of each stem of the query: its idf over that of an unknown word.

    idf = log((N + P + 1) / (df + ½)) with P = 200 documents assumed beside the N real ones,
    so that in a small store a word does not seem common because two memories have it.
    """
    unknown = math.log((documents + PRIOR_DOCUMENTS + 1) / 0.5)
    out = {}
    for term, word in query_terms(text).items():
        frequency = min(document_frequency(word), documents)
        share = math.log((documents + PRIOR_DOCUMENTS + 1) / (frequency + 0.5)) / unknown
        out[term] = share * _share_of(term)
    return out


def _share_of(term: str) -> float:
    """What a term counts beside its idf: pairs of CJK characters overlap, task words say little."""
    if CJK.search(term):
        return WIDE_WEIGHT
    return TASK_WEIGHT if term in _TASK_WORDS else 1.0


def item_terms(text: str) -> frozenset[str]:
    """All stems of an item's text."""
    return frozenset(map(stem, words(text)))


@dataclass(frozen=True, slots=True)
class Overlap:
    """What an item shares with a query: `coverage` 0..1 of the term weights, `matches` their sum (in unknown words)."""

    coverage: float
    matches: float


def overlap_of(weights: Mapping[str, float], terms: frozenset[str]) -> Overlap:
    """Overlap of a query's term weights with an item's terms. A query of less than one full term is not covered by it."""
    matched = sum(weight for term, weight in weights.items() if term in terms)
    return Overlap(matched / max(1.0, sum(weights.values())), matched)


@dataclass(frozen=True, slots=True)
class Weights:
    """One logistic function: p = 1 / (1 + exp(-(bias + cosine·c + coverage·v)))."""

    bias: float
    cosine: float
    coverage: float

    def estimate(self, overlap: Overlap, cosine: float) -> float:
        """The estimate, 0..1."""
        z = self.bias + self.cosine * cosine + self.coverage * overlap.coverage
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, z))))


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """The fitted weights: `meaning` with a cosine of the named embedder, `words` from words alone."""

    version: str
    embedder: str
    meaning: Weights
    words: Weights

    def knows(self, embedder: str) -> bool:
        """Whether the cosines of the embedder of that name are those the weights were fitted on; else pass no cosine."""
        return self.embedder in embedder

    def estimate(self, overlap: Overlap, cosine: float | None = None, *, foreign: bool = False) -> float:
        """0..1 that the item answers the query.

        Without a cosine, or for a query in a script that the embedder does not know
        (`is_foreign`), words alone decide. An exact 0.0 means: no term and no cosine.
        """
        if cosine is None or foreign:
            return self.words.estimate(overlap, 0.0) if overlap.matches else 0.0
        return self.meaning.estimate(overlap, cosine)


def load_model(path: Path = WEIGHTS_FILE) -> RelevanceModel:
    """The model in the file. Raises ConfigError when it is missing or of another format."""
    try:
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != FORMAT:
            raise ValueError(f"format {raw['format']} instead of {FORMAT}")
        sets = {name: Weights(**{key: float(value) for key, value in raw[name].items()}) for name in ("meaning", "words")}
        return RelevanceModel(str(raw["version"]), str(raw["embedder"]), sets["meaning"], sets["words"])
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is no relevance model: {error}", fix="Install memoryd again.") from error
