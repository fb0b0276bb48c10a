"""Authenticate the daemon and the client to each other over TCP. Imported only for TCP connections.

The token itself is never sent. A process that takes over the port of a stopped daemon learns neither the token nor a
prompt, and its answers are discarded. The counterpart is memoryd.daemon.endpoint.
"""

import hashlib
import hmac
import json
import os
from time import monotonic

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from _socket import socket

NONCE_BYTES = 16
MAX_LINE = 256


def digest(token: bytes, side: bytes, port: int, ours: bytes, theirs: bytes) -> bytes:
    """Return the proof of one side (b"daemon" or b"client") for the nonces of the client and the daemon."""
    message = b"memoryd/1 %s %d %s %s" % (side, port, ours, theirs)
    return hmac.new(token, message, hashlib.sha256).hexdigest().encode("ascii")


def exchange(link: "socket", port: int, token: bytes, seconds: float) -> None:
    """Verify the daemon at `link`, then prove the client's identity to it.

    Raises ValueError if the server is not the daemon, and OSError if the connection fails.
    """
    nonce = os.urandom(NONCE_BYTES).hex().encode("ascii")
    link.sendall(b"hello " + nonce + b"\n")
    words = _line(link, monotonic() + seconds).split(b" ")
    if len(words) != 3 or words[0] != b"proof" or len(words[1]) != 2 * NONCE_BYTES:
        raise ValueError("the process at the daemon's port is not memoryd")
    if not hmac.compare_digest(words[2], digest(token, b"daemon", port, nonce, words[1])):
        raise ValueError("the process at the daemon's port does not know its token")
    link.sendall(b"proof " + digest(token, b"client", port, nonce, words[1]) + b"\n")


def _line(link: "socket", deadline: float) -> bytes:
    """Read the daemon's first line. The daemon sends nothing else before it has received the client's proof."""
    data = b""
    while not data.endswith(b"\n") and len(data) <= MAX_LINE:
        link.settimeout(max(deadline - monotonic(), 0.001))
        part = link.recv(MAX_LINE)
        if not part:
            break
        data += part
    return data.rstrip(b"\r\n")


def own_answer(answer: bytes, event: str) -> bytes:
    """Reduce an answer to the permitted parts for this event: the context, a line for the user, a question or a refusal."""
    value = json.loads(answer)
    kept = {}
    output = value.get("hookSpecificOutput")
    if isinstance(output, dict) and output.get("hookEventName") == event:
        names = ["additionalContext"]
        if event == "PreToolUse" and output.get("permissionDecision") in ("ask", "deny"):  # never "allow"
            names += ["permissionDecision", "permissionDecisionReason"]
        texts = {name: output[name] for name in names if isinstance(output.get(name), str)}
        if texts:
            kept["hookSpecificOutput"] = {"hookEventName": event, **texts}
    if isinstance(value.get("systemMessage"), str):
        kept["systemMessage"] = value["systemMessage"]
    return json.dumps(kept).encode() if kept else b""
