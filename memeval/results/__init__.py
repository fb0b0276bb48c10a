"""What a run leaves behind: its SQLite store, its result file, and what produced them."""
