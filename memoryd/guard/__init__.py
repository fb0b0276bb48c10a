"""The guard: checks compiled from the user's rules, evaluated on tool calls, with results counted in a ledger."""
