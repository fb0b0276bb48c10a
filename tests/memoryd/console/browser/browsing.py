"""The store of a browser test: a home folder with a running daemon."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from memoryd.core.config import Settings, load_settings
from memoryd.core.errors import NotFoundError
from memoryd.daemon.client import Client, ensure_daemon
from tests.memoryd.console import realistic
from tests.waiting import HANGS_SECONDS, until

WIDTHS = (390, 1440)
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


class Store:
    """A home folder with a running daemon."""

    def __init__(self, folder: Path, count: int, hostile: bool = True) -> None:
        self.settings: Settings = load_settings({}, home=str(folder / "home"), embedder="hash")
        self.projects = folder / "projects"
        self.settings.home.mkdir(parents=True, mode=0o700)
        self.settings.paths.config.write_text('embedder = "hash"\n', "utf-8")
        self.items = realistic.fill(self.settings, self.projects, count, hostile) if count else []
        ensure_daemon(self.settings, HANGS_SECONDS)
        self.client = Client(self.settings.paths)

    def stop(self) -> None:
        """Stop the daemon."""
        self.client.stop(HANGS_SECONDS)

    def link(self, cwd: str = "") -> str:
        """Return a new one-time link."""
        return str(self.client.call("console_open", {"cwd": cwd})["url"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call an API method."""
        return self.client.call(method, params, 2 * HANGS_SECONDS)  # A dream over 5,000 memories takes a while.


def read_session(store: Store, said: Sequence[str], session: str = "s-read", day: str = "2026-11-02") -> None:
    """Write a session's log and read it. The texts are one minute apart."""
    folder, lines = store.projects / "harbour-api", []
    for number, text in enumerate(said):
        message = {"role": "user", "content": text}
        line = {"type": "user", "uuid": f"u{number}", "sessionId": session, "cwd": str(folder), "message": message}
        lines.append(json.dumps(line | {"timestamp": f"{day}T10:{number:02}:00Z"}))
    (folder / f"{session}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    store.call("daydream", transcript=str(folder / f"{session}.jsonl"))


def write_twice(store: Store, names: str, project: str, rules: Sequence[str]) -> None:
    """Write a rule to two sessions' files in two wordings, which the next dream merges."""
    for number, name in enumerate(names):
        path = store.settings.paths.memories / f"project-{project}" / f"s-{name}" / f"mem_00000000000{name}.md"
        path.parent.mkdir(parents=True)
        head = f"id: mem_00000000000{name}\nkind: rule\npolarity: do\nscope: project\nproject: {project}\nsession: s-{name}\n"
        head += f"source: user\nconfidence: 0.8\ncreated_at: 2026-10-0{number + 1}T00:00:00Z\nstatus: active\n"
        path.write_text(f"---\n{head}---\n{rules[number]}\n", "utf-8")
    store.call("sync")


def finish_jobs(store: Store) -> None:
    """Wait until no day dream is pending or running."""
    until(lambda: not store.call("jobs")["waiting"], "the day dreams did not end")


def enter(page: Any, link: str) -> None:
    """Open the console by a one-time link, and wait for the redirection to the start page."""
    page.goto(link)
    page.wait_for_url(lambda url: "ticket=" not in url)


def purge(store: Store, *ids: str) -> None:
    """Purge memories. A memory may already be gone as an earlier version of another one."""
    for id in ids:
        with suppress(NotFoundError):
            store.call("forget", id=id, purge=True)
