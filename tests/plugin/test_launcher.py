"""The launcher: which environment runs memoryd, and how it is built. A fake `uv` creates fake environments."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.fake_daemon import BOUND_SECONDS, base_env, real_python
from tests.plugin.conftest import copy_whole_plugin
from tests.waiting import until

FAKE_PYTHON = f'#!/bin/sh\\n[ "$2" = -c ] && exit 0\\n[ "$2" = -S ] && exec {real_python()} "$@"\\necho "ran: $*"\\n'
FAKE_UV = f"""#!/bin/sh
echo "$*" >>"$CALLS"
if [ "$1" = venv ]; then
    for folder; do :; done
    mkdir -p "$folder/bin"
    printf '{FAKE_PYTHON}' >"$folder/bin/python"
    chmod +x "$folder/bin/python"
else
    [ -z "$FAIL" ] || {{ echo "no space left"; exit 1; }}
    for source; do :; done
    ls "$source" >"$CALLS.source"
    while [ -e "$HOLD" ]; do sleep 0.02; done
fi
"""


class Launchers:
    """Runs `bin/memoryd` of a copied plugin without an environment."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.data = folder / "data"
        self.hold = folder / "hold"
        self.calls_file = folder / "calls"
        self.plugin = copy_whole_plugin(folder / "the plugin")
        tools = folder / "bin"
        tools.mkdir()
        self.uv = tools / "uv"
        self.uv.write_text(FAKE_UV)
        self.uv.chmod(0o755)
        extra = {"PATH": f"{tools}:{os.environ['PATH']}", "CALLS": str(self.calls_file), "HOLD": str(self.hold)}
        self.env = {**base_env(self.home, self.data), **extra}

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        command = [str(self.plugin / "plugin" / "bin" / "memoryd"), *arguments]
        pipe = subprocess.PIPE
        full = {**self.env, **env}
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=full, start_new_session=True)

    def run(self, *arguments: str, **env: str) -> tuple[int, str, str]:
        process = self.start(*arguments, **env)
        out, err = process.communicate(timeout=BOUND_SECONDS)
        return process.returncode, out, err

    def builds(self) -> int:
        """Count the started builds."""
        return (
            sum(line.startswith("venv ") for line in self.calls_file.read_text().splitlines()) if self.calls_file.exists() else 0
        )

    def environments(self) -> list[str]:
        return sorted(path.name for path in self.data.glob("venv-*"))

    def status(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.data / "setup.json").read_text())
        return value

    def wait_for_install(self) -> None:
        until(self.calls_file.with_name("calls.source").exists)


@pytest.fixture
def launchers(tmp_path: Path) -> Iterator[Launchers]:
    made = Launchers(tmp_path)
    yield made
    made.hold.unlink(missing_ok=True)


def test_the_first_run_builds_the_environment_and_later_ones_use_it(launchers: Launchers) -> None:
    assert launchers.run("status", "--json")[:2] == (0, "ran: -I -m memoryd status --json\n")
    assert launchers.run("daemon")[:2] == (0, "ran: -I -m memoryd daemon\n")
    assert (launchers.builds(), launchers.status()["state"]) == (1, "ready")
    assert "is ready" in (launchers.data / "announce").read_text()


def test_nothing_is_left_in_the_plugin_folder_or_beside_the_environment(launchers: Launchers) -> None:
    before = sorted(launchers.plugin.rglob("*"))
    launchers.run("status")
    assert sorted(launchers.plugin.rglob("*")) == before
    expected = {"announce", "python", "setup.json", "setup.lock", *launchers.environments()}
    assert {path.name for path in launchers.data.iterdir()} == expected


def test_the_package_is_built_from_a_copy_of_the_sources(launchers: Launchers) -> None:
    launchers.run("status")
    assert launchers.calls_file.with_name("calls.source").read_text().split() == ["memoryd", "pyproject.toml"]
    assert str(launchers.plugin) not in launchers.calls_file.read_text()


def test_two_sessions_at_once_build_once(launchers: Launchers) -> None:
    launchers.hold.touch()
    first = launchers.start("daemon")
    launchers.wait_for_install()
    code, _, said = launchers.run("daemon")
    assert (code, "another process" in said) == (75, True)
    waiting = launchers.start("status")
    launchers.hold.unlink()
    assert first.communicate(timeout=BOUND_SECONDS)[0] == "ran: -I -m memoryd daemon\n"
    assert waiting.communicate(timeout=BOUND_SECONDS)[0] == "ran: -I -m memoryd status\n"
    assert launchers.builds() == 1


