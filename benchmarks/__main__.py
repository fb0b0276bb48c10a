"""`make bench`: every benchmark with sizes that end in a few minutes. Larger ones: see docs/performance.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PLAN = (
    ("Hooks: wall time of the hook process", "hooks.py", []),
    ("Daemon, MCP and recall", "daemon.py", ["--memories", "2000"]),
    ("Markdown store", "store.py", ["--sizes", "1000,10000"]),
    ("Vector store and embedder", "vector.py", ["--sizes", "1000,10000"]),
)


def main() -> int:
    """Run them one after the other; the number of failures."""
    failures = 0
    for title, name, arguments in PLAN:
        print(f"\n== {title} ({name} {' '.join(arguments)})", flush=True)
        failures += subprocess.run([sys.executable, str(FOLDER / name), *arguments], check=False).returncode != 0
    return failures


if __name__ == "__main__":
    sys.exit(main())
