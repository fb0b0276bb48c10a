"""What a session may see of this installation: the plugin's own files, and an interpreter by a name that leads nowhere.

The plugin's source folder can hold this platform with its gold answers, and so can the folder of the interpreter. So sessions
get a copy of what the plugin ships, and a small script in place of the interpreter's path.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import memoryd

SHIPPED = (".claude-plugin", "plugin.json", ".mcp.json", "pyproject.toml", "hooks", "plugin", "commands", "skills", "agents")
"""Files and folders at the top of a plugin that the client or its hooks read; nothing else is copied."""
FOR_PEOPLE = ("cli", "console", "demo", "doctor")
"""Parts of memoryd that do nothing in a session."""
_LEFT_OUT = ("__pycache__", ".DS_Store")


@dataclass(frozen=True, slots=True)
class Staged:
    """The copy, and the hash of all that decides what the plugin does: its files, and memoryd's code."""

    folder: Path
    digest: str


def stage(plugin: Path, root: Path) -> Staged:
    """Copy the plugin under the folder of the sandboxes, once for each content. May be called by several runs at once."""
    files = sorted(_files(plugin))
    shipped = _digest(plugin, files)
    folder = root / f"plugin-{shipped[:12]}"
    if not folder.is_dir():
        fresh = root / f"plugin-{secrets.token_hex(6)}"
        for file in files:
            target = fresh / file.relative_to(plugin)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        try:
            fresh.rename(folder)
        except OSError:  # another run was faster
            shutil.rmtree(fresh)
    code = Path(memoryd.__file__).parent
    acting = sorted(file for file in code.rglob("*.py") if file.relative_to(code).parts[0].removesuffix(".py") not in FOR_PEOPLE)
    return Staged(folder, hashlib.sha256(f"{shipped}{_digest(code, acting)}".encode()).hexdigest())


def _files(plugin: Path) -> Iterator[Path]:
    for name in SHIPPED:
        top = plugin / name
        found = top.rglob("*") if top.is_dir() else [top]
        yield from (path for path in found if path.is_file() and not set(_LEFT_OUT) & set(path.parts))


def _digest(top: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(top)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def interpreter(root: Path) -> str:
    """The interpreter that runs memoryd, for sessions."""
    if sys.platform == "win32":
        return sys.executable
    script = root / "python"
    text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
    if not script.is_file() or script.read_text("utf-8") != text:
        fresh = root / f"python-{secrets.token_hex(6)}"
        fresh.write_text(text, "utf-8")
        fresh.chmod(0o700)
        fresh.replace(script)
    return str(script)


def outside_path(path: str) -> str:
    """PATH without the folders of this program's own virtual environment, in which the platform can be imported."""
    if sys.prefix == sys.base_prefix:
        return path
    own = Path(sys.prefix).resolve()
    kept = [part for part in path.split(os.pathsep) if part and not Path(part).resolve().is_relative_to(own)]
    base = str(Path(sys.base_prefix) / ("Scripts" if sys.platform == "win32" else "bin"))
    return os.pathsep.join([*kept, *([] if base in kept else [base])])