def test_a_killed_build_is_noticed_and_done_again(launchers: Launchers) -> None:
    launchers.hold.touch()
    first = launchers.start("daemon")
    launchers.wait_for_install()
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=BOUND_SECONDS)
    launchers.hold.unlink()
    assert launchers.run("daemon")[:2] == (0, "ran: -I -m memoryd daemon\n")
    assert launchers.builds() == 2
    assert list(launchers.data.glob("build-*")) == []


def test_a_step_that_outlives_its_killed_build_keeps_others_out(launchers: Launchers) -> None:
    launchers.hold.touch()
    first = launchers.start("daemon")
    launchers.wait_for_install()
    first.kill()
    assert launchers.run("daemon")[0] == 75
    launchers.hold.unlink()
    assert launchers.run("status")[:2] == (0, "ran: -I -m memoryd status\n")
    first.communicate(timeout=BOUND_SECONDS)


def test_a_half_built_environment_is_never_used(launchers: Launchers) -> None:
    launchers.run("status")
    (launchers.data / launchers.environments()[0] / "memoryd-ready").unlink()
    assert launchers.run("status")[0] == 0
    assert launchers.builds() == 2


def break_setup(launchers: Launchers) -> None:
    """Remove working versions of uv and Python."""
    launchers.env["FAIL"] = "1"
    build = launchers.plugin / "plugin" / "build.py"
    build.write_text(build.read_text().replace('"-m", "venv"', '"-m", "no_such_module"'))


def test_a_failure_is_recorded_and_not_repeated_at_once(launchers: Launchers) -> None:
    break_setup(launchers)
    before = time.time()
    code, _, said = launchers.run("daemon")
    assert (code, "no space left" in said) == (1, True)
    status = launchers.status()
    assert status["state"] == "failed"
    assert before + 60 <= float(str(status["retry_at"])) <= time.time() + 60
    assert launchers.run("daemon")[0] == 75
    assert launchers.builds() == 1
    assert launchers.environments() == []


def test_failures_in_a_row_wait_longer(launchers: Launchers) -> None:
    break_setup(launchers)
    for _ in range(3):
        before = time.time()
        launchers.run("status")  # By hand, it is tried at once.
    assert launchers.builds() == 3
    assert before + 240 <= float(str(launchers.status()["retry_at"])) <= time.time() + 240


def test_after_its_back_off_a_failed_setup_is_tried_again(launchers: Launchers) -> None:
    break_setup(launchers)
    launchers.run("daemon")
    status = {**launchers.status(), "retry_at": time.time() - 1}
    (launchers.data / "setup.json").write_text(json.dumps(status))
    del launchers.env["FAIL"]
    assert launchers.run("daemon")[0] == 0


def test_changed_sources_get_an_environment_of_their_own_and_the_old_one_goes(launchers: Launchers) -> None:
    launchers.run("status")
    old = launchers.environments()
    (launchers.plugin / "memoryd" / "__init__.py").write_text("x = 1\n")
    launchers.run("status")
    assert len(launchers.environments()) == 1
    assert launchers.environments() != old


def test_an_old_environment_in_use_stays(launchers: Launchers) -> None:
    old = launchers.data / "venv-0.0.1-abc" / "bin"
    old.mkdir(parents=True)
    (old / "python").symlink_to("/bin/sleep")
    user = subprocess.Popen([str(old / "python"), "600"])
    try:
        launchers.run("status")
        assert "venv-0.0.1-abc" in launchers.environments()
    finally:
        user.kill()
        user.wait(BOUND_SECONDS)


def test_a_developers_environment_is_preferred(launchers: Launchers) -> None:
    python = launchers.plugin / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(FAKE_PYTHON.replace("\\n", "\n"))
    python.chmod(0o755)
    (launchers.plugin / ".venv" / "lib" / "python3.11" / "site-packages" / "memoryd-0.1.0.dist-info").mkdir(parents=True)
    assert launchers.run("status")[1] == "ran: -I -m memoryd status\n"
    assert launchers.builds() == 0


def test_a_virtual_environment_without_memoryd_is_not_taken(launchers: Launchers) -> None:
    (launchers.plugin / ".venv" / "bin").mkdir(parents=True)
    (launchers.plugin / ".venv" / "bin" / "python").symlink_to(sys.executable)
    launchers.run("status")
    assert launchers.builds() == 1


