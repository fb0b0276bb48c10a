"""Check for common problems and show how to fix them. The checks work even if the daemon does not."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from memoryd.cli.connect import backups_of, disconnecting, product_of, read_file
from memoryd.cli.install import FOLDER, find_source
from memoryd.clients.base import Product, this_system
from memoryd.clients.registry import CLIENTS
from memoryd.core.config import FILES, Settings
from memoryd.core.db import Database, require_content
from memoryd.core.errors import InputError, MemorydError
from memoryd.core.files import read_tail, try_lock
from memoryd.core.project import find_git
from memoryd.core.state import GIVEN_UP
from memoryd.daemon.client import Client, ensure_daemon
from memoryd.daemon.endpoint import daemons_of
from memoryd.dream.journal import EntryStep, Journal

if TYPE_CHECKING:
    from memoryd.team.mirror import Joined

LOW_DISK_BYTES = 500 * 2**20
OLD_CLIENT = (2, 0, 0)
MANY_SPOOLED = 200
MANY_DAEMONS = 1
LARGE_RSS = 1_200 * 2**20
CLIENT_SECONDS = 10
HOOK_LINES = 500
MANY_MISSED = 3
DAYS_NAMED = 7
SHOWN_FILES = 3


@dataclass(frozen=True, slots=True)
class SetupCheck:
    """The result of a check. `fix` is set if the user needs to act."""

    name: str
    ok: bool
    detail: str
    fix: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Convert the finding to plain values."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "fix": self.fix}


def run_checks(settings: Settings) -> list[SetupCheck]:
    """Run all checks, in the order in which to fix problems."""
    groups: list[Callable[[Settings], Iterator[SetupCheck]]] = [
        _python,
        _home,
        _permissions,
        _databases,
        _journal,
        _given_up,
        _spool,
        _hook_failures,
        _daemon,
        _processes,
        _client,
        _plugin,
        _clients,
        _teams,
    ]
    return [check for group in groups for check in _safely(group, settings)]


def _safely(group: Callable[[Settings], Iterator[SetupCheck]], settings: Settings) -> list[SetupCheck]:
    try:
        return list(group(settings))
    except (OSError, MemorydError) as error:
        fix = error.fix if isinstance(error, MemorydError) else "Check the permissions of the home folder."
        return [SetupCheck(group.__name__.strip("_").replace("_", " "), False, str(error), fix)]


def _python(settings: Settings) -> Iterator[SetupCheck]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield SetupCheck("python", sys.version_info >= (3, 11), f"{version} at {sys.executable}", "Install Python 3.11 or newer.")


def _home(settings: Settings) -> Iterator[SetupCheck]:
    home = settings.home
    if not home.exists():
        yield SetupCheck("home", True, f"{home} does not exist yet; it is created on first use")
        return
    free = shutil.disk_usage(home).free
    yield SetupCheck("home", home.is_dir(), str(home), "Move the file in its place elsewhere.")
    yield SetupCheck(
        "disk", free > LOW_DISK_BYTES, f"{free // 2**20} MiB free", "Free some space; nothing can be stored on a full disk."
    )


def _permissions(settings: Settings) -> Iterator[SetupCheck]:
    if sys.platform == "win32" or not settings.home.exists():
        return
    paths = settings.paths
    watched = [settings.home, paths.memories, paths.run, paths.spool, paths.state_db, paths.endpoint]
    open_ones = [path for path in watched if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    names = ", ".join(str(path) for path in open_ones)
    yield SetupCheck(
        "permissions",
        not open_ones,
        f"others can read {names}" if open_ones else "only you can read the memories",
        f"chmod -R go-rwx {settings.home}",
    )


def _databases(settings: Settings) -> Iterator[SetupCheck]:
    found = sorted(settings.paths.index.glob("*.db")) if settings.paths.index.is_dir() else []
    for path in [settings.paths.state_db, *found]:
        if path.exists():
            yield _database(settings, path)


def _database(settings: Settings, path: Path) -> SetupCheck:
    durable = path == settings.paths.state_db
    try:
        if durable:
            require_content(path, settings.paths.index)
        db = Database(path, durable=durable)
        try:
            db.check()
        finally:
            db.close()
    except MemorydError as error:
        return SetupCheck(f"database {path.name}", False, error.message, error.fix)
    return SetupCheck(f"database {path.name}", True, f"intact, {path.stat().st_size // 1024} KiB")


def _journal(settings: Settings) -> Iterator[SetupCheck]:
    """Find entries interrupted by a kill: neither completed nor rolled back, although no dream is running."""
    heads = Journal(settings.paths.journal).heads()
    interrupted = [head.name for head in heads if head.step in (EntryStep.READY, EntryStep.APPLYING)]
    lock = try_lock(settings.paths.dream_lock) if interrupted else None
    if lock is not None:
        lock.close()
    yield SetupCheck(
        "journal",
        lock is None,
        f"{', '.join(interrupted)}: {'interrupted' if lock else 'in progress'}"
        if interrupted
        else f"{len(heads)} entries, none open",
        "Restart the daemon, which recovers it: memoryd daemon --stop, then memoryd daemon --start",
    )


def _given_up(settings: Settings) -> Iterator[SetupCheck]:
    """Find recent session log lines that took too long to read."""
    if not settings.paths.state_db.exists():
        return
    db = Database(settings.paths.state_db, durable=True)
    try:
        known = db.value("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'note'")
        value = db.value("SELECT value FROM note WHERE name = ?", (GIVEN_UP,)) if known else None
    finally:
        db.close()
    since = (datetime.now(UTC) - timedelta(days=DAYS_NAMED)).isoformat()
    lines = [f"line {line['line']} of {line['transcript']}" for line in orjson.loads(value or "[]") if line["at"] >= since]
    yield SetupCheck(
        "slow lines",
        not lines,
        f"took too long and were skipped: {', '.join(lines)}" if lines else "no line of a log took too long",
        "No action is needed: the rest of the log was read. A report about this kind of text helps to find the cause.",
    )


def _spool(settings: Settings) -> Iterator[SetupCheck]:
    spool = settings.paths.spool
    waiting = [path for path in spool.iterdir() if path.is_file() and not path.name.startswith(".")] if spool.is_dir() else []
    bad = list((spool / "bad").iterdir()) if (spool / "bad").is_dir() else []
    yield SetupCheck(
        "spool", len(waiting) < MANY_SPOOLED, f"{len(waiting)} waiting events", "Start the daemon: memoryd daemon --start"
    )
    if bad:
        yield SetupCheck(
            "spool/bad", False, f"{len(bad)} events could not be read", f"Inspect {spool / 'bad'}, then delete them."
        )


def _hook_failures(settings: Settings) -> Iterator[SetupCheck]:
    lines = read_tail(settings.paths.logs / "hooks.log", HOOK_LINES)
    since = (datetime.now(UTC).astimezone() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S")
    # The first prompt after a pause fails because it must start the daemon. This is normal.
    missed = [line for line in lines if line >= since and " UserPromptSubmit " in line and "starting a daemon" not in line]
    detail = f"last failures: {' | '.join(lines[-3:])}" if lines else "no failures on record"
    if missed:
        detail = f"{len(missed)} prompts of the last day had no memory; {detail}"
    fix = "The machine may be overloaded, or the daemon may be hanging: run memoryd daemon --stop, then check logs/daemon.log."
    yield SetupCheck("hooks", len(missed) < MANY_MISSED, detail, fix)


def _daemon(settings: Settings) -> Iterator[SetupCheck]:
    ensure_daemon(settings)
    status = Client(settings.paths).call("memory_status")
    daemon = status["daemon"]
    size = daemon["rss_bytes"]
    yield SetupCheck("daemon", True, f"answers, pid {daemon['pid']}, version {daemon['version']}")
    yield SetupCheck("memory", size < LARGE_RSS, f"{size // 2**20} MiB", "Restart it: memoryd daemon --stop")
    for fault in daemon["errors"][-3:]:
        yield SetupCheck("fault", True, f"{fault['at']} {fault['where']}: {fault['what']}")
    yield from _contents(status)


def _contents(status: dict[str, Any]) -> Iterator[SetupCheck]:
    index, dreams = status["index"], status["daydreams"]
    problem = index["embedder_error"]
    yield SetupCheck("embedder", not problem, problem or index["embedder"], "Recall uses keyword search until this is fixed.")
    router = status["router"]
    yield SetupCheck(
        "router", not router["problem"], f"{router['used']}: {router['reason']}", "Train it again: memoryd router train"
    )
    for problem in index["broken_files"]:
        detail, _, fix = problem.partition(" Fix: ")
        yield SetupCheck("broken file", False, detail, f"{fix} It was not modified.")
    if ahead := status["memories"]["ahead_of_the_clock"]:
        yield SetupCheck("clock", True, f"{ahead} memories have future dates: the clock was wrong. Newer statements replace them")
    failing = dreams["failing"]
    detail = failing[0]["error"] if failing else f"{dreams['waiting']} waiting, none failing"
    yield SetupCheck("day dream", not failing, detail, "It is retried automatically; 'memoryd log' shows each attempt.")
    if off := [*status["projects_off"], *(f"everything below {folder}" for folder in status["folders_off"])]:
        yield SetupCheck("switched off", True, f"for {', '.join(off)}; 'memoryd on' turns it on again")


def _processes(settings: Settings) -> Iterator[SetupCheck]:
    found = daemons_of(settings.paths)
    if found is not None:
        pids = ", ".join(map(str, found)) or "none"
        yield SetupCheck("processes", len(found) <= MANY_DAEMONS, f"daemons of this home: {pids}", "Kill the surplus ones.")


def _client(settings: Settings) -> Iterator[SetupCheck]:
    command = shutil.which(settings.claude_command)
    if command is None:
        yield SetupCheck("claude", True, "Claude Code is not on the PATH; memoryd works for other MCP clients too")
        return
    try:
        result = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=CLIENT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        yield SetupCheck("claude", False, f"{command} --version does not answer", "Reinstall Claude Code.")
        return
    version = result.stdout.split(" ")[0].strip()
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    yield SetupCheck(
        "claude", numbers >= OLD_CLIENT, f"version {version or 'unknown'}", "Update Claude Code: memoryd needs 2.0 or newer."
    )


def _plugin(settings: Settings) -> Iterator[SetupCheck]:
    """Find files of `memoryd install-claude` written by another version of the package."""
    if not (settings.home / FOLDER).exists():
        return
    outdated = find_source(settings.home).outdated
    detail = f"{len(outdated)} files are from another version" if outdated else "its files are from this version"
    yield SetupCheck("plugin", not outdated, detail, "memoryd install-claude")


def _clients(settings: Settings) -> Iterator[SetupCheck]:
    """Find clients that are connected to another version of memoryd, or only partially connected."""
    system, backups = this_system(), backups_of(settings)
    found = [client for client in CLIENTS if client.changes(system, Product(Path()))]
    if not found:
        return
    source = find_source(settings.home)
    product = product_of(settings, source)
    for client in found:
        if not any(disconnecting(client, system, product, backups)):
            continue
        changes = client.changes(system, product)
        outdated = [str(change.path) for change in changes if change.edit(present := read_file(change.path)) != present]
        # These files were created by install-claude. `install-claude --undo` deletes them.
        outdated += [str(source.folder / name) for name in source.outdated]
        detail = f"{client.title}: {outdated[0]} is outdated" if outdated else f"{client.title} is connected"
        fix = f"memoryd connect {client.name}"
        if not outdated and (warning := client.warning(system)):
            detail, fix = f"{client.title}: {warning[0]}", warning[1]
            yield SetupCheck(client.name, False, detail, fix)
            continue
        yield SetupCheck(client.name, not outdated, detail, fix)


def _teams(settings: Settings) -> Iterator[SetupCheck]:
    """Find teams whose memories can't be read, and a clone in this folder from which none are taken."""
    from memoryd.team.files import FOLDER
    from memoryd.team.mirror import read_joined
    from memoryd.team.repository import address_of, is_another_clone

    if settings.store != FILES:
        return
    joined = read_joined(settings.paths.team)
    for team in joined.values():
        yield from _team(team, settings)
    try:
        here = find_git(Path.cwd())
    except FileNotFoundError:  # The working folder was deleted.
        here = None
    if here is None:
        return
    for team in joined.values():
        same = address_of(here.root, team.origin.remote) == team.origin.address
        if same and is_another_clone(team.origin, here.root):
            detail = f"this clone is not watched: only a git fetch in {team.origin.root} brings the team's memories"
            yield SetupCheck("team", False, detail, "To watch this clone instead, run 'memoryd team init' here.")
        if same:
            return
    if (here.root / FOLDER).is_dir():
        detail = f"{here.root / FOLDER} gives nothing here, since you have not joined this team: memoryd team init"
        yield SetupCheck("team", True, detail)


