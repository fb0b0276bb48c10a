"""Store runs in SQLite, write result files, and record provenance."""
