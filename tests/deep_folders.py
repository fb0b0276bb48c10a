"""More folders in folders than Python's own walks can bear. They are removed again, because pytest could not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

NAME = "nested"
DEPTH = 1_500


def nest(folder: Path) -> None:
    """Create the folders. The path of the last one is longer than a path may be."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir(NAME, dir_fd=handle)
        deeper = os.open(NAME, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = deeper
    os.close(handle)


def unnest(folder: Path) -> None:
    """Remove them, from the top."""
    top, rest = folder / NAME, folder / "rest"
    while (top / NAME).is_dir():
        (top / NAME).rename(rest)
        top.rmdir()
        rest.rename(top)
    if top.is_dir():
        top.rmdir()


@contextlib.contextmanager
def deep_folders(folder: Path) -> Iterator[None]:
    """Keep them in a folder while the block runs."""
    try:
        nest(folder)
        yield
    finally:
        unnest(folder)
