"""NoLiMa, MemoryAgentBench and the coding benchmarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import ConfigError, DataError
from memeval.core.types import QuestionType, Retrieved
from memeval.metrics.questions import Observation, question_scores

from .conftest import Open, lines, put

NEEDLE = {
    "id": "0401",
    "reasoning_type": "world_knowledge",
    "needle": "Actually, {CHAR} lives next to {1}.",
    "questions": {"onehop": "Which character has been to {2}?", "twohop": "Which character has been to {3}?", "direct": ""},
    "character_set": ["Yuki", "Stuart", "Megan"],
    "tests": {
        "T1": {"input_args": ["the museum", "Helsinki", "Uusimaa"]},
        "T2": {"input_args": ["the opera", "Dresden", "Saxony"]},
    },
}
BOOK = "\n".join(f"Line {number} tells of ships and rain." for number in range(400))


def nolima(tmp_path: Path, needle: Any = NEEDLE) -> Path:
    put(tmp_path / "n" / "needlesets" / "needle_set.json", [needle])
    put(tmp_path / "n" / "needlesets" / "needle_set_hard.json", [needle])
    put(tmp_path / "n" / "haystack" / "rand_book_1.txt", BOOK)
    return tmp_path / "n"


def test_nolima_puts_the_needle_at_its_depth(load: Open, tmp_path: Path) -> None:
    cases = list(load("nolima", nolima(tmp_path), depths=[0, 50, 100], context_words=600, passage_words=60).cases())
    assert [case.id for case in cases[:3]] == ["0401:T1:rand_book_1:0", "0401:T1:rand_book_1:50", "0401:T1:rand_book_1:100"]
    for case, index in zip(cases[:3], (0, 5, 10), strict=True):
        turns = [turn for session in case.sessions for turn in session.turns]
        assert len(turns) == 11
        assert "lives next to the museum" in turns[index].text
        assert {question.evidence_turns for question in case.questions} == {(turns[index].id,)}
    assert [(question.category, question.type.value) for question in cases[0].questions] == [
        ("onehop", "inference"),
        ("twohop", "multi_hop"),
    ]
    assert cases[0].questions[1].text == "Which character has been to Uusimaa?"


def test_nolima_draws_the_same_character_for_all_depths(load: Open, tmp_path: Path) -> None:
    cases = list(load("nolima", nolima(tmp_path)).cases())
    assert len(cases) == 10
    for test in ("T1", "T2"):
        golds = {question.answers for case in cases if f":{test}:" in case.id for question in case.questions}
        assert len(golds) == 1
        (gold,) = golds
        assert any(gold[0] in turn.text for session in cases[0].sessions for turn in session.turns) or test == "T2"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"needle": "{CHAR} and {4}."}, "needle"),
        ({"character_set": []}, "character_set"),
        ({"tests": {"T1": {}}}, "tests.T1.input_args"),
    ],
)
def test_nolima_reports_broken_needles(load: Open, tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(DataError, match=rf"needle_set.json: record 1 \(0401\): field {expected}:"):
        list(load("nolima", nolima(tmp_path, NEEDLE | change)).cases())


def test_nolima_without_needles_or_books_says_what_is_missing(load: Open, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no needle set 'other.json'"):
        list(load("nolima", nolima(tmp_path), needle_set="other.json").cases())
    with pytest.raises(DataError, match="txt"):
        list(load("nolima", put(tmp_path / "x" / "needle_set.json", [NEEDLE])).cases())


def row(**more: Any) -> dict[str, Any]:
    return {
        "context": "word " * 1000,
        "questions": ["Who?", "When?"],
        "answers": [["Ann", "Anna"], "2020"],
        "metadata": {"source": "ruler_qa1", "question_types": ["single", "multi"]},
        **more,
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Accurate_Retrieval-00000-of-00001.jsonl", QuestionType.FACT_RECALL),
        ("Test_Time_Learning.jsonl", QuestionType.INFERENCE),
        ("long-range-understanding.jsonl", QuestionType.INFERENCE),
        ("Conflict_Resolution.jsonl", QuestionType.KNOWLEDGE_UPDATE),
        ("selective_forgetting.jsonl", QuestionType.KNOWLEDGE_UPDATE),
    ],
)
def test_memoryagentbench_reads_all_splits(load: Open, tmp_path: Path, name: str, kind: QuestionType) -> None:
    (case,) = load("memoryagentbench", put(tmp_path / name, lines([row()]))).cases()
    assert [question.type for question in case.questions] == [kind, kind]
    assert [question.answers for question in case.questions] == [("Ann", "Anna"), ("2020",)]
    turns = [turn.text for session in case.sessions for turn in session.turns]
    assert [len(text.split()) for text in turns] == [400, 400, 200]
    assert case.questions[1].metadata["question_type"] == "multi"


def test_memoryagentbench_reads_parquet_if_it_can(load: Open, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "Accurate_Retrieval-0.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([row(answers=[["Ann"], ["2020"]])] * 40), path)
    assert len(list(load("memoryagentbench", path).cases())) == 40


def test_memoryagentbench_reports_what_does_not_fit(load: Open, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="field answers: expected 2 answers"):
        list(load("memoryagentbench", [row(split="accurate_retrieval", answers=["one"])]).cases())
    with pytest.raises(DataError, match="field split"):
        list(load("memoryagentbench", [row()]).cases())


def task(number: int, **more: Any) -> dict[str, Any]:
    return {
        "repo": "org/tool",
        "instance_id": f"org__tool-{number}",
        "base_commit": f"c{number}",
        "patch": f"+fix {number}",
        "test_patch": "+test",
        "problem_statement": f"Bug {number}",
        "created_at": f"2020-10-0{number}T10:00:00Z",
        "version": "1.2",
        "FAIL_TO_PASS": json.dumps(["test_a", 'test["b"]']),
        "PASS_TO_PASS": "['test_c']",
        **more,
    }


def nested(number: int, *dependencies: int) -> dict[str, Any]:
    flat = task(number)
    return {
        "metadata": {key: flat[key] for key in ("repo", "instance_id", "base_commit", "created_at")}
        | {"difficulty": "1-4 hours"},
        "task": {"problem_statement": flat["problem_statement"], "hints_text": ""},
        "evaluation": {key: flat[key] for key in ("patch", "test_patch", "FAIL_TO_PASS", "PASS_TO_PASS")},
        "continual_learning": {
            "sequence_position": number,
            "difficulty_score": 2,
            "dependencies": [f"org__tool-{other}" for other in dependencies],
            "modified_files": ["a.py"],
        },
    }


def test_swe_bench_cl_shows_a_task_only_what_came_before_it(load: Open) -> None:
    data = {
        "metadata": {},
        "sequences": [{"id": "tool_sequence", "repo": "org/tool", "tasks": [nested(2, 1), nested(1), nested(3, 1, 9)]}],
    }
    cases = list(load("swe-bench-cl", data).cases())
    assert [case.id for case in cases] == ["org__tool-1", "org__tool-2", "org__tool-3"]
    assert [[session.source_id for session in case.sessions] for case in cases] == [
        [],
        ["org__tool-1"],
        ["org__tool-1", "org__tool-2"],
    ]
    (last,) = cases[2].questions
    assert last.evidence_sessions == ("s1",)
    assert last.metadata["unresolved_evidence"] == ("org__tool-9",)
    assert last.metadata["fail_to_pass"] == ("test_a", 'test["b"]') and last.metadata["pass_to_pass"] == ("test_c",)
    assert last.metadata["continual_learning"]["difficulty_score"] == 2 and last.metadata["difficulty"] == "1-4 hours"
    assert "fix 3" not in repr(cases[2].sessions)
    windowed = list(load("swe-bench-cl", data, window=1).cases())
    assert [session.source_id for session in windowed[2].sessions] == ["org__tool-2"]


def test_swe_bench_cl_reports_the_task_and_the_field(load: Open) -> None:
    broken = nested(1)
    del broken["continual_learning"]["sequence_position"]
    with pytest.raises(DataError, match=r"field sequences\[0\].tasks\[0\].continual_learning.sequence_position"):
        list(load("swe-bench-cl", {"sequences": [{"id": "s", "tasks": [broken]}]}).cases())


def swe_folder(tmp_path: Path) -> Path:
    for number in (1, 2, 3):
        put(tmp_path / "swe" / f"org__tool-{number}.json", task(number, related_tasks="['org__tool-2']" if number == 1 else None))
    experience = [
        {"instance_id": "org__tool-2", "messages": [{"role": "user", "content": "do 2"}], "summary": "did 2"},
        {"instance_id": "org__tool-8", "transcript": "did 8 at length", "summary": "did 8", "related_to": ["org__tool-3"]},
        {"instance_id": "org__tool-1", "transcript": "did 1", "summary": "did 1"},
    ]
    put(tmp_path / "swe" / "experience.jsonl", lines(experience))
    return tmp_path / "swe"


def test_swe_contextbench_reads_a_folder_of_tasks(load: Open, tmp_path: Path) -> None:
    folder = swe_folder(tmp_path)
    cases = list(load("swe-contextbench", folder, experience="experience.jsonl").cases())
    assert [case.id for case in cases] == ["org__tool-1", "org__tool-2", "org__tool-3"]
    (question,) = cases[0].questions
    assert (question.text, question.answers, cases[0].sessions) == ("Bug 1", ("+fix 1",), ())
    assert question.metadata["fail_to_pass"] == ("test_a", 'test["b"]')


@pytest.mark.parametrize(
    ("condition", "texts", "evidence"),
    [
        ("free-full", ["do 2", "did 8 at length"], ("s1",)),
        ("free-summary", ["did 2", "did 8"], ("s1",)),
        ("oracle-full", ["do 2"], ("s1",)),
        ("oracle-summary", ["did 2"], ("s1",)),
    ],
)
def test_swe_contextbench_conditions_choose_the_experience(
    load: Open, tmp_path: Path, condition: str, texts: list[str], evidence: tuple[str, ...]
) -> None:
    folder = swe_folder(tmp_path)
    cases = list(load("swe-contextbench", folder, experience="experience.jsonl", condition=condition).cases())
    assert [turn.text for session in cases[0].sessions for turn in session.turns] == texts
    assert cases[0].questions[0].evidence_sessions == evidence
    third = cases[2]
    assert third.questions[0].evidence_sessions == (("s2",) if condition.startswith("free") else ("s1",))


def test_swe_contextbench_reports_wrong_conditions_and_missing_experience(load: Open, tmp_path: Path) -> None:
    folder = swe_folder(tmp_path)
    with pytest.raises(ConfigError, match="oracle-full"):
        list(load("swe-contextbench", folder, condition="best").cases())
    with pytest.raises(DataError, match="requires transcripts"):
        list(load("swe-contextbench", folder, condition="free-full").cases())
    with pytest.raises(DataError, match="FAIL_TO_PASS"):
        list(load("swe-contextbench", [task(1, FAIL_TO_PASS="[unclosed")]).cases())


def test_contextbench_cuts_a_checkout_into_blocks_and_marks_the_gold(load: Open, tmp_path: Path) -> None:
    gold = [
        {"file": "src/a.py", "start_line": 9, "end_line": 12, "content": ""},
        {"file": "src/gone.py", "start_line": 1, "end_line": 1},
    ]
    repo = tmp_path / "repos" / "org__tool" / "c1"
    put(repo / "src" / "a.py", "".join(f"line {number}\n" for number in range(1, 26)))
    put(repo / "b.py", "x = 1\n")
    put(repo / "notes.txt", "no code")
    (case,) = load(
        "contextbench", [task(1, gold_context=json.dumps(gold))], repos=str(tmp_path / "repos"), block_lines=10
    ).cases()
    assert [session.source_id for session in case.sessions] == ["b.py", "src/a.py"]
    (question,) = case.questions
    assert question.evidence_sessions == ("s2",)
    assert question.evidence_turns == ("s2:1", "s2:2")
    assert question.metadata["gold_blocks"] == (("src/a.py", 9, 12), ("src/gone.py", 1, 1))
    assert case.sessions[1].turns[2].metadata == {"file": "src/a.py", "start_line": 21, "end_line": 25}


def test_contextbench_scores_files_lines_and_blocks_of_what_was_retrieved(load: Open, tmp_path: Path) -> None:
    gold = [{"file": "src/a.py", "start_line": 9, "end_line": 12}, {"file": "src/gone.py", "start_line": 1, "end_line": 1}]
    repo = tmp_path / "repos" / "org__tool" / "c1"
    put(repo / "src" / "a.py", "".join(f"line {number}\n" for number in range(1, 26)))
    put(repo / "b.py", "x = 1\n")
    options = {"repos": str(tmp_path / "repos"), "block_lines": 10}
    (case,) = load("contextbench", [task(1, gold_context=json.dumps(gold))], **options).cases()
    pieces = [Retrieved("", sessions=("s1",), turns=("s1:1",)), Retrieved("", sessions=("s2",), turns=("s2:1", "s2:3"))]
    scores = {
        score["metric"]: score["value"] for score in question_scores(Observation(case.questions[0], pieces, cut_offs=(1, 2)))
    }
    assert (scores["context_file_recall@1"], scores["context_line_precision@1"]) == (0.0, 0.0)
    # b.py with 1 line, and src/a.py with lines 1 to 10 and 21 to 25. Needed are 9 to 12 there, and a line of a third file.
    assert scores["context_file_recall@2"] == scores["context_file_precision@2"] == scores["context_block_recall@2"] == 0.5
    assert (scores["context_line_recall@2"], scores["context_line_precision@2"]) == (2 / 5, 2 / 16)
    assert not question_scores(Observation(case.questions[0], [Retrieved("of unknown source")], cut_offs=(1,)))


def test_contextbench_without_code_has_gold_only_and_a_missing_checkout_is_named(load: Open, tmp_path: Path) -> None:
    record = task(1, gold_context=[{"file": "a.py", "start_line": 1, "end_line": 2}])
    (case,) = load("contextbench", [record]).cases()
    assert case.sessions == () and case.questions[0].metadata["gold_blocks"] == (("a.py", 1, 2),)
    with pytest.raises(DataError, match="no checkout for org__tool-1"):
        list(load("contextbench", [record], repos=str(tmp_path)).cases())
    record["gold_context"] = [{"file": "a.py", "start_line": 5, "end_line": 2}]
    with pytest.raises(DataError, match=r"gold_context\[0\].end_line"):
        list(load("contextbench", [record]).cases())


def clone(folder: Path) -> Path:
    """Create a folder in the form of the official repository, with the log of one base task."""
    for subset, numbers in (("Lite", (1, 2)), ("Verified", (2,)), ("Multilingual", (3,)), ("Full", (1, 2, 3))):
        for number in numbers:
            record = task(number, hints_text=[], FAIL_TO_PASS=["test_a"]) | ({"version": "1.2"} if number == 1 else {})
            put(folder / f"cases/SWEContextBench {subset}/org__tool-{number}.json", record)
    said = [
        {"type": "summary", "summary": "A fix"},
        {"type": "user", "message": {"role": "user", "content": "Fix it:\n  instance_id: org__tool-9\n"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", "input": {"file": "a.py"}}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "content": "x = 1"}]}},
        {"type": "user", "isSidechain": True, "message": {"role": "user", "content": "a sub-agent's prompt"}},
    ]
    put(folder / "cases/SWEContextBench Lite Past Experience/0a.jsonl", lines(said) + "broken line\n")
    return folder


def test_a_clone_of_swe_contextbench_is_read_by_subset(load: Open, tmp_path: Path) -> None:
    clone(tmp_path)
    counts = {
        name: len(list(load("swe-contextbench", tmp_path, subset=name).cases()))
        for name in ("lite", "verified", "multilingual", "full")
    }
    assert counts == {"lite": 2, "verified": 1, "multilingual": 1, "full": 3}
    assert len(list(load("swe-contextbench", tmp_path / "cases").cases())) == 3
    with pytest.raises(ConfigError, match="subset"):
        list(load("swe-contextbench", tmp_path, subset="all").cases())


def test_logs_of_base_tasks_are_experience_and_relations_come_apart(load: Open, tmp_path: Path) -> None:
    put(clone(tmp_path) / "related.json", {"org__tool-1": ["org__tool-9", "org__tool-8"]})
    first, second = load("swe-contextbench", tmp_path, subset="lite", condition="free-full", relations="related.json").cases()
    (session,) = first.sessions
    assert session.source_id == "org__tool-9"
    assert [(turn.role, turn.text) for turn in session.turns] == [
        ("user", "Fix it:\n  instance_id: org__tool-9\n"), ("assistant", '{"file": "a.py"}'), ("assistant", "x = 1"),
    ]  # fmt: skip
    assert first.questions[0].evidence_sessions == (session.id,)
    assert first.questions[0].metadata["unresolved_evidence"] == ("org__tool-8",)
    assert (len(second.sessions), second.questions[0].evidence_sessions) == (1, ())
    oracle = list(load("swe-contextbench", tmp_path, subset="lite", condition="oracle-full", relations="related.json").cases())
    assert [len(case.sessions) for case in oracle] == [1, 0]
    with pytest.raises(DataError, match="summary"):
        list(load("swe-contextbench", tmp_path, subset="lite", condition="free-summary").cases())


def test_a_log_that_names_no_task_is_reported(load: Open, tmp_path: Path) -> None:
    put(
        clone(tmp_path) / "cases/SWEContextBench Lite Past Experience/0b.jsonl",
        lines([{"message": {"role": "user", "content": "hi"}}]),
    )
    with pytest.raises(DataError, match=r"0b\.jsonl"):
        list(load("swe-contextbench", tmp_path, condition="free-full").cases())
