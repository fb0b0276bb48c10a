"""Modules loaded by a command: none for --version and --help, and never the daemon's stores and models."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd import __version__
from memoryd.cli import HELP_COLUMNS
from memoryd.cli.app import app, command_names

ROOT = Path(__file__).parents[3]
HEAVY = "numpy apsw onnxruntime tokenizers networkx mcp openai rich uvicorn starlette pydantic".split()
HEAVY_OURS = (
    "memoryd.service",
    "memoryd.stores",
    "memoryd.daydream.re",
    "memoryd.daydream.secret",
    "memoryd.dream.",
    "memoryd.recall.injection",
    "memoryd.core.state",
)


def start(*arguments: str, columns: int = HELP_COLUMNS, before: str = "") -> tuple[str, set[str]]:
    """Return the program's output, and the modules it loaded in addition to those of a bare Python."""
    script = (
        "import sys; bare = set(sys.modules)\n"
        f"sys.argv = ['memoryd', *{arguments!r}]\n{before}\n"
        "from memoryd.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stdout.flush()\nsys.stderr.write('\\n'.join(sorted(set(sys.modules) - bare)))\n"
    )
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout, set(done.stderr.split())


@pytest.mark.parametrize("option", ["--version", "--help", "-h"])
def test_version_and_help_load_nothing(option: str) -> None:
    printed, loaded = start(option)
    assert loaded == {"memoryd", "memoryd.cli"}
    assert printed.startswith(f"memoryd, version {__version__}" if option == "--version" else "Usage: memoryd [OPTIONS] COMMAND")


def test_the_help_that_is_printed_at_once_is_the_one_that_the_commands_give() -> None:
    path = ROOT / "docs" / "generate.py"
    spec = importlib.util.spec_from_file_location("docs_generate", path)
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert start("--help")[0] == generator.root_help(), "run: make docs"


def test_a_narrow_terminal_gets_a_help_that_fits() -> None:
    printed, _ = start("--help", columns=60)
    assert max(map(len, printed.splitlines())) < 60


def test_a_version_that_cannot_be_written_is_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs a device that is always full")
    with Path("/dev/full").open("w") as full:
        call = [sys.executable, "-m", "memoryd", "--version"]
        done = subprocess.run(call, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "can't be written" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "search",
        "hook",
        "status",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("list", "remember", "dream", "config", "restore")),
    ],
)
def test_a_command_loads_no_store_and_no_model(command: str) -> None:
    _, loaded = start(command, "--help")
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert not [name for name in loaded if name.startswith(HEAVY_OURS)]


def test_every_command_can_be_loaded_by_its_name() -> None:
    assert sorted(app().commands) == command_names()
