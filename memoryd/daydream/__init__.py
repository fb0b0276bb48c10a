"""The day dream: reads what a session's log gained and decides what is worth keeping."""
