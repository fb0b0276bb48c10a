"""The demo (`make demo`), which remembers three sample sessions and answers questions about them."""
