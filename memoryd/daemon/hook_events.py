"""Event records passed by hooks through the socket or the spool (docs/design/daemon-protocol.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from memoryd.core.errors import InputError
from memoryd.daemon.wire import read_json

MAX_RECORD_BYTES = 16 * 1024 * 1024
MAX_OPTIONS_BYTES = 64 * 1024
FIX = "The hooks and the daemon may have different versions: update the plugin and restart the daemon."
EVENT_NAME = re.compile(r"[A-Za-z]{1,40}")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True)
class HookRecord:
    """The plugin's options and the hook's standard input."""

    options: dict[str, str]
    payload: dict[str, Any]


def check_event(name: str) -> str:
    """Return the event name. Raises InputError if it is invalid."""
    if not EVENT_NAME.fullmatch(name):
        raise InputError("Invalid event name.", fix=FIX)
    return name


def parse_record(data: bytes) -> HookRecord:
    """Parse a record. Raises InputError. The message never contains the payload."""
    if len(data) > MAX_RECORD_BYTES:
        raise InputError(f"An event record of {len(data)} bytes is over the limit of {MAX_RECORD_BYTES}.", fix=FIX)
    head, body = _split(data)
    return HookRecord(_options(head), _payload(body))


def _split(data: bytes) -> tuple[bytes, bytes]:
    if data.startswith(b"\n"):
        return b"", data[1:]
    end = data.find(b"\n\n", 0, MAX_OPTIONS_BYTES)
    if end < 0:
        raise InputError("An event record has no empty line after its options.", fix=FIX)
    return data[:end], data[end + 2 :]


def _options(head: bytes) -> dict[str, str]:
    options = {}
    for number, line in enumerate(head.split(b"\n"), 1):
        if not line:
            continue
        key, mark, value = line.rstrip(b"\r").decode("utf-8", "replace").partition("=")
        if not mark or not _KEY.fullmatch(key):
            raise InputError(f"Line {number} of an event record is not KEY=VALUE.", fix=FIX)
        options[key] = value
    return options


def _payload(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        payload = read_json(body)
    except InputError as error:
        raise InputError("The input of a hook is not JSON.", fix=FIX) from error
    if not isinstance(payload, dict):
        raise InputError("The input of a hook is not a JSON object.", fix=FIX)
    return payload
