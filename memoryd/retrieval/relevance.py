"""Relevance: a calibrated probability, from 0 to 1, that an item answers a query.

A logistic function (Platt 1999) of the cosine and of the idf-weighted share of the query's terms in the item. Items
with keys are judged by their keys, and by how much of the query the item contains and lacks. The distance to the two
nearest keys is more informative than the distance to the statement, because a question about another property of the
same thing is close to it as well. A query in a language other than English is compared with the keys by word pieces,
and by words and meaning in an English gloss. A query for a property that the item lacks is about another aspect of
the same thing. Ranks are deliberately ignored. The best of many wrong answers also ranks first, so ranks would
prevent abstaining.

The weights in `relevance.json` are fitted by benchmarks/fit_relevance.py and benchmarks/fit_keys.py. The threshold
between keeping answers and returning nothing chosen there is 0.5.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from memoryd.core.errors import ConfigError
from memoryd.core.text import CJK, keywords, words
from memoryd.language.gloss import gloss, in_english, senses
from memoryd.language.stems import is_foreign, stem

SETS = ("meaning", "words", "keys", "key_words", "key_other", "key_pieces")
WEIGHTS_FILE = Path(__file__).with_name("relevance.json")
FORMAT = 4
PRIOR_DOCUMENTS = 200
WIDE_WEIGHT = 0.5
TASK_WEIGHT = 0.35
# Prompt length in words beyond which additional length carries no information.
LONG_WORDS = 40
# A prompt with this many words tells a story. It is close to every memory on its subject, whether or not it asks for
# that memory.
STORY_WORDS = 30
MAX_LACKING = 4
# Characters per word piece (a shorter word is one piece), and the weight of a piece found only in the key, relative to an unknown
# word. Most such pieces are fairly rare. A single CJK character counts as half of its pair.
PIECE = 3
OTHERS_WEIGHT = 0.8
SINGLE_WEIGHT = 0.5
KEYS_KEPT = 20_000
# With fewer keys than usual, the two nearest keys are less near although they are just as informative. A memory with
# two keys was recalled in 44 % of cases instead of 68 %. This bonus per missing key compensates, at the same
# false-positive rate.
USUAL_KEYS = 4
FEWER_KEYS = 0.015
_QUESTION = re.compile(
    r"^\W*(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|can|could|should|shall|may|must|will|would|has|have"
    r"|wie|was|wo|wann|warum|wer|welche[rsmn]?|soll|darf|comment|pourquoi|quel(?:le)?s?|où|cómo|por\s+qué|qué|cuál|dónde)\b|[?？]\s*$",
    re.IGNORECASE,
)
_KANA = re.compile(r"[぀-ゟ]")
_QUESTION_WORDS = frozenset(
    """怎么 什么 为什 么样 如何 是否 可以 哪个 哪些 哪里 多少 吗 呢 需要 应该 怎样 样才 才能 能不 不能 我们 这个 那个 一个
    как что где когда почему зачем какой какая какие какое кто чем ли это эта этот есть нужно нужны нужен можно для или при без
    под над про из на по от до не ни бы же за об во со ко и а но мы вы он она они мой наш
    wie was wo wann warum wer welche welcher welches ist sind der die das ein eine und oder nicht mit für auf im wir ich soll kann
    comment pourquoi quel quelle quand où est sont le la les un une des et ou pas avec pour sur dans nous je faut
    please need want get make happen know tell thing way""".split()
)


# Words that are common in any prompt to an assistant and reveal little about its subject
_TASK_WORDS = frozenset(
    map(
        stem,
        """use using go run try look good nice great fix add stop continue commit move let one show explain write create implement
        update change check thanks thank ok yes sure rename start begin finish done redo undo retry proceed again keep right now
        better first next last new old work help find think see give take put set do file code function
        related relation connected connection linked associated depend depends""".split(),
    )
)


# The property requested by a prompt: the noun after "which" or "how many", and the properties that most such questions ask about.
# A memory with none of these properties answers another question about the same subject.
_HOW_MUCH = re.compile(r"\bhow (many|much|long|often|large|big|fast|old|late|far)\b", re.IGNORECASE)
_ASKED_NOUN = re.compile(r"\b(?:which|what|whose|how\s+(?:many|much))((?:\s+[A-Za-z-]{1,40}){1,3})", re.IGNORECASE)
_CHOSEN_NOUN = re.compile(
    r"\b(?:the|our|that|those)((?:\s+[A-Za-z-]{1,40}){1,2})\s+(?:that\s+|which\s+)?(?:we|I|you|they)(?:'ve|'d)?"
    r"\s+(?:(?:already|have|had)\s+)?(?:[a-z]{1,20}ed|chose|picked|use|want|prefer)\b",
    re.IGNORECASE,
)
_NO_NOUN = frozenset(
    """is are was were am do does did has have had should would can could may must will shall to of in on for from
    with at by the a an our my that this we i you it they when where if exactly else happens happened gets get got
    makes needs and or not""".split()
)
_PROPERTIES = frozenset(
    map(
        stem,
        """number amount percentage percent share size limit maximum minimum version price cost budget duration second minute hour
        day week month year date deadline port threshold rate count median estimate level timeout colour color icon logo label
        category prefix suffix name title owner author assignee colleague licence license cipher algorithm key password token
        language currency font model provider vendor library column table channel region address url domain folder host machine
        user account group role sprint points ticket tag field header flag option shortcut script placeholder schedule frequency
        interval retention""".split(),
    )
)


def asked_properties(text: str) -> frozenset[str]:
    """Return the stems of the properties that an English text mentions or asks for, such as a limit, an owner or `how many`."""
    how = (f"how {word.lower()}" for word in _HOW_MUCH.findall(text))
    nouns = (_noun_of(words) for pattern in (_ASKED_NOUN, _CHOSEN_NOUN) for words in pattern.findall(text))
    return frozenset(how) | frozenset(filter(None, nouns)) | (_PROPERTIES & item_terms(text))


def _noun_of(words: str) -> str:
    """Return the stem of the last word before a verb or preposition."""
    before = list(takewhile(lambda word: word not in _NO_NOUN, words.lower().split()))
    known = keywords(before[-1]) if before else []
    return stem(known[-1]) if known else ""


def asks_question(text: str) -> bool:
    """Return whether the text starts with a question word or ends with a question mark."""
    return _QUESTION.search(text) is not None


def query_terms(text: str) -> dict[str, str]:
    """Map the stems of a query's meaningful words to the words themselves, in order of appearance."""
    out: dict[str, str] = {}
    for word in keywords(text):
        if word not in _QUESTION_WORDS:
            out.setdefault(stem(word), word)
    return out


