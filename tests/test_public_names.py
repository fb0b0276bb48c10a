from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import memeval
import memoryd

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("package", [memoryd, memeval])
def test_every_public_name_can_be_imported_and_is_listed(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))


@pytest.mark.parametrize("package", [memoryd, memeval])
def test_a_name_that_is_not_public_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Subgraph'"):
        _ = package.Subgraph


@pytest.mark.parametrize("package", ["memoryd", "memeval"])
def test_importing_a_package_loads_none_of_its_parts(package: str) -> None:
    code = f"import sys, {package}; print([name for name in sys.modules if name.startswith(('memeval.', 'memoryd.'))])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_python_dash_m_runs_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "memeval", "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("memeval, version ")
