"""Official judge prompts: read from code in the form of the originals, and filled in and parsed as that code does it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memeval.core.errors import DataError
from memeval.core.types import Answer, Question, QuestionType, Score
from memeval.judges import open_judge
from memeval.models.scripted import Rule, ScriptedModel
from memeval.prompts.official import READERS, Official, official_prompts

ANSWER = Answer("a blue kite", "m", "h")
SOURCES: dict[str, Sequence[str]] = {
    "locomo": ['ACCURACY_PROMPT = """Label {question}: gold {gold_answer}, given {generated_answer}. Say {{"label": 1}}."""\n'],
    "locomo-plus": ['PROMPT_TEMPLATES = {"Cognitive": "Does {pred} use {evidence}? {{x}}", "default": "{gold} {pred}"}\n'],
    "beam": [
        'unified_llm_judge_base_prompt = "old"\n'
        'unified_llm_judge_base_prompt = "Q <question> I <rubric_item> R <llm_response>"\n',
        "def llm_equivalence(first_paragraph, second_paragraph, llm):\n"
        '    system_msg = {"role": "system", "content": "Same?"}\n'
        '    user_msg = {"role": "user", "content": f"One: {first_paragraph}, two: {second_paragraph}"}\n',
    ],
    "convomem": [
        "".join(
            f'object Judge{number} {{\n val guidelines = """G{number}"""\n s"""$guidelines {text}"""\n}}\n'
            for number, text in enumerate(
                ["D $question $correctAnswer $modelAnswer", "R $question", "T $question", "U1 $evidenceMessageText",
                 "UN $evidenceMessagesText", "A $modelAnswer"]
            )
        )
    ],
    "memoryagentbench": [
        'fluency_prompt_book = "F {text} {{}}"\nrecall_prompt_book = "R {keypoints} / {summary}"\n'
        'precision_prompt_book = "P {expert_summary} / {summary}"\n',
        "".join(f'template = "T{number} {{}} {{}} {{}}"\n' for number in range(5)),
    ],
    "longmemeval-v2": [
        "".join(
            f'_{key.upper()}_JUDGE_SYSTEM_PROMPT = "S"\ndef _build_{key}_judge_messages(question_text, model_final_answer):\n'
            '    user_prompt = ("Q " f"{question_text} {model_final_answer}")\n'
            for key in ("abstention", "gotchas")
        )
    ],
    "longmemeval": ["".join(f'template = "T{number} {{}} {{}} {{}}"\n' for number in range(5))],
}  # fmt: skip


def files(folder: Path, protocol: str) -> list[Path]:
    out = []
    for number, text in enumerate(SOURCES[protocol]):
        path = folder / f"{protocol}{number}.py"
        path.write_text(text, "utf-8")
        out.append(path)
    return out


def official(folder: Path, protocol: str, model: str = "scripted") -> Official:
    return Official(official_prompts(protocol, files(folder, protocol)), model)


def question(category: str = "", **metadata: Any) -> Question:
    return Question("q", "what flew?", QuestionType.FACT_RECALL, ("a kite",), category=category, metadata=metadata)


def judged(judge: str, reply: str, asked: Question, sign: str = "", **options: Any) -> list[Score]:
    """Score with a model that gives the reply to prompts with the sign, and nothing useful to others."""
    return open_judge(judge, ScriptedModel([Rule((sign,), reply)], default="?"), options).score(asked, ANSWER)


@pytest.mark.parametrize("protocol", READERS)
def test_code_that_is_not_the_official_one_is_refused(tmp_path: Path, protocol: str) -> None:
    for text in ("x = 1\n", "def broken(:\n"):
        paths = files(tmp_path, protocol)
        for path in paths:
            path.write_text(text, "utf-8")
        with pytest.raises(DataError, match=str(tmp_path)):
            official_prompts(protocol, paths)


def test_locomos_vendor_accuracy_needs_the_vendors_prompt_and_model(tmp_path: Path) -> None:
    own = official(tmp_path, "locomo")
    sign = 'Label what flew?: gold a kite, given a blue kite. Say {"label": 1}.'
    for reply, value in (
        ('{"label": "CORRECT"}', 1.0),
        ('so {"label": "WRONG"}', 0.0),
        ('{"label": "correct"}', 0.0),
        ("yes", None),
    ):
        (score,) = judged("llm", reply, question(), sign, protocol="locomo", official=own)
        assert (score.metric, score.value) == ("locomo_llm_accuracy", value)
    (other,) = judged(
        "llm", '{"label": "CORRECT"}', question(), sign, protocol="locomo", official=official(tmp_path, "locomo", "m")
    )
    (plain,) = judged("llm", "yes", question(), protocol="locomo")
    assert (other.metric, other.value, plain.metric) == ("llm_accuracy", 1.0, "llm_accuracy")


def test_convomem_is_judged_by_category_and_number_of_messages(tmp_path: Path) -> None:
    own = official(tmp_path, "convomem")
    signs = {
        ("user_evidence", 1): "G3 U1 m1",
        ("user_evidence", 2): "G4 UN Evidence Message 1: m1\nEvidence Message 2: m2",
        ("changing_evidence", 2): "G0 D what flew? a kite a blue kite",
        ("preference_evidence", 1): "G1 R what flew?",
        ("abstention_evidence", 0): "G5 A a blue kite",
    }
    for (category, count), sign in signs.items():
        asked = question(category, evidence_texts=tuple(f"m{number + 1}" for number in range(count)))
        (score,) = judged("llm", "RIGHT", asked, sign, protocol="convomem", official=own)
        assert (score.metric, score.value) == ("convomem_accuracy", 1.0), category
    (unread,) = judged("llm", "fine", question("changing_evidence"), "G0", protocol="convomem", official=own)
    assert unread.value is None


def test_beam_score_is_the_cut_grade_or_the_order_of_events(tmp_path: Path) -> None:
    own = official(tmp_path, "beam")
    asked = question("summarization", rubric=["a kite flew"])
    sign = "Q <question> I a kite flew R a blue kite"
    (beam, kept, cut) = judged("rubric", '{"score": 0.5}', asked, sign, official=own)
    assert [(s.metric, s.value) for s in (beam, kept, cut)] == [("beam_score", 0.0), ("rubric", 0.5), ("rubric_cut", 0.0)]
    rules = [
        Rule(("I first R",), '{"score": 1}'),
        Rule(("One: first, two: a blue kite",), "YES"),
        Rule(("I second",), '{"score": 0}'),
    ]
    judge = open_judge("rubric", ScriptedModel(rules, default="no"), {"official": own})
    scores = {s.metric: s.value for s in judge.score(question("event_ordering", rubric=["first", "second"]), ANSWER)}
    assert scores["beam_score"] == scores["event_order_tau"]
    named = [s.metric for s in judged("rubric", '{"score": 1}', asked, sign, official=official(tmp_path, "beam", "gpt-4.1-mini"))]
    assert named == ["rubric", "rubric_cut"], "another model's grades are not BEAM's"


def test_summaries_and_longmemeval_of_memoryagentbench_are_judged_by_their_own_models(tmp_path: Path) -> None:
    own = official(tmp_path, "memoryagentbench", "")
    rules = [
        Rule(("F a blue kite {}",), '{"fluency": 1}'),
        Rule(("R 1. one\n2. two / a blue kite",), '{"recall": 1}'),
        Rule(("P a kite / a blue kite",), '{"precision": 1, "sentence_count": 1}'),
        Rule(("T2 what flew? a kite a blue kite",), "Yes."),
    ]
    for name, summary, answer in (("gpt-4o-2024-05-13", 2 / 3, 1.0), ("gpt-4o-2024-08-06", None, 1.0), ("other", None, None)):
        judge = open_judge("memoryagentbench", ScriptedModel(rules, default="?", name=name), {"official": own})
        book = judge.score(question(sub_dataset="infbench_sum_eng_shots2", keypoints=("one", "two")), ANSWER)
        chat = judge.score(question(sub_dataset="longmemeval_s*", question_type="knowledge-update"), ANSWER)
        assert (book[0].metric, book[0].value) == ("memoryagentbench_score", pytest.approx(summary))
        assert (book[1].metric, book[1].value) == ("summary_f1", pytest.approx(2 / 3))
        assert (chat[0].metric, chat[0].value, chat[1].value) == ("memoryagentbench_score", answer, 1.0)


@pytest.mark.parametrize(
    ("pinned", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "openai/gpt-4o", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", True),
        ("", "gpt-4o", False),
    ],
)
def test_a_dated_snapshot_is_the_pinned_model_and_a_smaller_one_is_not(pinned: str, answered: str, same: bool) -> None:
    assert Official({}, pinned).is_model(answered) is same


def test_the_judges_of_longmemeval_v2_have_a_system_text(tmp_path: Path) -> None:
    prompts = official_prompts("longmemeval-v2", files(tmp_path, "longmemeval-v2"))
    assert {key: (prompt.system, prompt.user) for key, prompt in prompts.items()} == {
        key: ("S", "Q {question} {final}") for key in ("abstention", "gotchas")
    }
