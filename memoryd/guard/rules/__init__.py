"""Readers of rules, one module for each kind of check. `memoryd.guard.compile` decides which applies."""
