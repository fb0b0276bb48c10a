"""Injection of memories: governance at a session's start, relevant memories with a prompt, and results for tools."""
