"""Long-term memory for Claude Code: Markdown files are the truth, everything else is an index."""

__version__ = "0.1.0"
