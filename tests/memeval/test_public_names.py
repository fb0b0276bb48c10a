from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import memeval

ROOT = Path(__file__).parents[2]


def test_every_public_name_can_be_imported_and_is_listed() -> None:
    for name in memeval.__all__:
        assert getattr(memeval, name) is not None
    assert set(memeval.__all__) <= set(dir(memeval))
    assert sorted(memeval.__all__) == sorted(memeval._PLACE_OF)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    assert not hasattr(memeval, "Subgraph")


def test_importing_the_package_loads_none_of_its_parts() -> None:
    code = "import sys, memeval; print([name for name in sys.modules if name.startswith('memeval.')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_python_dash_m_runs_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "memeval", "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memeval, version ")
