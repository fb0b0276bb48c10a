"""The coding agents that memoryd works with. Everything that differs between them is behind `base.Client`."""
