"""Reading a judge's reply. Strict: the reply is the verdict and nothing else, or there is none.

The labels of official scripts are looser and have their own names: LongMemEval's (a yes anywhere), ConvoMem's (right and
not wrong anywhere), BEAM's (a JSON object with a score).
"""

from __future__ import annotations

import json
import math
import re

_WRAPPING = re.compile(r"^[\s\"'`*_(]+|[\s\"'`*_).!]+$")


def yes_or_no(reply: str) -> bool | None:
    """True for yes, False for no, None for anything else. Case, quotes, bold and a full stop do not matter."""
    return {"yes": True, "no": False}.get(_bare(reply))


def grade(reply: str) -> float | None:
    """1 for yes, 0.5 for partly, 0 for no, None for anything else."""
    return {"yes": 1.0, "partly": 0.5, "no": 0.0}.get(_bare(reply))


def _bare(reply: str) -> str:
    return _WRAPPING.sub("", reply).casefold()


def right_or_wrong(reply: str) -> bool | None:
    """ConvoMem's label: the reply has `right`, and not `wrong`; None when it has neither.

    Source: verifyAnswerCorrectnessWithPrompt in evaluation/EvaluationUtils.scala of ConvoMem (Pakhomov et al. 2025), which
    asks again where this is None.
    """
    low = reply.casefold()
    return None if "right" not in low and "wrong" not in low else "wrong" not in low


def json_score(reply: str) -> float | None:
    """The `score` of BEAM's reply, a JSON object that may be fenced or among words; None when there is none.

    Source: parse_json_response in src/evaluation/compute_metrics.py of BEAM (Tavakoli et al. 2025).
    """
    start, end = reply.find("{"), reply.rfind("}")
    try:
        score = float(json.loads(reply[start : end + 1])["score"])
    except (ValueError, KeyError, TypeError):
        return None
    return score if math.isfinite(score) else None
