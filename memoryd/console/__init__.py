"""The console: a web interface to memory, served by the daemon on loopback (docs/console.md).

The daemon imports this package only when the console is opened, so it does not slow down its start.

- `contract`  building blocks of a page: Page, Nav, Route, Reply, Context
- `context`   the handler's interface
- `pages`     the pages; its docstring is the guide for adding one
- `sessions`  one-time tickets, sessions, CSRF tokens
- `safety`    checks of Host and Origin, limits and headers for every request
- `web`       routing (imports starlette); `listener` (uvicorn), `templates` (jinja2), `markdown` (markdown_it)
- `server`    starts the console in the daemon
"""
