"""The dream: consolidation of memories. Pure stages turn items into changes, and the sweep applies them."""
