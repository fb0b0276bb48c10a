"""Memories out of and into memoryd: archives, JSON lines, Claude Code's own memory, past transcripts."""
