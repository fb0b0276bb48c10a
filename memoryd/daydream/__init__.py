"""The day dream: read the new part of a session's log and decide what to keep."""
