"""Things in the folders of clients that are no logs, or no files at all, stop neither a search for logs nor a read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.clients.base import System
from memoryd.clients.gemini_log import folder_of, without_context
from memoryd.clients.registry import CLIENTS, client_of_log, log_status, open_log
from memoryd.core.errors import TranscriptError
from memoryd.core.files import read_regular
from memoryd.core.state import Cursor
from memoryd.daydream.transcript import first_folder, read_transcript
from tests.costs import assert_linear
from tests.deep_folders import deep_folders

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
CLAUDE = "projects/-work/{}.jsonl"
CODEX = "sessions/2026/11/29/rollout-2026-11-29T10-00-00-{}.jsonl"
GEMINI = "tmp/a/chats/session-{}.jsonl"
LOGS = {
    "claude-code": f".claude/{CLAUDE}",
    "codex": f".codex/{CODEX}",
    "gemini": f".gemini/{GEMINI}",
    "gemini, old": f".gemini/{GEMINI.removesuffix('l')}",
}
ODD: dict[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
}


def place(home: Path, client: str, id: str) -> Path:
    path = home / LOGS[client].format(id)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def past_logs(home: Path, client: str) -> list[Path]:
    name = client.partition(",")[0]
    return list(next(each for each in CLIENTS if each.name == name).past_logs(System(home, {}, lambda _name: None)))


@pytest.mark.parametrize("client", LOGS)
@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_regular_file_is_no_past_log_and_is_not_read(tmp_path: Path, client: str, odd: str) -> None:
    good = place(tmp_path, client, "00000000-0000-4000-8000-000000000001")
    good.write_text("{}\n")
    bad = place(tmp_path, client, "00000000-0000-4000-8000-000000000002")
    ODD[odd](bad)
    assert past_logs(tmp_path, client) == [good]
    with pytest.raises(TranscriptError):
        read_transcript(bad, Cursor(str(bad)))
    with pytest.raises(OSError):
        open_log(bad).read()
    assert first_folder(str(bad)) == ""
    assert client_of_log(bad).session_of(bad)


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_logs_are_found_beside_any_number_of_folders_in_folders(tmp_path: Path, client: str) -> None:
    good = place(tmp_path, client, "00000000-0000-4000-8000-000000000001")
    good.write_text("{}\n")
    with deep_folders(good.parent):
        assert past_logs(tmp_path, client) == [good]


@pytest.mark.parametrize("name", ["a/.project_root", "../projects.json"])
def test_a_pipe_in_place_of_gemini_s_own_files_names_no_folder(tmp_path: Path, name: str) -> None:
    home = tmp_path / "tmp"
    (home / "a").mkdir(parents=True)
    os.mkfifo(home / name)
    assert folder_of(home / "a") == ""


def test_a_log_whose_place_a_pipe_takes_after_a_look_at_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place(tmp_path, "claude-code", "s")
    path.write_text("{}\n")
    status = log_status(path)
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(Path, "is_file", lambda _path: True)
    monkeypatch.setattr(Path, "stat", lambda _path, **_arguments: os.stat_result((0o100644, *[1] * 9)))
    assert status.size == 3
    for read in (open_log, lambda found: read_regular(found, 10)):
        with pytest.raises(OSError, match="not a regular file"):
            read(path)


def test_many_contexts_before_a_prompt_are_removed_in_linear_time() -> None:
    def remove(text: str) -> None:
        assert without_context(text) == "Use ruff."

    unit = "<hook_context></hook_context>\n"
    assert_linear(remove, lambda characters: unit * (characters // len(unit)) + "Use ruff.", 300_000)
