from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.daemon.logs import FLOOD_LINES, LIMIT_BYTES, start_log, stop_log


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "logs" / "daemon.log"
    before = {name: logging.getLogger(name).level for name in ("", "memoryd")}
    handler = start_log(path, "info")
    yield path
    stop_log(handler)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


def test_the_log_is_private_and_keeps_to_its_level(log: Path) -> None:
    logging.getLogger("memoryd.x").info("told")
    logging.getLogger("memoryd.x").debug("not told")
    logging.getLogger("mcp.server").info("not told")
    text = log.read_text()
    assert "INFO memoryd.x: told" in text and "not told" not in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "secret", ["sk-ant-api03-abcdefghijkl", "ghp_abcdefghijklmnop1234", "Bearer abc.def", "token=abcdef123", "password=hunter22"]
)
def test_what_looks_like_a_secret_is_masked_in_tracebacks_too(log: Path, secret: str) -> None:
    try:
        raise ValueError(f"refused {secret} by the server")
    except ValueError:
        logging.getLogger("memoryd.x").exception("failed with %s", secret)
    value = secret.split("=")[-1].split(" ")[-1]
    assert value not in log.read_text() and "ValueError" in log.read_text()


def test_the_words_in_names_of_memory_files_are_left_out(log: Path) -> None:
    path = "/v/notes/never-pet-the-otter-mem_0123456789ab.md"
    logging.getLogger("memoryd.x").warning("can't read %s", path)
    try:
        raise FileNotFoundError(path)
    except FileNotFoundError:
        logging.getLogger("memoryd.x").exception("gone")
    text = log.read_text("utf-8")
    assert "otter" not in text and text.count("/mem_0123456789ab.md") == 2


def test_a_large_log_is_rotated_into_private_files(log: Path) -> None:
    for _ in range(3):
        logging.getLogger("memoryd.x").info("x" * (LIMIT_BYTES // 2))
    rotated = log.with_name("daemon.log.1")
    assert rotated.exists() and stat.S_IMODE(rotated.stat().st_mode) == 0o600
    assert log.stat().st_size < LIMIT_BYTES


def test_a_line_that_repeats_does_not_fill_the_log(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(500):
        logging.getLogger("memoryd.x").warning("can't accept: %s", n)
        logging.getLogger("memoryd.y").warning("another %s", "line") if n == 400 else None
    assert log.read_text().count("can't accept") == FLOOD_LINES
    assert "another line" in log.read_text()
    monkeypatch.setattr("memoryd.daemon.logs.FLOOD_SECONDS", 0)
    logging.getLogger("memoryd.x").warning("can't accept: %s", "again")
    assert "can't accept: again [480 similar lines skipped]" in log.read_text()
