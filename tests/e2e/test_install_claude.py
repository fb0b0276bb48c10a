"""`memoryd install-claude` from an installed wheel, with the real client: the plugin remembers, and `--undo` removes it."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from memoryd.daemon.client import Client
from tests.e2e.conftest import World, claude_binary
from tests.e2e.model_server import conversation, say
from tests.e2e.test_first_start import checkout

pytestmark = pytest.mark.e2e
RULE = "From now on always run `make lint-docs` before you commit."


def installed_wheel(folder: Path) -> Path:
    """Build the wheel and install it in an environment that uses the dependencies of the test environment."""
    wheels = folder / "wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels)]
    subprocess.run([*build, str(checkout(folder / "source"))], check=True)
    (wheel,) = wheels.glob("memoryd-*.whl")
    environment = folder / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return environment / "bin" / "memoryd"


def plugins(world: World) -> list[str]:
    listed = subprocess.run(
        [claude_binary(), "plugin", "list", "--json"],
        env=world.environment,
        capture_output=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return [entry["id"] for entry in json.loads(listed.stdout) if not entry["id"].endswith("@builtin")]


def test_a_package_installs_its_plugin_which_remembers_and_can_be_removed(world: World) -> None:
    world.model.brain = lambda body: [say("Understood.")]
    world.drop.add("MEMORYD_PYTHON")
    world.plugin_flags = []
    world.extra["MEMORYD_CLAUDE_COMMAND"] = claude_binary()
    command = installed_wheel(world.folder)

    def memoryd(*arguments: str) -> str:
        done = subprocess.run([str(command), *arguments], env=world.environment, cwd=world.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    would = memoryd("install-claude", "--dry-run")
    assert plugins(world) == []
    assert memoryd("install-claude") == would.replace("would: ", "")
    assert memoryd("install-claude") == ""
    assert plugins(world) == ["memoryd@memoryd"]

    repo = world.repository("shop")
    world.run(RULE, repo)
    world.wait_for_daydreams()
    _, pid = Client(world.paths).ping()
    if (process := Path(f"/proc/{pid}/cmdline")).exists():
        assert process.read_text().startswith(str(command.with_name("python")))
    world.model.requests.clear()
    world.run("Please prepare the commit.", repo)
    assert "make lint-docs" in conversation(world.model.main_requests()[0])

    memoryd("install-claude", "--undo")
    assert plugins(world) == []
    assert memoryd("list", "--project", "all", "--json").count("lint-docs") == 1
