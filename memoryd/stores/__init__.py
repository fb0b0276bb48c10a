"""Stores: the Markdown truth and the indexes derived from it. Siblings never import one another."""
