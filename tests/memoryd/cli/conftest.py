"""The command line with a real daemon in a scratch home, one per module."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memoryd.cli.app import app
from memoryd.core.paths import Paths
from memoryd.daemon.client import Client


@dataclass
class Terminal:
    """Runs commands in a project folder."""

    home: Path
    folder: Path

    @property
    def paths(self) -> Paths:
        return Paths(self.home)

    def run(self, *arguments: str, code: int = 0) -> Result:
        environment = {
            "MEMORYD_HOME": str(self.home),
            "MEMORYD_EMBEDDER": "hash",
            "MEMORYD_FLOOR": "0.3",
            "MEMORYD_LEASE_MINUTES": "2",
        }
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            result = CliRunner().invoke(app(), list(arguments), env=environment)
        finally:
            os.chdir(here)
        assert result.exit_code == code, result.output + repr(result.exception)
        return result

    def json(self, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    base = tmp_path_factory.mktemp("cli")
    (base / "shop").mkdir()
    made = Terminal(base / "home", base / "shop")
    yield made
    Client(made.paths).stop(60)
