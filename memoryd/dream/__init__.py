"""The dream: consolidation of memories. Pure stages map items to changes; the sweep applies them."""
