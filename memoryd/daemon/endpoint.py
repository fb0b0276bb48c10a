"""The address on which the daemon listens: a Unix socket, or a loopback port with a token.

The endpoint file is written after the socket starts listening, so that a client that reads it can connect.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import stat
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from memoryd.core.errors import DaemonError
from memoryd.core.files import make_private_dir, read_regular, write_atomic
from memoryd.core.paths import Paths
from memoryd.core.text import digest

SOCKET_NAME = "daemon.sock"
MAX_SOCKET_PATH_BYTES = 100  # The limit is 104 bytes on macOS and 108 on Linux, including the terminating zero byte.
LOOPBACK = "127.0.0.1"
NONCE_BYTES = 16
MAX_PROOF_BYTES = 256
MAX_ENDPOINT_BYTES = 4_096
_MODULES = frozenset({b"memoryd.daemon", b"memoryd.server"})
BACKLOG = 1024  # Large enough for a burst of hooks.


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a daemon: either `path`, or `port` and `token`."""

    path: str = ""
    port: int = 0
    token: str = ""

    def to_line(self) -> str:
        """Format the address for the endpoint file."""
        return f"unix {self.path}" if self.path else f"tcp {self.port} {self.token}"

    def public(self) -> str:
        """Format the address for logs and the status, without the token."""
        return f"unix {self.path}" if self.path else f"tcp {self.port}"


def parse_endpoint(line: str) -> Endpoint:
    """Parse a line of the endpoint file. Raises DaemonError."""
    kind, _, rest = line.strip().partition(" ")
    if kind == "unix" and rest:
        return Endpoint(path=rest)
    port, _, token = rest.partition(" ")
    if kind == "tcp" and port.isdecimal() and 0 < int(port) < 65536 and token:
        return Endpoint(port=int(port), token=token)
    raise DaemonError("The endpoint file is malformed.", fix="Delete run/endpoint under memoryd's home; it is recreated.")


def read_endpoint(paths: Paths) -> Endpoint | None:
    """Return the running daemon's endpoint, or None. Raises DaemonError if the file is malformed."""
    try:
        line = read_regular(paths.endpoint, MAX_ENDPOINT_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise DaemonError(f"{paths.endpoint} can't be read: {error}", fix="Check its owner and mode (0600).") from error
    return parse_endpoint(line)


def proof(token: str, side: str, port: int, ours: str, theirs: str) -> str:
    """Compute the proof that `side` ("daemon" or "client") knows the token. Used over TCP, where the token itself is never sent.

    `ours` and `theirs` are the nonces of the client and the daemon. hooks/proof.py computes the same proof on bytes.
    """
    message = f"memoryd/1 {side} {port} {ours} {theirs}"
    return hmac.new(token.encode(), message.encode(), hashlib.sha256).hexdigest()


def connect(endpoint: Endpoint, timeout: float) -> socket.socket:
    """Connect, authenticating both sides over TCP. Raises OSError."""
    if endpoint.path:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(endpoint.path)
        except OSError:
            connection.close()
            raise
        return connection
    connection = socket.create_connection((LOOPBACK, endpoint.port), timeout)
    try:
        _prove(connection, endpoint, time.monotonic() + timeout)
        connection.settimeout(timeout)
    except OSError:
        connection.close()
        raise
    return connection


def _prove(connection: socket.socket, endpoint: Endpoint, deadline: float) -> None:
    nonce = secrets.token_hex(NONCE_BYTES)
    connection.sendall(f"hello {nonce}\n".encode("ascii"))
    data = b""
    while not data.endswith(b"\n") and len(data) <= MAX_PROOF_BYTES:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        if not (chunk := connection.recv(MAX_PROOF_BYTES)):
            break
        data += chunk
    words = data.decode("ascii", "replace").split()
    if len(words) != 3 or not hmac.compare_digest(
        words[2].encode(), proof(endpoint.token, "daemon", endpoint.port, nonce, words[1]).encode()
    ):
        raise ConnectionRefusedError("the process at the daemon's port is not memoryd")
    answer = proof(endpoint.token, "client", endpoint.port, nonce, words[1])
    connection.sendall(f"proof {answer}\n".encode("ascii"))


def listen(paths: Paths, *, tcp: bool) -> tuple[socket.socket, Endpoint]:
    """Open a listening socket, replacing one left by a killed daemon. The caller must hold the daemon's lock. Raises OSError."""
    if tcp or sys.platform == "win32":
        return _listen_tcp()
    path = _socket_path(paths)
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:  # Still too long.
        return _listen_tcp()
    return _listen_unix(path)


def _listen_tcp() -> tuple[socket.socket, Endpoint]:
    listener = socket.create_server((LOOPBACK, 0), backlog=BACKLOG)
    return listener, Endpoint(port=listener.getsockname()[1], token=secrets.token_hex(32))


def _listen_unix(path: Path) -> tuple[socket.socket, Endpoint]:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))  # The folder has mode 0700, so nobody else can connect before the chmod.
        path.chmod(0o600)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener, Endpoint(path=str(path))


