"""Foundations: value types, errors, interfaces, settings, files, the SQLite wrapper and persistent state."""