def test_an_interpreter_that_is_named_is_used(launchers: Launchers) -> None:
    assert launchers.run("status", MEMORYD_PYTHON="/bin/echo")[1] == "-I -m memoryd status\n"
    code, _, said = launchers.run("status", MEMORYD_PYTHON="/nowhere/python")
    assert (code, "can't be run" in said) == (1, True)


def test_the_real_interpreter_is_cached_for_the_hooks(launchers: Launchers) -> None:
    (launchers.data / "python").unlink()
    launchers.run("status", MEMORYD_PYTHON="/bin/echo")
    cached = (launchers.data / "python").read_text().strip()
    assert cached == os.path.realpath(cached)
    assert subprocess.run([cached, "-I", "-S", "-c", "pass"], check=False).returncode == 0


def test_the_home_folder_gets_a_command_for_people(launchers: Launchers) -> None:
    launchers.run("daemon")
    python = launchers.data / launchers.environments()[0] / "bin" / "python"
    python.write_text(f'#!/bin/sh\n[ "$2" = -S ] && exec {real_python()} "$@"\necho "$MEMORYD_HOME: $5"\n')
    command = launchers.home / "bin" / "memoryd"
    for extra, home in (({}, launchers.home), ({"MEMORYD_HOME": "/else where"}, "/else where")):
        env = {"PATH": "/usr/bin:/bin", **extra}
        done = subprocess.run([command, "search", "two words"], env=env, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, f"{home}: two words\n")
    assert launchers.builds() == 1


def test_after_an_uninstall_the_command_builds_nothing_and_says_what_is_left(launchers: Launchers) -> None:
    launchers.run("daemon", "--start")
    command = launchers.home / "bin" / "memoryd"
    shutil.rmtree(launchers.data)
    before = launchers.builds()
    result = subprocess.run([str(command), "list"], capture_output=True, text=True, env=launchers.env, timeout=60, check=False)
    assert result.returncode == 1
    assert f"rm -r {launchers.home}" in result.stderr and "memories" in result.stderr
    assert launchers.builds() == before and not launchers.data.exists()


def test_without_the_plugins_folder_no_command_is_written(launchers: Launchers) -> None:
    launchers.run("daemon", CLAUDE_PLUGIN_DATA="")
    assert not (launchers.home / "bin").exists()
    assert list((launchers.home / "plugin").glob("venv-*"))


def test_a_python_that_is_too_old_is_named(launchers: Launchers, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for name in ("python3", "python3.11"):
        (old / name).write_text('#!/bin/sh\nprintf "308\\n/usr/bin/python3.8\\n"\n')
        (old / name).chmod(0o755)
    code = (
        f"import sys; sys.path[:0] = [{str(launchers.plugin / 'plugin')!r}, {str(launchers.plugin / 'hooks')!r}]\n"
        "import build; sys.executable = sys.argv[1]\n"
        "try: build.find_python()\n"
        "except build.SetupError as error: print(error)\n"
    )
    env = {"PATH": str(old)}
    command = [sys.executable, "-I", "-B", "-c", code, str(old / "python3")]
    said = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    assert "3.11 or newer (found 3.8)" in said


def test_a_plugin_from_a_package_runs_in_the_environment_of_the_package(launchers: Launchers, tmp_path: Path) -> None:
    python = tmp_path / "python-of-the-package"
    python.write_text('#!/bin/sh\necho "package: $*"\n')
    python.chmod(0o755)
    (launchers.plugin / "interpreter").write_text(f"{python}\n{launchers.plugin / 'memoryd'}\n")
    assert launchers.run("status")[:2] == (0, "package: -I -m memoryd status\n")
    assert launchers.builds() == 0


def test_a_plugin_whose_package_was_removed_says_so_and_builds_nothing(launchers: Launchers, tmp_path: Path) -> None:
    (launchers.plugin / "interpreter").write_text(f"{sys.executable}\n{tmp_path / 'removed'}\n")
    code, _, said = launchers.run("status")
    assert code == 1
    assert "memoryd install-claude" in said
    assert launchers.builds() == 0
    hook = ["sh", str(launchers.plugin / "hooks" / "hook.sh"), "SessionStart"]
    answer = subprocess.run(hook, input=b'{"session_id": "s"}', env=launchers.env, capture_output=True, check=True).stdout
    assert "memoryd install-claude" in json.loads(answer)["systemMessage"]
