"""Forgotten text is erased: the raw bytes of the whole home are searched after each action, with databases open and closed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from memoryd.api import dispatch as api_module
from memoryd.api.dispatch import Api
from memoryd.core.config import Settings
from memoryd.core.db import Database
from memoryd.core.errors import InputError, NotFoundError
from memoryd.core.types import Status
from memoryd.recall.injection import cache_key
from memoryd.stores.hnsw import hnsw_available
from memoryd.testing import FakeClock, HashEmbedder
from memoryd.transfer.importing import slug_of


def holding(home: Path, word: str) -> list[str]:
    """Return the files in the home that contain a word, in raw bytes."""
    files = (path for path in sorted(home.rglob("*")) if path.is_file())
    return [str(path.relative_to(home)) for path in files if word.encode() in path.read_bytes()]


class Desk:
    """A user in a folder, and the context that a session receives there."""

    def __init__(self, api: Api, settings: Settings, folder: Path) -> None:
        self.api, self.home, self.folder = api, settings.home, folder
        self.settings = settings
        folder.mkdir(exist_ok=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), **params})

    def model(self, method: str, **params: Any) -> dict[str, Any]:
        return self.api.call(method, {"cwd": str(self.folder), "caller": "model", **params})

    def keep(self, content: str, **fields: Any) -> str:
        return str(self.call("remember", content=content, kind="rule", polarity="do", **fields)["id"])

    def begin(self, session: str = "s1") -> str:
        payload = {"session_id": session, "cwd": str(self.folder), "transcript_path": "", "source": "startup"}
        return self.api.hook("SessionStart", payload, {}).decode()

    def cached(self) -> str:
        return (self.settings.paths.governance_cache / f"{cache_key(str(self.folder))}.json").read_text("utf-8")

    def log(self, *texts: str, session: str = "s1", cwd: str = "") -> Path:
        """Append texts to a session's log, in this folder or another one, and read it."""
        path = self.folder.parent / f"{session}.jsonl"
        lines = []
        for text in texts:
            uuid = f"{session}-{text}"[:60]
            message = {"role": "user", "content": text}
            lines.append({"type": "user", "uuid": uuid, "sessionId": session, "cwd": cwd or str(self.folder), "message": message})
        with path.open("ab") as stream:
            stream.write(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        return path

    def read(self, path: Path, session: str = "s1") -> None:
        payload = {"session_id": session, "cwd": str(self.folder), "transcript_path": str(path), "reason": "other"}
        self.api.drain_spool_record("SessionEnd", payload, {})
        self.api.tick()


@pytest.fixture
def desk(settings: Settings, clock: FakeClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(api_module, "make_embedder", lambda _settings: HashEmbedder())
    made = replace(settings, rank="hybrid", ann_threshold=2, reader="offline")
    api = Api(made, clock)
    api.warm()
    yield Desk(api, made, tmp_path / "shop")
    api.close()


def test_a_purged_memory_is_in_no_byte_of_the_home(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    others = [desk.keep(f"Always wash the {word} before lunch.") for word in ("apples", "pears", "plums", "cherries")]
    desk.begin()
    assert desk.api._service.settle(30)
    desk.api._service.maintain()
    assert "zirkonglobe" in desk.cached()
    assert len(holding(desk.home, "zirkonglobe")) > 3, "file, indexes, cached answer"
    assert desk.call("forget", id=id, purge=True)["status"] == "purged"
    assert holding(desk.home, "zirkonglobe") == []
    assert [hit["id"] for hit in desk.call("recall", query="wash the apples before lunch")["hits"]][0] == others[0]
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


@pytest.mark.skipif(not hnsw_available(), reason="requires hnswlib")
def test_a_purge_leaves_no_vector_in_the_file_of_the_approximate_index(desk: Desk) -> None:
    id = [desk.keep(f"Always wash the {word} before lunch.") for word in ("apples", "pears", "plums", "cherries")][0]
    assert desk.api._service.settle(30)
    desk.api._service.maintain()
    mirror = desk.settings.paths.index / "vector.hnsw"
    before = mirror.read_bytes()
    desk.call("forget", id=id, purge=True)
    assert not mirror.exists()
    desk.api._service.maintain()
    assert mirror.read_bytes() != before, "made again without it"


def test_a_forgotten_memory_is_given_by_nothing_and_stays_in_its_tombstone(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    desk.begin()
    desk.api._service.maintain()
    assert "zirkonglobe" in (desk.home / "index" / "inverted_index.json").read_text("utf-8")
    desk.call("forget", id=id)
    assert "zirkonglobe" not in desk.cached()
    assert "zirkonglobe" not in (desk.home / "index" / "inverted_index.json").read_text("utf-8")
    assert "zirkonglobe" not in str(desk.call("recall", query="polish the zirkonglobe")["hits"]) + desk.begin()
    path = desk.call("get_memory", id=id)["path"]
    assert "zirkonglobe" in Path(path).read_text("utf-8"), "what is refused from now on must be known"
    forgotten = {"status": "blacklisted"}
    for method, params in [("recall", {"query": "zirkonglobe", **forgotten}), ("list_memories", forgotten), ("timeline", {})]:
        assert "zirkonglobe" not in str(desk.model(method, **params))
        assert "zirkonglobe" in str(desk.call(method, **params)), "the user still finds it"
    with pytest.raises(NotFoundError):
        desk.model("get_memory", id=id)
    desk.call("restore", id=id)
    assert "zirkonglobe" in desk.cached()


def test_an_edit_by_hand_leaves_nothing_of_the_words_before(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    desk.begin()
    desk.api._service.settle(30)
    path = Path(desk.call("get_memory", id=id)["path"])
    path.write_text(path.read_text("utf-8").replace("zirkonglobe", "kupferkugel"), "utf-8")
    desk.call("sync")
    desk.api._service.settle(30)
    desk.call("sync")
    assert "kupferkugel" in desk.cached()
    desk.api._service.scrub()
    assert holding(desk.home, "zirkonglobe") == []


def test_a_purge_takes_the_versions_from_before_an_edit_with_it(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    newer = desk.call("update_memory", id=id, content="Always polish the zirkonglobe twice before the show.")["memory"]["id"]
    answer = desk.call("forget", id=newer, purge=True)
    assert answer["earlier_wordings"] == [id]
    assert holding(desk.home, "zirkonglobe") == []


def test_a_purge_reaches_copies_in_the_trash_and_files_with_the_same_id(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    path = Path(desk.call("get_memory", id=id)["path"])
    (path.parent / "copy of it.md").write_bytes(path.read_bytes())
    desk.call("sync")
    desk.api._service.delete(id)
    assert holding(desk.home, "zirkonglobe")
    desk.call("forget", id=id, purge=True)
    assert holding(desk.home, "zirkonglobe") == []


def test_switching_off_empties_the_cached_answer_and_reads_nothing_until_it_is_on(desk: Desk) -> None:
    desk.keep("Always polish the zirkonglobe before the quarterly show.")
    desk.begin()
    desk.call("off")
    assert desk.cached() == ""
    path = desk.log("Always use the quellenstern for the demos.", "Why does the lampenfisch glow?")
    desk.read(path)
    desk.call("on")
    desk.read(desk.log("Always run the nachtfalter checks before each commit."))
    words = ("quellenstern", "lampenfisch")
    assert [holding(desk.home, word) for word in words] == [[], []], "what was said meanwhile stays unread"
    assert desk.call("recall", query="nachtfalter checks before each commit")["hits"]
    assert "zirkonglobe" in desk.cached()


def test_a_log_that_is_off_is_not_opened(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    path = desk.log("Always use the quellenstern for the demos.")
    desk.begin()
    desk.call("off")
    opened: list[str] = []
    real = Path.open

    def watched(self: Path, *arguments: Any, **named: Any) -> Any:
        opened.append(str(self))
        return real(self, *arguments, **named)

    monkeypatch.setattr(Path, "open", watched)
    desk.read(path)
    desk.call("session_report", session="s1")
    assert str(path) not in opened


def test_off_for_a_folder_holds_for_all_below_it_and_a_nearer_on_wins(desk: Desk, tmp_path: Path) -> None:
    for name in ("shop", "mill"):
        (tmp_path / name / ".git").mkdir(parents=True)
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    mill, notes = (Desk(desk.api, desk.settings, tmp_path / name) for name in ("mill", "notes/deep"))
    kept = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    desk.begin()
    desk.call("off", folder=str(tmp_path))
    for place in (desk, mill, notes):
        assert place.begin() == ""
        assert "off" in place.call("memory_status")["here"]["why"]
        assert place.call("memory_status")["here"]["switch"] == str(tmp_path)
        with pytest.raises(InputError, match="switched off"):
            place.model("recall", query="polish the zirkonglobe")
        place.read(
            place.log("Always use the quellenstern for the demos.", session=f"in {place.folder.name}", cwd=str(place.folder))
        )
    assert desk.call("projects")["projects"][0]["off"]
    cached = desk.settings.paths.governance_cache / f"{cache_key(str(desk.folder / '.git'))}.json"
    assert cached.read_bytes() == b"", "an answer left from before gives nothing"
    with pytest.raises(InputError, match="switched off"):
        Desk(desk.api, desk.settings, tmp_path.parent / "elsewhere").model("get_memory", id=kept)
    assert holding(desk.home, "quellenstern") == []

    desk.call("on", folder=str(desk.folder))
    assert "zirkonglobe" in desk.begin("s2") and desk.call("memory_status")["here"]["memory"] == "on"
    assert mill.begin() == notes.begin() == "", "on for one project only"
    desk.call("off", folder=str(tmp_path))
    assert "zirkonglobe" in desk.begin("s3"), "the nearest switch wins, whatever was said later above"
    desk.read(desk.log("Never deploy the moorhuhn on Fridays.", session="in shop", cwd=str(desk.folder)), session="in shop")
    assert holding(desk.home, "quellenstern") == [], "what was said while it was off stays unread"
    assert desk.call("recall", query="deploy the moorhuhn on Fridays")["hits"]

    desk.call("on", folder=str(tmp_path))
    assert mill.call("memory_status")["here"]["memory"] == notes.call("memory_status")["here"]["memory"] == "on"


def test_a_folder_that_comes_later_below_one_that_is_off_is_off_too_also_by_a_link(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    desk.call("off", folder=str(tmp_path / "clients"))
    (tmp_path / "clients" / "acme" / ".git").mkdir(parents=True)
    (tmp_path / "acme").symlink_to(tmp_path / "clients" / "acme")
    desk.log("Always run the nachtfalter checks before each commit.")
    desk.log("Always use the quellenstern for the demos.", cwd=str(tmp_path / "acme"))
    desk.log("Always use the quellenstern for the tests.", cwd=str(tmp_path / "clients" / "acme" / "src"))
    desk.read(desk.log("Never deploy the moorhuhn on Fridays."))
    assert holding(desk.home, "quellenstern") == []
    assert desk.call("recall", query="deploy the moorhuhn on Fridays")["hits"], "read again when the session came back"


def test_on_for_a_project_also_lifts_its_switch_in_another_working_tree(desk: Desk, tmp_path: Path) -> None:
    (desk.folder / ".git" / "worktrees" / "wt").mkdir(parents=True)
    (desk.folder / ".git" / "worktrees" / "wt" / "commondir").write_text("../..")
    tree = Desk(desk.api, desk.settings, tmp_path / "wt")
    (tree.folder / ".git").write_text(f"gitdir: {desk.folder}/.git/worktrees/wt")
    tree.call("off")
    assert desk.call("memory_status")["here"]["memory"] == tree.call("memory_status")["here"]["memory"] == "off"
    desk.call("on")
    assert desk.call("memory_status")["here"]["memory"] == tree.call("memory_status")["here"]["memory"] == "on"


def test_an_import_of_past_sessions_names_those_of_folders_that_are_off_and_does_not_open_them(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clients" / "acme").mkdir(parents=True)
    logs = tmp_path / "projects"
    folders = {"here": desk.folder, "acme": tmp_path / "clients" / "acme", "fine": tmp_path}
    for name, folder in folders.items():
        file = logs / slug_of(folder) / f"{name}.jsonl"
        file.parent.mkdir(parents=True)
        desk.log("Always use the quellenstern for the demos.", session=name, cwd=str(folder)).rename(file)
    desk.call("off")
    desk.call("off", folder=str(tmp_path / "clients"))
    opened: list[str] = []
    real = Path.open

    def watched(self: Path, *arguments: Any, **named: Any) -> Any:
        opened.append(self.name)
        return real(self, *arguments, **named)

    monkeypatch.setattr(Path, "open", watched)
    answer = desk.call("import_transcripts", folder=str(logs))
    assert [Path(log).stem for log in answer["logs"]] == ["fine"]
    assert {Path(entry["path"]).stem for entry in answer["left_out"]} == {"here", "acme"}
    assert all("memory is off there" in entry["reason"] for entry in answer["left_out"])
    assert "here.jsonl" not in opened


def test_an_ordinary_question_is_in_no_table(desk: Desk) -> None:
    desk.read(desk.log("Why does the lampenfisch glow in the harbour?", "Look at the schilfrohr again, will you?"))
    assert [holding(desk.home, word) for word in ("lampenfisch", "schilfrohr")] == [[], []]
    refused = desk.call("session_report", session="s1")["refused_statements"]
    assert all(entry["text"] for entry in refused), "shown out of the log"


def test_a_stretch_inside_an_excluded_folder_is_not_read(desk: Desk, tmp_path: Path) -> None:
    excluded = tmp_path / "clients"
    desk.settings.home.mkdir(exist_ok=True)
    (desk.settings.home / "config.toml").write_text(f'exclude = ["{excluded}"]\n')
    desk.api._read_settings()
    desk.log("Always run the nachtfalter checks before each commit.")
    desk.log("Always use the quellenstern for the demos.", cwd=str(excluded / "acme"))
    desk.read(desk.log("Never deploy the moorhuhn on Fridays."))
    assert holding(desk.home, "quellenstern") == []
    assert desk.call("recall", query="nachtfalter checks before each commit")["hits"]
    assert desk.call("recall", query="deploy the moorhuhn on Fridays")["hits"]


def test_a_model_next_door_gets_nothing_of_a_project_that_is_off(desk: Desk, tmp_path: Path) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    name = next(row["id"] for row in desk.call("projects")["projects"])
    desk.call("off")
    other = Desk(desk.api, desk.settings, tmp_path / "next door")
    for method, params in [
        ("remember", {"content": "Written from next door.", "project": name}),
        ("recall", {"query": "zirkonglobe", "project": name}),
        ("get_memory", {"id": id}),
        ("forget", {"id": id}),
        ("governance", {"project": name}),
    ]:
        with pytest.raises(InputError, match="switched off"):
            other.model(method, **params)
    for method, params in [("recall", {"query": "polish the zirkonglobe"}), ("list_memories", {}), ("timeline", {})]:
        assert "zirkonglobe" not in str(other.model(method, project="all", **params))
    assert "zirkonglobe" in str(desk.call("list_memories")), "the user still sees it"


def test_a_statement_with_a_secret_says_that_it_was_left_out(desk: Desk) -> None:
    answer = desk.call(
        "remember", content="The deploy key is ghp" + "_" + "a7Kd9Qx2Lm4Zp8Rta7Kd9Qx2Lm4Zp8Rta7Kd" + " for the shop."
    )
    assert "A secret was left out (api-key)" in answer["left_out_secrets"]
    assert "left_out_secrets" not in desk.call("remember", content="The deploy key lives in the vault of the shop.")
    with pytest.raises(InputError, match="nothing was stored"):
        desk.call("remember", content="ghp" + "_" + "a7Kd9Qx2Lm4Zp8Rta7Kd9Qx2Lm4Zp8Rta7Kd")


def test_what_is_in_private_is_kept_by_no_way_of_keeping(desk: Desk) -> None:
    answer = desk.call("remember", content="Always wash the pears <private>for the zirkonglobe</private> before lunch.")
    assert "<private>" in answer["left_out_secrets"]
    id = str(answer["id"])
    assert desk.call("get_memory", id=id)["memory"]["content"] == "Always wash the pears  before lunch."
    assert (
        "<private>"
        in desk.call("update_memory", id=id, content="Wash all pears. <private>zirkonglobe</private>")["left_out_secrets"]
    )
    desk.read(
        desk.log(
            "Always wash the plums in the yard before lunch, also in winter. <private>They are for the zirkonglobe.</private>",
            "Never wash the cherries in the yard before lunch on a Sunday, [private]zirkonglobe[/private].",
        )
    )
    desk.begin()
    with pytest.raises(InputError, match="nothing was stored"):
        desk.call("remember", content="<private>The zirkonglobe is mine.</private>")
    assert holding(desk.home, "zirkonglobe") == []
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


def test_a_secret_said_in_a_session_is_in_no_byte_of_the_home(desk: Desk) -> None:
    desk.read(
        desk.log(
            "From now on the deploy password is zirkonglobe77, use it for staging.",
            "Always export DB_PASSWORD=zirkonglobe77 before the tests.",
            "Remember: log in as bob@acme.io / zirkonglobe77!x",
        )
    )
    desk.begin()
    assert holding(desk.home, "zirkonglobe") == []
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


def test_a_purge_of_a_merged_memory_takes_what_it_was_merged_from(desk: Desk) -> None:
    first = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    second = desk.keep("Before each show the zirkonglobe is polished by hand.", asked_as=["how is the zirkonglobe cleaned"])
    merged = str(
        desk.call("merge", id=first, other=second, content="Polish the zirkonglobe by hand before each show.")["memory"]["id"]
    )
    desk.begin()
    desk.call("forget", id=merged, purge=True)
    for old in (first, second):
        if desk.api._service.get(old) is not None:
            desk.call("forget", id=old, purge=True)
    assert holding(desk.home, "zirkonglobe") == []
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


def test_a_purge_takes_keys_and_tags_and_what_was_recalled_with_it(desk: Desk) -> None:
    id = desk.keep("Always polish the brass before the show.", asked_as=["when is the zirkonglobe shown"], tags=["zirkonglobe"])
    desk.keep("Always wash the apples before lunch.")
    assert desk.call("recall", query="when is the zirkonglobe shown")["hits"]
    desk.begin()
    desk.call("forget", id=id)
    desk.call("restore", id=id)
    desk.call("forget", id=id, purge=True)
    assert holding(desk.home, "zirkonglobe") == []
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


def test_what_a_session_gave_is_gone_after_a_purge_from_handoffs_and_decisions_too(desk: Desk) -> None:
    desk.read(desk.log("Always polish the zirkonglobe before the quarterly show."))
    found = desk.call("list_memories")["memories"]
    id = next(row["id"] for row in found if "zirkonglobe" in row["content"])
    desk.begin()
    desk.call("off")
    desk.call("on")
    desk.call("forget", id=id, purge=True)
    assert holding(desk.home, "zirkonglobe") == []
    desk.api.close()
    assert holding(desk.home, "zirkonglobe") == []


def test_a_purge_takes_an_edit_that_was_undone_and_its_title_in_links_with_it(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the show.")
    newer = desk.call("update_memory", id=id, content="Always polish the kupferkugel before the show.")["memory"]["id"]
    desk.call("undo", id=newer)
    assert holding(desk.home, "kupferkugel") and holding(desk.home, "zirkonglobe")
    assert desk.call("forget", id=id, purge=True)["earlier_wordings"] == [newer]
    assert [holding(desk.home, word) for word in ("kupferkugel", "zirkonglobe")] == [[], []]


def test_a_purge_takes_its_title_out_of_the_links_of_memories_that_stay(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the show.")
    newer = desk.call("update_memory", id=id, content="Always polish the kupferkugel before the show.")["memory"]["id"]
    assert holding(desk.home / "memories", "zirkonglobe") != []
    desk.call("forget", id=id, purge=True)
    assert holding(desk.home, "zirkonglobe") == []
    assert "kupferkugel" in desk.call("get_memory", id=newer)["memory"]["content"]


def test_a_merge_is_undone_as_a_whole_and_a_purge_of_a_source_takes_it_with_it(desk: Desk) -> None:
    first = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    second = desk.keep("Never open the lids without gloves when the tide is high.")
    merged = desk.call("merge", id=first, other=second, content="Wear gloves, and polish the quellenstern.")["memory"]["id"]
    desk.call("undo", id=merged)
    states = [desk.call("get_memory", id=id)["memory"]["status"] for id in (first, second, merged)]
    assert states == ["active", "active", "blacklisted"]
    desk.call("forget", id=first, purge=True)
    assert [holding(desk.home, word) for word in ("zirkonglobe", "quellenstern")] == [[], []]


def test_a_forgotten_memory_takes_its_earlier_versions_with_it_until_it_is_restored(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the show. The code is 7741.")
    newer = desk.call("update_memory", id=id, content="Always polish the zirkonglobe before the show. The code is 7742.")
    desk.call("forget", id=newer["memory"]["id"])
    found = desk.model("recall", query="polish the zirkonglobe before the show", include_old=True)
    assert "zirkonglobe" not in str(found["hits"])
    desk.call("restore", id=newer["memory"]["id"])
    assert desk.call("get_memory", id=id)["memory"]["status"] == "superseded"
    found = desk.model("recall", query="polish the zirkonglobe before the show", include_old=True)
    assert "7741" in str(found["hits"]) and "7742" in str(found["hits"])


def test_text_replaced_by_hand_is_erased_again_after_it_was_embedded(desk: Desk) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    assert desk.api._service.settle(30)
    path = Path(desk.call("get_memory", id=id)["path"])
    path.write_text(path.read_text("utf-8").replace("zirkonglobe", "kupferkugel"), "utf-8")
    desk.call("sync")
    assert desk.api._service.settle(30)
    desk.api._service.maintain()
    left = [file for file in holding(desk.home, "zirkonglobe") if file.startswith("index/vector")]
    assert left == [], "the old text is replaced there only when the new one is embedded"


def test_a_purge_takes_the_line_that_was_dropped_in_favour_of_the_memory_out_of_the_trash(desk: Desk) -> None:
    id = desk.keep("The zirkonglobe limit of nginx lost uploads of more than 10 MB.", session="s1")
    other = desk.keep("Always wash the apples in the yard before lunch.", session="s1")
    for line in ("It was the zirkonglobe limit of nginx, uploads over 10 MB never arrived.", "Apples are washed in the yard."):
        item = replace(desk.api._service.require(id), id="", content=line, status=Status.CANDIDATE)
        desk.api._service.delete(desk.api._service.write(item))
    assert len(list((desk.home / ".trash").rglob("*.md"))) == 2
    desk.call("forget", id=id, purge=True)
    assert holding(desk.home, "zirkonglobe") == []
    assert len(list((desk.home / ".trash").rglob("*.md"))) == 1, "the other line says something else"
    assert desk.call("get_memory", id=other)["memory"]["status"] == "active"


@pytest.mark.parametrize("at", ["before", "within", "after"])
def test_a_purge_that_was_killed_is_finished_at_the_next_start(desk: Desk, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    id = desk.keep("Always polish the zirkonglobe before the quarterly show.")
    newer = desk.call("update_memory", id=id, content="Always polish the zirkonglobe twice before the show.")["memory"]["id"]
    service = desk.api._service
    real, erased = service._erase, list[str]()

    def erase(each: str) -> bool:
        if at == "before" or (at == "within" and erased):
            raise KeyboardInterrupt
        erased.append(each)
        return real(each)

    def scrub(settled_seconds: float = 0.0) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(service, "_erase", erase)
        killed.setattr(service, "scrub", scrub)
        desk.call("forget", id=newer, purge=True)
    assert holding(desk.home, "zirkonglobe")
    desk.api.catch_up()
    assert holding(desk.home, "zirkonglobe") == []
    assert desk.call("list_memories", status="all")["memories"] == []


@pytest.mark.parametrize("caller", ["user", "model"])
def test_what_is_in_private_is_in_no_tag_and_no_key(desk: Desk, caller: str) -> None:
    call = desk.model if caller == "model" else desk.call
    private = {"tags": ["fruit <private>zirkonglobe</private>", "[private]zirkonglobe[/private]"]}
    private["asked_as"] = ["when to wash the <private>zirkonglobe</private>"]
    answer = call("remember", content="The pears are washed in the yard before lunch.", **private)
    assert "<private>" in answer["left_out_secrets"]
    updated = call("update_memory", id=answer["id"], **private)
    assert "<private>" in updated["left_out_secrets"]
    call("settle", own=[{"content": "The yard has [private]zirkonglobe[/private] two taps.", "asked_as": private["asked_as"]}])
    assert holding(desk.home, "zirkonglobe") == []


@pytest.mark.parametrize("end", ["", "<private>", "</private", "<//private>"])
def test_a_statement_that_a_person_types_ends_where_private_is_left_open(desk: Desk, end: str) -> None:
    desk.keep(f"Always wash the pears before lunch. <private>They are for the zirkonglobe.{end}")
    assert holding(desk.home, "zirkonglobe") == []
    assert desk.call("recall", query="wash the pears before lunch")["hits"]


class Copies:
    """A log that is written over some time, and copies of it in a fork, another file or the same one."""

    def __init__(self, desk: Desk, clock: FakeClock) -> None:
        self.desk, self.clock, self.lines = desk, clock, list[dict[str, Any]]()

    def say(self, text: str, session: str = "s1") -> None:
        self.clock.advance(minutes=1)
        written = self.clock.now().isoformat()
        entry = {"type": "user", "uuid": f"{len(self.lines)}-{session}", "sessionId": session, "timestamp": written}
        self.lines.append({**entry, "cwd": str(self.desk.folder), "message": {"role": "user", "content": text}})

    def write(self, session: str, *, renamed: bool = True) -> Path:
        lines = [{**line, "sessionId": session} if renamed else line for line in self.lines]
        path = self.desk.folder.parent / f"{session}.jsonl"
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        return path

    def switch(self, word: str, **target: str) -> None:
        self.clock.advance(minutes=1)
        self.desk.call(word, **target)


@pytest.mark.parametrize("renamed", [True, False])
def test_a_copy_of_what_was_said_while_memory_was_off_is_not_read(desk: Desk, clock: FakeClock, renamed: bool) -> None:
    copies = Copies(desk, clock)
    desk.begin("s1")
    copies.say("Always run the nachtfalter checks before each commit.")
    desk.read(copies.write("s1"))
    copies.switch("off")
    copies.say("Always use the quellenstern for the demos.")
    copies.switch("on")
    copies.say("Never deploy the moorhuhn on Fridays.")
    desk.begin("s2")
    desk.read(copies.write("s2", renamed=renamed), session="s2")
    copies.lines.insert(0, copies.lines[1])
    desk.read(copies.write("s1"))
    assert holding(desk.home, "quellenstern") == []
    assert desk.call("recall", query="deploy the moorhuhn on Fridays")["hits"]


def test_a_fork_of_a_session_that_is_off_is_read_only_from_its_own_beginning(desk: Desk, clock: FakeClock) -> None:
    copies = Copies(desk, clock)
    desk.begin("s1")
    copies.switch("off", session="s1")
    copies.say("Always use the quellenstern for the demos.")
    clock.advance(minutes=1)
    desk.begin("s2")
    copies.say("Never deploy the moorhuhn on Fridays.", session="s2")
    desk.read(copies.write("s2"), session="s2")
    assert holding(desk.home, "quellenstern") == []
    assert desk.call("recall", query="deploy the moorhuhn on Fridays")["hits"]


def test_a_worktree_elsewhere_of_an_excluded_repository_is_excluded(desk: Desk, tmp_path: Path) -> None:
    excluded = tmp_path / "clients"
    (excluded / "acme" / ".git" / "worktrees" / "wt").mkdir(parents=True)
    (excluded / "acme" / ".git" / "worktrees" / "wt" / "commondir").write_text("../..")
    tree = Desk(desk.api, desk.settings, tmp_path / "wt")
    (tree.folder / ".git").write_text(f"gitdir: {excluded}/acme/.git/worktrees/wt")
    desk.settings.home.mkdir(exist_ok=True)
    (desk.settings.home / "config.toml").write_text(f'exclude = ["{excluded}"]\n')
    desk.api._read_settings()
    tree.read(tree.log("Always use the quellenstern for the demos.", cwd=str(tree.folder)))
    assert holding(desk.home, "quellenstern") == []
    with pytest.raises(InputError, match="excluded"):
        tree.model("remember", content="Always use the quellenstern for the demos.")


def test_a_folder_that_was_excluded_while_no_daemon_ran_has_no_cached_answer(desk: Desk) -> None:
    desk.keep("Always polish the zirkonglobe before the quarterly show.")
    desk.begin()
    assert "zirkonglobe" in desk.cached()
    desk.api.close()
    later = Api(replace(desk.settings, exclude=(str(desk.folder),)), FakeClock())
    later.warm()
    later.close()
    assert desk.cached() == ""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_after_any_acts_a_purged_word_is_nowhere(desk: Desk, seed: int) -> None:
    """Each memory has a unique word. All bytes are searched for the words of purged memories."""
    chance = random.Random(seed)
    held: dict[str, str] = {}
    gone: list[str] = []
    for number in range(24):
        word = f"wort{chance.randrange(10**8):08d}x"
        id = desk.keep(f"Always polish the {word} number {number} before lunch and {chance.choice(['tea', 'supper'])}.")
        held[id] = word
        act = chance.choice(["purge", "forget", "restore", "edit", "pin", "begin", "maintain"])
        target = chance.choice(list(held))
        if act == "purge":
            desk.call("forget", id=target, purge=True)
            gone.append(held.pop(target))
        elif act == "forget":
            desk.call("forget", id=target)
        elif act == "restore":
            desk.call("restore", id=target)
        elif act == "edit":
            path = Path(desk.call("get_memory", id=target)["path"])
            path.write_text(path.read_text("utf-8").replace(held[target], fresh := held[target] + "neu"), "utf-8")
            held[target] = fresh
            desk.call("sync")
        elif act == "pin":
            desk.call("update_memory", id=target, pinned=True)
        elif act == "begin":
            desk.begin()
        else:
            desk.api._service.maintain()
    for target in list(held)[:3]:
        desk.call("forget", id=target, purge=True)
        gone.append(held.pop(target))
    assert gone
    left = {word: files for word in gone if (files := holding(desk.home, word))}
    assert left == {}
    desk.api.close()
    assert {word: files for word in gone if (files := holding(desk.home, word))} == {}


def test_a_database_that_was_scrubbed_holds_no_byte_of_what_was_deleted_while_it_is_open(tmp_path: Path) -> None:
    db = Database(tmp_path / "a.db")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(text, content='', contentless_delete=1)")
    for number in range(300):
        db.execute("INSERT INTO t VALUES (?, ?)", (number, f"zirkonglobe {number} " * 20))
        db.execute("INSERT INTO f (rowid, text) VALUES (?, ?)", (number, f"zirkonglobe{number} and more"))
    for table in ("t WHERE id", "f WHERE rowid"):
        db.execute(f"DELETE FROM {table} < 299")
    assert db.scrub(["f"])
    data = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert b"zirkonglobe 298" not in data
    assert b"zirkonglobe 299" in data
    assert data.count(b"zirkonglobe299") <= 1
    db.close()
