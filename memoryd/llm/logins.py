"""What the client's sessions log in with, held in this process's memory and nowhere else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, MutableMapping

KEPT_SESSIONS = 64
PREFIXES = ("ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_REGION_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_CLIENT_")
NAMES = frozenset(
    """CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CODE_SKIP_BEDROCK_AUTH CLAUDE_CODE_SKIP_VERTEX_AUTH CLAUDE_CODE_SKIP_FOUNDRY_AUTH
    CLAUDE_CONFIG_DIR CLAUDE_CODE_EXECPATH CLOUD_ML_REGION GCLOUD_PROJECT HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy
    no_proxy NODE_EXTRA_CA_CERTS SSL_CERT_FILE""".split()
)
# A hook sends these with an event over the socket, and a daemon that it starts gets them in its environment.
PREFIX = "MEMORYD_LOGIN_"


class Logins:
    """The login variables of the latest sessions. Safe to use from any thread; never written, never logged."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._by_session: OrderedDict[str, Mapping[str, str]] = OrderedDict()
        self._latest: Mapping[str, str] = {}
        self._session = ""

    def note(self, session: str, variables: Mapping[str, str]) -> bool:
        """Keep what a session has; whether it differs from what the latest had."""
        with self._guard:
            changed = dict(variables) != dict(self._latest)
            self._latest = dict(variables)
            self._by_session[session] = self._latest
            self._by_session.move_to_end(session)
            while len(self._by_session) > KEPT_SESSIONS:
                self._by_session.popitem(last=False)
            return changed

    def select(self, session: str) -> None:
        """Use this session's login from now on; the latest one for a session that brought none."""
        with self._guard:
            self._session = session

    def current(self) -> Mapping[str, str]:
        """The variables for a run."""
        with self._guard:
            return self._by_session.get(self._session, self._latest)

    def clear(self) -> None:
        """Forget all: the user took the consent back."""
        with self._guard:
            self._by_session.clear()
            self._latest = {}


def is_login(name: str) -> bool:
    """Whether a variable of the client says how it logs in and where its models are: the rule of hooks/hook.py."""
    return name in NAMES or name.startswith(PREFIXES)


def login_of(options: Mapping[str, str]) -> dict[str, str]:
    """The login variables in the head of an event record."""
    found = {name[len(PREFIX) :]: _decoded(value) for name, value in options.items() if name.startswith(PREFIX)}
    return {name: value for name, value in found.items() if is_login(name)}


def take_from(environ: MutableMapping[str, str]) -> dict[str, str]:
    """The login variables that a hook gave the daemon at its start, taken out of the environment."""
    found = login_of(environ)
    for name in [name for name in environ if name.startswith(PREFIX)]:
        del environ[name]
    return found


def _decoded(value: str) -> str:
    """A value is one line: a line break comes as backslash and n, a backslash as two."""
    out, rest = [], iter(value)
    for sign in rest:
        following = next(rest, "") if sign == "\\" else ""
        out.append({"n": "\n", "\\": "\\", "": sign}.get(following, sign + following))
    return "".join(out)
