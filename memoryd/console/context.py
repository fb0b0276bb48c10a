"""The interface of handlers: the validated request, and methods for responding."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from memoryd.console.fields import Fields
from memoryd.console.replies import NavEntry, Reply, Site
from memoryd.console.sessions import ALL, BrowserSession, Flash
from memoryd.console.templates import Templates, is_own, link
from memoryd.core.errors import ConflictError, InputError, MemorydError, NotFoundError

STATUS = {InputError.code: 400, NotFoundError.code: 404, ConflictError.code: 409}
JSON = "application/json"
NAMES_SECONDS = 30.0


class CallApi(Protocol):
    """Calls the API like the daemon does. The call runs in a thread, and failures are converted to MemorydError."""

    def __call__(self, method: str, params: Mapping[str, Any], *, use: bool = True) -> Awaitable[dict[str, Any]]:
        """Return the result of the call. With `use=False`, the call does not renew the daemon's lease."""
        ...


@dataclass(frozen=True, slots=True)
class SharedContext:
    """State shared by all pages: the templates, the navigation and the plugins that failed to load."""

    templates: Templates
    nav: Sequence[NavEntry]
    call: CallApi
    faults: Sequence[str] = ()

    @property
    def site(self) -> Site:
        """The program that serves the pages."""
        return self.templates.site


@dataclass
class Context:
    """A request within an authenticated session.

    `path` holds the path parameters by name. `query` and `form` hold the fields (a JSON body is read like a form). The CSRF
    token of a POST has been verified.
    """

    shared: SharedContext
    session: BrowserSession
    method: str
    url: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Fields = field(default_factory=Fields)
    form: Fields = field(default_factory=Fields)
    wants_json: bool = False
    stream: bool = False

    # Calling the API

    @property
    def project(self) -> str:
        """The selected project: an id or "all". Pass it as `project` in each call."""
        return self.session.project

    async def call(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Call an API method and return its result. Parameters that are None or "" are omitted. Do not catch MemorydError."""
        given = {name: value for name, value in {**(params or {}), **more}.items() if value not in (None, "")}
        return await self.shared.call(method, given, use=not self.stream)

    async def try_call(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Call an API method. Return an error as {"error": {"message", "fix"}}, so that one part of a page can fail alone."""
        try:
            return await self.call(method, params, **more)
        except MemorydError as error:
            return {"error": {"message": error.message, "fix": error.fix, "code": error.code}}

    # Responding

    async def page(self, template: str, *, status: int = 200, **values: Any) -> Reply:
        """Render a template with the given values and the variables of base.html (navigation, projects, flashes, csrf)."""
        frame = {
            "nav": self.shared.nav,
            "at": self.url,
            "here": self.url if self.method != "POST" else "/",
            "projects": await self._projects(),
            "project": self.project,
            "theme": self.session.theme,
            "csrf": self.session.csrf(),
            "query": dict(self.query.pairs()),
            "pairs": self.query.pairs(),
            "plugin_faults": self.shared.faults,
            "error": None,
        }
        flashes = self.session.take_flashes()
        return Reply(self.shared.templates.render(template, {**frame, "flashes": flashes, **values}), status)

    def json(self, value: Any, status: int = 200) -> Reply:
        """Return JSON for a script."""
        return Reply(orjson.dumps(value, default=str), status, JSON)

    def redirect(self, path: str, flash: str = "", *, kind: str = "done", fix: str = "", **query: Any) -> Reply:
        """Redirect to a console page after a change, and show a message there. `kind` is done or failed."""
        if not is_own(path):
            raise ValueError(f"not a path of the console: {path}")
        if flash:
            self.session.flash(Flash(flash, kind, fix))
        return Reply(status=303, headers={"location": link(path, query)})

    def events(self, source: AsyncIterator[tuple[str, Any]]) -> Reply:
        """Return a stream of server-sent events (a name and a JSON-serialisable value). The route must have `stream=True`."""
        return Reply(media_type="text/event-stream", events=_encoded(source))

    async def failure(self, error: MemorydError) -> Reply:
        """Return the error and its fix as a page or as JSON."""
        status = STATUS.get(error.code, 500)
        if self.wants_json:
            return self.json({"error": {"code": error.code, "message": error.message, "fix": error.fix}}, status)
        return await self.page("error.html", status=status, error=error)

    async def _projects(self) -> list[dict[str, Any]]:
        if not self.shared.site.projects:
            return []
        answer = await self.try_call("project_names")
        known: list[dict[str, Any]] = answer.get("projects", [])
        if self.project != ALL and all(entry["id"] != self.project for entry in known):
            known = [*known, {"id": self.project, "name": self.project}]
        return known


async def _encoded(source: AsyncIterator[tuple[str, Any]]) -> AsyncIterator[bytes]:
    async for name, value in source:
        yield b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(value, default=str))


Failing = Callable[[str, BaseException], None]
