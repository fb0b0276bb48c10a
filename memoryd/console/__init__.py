"""The console, a web interface served by the daemon on loopback (docs/console.md).

The daemon imports this package only when the console is opened, to keep its own start fast.

- `contract`  building blocks of a page: Page, NavEntry, Route, Reply, Context
- `context`   the handler's interface
- `pages`     the pages, with a guide for adding one in the docstring
- `sessions`  one-time tickets, sessions, CSRF tokens
- `safety`    checks of Host and Origin, limits and headers for every request
- `web`       routing (imports starlette); `listener` (uvicorn), `templates` (jinja2), `markdown` (markdown_it)
- `server`    starts the console in the daemon
"""
