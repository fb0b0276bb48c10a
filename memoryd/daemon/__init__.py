"""The daemon: one process per home folder that keeps memory loaded for hooks, MCP and the CLI.

This package handles transport and scheduling. The operations themselves are in `memoryd.api`.

- `process`     startup, tasks, lease and shutdown; `__main__` is `python -m memoryd.daemon`
- `endpoint`    listening socket · `connection` a client · `core` state shared by all connections
- `hook_events` event records · `spool` events written while no daemon was running
- `threads`     request threads and the background worker · `schedule` recurring work · `watch` manual edits · `logs`
- `client`      starts a daemon and calls it · `relay` connects it with MCP over stdio
- `lines`, `wire` message framing, and tolerant JSON parsing
"""
