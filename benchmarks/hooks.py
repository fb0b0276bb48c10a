"""Measure the total time of the hook process against a bare interpreter (budget: 3 times), also with a failing daemon.

Run `python -m benchmarks.hooks [--runs 50]`. Prints medians and worst cases in milliseconds.
"""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOOK = "hooks/hook.sh"
INPUT = b'{"session_id":"s","transcript_path":"/t/s.jsonl","cwd":"/","hook_event_name":"X","prompt":"why is the build slow?"}'
ANSWER = b'{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"one memory"}}'
BUDGET = 3.0
LIMIT_MS = 300.0


def serve(path: Path, answer: Callable[[socket.socket], None]) -> socket.socket:
    """Listen at `path` and pass each connection to `answer`, one at a time."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(64)

    def loop() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with suppress(ConnectionError):  # A hook hangs up once it has its answer.
                answer(link)

    threading.Thread(target=loop, daemon=True).start()
    return listener


def reply(link: socket.socket) -> None:
    """Respond at once, like a healthy daemon."""
    with link:
        if link.recv(1 << 20).startswith(b"memoryd/1 hook"):
            link.sendall(ANSWER)


def talk(link: socket.socket) -> None:
    """Act as an unrelated server."""
    with link:
        link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def interpreter() -> str:
    """Return the real interpreter, as cached by the launcher for the hooks."""
    code = "import os, sys; print(os.path.realpath(sys.executable))"
    return subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def copy_plugin(folder: Path) -> Path:
    """Copy the hooks with a launcher that exits at once, so that a start costs as much as usual but leaves no daemon."""
    root = folder / "plugin"
    shutil.copytree(ROOT / "hooks", root / "hooks")
    shutil.copy(ROOT / "pyproject.toml", root)
    launcher = root / "plugin" / "bin" / "memoryd"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("exit 0\n")
    return root


def measure(command: Sequence[str], env: dict[str, str], runs: int, before: Callable[[], object] = int) -> list[float]:
    """Return wall times in milliseconds. `before` is called before each run."""
    times = []
    for _ in range(runs):
        before()
        start = time.perf_counter()
        subprocess.run(command, env=env, input=INPUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        times.append((time.perf_counter() - start) * 1000)
    return times


def make_home(folder: Path, name: str) -> Path:
    """Create a home with an endpoint file that specifies its socket."""
    run = folder / name / "run"
    run.mkdir(parents=True)
    (run / "endpoint").write_text(f"unix {run / 'd.sock'}\n")
    return folder / name


def report(title: str, times: list[float], verdict: str) -> None:
    """Print one line of the result."""
    print(f"{title:32} median {statistics.median(times):6.1f} ms  worst {max(times):6.1f} ms  {verdict}")


def measure_up(hook: Path, env: dict[str, str], folder: Path, runs: int) -> None:
    """Measure the usual case of a daemon that responds."""
    bare = measure([env["REAL_PYTHON"], "-I", "-S", "-c", "pass"], env, runs)
    report("python -I -S -c pass", bare, "")
    home = make_home(folder, "up")
    serve(home / "run" / "d.sock", reply)
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        times = measure(["sh", str(hook), event], {**env, "MEMORYD_HOME": str(home)}, runs)
        ratio = statistics.median(times) / statistics.median(bare)
        report(f"{event}, daemon up", times, f"{ratio:.2f} x {'ok' if ratio <= BUDGET else 'OVER BUDGET'}")


def measure_down(hook: Path, env: dict[str, str], folder: Path, runs: int) -> None:
    """Measure all ways in which a daemon can fail. Hooks try to start the daemon whenever a start is due."""
    kept: list[socket.socket] = []
    homes = {name: make_home(folder, name) for name in ("hung", "foreign", "dead", "absent")}
    serve(homes["hung"] / "run" / "d.sock", kept.append)
    serve(homes["foreign"] / "run" / "d.sock", talk)
    (homes["absent"] / "run" / "endpoint").unlink()
    for name, home in homes.items():
        stamp = home / "run" / "start.stamp"
        for event in ("SessionStart", "UserPromptSubmit", "Stop"):
            command = ["sh", str(hook), event]
            forget = partial(stamp.unlink, missing_ok=True)
            times = measure(command, {**env, "MEMORYD_HOME": str(home)}, runs, forget)
            report(f"{event}, daemon {name}", times, "ok" if max(times) < LIMIT_MS else "OVER THE LIMIT")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="md-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        python = interpreter()
        (folder / "python").write_text(python + "\n")
        env = {"PATH": os.environ["PATH"], "HOME": name, "CLAUDE_PLUGIN_DATA": name, "REAL_PYTHON": python}
        hook = copy_plugin(folder) / HOOK
        measure_up(hook, env, folder, runs)
        measure_down(hook, env, folder, max(runs // 5, 5))


if __name__ == "__main__":
    main()
