from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.config import Settings
from memoryd.core.errors import ConfigError
from memoryd.language.stems import is_foreign, stem
from memoryd.retrieval import KeyMatcher, Overlap, item_terms, load_model, overlap_of, query_terms, sense_weights, term_weights

MEMORIES = (
    "Telemetry is enabled by default; users opt out with --no-telemetry.",
    "The user prefers pnpm over npm for every package.",
    "Login failed because the token cache kept an expired key; restart the API to clear it.",
    "数据库迁移必须先备份。",
    "Миграции базы данных запускаются вручную.",
)


def frequency(stems: list[frozenset[str]]) -> Callable[[str], int]:
    return lambda word: sum(stem(word) in terms for terms in stems)


def best(query: str, memories: tuple[str, ...] = MEMORIES) -> tuple[int, float]:
    """Return the position and estimate of the best memory, from words alone."""
    stems = [item_terms(text) for text in memories]
    weights = term_weights(query, frequency(stems), len(stems))
    model, foreign = load_model(), is_foreign(query)
    estimates = [model.estimate(overlap_of(weights, terms), foreign=foreign) for terms in stems]
    return max(range(len(estimates)), key=estimates.__getitem__), max(estimates)


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("Is telemetry enabled?", 0),
        ("Which package manager does the user prefer, npm or pnpm?", 1),
        ("why did the login fail with an expired token", 2),
        ("数据库迁移要备份吗？", 3),
        ("Как запускать миграции базы?", 4),
    ],
)
def test_words_alone_find_the_answer_in_any_language(query: str, position: int) -> None:
    found, estimate = best(query)
    assert found == position and estimate >= 0.5


@pytest.mark.parametrize(
    "query",
    ["zebra quantum cheesecake", "what is my favourite pizza topping?", "", "???", "今天天气怎么样", "какая завтра погода"],
)
def test_nonsense_and_the_unknown_stay_below_the_floor(query: str) -> None:
    assert best(query)[1] < 0.5


def test_a_long_prompt_does_not_pass_on_two_stray_words() -> None:
    prompt = " ".join(f"topic{i} detail{i}" for i in range(30)) + " login restart"
    assert best(prompt)[1] < 0.5


def test_a_store_with_one_memory_answers_too() -> None:
    assert best("Is telemetry enabled by default?", MEMORIES[:1])[1] >= 0.5


def test_rare_words_weigh_more_than_common_ones() -> None:
    weights = term_weights("telemetry package", lambda word: 900 if word == "package" else 1, 1000)
    assert weights["telemetry"] > 3 * weights["packag"]
    assert all(0 < weight <= 1 for weight in weights.values())


def test_meaning_decides_where_there_is_a_cosine_unless_the_script_is_foreign() -> None:
    model = load_model()
    none, some = Overlap(0.0, 0.0), Overlap(0.6, 1.8)
    assert model.estimate(none, 0.80) >= 0.5 > model.estimate(none, 0.60)
    assert model.estimate(some, 0.65) > model.estimate(none, 0.65)
    assert model.estimate(none, 0.85, foreign=True) == model.estimate(none) == 0.0


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 4), st.floats(0, 0.2))
def test_more_of_anything_never_lowers_the_estimate(cosine: float, coverage: float, matches: float, more: float) -> None:
    model = load_model()
    here = model.estimate(Overlap(coverage, matches), cosine)
    assert 0 <= here <= 1
    assert model.estimate(Overlap(coverage, matches), cosine + more) >= here
    assert model.estimate(Overlap(coverage + more, matches), cosine) >= here
    assert model.estimate(Overlap(coverage, matches + more), cosine) >= here


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_texts_give_an_overlap_from_0_to_1(query: str, item: str) -> None:
    weights = term_weights(query, lambda word: 1, 3)
    overlap = overlap_of(weights, item_terms(item))
    assert 0 <= overlap.coverage <= 1 <= overlap.matches + 1


def test_inflected_words_share_a_stem() -> None:
    for words in (("hook", "hooks"), ("installed", "installs", "installing"), ("миграция", "миграции")):
        assert len({stem(word) for word in words}) == 1
    assert list(query_terms("How is the hook installed? The hooks!")) == [stem("hook"), stem("installed")]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 99}', '{"format": 1, "version": "1", "embedder": "x", "meaning": 3}']
)
def test_a_broken_weights_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "relevance.json"
    path.write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=r"relevance\.json"):
        load_model(path)


def test_the_weights_are_those_of_the_bundled_embedder(tmp_path: Path) -> None:
    from memoryd.embed import make_embedder

    model = load_model()
    assert model.knows(make_embedder(Settings(tmp_path)).name)
    assert not model.knows("hash-64")


