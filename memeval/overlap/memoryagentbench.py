"""MemoryAgentBench's scores of one answer, by sub-dataset, without a model.

    exact_match, f1, substring_exact_match   over lower-case words without punctuation and a/an/the, no stems; best gold
    eventqa_recall    1 if every gold occurs in the answer      ruler_recall   the share of golds that do
    recsys_recall@k   the share of gold titles among the first k recommended; each is taken for the nearest title known

Sub-datasets `icl_…` and `eventqa_…` are scored on what follows "Answer:" (else the first line); all others on that and on
the whole answer, and the better counts. Source: post_process in utils/eval_other_utils.py of MemoryAgentBench (Hu et al.
2025); `PRIMARY` is the mapping of its README. Of titles equally near the script takes one by chance, we the first.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

PRIMARY = (
    ("recsys", "recsys_recall@5"),
    ("ruler_niah", "ruler_recall"),
    ("icl", "exact_match"),
    ("detective", "exact_match"),
    ("eventqa", "substring_exact_match"),
    ("ruler", "substring_exact_match"),
    ("fact", "substring_exact_match"),
)
"""The metric that stands for a sub-dataset, by a part of its name. InfBench and LongMemEval are judged by a model."""
CUT_OFFS = (1, 5, 10)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PARENTHESES = re.compile(r"\([^()]*\)")
_NUMBER = re.compile(r"^\d+[.)、]?\s*[-—–]?\s*")
_PREFIX = "answer:"
_ALONE = frozenset({"yes", "no", "noanswer"})
_LONGEST = 200
"""Characters of a title that are compared."""


def scores(sub_dataset: str, answer: str, golds: Sequence[str], titles: Mapping[str, str] | None = None) -> dict[str, float]:
    """All scores of the sub-dataset. `titles`: name by id of what can be recommended; none for recsys without them."""
    if "recsys" in sub_dataset:
        return _recommended(answer, golds, titles) if titles else {}
    if "ruler_niah" in sub_dataset:
        return {"ruler_recall": _contained(answer, golds)}
    if "icl" in sub_dataset:
        return _plain(parsed(answer), golds)
    if "eventqa" in sub_dataset:
        return {**_plain(parsed(answer), golds), "eventqa_recall": float(_contained(answer, golds) == 1)}
    whole, part = _plain(answer, golds), _plain(parsed(answer), golds)
    return {name: max(value, part[name]) for name, value in whole.items()}


def primary(sub_dataset: str) -> str:
    """The metric that stands for a sub-dataset; "" where it is a model's judgement."""
    if "sum" in sub_dataset or "longmemeval" in sub_dataset:
        return ""
    return next((metric for part, metric in PRIMARY if part in sub_dataset), "substring_exact_match")


def parsed(answer: str) -> str:
    """What follows the first "Answer:" on its line, else the first line."""
    place = answer.lower().find(_PREFIX)
    rest = answer[place + len(_PREFIX) :] if place >= 0 else answer
    line = rest.split("\n", 1)[0].strip()
    return line[len(_PREFIX) :].strip() if line.lower().startswith(_PREFIX) else line


def normal(text: str) -> str:
    """SQuAD's normal form: lower case, no ASCII punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def plain_f1(answer: str, gold: str) -> float:
    """Token F1 without stems; a yes or no must be equal to count."""
    said, wanted = normal(answer), normal(gold)
    if said != wanted and (said in _ALONE or wanted in _ALONE):
        return 0.0
    left, right = said.split(), wanted.split()
    common = sum((Counter(left) & Counter(right)).values())
    return 2 * common / (len(left) + len(right)) if common else 0.0


def _plain(answer: str, golds: Sequence[str]) -> dict[str, float]:
    said = normal(answer)
    return {
        "exact_match": max((float(said == normal(gold)) for gold in golds), default=0.0),
        "f1": max((plain_f1(answer, gold) for gold in golds), default=0.0),
        "substring_exact_match": max((float(normal(gold) in said) for gold in golds), default=0.0),
    }


def _contained(answer: str, golds: Sequence[str]) -> float:
    return sum(gold.lower() in answer.lower() for gold in golds) / len(golds) if golds else 0.0


def _recommended(answer: str, golds: Sequence[str], titles: Mapping[str, str]) -> dict[str, float]:
    names = list(dict.fromkeys(titles.values()))
    _, first, rest = answer.partition("1.")
    lines = (rest if first else answer.replace(",", "\n")).split("\n")
    chosen = [nearest(_title(line.strip()), names) for line in lines[: max(CUT_OFFS)]]
    wanted = [titles.get(gold.strip(), "") for gold in golds]
    return {f"recsys_recall@{k}": sum(name in chosen[:k] for name in wanted) / len(wanted) if wanted else 0.0 for k in CUT_OFFS}


def _title(text: str) -> str:
    return " ".join(_NUMBER.sub("", _PARENTHESES.sub("", text)).split())[:_LONGEST]


def title_of(name: str) -> str:
    """The title in a name of the data's table of entities, such as `<http://…/Night_Ferry_(film)>`."""
    plain = re.sub("[_>-]", " ", name.rsplit("/", 1)[-1])
    return " ".join(_PARENTHESES.sub("", plain).split())[:_LONGEST]


def nearest(text: str, names: Sequence[str]) -> str:
    """The name with the least edit distance to the text, whatever the case."""
    said = [ord(sign) for sign in text.lower()]
    lower = [name.lower() for name in names]
    width = max(map(len, lower), default=0)
    table = np.full((len(lower), width), -1, dtype=np.int64)
    for row, name in enumerate(lower):
        table[row, : len(name)] = [ord(sign) for sign in name]
    distances = np.tile(np.arange(width + 1), (len(lower), 1))
    for place, sign in enumerate(said, start=1):
        before = distances
        distances = np.empty_like(before)
        distances[:, 0] = place
        for column in range(1, width + 1):
            swapped = before[:, column - 1] + (table[:, column - 1] != sign)
            distances[:, column] = np.minimum(np.minimum(before[:, column], distances[:, column - 1]) + 1, swapped)
    ends = distances[np.arange(len(lower)), [len(name) for name in lower]]
    return names[int(np.argmin(ends))] if len(ends) else ""
