"""Export and import: archives, JSON lines, Claude Code's own memory, past transcripts."""
