"""Record the provenance of a result: commit, versions and machine. Unknown values are None, never guesses."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from memeval.core.errors import MemevalError

PACKAGE = "memoryd"
_SOURCE = Path(__file__).resolve().parents[2]


def version() -> str:
    """Return the version of the installed package, or 0.0.0 if it is not installed."""
    try:
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return "0.0.0"


def provenance() -> dict[str, Any]:
    """Return the commit, the package versions, the Python version and the platform."""
    return {
        "memeval_version": version(),
        "git": git_state(_SOURCE),
        "packages": package_versions(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "platform": f"{platform.system()} {platform.machine()}",
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """Return the checkout's commit and whether tracked files are modified. Return None outside a checkout."""
    try:
        if Path(_git(folder, "rev-parse", "--show-toplevel")) != folder:
            return None
        return {
            "commit": _git(folder, "rev-parse", "HEAD"),
            "dirty": bool(_git(folder, "status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError, MemevalError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.strip()


def package_versions() -> dict[str, str]:
    """Return the installed versions of this package and of its requirements."""
    try:
        required = importlib.metadata.requires(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    names = {re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    versions = {}
    for name in sorted({PACKAGE, *names}):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions
