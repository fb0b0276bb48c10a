"""The stores: Markdown files (the truth) and the indexes that are derived from them."""
