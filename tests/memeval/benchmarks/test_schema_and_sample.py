from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from memeval import registry
from memeval.benchmarks.opening import describe, open_benchmark
from memeval.core.errors import ConfigError, DataError
from memeval.core.types import QuestionType
from memeval.registry import Catalog
from memeval.specs import load_benchmark_spec

from .conftest import put, shipped

YAML = """
name: toy
source: {type: local, path: toy.json}
schema:
  records: $.data
  caseId: $.name
  sessions: $.chats
  sessionId: $.key
  sessionDate: $.when
  dateFormats: ["%d.%m.%Y"]
  turns: $.says
  turnId: $.no
  role: $.who
  text: $.what
  questions: $.asks[*]
  question: $['the question']
  answer: $.golds
  questionType: $.kind
  evidenceSessions: $.from
  evidenceTurns: $.lines
questionTypes:
  single: fact_recall
"""
DATA: dict[str, Any] = {
    "data": [
        {
            "name": "one",
            "chats": [
                {"key": "late", "when": "02.03.2024", "says": [{"no": 7, "who": "Human", "what": "b"}]},
                {
                    "key": "early",
                    "when": "01.03.2024",
                    "says": [{"no": 1, "who": "human", "what": "a"}, {"no": 2, "who": "AI", "what": 5}],
                },
            ],
            "asks": [
                {"the question": "Q1", "golds": ["x", 2], "kind": "single", "lines": [7, 99], "from": "early"},
                {"the question": "Q2", "kind": "temporal"},
            ],
        }
    ]
}


def toy(tmp_path: Path, yaml: str = YAML, data: Any = DATA) -> Any:
    put(tmp_path / "toy.json", data)
    return open_benchmark(load_benchmark_spec(put(tmp_path / "toy.yaml", yaml), {}))


def test_a_yaml_file_alone_maps_a_data_set(tmp_path: Path) -> None:
    (case,) = toy(tmp_path).cases()
    assert case.id == "one"
    assert [session.source_id for session in case.sessions] == ["early", "late"]
    assert [(turn.id, turn.role, turn.text) for turn in case.sessions[0].turns] == [
        ("s1:1", "user", "a"),
        ("s1:2", "assistant", "5"),
    ]
    first, second = case.questions
    assert (first.id, first.answers, first.type, first.category) == ("one:q1", ("x", "2"), QuestionType.FACT_RECALL, "single")
    assert (first.evidence_sessions, first.evidence_turns) == (("s1", "s2"), ("s2:1",))
    assert first.metadata["unresolved_evidence"] == ("99",)
    assert (second.answers, second.type) == ((), QuestionType.TEMPORAL)


def test_records_that_are_cases_with_one_question_and_plain_texts_as_turns(tmp_path: Path) -> None:
    yaml = "name: toy\nsource: {type: local, path: toy.json}\nschema: {sessions: '$.history', text: $, questionId: $.qid}\n"
    data = [{"qid": "a", "history": [["hello", "there"], ["you"]], "question": "Q", "answer": "x"}]
    (case,) = toy(tmp_path, yaml, data).cases()
    assert [[turn.text for turn in session.turns] for session in case.sessions] == [["hello", "there"], ["you"]]
    assert (case.id, case.questions[0].id, case.questions[0].type) == ("1", "a", QuestionType.FACT_RECALL)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"the question": " "}, "data[0].asks[0].the question"),
        ({"the question": None}, "data[0].asks[0]"),
        ({"kind": "odd"}, "data[0].asks[0].kind"),
        ({"golds": {"a": 1}}, "data[0].asks[0].golds"),
    ],
)
def test_errors_name_record_and_field(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    data = json.loads(json.dumps(DATA))
    data["data"][0]["asks"][0] |= change
    with pytest.raises(DataError) as error:
        list(toy(tmp_path, YAML, data).cases())
    assert f"record 1 (one): field {expected}:" in str(error.value)


def test_a_path_that_is_none_is_a_config_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"toy.yaml:7: schema.sessions: .*must begin with \$"):
        toy(tmp_path, YAML.replace("sessions: $.chats", "sessions: chats"))
    with pytest.raises(ConfigError, match="format"):
        toy(tmp_path, YAML + "format: xml\n")


def test_tables_of_comma_separated_values_are_records_too(tmp_path: Path) -> None:
    yaml = (
        "name: toy\nformat: csv\nsource: {type: local, path: toy.csv}\nschema: {sessions: $.none, question: $.q, answer: $.a}\n"
    )
    put(tmp_path / "toy.csv", 'q,a\n"One, or two?",1\n')
    benchmark = open_benchmark(load_benchmark_spec(put(tmp_path / "toy.yaml", yaml), {}))
    (case,) = benchmark.cases()
    assert (case.questions[0].text, case.questions[0].answers) == ("One, or two?", ("1",))


