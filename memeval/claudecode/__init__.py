"""Benchmarks through the real Claude Code client. See `python -m memeval.claudecode.run_bench --help`."""
