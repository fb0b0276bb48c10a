"""The dream: merge, correct, forget. Stages are pure functions from items to changes; the sweep applies them."""
