from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.types import CHECK_TAG, Evidence
from memoryd.dream.stages import SKETCH_SIZE, similarity, sketch_of
from memoryd.recall.prompt_block import item_line
from memoryd.service import Orchestrator
from tests.memoryd.dream.sweeping import CODE, World, decay, item, planned, sweep_of


def about(store: Orchestrator, path: str = "src/app.py") -> str:
    return store.write(item(f"{path} holds the handlers.", evidence=Evidence(commit="a" * 40, paths=(path,))))


def night(world: World, *changes: object) -> None:
    sweep_of(*world, planned(changes)).run("nightly")  # type: ignore[arg-type]


def test_a_file_that_changes_a_lot_marks_the_memory_until_it_fits_again(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    night(world)
    assert CHECK_TAG not in store.require(id).tags

    code.write_text(CODE.replace("function", "handler").replace("return", "yield"))
    night(world)
    assert CHECK_TAG in store.require(id).tags
    assert item_line(store.require(id)).endswith("(check: file changed)")
    marked = store.require(id)
    night(world)
    assert store.require(id) == marked

    code.write_text(CODE)
    night(world)
    assert store.require(id).tags == ()


def test_a_small_change_marks_nothing(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    night(world)
    for number in range(5):
        code.write_text(CODE + f"print({number})\n")
        night(world)
    assert store.require(id).tags == ()


def test_a_file_that_is_gone_marks_the_memory_and_keeps_it(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    night(world)
    code.unlink()
    night(world)
    assert CHECK_TAG in store.require(id).tags
    assert world[1].ledger.anchors()[id]["src/app.py"].marked
    code.write_text(CODE)
    night(world)
    assert store.require(id).tags == ()


def test_a_project_that_is_away_says_nothing_about_its_files(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    night(world)
    code.parents[1].rename(code.parents[2] / "elsewhere")
    night(world)
    assert store.require(id).tags == ()


def test_what_never_was_a_file_is_not_an_anchor(world: World, code: Path) -> None:
    store = world[0]
    id = about(store, "and/or")
    night(world)
    night(world)
    assert store.require(id).tags == ()
    assert id not in world[1].ledger.anchors()


def test_a_mark_goes_along_with_another_change_of_the_memory(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    night(world)
    code.unlink()
    night(world, decay(store, id))
    assert (store.require(id).relevancy, store.require(id).tags) == (0.5, (CHECK_TAG,))


def test_the_users_own_tag_stays(world: World, code: Path) -> None:
    store = world[0]
    id = about(store)
    store.update(id, tags=(CHECK_TAG,))
    night(world)
    night(world)
    assert store.require(id).tags == (CHECK_TAG,)


def test_large_files_are_compared_by_size(world: World, code: Path) -> None:
    store = world[0]
    code.write_bytes(b"x\n" * 600_000)
    id = about(store)
    night(world)
    code.write_bytes(b"y\n" * 590_000)
    night(world)
    assert store.require(id).tags == ()
    code.write_bytes(b"y\n" * 2_000_000)
    night(world)
    assert store.require(id).tags == (CHECK_TAG,)


@given(st.sets(st.integers(0, 300)), st.sets(st.integers(0, 300)))
def test_similarity_is_symmetric_and_of_itself_one(a: set[int], b: set[int]) -> None:
    left, right = (sketch_of("\n".join(map(str, sorted(lines))).encode()) for lines in (a, b))
    assert similarity(left, left) == 1.0
    assert similarity(left, right) == similarity(right, left)
    if len(a | b) <= SKETCH_SIZE and a | b:
        assert similarity(left, right) == pytest.approx(len(a & b) / len(a | b))
