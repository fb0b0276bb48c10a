from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memeval.benchmarks import reading
from memeval.benchmarks.reading import iter_records, load_json, sha256
from memeval.core.errors import DataError

texts = st.text(alphabet=st.sampled_from('ab"\\{}[],: \n\u00e9\u2028😀'), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)
records = st.lists(st.dictionaries(texts, values, max_size=3) | st.lists(values, max_size=3), max_size=5)


def in_pieces(monkeypatch_size: int, path: Path) -> list[Any]:
    before = reading.CHUNK
    reading.CHUNK = monkeypatch_size
    try:
        return list(iter_records(path))
    finally:
        reading.CHUNK = before


@settings(max_examples=150, deadline=None)
@given(records, st.sampled_from([None, 1, 4]), st.booleans(), st.integers(1, 40))
def test_an_array_is_cut_into_its_elements_wherever_the_pieces_end(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], indent: int | None, ascii_only: bool, size: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "data.json"
    path.write_text(json.dumps(data, indent=indent, ensure_ascii=ascii_only), encoding="utf-8")
    assert in_pieces(size, path) == data


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(texts, values, max_size=3), min_size=1, max_size=4), st.sampled_from([None, 2]))
def test_objects_without_an_array_around_them_are_records_too(
    tmp_path_factory: pytest.TempPathFactory, data: list[Any], indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("cut") / "data.json"
    path.write_text("\n".join(json.dumps(item, indent=indent) for item in data), encoding="utf-8")
    assert in_pieces(7, path) == data


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl", "a.jsonl.gz"])
def test_all_endings_give_the_same_records(tmp_path: Path, name: str) -> None:
    data = [{"n": 1, "t": "a\nb"}, {"n": 2}]
    text = "\n".join(map(json.dumps, data)) + "\n\n" if ".jsonl" in name else json.dumps(data)
    body = ("\ufeff" + text).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(body) if name.endswith(".gz") else body)
    assert list(iter_records(path)) == data


def test_what_strict_json_refuses_but_data_sets_hold_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"x": NaN, "t": "half \\ud83d pair"}]')
    (record,) = iter_records(path)
    assert record["x"] != record["x"]
    assert record["t"].encode("utf-8") and record["t"].startswith("half \ufffd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": 1}, {"a": tru}]', "record 2: not valid JSON"),
        ('[{"a": 1}, {"a": [1, 2}', "ends inside record 2"),
        ('[{"a": 1}, {"a": "b', "ends inside record 2"),
        ('[{"a": 1} x {"a": 2}]', "before record 2: 'x"),
        ('[{"a": 1}] {"a": 2}', "before record 2"),
        ('[{"a": 1}]]', "before record 2"),
        ("[1, 2]", "before record 1: '1, 2"),
        ("<!doctype html><html></html>", "no JSON records"),
        ("", "no JSON records"),
    ],
)
def test_a_broken_file_is_reported_with_name_and_record(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(DataError, match="broken.json") as error:
        list(iter_records(path))
    assert expected in str(error.value) and error.value.fix


def test_a_broken_line_is_reported_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": \n')
    with pytest.raises(DataError, match="line 3"):
        list(iter_records(path))


def test_a_cut_off_archive_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(json.dumps([{"a": "x" * 5000}]).encode())[:-20])
    with pytest.raises(DataError, match="truncated or damaged"):
        list(iter_records(path))
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="truncated or damaged"):
        load_json(path)


def test_a_bracket_that_is_never_closed_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_RECORD", 1 << 16)
    monkeypatch.setattr(reading, "CHUNK", 1 << 12)
    path = tmp_path / "a.json"
    path.write_text('[{"a": "' + "x" * (1 << 18))
    with pytest.raises(DataError, match="probably not closed"):
        list(iter_records(path))


def test_a_file_that_is_missing_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can't be read"):
        list(iter_records(tmp_path / "none.json"))


def test_the_hash_depends_on_bytes_and_names_and_not_on_the_place(tmp_path: Path) -> None:
    hashes = []
    for folder, text in (("one", "x"), ("two", "x"), ("three", "y")):
        path = tmp_path / folder / "sub" / "a.json"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        hashes.append(sha256([path], tmp_path / folder))
    assert hashes[0] == hashes[1] != hashes[2]


MEASURE = """
import resource, sys
from pathlib import Path
from memeval.benchmarks.opening import open_benchmark
from memeval.registry import BUILT_IN
from memeval.specs import load_benchmark_spec
spec = load_benchmark_spec(BUILT_IN / "benchmarks" / "longmemeval-m.yaml")
benchmark = open_benchmark(spec, Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for case in benchmark.cases())
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_file_of_300_megabytes_is_read_in_the_memory_of_a_few_records(tmp_path: Path) -> None:
    path = tmp_path / "longmemeval_m_cleaned.json"
    turns = [{"role": role, "content": 'A "quoted" line\nwith {brackets} ' * 30} for role in ("user", "assistant") * 5]
    with path.open("w") as file:
        number = 0
        file.write("[")
        while file.tell() < 300e6:
            record = {
                "question_id": f"q{number}",
                "question_type": "multi-session",
                "question": "Where?",
                "answer": 3,
                "question_date": "2023/05/30 (Tue) 23:40",
                "answer_session_ids": ["answer_1"],
                "haystack_session_ids": ["answer_1", *(f"s{index}" for index in range(499))],
                "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 500,
                "haystack_sessions": [turns] * 500,
            }
            file.write((",\n" if number else "") + json.dumps(record))
            number += 1
        file.write("]")
    done = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, timeout=600, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == number
    assert megabytes < 80  # A record has 5 MB as bytes. Bytes, parsed value, fields and case exist for it and for the next one.
