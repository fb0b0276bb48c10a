from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memeval.core.errors import ConfigError, ProviderError
from memeval.core.protocols import Model
from memeval.core.types import Case, Question, QuestionType, SearchRequest, Session, Turn
from memeval.providers import memoryd as memoryd_provider
from memeval.providers.aqrag import AqragProvider, anticipate
from memeval.providers.contextual_retrieval import ContextualRetrievalProvider
from memeval.providers.local import SessionStore
from memeval.providers.memoryd import MemorydProvider
from memeval.providers.retrieval import Bm25, best, cut, z_scores
from memeval.providers.working_memory import WorkingMemoryProvider
from memoryd.core.types import USER_TAG, Completion, Message
from memoryd.core.types import Completion as Written
from tests.memeval.providers.material import EMBEDDING, START, garden, make, session

TOMATOES = SearchRequest("tomatoes in the garden", 3)


class Scribe(Model):
    """A model that answers by a fixed rule and counts its calls."""

    name = "scribe"

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def complete(self, messages: Any, *, schema: Any = None, max_tokens: int | None = None) -> Completion:
        text: Message = messages[-1]
        self.asked.append(text.content)
        return Completion(self.answer.replace("{text}", text.content[-30:]), self.name)


def opened(name: str, workdir: Path, options: dict[str, Any] | None = None) -> Any:
    provider = make(name, options)
    provider.open(workdir)
    return provider


# Pieces


def test_sessions_are_cut_into_rounds_that_start_with_the_user() -> None:
    turns = [("assistant", "hello"), ("user", "a"), ("user", "b"), ("assistant", "c"), ("assistant", "d"), ("user", "e")]
    made = tuple(Turn(str(number), role, text) for number, (role, text) in enumerate(turns))
    assert [piece.turns for piece in cut([Session("s", made)], "round")] == [("0",), ("1", "2", "3", "4"), ("5",)]
    assert [piece.turns for piece in cut([Session("s", made)], "session")] == [("0", "1", "2", "3", "4", "5")]
    assert len(cut([Session("s", made)], "turn")) == 6


def test_blank_turns_are_no_pieces_and_unknown_granularities_an_error() -> None:
    blank = Session("s", (Turn("1", "user", " \n"), Turn("2", "assistant", "x")))
    assert [piece.turns for piece in cut([blank], "turn")] == [("2",)]
    assert [piece.order for piece in cut([blank, blank], "round")] == [0, 1]
    with pytest.raises(ConfigError, match="paragraph"):
        cut([blank], "paragraph")


def test_a_piece_shows_date_and_speaker() -> None:
    (piece,) = cut([session("s", "Hello.", speaker="Ada")], "turn")
    assert piece.text == "[2023-05-01 09:00]\nAda: Hello."
    assert piece.key == "Ada: Hello."


def test_source_ids_and_metadata_are_not_kept(tmp_path: Path) -> None:
    result = Session("s", (Turn("1", "user", "x", metadata={"has_answer": True}),), START, "answer_1")
    store = SessionStore(tmp_path)
    store.add("one", [result])
    raw = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"has_answer" not in raw
    assert b"answer_1" not in raw
    assert store.all("one") == [Session("s", (Turn("1", "user", "x"),), START)]


def test_scopes_with_similar_names_have_folders_of_their_own(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    folders = {store.folder(scope) for scope in ("a/b", "a b", "a-b", "../a-b", "A-B", "x" * 300, "x" * 301)}
    assert len(folders) == 7
    assert all(folder.parent == tmp_path for folder in folders)


# Ranking


def test_bm25_is_what_the_formula_says() -> None:
    index = Bm25(["red apple", "green apple apple", "blue sky over the sea"], 1.2, 0.75)
    lengths, mean = (2, 3, 5), 10 / 3
    idf = np.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    first = idf * 2.2 / (1 + 1.2 * (0.25 + 0.75 * lengths[0] / mean))
    second = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * lengths[1] / mean))
    assert index.scores("apples") == pytest.approx([first, second, 0.0])


def test_bm25_of_nothing_and_of_function_words_works() -> None:
    assert Bm25([]).scores("x").shape == (0,)
    assert Bm25(["", ""]).scores("x").tolist() == [0, 0]
    assert Bm25(["to be", "sea"]).scores("to be")[0] > 0


@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.integers(0, 40))
def test_the_best_come_first_and_equal_ones_by_place(values: list[float], k: int) -> None:
    ranked = best(np.array(values), k)
    assert len(ranked) == min(k, len(values))
    assert ranked == sorted(ranked, key=lambda pair: (-pair[1], pair[0]))


