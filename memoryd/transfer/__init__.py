"""Export memories, and import them from archives, JSON lines, Claude Code's own memory and past transcripts."""