def term_weights(text: str, document_frequency: Callable[[str], int], documents: int) -> dict[str, float]:
    """Return the weight of each stem in the query, from 0 to 1: the stem's idf relative to that of an unknown word.

    idf = log((N + P + 1) / (df + ½)) with P = 200 assumed additional documents, so that in a small store a word does
    not seem common because two memories contain it.
    """
    unknown = math.log((documents + PRIOR_DOCUMENTS + 1) / 0.5)
    out = {}
    for term, word in query_terms(text).items():
        frequency = min(document_frequency(word), documents)
        share = math.log((documents + PRIOR_DOCUMENTS + 1) / (frequency + 0.5)) / unknown
        out[term] = share * _share_of(term)
    return out


def _share_of(term: str) -> float:
    """Return a term's weight factor in addition to its idf. CJK character pairs overlap, and task words carry little meaning."""
    if CJK.search(term):
        return WIDE_WEIGHT
    return TASK_WEIGHT if term in _TASK_WORDS else 1.0


# Term weights for each sense of a word in another language.
Sense = Sequence[Mapping[str, float]]


def sense_weights(text: str, document_frequency: Callable[[str], int], documents: int) -> list[Sense]:
    """Return the term weights of the possible meanings of each distinct word in a foreign-language query.

    Empty for an English query.
    """
    read = [[term_weights(sense, document_frequency, documents) for sense in of_word] for of_word in dict.fromkeys(senses(text))]
    return [found for of_word in read if (found := [weights for weights in of_word if weights])]


