"""LoCoMo-Plus puts cues and triggers where the official script puts them, on stored inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memeval.benchmarks.locomo_plus import days_of
from memeval.benchmarks.opening import open_benchmark
from memeval.core.errors import DataError
from memeval.core.types import Answer, Case
from memeval.judges import open_judge
from memeval.models.scripted import Rule, ScriptedModel
from memeval.prompts.files import Prompt
from memeval.prompts.official import Official
from memeval.registry import BUILT_IN
from memeval.specs import load_benchmark_spec
from tests.memeval.golden.conftest import table

TABLE = table("locomo_plus")
SPEC = load_benchmark_spec(BUILT_IN / "benchmarks" / "locomo-plus.yaml", {})


def cases(folder: Path, items: Any = None, **options: Any) -> list[Case]:
    (folder / "locomo10.json").write_text(json.dumps(TABLE["talks"]), "utf-8")
    (folder / "locomo_plus.json").write_text(json.dumps(items or TABLE["items"]), "utf-8")
    return list(open_benchmark(SPEC, folder, options=options).cases())


@pytest.mark.parametrize("gap", TABLE["gaps"])
def test_a_gap_has_as_many_days_as_in_the_script(gap: str) -> None:
    assert days_of(gap) == TABLE["gaps"][gap]


def test_the_conversation_is_stitched_as_the_script_does(tmp_path: Path) -> None:
    for case, row in zip(cases(tmp_path), TABLE["rows"], strict=True):
        (question,) = case.questions
        said = [f"{turn.speaker}: {turn.text}" for session in case.sessions for turn in session.turns]
        assert [*said, question.text] == [f"{speaker}: {text}" for speaker, text in row["dialogue"]]
        cue = next(session for session in case.sessions if session.id == question.evidence_sessions[0])
        assert cue.at is not None and question.at is not None
        assert (f"{cue.at:%Y-%m-%d %H:%M}", f"{question.at:%Y-%m-%d %H:%M}") == (row["cue_time"], row["query_time"])
        assert question.metadata["evidence_texts"] == (row["evidence"],)
        assert question.evidence_turns == tuple(turn.id for turn in cue.turns)


def test_items_of_one_conversation_are_a_cluster(tmp_path: Path) -> None:
    assert [case.metadata["cluster"] for case in cases(tmp_path)] == ["t0", "t1", "t0", "t1", "t0"]


def test_conversations_can_be_named_and_their_lack_is_reported(tmp_path: Path) -> None:
    cases(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "locomo_plus.json").rename(other / "locomo_plus.json")
    named = open_benchmark(SPEC, other / "locomo_plus.json", options={"conversations": str(tmp_path / "locomo10.json")})
    assert len(list(named.cases())) == 5
    assert (
        named.data_hash()
        != open_benchmark(
            SPEC, tmp_path / "locomo10.json", options={"conversations": str(other / "locomo_plus.json")}
        ).data_hash()
    )
    with pytest.raises(DataError, match="conversations=PATH"):
        list(open_benchmark(SPEC, other).cases())


@pytest.mark.parametrize(
    "change", [{"cue_dialogue": "no speaker"}, {"trigger_query": ""}, {"time_gap": 3}, {"relation_type": "x"}]
)
def test_a_broken_item_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="record 1"):
        cases(tmp_path, [TABLE["items"][0] | change])


def test_a_reply_is_judged_by_the_cue(tmp_path: Path) -> None:
    question = cases(tmp_path)[0].questions[0]
    cue = "Nils：The dog ate my exam once.\nAya：No wonder you keep copies."
    model = ScriptedModel([Rule((cue, "the dog again?"), '{"label": "correct", "reason": "x"}')], default="no")
    own = Official({"Cognitive": Prompt("o", "judge", "{evidence} / {response}")}, "scripted")
    for text, value in (("Afraid of the dog again?", 1.0), ("Nice.", 0.0)):
        (score,) = open_judge("llm", model, {"protocol": "locomo-plus", "official": own}).score(question, Answer(text, "m", "h"))
        assert (score.metric, score.value) == ("locomo_plus_score", value)
    (plain,) = open_judge("llm", ScriptedModel(default="yes"), {"protocol": "locomo-plus"}).score(question, Answer("x", "m", "h"))
    assert (plain.metric, plain.value) == ("llm_accuracy", 1.0)
