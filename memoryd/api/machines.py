"""Operations that sync memories between the user's machines."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from memoryd.api.parameters import NoParameters, flag, request, text
from memoryd.api.registry import Caller, operation
from memoryd.core.config import FILES
from memoryd.core.errors import InputError, MemorydError
from memoryd.daemon.contract import Slot

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime
    from memoryd.sync.engine import Syncing

log = logging.getLogger(__name__)


@request
class SetUpSync:
    """Where to sync, and the code of a machine that does so already."""

    target: str = text(required=True, argument=True, help="The address of your own git repository, or a shared folder.")
    code: str = text(help="The code that 'memoryd sync status' shows on a machine that already syncs.")
    name: str = text(help="A name for this machine, shown to you (default: its host name).")


class SyncStatus(TypedDict):
    """Where this machine syncs, its code for further machines, the others, and what is not shared or was left alone."""

    target: str
    name: str
    machine: str
    code: str
    last: str
    by_git: bool
    machines: list[dict[str, str]]
    problems: list[dict[str, str]]


@operation(SetUpSync, SyncStatus, person_only=True)
def sync_init(runtime: Runtime, request: SetUpSync, caller: Caller) -> SyncStatus:
    """Set up sync between your machines, through a git repository or a shared folder. The first machine makes the code."""
    from memoryd.sync import engine

    _require_files(runtime)
    paths = runtime.settings.paths
    engine.initialise(paths, request.target, Path(caller.cwd or Path.home()), request.code, request.name)
    return _status(runtime)


@operation(NoParameters, SyncStatus, person_only=True)
def sync_status(runtime: Runtime, request: NoParameters, caller: Caller) -> SyncStatus:
    """Show where this machine syncs, the code that lets another machine in, and what was left alone."""
    return _status(runtime)


def _status(runtime: Runtime) -> SyncStatus:
    from memoryd.sync import engine

    found: dict[str, Any] = engine.status(runtime.settings.paths)
    return cast("SyncStatus", found)


@request
class SyncNow:
    """Options of one sync."""

    force: bool = flag(help="Sync even though most memories were deleted here.")


class MachinesSynced(TypedDict):
    """What was exchanged. `held_back` lists memories that hold a secret, `problems` files that no machine of yours signed."""

    received: int
    sent: int
    merged: int
    deleted: int
    proposals: int
    held_back: list[dict[str, str]]
    problems: list[dict[str, str]]
    machines: list[dict[str, str]]


@operation(SyncNow, MachinesSynced, person_only=True)
def sync_now(runtime: Runtime, request: SyncNow, caller: Caller) -> MachinesSynced:
    """Exchange memories with your other machines now."""
    from dataclasses import asdict

    _require_files(runtime)
    report = _syncing(runtime).run(force=request.force)
    runtime.refresh_answers()
    return cast("MachinesSynced", asdict(report))


@request
class ShutOut:
    """The machine."""

    machine: str = text(required=True, argument=True, help="Its id or name, from 'memoryd sync status'.")


@operation(ShutOut, SyncStatus, person_only=True)
def sync_shut_out(runtime: Runtime, request: ShutOut, caller: Caller) -> SyncStatus:
    """Take over nothing more from one of your machines, for example after it was lost. Do this on each of the others."""
    from memoryd.sync import engine

    engine.shut_out(runtime.settings.paths, request.machine)
    return _status(runtime)


def _require_files(runtime: Runtime) -> None:
    if runtime.started.store != FILES:
        raise InputError("The memories are in a database, which your machines can share.", fix="See docs/postgres.md.")


def _syncing(runtime: Runtime) -> Syncing:
    from memoryd.sync.engine import Syncing

    return Syncing(
        runtime.settings.paths,
        runtime.service,
        runtime.state,
        runtime.sweep,
        runtime.registry,
        runtime.clock,
        runtime.is_off,
    )


def slots(runtime: Runtime) -> list[Slot]:
    """Return the recurring sync. It does nothing on machines where sync is not set up."""
    minutes = runtime.settings.sync_minutes
    return [Slot("sync", lambda: _when_set_up(runtime), every_seconds=minutes * 60)] if minutes else []


def _when_set_up(runtime: Runtime) -> None:
    if not runtime.settings.paths.sync_settings.is_file() or runtime.started.store != FILES:
        return
    with contextlib.suppress(InputError):
        try:
            _syncing(runtime).run()
        except MemorydError as error:  # the network may be away; 'memoryd sync status' shows it
            from memoryd.sync import engine

            log.warning("sync failed: %s", error)
            engine.note_problem(runtime.settings.paths, str(error))
        runtime.refresh_answers()
