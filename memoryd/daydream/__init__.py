"""The day dream: reads the new part of a session's log and decides what is worth keeping."""
