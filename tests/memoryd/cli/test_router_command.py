"""`memoryd router`."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.memoryd.cli.conftest import Terminal


@pytest.mark.slow
def test_a_router_is_trained_shown_and_a_broken_one_is_named_by_the_doctor(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.json("router", "show")["used"] == "rules"
    rows = {
        "format": 1,
        "graph": [f"please show number {n} neighbourhood" for n in range(20)],
        "markdown": [f"kindly fetch item {n} verbatim" for n in range(20)],
    }
    labels = tmp_path / "labels.json"
    labels.write_bytes(orjson.dumps(rows))
    aside = terminal.json("router", "train", "--labels", str(labels), "--out", str(tmp_path / "aside.json"))
    assert aside["beat_rules"] and aside["used"] == "rules" and (tmp_path / "aside.json").is_file()
    assert "used: learned" in terminal.run("router", "train", "--labels", str(labels)).stdout
    assert "beat the rules" in terminal.run("router", "show").stdout
    file = terminal.paths.router
    stored = orjson.loads(file.read_bytes())
    assert stored["used"] and {"learned", "rules", "p"} <= stored["scores"].keys()
    file.write_text("{")
    terminal.run("router", "train", "--out", str(tmp_path / "aside.json"))
    report = terminal.json("doctor", code=1)
    assert any(check["name"] == "router" and "ignored" in check["detail"] and check["fix"] for check in report["checks"])
    file.unlink()


def test_labels_that_are_missing_are_named(terminal: Terminal) -> None:
    assert "missing.json" in terminal.run("router", "train", "--labels", "missing.json", code=2).output
