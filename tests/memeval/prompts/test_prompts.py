from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ConfigError
from memeval.core.types import QuestionType, Retrieved
from memeval.prompts import MEMORIES, QUESTION, builtin_names, find_prompt, format_memories, load_prompt, shown_date, tagged
from memoryd.core.types import Message

AT = datetime(2023, 5, 20, 2, 21, tzinfo=UTC)


def kind_of(name: str) -> str:
    return name.split("/")[1].split(".")[0]


@pytest.mark.parametrize("name", builtin_names())
def test_every_prompt_names_its_source_and_is_filled_in_whole(name: str) -> None:
    prompt = load_prompt(kind_of(name), name)
    assert prompt.source
    assert prompt.licence == "MIT"
    values = {"question": "Q-1", "memories": "M-1", "response": "R-1", "answer": "G-1", "date": "D-1", "speakers": "S-1"}
    text = "\n".join(message.content for message in prompt.render(values))
    assert ("Q-1" in text) == (kind_of(name) != "same")
    assert ("R-1" in text) == (kind_of(name) in ("judge", "same"))
    assert "{" not in text
    assert "---" not in text


def test_the_built_in_prompts_know_the_protocols_of_longmemeval() -> None:
    names = {"fact_recall": "judge", "multi_hop": "judge", "temporal": "judge.temporal", "preference": "judge.preference",
             "knowledge_update": "judge.knowledge_update", "abstention": "judge.abstention", "inference": "judge"}  # fmt: skip
    assert set(names) == {kind.value for kind in QuestionType}
    for kind, name in names.items():
        assert find_prompt("judge", "longmemeval", kind).name == f"longmemeval/{name}"
    assert "off by one" in find_prompt("judge", "longmemeval", "temporal").user
    assert "earlier information next to the updated answer" in find_prompt("judge", "longmemeval", "knowledge_update").user
    assert "Rubric" in find_prompt("judge", "longmemeval", "preference").user


def test_a_benchmark_without_prompts_uses_those_of_its_family_or_the_default() -> None:
    assert find_prompt("judge", "longmemeval-oracle", "temporal").name == "longmemeval/judge.temporal"
    assert find_prompt("judge", "other", "temporal").name == "default/judge.temporal"
    assert find_prompt("answer").name == "default/answer"
    with pytest.raises(ConfigError, match="'sing'"):
        find_prompt("sing")


def test_names_may_be_written_with_dashes() -> None:
    assert load_prompt("judge", "longmemeval-judge-knowledge-update").name == "longmemeval/judge.knowledge_update"
    assert load_prompt("answer-con", "longmemeval-answer-con").name == "longmemeval/answer-con"


def test_no_answer_prompt_tells_the_type_of_the_question() -> None:
    assert not [name for name in builtin_names() if name.split("/")[1].startswith("answer.")]


def test_a_prompt_is_overridden_by_text_file_or_type(tmp_path: Path) -> None:
    inline = find_prompt("judge", "locomo", "temporal", override="{question}? {response}!")
    assert (inline.name, inline.render({"question": "a", "response": "b"})) == ("inline", (Message("user", "a? b!"),))
    (tmp_path / "own.md").write_text("source: me\n---\n## system\nBe strict.\n\n## user\n{question} {response}\n")
    own = find_prompt("judge", "locomo", override="own.md", base=tmp_path)
    assert (own.source, own.system, own.user) == ("me", "Be strict.", "{question} {response}")
    assert [message.role for message in own.render({})] == ["system", "user"]
    typed = find_prompt("judge", "locomo", "temporal", override="own.md", by_type={"temporal": "locomo/judge"}, base=tmp_path)
    assert typed.name == "locomo/judge"


def test_a_prompt_may_ask_for_memories_in_order_of_time(tmp_path: Path) -> None:
    body = "\n---\n{question}{memories}\n"
    for order in ("rank", "time", "size"):
        (tmp_path / order).write_text(f"order: {order}{body}")
    by_rank, by_time = (load_prompt("answer", order, tmp_path) for order in ("rank", "time"))
    assert (by_rank.by_time, by_time.by_time) == (False, True)
    assert by_rank.hash != by_time.hash, "it is another prompt"
    with pytest.raises(ConfigError, match="'size'"):
        load_prompt("answer", "size", tmp_path)
    assert load_prompt("answer", "longmemeval/answer").by_time, "as LongMemEval reads"


def test_the_hash_changes_with_the_text_only() -> None:
    one, same, other = (
        load_prompt("note", text) for text in ("{question}{memories}", "{question}{memories}", "{memories}{question}")
    )
    assert one.hash == same.hash != other.hash
    assert len(one.hash) == 16


def test_values_are_filled_in_once_and_keep_their_braces() -> None:
    prompt = load_prompt("answer", "{question} | {memories}")
    assert (
        prompt.render({"question": "{memories}", "memories": "{'a': {question}}"})[0].content == "{memories} | {'a': {question}}"
    )


def test_a_wrong_prompt_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("source: me\n---\nFine {question}\nBad {respnse}\n")
    with pytest.raises(ConfigError, match=r"p\.md, line 4: unknown placeholder \{respnse\}"):
        load_prompt("judge", "p.md", tmp_path)
    with pytest.raises(ConfigError, match=r"is missing the placeholder \{response\}"):
        load_prompt("judge", "{question}")
    with pytest.raises(ConfigError, match="can't be read") as caught:
        load_prompt("judge", "no/such", tmp_path)
    assert "locomo/judge" in caught.value.fix


def test_names_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        load_prompt("judge", "../prompts/locomo/judge", tmp_path)


def test_memories_are_numbered_and_dated() -> None:
    pieces = [Retrieved("new", at=AT), Retrieved(" none "), Retrieved("old", at=AT.replace(year=2022))]
    assert format_memories(pieces) == "[1] 2023-05-20 (Sat) 02:21\nnew\n\n[2]\nnone\n\n[3] 2022-05-20 (Fri) 02:21\nold"
    assert format_memories(pieces, by_time=True).splitlines()[1] == "old"
    assert '"date": "2023-05-20 (Sat) 02:21"' in format_memories(pieces, as_json=True)
    assert format_memories([]) == ""
    assert shown_date(None) == ""


@given(st.text().filter(lambda text: "</" not in text))
def test_what_was_put_between_tags_is_read_back(text: str) -> None:
    prompt = load_prompt("answer", "default/answer").render({"question": text, "memories": "<question>no</question>"})[-1].content
    assert tagged(MEMORIES, prompt) == "<question>no</question>"
    assert tagged(QUESTION, prompt.rpartition("</memories>")[2]) == text.strip()


def test_a_sentence_is_a_prompt_and_gets_the_values_that_it_needs() -> None:
    prompt = load_prompt("judge", "Answer yes if correct, no otherwise.")
    (message,) = prompt.render({"question": "Q-1", "answer": "G-1", "response": "R-1"})
    assert message.content.startswith("Answer yes if correct, no otherwise.")
    assert all(value in message.content for value in ("Q-1", "G-1", "R-1"))
    (asked,) = load_prompt("answer", "Reply in one word only.").render({"question": "Q-1", "memories": "M-1"})
    assert "M-1" in asked.content and "Q-1" in asked.content


@pytest.mark.parametrize("name", ["my judge prompt.md", "judge.md", "no-such"])
def test_the_name_of_a_missing_file_is_not_taken_for_a_prompt(name: str) -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        load_prompt("judge", name)
