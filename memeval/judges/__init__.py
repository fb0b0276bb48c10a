"""Judges: they score an answer against the gold.

    llm       yes or no from a model, with the prompt of the question's type    LongMemEval, LoCoMo (vendors), others
    rubric    yes, partly or no from a model for each point of a rubric         BEAM
    f1        token F1; LoCoMo's official protocol for LoCoMo
    exact     equality in normal form
    contains  the gold stands in the answer, as whole words in normal form
    substring the gold occurs in the answer, letter by letter                   NoLiMa
    memoryagentbench  exact match, substring, recall, F1 by sub-dataset         MemoryAgentBench
    canary    whether the answer holds the canary of foreign text               poisoning
    longmemeval-v2    the function that a question names                        LongMemEval-V2
    choice    the letter of an option                                           PersonaMem
    rouge_l   ROUGE-L
    semantic  cosine of embeddings
    custom    a function or class of the benchmark's own, by path

A judge gives a score for each metric that it knows, the main one first; None is unscored, which is not wrong.
A model that fails raises ModelError: the question is then failed, and a resumed run tries it again.
A reason that begins with `skipped` says that the protocol asks for no score. Options of all: `protocol` (longmemeval,
locomo, …: it chooses rules and prompts), or `benchmark`, whose name tells the protocol.
"""

from collections.abc import Mapping
from typing import Any

from memeval import registry
from memeval.core.protocols import Judge, Model
from memeval.core.types import EMPTY


def open_judge(name: str, model: Model | None = None, options: Mapping[str, Any] = EMPTY) -> Judge:
    """The judge of that name. Raises ConfigError for an unknown one, a missing model, or a wrong option."""
    judge: Judge = registry.judge.get(name)(model, options)
    return judge


__all__ = ["open_judge"]
