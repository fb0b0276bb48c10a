'''The pages of the console, and how to write one.

A page is a module of this package with a `PAGE`, named in `PAGES` below. Only pages that exist are in the navigation.

    """Dreams: what they changed, and what waits for consent."""

    async def index(ctx: Context) -> Reply:
        answer = await ctx.call("journal", limit=ctx.query.count("limit", 20, low=1, high=200))
        return await ctx.page("dreams.html", entries=answer["entries"])

    async def undo(ctx: Context) -> Reply:
        answer = await ctx.call("undo", id=ctx.form.text("id", limit=200))
        return ctx.redirect("/dreams", f"Taken back: {len(answer['restored'])} memories.")

    PAGE = Page("dreams", (Route("/dreams", index), Route("/dreams/undo", undo, ("POST",))), Nav("Dreams", "/dreams", 50))

Handlers
- `ctx.call(method, **params)` asks for an operation as CLI and MCP do (`memoryd.api`). What is missing there is added there:
  everything the page can do, the CLI can do. An operation marked `form="…"` has a page under Other already. A MemorydError
  that is not caught becomes a page with its `fix`; `ctx.try_call` gives {"error": {...}} instead, for `m.problem(...)` in one
  part of a page. Never import the service or a store.
- `ctx.project` is what the person looks at: an id or "all"; pass it as `project`. `?project=ID` on any address changes it.
- `ctx.query`, `ctx.form`: `read(name, parameter)` takes a parameter of an operation, and `text`, `required`, `count`,
  `choice`, `choices`, `id`, `flag` are short for common ones, each with a limit; they raise InputError. `ctx.path["id"]` was
  checked against the form of an id; other parts are plain names without "/" and "..".
- Answers: `await ctx.page(template, **values)`, `ctx.redirect(path, flash)` after every change (POST, then GET),
  `ctx.json(value)`, `ctx.events(async generator of (name, value))` with `Route(..., stream=True)`. A stream does not keep
  the daemon alive: poll with `ctx.call` (it does not count as use there) and end when there is nothing more to tell.
- GET changes nothing. A POST arrives only with a CSRF token: `{{ m.csrf(csrf) }}` in every form; a script sends the header
  X-CSRF-Token with the content of <meta name="csrf"> (see `post` in static/app.js).

Templates (memoryd/console/templates, Jinja2; everything is escaped; a missing name is an error)
- `{% extends "base.html" %}`, blocks `title`, `main`, `scripts`; `{% import "macros.html" as m %}`.
- Given on every page: `project`, `projects`, `here`, `query` (dict of the address), `pairs` (the same with names that come
  several times), `csrf`, `theme`, `flashes`, `nav`. `status=` of `ctx.page` is the HTTP status: call your value otherwise.
- Filters: `markdown` (safe HTML of a memory), `seen` (text of memories and logs, but in forms: no sign turns or hides it),
  `day`, `minute`, `thousands`, `money`, `segment` (for a part of an address).
  Functions: `static("graph.js")`, `link("/memories", query, page=2)`.
- macros.html: `csrf`, `button` (a form with one button), `chip`, `status`, `kind`, `facts`, `memory_row`, `table`,
  `pager`, `empty`, `problem`, `field`, `select`, `stat`, `details`.
- No inline script or style, no `style=`, no `on…=`: the Content-Security-Policy forbids them. Scripts are ES modules in
  static/, loaded with <script type="module" src="{{ static('x.js') }}"> in block `scripts`; a page works without them.
  Data for a script goes into <script type="application/json" id="..."> with `|tojson`, or is fetched with
  Accept: application/json (`ctx.wants_json`).
- Colours, spaces and sizes are custom properties of static/style.css; both themes and 360 px are part of done.

Tests: `tests/memoryd/console/conftest.py` has `console` (scripted answers) and `real_console` (a real API), both without a
network; `auditing.harm` finds what a page must not hold; `browser/conftest.py` has a real daemon with a store, and Chromium
(shared names come from `browsing`, as `conftest` is ambiguous). Each page gets: empty store, 5,000 memories, a fault of its
call, stored XSS in what it shows, axe-core, 390 and 1440 px, light and dark.
'''

from __future__ import annotations

from memoryd.console.contract import Page
from memoryd.console.pages import dreams, graph, home, memories, operations, review, sessions, settings

PAGES: tuple[Page, ...] = (
    home.PAGE,
    review.PAGE,
    memories.PAGE,
    graph.PAGE,
    sessions.PAGE,
    dreams.PAGE,
    settings.PAGE,
    operations.PAGE,
)
