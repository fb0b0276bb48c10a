"""The dream, which consolidates memories. Pure stages turn items into changes, and the sweep applies them."""
