"""The page of memeval in the console: leaderboards, runs, comparisons, grids and running runs."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from memeval.console.library import Library
from memeval.console.live import RunProgress, progress
from memeval.console.pages import PAGE, stream
from memeval.core.types import Phase
from memeval.results.files import ResultsDir
from memeval.results.store import Key, QuestionRow, Record, Status
from memeval.run.checkpoint import Run
from memeval.run.settings import Settings
from memoryd.console import pages, plugins
from memoryd.core.errors import NotFoundError
from tests.memeval.result_files import Asked, many, result, write
from tests.memoryd.console.console_client import Console, unhurt

HOSTILE = '</script><script>alert(1)</script> "><img src=x onerror=alert(1)> {{ 7777777*7 }}'


def opened(results: Path | None) -> Console:
    """Return a console that was opened with this results folder."""
    console = Console((*pages.PAGES, PAGE))
    console.client.get("/open", params={"ticket": console.sessions.issue(results=str(results) if results else "")})
    return console


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create two runs of one benchmark."""
    made = tmp_path_factory.mktemp("two-runs")
    write(made, result("run-a", many(60, 40)))
    write(made, result("run-b", many(60, 20), provider={"name": "dense"}))
    return made


@pytest.fixture
def folder(two_runs: Path, tmp_path: Path) -> Path:
    """Return a copy of the two runs."""
    return shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)


def test_the_entry_point_gives_a_page_that_fits_beside_the_others() -> None:
    found, faults = plugins.load([EntryPoint("results", "memeval.console.pages:PAGE", plugins.GROUP)], pages.PAGES)
    assert found == [PAGE] and not faults


def test_the_leaderboard_has_the_best_first_with_intervals_and_leads_to_the_runs(folder: Path) -> None:
    text = unhurt(opened(folder).get("/results"))
    assert text.index('href="/results/run-a"') < text.index('href="/results/run-b"')
    assert "66.7" in text and "33.3" in text and "95 % interval" in text


def test_a_run_shows_its_metrics_and_its_questions_page_by_page(folder: Path) -> None:
    console = opened(folder)
    text = unhurt(console.get("/results/run-a"))
    assert "Question 0?" in text and "Question 49?" in text and "Question 50?" not in text and "page 1 of 2" in text
    assert "Question 59?" in unhurt(console.get("/results/run-a", page=2))
    wrong = unhurt(console.get("/results/run-a", mark="wrong", type="temporal"))
    assert "3 of 60 questions" in wrong and "Question 44?" in wrong
    assert "1 of 60 questions" in unhurt(console.get("/results/run-a", words="question 59?"))
    assert console.get("/results/run-a", mark="odd").status_code == 400
    assert console.get("/results/run-a", metric="nothing").status_code == 400


def test_a_link_to_one_question_finds_its_page(folder: Path) -> None:
    from memeval.report import load_run
    from memeval.report.html.run_page import anchor

    last = load_run(ResultsDir(folder), "run-a").questions[-1]
    text = unhurt(opened(folder).get("/results/run-a", at=anchor(last)))
    assert f'id="{anchor(last)}"' in text and "page 2 of 2" in text


def test_two_runs_are_compared_by_the_paired_test_and_question_by_question(folder: Path) -> None:
    console = opened(folder)
    text = unhurt(console.get("/results/_compare", first="run-a", second="run-b"))
    assert "+33.3" in text and "0.062" in text and "win (20)" in text and "tie (40)" in text
    wins = unhurt(console.get("/results/_compare", first="run-a", second="run-b", outcome="win"))
    assert "20 questions" in wins and "Question 20?" in wins and "Question 19?" not in wins
    assert console.get("/results/_compare", first="run-a").status_code == 400
    assert console.get("/results/_compare", first="run-a", second="none").status_code == 404


def test_runs_that_cannot_be_compared_are_on_different_boards_with_judge_and_variant_in_the_heading(folder: Path) -> None:
    other = result("run-c", many(60, 50))
    other["settings"] = {**other["settings"], "variant": "official", "top_k": 20}
    write(folder, other)
    console = opened(folder)
    text = unhurt(console.get("/results"))
    found = re.findall(r'/results/_board\?board=([0-9a-f]{12})">([^<]+)<', text)
    assert [heading.split(", ")[1:3] for _, heading in found] == [
        ["judge none", "variant evidence"],
        ["judge none", "variant official"],
    ]
    first = unhurt(console.get("/results/_board", board=found[0][0]))
    assert "run-a" in first and "run-b" in first and "run-c" not in first
    run = unhurt(console.get("/results/run-a"))
    assert "<h1>sample with bm25, judge none, variant evidence, granularity turn</h1>" in run
    assert '<option value="run-b">' in run and '<option value="run-c">' not in run
    assert console.get("/results/_board", board="0" * 12).status_code == 404