def _socket_path(paths: Paths) -> Path:
    make_private_dir(paths.run)
    paths.run.chmod(0o700)
    path = paths.run / SOCKET_NAME
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    return _private_temporary(paths) / SOCKET_NAME


def _private_temporary(paths: Paths) -> Path:
    """Return a private folder whose name depends only on the home folder. If another user owns it, create a new one."""
    folder = Path(tempfile.gettempdir()) / f"memoryd-{os.getuid()}-{digest(str(paths.home))[:12]}"
    with contextlib.suppress(FileExistsError):  # Its owner and mode are checked next.
        folder.mkdir(mode=0o700)
    seen = folder.lstat()
    if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid() and stat.S_IMODE(seen.st_mode) == 0o700:
        return folder
    return Path(tempfile.mkdtemp(prefix="memoryd-"))


def published(paths: Paths, endpoint: Endpoint) -> tuple[object, ...]:
    """Return what identifies the endpoint file and the socket. It changes if either is replaced or written to. Raises OSError.

    No file is opened, because a lack of open files must not look like a missing one.
    """
    file = paths.endpoint.stat()
    link = Path(endpoint.path).stat() if endpoint.path else file
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, link.st_dev, link.st_ino


def publish(paths: Paths, endpoint: Endpoint) -> None:
    """Write the endpoint file (0600). Raises StoreError."""
    write_atomic(paths.endpoint, endpoint.to_line().encode("utf-8") + b"\n")


def withdraw(paths: Paths, endpoint: Endpoint) -> None:
    """Remove the endpoint file and the socket if they still belong to this daemon."""
    with contextlib.suppress(OSError, DaemonError):  # A file that can't be read was not written by this daemon.
        if read_endpoint(paths) == endpoint:
            paths.endpoint.unlink(missing_ok=True)
    if not endpoint.path:
        return
    path = Path(endpoint.path)
    path.unlink(missing_ok=True)
    if path.parent != paths.run:
        with contextlib.suppress(OSError):  # The folder is also used by another daemon.
            path.parent.rmdir()


def holder_pid(paths: Paths) -> int | None:
    """Return the process id of the last lock holder. The first byte of the file is skipped because Windows locks it."""
    try:
        with paths.daemon_lock.open("rb") as stream:
            stream.seek(1)
            text = stream.read(20).strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def daemons_of(paths: Paths) -> list[int] | None:
    """Return the process ids of this home's daemons, or None where the platform does not report them."""
    if sys.platform != "linux":
        return None
    home = f"MEMORYD_HOME={paths.home}".encode()
    out = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if _runs_daemon(words) and home in (folder / "environ").read_bytes().split(b"\0"):
                out.append(int(folder.name))
        except OSError:
            continue  # The process has exited or belongs to another user.
    return out


def _runs_daemon(words: list[bytes]) -> bool:
    """Return whether the command line runs a daemon. Its module may have the former name memoryd.server."""
    named = any(word == b"memoryd" or word.endswith(b"/memoryd") for word in words)
    return not _MODULES.isdisjoint(words) or (named and words[-2:-1] == [b"daemon"])
