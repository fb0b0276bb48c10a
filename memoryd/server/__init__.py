"""The daemon's connections: hook events, JSON calls, MCP."""
