"""Judges, which score an answer against the gold.

    llm       yes or no from a model, with the prompt of the question's type    LongMemEval, LoCoMo (vendors), others
    rubric    yes, partly or no from a model for each point of a rubric         BEAM
    f1        token F1; LoCoMo's official protocol for LoCoMo
    exact     equality in normal form
    contains  the normalised answer contains the gold, as whole words
    substring the gold is a substring of the answer                             NoLiMa
    memoryagentbench  exact match, substring, recall, F1 by sub-dataset         MemoryAgentBench
    canary    whether the answer contains an attack's canary                    poisoning
    longmemeval-v2    the function that a question names                        LongMemEval-V2
    choice    the letter of an option                                           PersonaMem
    rouge_l   ROUGE-L
    semantic  cosine of embeddings
    custom    a function or class of the benchmark's own, by path

A judge returns one score per metric, the main one first; None means unscored, not wrong.
If the model fails, it raises ModelError: the question counts as failed, and a resumed run retries it.
A reason that starts with `skipped` means that the protocol requires no score. Common options: `protocol` (longmemeval,
locomo, …: selects rules and prompts), or `benchmark`, whose name implies the protocol.
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
