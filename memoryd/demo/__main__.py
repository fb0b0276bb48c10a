"""Remember three sample sessions in a temporary home, then query them over MCP."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from rich.console import Console
from rich.markup import escape

from memoryd.core.config import HOME_ENV, Settings, load_settings
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.relay import send_hook
from memoryd.demo.mcp_session import McpSession
from memoryd.demo.sessions import SESSIONS, write_session

VAULT = Path(__file__).parents[2] / "memories"
QUESTIONS = (
    "Which port does the test database use?",
    "How is staging deployed?",
    "Why did we choose pg-boss and not Redis?",
    "What must I do before a commit?",
    "Why was the checkout total off by a cent?",
    "What is the office Wi-Fi password?",
)
WAIT_SECONDS = 60.0
out = Console(highlight=False, soft_wrap=True)


def main() -> None:
    """Run the demo. The temporary home is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="memoryd-demo-") as folder:
        scratch = Path(folder)
        settings = load_settings({}, home=str(scratch / "home"), reader="offline")
        repo = _repository(scratch / "shop")
        if VAULT.is_dir():
            shutil.copytree(VAULT, settings.paths.memories, ignore=shutil.ignore_patterns("README.md"))
        ensure_daemon(settings, timeout=30)
        try:
            _remember(settings, scratch, repo)
            _show_files(settings)
            _ask(settings, repo)
            _show_governance(settings, repo)
        finally:
            Client(settings.paths).stop()
    out.print("\n[bold]Done.[/] The temporary home was deleted; nothing is left running.")


def _repository(folder: Path) -> Path:
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=False)
    return folder


def _remember(settings: Settings, scratch: Path, repo: Path) -> None:
    out.rule("[bold]1. Three sessions end; the day dream reads them")
    start = datetime.now(UTC) - timedelta(days=3)
    for number, (name, steps) in enumerate(SESSIONS.items()):
        log = scratch / "projects" / "shop" / f"{name}.jsonl"
        write_session(log, name, steps, str(repo), start + timedelta(days=number))
        payload = {"session_id": name, "transcript_path": str(log), "cwd": str(repo)}
        for event in ("SessionStart", "Stop", "SessionEnd"):
            send_hook(settings.paths, event, orjson.dumps(payload | {"hook_event_name": event, "source": "startup"}))
        Client(settings.paths).call("daydream", {"transcript": str(log)})
        out.print(f"  {name}: {len(steps)} steps, {log.stat().st_size} bytes")
    _wait(settings)


def _wait(settings: Settings) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while Client(settings.paths).call("jobs")["waiting"] and time.monotonic() < deadline:
        time.sleep(0.1)


def _show_files(settings: Settings) -> None:
    out.rule("[bold]2. What was kept, as Markdown, and why")
    result = Client(settings.paths).call("list_memories", {"limit": 100, "project": "all"})
    learnt = [memory for memory in reversed(result["memories"]) if memory["session"] in SESSIONS]
    for memory in learnt:
        path = Path(Client(settings.paths).call("get_memory", {"id": memory["id"]})["path"])
        out.print(f"[cyan]{escape(str(path.relative_to(settings.home)))}[/]")
        out.print(f"  [bold]{memory['kind']}/{memory['polarity']}[/] {escape(memory['content'])}")
        out.print(f"  [dim]said by {memory['source']} in session {memory['session']}[/]")
    out.print(f"[dim]The sample vault in memories/ had {len(result['memories']) - len(learnt)} active memories before.[/]")


def _ask(settings: Settings, repo: Path) -> None:
    out.rule("[bold]3. Questions over MCP")
    environment = {**os.environ, HOME_ENV: str(settings.home)}
    with McpSession(environment, str(repo)) as session:
        for question in QUESTIONS:
            answer = session.tool("recall", query=question, k=2)
            out.print(f"[bold]? {escape(question)}[/]  [dim]({answer['route']['backend']}: {answer['route']['rule']})[/]")
            for hit in answer["hits"]:
                colour = "yellow" if hit.get("unsure") else "green"
                out.print(f"  [{colour}]{hit['relevancy']:.2f}[/] {escape(hit['content'])} [dim]{hit['id']}[/]")
            if not answer["hits"]:
                out.print("  [yellow]nothing relevant is remembered[/]")


def _show_governance(settings: Settings, repo: Path) -> None:
    out.rule("[bold]4. What the next session receives at its start")
    out.print(escape(Client(settings.paths).call("governance", {"cwd": str(repo)})["text"]))


if __name__ == "__main__":
    main()
