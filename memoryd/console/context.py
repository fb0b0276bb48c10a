"""What a handler gets: the request, already read and limited, and the few ways to answer it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from memoryd.console.fields import Fields
from memoryd.console.replies import Nav, Reply
from memoryd.console.sessions import ALL, Flash, Session
from memoryd.console.templates import Templates, is_own, link
from memoryd.core.errors import ConflictError, InputError, MemorydError, NotFoundError

STATUS = {InputError.code: 400, NotFoundError.code: 404, ConflictError.code: 409}
JSON = "application/json"
NAMES_SECONDS = 30.0


class CallApi(Protocol):
    """How the console asks the API: as the daemon does, in a thread, with faults turned into MemorydError."""

    def __call__(self, method: str, params: Mapping[str, Any], *, use: bool = True) -> Awaitable[dict[str, Any]]:
        """The answer; with `use` False the lease of the daemon is not begun anew."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """What all pages share: templates, the navigation, and pages that could not be loaded."""

    templates: Templates
    nav: Sequence[Nav]
    call: CallApi
    faults: Sequence[str] = ()


@dataclass
class Context:
    """One request of a session that was let in.

    `path` holds the parts of the address by name, `query` and `form` the checked fields (a JSON body is read like a form).
    The CSRF token of a POST was checked before the handler is called.
    """

    around: Around
    session: Session
    method: str
    url: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Fields = field(default_factory=Fields)
    form: Fields = field(default_factory=Fields)
    wants_json: bool = False
    stream: bool = False

    # Asking

    @property
    def project(self) -> str:
        """The project that the person looks at: an id, or "all". Every call takes it as `project`."""
        return self.session.project

    async def call(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """An API method's answer; None and "" are left out. Raises MemorydError: leave it to the frame."""
        given = {name: value for name, value in {**(params or {}), **more}.items() if value not in (None, "")}
        return await self.around.call(method, given, use=not self.stream)

    async def try_call(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """The same, but a fault becomes {"error": {"message", "fix"}}: for one part of a page that must not sink the rest."""
        try:
            return await self.call(method, params, **more)
        except MemorydError as error:
            return {"error": {"message": error.message, "fix": error.fix, "code": error.code}}

    # Answering

    async def page(self, template: str, *, status: int = 200, **values: Any) -> Reply:
        """A template with what base.html needs (navigation, projects, flashes, csrf) and the given values."""
        frame = {
            "nav": self.around.nav,
            "at": self.url,
            "here": self.url if self.method != "POST" else "/",
            "projects": await self._projects(),
            "project": self.project,
            "theme": self.session.theme,
            "csrf": self.session.csrf(),
            "query": dict(self.query.pairs()),
            "pairs": self.query.pairs(),
            "plugin_faults": self.around.faults,
            "error": None,
        }
        flashes = self.session.take_flashes()
        return Reply(self.around.templates.render(template, {**frame, "flashes": flashes, **values}), status)

    def json(self, value: Any, status: int = 200) -> Reply:
        """JSON for a script."""
        return Reply(orjson.dumps(value, default=str), status, JSON)

    def redirect(self, path: str, flash: str = "", *, kind: str = "done", fix: str = "", **query: Any) -> Reply:
        """After a change: show this page of the console, with a message (`kind` done or failed)."""
        if not is_own(path):
            raise ValueError(f"not a path of the console: {path}")
        if flash:
            self.session.flash(Flash(flash, kind, fix))
        return Reply(status=303, headers={"location": link(path, query)})

    def events(self, source: AsyncIterator[tuple[str, Any]]) -> Reply:
        """A stream of server-sent events: (name, JSON-ready value) each. Mark the route `stream=True`."""
        return Reply(media_type="text/event-stream", events=_encoded(source))

    async def failure(self, error: MemorydError) -> Reply:
        """The page (or JSON) that tells a fault and the way out."""
        status = STATUS.get(error.code, 500)
        if self.wants_json:
            return self.json({"error": {"code": error.code, "message": error.message, "fix": error.fix}}, status)
        return await self.page("error.html", status=status, error=error)

    async def _projects(self) -> list[dict[str, Any]]:
        answer = await self.try_call("project_names")
        known: list[dict[str, Any]] = answer.get("projects", [])
        if self.project != ALL and all(entry["id"] != self.project for entry in known):
            known = [*known, {"id": self.project, "name": self.project}]
        return known


async def _encoded(source: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[bytes]:
    async for name, value in source:
        yield b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(value, default=str))


Failing = Callable[[str, BaseException], None]
