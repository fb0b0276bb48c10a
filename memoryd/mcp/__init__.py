"""MCP: the operations of `memoryd.api` as tools for a model."""
