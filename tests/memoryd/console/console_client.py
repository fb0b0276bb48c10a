"""The real application, called in-process like by a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.testclient import TestClient

from memoryd.console import pages
from memoryd.console.assets import Assets
from memoryd.console.context import SharedContext
from memoryd.console.contract import Page
from memoryd.console.sessions import Sessions
from memoryd.console.templates import Templates
from memoryd.console.web import Web
from memoryd.core.errors import MemorydError

HOST = "127.0.0.1:4242"
ORIGIN = f"http://{HOST}"
BROWSER = {"origin": ORIGIN, "sec-fetch-site": "same-origin"}
Answer = Mapping[str, Any] | MemorydError | Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Console:
    """A console. `answers` by method: a value, an error to raise, or a function of the parameters. `calls` records the calls."""

    def __init__(self, own: tuple[Page, ...] = pages.PAGES, api: Any = None) -> None:
        self.answers: dict[str, Answer] = {"project_names": {"projects": [{"id": "shop", "name": "shop"}], "current": "shop"}}
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.faults: list[BaseException] = []
        self.uses: list[bool] = []
        self.touches = 0
        self.now = 0.0
        self.api = api
        self.sessions = Sessions(lambda: self.now)
        folders = {page.name: page.folder for page in own if page.folder is not None}
        assets = Assets({name: folder / "static" for name, folder in folders.items()})
        templates = Templates(assets, {name: folder / "templates" for name, folder in folders.items()})
        shared = SharedContext(templates, [page.nav for page in own if page.nav], self._call)
        web = Web(shared, assets, self.sessions, "memoryd-4242", self._touch, lambda where, error: self.faults.append(error))
        self.app = web.app([route for page in own for route in page.routes], [HOST, "localhost:4242"])
        self.client = TestClient(self.app, base_url=ORIGIN, follow_redirects=False)

    async def _call(self, method: str, params: Mapping[str, Any], *, use: bool = True) -> dict[str, Any]:
        self.calls.append((method, dict(params)))
        self.uses.append(use)
        if self.api is not None:
            return await asyncio.to_thread(self.api.call, method, params)
        answer = self.answers[method]
        if isinstance(answer, MemorydError):
            raise answer
        return dict(answer(params) if callable(answer) else answer)

    def _touch(self) -> None:
        self.touches += 1

    def open(self) -> Console:
        """Log this client in."""
        answer = self.client.get("/open", params={"ticket": self.sessions.issue()})
        assert answer.status_code == 200
        return self

    def get(self, path: str, **query: Any) -> Any:
        """Request a page like a browser."""
        return self.client.get(path, params=query, headers={"sec-fetch-site": "same-origin"})

    def csrf(self) -> str:
        """Return the token of a page."""
        found = re.search(r'<meta name="csrf" content="([^"]+)">', self.get("/memories/mem_000000000000").text)
        assert found is not None
        return found[1]

    def post(self, path: str, **form: Any) -> Any:
        """Send a form like a browser from one of the console's pages."""
        return self.client.post(path, data={"csrf": self.csrf(), **form}, headers=BROWSER)

    def asked(self, method: str) -> list[Mapping[str, Any]]:
        """Return the parameters of all calls of a method."""
        return [params for name, params in self.calls if name == method]


def unhurt(answer: Any) -> str:
    """Return the page after checking that no hostile text became markup or was evaluated."""
    assert answer.status_code == 200, answer.text
    assert "<script>alert" not in answer.text and "<img" not in answer.text and "54444439" not in answer.text
    return str(answer.text)
