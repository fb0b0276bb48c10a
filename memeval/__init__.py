"""Benchmarks for memory systems. The platform itself comes with a later release; see the changelog."""
