from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import RunError
from memeval.core.types import Phase
from memeval.report import FORMATS, RunResult, Table, export, parse_run
from tests.memeval.result_files import Asked, result

ASKED = [
    Asked("q1", {"f1": 1.0}, expected=("pot", "the pot")),
    Asked("q2", {"f1": None}, answer='=HYPERLINK("x"), "y"\nz', text="Und wo? Größe"),
    Asked("q3", error=(Phase.ANSWER, "timeout")),
]


def run() -> RunResult:
    return parse_run(result("r1", ASKED))


def test_csv_has_a_row_for_each_question() -> None:
    assert export(run(), "csv") == (
        "question_id,case_id,type,category,status,error,question,expected,hypothesis,f1\r\n"
        "q1,c1,fact_recall,single,done,,Where does Ada keep the key?,pot | the pot,under the pot,1.0\r\n"
        'q2,c1,fact_recall,single,done,,Und wo? Größe,under the pot,"\'=HYPERLINK(""x""), ""y""\nz",\r\n'
        "q3,c1,fact_recall,single,failed,timeout,Where does Ada keep the key?,under the pot,,\r\n"
    )


def test_jsonl_has_an_object_for_each_question() -> None:
    lines = [json.loads(line) for line in export(run(), "jsonl").splitlines()]
    assert [(line["question_id"], line["status"], line["f1"]) for line in lines] == [
        ("q1", "done", 1.0), ("q2", "done", None), ("q3", "failed", None),
    ]  # fmt: skip
    assert lines[0]["expected"] == ["pot", "the pot"] and lines[1]["question"] == "Und wo? Größe"


def test_json_is_the_whole_result_and_can_be_read_again() -> None:
    assert parse_run(json.loads(export(run(), "json"))) == parse_run(json.loads(json.dumps(result("r1", ASKED))))


def test_hypotheses_are_the_file_of_the_official_script() -> None:
    assert export(run(), "hypotheses").splitlines() == [
        '{"hypothesis": "under the pot", "question_id": "q1"}',
        '{"hypothesis": "=HYPERLINK(\\"x\\"), \\"y\\"\\nz", "question_id": "q2"}',
    ]
    with pytest.raises(RunError, match="has no answers"):
        export(parse_run(result("r", [Asked("a", {"session.mrr@5": 1.0}, answer=None)])), "hypotheses")


def test_markdown_has_heading_metrics_and_types() -> None:
    text = export(parse_run(result("r1", [Asked("a", {"f1": 1.0}), Asked("b", {"f1": 0.0}, type="temporal")])), "md")
    assert text == (
        "# sample with bm25: r1\n\n"
        "2 questions, answered by scripted/one, retrieval by evidence targets, finished 2024-06-01T08:10:00Z.\n\n"
        "f1 50.0 % (95 %: 9.5–90.5), search p50 10 ms, 8 tokens handed over, cost $0.002.\n\n"
        "| metric | value % | 95 % interval | scored only % | total | scored | failed | unscored | skipped |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| f1 | 50.0 | 9.5–90.5 | 50.0 | 2 | 2 | 0 | 0 | 0 |\n\n"
        "| f1 | value % | 95 % interval | total | scored | failed | unscored | skipped |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| fact\\_recall | 100.0 | 20.7–100.0 | 1 | 1 | 0 | 0 | 0 |\n"
        "| temporal | 0.0 | 0.0–79.3 | 1 | 1 | 0 | 0 | 0 |\n"
        "| all | 50.0 | 9.5–90.5 | 2 | 2 | 0 | 0 | 0 |\n\n"
        "| of the whole run | value % | counted |\n"
        "| --- | ---: | --- |\n"
        "| f1, task-averaged | 50.0 | mean over the benchmark's own types |\n\n"
        "| phase | p50 | p95 | p99 | model calls | cached | tokens in | tokens out | cost |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| ingest | 500 ms | 500 ms | 500 ms | 0 | 0 | 0 | 0 | $0 |\n"
        "| search | 10 ms | 10 ms | 10 ms | 0 | 0 | 0 | 0 | $0 |\n"
        "| answer | 20 ms | 20 ms | 20 ms | 2 | 0 | 200 | 20 | $0.002 |\n"
        "| evaluate | 30 ms | 30 ms | 30 ms | 0 | 0 | 0 | 0 | $0 |\n"
        "| total | – | – | – | 2 | 0 | 200 | 20 | $0.002 |\n"
    )