def order(text: str) -> list[str]:
    return re.findall(r'<td role="cell" data-column="run"><a href="/results/(run-.)"', text)


def test_tables_are_sorted_by_any_column_and_filtered(folder: Path) -> None:
    write(folder, result("run-c", many(60, 30), provider={"name": "oracle"}))
    console = opened(folder)
    assert order(unhurt(console.get("/results")))[:3] == ["run-a", "run-c", "run-b"]
    text = unhurt(console.get("/results", sort="provider", order="descending"))
    assert order(text)[:3] == ["run-c", "run-b", "run-a"] and 'aria-sort="descending"' in text
    assert order(unhurt(console.get("/results", sort="llm_accuracy %", order="ascending")))[:3] == ["run-b", "run-c", "run-a"]
    assert order(unhurt(console.get("/results", sort="no such column")))[:1] == ["run-a"]
    only = unhurt(console.get("/results", provider="dense"))
    assert order(only)[:1] == ["run-b"] and "1 of 3 runs" in only
    assert "1 of 3 runs" in unhurt(console.get("/results", words="ORACLE scripted"))
    assert "0 of 3 runs" in unhurt(console.get("/results", words=HOSTILE))


def test_a_board_shows_one_chart_each_provider_over_versions_and_what_others_published(folder: Path) -> None:
    later = result("run-d", many(60, 50))
    later["times"] = {**later["times"], "finished_at": "2024-07-01T08:10:00Z"}
    write(folder, later)
    console = opened(folder)
    board = re.findall(r"/results/_board\?board=([0-9a-f]{12})", console.get("/results").text)[0]
    text = unhurt(console.get("/results/_board", board=board))
    assert text.count('role="img"') == 1
    assert "bm25 over versions" in text and "+16.7" in text
    drawn = unhurt(console.get("/results/_board", board=board, chart="bm25 over versions"))
    assert "llm_accuracy of bm25 over versions, per cent" in drawn
    assert console.get("/results/_board", board=board, chart="x").status_code == 400


def test_published_figures_link_to_their_sources(tmp_path: Path) -> None:
    data = result("run-l", many(20, 10))
    write(tmp_path, {**data, "benchmark": {**data["benchmark"], "name": "longmemeval-s"}})
    console = opened(tmp_path)
    board = re.findall(r"/results/_board\?board=([0-9a-f]{12})", console.get("/results").text)[0]
    text = unhurt(console.get("/results/_board", board=board))
    assert "Published by others" in text and 'rel="noreferrer noopener"' in text and 'href="https://' in text


def test_questions_are_put_in_order(folder: Path) -> None:
    console = opened(folder)
    assert "Question 40?" in unhurt(console.get("/results/run-a", order="worst first")).split('class="q"')[1]
    assert "Question 0?" in unhurt(console.get("/results/run-a", order="best first")).split('class="q"')[1]
    for name in ("slowest first", "most tokens first"):
        assert "Question 0?" in unhurt(console.get("/results/run-a", order=name))
    assert console.get("/results/run-a", order="odd").status_code == 400


def test_a_grid_shows_every_cell_and_leads_to_each_task(folder: Path) -> None:
    for arm, right in (("plugin", 3), ("off", 1)):
        data = result(f"g.{arm}", many(4, right))
        data["claudecode"] = {"group": "g", "arm": arm, "model": HOSTILE, "repeat": 1, "trajectories": "x.jsonl"}
        write(folder, data)
    console = opened(folder)
    assert "/results/_grid?group=g" in unhurt(console.get("/results"))
    text = unhurt(console.get("/results/_grid", group="g"))
    assert 'href="g.plugin#q-' in text and "+50.0" in text
    for group in ("none", "../g", ".."):
        assert console.get("/results/_grid", group=group).status_code == 404


