"""The prompts specified by the shipped benchmarks exist, for answers and for judges."""

from __future__ import annotations

import pytest

from memeval.core.types import Question, QuestionType
from memeval.judges import open_judge
from memeval.models.scripted import ScriptedModel
from memeval.registry import BUILT_IN, Catalog
from memeval.run.plan import PROMPTED, _judge_options, answer_prompt, make_plan
from memeval.run.settings import Settings

NAMES = sorted(path.stem for path in (BUILT_IN / "benchmarks").glob("*.yaml"))


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_finds_its_prompts(name: str) -> None:
    plan = make_plan(Settings(benchmark=name, provider="none", answering_model="extractive"), Catalog.default(environ={}))
    for kind in QuestionType:
        assert answer_prompt(plan, Question("", "", kind)).user
    for judge in {*plan.judges, *PROMPTED}:
        options = {key: value for key, value in _judge_options(plan, judge).items() if key != "embedder"}
        made = open_judge(judge, ScriptedModel(default="yes"), options)
        assert all(made.prompt_hashes().values())
