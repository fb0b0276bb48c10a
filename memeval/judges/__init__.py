"""Judges, which score an answer against the gold answers.

    llm       yes or no from a model, with the prompt of the question's type    LongMemEval, LoCoMo (vendors), others
    rubric    yes, partly or no from a model for each point of a rubric         BEAM
    f1        token F1; LoCoMo's official protocol for LoCoMo
    exact     equality in normal form
    contains  the normalised answer contains the gold, as whole words
    substring the gold is a substring of the answer                             NoLiMa
    memoryagentbench  exact match, substring, recall, F1 by sub-dataset         MemoryAgentBench
    canary    absence of an attack's canary, or presence of a rule's            poisoning
    longmemeval-v2    the function named by the question                        LongMemEval-V2
    choice    the letter of the chosen option                                   PersonaMem
    rouge_l   ROUGE-L
    semantic  cosine of embeddings
    custom    the user's own function or class, by path

A judge returns one score per metric, main score first. None means that the answer was not scored rather than that it
is wrong. If the model fails, the judge raises ModelError. The question then counts as failed and is retried when the
run is resumed. A reason that starts with `skipped` means that the protocol requires no score. The common option
`protocol` (longmemeval, locomo, …) selects the rules and prompts. By default, the protocol is derived from the name
in the option `benchmark`.
"""

from collections.abc import Mapping
from typing import Any

from memeval import registry
from memeval.core.protocols import Judge, Model
from memeval.core.types import EMPTY


def open_judge(name: str, model: Model | None = None, options: Mapping[str, Any] = EMPTY) -> Judge:
    """Create a judge by name. Raises ConfigError for an unknown name, a missing model or an invalid option."""
    judge: Judge = registry.judge.get(name)(model, options)
    return judge


__all__ = ["open_judge"]
