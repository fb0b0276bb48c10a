"""Files of official code are used only if their hash is the pinned one, and are not needed for a run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from memeval.benchmarks.source import Downloader, Sources
from memeval.core.calls import Budget, Stop
from memeval.core.errors import DataError
from memeval.models.guarded import ModelCache
from memeval.prompts.official import Official
from memeval.registry import Catalog
from memeval.run.plan import Plan, RunContext, _official, make_judges, make_plan
from memeval.run.settings import Settings

CODE = 'ACCURACY_PROMPT = "{question} {gold_answer} {generated_answer}"\n'
SHA = hashlib.sha256(CODE.encode()).hexdigest()
SPEC = f"""
name: talks
source: {{type: local, path: talks.json}}
loader: locomo
judge:
  name: f1
  options:
    protocol: locomo
    official: {{judge: llm, url: "http://127.0.0.1:9/llm_judge.py", sha256: {SHA}, model: scripted, maxTokens: 7}}
questionTypes: {{"1": multi_hop}}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/talks.yaml").write_text(SPEC, "utf-8")
    replies = tmp_path / "replies.json"
    replies.write_text('{"default": "x"}', "utf-8")
    settings = Settings(
        benchmark="talks", provider="none", judge="llm,f1", judge_model=f"scripted/{replies}", answering_model="extractive"
    )
    return make_plan(settings, Catalog.default([tmp_path], environ={}))


def context(tmp_path: Path, *, offline: bool = False) -> RunContext:
    sources = Sources(cache=tmp_path / "cache", downloader=Downloader(attempts=1, timeout_seconds=1.0), offline=offline)
    return RunContext(Catalog.default(environ={}), ModelCache(None), Budget(None), Stop(), sources)


def put(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cache" / "official" / SHA[:16] / "llm_judge.py"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return path


def test_a_file_in_the_cache_is_used(plan: Plan, tmp_path: Path) -> None:
    put(tmp_path, CODE)
    found = _official(plan, context(tmp_path), "llm")
    assert isinstance(found, Official)
    assert (found.model, found.max_tokens, [*found.prompts]) == ("scripted", 7, ["accuracy"])
    assert _official(plan, context(tmp_path), "f1") is None


@pytest.mark.parametrize("offline", [True, False])
def test_without_the_file_the_run_continues_under_another_name(plan: Plan, tmp_path: Path, offline: bool) -> None:
    assert _official(plan, context(tmp_path, offline=offline), "llm") is None
    assert [judge.name.partition("(")[0] for judge in make_judges(plan, context(tmp_path, offline=True))] == ["llm", "f1"]


def test_another_file_in_its_place_is_refused(plan: Plan, tmp_path: Path) -> None:
    path = put(tmp_path, CODE + "# changed\n")
    with pytest.raises(DataError, match=str(path)):
        _official(plan, context(tmp_path), "llm")
