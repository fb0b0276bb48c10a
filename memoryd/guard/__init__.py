"""The guard: checks compiled from the user's rules and evaluated on tool calls. Results are counted in a ledger."""
