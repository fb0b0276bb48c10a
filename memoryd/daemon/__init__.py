"""The daemon: one process per home folder that holds memory open for hooks, MCP and the command line.

It carries messages and keeps time; what they mean is `memoryd.api`.

- `process`     start, duties, lease and end; `__main__` is `python -m memoryd.daemon`
- `endpoint`    where it listens · `connection` one client · `core` what all connections share
- `hook_events` event records · `spool` those that no daemon was there for
- `threads`     request threads and the background worker · `schedule` recurring work · `watch` edited files · `logs`
- `client` starts a daemon and calls it · `relay` connects MCP over stdio with it
- `lines`, `wire` messages on a stream, and JSON that is damaged
"""
