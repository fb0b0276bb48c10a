"""Demo (`make demo`): remembers three sample sessions and answers questions about them."""
