"""The Results page of memoryd's console, which shows results folders and active runs.

- `live`     the progress of a run, read from its store without writing
- `library`  the results of one folder, cached until a file changes
- `pages`    the page, found by memoryd through the entry point group `memoryd.console_pages`

The folder is the one given to `memoryd console --results`. Paths are never built from a request.
"""
