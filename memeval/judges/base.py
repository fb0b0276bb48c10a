"""Shared parts of the judges: parsing of replies, options, and the base class for judges that compare texts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from memeval.core.errors import ConfigError
from memeval.core.overlap import says_nothing_known
from memeval.core.protocols import Judge, Model
from memeval.core.types import Answer, Question, Score

_WRAPPING = re.compile(r"^[\s\"'`*_(]+|[\s\"'`*_).!]+$")


def yes_or_no(reply: str) -> bool | None:
    """Parse yes or no, ignoring case, quotes, bold type and a full stop. Return None for anything else."""
    return {"yes": True, "no": False}.get(_bare(reply))


def grade(reply: str) -> float | None:
    """Parse a grade. Return 1 for yes, 0.5 for partly, 0 for no, and None for anything else."""
    return {"yes": 1.0, "partly": 0.5, "no": 0.0}.get(_bare(reply))


def _bare(reply: str) -> str:
    return _WRAPPING.sub("", reply).casefold()


def right_or_wrong(reply: str) -> bool | None:
    """Parse ConvoMem's label. Return None if the reply contains neither `right` nor `wrong`.

    An answer is right if the reply contains `right` and not `wrong`.

    Source: verifyAnswerCorrectnessWithPrompt in evaluation/EvaluationUtils.scala of ConvoMem (Pakhomov et al. 2025),
    which retries where this function returns None.
    """
    low = reply.casefold()
    return None if "right" not in low and "wrong" not in low else "wrong" not in low


def _object(reply: str) -> Mapping[str, Any]:
    """Return the JSON object in a reply, or an empty one if there is none. The object may be fenced or surrounded by text."""
    start, end = reply.find("{"), reply.rfind("}")
    try:
        found = json.loads(reply[start : end + 1])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


_FLAT = re.compile(r"\{[^{}]*\}")


def last_object(reply: str) -> Mapping[str, Any]:
    """Return the last flat JSON object in a reply, or an empty one if there is none.

    MemoryAgentBench reads scores this way.
    """
    found = _FLAT.findall(reply)
    return _object(found[-1]) if found else {}


def correct_or_wrong(reply: str) -> float | None:
    """Parse the label used by vendors for LoCoMo. Return 1 for exactly CORRECT and 0 for any other label.

    Return None if there is no JSON object with a label.

    Source: evaluate_llm_judge in evaluation/metrics/llm_judge.py of mem0, which fails where this function returns None.
    """
    label = _object(reply).get("label")
    return None if label is None else float(label == "CORRECT")


_LABELLED = re.compile(r"""\{[^{}]{0,2000}"label"\s{0,9}:\s{0,9}["']([^"']{1,200})["']""")


def labelled(reply: str) -> float | None:
    """Parse LoCoMo-Plus's label. Return 1 for correct, 1/2 for partial, and 0 for wrong or anything else.

    Return None for an empty reply, which counts as 0 in the official code.

    The label is taken from the JSON object in the reply. Without a label, the first of correct, wrong and partial (in
    this order) found in the reply is used. As in the official code, "incorrect" therefore counts as correct.

    Source: _parse_judge_response and label_to_score in evaluation_framework/task_eval/llm_as_judge.py of Locomo-Plus (2026).
    """
    if not reply.strip():
        return None
    match = _LABELLED.search(reply)
    label = match[1] if match else _object(reply).get("label")
    if label is None:
        label = next((word for word in ("correct", "wrong", "partial") if word in reply.lower()), "")
    return {"correct": 1.0, "partial": 0.5}.get(str(label).strip().lower(), 0.0)


def json_score(reply: str) -> float | None:
    """Parse the `score` in BEAM's reply. Return None if there is none.

    The reply is a JSON object that may be fenced or surrounded by text.

    Source: parse_json_response in src/evaluation/compute_metrics.py of BEAM (Tavakoli et al. 2025).
    """
    try:
        score = float(_object(reply)["score"])
    except (ValueError, KeyError, TypeError):
        return None
    return score if math.isfinite(score) else None


NO_GOLD = "skipped: the question has no gold answer"


def check_names(judge: str, options: Mapping[str, Any], known: frozenset[str]) -> None:
    """Raise ConfigError for an unknown option. Every judge accepts `protocol` and `benchmark`."""
    every = known | {"protocol", "benchmark"}
    if unknown := options.keys() - every:
        raise ConfigError(f"Judge {judge} has no option {min(unknown)!r}.", fix=f"Known: {', '.join(sorted(every))}.")


def protocol_of(options: Mapping[str, Any]) -> str:
    """Return the protocol of a judge.

    This is the option `protocol`, or the family in the benchmark's name. For example, the family of longmemeval-s is longmemeval.
    """
    return str(options.get("protocol") or str(options.get("benchmark") or "").split("-")[0])


class TextJudge(Judge):
    """A judge that is a pure function of texts. Abstaining is correct for unanswerable questions."""

    name = ""
    options: frozenset[str] = frozenset()

    def __init__(self, model: Model | None = None, options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(options or {})
        check_names(self.name, self._options, self.options)

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Return one score, named after the judge."""
        return [self._score(question, answer)]

    def _score(self, question: Question, answer: Answer) -> Score:
        if question.is_abstention:
            said = says_nothing_known(answer.text)
            return Score(self.name, float(said), "abstained" if said else "did not abstain", self.name)
        if not question.answers:
            return Score(self.name, None, NO_GOLD, self.name)
        return Score(self.name, self.value(question, answer.text), "", self.name)

    def value(self, question: Question, answer: str) -> float:
        """Score the answer to a question with a gold answer."""
        raise NotImplementedError
