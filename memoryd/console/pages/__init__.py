'''The pages of the console, and how to add one.

A page is a module of this package that defines `PAGE` and is listed in `PAGES` below.

    """Dreams: their changes, and proposals."""

    async def index(ctx: Context) -> Reply:
        answer = await ctx.call("journal", limit=ctx.query.count("limit", 20, low=1, high=200))
        return await ctx.page("dreams.html", entries=answer["entries"])

    async def undo(ctx: Context) -> Reply:
        answer = await ctx.call("undo", id=ctx.form.text("id", limit=200))
        return ctx.redirect("/dreams", f"Undone: {len(answer['restored'])} memories.")

    PAGE = Page("dreams", (Route("/dreams", index), Route("/dreams/undo", undo, ("POST",))), NavEntry("Dreams", "/dreams", 50))

Handlers
- `ctx.call(method, **params)` calls an operation like the CLI and MCP do (`memoryd.api`). Add missing operations
  there, so that the CLI can do everything that a page can. An operation marked `form="…"` automatically has a page
  under Other. An uncaught MemorydError becomes a page with its `fix`; `ctx.try_call` returns {"error": {...}}
  instead, for `m.problem(...)` in one part of a page. Never import the service or a store.
- `ctx.project` is the selected project, an id or "all"; pass it as `project`. `?project=ID` on any URL changes it.
- `ctx.query`, `ctx.form`: `read(name, parameter)` takes a parameter of an operation; `text`, `required`, `count`, `choice`,
  `choices`, `id`, `flag` are shortcuts for common ones, each with a limit. All raise InputError. `ctx.path["id"]` is a valid
  memory id; other path parameters are plain names without "/" and "..".
- Responses: `await ctx.page(template, **values)`, `ctx.redirect(path, flash)` after every change (POST, then GET),
  `ctx.json(value)`, `ctx.events(async generator of (name, value))` with `Route(..., stream=True)`. A stream does not keep the
  daemon running: poll with `ctx.call` (which does not count as use there) and end the stream when there is nothing more to send.
- GET changes nothing. A POST needs a CSRF token: `{{ m.csrf(csrf) }}` in every form; a script sends the header X-CSRF-Token
  with the content of <meta name="csrf"> (see `post` in static/app.js).

Templates (memoryd/console/templates, Jinja2; everything is escaped; an undefined name is an error)
- `{% extends "base.html" %}`, blocks `title`, `main`, `scripts`; `{% import "macros.html" as m %}`.
- Defined on every page: `project`, `projects`, `here`, `query` (dict of the query string), `pairs` (the same with repeated
  names), `csrf`, `theme`, `flashes`, `nav`. `status=` of `ctx.page` is the HTTP status, so choose other names for variables.
- Filters: `markdown` (safe HTML of a memory), `seen` (text of memories and logs, except in forms: removes hidden characters),
  `day`, `minute`, `thousands`, `money`, `segment` (for a part of a URL).
  Functions: `static("graph.js")`, `link("/memories", query, page=2)`.
- macros.html: `csrf`, `button` (a form with one button), `chip`, `status`, `kind`, `facts`, `memory_row`, `table`,
  `pager`, `empty`, `problem`, `field`, `select`, `stat`, `details`.
- No inline script or style, no `style=`, no `on…=`: the Content-Security-Policy forbids them. Scripts are ES modules in
  static/, loaded with <script type="module" src="{{ static('x.js') }}"> in block `scripts`; a page must work without them.
  Pass data to a script in <script type="application/json" id="..."> with `|tojson`, or fetch it with
  Accept: application/json (`ctx.wants_json`).
- Colours, spaces and sizes are custom properties of static/style.css; support both themes and a width of 360 px.

Tests: `tests/memoryd/console/conftest.py` has `console` (scripted responses) and `real_console` (a real API), both
without a network; `auditing.harm` finds forbidden content in a page; `browser/conftest.py` has a real daemon with a
store, and Chromium (import shared names from `browsing`, because `conftest` is ambiguous). Test each page with an
empty store, 5,000 memories, a failing call, stored XSS in what it shows, axe-core, 390 and 1440 px, light and dark.
'''

from __future__ import annotations

from memoryd.console.contract import Page
from memoryd.console.pages import dreams, graph, guard, home, memories, operations, review, sessions, settings

PAGES: tuple[Page, ...] = (
    home.PAGE,
    review.PAGE,
    memories.PAGE,
    graph.PAGE,
    sessions.PAGE,
    dreams.PAGE,
    guard.PAGE,
    settings.PAGE,
    operations.PAGE,
)
