"""Adapters for the coding agents that memoryd supports. All differences between them are behind `base.ClientAdapter`."""