def overlap_of_senses(words: Sequence[Sense], terms: frozenset[str]) -> Overlap:
    """Compute the overlap of words with an item's terms.

    A word matches if any of its senses does. It counts with the weight of its rarest common term.
    """
    matched = missed = 0.0
    for of_word in words:
        common = max((weight for weights in of_word for term, weight in weights.items() if term in terms), default=0.0)
        matched += common
        missed += 0.0 if common else min(max(weights.values()) for weights in of_word)
    return Overlap(matched / max(1.0, matched + missed), matched)


def item_terms(text: str) -> frozenset[str]:
    """Return all stems of an item's text."""
    return frozenset(map(stem, words(text)))


@dataclass(frozen=True, slots=True)
class Overlap:
    """Overlap of an item with a query: the covered share of the term weights (`coverage`, 0 to 1), and their sum (`matches`)."""

    coverage: float
    matches: float


def overlap_of(weights: Mapping[str, float], terms: frozenset[str]) -> Overlap:
    """Compute the overlap of a query's term weights with an item's terms.

    Weights that sum to less than one full term can't be fully covered.
    """
    matched = sum(weight for term, weight in weights.items() if term in terms)
    return Overlap(matched / max(1.0, sum(weights.values())), matched)


@dataclass(frozen=True, slots=True)
class KeyMatch:
    """Comparison of a query with the keys of an item.

    Attributes:
        overlap: Overlap of the query with the statement and all keys as one text.
        missing: Weight of the query's terms found neither in the statement nor in a key.
        best: Coverage of the best single key.
        pieces: Cosine of word pieces, averaged over the two nearest keys. It is 0 where only meaning, which is more
            informative, is compared.
        cosine: The same by meaning, or None without an embedder or in a script that the embedder does not support.
        translated: The same for the query's English gloss, if that is closer. None for a query in English.
        asks: Whether the query is a question. Most keys are, so a question is closer to them than an instruction.
        length: Logarithm of the number of words (at most LONG_WORDS), because less of a long query is found.
        long: Whether the query is long enough to tell a story.
        lacking: Number of requested properties (at most MAX_LACKING) found neither in the statement nor in a key.
        foreign: Whether the query is in a script that the embedder does not support.
    """

    overlap: Overlap
    missing: float
    best: float
    pieces: float
    cosine: float | None
    translated: float | None
    asks: bool
    length: float
    long: bool
    lacking: int
    foreign: bool


# Features: how to compute each from a comparison, and which sets of weights use it. To add a feature for items with
# keys, add a field to KeyMatch and a row here. benchmarks/fit_keys.py then fits its weights. A missing cosine is read
# as 0.

Feature = tuple[Callable[[KeyMatch], float], tuple[str, ...]]
KEY_FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        "key": (lambda match: match.cosine or 0.0, ("keys",)),
        "translated": (lambda match: match.translated or 0.0, ("key_other",)),
        "coverage": (lambda match: match.overlap.coverage, ("key_other",)),
        "matches": (lambda match: match.overlap.matches, ("keys", "key_words")),
        "missing": (lambda match: match.missing, ("keys", "key_words")),
        "pieces": (lambda match: match.pieces, ("key_words", "key_other", "key_pieces")),
        "key_coverage": (lambda match: match.best, ("key_words",)),
        "asks": (lambda match: match.asks, ("keys", "key_words", "key_other")),
        "length": (lambda match: match.length, ("keys", "key_words", "key_other")),
        "long": (lambda match: match.long, ("keys", "key_words")),
        "lacking": (lambda match: match.lacking, ("keys", "key_words", "key_other")),
    }
)
# The same for items without keys, from the overlap and the cosine. Their weights are fitted by benchmarks/fit_relevance.py.
PLAIN_FEATURES: Mapping[str, tuple[Callable[[Overlap, float], float], tuple[str, ...]]] = MappingProxyType(
    {
        "cosine": (lambda _, cosine: cosine, ("meaning",)),
        "coverage": (lambda overlap, _: overlap.coverage, ("meaning", "words")),
    }
)


def features_of(weights: str) -> tuple[str, ...]:
    """Return the names of the features used by a set of weights."""
    plain = tuple(name for name, (_, sets) in PLAIN_FEATURES.items() if weights in sets)
    return plain or tuple(name for name, (_, sets) in KEY_FEATURES.items() if weights in sets)


