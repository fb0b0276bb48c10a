"""Build the environment of a session, with none of the user's configuration and only the requested login."""

from __future__ import annotations

import os
import re
import socket
import threading
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from memeval.claudecode.contract import ClientName
from memeval.core.errors import ConfigError

API = "https://api.anthropic.com"
CONNECT_SECONDS = 4.0
TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_KEPT = re.compile(
    r"(PATH|LANG|LANGUAGE|LC_\w+|TZ|TERM|USER|LOGNAME|SHELL|SYSTEMROOT|COMSPEC|PATHEXT|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+|"
    r"REQUESTS_CA_BUNDLE|IS_SANDBOX|(HTTPS?|NO|ALL)_PROXY)",
    re.IGNORECASE,
)
_CLOUD = re.compile(r"(ANTHROPIC_|AWS_|CLAUDE_CODE_USE_|CLAUDE_CODE_SKIP_|VERTEX_|CLOUD_ML_|GOOGLE_|AZURE_)\w+")
QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_MAX_RETRIES": "2",  # The runner has its own back-off and must not hang for minutes.
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


OPENCODE_QUIET = {
    **{
        name: "1"
        for name in (
            "OPENCODE_DISABLE_AUTOUPDATE",
            "OPENCODE_DISABLE_MODELS_FETCH",  # prices then depend on the client's version alone
            "OPENCODE_DISABLE_LSP_DOWNLOAD",
            "OPENCODE_DISABLE_SHARE",
            "OPENCODE_DISABLE_CLAUDE_CODE",
        )
    },
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
_KEY = re.compile(r"\w+_API_KEY")
BASE_URL = "ANTHROPIC_BASE_URL"


class AuthKind(StrEnum):
    """The kind of login, which determines who pays."""

    SUBSCRIPTION = "subscription"
    API_KEY = "api-key"


@dataclass(frozen=True, slots=True)
class Auth:
    """The kind of login, and the address of the gateway, if any."""

    kind: AuthKind
    base_url: str = ""
    client: ClientName = ClientName.CLAUDE_CODE

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that every session gets in every arm. Sessions inherit nothing else from `environ`."""
        kept = {name: value for name, value in environ.items() if _KEPT.fullmatch(name)}
        if self.client is ClientName.OPENCODE:
            return kept | self._keys(environ) | OPENCODE_QUIET
        if self.kind is AuthKind.SUBSCRIPTION:
            return kept | QUIET | {name: environ[name] for name in (TOKEN,) if name in environ}
        kept |= {name: value for name, value in environ.items() if _CLOUD.fullmatch(name)}
        if self.base_url:
            kept["ANTHROPIC_BASE_URL"] = self.base_url
            if not any(kept.get(name) for name in KEYS):
                kept[KEYS[0]] = "none"  # The client refuses to start without a key. A gateway without authentication ignores it.
        return kept | QUIET

    def _keys(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the keys of OpenCode's providers. The address is passed in its settings, since it expects another form."""
        keys = {name: value for name, value in environ.items() if _KEY.fullmatch(name) or _CLOUD.fullmatch(name)}
        keys.pop(BASE_URL, None)
        return {KEYS[0]: "none", **keys} if self.base_url else keys

    def address(self, environ: Mapping[str, str]) -> str:
        """Return the address of the gateway. It is empty for the provider's own."""
        return self.base_url or environ.get(BASE_URL, "")

    def check(self, environ: Mapping[str, str]) -> None:
        """Check the login and the address. Raises ConfigError if there is no login or the address does not respond."""
        if self.client is ClientName.OPENCODE:
            if not self._keys(environ):
                raise ConfigError(
                    f"No login: no key of a provider is set, such as {KEYS[0]} or OPENAI_API_KEY.",
                    fix="Set the key of --model's provider, or name a gateway with --base-url.",
                )
            if address := self.address(environ):
                check_reachable(address)
            return
        if self.kind is AuthKind.SUBSCRIPTION and not environ.get(TOKEN):
            raise ConfigError(
                f"No login: {TOKEN} is not set, and sandboxes don't read your own configuration folder.",
                fix=f"Run `claude setup-token` and export {TOKEN}, or give --auth api-key with {KEYS[0]}.",
            )
        made = self.environment(environ)
        if self.kind is AuthKind.API_KEY and not any(made.get(name) for name in KEYS) and not _uses_cloud(made):
            raise ConfigError(f"No login: neither {KEYS[0]} nor {KEYS[1]} is set.", fix="Set one, or give --auth subscription.")
        check_reachable(made.get("ANTHROPIC_BASE_URL") or API)


def make_auth(kind: str | None, base_url: str, client: ClientName = ClientName.CLAUDE_CODE) -> Auth:
    """Return the login selected by the flags.

    The default is an API key for OpenCode and if an address is given, and the subscription otherwise. Raises ConfigError.
    """
    if client is ClientName.OPENCODE:
        if kind == AuthKind.SUBSCRIPTION:
            raise ConfigError(f"{client.label} can't use a subscription's token.", fix="Give --auth api-key.")
        kind = AuthKind.API_KEY
    if base_url and kind == AuthKind.SUBSCRIPTION:
        raise ConfigError(
            "A subscription token must not be sent to another address.", fix="Omit --base-url, or give --auth api-key."
        )
    if base_url and urllib.parse.urlsplit(base_url).scheme not in ("http", "https"):
        raise ConfigError(f"--base-url {base_url!r} is not an address.", fix="Give http://HOST:PORT or https://HOST.")
    return Auth(AuthKind(kind or (AuthKind.API_KEY if base_url else AuthKind.SUBSCRIPTION)), base_url, client)


def _uses_cloud(environment: Mapping[str, str]) -> bool:
    return any(name.startswith("CLAUDE_CODE_USE_") and value for name, value in environment.items())


def check_reachable(address: str) -> None:
    """Check that the address, or the proxy in front of it, accepts connections. Raises ConfigError."""
    parts = urllib.parse.urlsplit(address)
    host = parts.hostname or ""
    proxies = {} if urllib.request.proxy_bypass(host) else urllib.request.getproxies()
    if proxy := proxies.get(parts.scheme) or proxies.get("all"):
        parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"http://{proxy}")
    fault = _connect(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
    if fault:
        place = parts.netloc.rpartition("@")[2]
        raise ConfigError(f"No response from {parts.scheme}://{place}: {fault}.", fix="Check the network, or correct --base-url.")


def _connect(host: str, port: int) -> str:
    """Try to connect and return the error, or an empty string on success.

    Callers use a separate thread, because name resolution can block for a long time.
    """
    outcomes: list[str] = []

    def attempt() -> None:
        try:
            socket.create_connection((host, port), CONNECT_SECONDS).close()
            outcomes.append("")
        except OSError as error:
            outcomes.append(str(error))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS + 1)
    return outcomes[0] if outcomes else f"no answer within {CONNECT_SECONDS:g} s"
