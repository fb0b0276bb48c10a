from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.entities import MAX_LENGTH, find_entities, normalise_entity
from tests.costs import assert_linear


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Edit src/app/main.py, then ./setup.sh.", ("src/app/main.py", "./setup.sh")),
        ("Run `npm run build` first.", ("npm run build",)),
        ("It reads /etc/hosts and ~/.config/app and .env.", ("/etc/hosts", "~/.config/app", ".env")),
        (r"The log is C:\Users\bob\run.log.", (r"C:\Users\bob\run.log",)),
        ("see https://docs.example.com/a/b?c=1.", ("docs.example.com",)),
        ("it is at postgres://bob:pw@db.internal:5432/x", ("db.internal:5432",)),
        ("set FOO_BAR=1 and pass --local-dev", ("FOO_BAR", "--local-dev")),
        ("a TypeError, an ECONNREFUSED and HTTP 404", ("TypeError", "ECONNREFUSED", "HTTP 404")),
        ("call getStagedFiles() in worktree.Status() of py_module", ("getStagedFiles", "worktree.Status", "py_module")),
        ("pinned to react@18.2.0 and numpy==1.26", ("react@18.2.0", "numpy==1.26")),
        ("use @scope/errors, ticket ENT-241, PR 757", ("@scope/errors", "ENT-241", "PR 757")),
        ("The user prefers Homebrew over MacPorts", ("Homebrew", "MacPorts")),
        ("数据库在 Docker 里，见 config.yaml。", ("Docker", "config.yaml")),
        ("База в PostgreSQL, файл main.go.", ("PostgreSQL", "main.go")),
    ],
)
def test_names_of_each_sort_are_found_in_order(text: str, names: tuple[str, ...]) -> None:
    assert find_entities(text) == names


@pytest.mark.parametrize(
    "text", ["", "a plain sentence about nothing.", "and/or, I/O, 3/4 of it, e.g. this", "The Tests pass. Never stop"]
)
def test_ordinary_prose_has_no_names(text: str) -> None:
    assert find_entities(text) in ((), ("Tests",))


def test_a_name_counts_once_whatever_its_case_and_punctuation() -> None:
    assert find_entities("main.py, Main.py; (main.py).") == ("main.py",)


def test_the_limit_cuts_the_list_and_zero_gives_none() -> None:
    text = " ".join(f"file{i}.py" for i in range(50))
    assert len(find_entities(text)) == 12
    assert find_entities(text, 3) == ("file0.py", "file1.py", "file2.py")
    assert find_entities(text, 0) == find_entities(text, -1) == ()


@given(st.text(max_size=400))
def test_any_text_gives_short_distinct_normal_names(text: str) -> None:
    names = find_entities(text)
    assert len({name.casefold() for name in names}) == len(names) <= 12
    assert all(1 < len(name) <= MAX_LENGTH and normalise_entity(name) == name for name in names)


@given(st.lists(st.sampled_from(["a", "A", ".", "/", "_", "-", "`", "@", ":", " ", "1", "\\", "~", "E"]), max_size=200))
def test_pattern_like_text_is_harmless_and_the_order_is_stable(parts: list[str]) -> None:
    text = "".join(parts)
    assert find_entities(text) == find_entities(text)


@pytest.mark.parametrize("unit", ["a", "a_", "./", "A-", "aA", "a.b", "`", "/a", "http://a.", "A B ", "a@1."])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert_linear(find_entities, unit, 25_000)