class KeyMatcher:
    """Compares one query with the keys of many items."""

    def __init__(self, text: str, weights: Mapping[str, float], english: Sequence[Sense] = ()) -> None:
        """Create the matcher.

        Args:
            text: The query.
            weights: Weights of its terms.
            english: English meanings of the words of a query in another language. They are compared instead of the words.
        """
        self._text = text
        self._weights = weights
        self._whole = sum(weights.values())
        self._english = english
        read = gloss(text) if english else text
        self._asked = asked_properties(read)
        self._long = len(read.split()) >= STORY_WORDS
        self._asks = asks_question(text) or "?" in text or "？" in text
        self._length = math.log(min(LONG_WORDS, max(1, len(read.split()))))
        self.foreign = is_foreign(text)

    @cached_property
    def _pieces(self) -> dict[str, float]:
        """Return the weights of the pieces of the query's words, based on the rarity of each word.

        CJK pairs are treated like any word here.
        """
        out: dict[str, float] = {}
        for word in _asked_words(self._text):
            weight = self._weights.get(stem(word), 0.0) / _share_of(stem(word))
            for piece, share in _pieces_of(word).items():
                out.setdefault(piece, share * weight)
        return out

    def match(
        self, statement: frozenset[str], keys: Sequence[str], cosines: Sequence[float], translated: Sequence[float] = ()
    ) -> KeyMatch:
        """Compare the query with the terms of a statement and with its keys.

        Args:
            statement: Terms of the statement.
            keys: The item's keys.
            cosines: Cosines of the keys. Empty without an embedder, or if the embedder does not support the script.
            translated: Cosines of the keys with the query's English gloss.
        """
        terms = [item_terms(in_english(key)) for key in keys]
        everything = statement.union(*terms)
        overlap = overlap_of_senses(self._english, everything) if self._english else overlap_of(self._weights, everything)
        by_pieces = keys if translated or not cosines else ()
        own, glossed = _closeness(cosines), _closeness(translated)
        return KeyMatch(
            overlap=overlap,
            missing=max(0.0, self._whole - overlap.matches),
            best=max((overlap_of(self._weights, of_one).coverage for of_one in terms), default=0.0),
            pieces=_mean_of_nearest([_piece_cosine(self._pieces, _key_pieces(key)) for key in by_pieces]) or 0.0,
            cosine=own,
            translated=None if glossed is None else max(glossed, own or 0.0),
            asks=self._asks,
            length=self._length,
            long=self._long,
            lacking=self._lacking(everything),
            foreign=self.foreign,
        )

    def _lacking(self, terms: frozenset[str]) -> int:
        missing = self._asked - terms
        if any(name.startswith("how ") for name in missing) and any(term[:1].isdigit() for term in terms):
            missing = frozenset(name for name in missing if not name.startswith("how "))
        return min(MAX_LACKING, len(missing))


def _closeness(cosines: Sequence[float]) -> float | None:
    """Return the mean of the two largest values, corrected for fewer keys than usual, or None if there are no values."""
    mean = _mean_of_nearest(cosines)
    return None if mean is None else mean + FEWER_KEYS * max(0, USUAL_KEYS - len(cosines))


def _mean_of_nearest(cosines: Sequence[float]) -> float | None:
    """Return the mean of the two largest values, or None if there are none. A single key is close to many questions by chance."""
    nearest = sorted(cosines, reverse=True)[:2]
    return sum(nearest) / len(nearest) if nearest else None


def _pieces_of(word: str) -> dict[str, float]:
    """Return the pieces of a word, each with its share of the word's weight.

    Single kana are excluded, because almost every text contains them.
    """
    if CJK.search(word):
        return {word: 1.0} | {sign: SINGLE_WEIGHT for sign in word if not _KANA.match(sign)}
    if len(word) <= PIECE + 1:
        return {word: 1.0}
    return {word[place : place + PIECE]: 1.0 for place in range(len(word) - PIECE + 1)}


def _asked_words(text: str) -> list[str]:
    return [word for word in keywords(text) if word not in _QUESTION_WORDS]


