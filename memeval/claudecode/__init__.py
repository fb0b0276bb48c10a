"""Benchmarks through the real Claude Code client: does memory help it? Run `python -m memeval.claudecode.run_bench --help`."""