def test_hostile_text_of_a_run_is_shown_as_text(tmp_path: Path) -> None:
    asked = [Asked("q1", {HOSTILE: 1.0}, text=HOSTILE, expected=(HOSTILE,), answer=HOSTILE, pieces=(HOSTILE,), reason=HOSTILE)]
    for run_id in ("run-a", "run-b", HOSTILE):
        write(tmp_path, result(run_id, asked, provider={"name": HOSTILE}), name=f"f{len(run_id)}{run_id[-1:]}".replace("}", "x"))
    console = opened(tmp_path)
    for path in ("/results", "/results/run-a"):
        assert "&lt;script&gt;" in unhurt(console.get(path))
    assert "&lt;script&gt;" in unhurt(console.get("/results/_compare", first="run-a", second="run-b"))


@pytest.mark.parametrize("name", ["%2e%2e", "..%2f..%2fsecret", "secret.json", "/etc/passwd", "runs%2fx", "a" * 300])
def test_no_name_of_a_run_leaves_the_folder(folder: Path, name: str) -> None:
    (folder.parent / "secret.json").write_text(json.dumps(result("secret", many(4, 2))))
    (folder / "secret.json").write_text(json.dumps(result("secret", many(4, 2))))
    console = opened(folder)
    for path in (
        f"/results/{name}",
        f"/results/{name}/events",
        f"/results/{name}/questions/q-0",
        f"/results/run-a/questions/{name}",
    ):
        assert console.get(path).status_code in (400, 404)
    for first in (name, str(folder.parent / "secret.json"), "../secret.json"):
        assert console.get("/results/_compare", first=first, second="run-a").status_code in (400, 404)


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    file = write(outside, result("secret", many(4, 2)))
    (inside / "v0.1").mkdir(parents=True)
    (inside / "v0.1" / "secret.json").symlink_to(file)
    run(outside, "gone").close()
    (inside / "runs").symlink_to(outside / "runs")
    library = Library(inside)
    assert library.runs() == {} and library.unfinished() == ([], [])
    assert opened(inside).get("/results/gone").status_code == 404


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_shown(folder: Path) -> None:
    (folder / "v0.1" / "broken.json").write_text("{")
    text = unhurt(opened(folder).get("/results"))
    assert "broken.json can&#39;t be read" in text and "run-a" in text


def test_without_a_folder_and_in_an_empty_one_the_way_on_is_reported(tmp_path: Path) -> None:
    assert "memoryd console --results" in opened(None).get("/results").text
    assert opened(None).get("/results/run-a").status_code == 404
    assert "memeval eval" in opened(tmp_path).get("/results").text


def test_a_file_is_read_again_only_when_it_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memeval.console import library as module

    read, real = [], module.read_run  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "read_run", lambda path: read.append(path) or real(path))
    library = Library(folder)
    assert len(library.runs()) == 2 and len(library.runs()) == 2 and len(read) == 2
    write(folder, result("run-b", many(60, 59)))
    assert library.runs()["run-b"].metrics["llm_accuracy"].value == pytest.approx(59 / 60) and len(read) == 3


# Runs in progress


def run(folder: Path, name: str, count: int = 4) -> Run:
    """Create a run on which this process works."""
    made = Run.create(ResultsDir(folder), name, Settings(benchmark="sample", provider="bm25"), {})
    rows = [QuestionRow(number, "c1", f"q{number}", asked_as(number)) for number in range(count)]
    made.plan(rows, {"cases": 1, "questions": count})
    return made


def asked_as(number: int) -> dict[str, Any]:
    question = {"text": f"Question {number}?", "type": "temporal", "category": "", "answers": ["yes"], "at": ""}
    return {"question": question, "targets": []}


def evaluated(made: Run, number: int, value: float) -> None:
    scores = [{"metric": "llm_accuracy", "value": value, "status": "scored"}]
    made.store.put(Record(Key(Phase.EVALUATE, "c1", f"q{number}"), Status.DONE, {"scores": scores}))


def test_a_run_that_continues_is_seen_with_what_it_scored_so_far(tmp_path: Path) -> None:
    made = run(tmp_path, "going")
    evaluated(made, 0, 1.0)
    evaluated(made, 1, 0.0)
    seen = progress(tmp_path / "runs" / "going")
    assert seen.state == "running" and "llm_accuracy 50.0 so far" in seen.note
    assert [(stage.phase, stage.done, stage.total) for stage in seen.stages][-1] == ("evaluate", 2, 4)
    console = opened(tmp_path)
    assert "evaluate 2/4" in unhurt(console.get("/results")) and "2 of 4" in unhurt(console.get("/results/going"))
    made.close()
    text = unhurt(console.get("/results/going"))
    assert "memeval eval --resume going" in text and 'data-state="stopped"' in text


