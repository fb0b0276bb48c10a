"""The command that connects coding agents with memoryd, and disconnects them."""

from __future__ import annotations

import base64
import contextlib
import difflib
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import orjson

from memoryd.cli.install import ClaudePlugins, InstallStep, PluginFiles, find_source, installing, removing
from memoryd.cli.root import Context, json_option, pass_context
from memoryd.clients.base import ClientAdapter, FileChange, Product, System, this_system
from memoryd.clients.registry import CLAUDE_CODE, CLIENTS
from memoryd.core.config import Settings, find_home
from memoryd.core.errors import ConfigError, InputError
from memoryd.core.files import write_atomic

HIDDEN = "…"
MAX_DIFF_LINES = 60


@dataclass(frozen=True, slots=True)
class ConnectStep:
    """A change to a client's settings. `diff` shows it as text."""

    client: ClientAdapter
    what: str
    do: Callable[[], object]
    diff: str = ""
    path: str = ""


class Backups:
    """Previous content of the changed files, stored in memoryd's home folder for exact restoration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _place(self, path: Path) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.json"

    def record(self, path: Path, before: bytes | None, after: bytes | None) -> None:
        """Record a change before making it."""
        encoded = None if before is None else base64.b64encode(before).decode()
        write_atomic(self._place(path), orjson.dumps({"path": str(path), "before": encoded, "after": _digest(after)}))

    def before(self, path: Path, present: bytes | None) -> tuple[bytes | None, bool]:
        """Return the content before the change, and whether it is known and the file has not been modified since."""
        try:
            kept = orjson.loads(self._place(path).read_bytes())
            before = None if kept["before"] is None else base64.b64decode(kept["before"])
            return before, kept["after"] == _digest(present)
        except (OSError, ValueError, KeyError, TypeError):
            return None, False

    def drop(self, path: Path) -> None:
        """Remove the record of a file."""
        self._place(path).unlink(missing_ok=True)


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


def product_of(settings: Settings, source: PluginFiles) -> Product:
    """Return the installation of memoryd to connect clients to."""
    return Product(source.folder, None if settings.home == find_home({}) else settings.home)


def backups_of(settings: Settings) -> Backups:
    """Return the backups of changed files."""
    return Backups(settings.home / "state" / "connected")


def read_file(path: Path) -> bytes | None:
    """Return a file's content, or None if there is no file. Raises ConfigError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"Can't read {path}: {error.strerror}.", fix="Check the file's permissions.") from error


def wanted_clients(names: Sequence[str], system: System) -> list[ClientAdapter]:
    """Return the named clients, or all clients found. Raises InputError for an unknown name."""
    known = {client.name: client for client in CLIENTS}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"Unknown client: {unknown[0]!r}.", fix=f"Choose one of: {', '.join(known)}.")
    if names:
        return [known[name] for name in dict.fromkeys(names)]
    return [client for client in CLIENTS if client.find(system)]


def connecting(client: ClientAdapter, system: System, product: Product, backups: Backups) -> Iterator[ConnectStep]:
    """Yield the changes that are still needed. Raises ConfigError."""
    for change in client.changes(system, product):
        present = read_file(change.path)
        content = change.edit(present)
        if content != present:
            yield _step(client, change, change.what, present, content, _writer(change, present, content, backups))


def _step(
    client: ClientAdapter, change: FileChange, what: str, before: bytes | None, after: bytes | None, do: Callable[[], object]
) -> ConnectStep:
    return ConnectStep(client, what, do, _diff(change.path, before, after), str(change.path))


def _writer(change: FileChange, present: bytes | None, content: bytes | None, backups: Backups) -> Callable[[], None]:
    def write() -> None:
        before, is_known = backups.before(change.path, present)
        backups.record(change.path, before if is_known else change.revert(present), content)
        _write(change, content)

    return write


def _write(change: FileChange, content: bytes | None) -> None:
    """Write a file, or delete it. A link stays a link, and the mode is kept."""
    target = change.path.resolve()
    if content is None:
        change.path.unlink(missing_ok=True)
        _remove_empty_folders(change)
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else None
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(target, content)
    if mode is not None:
        target.chmod(mode)


def _remove_empty_folders(change: FileChange) -> None:
    if change.folder is None:
        return
    for folder in change.path.parents:
        if not folder.is_relative_to(change.folder):
            return
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()


