"""First start with only Python: the plugin builds its environment during the first session and loses nothing of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, World
from tests.e2e.model_server import conversation, say

pytestmark = pytest.mark.e2e
BUILD_SECONDS = 900.0


def checkout(folder: Path) -> Path:
    """Copy only the tracked files, without a virtual environment that the launcher could use."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target)
    return folder


def setup_state(world: World) -> str:
    found = list((world.folder / ".claude").rglob("setup.json"))
    return str(json.loads(found[0].read_text())["state"]) if found else "none"


def wait_until_ready(world: World) -> None:
    deadline = time.monotonic() + BUILD_SECONDS
    while (state := setup_state(world)) not in ("ready", "failed"):
        assert time.monotonic() < deadline, f"the setup is still '{state}'"
        time.sleep(1)
    log = world.paths.logs / "launcher.log"
    assert state == "ready", log.read_text() if log.exists() else "no log"


def test_the_first_session_is_not_held_up_and_the_second_one_knows_it(world: World) -> None:
    world.model.brain = lambda body: [say("Understood.")]
    world.drop.add("MEMORYD_PYTHON")
    source = checkout(world.folder / "plugin-source")
    world.install_plugin(source)
    repo = world.repository("shop")

    started = time.monotonic()
    world.run("From now on always run `make lint-docs` before you commit.", repo)
    assert time.monotonic() - started < 30 or setup_state(world) not in ("ready", "failed")  # A busy machine is itself slow.
    wait_until_ready(world)

    world.run("Is the setup done?", repo)
    world.wait_for_daydreams()
    world.model.requests.clear()
    world.run("Please prepare the commit.", repo)
    assert "make lint-docs" in conversation(world.model.main_requests()[0])