def test_z_scores_of_equal_values_are_zero() -> None:
    assert z_scores(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert z_scores(np.array([0.0, 2.0])).tolist() == [-1, 1]


# Options


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("bm25", {"k2": 1}, ["k2", "Did you mean k1"]),
        ("bm25", {"b": "x"}, ["options.b", "a number"]),
        ("full-context", {"maxTokens": -1}, ["maxTokens", "integer"]),
        ("memoryd", {"unit": "session"}, ["unit", "turn"]),
        ("semantic-recall", {**EMBEDDING, "scope": "world"}, ["resource", "thread"]),
        ("semantic-recall", {**EMBEDDING, "messageRange": {"before": -1}}, ["messageRange"]),
        ("combined", {"parts": [{"name": "x"}]}, ["parts"]),
        ("combined", {"parts": []}, ["at least one"]),
        ("combined", {"parts": [{"provider": "bm52"}]}, ["bm25"]),
    ],
)
def test_wrong_options_are_named(name: str, options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        make(name, options)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("name", ["dense", "memoryd"])
def test_an_unknown_embedder_is_an_error_with_the_known_ones(name: str) -> None:
    options = {"settings": {"embedder": "nope"}} if name == "memoryd" else {"embedder": "nope"}
    with pytest.raises(ProviderError, match="bge-small"):
        make(name, options)


def test_a_provider_that_is_not_open_says_so() -> None:
    with pytest.raises(ProviderError, match="not open"):
        make("bm25").search("one", TOMATOES)


# The systems


def test_full_context_keeps_the_newest_that_fit(tmp_path: Path) -> None:
    provider = opened("full-context", tmp_path, {"maxTokens": 90})
    provider.ingest("one", garden())
    (piece,) = provider.search("one", TOMATOES)
    assert piece.sessions == ("s2", "s3")
    assert piece.text.index("bicycle") < piece.text.index("nurse")


def test_last_k_gives_the_newest_first(tmp_path: Path) -> None:
    provider = opened("last-k", tmp_path, {"last": 2})
    provider.ingest("one", garden())
    assert [piece.turns for piece in provider.search("one", replace(TOMATOES, k=9))] == [("s3-3",), ("s3-2",)]


def test_the_oracle_gives_the_evidence_and_nothing_else(tmp_path: Path) -> None:
    provider = opened("oracle", tmp_path)
    provider.ingest("one", garden())
    questions = (
        Question("1", "turns", QuestionType.MULTI_HOP, evidence_sessions=("s1", "s2"), evidence_turns=("s1-2", "s2-0")),
        Question("2", "sessions", QuestionType.MULTI_HOP, evidence_sessions=("s2",)),
        Question("3", "nothing", QuestionType.ABSTENTION),
    )
    assert provider.search("one", TOMATOES) == []
    provider.use_gold("one", Case("one", tuple(garden()), questions))
    found = {q.text: [p.turns for p in provider.search("one", SearchRequest(q.text, 9))] for q in questions}
    assert found == {"turns": [("s1-2",), ("s2-0",)], "sessions": [("s2-0",), ("s2-1",)], "nothing": []}


def test_semantic_recall_gives_windows_that_do_not_overlap(tmp_path: Path) -> None:
    provider = opened("semantic-recall", tmp_path, {**EMBEDDING, "messageRange": {"before": 1, "after": 0}, "topK": 2})
    provider.ingest("one", garden())
    found = provider.search("one", SearchRequest("I like basil beside them.", 9))
    assert found[0].turns == ("s1-1", "s1-2")
    assert len(found) <= 2
    result = [turn for piece in found for turn in piece.turns]
    assert len(result) == len(set(result))


def test_semantic_recall_of_the_thread_stays_in_the_newest_session(tmp_path: Path) -> None:
    provider = opened("semantic-recall", tmp_path, {**EMBEDDING, "scope": "thread"})
    provider.ingest("one", garden())
    assert {id for piece in provider.search("one", TOMATOES) for id in piece.sessions} == {"s3"}


def test_working_memory_files_what_the_user_says_of_themselves(tmp_path: Path) -> None:
    provider = opened("working-memory", tmp_path)
    provider.ingest("one", garden())
    (page,) = provider.search("one", TOMATOES)
    lines = page.text.splitlines()
    work = lines.index("- Work and study:")
    assert lines[work + 1] == "  - 2023-05-10 I work as a nurse in Bergen."
    assert "Night shifts" not in page.text
    assert set(page.sessions) == {"s1", "s2", "s3"}


def test_a_model_keeps_the_page_and_is_not_asked_again_for_a_session(tmp_path: Path) -> None:
    provider, scribe = opened("working-memory", tmp_path), Scribe("page after: {text}")
    assert isinstance(provider, WorkingMemoryProvider)
    provider.use_model(scribe)
    provider.ingest("one", garden()[:2])
    provider.await_indexed("one", 60)
    provider.ingest("one", garden()[2:])
    provider.await_indexed("one", 60)
    assert len(scribe.asked) == 3
    assert "page after" in scribe.asked[2]
    assert provider.search("one", TOMATOES)[0].text.endswith("It rains a lot.")


def test_an_empty_answer_of_a_model_is_an_error_and_keeps_the_page(tmp_path: Path) -> None:
    provider = opened("working-memory", tmp_path)
    provider.use_model(Scribe("the page"))
    provider.ingest("one", garden()[:1])
    provider.await_indexed("one", 60)
    provider.use_model(Scribe("  "))
    provider.ingest("one", garden())
    with pytest.raises(ProviderError, match="empty answer"):
        provider.await_indexed("one", 60)
    provider.use_model(Scribe("next"))
    assert provider.search("one", TOMATOES)[0].text == "next"


def test_combined_takes_turns_between_its_parts(tmp_path: Path) -> None:
    provider = opened("combined", tmp_path, {"parts": [{"provider": "last-k", "share": 2}, {"provider": "bm25"}]})
    provider.ingest("one", garden())
    found = [piece.turns[0] for piece in provider.search("one", replace(TOMATOES, k=4))]
    assert found[:2] == ["s3-3", "s3-2"]
    assert found[2] in ("s1-0", "s1-1")
    assert len(set(found)) == 4


def test_questions_are_anticipated_from_what_was_said() -> None:
    (piece,) = cut([session("s", "I bought a red bicycle for Anna last Tuesday. Yes!", speaker="Ada")], "turn")
    assert anticipate(piece, 2) == ["When did Ada say about bought red bicycle anna last tuesday?"]
    (short,) = cut([session("s", "Ok.")], "turn")
    assert anticipate(short, 2) == []


def test_questions_of_a_model_are_kept_and_found(tmp_path: Path) -> None:
    provider, scribe = opened("aqrag", tmp_path, EMBEDDING), Scribe(json.dumps(["Which vehicle has Anna?", " "]))
    assert isinstance(provider, AqragProvider)
    provider.use_model(scribe)
    provider.ingest("one", garden()[1:2])
    provider.await_indexed("one", 60)
    provider.search("one", TOMATOES)
    assert len(scribe.asked) == 2
    again = opened("aqrag", tmp_path, EMBEDDING)
    again.use_model(Scribe("[]"))
    assert again.search("one", TOMATOES) == provider.search("one", TOMATOES)


def test_a_model_that_gives_no_list_is_an_error(tmp_path: Path) -> None:
    provider = opened("aqrag", tmp_path, EMBEDDING)
    provider.use_model(Scribe("I can't do that."))
    provider.ingest("one", garden())
    with pytest.raises(ProviderError, match="no JSON list"):
        provider.await_indexed("one", 60)


def test_contexts_of_a_model_are_written_once_and_make_turns_findable(tmp_path: Path) -> None:
    provider, scribe = opened("contextual-retrieval", tmp_path, EMBEDDING), Scribe("About zeppelins.")
    assert isinstance(provider, ContextualRetrievalProvider)
    provider.use_model(scribe)
    provider.ingest("one", garden()[:1])
    provider.await_indexed("one", 60)
    found = provider.search("one", SearchRequest("zeppelins", 2))
    assert len(scribe.asked) == 4
    assert "zeppelins" not in found[0].text


def test_memoryd_remembers_each_turn_as_a_memory_of_its_time(tmp_path: Path) -> None:
    provider = opened("memoryd", tmp_path, {"settings": {"embedder": "hash"}, "keyExpansion": True})
    assert isinstance(provider, MemorydProvider)
    provider.ingest("one", garden()[:1])
    files = sorted(path.read_text() for path in provider.store.folder("one").rglob("*mem_*.md"))
    assert len(files) == 4
    assert any("Good idea.\n(after: I like basil beside them.)" in text for text in files)
    assert all("2023-05-01T09:00:00" in text and "session: s1" in text for text in files)
    provider.close()


def test_memoryd_lets_a_model_write_keys_for_each_memory_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Writer:
        name = "writer"

        def complete(self, messages: Any, schema: Any = None) -> Written:
            asked.append(messages[-1].content)
            count = messages[-1].content.count('"statement"')
            return Written(json.dumps({"keys": [{"n": n + 1, "asked_as": ["airships?"]} for n in range(count)]}))

    monkeypatch.setattr(memoryd_provider, "make_llm", lambda settings, name: Writer())
    provider = opened("memoryd", tmp_path, {"settings": {"embedder": "hash"}, "keyExpansion": "question"})
    provider.ingest("one", garden()[:1])
    provider.ingest("one", garden()[:1])
    assert len(asked) == 1
    found = provider.search("one", SearchRequest("airships", 9))
    assert len(found) == 4
    provider.close()
    with pytest.raises(ConfigError):
        opened("memoryd", tmp_path, {"keyExpansion": "other"})


def test_memoryd_gets_what_the_user_of_a_chat_said_and_nothing_of_people_with_names(tmp_path: Path) -> None:
    chat = Session("s1", (Turn("s1:1", "user", "I grow basil."), Turn("s1:2", "assistant", "Lovely.")))
    talk = Session("s2", (Turn("s2:1", "user", "Hello.", speaker="Maya"), Turn("s2:2", "assistant", "Hi.", speaker="Jo")))
    provider = opened("memoryd", tmp_path, {"settings": {"embedder": "hash"}})
    assert isinstance(provider, MemorydProvider)
    provider.ingest("one", [chat, talk])
    files = [path.read_text() for path in provider.store.folder("one").rglob("*mem_*.md")]
    assert [text.endswith("I grow basil.\n") for text in files if USER_TAG in text] == [True]
    provider.close()


def test_memoryd_with_other_settings_ranks_by_words_alone(tmp_path: Path) -> None:
    provider = opened("memoryd", tmp_path, {"settings": {"rank": "bm25"}})
    provider.ingest("one", garden())
    assert provider.search("one", TOMATOES)[0].sessions == ("s1",)
    provider.close()


def test_memoryd_closes_scopes_that_are_not_used_and_opens_them_again(tmp_path: Path) -> None:
    provider = opened("memoryd", tmp_path, {"settings": {"embedder": "hash"}})
    for number in range(7):
        provider.ingest(f"scope {number}", garden())
    for number in range(7):
        provider.await_indexed(f"scope {number}", 60)
        assert provider.search(f"scope {number}", TOMATOES)
    provider.close()


# Work that grows with what is new, not with what exists


class CountingEmbedder:
    """Counts the embedded texts."""

    name = "counting"

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Any:
        return self.inner.embed_query(text)


def many(count: int) -> list[Session]:
    return [session(f"b{n}", f"I planted bush number {n} beside the shed.", f"Fine, bush {n} it is.") for n in range(count)]


@pytest.mark.parametrize("name", ["dense", "aqrag", "contextual-retrieval"])
def test_a_new_session_costs_the_same_however_many_there_are(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = opened(name, tmp_path, EMBEDDING)
    provider.embedder = CountingEmbedder(provider.embedder)
    read: list[int] = []
    monkeypatch.setattr(SessionStore, "all", lambda self, scope, real=SessionStore.all: read.append(1) or real(self, scope))
    costs = []
    for result in many(12):
        before, reads = len(provider.embedder.texts), len(read)
        provider.ingest("one", [result])
        provider.await_indexed("one", 60)
        costs.append((len(provider.embedder.texts) - before, len(read) - reads))
    assert set(costs[1:]) == {costs[-1]}
    assert costs[-1][1] == 0  # The existing sessions are not read again.
    before = len(provider.embedder.texts)
    provider.search("one", TOMATOES)
    assert len(provider.embedder.texts) == before


@pytest.mark.parametrize("name", ["aqrag", "contextual-retrieval"])
def test_batches_and_a_restart_between_them_change_nothing(tmp_path: Path, name: str) -> None:
    def found(folder: str, batches: list[list[Session]], *, restart: bool) -> Any:
        provider = opened(name, tmp_path / folder, EMBEDDING)
        for batch in batches:
            provider.ingest("one", batch)
            provider.await_indexed("one", 60)
            if restart:
                provider.close()
                provider = opened(name, tmp_path / folder, EMBEDDING)
        return provider.search("one", replace(TOMATOES, k=50))

    sessions = [*garden(), *many(5)]
    whole = found("whole", [sessions], restart=False)
    assert whole == found("single", [[result] for result in sessions], restart=False)
    assert whole == found("restarted", [[result] for result in sessions], restart=True)


def test_what_a_model_failed_at_is_done_at_the_next_call(tmp_path: Path) -> None:
    provider = opened("aqrag", tmp_path, EMBEDDING)
    provider.use_model(Scribe("no list"))
    provider.ingest("one", garden()[:1])
    with pytest.raises(ProviderError):
        provider.await_indexed("one", 60)
    scribe = Scribe('["What grows?"]')
    provider.use_model(scribe)
    provider.await_indexed("one", 60)
    assert len(scribe.asked) == 4
