"""Over TCP: the daemon proves that it knows the token before it hears anything. Loaded only there.

The token itself never crosses the wire: whoever takes the port of a dead daemon learns neither it nor a prompt,
and what it says is not believed. The other side is memoryd.daemon.endpoint.
"""

import hashlib
import hmac
import json
import os
from time import monotonic

NONCE_BYTES = 16
MAX_LINE = 256


def digest(token, side, port, ours, theirs):
    """What one side shows the other: `side` is b"daemon" or b"client", the nonces are those of client and daemon."""
    message = b"memoryd/1 %s %d %s %s" % (side, port, ours, theirs)
    return hmac.new(token, message, hashlib.sha256).hexdigest().encode("ascii")


def exchange(link, port, token, seconds):
    """Make the daemon at `link` prove itself, then do the same. Raises ValueError for a stranger, OSError."""
    nonce = os.urandom(NONCE_BYTES).hex().encode("ascii")
    link.sendall(b"hello " + nonce + b"\n")
    words = _line(link, monotonic() + seconds).split(b" ")
    if len(words) != 3 or words[0] != b"proof" or len(words[1]) != 2 * NONCE_BYTES:
        raise ValueError("what listens at the daemon's port is not memoryd")
    if not hmac.compare_digest(words[2], digest(token, b"daemon", port, nonce, words[1])):
        raise ValueError("what listens at the daemon's port does not know its token")
    link.sendall(b"proof " + digest(token, b"client", port, nonce, words[1]) + b"\n")


def _line(link, deadline):
    """The first line. The daemon sends no more before it has heard the client's proof."""
    data = b""
    while not data.endswith(b"\n") and len(data) <= MAX_LINE:
        link.settimeout(max(deadline - monotonic(), 0.001))
        part = link.recv(MAX_LINE)
        if not part:
            break
        data += part
    return data.rstrip(b"\r\n")


def own_answer(answer, event):
    """Of an answer only what memory may say to this event: its context, and a line for the person."""
    value = json.loads(answer)
    kept = {}
    output = value.get("hookSpecificOutput")
    if isinstance(output, dict) and output.get("hookEventName") == event and isinstance(output.get("additionalContext"), str):
        kept["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": output["additionalContext"]}
    if isinstance(value.get("systemMessage"), str):
        kept["systemMessage"] = value["systemMessage"]
    return json.dumps(kept).encode() if kept else b""