def disconnecting(client: ClientAdapter, system: System, product: Product, backups: Backups) -> Iterator[ConnectStep]:
    """Yield the changes that disconnect a client.

    An unmodified file is restored exactly. If the file was modified, only memoryd's additions are removed.
    """
    for change in client.changes(system, product):
        present = read_file(change.path)
        before, is_known = backups.before(change.path, present)
        content = before if is_known else change.revert(present)
        if content != present:
            what = f"{'Restore' if content is not None else 'Delete'} {change.path}"
            yield _step(client, change, what, present, content, _restorer(change, content, backups))


def _restorer(change: FileChange, content: bytes | None, backups: Backups) -> Callable[[], None]:
    def restore() -> None:
        _write(change, content)
        backups.drop(change.path)

    return restore


def _diff(path: Path, before: bytes | None, after: bytes | None) -> str:
    old, new = (_shown(content) for content in (before, after))
    lines = list(
        difflib.unified_diff(old, new, str(path) if old else "/dev/null", str(path) if new else "/dev/null", lineterm="")
    )
    more = [f"{HIDDEN} {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else []
    return "\n".join(lines[:MAX_DIFF_LINES] + more)


def _shown(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _claude_steps(context: Context, source: PluginFiles, undo: bool) -> list[InstallStep]:
    claude = ClaudePlugins(context.settings.claude_command)
    return removing(claude, source) if undo else installing(claude, source, context.settings)


def plan(context: Context, clients: Sequence[ClientAdapter], source: PluginFiles, undo: bool) -> list[ConnectStep]:
    """Return all steps for these clients. Raises MemorydError before any change."""
    system, product, backups = this_system(), product_of(context.settings, source), backups_of(context.settings)
    steps = []
    others = [client for client in clients if client is not CLAUDE_CODE]
    if others and not undo and source.outdated:
        steps.append(ConnectStep(others[0], f"Write memoryd's hooks to {source.folder}", source.write))
    for client in others:
        steps += (disconnecting if undo else connecting)(client, system, product, backups)
    if CLAUDE_CODE in clients:
        done = {step.what for step in steps}
        steps += [
            ConnectStep(CLAUDE_CODE, step.what, step.do) for step in _claude_steps(context, source, undo) if step.what not in done
        ]
    return steps


@click.command("connect")
@click.argument("clients", nargs=-1, metavar="[CLIENT]...")
@click.option("--yes", is_flag=True, help="Don't ask.")
@click.option("--dry-run", "dry", is_flag=True, help="Only print what would be changed.")
@click.option("--undo", is_flag=True, help="Disconnect, and restore the files as they were. Memories are kept.")
@json_option
@pass_context
def connect(context: Context, /, clients: tuple[str, ...], yes: bool, dry: bool, undo: bool) -> None:
    """Connect coding agents with memoryd, by default all that are installed.

    Shows each change to a client's settings, asks for confirmation, and makes the change. Run it again after updating memoryd.
    """
    output = context.output
    found = wanted_clients(clients, this_system())
    source = find_source(context.settings.home)
    steps = plan(context, found, source, undo)
    if not output.as_json:
        for step in steps:
            output.line(f"{step.client.title}: {step.what}", "bold")
            if step.diff:
                output.line(step.diff)
    makes = bool(steps) and not dry and (yes or _agrees(context))
    for step in steps if makes else ():
        step.do()
    shown = [{"client": step.client.name, "what": step.what, "path": step.path, "diff": step.diff} for step in steps]
    if context.show({"clients": [client.name for client in found], "steps": shown, "done": makes or not steps}):
        return
    if not found:
        output.note(f"No client was found. Supported: {', '.join(client.title for client in CLIENTS)}.")
    elif not steps:
        output.note(f"{'Nothing to undo' if undo else 'Everything is in place'}: {', '.join(client.title for client in found)}.")
    elif makes:
        for client in found if not undo else ():
            output.note(f"{client.title}: {client.limits or 'new sessions are remembered from now on.'}")
    else:
        output.note("Nothing was changed.")


def _agrees(context: Context) -> bool:
    if not context.output.is_interactive or context.output.as_json:
        raise InputError("Confirmation requires a terminal, so nothing was changed.", fix="Add --yes to make the changes.")
    return click.confirm("Make these changes?", default=True)


COMMANDS = (connect,)
