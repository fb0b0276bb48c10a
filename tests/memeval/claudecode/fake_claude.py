"""Fake client with the flags and output of the real one, controlled by words in the prompt.

ANTHROPIC_FAKE specifies a folder, in which `calls` gets a line for each start. A prompt with LIMIT fails the first
time only. With ANTHROPIC_FAKE_WELL, there are no faults. ANTHROPIC_FAKE_LIMITS is the number of first starts that
reach a usage limit.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ.get("ANTHROPIC_FAKE", "."))


def flag(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else ""


def tell(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def result(text: str, **more: object) -> None:
    tokens = {"inputTokens": 100, "outputTokens": 5}
    tell(
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "result": text,
            "session_id": flag("--session-id") or flag("--resume"),
            "total_cost_usd": 0.01,
            "num_turns": 1,
            "modelUsage": {flag("--model"): tokens},
            **more,
        }
    )


def answer(prompt: str) -> None:
    if os.environ.get("ANTHROPIC_FAKE_WELL"):
        prompt = re.sub("CRASH|HANG|LIMIT|TURNS", "", prompt)
    if "CRASH" in prompt:
        os.kill(os.getpid(), 9)
    if "HANG" in prompt:
        time.sleep(120)
    if "LIMIT" in prompt and not (FOLDER / "limited").exists():
        (FOLDER / "limited").touch()
        result("API Error: rate limit reached", is_error=True, api_error_status=429)
        sys.exit(1)
    if "TURNS" in prompt:
        tell(
            {"type": "result", "subtype": "error_max_turns", "is_error": True, "errors": ["Reached maximum number of turns (1)"]}
        )
        sys.exit(1)
    time.sleep(float(os.environ.get("ANTHROPIC_FAKE_SECONDS", "0")))
    number = re.search(r"number (\d+)", prompt)
    result(f"The answer is {number[1]}." if number and int(number[1]) % 2 else "No information available")


def main() -> None:
    if "--version" in sys.argv:
        sys.stdout.write(os.environ.get("ANTHROPIC_FAKE_VERSION", "2.1.332") + " (Claude Code)\n")
        return
    prompt = flag("-p")
    with (FOLDER / "calls").open("a") as stream:
        stream.write(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ), "pid": os.getpid()}) + "\n")
    tell({"type": "system", "subtype": "init", "model": flag("--model"), "tools": ["Read"], "plugins": []})
    with (FOLDER / "calls").open() as stream:
        limited = len(stream.readlines()) <= int(os.environ.get("ANTHROPIC_FAKE_LIMITS", "0"))
    if limited:
        tell({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": time.time() + 0.2}})
        result("You've hit your session limit", is_error=True, api_error_status=429)
        sys.exit(1)
    if fault := os.environ.get("ANTHROPIC_FAKE_FAULT"):
        result(fault, is_error=True)
        sys.exit(1)
    answer(prompt)


main()