def test_what_a_run_cost_so_far_is_shown_and_what_is_not_known_is_said(tmp_path: Path) -> None:
    made = run(tmp_path, "going")
    assert progress(tmp_path / "runs" / "going").cost == ""
    console = opened(tmp_path)
    assert 'data-live="paid" hidden' in unhurt(console.get("/results/going"))

    def paid(phase: Phase, question: str, cost: float | None, part: str = "") -> None:
        payload = {"usage": {"calls": 1, "cost_usd": cost}}
        made.store.put(Record(Key(phase, "c1", question, part=part), Status.DONE, payload))

    paid(Phase.INGEST, "", 0.25, part="s1")
    paid(Phase.INGEST, "", 0.25, part="s2")
    paid(Phase.ANSWER, "q0", 1.5)
    paid(Phase.ANSWER, "q1", None)
    assert progress(tmp_path / "runs" / "going").cost == "$2.00, 1 of unknown cost"
    paid(Phase.INGEST, "", 0.5)  # The whole case repeats the costs of its batches.
    assert "$2.00, 1 of unknown cost" in unhurt(console.get("/results/going"))
    assert "$2.00, 1 of unknown cost" in unhurt(console.get("/results"))
    made.close()


def test_every_prompt_and_reply_of_a_question_can_be_read_also_while_the_run_continues(tmp_path: Path) -> None:
    made = run(tmp_path, "going")
    calls = [{"model": "m/1", "messages": [{"role": "user", "content": f"MEMORIES {HOSTILE}"}], "reply": "in the pot"}]
    hit = {"text": "long " * 400, "score": 1.0, "sessions": ["s1"], "turns": ["s1:1"], "at": None}
    answer = {"text": "in the pot", "model": "m/1", "prompt_hash": "ab", "usage": {}, "calls": calls}
    judged = [{"model": "judge/1", "messages": [{"role": "system", "content": "Is it right?"}], "reply": "yes, it is"}]
    score = {"metric": "llm_accuracy", "value": 1.0, "status": "scored", "judge": "llm(judge/1)", "reason": "yes"}
    put = made.store.put
    put(Record(Key(Phase.SEARCH, "c1", "q1"), Status.DONE, {"kept": 1, "retrieved": [hit]}, at="2024-01-01T00:00:00Z"))
    put(Record(Key(Phase.ANSWER, "c1", "q1"), Status.DONE, answer, at="2024-01-01T00:00:01Z"))
    put(Record(Key(Phase.EVALUATE, "c1", "q1"), Status.DONE, {"scores": [score], "calls": judged}, at="2024-01-01T00:00:02Z"))
    put(
        Record(
            Key(Phase.ANSWER, "c1", "q2"),
            Status.FAILED,
            {"calls": [{**calls[0], "reply": "", "error": "429"}]},
            "ModelError: 429",
        )
    )
    console = opened(tmp_path)
    live = unhurt(console.get("/results/going"))
    links = re.findall(r"/results/going/questions/q-[0-9a-f]{12}", live)
    assert "right by llm_accuracy" in live and "failed" in live
    text = unhurt(console.get(links[0]))
    for said in ("MEMORIES &lt;/script&gt;", "in the pot", "Is it right?", "yes, it is", "llm_accuracy: 1 by llm(judge/1)"):
        assert said in text, said
    assert text.count("long ") == 400 and 'rel="prev"' in text and 'rel="next"' in text
    assert "429" in unhurt(console.get(links[1]))
    assert console.get("/results/going/questions/q-000000000000").status_code == 404
    assert console.get("/results/other/questions/q-000000000000").status_code == 404
    made.close()


def test_a_session_of_the_client_is_shown_with_what_memory_gave_it(tmp_path: Path) -> None:
    made = run(tmp_path, "client")
    call = {"name": "Bash", "arguments": {"command": "ls"}, "result": "a.py", "is_error": False}
    given = {"tokens": 3, "items": [{"via": "hook", "id": "", "text": f"Use pnpm {HOSTILE}", "tokens": 3}]}
    session = {"prompt": "Add a test.", "injected": given, "calls": [call], "message": ""}
    answer = {"text": "Done.", "model": "", "prompt_hash": "ab", "usage": {}, "trajectory": session}
    made.store.put(Record(Key(Phase.ANSWER, "c1", "q1"), Status.DONE, answer))
    console = opened(tmp_path)
    link = re.findall(r"/results/client/questions/q-[0-9a-f]{12}", unhurt(console.get("/results/client")))[0]
    text = unhurt(console.get(link))
    for said in ("memory (hook)", "Use pnpm", "Add a test.", "tool Bash", "a.py", "Done."):
        assert said in text, said
    made.close()