def by_keys(
    query: str,
    keys: tuple[str, ...],
    statement: str = "",
    cosines: tuple[float, ...] = (),
    translated: tuple[float, ...] = (),
) -> float:
    """Return the estimate for one memory with keys among a few others."""
    stems = [*map(item_terms, MEMORIES), item_terms("\n".join((statement, *keys)))]
    weights = term_weights(query, frequency(stems), len(stems))
    matcher = KeyMatcher(query, weights, sense_weights(query, frequency(stems), len(stems)))
    return load_model().estimate_by_keys(matcher.match(item_terms(statement), keys, cosines, translated))


@pytest.mark.parametrize(
    ("keys", "near", "far"),
    [
        (("备份文件保存在哪个目录？", "如何恢复数据库备份"), "数据库的备份保存在哪里？", "数据库的管理员是谁？"),
        (
            ("где хранятся резервные копии?", "восстановить базу из копии"),
            "где у нас хранятся копии базы?",
            "кто отвечает за базу?",
        ),
        (
            ("バックアップの保存先はどこ？", "データベースを復元する"),
            "データベースのバックアップの保存先は？",
            "データベースの管理者は誰？",
        ),
        (
            ("백업 파일은 어디에 저장돼?", "데이터베이스 복원 방법"),
            "데이터베이스 백업은 어디에 저장돼?",
            "데이터베이스 담당자가 누구야?",
        ),
    ],
)
def test_a_script_that_the_embedder_does_not_know_is_matched_with_keys_in_it(keys: tuple[str, ...], near: str, far: str) -> None:
    assert (
        by_keys(near, keys) > max(0.6, by_keys(far, keys)) and by_keys("今天天气怎么样，какая погода, 오늘 날씨 어때", keys) < 0.5
    )


def test_another_language_is_judged_by_what_it_says_in_english() -> None:
    keys = ("where are the backups kept?", "restore the database")
    near, far = ((0.8, 0.75), (0.5, 0.45))
    for query in ("где лежат копии?", "wo liegen die Sicherungen?"):
        assert by_keys(query, keys, translated=near) >= 0.6 > 0.5 > by_keys(query, keys, translated=far)


def test_a_word_of_another_language_may_say_any_of_its_senses() -> None:
    keys = ("which invoice was sent twice?", "send the bill again")
    near, far = (
        by_keys(query, keys, translated=(0.75, 0.7))
        for query in ("welche Rechnung wurde doppelt verschickt?", "welcher Drucker wurde doppelt bestellt?")
    )
    assert near > far


def test_a_figure_that_a_memory_lacks_counts_against_it() -> None:
    keys = ("which cache does the gateway use?", "where does the gateway cache its answers?")
    asked = "How many seconds does the gateway cache answers?"
    without, with_it = (by_keys(asked, keys, statement, cosines=(0.8, 0.75)) for statement in ("", "for 30 seconds"))
    assert without < with_it


def test_a_prompt_that_tells_a_story_must_be_closer_to_a_memory() -> None:
    weights = {"gateway": 1.0, "cache": 1.0}
    match = KeyMatcher("Why does the gateway cache?", weights).match(frozenset(), ("where is the gateway cache?",), (0.75, 0.7))
    model = load_model()
    assert model.estimate_by_keys(replace(match, long=True)) < model.estimate_by_keys(match)


def test_what_a_memory_lacks_of_a_question_counts_against_it() -> None:
    keys = ("which port does the gateway use?", "gateway port")
    whole, lacking = (by_keys(f"which port does the gateway {end}?", keys, cosines=(0.8, 0.75)) for end in ("use", "invoice"))
    assert whole > lacking


def test_words_alone_match_a_question_with_the_keys_it_resembles() -> None:
    keys = ("which engine draws the slides?", "make a presentation")
    assert by_keys("which engine draws our slides?", keys) > 0.5 > by_keys("who pays for the slides of the sales team?", keys)


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=4), st.booleans())
def test_any_query_and_keys_give_a_likelihood(query: str, keys: list[str], embedded: bool) -> None:
    assert 0.0 <= by_keys(query, tuple(keys), cosines=tuple(0.5 for _ in keys) if embedded else ()) <= 1.0


def test_two_near_keys_of_two_say_as_much_as_the_two_nearest_of_four() -> None:
    four = ("which port does the gateway use?", "gateway port", "open the gateway to clients", "gateway address")
    asked = "which number does the proxy listen on?"
    assert by_keys(asked, four, cosines=(0.8, 0.75, 0.6, 0.5)) < by_keys(asked, four, cosines=(0.8, 0.75)) < 1.0
