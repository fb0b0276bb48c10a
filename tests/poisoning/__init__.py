"""Attacks by text on what counts as the user's words."""
