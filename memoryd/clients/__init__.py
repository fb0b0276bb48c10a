"""Adapters for supported coding agents. `base.ClientAdapter` hides all differences between them."""
