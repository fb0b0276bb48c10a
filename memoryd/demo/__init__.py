"""`make demo`: remember three sample sessions and answer questions about them."""
