"""Memories that a team reviews in its git repository (docs/team.md)."""
