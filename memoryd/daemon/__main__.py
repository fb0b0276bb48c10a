"""Entry point of `python -m memoryd.daemon`. It does not import the CLI, whose libraries would double the start-up time."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from memoryd.core.clock import SystemClock, clock_from
from memoryd.core.config import Settings, find_home, load_settings
from memoryd.core.deadline import Watchdog
from memoryd.core.errors import ConfigError, InputError, MemorydError
from memoryd.core.files import write_atomic
from memoryd.core.paths import Paths
from memoryd.daemon.contract import ApiLike
from memoryd.daemon.process import run_daemon
from memoryd.llm.claude import take_from

# Reading a part takes about a second, and every line has its own time limit. A call that takes longer than this is
# probably hanging.
LONGEST_READING_SECONDS = 180


def _make_api(settings: Settings, info: Callable[[], Mapping[str, Any]]) -> ApiLike:
    """Create the API. It is imported here because the daemon is already listening at this point."""
    from memoryd.api.dispatch import Api

    return Api(settings, clock_from(os.environ), take_from(os.environ), info, Watchdog(LONGEST_READING_SECONDS))


def main() -> int:
    """Serve the home folder given in the environment. Return 2 if a setting is invalid."""
    try:
        settings = load_settings()
        clock_from(os.environ)
    except (ConfigError, InputError) as error:
        sys.stderr.write(f"{error}\n")
        _note_problem(error)
        return 2
    return serve(settings)


def serve(settings: Settings) -> int:
    """Run the daemon of a home folder in this process, and return the exit code."""
    return run_daemon(settings, _make_api, SystemClock())


def _note_problem(error: MemorydError) -> None:
    """Record the error, so that the hook shows it to the user when the next session starts."""
    with contextlib.suppress(MemorydError):  # The home folder itself may be invalid.
        paths = Paths(find_home(os.environ))
        if paths.home.is_dir():
            write_atomic(paths.start_problem, str(error).encode("utf-8", "replace"))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # Everything is closed. Taking down the interpreter would take up to a second.
