"""Sample sessions for the demo, in the client's log format.

A session is a list of steps. `write_session` converts them to log lines with the noise of real logs (attachments, snapshots, tool
results, status lines).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

VERSION = "2.1.332"


@dataclass(frozen=True, slots=True)
class DemoStep:
    """A step of a session. `who` is user, assistant, tool (a call with its result) or interrupt."""

    who: str
    text: str
    tool: str = ""
    result: str = ""
    error: bool = False


def user(text: str) -> DemoStep:
    """Create a step in which the user types a prompt."""
    return DemoStep("user", text)


def assistant(text: str) -> DemoStep:
    """Create a step in which the assistant answers."""
    return DemoStep("assistant", text)


def bash(command: str, result: str, *, error: bool = False) -> DemoStep:
    """Create a step in which the assistant runs a command, and its output."""
    return DemoStep("tool", command, "Bash", result, error)


CHECKOUT: Sequence[DemoStep] = (
    user("The checkout tests fail on my machine. Can you look into it?"),
    assistant("I'll run the test suite first."),
    bash("npm test", "Error: connect ECONNREFUSED 127.0.0.1:5432", error=True),
    assistant("The tests need PostgreSQL. I'll start one with docker compose."),
    bash("docker compose up -d db", "Cannot connect to the Docker daemon", error=True),
    user("No, don't use docker here. The test database runs on port 5433 of this machine, started by `make db`."),
    bash("make db && PGPORT=5433 npm test", "42 passing, 1 failing\n  checkout › total is rounded once", error=False),
    assistant(
        "Root cause: `applyDiscount` in src/checkout/total.ts rounded each line before summing, so the total was off by a cent. "
        "It now sums in integer cents and rounds once at the end."
    ),
    bash("PGPORT=5433 npm test", "43 passing"),
    user("Great. From now on always run `npm run lint` before you commit; the pipeline rejects unformatted code."),
    assistant("Understood: lint before every commit."),
    user("ok, commit"),
    bash("npm run lint && git commit -am 'Round the total once'", "[main 3f2a1c9] Round the total once"),
    assistant("Committed."),
)

QUEUE: Sequence[DemoStep] = (
    user("We need a job queue for the invoice mails. What are the options?"),
    assistant("1. BullMQ on Redis\n2. pg-boss on the PostgreSQL that we have\n3. A cron script\n\nBullMQ is the fastest."),
    user("Let's go with pg-boss, we don't want to run Redis in production."),
    assistant("I'll add pg-boss and a worker in src/jobs/worker.ts."),
    bash("npm install pg-boss", "added 12 packages"),
    assistant("First try: one transaction around sending and marking the mail."),
    bash("npm test", "Timeout: pool exhausted after 30000 ms", error=True),
    assistant(
        "Sending mail inside the transaction does not work: it holds a database connection while SMTP answers, and the pool of "
        "10 runs dry. I reverted that and mark the mail as sent afterwards, with an idempotency key."
    ),
    bash("npm test", "51 passing"),
    user("thanks, that's it for today"),
)

DEPLOY: Sequence[DemoStep] = (
    user("How do I get this onto staging?"),
    assistant("I'll look for a deploy script."),
    bash("cat package.json", '{"scripts": {"deploy": "kubectl apply -f k8s/"}}'),
    assistant("I can run `npm run deploy`, which applies k8s/ with kubectl."),
    DemoStep("interrupt", "[Request interrupted by user]"),
    user("Never deploy from here. Staging is deployed by pushing the branch `staging`; CI does the rest."),
    assistant("Then I'll push to `staging` and let CI deploy."),
    bash("git push origin HEAD:staging", "To github.com:acme/shop.git\n   3f2a1c9..9d8e7f6  HEAD -> staging"),
    user("I prefer short answers without bullet lists, by the way."),
    assistant("Noted."),
    user("what time is it"),
    assistant("I can't see a clock here."),
)

SESSIONS: dict[str, Sequence[DemoStep]] = {"checkout": CHECKOUT, "queue": QUEUE, "deploy": DEPLOY}


class _Log:
    def __init__(self, session: str, cwd: str, start: datetime) -> None:
        self._session, self._cwd, self._at = session, cwd, start
        self._parent: str | None = None
        self._count = 0

    def _id(self) -> str:
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._session}/{self._count}"))

    def line(self, kind: str, message: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        self._at += timedelta(seconds=20)
        entry: dict[str, Any] = {"parentUuid": self._parent, "isSidechain": False, "type": kind}
        if message is not None:
            entry["message"] = message
        entry |= {
            "uuid": self._id(),
            "timestamp": self._at.isoformat().replace("+00:00", "Z"),
            "cwd": self._cwd,
            "sessionId": self._session,
            "version": VERSION,
            "gitBranch": "main",
        }
        self._parent = entry["uuid"]
        return entry | more

    def step(self, step: DemoStep) -> Iterator[dict[str, Any]]:
        if step.who == "assistant":
            yield self.line("assistant", {"role": "assistant", "content": [{"type": "text", "text": step.text}]})
        elif step.who == "tool":
            call = f"toolu_{self._count:04d}"
            use = {"type": "tool_use", "id": call, "name": step.tool, "input": {"command": step.text}}
            yield self.line("assistant", {"role": "assistant", "content": [use]})
            result = {"type": "tool_result", "tool_use_id": call, "content": step.result, "is_error": step.error}
            yield self.line("user", {"role": "user", "content": [result]}, toolUseResult={"stdout": step.result})
        else:
            content: Any = step.text if step.who == "user" else [{"type": "text", "text": step.text}]
            yield self.line("user", {"role": "user", "content": content})


def write_session(path: Path, session: str, steps: Sequence[DemoStep], cwd: str, start: datetime) -> None:
    """Write these steps as a session log."""
    log = _Log(session, cwd, start)
    lines: list[dict[str, Any]] = [
        {"type": "mode", "mode": "normal", "sessionId": session},
        {"type": "file-history-snapshot", "messageId": "0", "snapshot": {"trackedFileBackups": {}}},
        log.line("attachment", attachment={"type": "date", "date": start.date().isoformat()}),
    ]
    for step in steps:
        lines += log.step(step)
    lines.append({"type": "last-prompt", "lastPrompt": steps[-1].text, "sessionId": session})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
