"""Playing the session reader: the product makes the offers and processes the answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.session_play import main, play
from memoryd.core.text import token_count
from tests.memoryd.daydream.log_lines import Log, encode

TALK = (
    ("Why are the thumbnails black?",
     "The resize worker reads the file before the upload is flushed. It listens on the queue `thumbs-v2` of the broker."),
    ("Where are the test images?", "The bucket of the test account is called `heron-test`; only the CI user may write to it."),
    ("Thanks. And the docs?", "The docs are built by `make site`, which needs node 22 since the theme uses its test runner."),
    ("Fine, go on.", "Done."),
    ("Anything else?", "The nightly job fails on Sundays because the license server `lic-3` is rebooted at 02:00."),
)  # fmt: skip


def write_log(folder: Path) -> Path:
    log, lines = Log(), []
    for asked, answered in TALK:
        lines += [log.user(asked), log.assistant(answered)]
    path = folder / "shop-01.jsonl"
    path.write_bytes(encode(*lines))
    return path


def ids_in(page: str) -> list[str]:
    return re.findall(r"^([0-9a-f]{4,12}) (?:user|you|agent): ", page[page.index("<memoryd-recall") :], re.MULTILINE)


def play_on(folder: Path, log: Path) -> dict[str, Any]:
    """Drop all that is offered from here on."""
    while waiting := (report := play(folder, [log], rank="bm25"))["waiting"]:
        page = Path(waiting[0]["waiting"])
        page.with_suffix(".json").write_text(
            json.dumps({"items": [{"id": id, "keep": False} for id in ids_in(page.read_text())]})
        )
    return report


def test_offers_are_answered_one_after_another_and_kept_by_the_product(tmp_path: Path) -> None:
    folder, log = tmp_path / "play", write_log(tmp_path)
    first = Path(play(folder, [log], rank="bm25")["waiting"][0]["waiting"])
    assert "settle" in (folder / "TOOL.md").read_text()
    page = first.read_text()
    assert "resize worker" in page and "Now the user sends prompt 2" in page
    block = page[page.index("<memoryd-recall") :].strip()
    assert token_count(block) <= 350

    ids = ids_in(page)
    kept = {"id": ids[0], "keep": True, "content": "The resize worker listens on the queue thumbs-v2.", "kind": "environment"}
    answer = {"items": [kept, *({"id": id, "keep": False} for id in ids[1:])], "own": [{"content": "Thumbnails have 200 px."}]}
    first.with_suffix(".json").write_text(json.dumps(answer))
    result = play_on(folder, log)
    assert {m["content"]: m["origin"] for m in result["memories"] if m["origin"] != "offline"} == {
        "The resize worker listens on the queue thumbs-v2.": "settled",
        "Thumbnails have 200 px.": "own",
    }
    settled = next(m for m in result["memories"] if m["origin"] == "settled")
    assert settled["session"] == "shop-01" and settled["lines"] == [2]
    assert f'"memory": "{settled["id"]}"' in first.with_name("02.md").read_text()  # So it can be replaced.
    assert result["totals"]["offers"] >= 2 and result["totals"]["ignored"] == 0
    assert result["sessions"][0]["tokens"] >= token_count(block)
    assert play(folder, [log])["memories"] == json.loads((folder / "memories.json").read_text()) != []


def test_an_empty_answer_ignores_the_offer(tmp_path: Path) -> None:
    folder, log = tmp_path / "play", write_log(tmp_path)
    while waiting := (report := play(folder, [log], rank="bm25"))["waiting"]:
        Path(waiting[0]["waiting"]).with_suffix(".json").write_text("")
    assert report["totals"]["ignored"] == report["totals"]["offers"] >= 2


def test_the_next_session_of_a_series_begins_with_what_was_kept(tmp_path: Path) -> None:
    one = write_log(tmp_path)
    two = one.with_name("shop-02.jsonl")
    two.write_bytes(one.read_bytes().replace(b"0f3c2d1e", b"1f3c2d1e").replace(b"2026-03-01", b"2026-03-02"))
    first = Path(play(tmp_path / "first", [one], rank="bm25")["waiting"][0]["waiting"])
    kept = "Thumbnails are made by the service called stork, since the old one leaked."
    first.with_suffix(".json").write_text(
        json.dumps({"items": [{"id": ids_in(first.read_text())[0], "keep": True, "content": kept}]})
    )
    play_on(tmp_path / "first", one)
    place = tmp_path / "first" / "shop-01"
    (tmp_path / "second" / "shop-02").mkdir(parents=True)
    for number in range(1, 9):
        (tmp_path / "second" / "shop-02" / f"{number:02d}.json").write_text("")
    assert main([str(tmp_path / "second"), str(two), "--after", str(place), "--rank", "bm25"]) == 0
    given = json.loads((tmp_path / "second" / "shop-02" / "given.json").read_text())
    assert given[0]["event"] == "SessionStart" and kept in given[0]["text"]
