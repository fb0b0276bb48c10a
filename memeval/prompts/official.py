"""Judge prompts of an official script, read from the user's copy of it. No word of them is part of this project.

A benchmark's file names the script at a commit with its SHA-256 (`judge.options.official`); it is fetched into the cache like
data. Only where it is there, and the model is the one that the paper judges with, has a result the benchmark's name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from memeval.core.errors import DataError
from memeval.core.types import QuestionType
from memeval.prompts.files import Prompt

_ORDER = ("general", "temporal", "knowledge_update", "preference", "abstention")
_VALUES = ("{question}", "{answer}", "{response}")


def longmemeval_prompts(script: Path) -> Mapping[QuestionType, Prompt]:
    """The five prompts of evaluate_qa.py by question type; types without one of their own have the general one. DataError."""
    try:
        tree = ast.parse(script.read_text("utf-8"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{script} can't be read: {error}", fix="Remove it, so that it is fetched again.") from error
    assigned = (node.value for node in ast.walk(tree) if isinstance(node, ast.Assign))
    constants = [node for node in assigned if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    texts = [str(node.value) for node in sorted(constants, key=lambda node: node.lineno) if str(node.value).count("{}") == 3]
    if len(texts) != len(_ORDER):
        raise DataError(f"{script} holds {len(texts)} prompts, not {len(_ORDER)}.", fix="Remove it, so that it is fetched again.")
    ordered = dict(zip(_ORDER, texts, strict=True))
    return {kind: _prompt(ordered.get(kind.value, ordered["general"]), kind.value) for kind in QuestionType}


def _prompt(text: str, kind: str) -> Prompt:
    for value in _VALUES:
        text = text.replace("{}", value, 1)
    return Prompt(f"longmemeval/official.{kind}", "judge", text, source="evaluate_qa.py of LongMemEval", licence="MIT")
