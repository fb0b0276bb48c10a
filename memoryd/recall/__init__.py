"""Handing memories back: governance at a session's start, relevant ones with a prompt, answers to tools."""
