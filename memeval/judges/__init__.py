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

A judge returns one score per metric, with the main score first. None means that the answer was not scored, and not that it is
wrong. If the model fails, the judge raises ModelError. The question then counts as failed, and a resumed run retries it. A
reason that starts with `skipped` means that the protocol requires no score. The common option `protocol` (longmemeval,
locomo, …) selects the rules and prompts. The option `benchmark` is a name that implies the protocol.
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
