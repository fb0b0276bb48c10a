"""`python -m memoryd.server`: the daemon without the command line around it, whose libraries would double the start."""

from __future__ import annotations

import sys

from memoryd.clock import SystemClock
from memoryd.config import Settings, load_settings
from memoryd.daemon import run_daemon
from memoryd.errors import ConfigError
from memoryd.server.contract import ApiLike


def _make_api(settings: Settings) -> ApiLike:
    """Loaded only here: by now the daemon listens."""
    from memoryd.server.api import Api

    return Api(settings, SystemClock())


def main() -> int:
    """Serve the home folder that the environment names; 2 for a wrong setting."""
    try:
        settings = load_settings()
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return run_daemon(settings, _make_api, SystemClock())


if __name__ == "__main__":
    sys.exit(main())
