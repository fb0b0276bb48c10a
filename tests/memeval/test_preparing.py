"""Tests of session preprocessing: chunks, templates, escapes, batches, and the limits of a search."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memeval
from memeval.core.types import Phase, Session, Turn
from memeval.results.store import RunStore
from memeval.run.preparing import chunked, preprocessed
from memeval.specs import ChunkingSpec, PreprocessingSpec
from tests.memeval.current_folder import run

AT = datetime(2024, 3, 5, 10)  # noqa: DTZ001 - as data sets have it
TALK = Session("s", (Turn("a", "user", "One. Two. Three.", "Ines", AT), Turn("b", "assistant", "Four <b>.")), AT)


def texts(session: Session) -> list[str]:
    return [turn.text for turn in session.turns]


def test_long_turns_are_cut_at_sentences_with_overlap_and_say_which_turn_they_are_of() -> None:
    made, chunks = chunked(TALK, ChunkingSpec(size=2, overlap=1))
    assert texts(made) == ["One. Two.", "Two. Three.", "Four <b>."]
    assert chunks == {"a/1": ["a"], "a/2": ["a"]}
    assert made.turns[0].speaker == "Ines"


def test_turns_can_be_taken_together_in_windows() -> None:
    made, chunks = chunked(TALK, ChunkingSpec(size=2, strategy="turns"))
    assert texts(made) == ["Ines: One. Two. Three.\nassistant: Four <b>."]
    assert list(chunks.values()) == [["a", "b"]]


@given(
    st.text(max_size=200),
    st.integers(1, 9),
    st.integers(0, 8),
    st.sampled_from(["sentences", "words", "characters"]),
)
def test_chunks_lose_nothing_of_a_text_and_are_never_longer_than_asked(text: str, size: int, overlap: int, strategy: str) -> None:
    spec = ChunkingSpec(size=size, overlap=min(overlap, size - 1), strategy=strategy)
    made, chunks = chunked(Session("s", (Turn("a", "user", text),)), spec)
    ids = [turn.id for turn in made.turns]
    assert len(set(ids)) == len(ids)
    assert {tuple(chunks.get(id, ["a"])) for id in ids} == {("a",)}
    if strategy == "characters" and len(ids) > 1:
        assert all(len(part) <= size for part in texts(made))
        step = size - spec.overlap
        assert "".join([part[:step] for part in texts(made)[:-1]] + texts(made)[-1:]) == text
    if strategy == "words":
        assert set(" ".join(texts(made)).split()) == set(text.split())


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 4))
def test_every_turn_is_in_a_window(turns: int, size: int, overlap: int) -> None:
    talk = Session("s", tuple(Turn(f"t{number}", "user", f"text {number}") for number in range(turns)))
    made, chunks = chunked(talk, ChunkingSpec(size=size, overlap=min(overlap, size - 1), strategy="turns"))
    covered = [turn for one in made.turns for turn in chunks.get(one.id, [one.id])]
    assert set(covered) == {turn.id for turn in talk.turns}
    assert len({turn.id for turn in made.turns}) == len(made.turns)


def test_fields_are_removed_then_put_into_the_template_then_escaped() -> None:
    made = preprocessed(TALK, PreprocessingSpec(template="[{date}] {speaker}: {text}"))
    assert texts(made) == ["[2024-03-05 10:00] Ines: One. Two. Three.", "[2024-03-05 10:00] assistant: Four <b>."]
    bare = preprocessed(
        TALK, PreprocessingSpec(remove=("speaker", "role", "date"), escape="html", template="{speaker}{date}|{text}")
    )
    assert texts(bare) == ["user|One. Two. Three.", "user|Four &lt;b&gt;."]
    assert (bare.at, bare.turns[0].at, bare.turns[1].role) == (None, None, "user")
    assert texts(preprocessed(Session("s", (Turn("a", "user", 'say "hi"\n'),)), PreprocessingSpec(escape="json"))) == [
        r"say \"hi\"\n"
    ]


pytestmark = pytest.mark.usefixtures("own_folder")


def benchmark(more: str) -> None:
    assert run("init", "benchmark", "team", "--force").exit_code == 0
    place = Path("memeval.d/benchmarks/team.yaml")
    place.write_text(place.read_text() + more)


def result(name: str) -> Any:
    return memeval.load_run(memeval.ResultsDir(Path("results")), name)


@pytest.mark.parametrize("provider", ["bm25", "memoryd", "oracle"])
def test_a_benchmark_in_chunks_is_measured_by_the_turns_of_its_data(provider: str) -> None:
    benchmark("chunking: {strategy: words, size: 3, overlap: 1}\n")
    options = ["--provider-option", 'settings={"embedder": "hash"}'] if provider == "memoryd" else []
    done = run("eval", "-b", "team", "-p", provider, "--run-id", "r", *options)
    assert done.exit_code == 0, done.output
    made = result("r")
    turns = {turn for question in made.questions for piece in question.retrieved for turn in piece.turns}
    assert turns
    assert not [turn for turn in turns if "/" in turn]
    for question in made.questions:
        found = [piece.turns for piece in question.retrieved]
        assert len(set(found)) == len(found)
    assert all((made[name] or 0) <= 1 for name in ("turn.mrr@5", "turn.recall_all@5"))
    assert made["turn.recall_any@5"] == 1.0


def test_the_limits_of_a_search_are_those_of_the_file_and_flags_go_first() -> None:
    benchmark("search: {limit: 2, threshold: 0.1}\n")
    assert run("eval", "-b", "team", "-p", "bm25", "--run-id", "r").exit_code == 0
    made = result("r")
    assert max(len(question.retrieved) for question in made.questions) <= 2
    assert all(piece.score >= 0.1 for question in made.questions for piece in question.retrieved)
    assert (made.setting("search_k"), made.setting("threshold")) == ("2", "0.1")
    assert run("eval", "-b", "team", "-p", "bm25", "--run-id", "s", "--search-k", "9", "--threshold", "-5").exit_code == 0
    assert max(len(question.retrieved) for question in result("s").questions) == 3


def test_sessions_come_in_batches_of_the_size_of_the_file() -> None:
    benchmark("batching: {size: 2, delay: 0.001}\n")
    assert run("eval", "-b", "team", "-p", "bm25", "--run-id", "r").exit_code == 0
    with RunStore(memeval.ResultsDir(Path("results")).find("r") / "run.db") as store:
        assert [record.payload["batches"] for record in store.whole_records(Phase.INGEST)] == [1]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("chunking: {size: 2, overlap: 2}\n", "chunking.overlap must be less than chunking.size"),
        ("chunking: {size: 0}\n", "chunking.size is 0, but must be at least 1"),
        ("chunking: {size: 3, strategy: pages}\n", "chunking.strategy is 'pages'"),
        ("preprocessing: {template: 'no place'}\n", "must contain {text}"),
        ("preprocessing: {template: '{text} {mood}'}\n", "must contain {text}"),
        ("preprocessing: {remove: [answer]}\n", "has 'answer'"),
        ("preprocessing: {escape: rot13}\n", "preprocessing.escape is 'rot13'"),
        ("batching: {delay: -1}\n", "must be at least 0"),
        ("search: {limits: 3}\n", "search.limits is not a known key"),
    ],
)
def test_a_wrong_value_is_named_with_file_and_line(more: str, said: str) -> None:
    benchmark(more)
    done = run("eval", "-b", "team", "-p", "bm25")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split()), done.output
    assert "team.yaml:" in done.output


def test_a_run_of_an_older_version_whose_file_lacked_these_keys_can_be_resumed() -> None:
    benchmark("")
    assert run("eval", "-b", "team", "-p", "bm25", "--run-id", "r").exit_code == 0
    with RunStore(memeval.ResultsDir(Path("results")).find("r") / "run.db") as store:
        kept = {
            key: value for key, value in store.meta("benchmark_spec").items() if key not in ("chunking", "search", "batching")
        }
        store.set_meta("benchmark_spec", json.loads(json.dumps(kept)))
        settings = store.meta("settings")
        del settings["threshold"]
        store.set_meta("settings", settings)
    done = run("eval", "--resume", "r")
    assert done.exit_code == 0, done.output
