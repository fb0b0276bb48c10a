"""Measure the reader on a log of any size with one huge line: MB per second, memory, and the cost of a second pass.

    python -m benchmarks.transcript [--mb 800] [--line-mb 50] [--json]

The log is generated (seeded) in a temporary folder and deleted afterwards. Its lines have realistic proportions: tool results,
which occur twice (as seen by the model and as kept by the client), make up nine tenths of the bytes. Memory is the peak of a
separate process that only reads. Its baseline is the same process with an empty log.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from benchmarks.synthetic import START, Texts
from memoryd.core.state import Cursor
from memoryd.daydream.transcript import read_transcript

MB = 1_000_000
TURN_LINES = 8
APPENDED_LINES = 40


class Log:
    """Lines of a session log, reproducible for each seed."""

    def __init__(self, seed: int = 0) -> None:
        self._texts = Texts(seed)
        self._random = self._texts.random
        self._pages = [self._page() for _ in range(64)]
        self._number = 0

    def _page(self) -> str:
        lines = (f"{n:5d}\t{self._texts.text()}" for n in range(self._random.randint(4, 120)))
        return "\n".join(lines)

    def line(self) -> bytes:
        """Return the next line: a prompt, the assistant's text, a tool call or its result."""
        place = self._number % TURN_LINES
        self._number += 1
        if place == 0:
            return self._entry("user", self._texts.text())
        if place == TURN_LINES - 1:
            return self._entry("assistant", [{"type": "text", "text": " ".join(self._texts.text() for _ in range(6))}])
        use = f"toolu_{self._number // 2 * 2}"
        if place % 2:
            call = {"type": "tool_use", "id": use, "name": "Read", "input": {"file_path": f"/src/{self._texts.pick(1)[0]}.py"}}
            return self._entry("assistant", [call])
        page = self._random.choice(self._pages)
        return self._entry("user", [{"type": "tool_result", "tool_use_id": use, "content": page}], {"stdout": page})

    def _entry(self, role: str, content: object, result: object = None) -> bytes:
        entry = {
            "type": role,
            "uuid": str(uuid.UUID(int=self._random.getrandbits(128))),
            "timestamp": (START + timedelta(seconds=self._number)).isoformat(),
            "sessionId": "bench",
            "cwd": "/src",
            "message": {"role": role, "content": content},
        }
        return json.dumps(entry | ({"toolUseResult": result} if result else {})).encode() + b"\n"


def write_log(stream: BinaryIO, log: Log, size: int, line_bytes: int) -> None:
    """Write lines up to the given number of bytes, with the long line in the middle."""
    written, long = 0, line_bytes
    while written < size:
        if long and written >= size // 2:
            stream.write(b'{"type":"user","message":{"role":"user","content":"')
            for _ in range(long // MB):
                stream.write(b"x" * MB)
            stream.write(b'"}}\n')
            written, long = written + long, 0
        written += stream.write(log.line())


def read_all(path: Path, cursor: Cursor) -> dict[str, Any]:
    """Return the seconds, turns, bytes read and last cursor of one pass."""
    start, cpu, turns, before = time.perf_counter(), time.process_time(), 0, _bytes_read()
    last, more = cursor, True
    while more:
        piece = read_transcript(path, last)
        last, more, turns = piece.cursor, piece.more, turns + len(piece.turns)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    figures = {"seconds": took, "cpu": cpu, "turns": turns, "read": _bytes_read() - before, "new": last.offset - cursor.offset}
    return {**figures, "cursor": last}


def _bytes_read() -> int:
    """Return the bytes that this process has read by system calls, or 0 where this is unavailable."""
    io = Path("/proc/self/io")
    return int(io.read_text().split()[1]) if io.exists() else 0


def reader(path: Path) -> None:
    """Run the measured process: read the log, read it again after it has grown, and print the figures as JSON."""
    first = read_all(path, Cursor(str(path)))
    log = Log(seed=1)
    with path.open("ab") as stream:
        for _ in range(APPENDED_LINES):
            stream.write(log.line())
    second = read_all(path, first.pop("cursor"))
    del second["cursor"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"first": first, "second": second, "peak_mib": round(peak)}))


def measure(megabytes: int, line_megabytes: int) -> dict[str, Any]:
    """Return the figures of one size."""
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        path = Path(folder) / "session.jsonl"
        path.touch()
        baseline = _in_process(path)["peak_mib"]
        with path.open("wb") as stream:
            write_log(stream, Log(), megabytes * MB, line_megabytes * MB)
        out = _in_process(path)
        size = path.stat().st_size
        first, second = out["first"], out["second"]
        return {
            "mb": round(size / MB),
            "line_mb": line_megabytes,
            "mb_per_second": round(size / MB / first["seconds"], 1),
            "mb_per_cpu_second": round(size / MB / first["cpu"], 1),
            "turns": first["turns"],
            "peak_mib": out["peak_mib"],
            "baseline_mib": baseline,
            "grown_by_kb": round(second["new"] / 1000),
            "second_pass_read_kb": round(second["read"] / 1000),
            "second_pass_ms": round(second["seconds"] * 1000, 1),
        }


def _in_process(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.transcript", "--read", str(path)]
    done = subprocess.run(command, capture_output=True, check=True, cwd=Path(__file__).parents[1])
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=800)
    parser.add_argument("--line-mb", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        reader(options.read)
        return
    figures = measure(options.mb, options.line_mb)
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:22}{value:>12,}")


if __name__ == "__main__":
    main()
