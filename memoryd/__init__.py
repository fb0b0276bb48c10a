"""Long-term memory for Claude Code, stored in Markdown files."""

__version__ = "0.1.0"
