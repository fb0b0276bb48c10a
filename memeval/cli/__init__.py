"""The command line: `memeval …`."""

from __future__ import annotations

from memeval.cli.app import main

__all__ = ["main"]
