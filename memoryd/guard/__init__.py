"""Checks of the user's rules on what an agent is about to do: compiled from rules, evaluated on tool calls, counted in a ledger."""
