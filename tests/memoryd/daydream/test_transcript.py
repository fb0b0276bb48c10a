"""Reading a growing log: what is read, when, how often and with how much memory."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.core.errors import TranscriptError
from memoryd.core.state import Cursor
from memoryd.core.types import Turn, TurnKind
from memoryd.daydream.transcript import LogChunk, ReadLimits, read_all, read_transcript

from .log_lines import SESSION, Log, conversation, encode, write

LARGE = ReadLimits(tokens=10**9, bytes=10**9)


def texts(piece: LogChunk, kind: TurnKind = TurnKind.USER) -> list[str]:
    return [turn.text for turn in piece.turns if turn.kind is kind]


def read_on(path: Path, cursor: Cursor | None = None, **options: Any) -> LogChunk:
    return read_transcript(path, cursor or Cursor(str(path)), **options)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def test_a_log_is_read_in_order_with_lines_times_and_session(tmp_path: Path) -> None:
    piece = read_on(write(tmp_path / "a.jsonl", *conversation(1)))
    assert [turn.kind for turn in piece.turns] == [
        TurnKind.USER,
        TurnKind.TOOL_USE,
        TurnKind.TOOL_RESULT,
        TurnKind.ASSISTANT,
    ]
    assert [turn.line for turn in piece.turns] == [2, 3, 4, 5]
    assert piece.turns[0].at is not None
    assert piece.turns[0].at.isoformat() == "2026-03-01T10:00:01+00:00"
    assert (piece.session, piece.cwd, piece.more, piece.reset) == (SESSION, "/home/ann/shop", False, False)
    assert piece.cursor.line == 6
    assert piece.cursor.offset == (tmp_path / "a.jsonl").stat().st_size


def test_only_what_was_added_is_read_and_earlier_turns_come_as_context(tmp_path: Path) -> None:
    entries = conversation(3)
    path = write(tmp_path / "a.jsonl", *entries[:6])
    first = read_on(path)
    append(path, encode(*entries[6:]))
    second = read_on(path, first.cursor)
    assert [turn.line for turn in second.turns][0] == 8
    assert [turn.text for turn in second.context] == [t.text for t in first.turns if t.kind in ("user", "assistant")]
    assert not read_on(path, second.cursor).turns


def test_context_stays_small(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(40, size=30_000))
    cursors = [piece.cursor for piece in read_all(path)]
    assert max(len(cursor.context) for cursor in cursors) < 30_000


def test_a_line_still_being_written_is_left_and_read_when_it_is_whole(tmp_path: Path) -> None:
    data = encode(Log().user("Use tabs."))
    path = tmp_path / "a.jsonl"
    path.write_bytes(data[:60])
    first = read_on(path)
    assert (first.turns, first.cursor.offset) == ((), 0)
    append(path, data[60:-1])
    second = read_on(path, first.cursor)
    assert second.turns == ()
    append(path, b"\n")
    assert texts(read_on(path, second.cursor)) == ["Use tabs."]


def test_a_whole_last_line_without_an_end_is_read_when_nobody_writes_any_more(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(encode(Log().user("Use tabs."))[:-1])
    assert texts(read_on(path, final=True)) == ["Use tabs."]
    path.write_bytes(encode(Log().user("Use tabs."))[:-5])
    assert texts(read_on(path, final=True)) == []


@pytest.mark.parametrize("new", ["shorter", "other", "longer"])
def test_a_rewritten_log_is_read_again(tmp_path: Path, new: str) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(2))
    cursor = read_on(path).cursor
    log = Log()
    replacement = {
        "shorter": [log.user("Use tabs.")],
        "other": [log.user("Use tabs."), *conversation(2)],
        "longer": [log.user("Use tabs."), *conversation(5)],
    }[new]
    write(path, *replacement)
    piece = read_on(path, cursor)
    assert piece.reset
    assert texts(piece)[0] == "Use tabs."
    assert (piece.start, piece.turns[0].line) == (0, 1)
    assert not read_on(path, piece.cursor).reset


def test_an_emptied_log_starts_again(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(1))
    cursor = read_on(path).cursor
    path.write_bytes(b"")
    piece = read_on(path, cursor)
    assert (piece.reset, piece.cursor.offset, piece.turns) == (True, 0, ())


@pytest.mark.parametrize("context", ["{", "[]", '{"v":99}', '{"v":1}', "null"])
def test_a_damaged_cursor_starts_again(tmp_path: Path, context: str) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(1))
    done = read_on(path).cursor
    piece = read_on(path, Cursor(done.transcript, done.session, done.offset, done.line, done.fingerprint, context))
    assert piece.reset
    assert len(piece.turns) == 4


def test_a_missing_log_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match=r"gone\.jsonl"):
        read_on(tmp_path / "gone.jsonl")
    with pytest.raises(TranscriptError):
        read_on(tmp_path)


def test_a_piece_ends_at_its_token_limit_and_says_that_there_is_more(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(20, size=2_000))
    limits = ReadLimits(tokens=1_000)
    pieces = list(read_all(path, limits=limits))
    assert len(pieces) > 5
    assert all(piece.more for piece in pieces[:-1])
    assert not pieces[-1].more
    together = [turn for piece in pieces for turn in piece.turns]
    assert together == list(read_on(path, limits=LARGE).turns)


def test_a_piece_ends_at_its_byte_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", *conversation(10))
    assert read_on(path, limits=ReadLimits(bytes=2_000)).more


class _Counting:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: Any, counts: list[int]) -> None:
        self._stream, self._counts = stream, counts

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self._counts.append(len(data))
        return data

    def seek(self, offset: int) -> int:
        return int(self._stream.seek(offset))

    def __enter__(self) -> _Counting:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stream.close()


class CountingPath(type(Path())):  # type: ignore[misc]
    """A path that counts the bytes read through it."""

    counts: list[int] = []

    def open(self, *arguments: Any, **options: Any) -> Any:
        return _Counting(super().open(*arguments, **options), CountingPath.counts)


def test_over_a_session_of_many_turns_the_bytes_read_stay_within_twice_the_log(tmp_path: Path) -> None:
    CountingPath.counts = []
    path = CountingPath(tmp_path / "a.jsonl")
    path.touch()
    entries, cursor, seen = conversation(100), Cursor("a"), 0
    for start in range(0, len(entries), 6):
        append(Path(path), encode(*entries[start : start + 6]))
        piece = read_transcript(path, cursor)
        cursor, seen = piece.cursor, seen + len(piece.turns)
    assert seen == 400
    assert sum(CountingPath.counts) <= 2 * path.stat().st_size


def test_reading_in_pieces_reads_at_most_twice_the_log(tmp_path: Path) -> None:
    CountingPath.counts = []
    path = CountingPath(tmp_path / "a.jsonl")
    write(Path(path), *conversation(100, size=4_000))
    assert sum(len(piece.turns) for piece in read_all(path)) == 400
    assert sum(CountingPath.counts) <= 2 * path.stat().st_size


def test_a_huge_line_is_passed_over_in_bounded_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", Log().user("before"))
    with path.open("r+b") as stream:
        stream.seek(0, 2)
        stream.write(b'{"type":"user","message":{"role":"user","content":"')
        stream.seek(50_000_000, 1)
        stream.write(b'"}}\n')
        stream.write(encode(Log().user("after", uuid="x")))
    tracemalloc.start()
    piece = read_on(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts(piece)[0] == "before"
    assert piece.skipped["oversize"] == 1
    pieces = [piece]
    while pieces[-1].more:
        pieces.append(read_on(path, pieces[-1].cursor))
    assert texts(pieces[-1])[-1] == "after"
    assert pieces[-1].turns[-1].line == 3
    assert peak < 12_000_000


def test_a_huge_line_that_grows_over_several_readings_is_counted_once_and_read_past(tmp_path: Path) -> None:
    limits = ReadLimits(line_bytes=1_000)
    path = write(tmp_path / "a.jsonl", Log().user("before"))
    cursor, skipped = read_on(path, limits=limits).cursor, Counter[str]()
    for part in (b'{"type":"user","x":"' + b"a" * 2_000, b"b" * 500, b'"}\n', encode(Log().user("after", uuid="x"))):
        append(path, part)
        piece = read_on(path, cursor, limits=limits)
        assert piece.cursor.offset == path.stat().st_size, "an over-long line is not read twice"
        cursor = piece.cursor
        skipped.update(piece.skipped)
    assert dict(skipped) == {"oversize": 1}
    assert [(turn.text, turn.line) for turn in piece.turns] == [("after", 3)]


def test_reading_line_by_line_gives_the_same_as_reading_at_once(tmp_path: Path) -> None:
    log = Log()
    answers = {"answers": {"Which port?": "5433"}}
    entries = [
        log.queue("enqueue", content="Use pnpm."),
        *conversation(2),
        log.queue("dequeue"),
        log.user("Use pnpm.", uuid="a", timestamp="2026-03-03T00:00:00Z"),
        log.queue("enqueue", content="Hello"),
        log.queue("dequeue"),
        log.user("Hello", uuid="b", timestamp="2026-03-03T00:00:01Z"),
        {**log.tool_use("q", "AskUserQuestion"), "uuid": "c"},
        log.result("q", "answered", toolUseResult=answers, uuid="d"),
    ]
    path = write(tmp_path / "a.jsonl")
    cursor = Cursor("a")
    turns: list[Any] = []
    for entry in entries:
        append(path, encode(entry))
        piece = read_on(path, cursor)
        cursor = piece.cursor
        turns += piece.turns
    assert turns == list(read_on(path, limits=LARGE).turns)
    assert [turn.text for turn in turns if turn.kind is TurnKind.USER][-2:] == ["Hello", "5433"]


def test_byte_order_mark_windows_line_ends_and_blank_lines_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    body = encode(*conversation(2)[1:]).replace(b"\n", b"\r\n\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + body)
    plain = read_on(write(tmp_path / "b.jsonl", *conversation(2)[1:]))
    assert [turn.text for turn in read_on(path).turns] == [turn.text for turn in plain.turns]


def test_bad_bytes_nul_padding_and_lone_surrogates_lose_only_themselves(tmp_path: Path) -> None:
    log = Log()
    bad = encode(log.user("Use tabs XX always.")).replace(b"XX", b"\xff\xfe").rstrip()
    padded = b"\x00" * 64 + encode(log.user("And no semicolons.")).rstrip()
    surrogate = json.dumps(log.user("half \ud83d pair")).encode()
    piece = read_on(write(tmp_path / "a.jsonl", bad, padded, surrogate))
    assert texts(piece) == ["Use tabs \ufffd\ufffd always.", "And no semicolons.", "half \ufffd pair"]
    piece.cursor.context.encode()


def test_broken_and_unknown_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    lines = [b'"text"', b"42", b"[1]", b"{", b"// comment", b'{"silly":1}', {"type": "brand-new"}, {"type": ["user"]}]
    piece = read_on(write(tmp_path / "a.jsonl", *lines, Log().user("Use tabs.")))
    assert texts(piece) == ["Use tabs."]
    assert dict(piece.skipped) == {"not_object": 3, "bad_json": 2, "unknown_kind": 3}


def test_deeply_nested_values_are_no_trouble(tmp_path: Path) -> None:
    nested = b'{"type":"user","message":' + b"[" * 100_000 + b"\n"
    assert texts(read_on(write(tmp_path / "a.jsonl", nested.rstrip(), Log().user("Use tabs.")))) == ["Use tabs."]


def test_logs_of_other_agents_give_nothing(tmp_path: Path) -> None:
    others = [
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"text": "codex"}]}},
        {"$set": {"messages": [{"type": "user", "content": [{"text": "gemini"}]}]}},
        {"id": "1", "type": "user", "content": [{"text": "gemini"}]},
        {"type": "message", "id": "2", "message": {"role": "user", "content": [{"type": "text", "text": "pi"}]}},
        {"type": "summary", "summary": "A summary", "leafUuid": "3"},
    ]
    piece = read_on(write(tmp_path / "a.jsonl", *others))
    assert piece.turns == ()
    assert piece.session == "a"


def test_a_line_repeated_after_resume_or_compaction_is_read_once(tmp_path: Path) -> None:
    entries = conversation(3)
    path = write(tmp_path / "a.jsonl", *entries)
    first = read_on(path)
    renamed = [{**entry, "uuid": f"new{i}", "sessionId": "s2"} for i, entry in enumerate(entries)]
    append(path, encode(*entries, *renamed, Log().user("Something new", timestamp="2026-03-02T00:00:00Z", uuid="n")))
    second = read_on(path, first.cursor)
    assert texts(second) == ["Something new"]
    assert second.skipped["duplicate"] == 24


def test_the_same_words_said_again_later_count_again(tmp_path: Path) -> None:
    log = Log()
    assert texts(read_on(write(tmp_path / "a.jsonl", log.user("continue"), log.user("continue")))) == ["continue"] * 2


def test_lines_known_from_another_log_are_left_out(tmp_path: Path) -> None:
    entries = conversation(2)
    known = {entry["uuid"] for entry in entries[:6] if "uuid" in entry}
    piece = read_on(write(tmp_path / "a.jsonl", *entries), known=known.__contains__)
    assert [turn.line for turn in piece.turns] == [8, 9, 10, 11]


def test_secrets_reach_neither_the_turns_nor_the_cursor(tmp_path: Path) -> None:
    secret = "sk-" + "ant-" + "api03-" + "Q7x" * 12
    log = Log()
    path = write(
        tmp_path / "a.jsonl",
        log.user(f"My key is {secret}"),
        log.tool_use("t1", "Bash", command=f"export API_KEY={secret}"),
        log.result("t1", f"key {secret}"),
        log.assistant(f"I stored {secret}."),
        log.line("attachment", attachment={"type": "queued_command", "prompt": f"again {secret}"}),
    )
    piece = read_on(path)
    assert secret not in repr(piece)
    assert sum(piece.redacted.values()) >= 5


def test_no_half_secret_is_left_where_a_long_text_is_cut(tmp_path: Path) -> None:
    secret = "ghp" + "_" + "A1b2C3d4" * 5
    limits = ReadLimits(result_chars=300)
    for start in range(150, 260):
        text = "-" * start + " " + secret + " " + "-" * 5_000
        log = Log()
        piece = read_on(write(tmp_path / "a.jsonl", log.tool_use("t", "Bash", command="x"), log.result("t", text)), limits=limits)
        assert "A1b2" not in repr(piece.turns)


FRAGMENTS = st.lists(
    st.sampled_from(conversation(3))
    | st.binary(max_size=20).map(lambda data: data.replace(b"\n", b""))
    | st.sampled_from(
        [
            Log().queue("enqueue", content="queued text"),
            Log().queue("dequeue"),
            Log().queue("remove"),
            Log().user("queued text", uuid="q1"),
            Log().user("<private>\nhidden", uuid="q2"),
            Log().line("system", subtype="compact_boundary", uuid="q3"),
            b"x" * 3_000,
        ]
    ),
    max_size=25,
)


def _all_turns(path: Path, cursor: Cursor, limits: ReadLimits) -> tuple[list[Turn], Cursor]:
    turns: list[Turn] = []
    more = True
    while more:
        piece = read_transcript(path, cursor, limits=limits)
        assert not piece.reset
        turns += piece.turns
        cursor, more = piece.cursor, piece.more
    return turns, cursor


@settings(max_examples=60, deadline=None)
@given(FRAGMENTS, st.lists(st.integers(0, 20_000), max_size=8), st.sampled_from([1, 50, 10**9]))
def test_however_a_log_grows_the_turns_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any], cuts: list[int], tokens: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "a.jsonl"
    data = encode(*entries)
    limits = ReadLimits(tokens=tokens, line_bytes=2_000, block_bytes=512)
    turns: list[Turn] = []
    cursor = Cursor("a")
    for cut in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        path.write_bytes(data[:cut])
        new, cursor = _all_turns(path, cursor, limits)
        turns += new
    whole, end = _all_turns(path, Cursor("a"), ReadLimits(tokens=10**9, line_bytes=2_000))
    assert turns == whole
    assert (cursor.offset, cursor.line) == (end.offset, end.line)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400) | st.lists(st.binary(max_size=60), max_size=8).map(b"\n".join))
def test_no_bytes_make_the_reader_fail(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "a.jsonl"
    path.write_bytes(data)
    offsets = [0]
    for piece in read_all(path):
        assert piece.cursor.context.encode().decode() == piece.cursor.context
        offsets.append(piece.cursor.offset)
    assert offsets == sorted(offsets) and offsets[-1] <= len(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.just("text") | st.just("tool_result"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "content", "role", "id", "name", "input", "answers", "kind"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)
ENTRY = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "queue-operation", "attachment"])},
    optional={
        "message": JSON,
        "content": JSON,
        "attachment": JSON,
        "toolUseResult": JSON,
        "uuid": JSON,
        "timestamp": JSON,
        "sessionId": JSON,
        "cwd": JSON,
        "origin": JSON,
        "operation": st.just("enqueue"),
        "isMeta": JSON,
    },
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ENTRY, max_size=4))
def test_no_shape_of_values_makes_the_reader_fail(tmp_path_factory: pytest.TempPathFactory, entries: list[Any]) -> None:
    path = tmp_path_factory.mktemp("log") / "a.jsonl"
    path.write_bytes(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))
    for piece in read_all(path):
        assert all(isinstance(turn.text, str) for turn in piece.turns)
