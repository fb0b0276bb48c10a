"""Retrieval scores equal those of the official scripts, on stored inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memeval import registry
from memeval.benchmarks.opening import open_benchmark
from memeval.core.overlap import porter_nltk
from memeval.core.types import Case, Question, Retrieved
from memeval.metrics import targets
from memeval.metrics.targets import scorer
from memeval.registry import Catalog
from tests.memeval.golden.conftest import table

LONGMEMEVAL = table("longmemeval")
LOCOMO = table("locomo")


def cases_of(benchmark: str, data: Any, folder: Path) -> dict[str, Case]:
    file = folder / "data.json"
    file.write_text(json.dumps(data))
    return {case.id: case for case in open_benchmark(Catalog.default((), {}).benchmark(benchmark), file).cases()}


@pytest.fixture(scope="module")
def haystacks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return cases_of("longmemeval-s", LONGMEMEVAL["data"], tmp_path_factory.mktemp("longmemeval"))


def piece(session: int, turn: int | None = None) -> Retrieved:
    name = f"s{session + 1}"
    turns = () if turn is None else (f"{name}:{turn + 1}",)
    return Retrieved("", sessions=(name,), turns=turns)


@pytest.mark.parametrize("number", range(len(LONGMEMEVAL["rankings"])))
def test_longmemeval_official_equals_the_script(number: int, haystacks: dict[str, Case]) -> None:
    row = LONGMEMEVAL["rankings"][number]
    case = haystacks[row["question"]]
    pieces = [piece(*place) for place in row["ranking"]]
    for level in ("session", "turn"):
        aim = targets("official", case.questions[0], case, level)
        assert bool(aim.skipped) != row["counted"]
        score = scorer(pieces, aim, row["granularity"])
        for name, expected in row["scores"].get(level, {}).items():
            metric, _, k = name.partition("@")
            assert score(registry.metric.get(metric), int(k)) == pytest.approx(expected, abs=1e-12), (level, name)


def test_longmemeval_counts_the_other_turns_of_an_evidence_session_as_another_document(haystacks: dict[str, Case]) -> None:
    case = haystacks["two_sessions"]
    beside = [piece(1, 2), piece(1, 0)]  # A turn without the answer, then one with it.
    score = scorer(beside, targets("official", case.questions[0], case, "session"), "turn")
    any_ = registry.metric.get("recall_any")
    assert (score(any_, 1), score(any_, 2)) == (0.0, 1.0)
    assert registry.metric.get("recall_any")([["s2"]], targets("community", case.questions[0], case, "session").ids, 1) == 1.0


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Case:
    talk: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Bob"}
    for name, turns in LOCOMO["conversation"].items():
        number = name.partition("_")[2]
        talk[name] = [{"speaker": "Ann", "dia_id": f"D{number}:{turn}", "text": "hello"} for turn in range(1, turns + 1)]
        talk[f"{name}_date_time"] = f"1:00 pm on {number} May, 2023"
    asked = [
        {"question": f"q{index}", "answer": "a", "evidence": evidence, "category": 4}
        for index, evidence in enumerate(LOCOMO["evidence"])
    ]
    data = [{"sample_id": "c", "conversation": talk, "qa": asked}]
    return cases_of("locomo", data, tmp_path_factory.mktemp("locomo"))["c"]


@pytest.mark.parametrize("row", LOCOMO["recalls"], ids=lambda row: f"{row['level']}@{row['k']}")
def test_locomo_recall_equals_the_script_with_empty_and_dangling_evidence(row: Any, conversation: Case) -> None:
    homes = {session.source_id: session.id for session in conversation.sessions}
    pieces = [
        Retrieved("", sessions=(home,), turns=(f"{home}:{turn}",))
        for home, turn in ((homes[f"session_{session}"], turn) for session, turn in LOCOMO["ranking"])
    ]
    recall = registry.metric.get("recall_fraction")

    def value(question: Question) -> float | None:
        return scorer(pieces, targets("locomo_official", question, conversation, row["level"]), "turn")(recall, row["k"])

    assert [value(question) for question in conversation.questions] == pytest.approx(row["recall"])


@pytest.mark.parametrize(("word", "stem"), LOCOMO["stems"].items())
def test_stems_are_those_of_nltk(word: str, stem: str) -> None:
    assert porter_nltk(word) == stem