def _team(team: Joined, settings: Settings) -> Iterator[SetupCheck]:
    from memoryd.team.files import MAX_BYTES
    from memoryd.team.mirror import OF_THE_USER
    from memoryd.team.repository import read_tree, reviewed_commit

    origin = team.origin
    name, branch = origin.address or origin.root, f"{origin.remote}/{origin.branch}"
    try:
        commit = reviewed_commit(origin)
    except InputError as error:
        yield SetupCheck("team", False, f"{name}: {error.message}", error.fix)
        return
    broken = [f"{path}: {reason}" for path, reason in team.left_alone if reason not in OF_THE_USER]
    if broken:
        detail = f"{name}: {len(broken)} files on {branch} were left alone. {'; '.join(broken[:SHOWN_FILES])}"
        yield SetupCheck("team", False, detail, "Correct them on a branch and open a pull request (docs/team.md).")
        return
    files = read_tree(origin, commit, MAX_BYTES).files
    detail = f"{name}: {len(files)} files on {branch}, watched in {origin.root}"
    if not files and (Path(origin.root) / origin.folder).is_dir():
        detail = (
            f"{name}: {origin.folder} is not on {branch}; nothing in it counts until a pull request with it is merged and fetched"
        )
    elif commit != team.commit:
        detail += "; what was fetched last is read within some seconds"
    yield SetupCheck("team", True, detail)
