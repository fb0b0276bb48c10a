"""Custom judges: `customEvaluator: ./file.py:name` in a benchmark's file.

A function gets the question and the answer's text. It returns a number, a truth value, None (not scored) or a mapping
from metrics to numbers. A class is instantiated without arguments, or with `model` if it accepts one. Its method
`score(question, answer)` may also return a list of `Score`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.code import guarded, load_object
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.protocols import Judge, Model
from memeval.core.types import Answer, Question, Score

METRIC = "accuracy"
"""Metric name for a single number."""


@registry.judge("custom")
class CustomJudge(Judge):
    """A judge that calls the user's code.

    The run sets its options: `reference`, `base` (the folder of the YAML file) and `where` (the line in that file).
    """

    def __init__(self, model: Model | None, options: Mapping[str, Any]) -> None:
        where = str(options.get("where") or "customEvaluator")
        if not options.get("reference"):
            raise ConfigError("The benchmark has no custom evaluator.", fix="Add customEvaluator: ./file.py:name to its file.")
        self._name = str(options["reference"])
        part = load_object(self._name, Path(str(options["base"])), where)
        if inspect.isclass(part):
            given = {"model": model} if "model" in inspect.signature(part).parameters else {}
            self._whole = guarded(self._name, "making it", lambda: part(**given))
            self._call = getattr(self._whole, "score", None)
        else:
            self._whole, self._call = None, part
        if not callable(self._call):
            raise ConfigError(
                f"{where}: {self._name} is neither a function nor an object with a score method.", fix="Define one of them."
            )

    @property
    def name(self) -> str:
        """The reference as written in the benchmark's file."""
        return f"custom({self._name})"

    def score(self, question: Question, answer: Answer) -> list[Score]:
        """Score an answer with the user's code."""
        given = answer if self._whole is not None else answer.text
        call = self._call
        assert call is not None
        result = guarded(self._name, "the evaluator", lambda: call(question, given))
        if isinstance(result, Score):
            return [result]
        if isinstance(result, list | tuple) and all(isinstance(one, Score) for one in result):
            return list(result)
        values = result if isinstance(result, Mapping) else {METRIC: result}
        return [Score(str(metric), self._number(metric, value), "", self.name) for metric, value in values.items()]

    def _number(self, metric: object, value: Any) -> float | None:
        if value is None:
            return None
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise ProviderError(
                f"{self._name} returned {value!r:.80} for {metric}.",
                fix="Return a finite number, a truth value, None or a mapping of those.",
            )
        return float(value)