def test_a_run_of_another_version_is_shown_or_named_and_never_migrated(tmp_path: Path) -> None:
    paths = {}
    for name, step in (
        ("older", "DELETE FROM _migrations WHERE name = 'm002_sums'"),
        ("newer", "INSERT INTO _migrations (name) VALUES ('m999_later')"),
    ):
        run(tmp_path, name).close()
        paths[name] = tmp_path / "runs" / name / "run.db"
        db = sqlite3.connect(paths[name])
        db.execute(step)
        db.commit()
        db.close()
    before = {name: path.read_bytes() for name, path in paths.items()}
    console = opened(tmp_path)
    text = unhurt(console.get("/results"))
    assert "newer version of memeval" in text and "Update memeval." in text and 'href="/results/older"' in text
    older = unhurt(console.get("/results/older"))
    assert "Made by an older memeval" in older and "eval --resume older" in older
    assert "Update memeval." in console.get("/results/newer").text
    assert {name: path.read_bytes() for name, path in paths.items()} == before


def test_a_damaged_run_is_named_and_the_others_are_shown(folder: Path) -> None:
    for name in ("shredded", "odd"):
        run(folder, name).close()
    (folder / "runs" / "shredded" / "run.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 9000)
    db = sqlite3.connect(folder / "runs" / "odd" / "run.db")
    db.execute("UPDATE questions SET payload = '{\"question\": 7}'")
    db.execute("UPDATE meta SET value = '[' WHERE key = 'created_at'")
    db.commit()
    db.close()
    console = opened(folder)
    text = unhurt(console.get("/results"))
    assert "run-a" in text and "runs/shredded/run.db" in text and "The run.db of run odd is damaged" in text
    for name in ("shredded", "odd"):
        answer = console.get(f"/results/{name}")
        assert answer.status_code == 400 and "eval --resume" in answer.text or "Resume the run" in answer.text
    assert not console.faults


def test_a_leaderboard_names_its_columns_for_narrow_windows(folder: Path) -> None:
    text = unhurt(opened(folder).get("/results"))
    assert 'data-column="95 % interval"' in text and text.count('role="table"') == 2


def test_looking_at_a_run_writes_nothing(tmp_path: Path) -> None:
    run(tmp_path, "still").close()
    folder = tmp_path / "runs" / "still"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    progress(folder)
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name in before}
    assert before == after


def test_looking_never_keeps_a_runner_from_its_run(tmp_path: Path) -> None:
    run(tmp_path, "mine").close()
    for _ in range(20):
        assert progress(tmp_path / "runs" / "mine").state == "stopped"
        resumed = Run.resume(ResultsDir(tmp_path), "mine")
        assert progress(tmp_path / "runs" / "mine").state == "running"
        resumed.close()


def test_the_stream_tells_each_change_once_and_ends_with_the_run(tmp_path: Path) -> None:
    made = run(tmp_path, "going")
    looks: list[Any] = []

    async def look() -> RunProgress:
        looks.append(len(looks))
        if len(looks) == 3:
            evaluated(made, 0, 1.0)
        if len(looks) == 5:
            made.close()
        return progress(tmp_path / "runs" / "going")

    async def outcome() -> list[tuple[str, str]] | None:
        return [(name, value.get("state")) async for name, value in stream(look, poll=0)]

    found = asyncio.run(outcome())
    assert found == [("progress", "running"), ("progress", "running"), ("progress", "stopped"), ("end", "stopped")]


def test_the_stream_ends_when_the_run_is_gone() -> None:
    async def look() -> None:
        raise NotFoundError("There is no run 'x' here.")

    async def outcome() -> list[tuple[str, dict[Any, Any]]]:
        return [event async for event in stream(look)]

    assert asyncio.run(outcome()) == [("end", {"state": "gone", "message": "There is no run 'x' here."})]


def test_a_stream_does_not_count_as_use_of_the_daemon(tmp_path: Path) -> None:
    run(tmp_path, "over").close()
    console = opened(tmp_path)
    touched = console.touches
    answer = console.get("/results/over/events")
    assert answer.headers["content-type"] == "text/event-stream" and "event: end" in answer.text
    assert console.touches == touched
