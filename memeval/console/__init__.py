"""The page Results of memoryd's console: what lies in a results folder, and runs that go on.

- `live`     how far a run is, read from its store and never written to
- `library`  the results of one folder, read once and kept until a file changes
- `pages`    the page, found by memoryd through the entry point group `memoryd.console_pages`

The folder is the one that the person named with `memoryd console --results`; no path is ever made from a request.
"""
