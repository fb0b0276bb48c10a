"""The console: memory in a browser, served by the daemon on loopback (docs/console.md).

Nothing of this package is imported before somebody asks for a console, so it costs the daemon's start nothing.

- `contract`  what a page is made of: Page, Nav, Route, Reply, Context
- `context`   what a handler gets
- `pages`     the pages; its docstring is the guide for a new one
- `sessions`  one-time tickets, sessions, CSRF tokens
- `safety`    Host, Origin, limits and headers, for every request
- `web`       routing (the only importer of starlette); `listener` (uvicorn), `templates` (jinja2), `markdown` (markdown_it)
- `door`      opens all of it in the daemon
"""