def test_the_sample_has_all_types_and_its_evidence_is_there() -> None:
    spec = shipped("sample")
    facts = describe(spec, open_benchmark(spec))
    counts = facts["counts"]
    assert {key: counts[key] for key in ("cases", "sessions", "turns", "questions")} == facts["published"]
    assert set(counts["by_type"]) == {kind.value for kind in QuestionType}
    assert counts["questions"] >= 40 and counts["cases"] >= 6 and min(counts["by_type"].values()) >= 6
    assert counts["evidence"]["unresolved_entries"] == 0
    assert counts["evidence"]["with_turns"] == counts["questions"] - counts["by_type"]["abstention"]


def test_in_the_sample_time_passes_and_no_question_is_asked_before_its_evidence() -> None:
    for case in open_benchmark(shipped("sample")).cases():
        dates = {session.id: session.at for session in case.sessions}
        known = [at for at in dates.values() if at is not None]
        assert len(known) == len(case.sessions) >= 5
        assert (max(known) - min(known)).days >= 60
        for question in case.questions:
            assert question.at is not None and question.at > max(known)


def test_in_the_sample_the_gold_is_not_written_into_the_question() -> None:
    shared: dict[str, int] = defaultdict(int)
    for case in open_benchmark(shipped("sample")).cases():
        texts = Counter(question.text for question in case.questions)
        assert max(texts.values()) == 1
        for question in case.questions:
            if question.type is QuestionType.FACT_RECALL:
                shared[case.id] += question.answers[0].lower() in question.text.lower()
    assert not any(shared.values())


def test_every_shipped_benchmark_is_valid_and_says_what_it_is() -> None:
    catalog = Catalog.default(environ={})
    names = [path.stem for path in catalog.benchmarks().values() if "configs/benchmarks" in path.as_posix()]
    wanted = """beam contextbench convomem locomo longmemeval-m longmemeval-oracle longmemeval-s memoryagentbench nolima
        personamem sample swe-bench-cl swe-contextbench"""
    assert set(names) >= set(wanted.split())
    for name in names:
        spec = catalog.benchmark(name)
        facts = describe(spec)
        assert spec.effective_loader in registry.benchmark_loader and spec.judge.name in registry.judge
        assert facts["licence"] and facts["citation"] and facts["description"], name
        assert json.loads(json.dumps(facts)) == facts
        meanings = [entry["meaning"] for entry in facts["categories"].values()]
        assert (
            name in ("sample", "sample-chunked", "longmemeval-s", "longmemeval-m", "longmemeval-oracle")
            or sum(map(bool, meanings)) >= 1
        )


def test_describe_says_what_locomos_numbers_mean() -> None:
    facts = describe(shipped("locomo"))
    assert facts["categories"]["1"]["type"] == "multi_hop" and "multi-hop" in facts["categories"]["1"]["meaning"]
    assert facts["categories"]["4"]["type"] == "fact_recall" and "single-hop" in facts["categories"]["4"]["meaning"]
    assert any("vendors number them otherwise" in note for note in facts["notes"])


def test_roles_of_the_datas_own_are_mapped_and_others_are_errors_that_name_the_schema(tmp_path: Path) -> None:
    says = [{"who": "Customer", "what": "a"}, {"who": "agent", "what": "b"}, {"who": "user", "what": "c"}]
    put(tmp_path / "toy.json", {"data": [{"name": "one", "chats": [{"says": says}], "asks": [{"the question": "Q"}]}]})
    path = tmp_path / "toy.yaml"
    path.write_text(YAML.replace("  role: $.who\n", "  role: $.who\n  roles: {customer: user, Agent: assistant}\n"))
    (case,) = open_benchmark(load_benchmark_spec(path), tmp_path / "toy.json").cases()
    assert [turn.role for turn in case.sessions[0].turns] == ["user", "assistant", "user"]

    path.write_text(YAML)
    with pytest.raises(DataError, match="expected a role: user or assistant, found 'Customer'") as error:
        list(open_benchmark(load_benchmark_spec(path), tmp_path / "toy.json").cases())
    assert f"{path}:4: schema (roles maps" in error.value.fix

    path.write_text(YAML.replace("  role: $.who\n", "  role: $.who\n  roles: {customer: client}\n"))
    with pytest.raises(ConfigError, match=r"roles"):
        load_benchmark_spec(path)
