"""Storage of runs: the SQLite store, result files, and provenance."""