def test_an_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(RunError, match=f"Known: {', '.join(FORMATS)}"):
        export(run(), "xml")


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_ends_with_a_line_end(form: str) -> None:
    assert export(run(), form).endswith("\n")


def test_trec_files_give_the_recall_that_the_run_reports() -> None:
    asked = [
        Asked(f"q {n}", {"session.recall_any@2": float(n < 2), "turn.recall_any@2": float(n < 2)}, pieces=("a",) * (3 - n))
        for n in range(3)
    ]
    data = result("r 1", asked, provider={"name": "my memory"})
    for question in data["questions"][2:]:
        question["evidence"] = {"session": ["s2"], "turn": ["s2:2"]}
    made = parse_run(data)
    for level in ("session", "turn"):
        found: dict[str, list[str]] = {}
        for line in export(made, "trec", level).splitlines():
            question, zero, document, rank, score, tag = line.split()
            assert (zero, tag) == ("Q0", "my%20memory")
            found.setdefault(question, []).append(document)
            assert int(rank) == len(found[question]) and float(score) > 0
        wanted = {line.split()[0]: line.split()[2] for line in export(made, "qrels", level).splitlines()}
        recall = [float(wanted[question] in found[question][:2]) for question in wanted]
        assert list(wanted) == ["c1/q%200", "c1/q%201", "c1/q%202"]
        assert recall == list(made.values(f"{level}.recall_any@2").values())


def test_trec_lists_a_document_once_and_falling_scores() -> None:
    data = result("r", [Asked("a", {"session.mrr@5": 1.0}, pieces=("x", "y", "z"))])
    for hit in data["questions"][0]["retrieved"]:
        hit["sessions"] = ["s1"] if hit["rank"] < 3 else ["s9"]
    assert export(parse_run(data), "trec", "session") == "c1/a Q0 s1 1 2 bm25\nc1/a Q0 s9 2 1 bm25\n"


def test_trec_is_refused_where_documents_are_not_sessions_or_turns() -> None:
    data = result("r", [Asked("a", {"f1": 1.0})])
    with pytest.raises(RunError, match="variant official"):
        export(parse_run({**data, "settings": {**data["settings"], "variant": "official"}}), "trec")
    data["questions"][0]["evidence"] = {}
    with pytest.raises(RunError, match="no evidence"):
        export(parse_run(data), "qrels")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_is_one_cell_of_latex(text: str) -> None:
    lines = Table(("a", "b"), ((text, "end"),)).latex().split("\n")
    assert lines[0] == r"\begin{tabular}{ll}" and len(lines) == 8 and lines[4].endswith(r" & end \\")
    cell = lines[4].removesuffix(r" & end \\")
    bare = re.sub(r"\\text[a-z]+\{\}|\$-\$|\$\\times\$|\\[&%$#_{}]", "", cell)
    assert not re.search(r"[\\&%$#_~^]", bare) and bare.count("{") == bare.count("}") <= 1
    assert not cell.startswith(("[", "*"))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_any_text_is_one_cell_of_csv_and_of_markdown(text: str) -> None:
    table = Table(("a", "b"), ((text, "end"),))
    rows = list(csv.reader(io.StringIO(table.csv(), newline="")))
    assert rows[1][0] in (text, f"'{text}") and rows[1][1] == "end"
    assert not rows[1][0].startswith(("=", "@"))
    lines = table.markdown().split("\n")
    assert len(lines) == 4 and lines[2].endswith(" | end |")
