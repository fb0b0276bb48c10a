"""Stores: the Markdown files (source of truth) and the indexes derived from them."""
