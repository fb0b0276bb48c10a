"""Foundations: values, errors, contracts, settings, files, the SQLite opener and the work state."""
