"""The guard: checks compiled from the user's rules, evaluated on tool calls, counted in a ledger."""
