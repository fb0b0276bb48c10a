"""Route and handle requests. No other module imports starlette."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route as WebRoute

from memoryd.console.assets import KEEP, Assets
from memoryd.console.context import JSON, CallApi, Context, Failing, SharedContext
from memoryd.console.contract import Page, Route
from memoryd.console.fields import Fields, from_form, from_json, from_query
from memoryd.console.replies import MEMORYD, Reply, Site
from memoryd.console.safety import LOOPBACK, AsgiApp, BodyTooLarge, RequestGuard
from memoryd.console.sessions import ALL, THEMES, BrowserSession, Sessions
from memoryd.console.templates import Templates, is_own
from memoryd.core.codec import is_id
from memoryd.core.errors import DaemonError, InputError, MemorydError, NotFoundError

FORM = "application/x-www-form-urlencoded"
CSRF_HEADER = "x-csrf-token"
CSRF_FIELD = "csrf"
GZIP_BYTES = 800
_logger = logging.getLogger(__name__)
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_NO_STORE = {"cache-control": "no-store"}

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks from the pages to the server.

    `call` calls the API, `touch` records that the console is in use, and `failing` reports an unexpected exception.
    """

    call: CallApi
    touch: Callable[[], None]
    failing: Failing


def console_app(
    pages: Sequence[Page], sessions: Sessions, port: int, hooks: Hooks, *, site: Site = MEMORYD, faults: Sequence[str] = ()
) -> AsgiApp:
    """Build the application that serves `pages` on a loopback port. `faults` are shown on every page."""
    folders = {page.name: page.folder for page in pages if page.folder is not None}
    assets = Assets({name: folder / "static" for name, folder in folders.items()})
    templates = Templates(assets, {name: folder / "templates" for name, folder in folders.items()}, site)
    nav = sorted((page.nav for page in pages if page.nav is not None), key=lambda entry: (entry.order, entry.label))
    shared = SharedContext(templates, nav, hooks.call, faults)
    web = Web(shared, assets, sessions, f"{site.name}-{port}", hooks.touch, hooks.failing)
    return web.app([route for page in pages for route in page.routes], [f"{LOOPBACK}:{port}", f"localhost:{port}"])


class Web:
    """The ASGI application of a console.

    `touch` renews the daemon's lease, and `failing` reports an unexpected exception. `cookie` is the name of the session cookie.
    """

    def __init__(
        self, shared: SharedContext, assets: Assets, sessions: Sessions, cookie: str, touch: Callable[[], None], failing: Failing
    ) -> None:
        self._shared = shared
        self._assets = assets
        self._sessions = sessions
        self._cookie = cookie
        self._touch = touch
        self._failing = failing

    def app(self, routes: Sequence[Route], hosts: Sequence[str]) -> AsgiApp:
        """Return the application with its security middleware. `hosts` are the accepted Host values."""
        ways = [
            WebRoute("/open", self._open, methods=["GET"]),
            WebRoute("/static/{version}/{name:path}", self._static, methods=["GET"]),
            *(_way(route, self._endpoint(route)) for route in (*routes, *self._own_routes())),
        ]
        inner = Starlette(routes=ways, exception_handlers={HTTPException: self._no_such_page})
        inner.router.redirect_slashes = False
        guard: AsgiApp = RequestGuard(GZipMiddleware(inner, minimum_size=GZIP_BYTES), hosts)
        return guard

    # Unauthenticated

    async def _open(self, request: Request) -> Response:
        """Exchange a ticket for a session. An invalid ticket is treated like a missing session."""
        if _is_preview(request):  # A ticket can be used only once, and only by the user.
            return Response(status_code=204, headers=dict(_NO_STORE))
        token = self._sessions.redeem(_ticket(request))
        if token is None:
            return self._locked()
        # Not a redirect: after a link from another site, the browser would not send the new SameSite cookie.
        body = self._shared.templates.render("enter.html", {})
        response = Response(body, headers=dict(_NO_STORE), media_type="text/html")
        response.set_cookie(self._cookie, token, path="/", httponly=True, samesite="strict")
        return response

    def _locked(self) -> Response:
        body = self._shared.templates.render("locked.html", {"theme": "auto"})
        return Response(body, 401, dict(_NO_STORE), media_type="text/html")

    async def _static(self, request: Request) -> Response:
        asset = self._assets.get(request.path_params["name"])
        if asset is None:
            return Response("File not found.", 404, dict(_NO_STORE), media_type="text/plain")
        tag = f'"{self._assets.version}"'
        current = request.path_params["version"] == self._assets.version
        headers = {"etag": tag, "cache-control": KEEP if current else "no-cache", "content-type": asset.media_type}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(asset.body, headers=headers)

    async def _no_such_page(self, request: Request, error: Exception) -> Response:
        session = self._session(request)
        if session is None:
            return self._locked()
        status = error.status_code if isinstance(error, HTTPException) else 500
        context = Context(self._shared, session, request.method, request.url.path, wants_json=_wants_json(request))
        reply = await context.failure(NotFoundError("Page not found.", fix="Choose one from the navigation."))
        return _response(Reply(reply.body, status, reply.media_type))

    # Authenticated

    def _session(self, request: Request) -> BrowserSession | None:
        return self._sessions.get(request.cookies.get(self._cookie, ""))

    def _endpoint(self, route: Route) -> Endpoint:
        async def answer(request: Request) -> Response:
            session = self._session(request)
            if session is None:
                return self._locked()
            if not route.stream:
                self._touch()
            context = Context(self._shared, session, request.method, request.url.path, stream=route.stream)
            context.wants_json = _wants_json(request)
            try:
                reply = await self._handled(route, request, context)
            except (BodyTooLarge, ClientDisconnect):
                raise
            except MemorydError as error:
                reply = await context.failure(error)
            except Exception as error:
                _logger.exception("console page %s failed", route.path)
                self._failing(f"console {route.path}", error)
                unexpected = DaemonError(f"This page failed unexpectedly ({type(error).__name__}).", fix=self._shared.site.bug)
                reply = await context.failure(unexpected)
            return _response(reply)

        return answer

    async def _handled(self, route: Route, request: Request, context: Context) -> Reply:
        context.path = _parts(request.path_params)
        context.query = from_query(request.scope["query_string"])
        if request.method == "POST":
            context.form = await _form(request)
            if not context.session.is_csrf(request.headers.get(CSRF_HEADER) or context.form.text(CSRF_FIELD, limit=200)):
                raise InputError("This form has expired.", fix="Reload the page and repeat the change.")
        project = context.query.text("project", limit=200)
        if project and project != context.session.project and self._shared.site.projects:
            await _choose_project(context, project)
        return await route.handler(context)

    def _own_routes(self) -> tuple[Route, ...]:
        return Route("/theme", _set_theme, ("POST",)), Route("/leave", self._leave, ("POST",))

    async def _leave(self, context: Context) -> Reply:
        """End this session and invalidate its cookie."""
        self._sessions.end_session(context.session)
        return Reply(self._shared.templates.render("locked.html", {"theme": "auto"}))