@lru_cache(maxsize=KEYS_KEPT)
def _key_pieces(key: str) -> Mapping[str, float]:
    """Return the weights of a key's word pieces that the query lacks. Their document frequencies are not looked up."""
    out: dict[str, float] = {}
    for word in _asked_words(key):
        for piece, share in _pieces_of(word).items():
            out.setdefault(piece, share * OTHERS_WEIGHT)
    return MappingProxyType(out)


def _piece_cosine(query: Mapping[str, float], key: Mapping[str, float]) -> float:
    shared = math.fsum(query[piece] ** 2 for piece in key if piece in query)
    rest = math.fsum(weight**2 for piece, weight in key.items() if piece not in query)
    whole = math.fsum(weight**2 for weight in query.values())
    return shared / math.sqrt(whole * (shared + rest)) if shared else 0.0


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic function: p = 1 / (1 + exp(-(bias + Σ weight·value)))."""

    bias: float
    of: Mapping[str, float]

    def estimate(self, values: Mapping[str, float]) -> float:
        """Return the estimated probability, from 0 to 1."""
        z = self.bias + math.fsum(weight * values[name] for name, weight in self.of.items())
        return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, z))))


@dataclass(frozen=True, slots=True)
class RelevanceModel:
    """The fitted weights of the relevance estimate.

    `meaning` uses a cosine of the named embedder, `words` only words. `keys` and `key_words` are the same for items
    with keys. `key_other` is for queries in another language with an English gloss. `key_pieces` is for queries in a
    script that the embedder does not support, without a gloss or an embedder.
    """

    version: str
    embedder: str
    meaning: Logistic
    words: Logistic
    keys: Logistic
    key_words: Logistic
    key_other: Logistic
    key_pieces: Logistic

    def knows(self, embedder: str) -> bool:
        """Return whether the weights were fitted to this embedder's cosines. If not, pass no cosine."""
        return self.embedder in embedder

    def estimate(self, overlap: Overlap, cosine: float | None = None, *, foreign: bool = False) -> float:
        """Estimate the probability, from 0 to 1, that an item without keys answers the query.

        Uses only words if there is no cosine or the query is in a script that the embedder does not support
        (`is_foreign`). Exactly 0.0 means no matching term and no cosine.
        """
        weights = self.words if cosine is None or foreign else self.meaning
        if weights is self.words and not overlap.matches:
            return 0.0
        return weights.estimate({name: PLAIN_FEATURES[name][0](overlap, cosine or 0.0) for name in weights.of})

    def estimate_by_keys(self, match: KeyMatch) -> float:
        """Estimate the probability, from 0 to 1, that an item with keys answers the query.

        Exactly 0.0 means no common term, no common piece and no cosine.
        """
        if match.translated is not None:
            return _estimate(self.key_other, match)
        if match.foreign:
            return _estimate(self.key_pieces, match) if match.pieces or match.overlap.matches else 0.0
        if match.cosine is None:
            return _estimate(self.key_words, match) if match.overlap.matches else 0.0
        return _estimate(self.keys, match)


def _estimate(weights: Logistic, match: KeyMatch) -> float:
    return weights.estimate({name: KEY_FEATURES[name][0](match) for name in weights.of})


def load_model(path: Path = WEIGHTS_FILE) -> RelevanceModel:
    """Load the relevance model from its file.

    Raises:
        ConfigError: The file is missing or has another format.
    """
    try:
        raw = orjson.loads(path.read_bytes())
        if raw["format"] != FORMAT:
            raise ValueError(f"format {raw['format']} instead of {FORMAT}")
        sets = {name: _weights(raw[name], features_of(name)) for name in SETS}
        return RelevanceModel(str(raw["version"]), str(raw["embedder"]), **sets)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} is not a relevance model: {error}", fix="Reinstall memoryd.") from error


def _weights(raw: Mapping[str, Any], features: Sequence[str]) -> Logistic:
    if unknown := sorted(raw.keys() - {"bias", *features}):
        raise ValueError(f"no feature is called {unknown[0]}")
    of = {name: float(raw[name]) for name in features if raw.get(name)}
    return Logistic(float(raw["bias"]), MappingProxyType(of))