def _is_preview(request: Request) -> bool:
    """Return whether the request is a HEAD or a browser's prefetch."""
    purpose = request.headers.get("sec-purpose") or request.headers.get("purpose") or ""
    return request.method != "GET" or "prefetch" in purpose.lower() or "preview" in purpose.lower()


def _ticket(request: Request) -> str:
    try:
        return from_query(request.scope["query_string"]).text("ticket", limit=200)
    except InputError:  # None of our links has this form, so the response is the same as for a missing session.
        return ""


async def _set_theme(context: Context) -> Reply:
    context.session.theme = context.form.choice("theme", THEMES, "auto")
    back = context.form.text("back", "/", limit=2_000)
    return context.redirect(back if is_own(back) else "/")


async def _choose_project(context: Context, project: str) -> None:
    if project != ALL:
        answer = await context.call("project_names")
        if all(entry["id"] != project for entry in answer["projects"]):
            raise NotFoundError(f"There is no project '{project}'.", fix="Choose one from the list at the top.")
    context.session.project = project


def _way(route: Route, endpoint: Endpoint) -> WebRoute:
    return WebRoute(route.path, endpoint, methods=list(route.methods))


def _parts(found: Mapping[str, Any]) -> dict[str, str]:
    for name, value in found.items():
        if not (is_id(value) if name == "id" else _PART.fullmatch(value)):
            raise NotFoundError("Page not found.", fix="Choose one from the navigation.")
    return {name: str(value) for name, value in found.items()}


async def _form(request: Request) -> Fields:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if media_type == JSON:
        return from_json(body)
    if media_type == FORM or not body:
        return from_form(body)
    raise InputError(f"The form has the type '{media_type[:80]}'.", fix=f"Send {FORM} or {JSON}.")


def _wants_json(request: Request) -> bool:
    return request.headers.get("accept", "").startswith(JSON)


def _response(reply: Reply) -> Response:
    headers = {**_NO_STORE, **reply.headers, "content-type": reply.media_type}
    if reply.events is not None:
        return StreamingResponse(_stream(reply.events), reply.status, headers)
    return Response(reply.body, reply.status, headers)


async def _stream(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield b": open\n\n"
    async for event in events:
        yield event
