"""`memoryd mcp`: relays MCP messages between the client's pipes and the daemon's socket.

Uses only the standard library, because importing an MCP library alone takes longer than the client waits. The proxy
starts the daemon if none responds. Until the daemon is ready, the proxy answers itself (standby.py); afterwards it
replays the client's handshake to the daemon. If the daemon stops, it is only restarted with the next message, so that
an idle client does not keep a daemon running.

One thread reads from the client, one reads from the daemon, and one searches for the daemon. They put events into one
queue, which the main thread processes.
"""

import os
import sys
import threading
import time
from queue import Empty, SimpleQueue

sys.dont_write_bytecode = True  # The plugin's folder may be read-only or a git repository.
sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hooks")]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import finder  # noqa: E402
import messages  # noqa: E402
import protocol  # noqa: E402
import standby  # noqa: E402

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_SECONDS = 1.5  # How long the first messages wait for a daemon.
HOLD_SECONDS = 20.0  # How long later messages wait.
GOODBYE_SECONDS = 0.5  # How long to wait for pending answers after the client has closed its side.


class StdioProxy:
    """The state of one client's connection. `output` is a file descriptor."""

    def __init__(self, home: str, env: "Mapping[str, str]", output: int = 1) -> None:
        self.home = home
        self.env = env
        self.output = output
        self.events: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.finder = finder.Finder(home, env, self.events)
        self.handshake = messages.Handshake()
        self.link: socket | None = None
        self.ready = False  # Whether the handshake with the linked daemon is complete.
        self.served = False  # Whether a daemon has ever answered.
        self.standing_by = False  # Whether the proxy answers itself.
        self.held: list[tuple[messages.Message, float]] = []  # (message, time of arrival) pairs that wait for a daemon.
        self.open: dict[str | None, messages.Message] = {}  # Requests that the daemon has not answered yet, by key.
        self.closing: float | None = None  # Deadline after the client has closed its side.

    def run(self, source: int = 0) -> None:
        """Process events until the client closes its side."""
        threading.Thread(target=self._read_client, args=(source,), daemon=True).start()
        self.finder.look()
        while not self._is_over():
            try:
                kind, value = self.events.get(timeout=self._next_wait())
            except Empty:
                kind, value = "time", None
            getattr(self, "_on_" + kind)(value)
            if self.held:
                self._give_up_waiting()

    def _read_client(self, source: int) -> None:
        for line in messages.lines(lambda: os.read(source, 65536)):
            self.events.put(("client", line))
        self.events.put(("end", None))
        time.sleep(GOODBYE_SECONDS * 2)
        os._exit(0)  # The main thread is blocked in a write that nobody reads.

    def _read_daemon(self, link: "socket") -> None:
        for line in messages.lines(lambda: link.recv(65536)):
            self.events.put(("daemon", (link, line)))
        self.events.put(("lost", link))

    def _is_over(self) -> bool:
        return self.closing is not None and (not (self.open or self.held) or time.monotonic() > self.closing)

    def _next_wait(self) -> "float | None":
        if self.closing is not None:
            return 0.05
        if not self.held:
            return None
        return max(self.held[0][1] + self._patience() - time.monotonic(), 0.01)

    def _patience(self) -> float:
        return HOLD_SECONDS if self.served else PATIENCE_SECONDS

    # Event handlers

    def _on_time(self, _value: object) -> None:
        """Do nothing, because `run` checks the deadlines after each event."""

    def _on_client(self, line: bytes) -> None:
        message = messages.Message(line)
        self.handshake.note(message)
        if self.ready:
            self._forward(message)
        elif self.standing_by:
            self._answer_locally(message)
        elif message.is_request or not self.served:
            self._hold(message)  # Notifications referred to the stopped daemon, and the handshake is replayed anyway.

    def _on_found(self, link: "socket") -> None:
        if self.link is not None:  # Two searches have overlapped.
            link.close()
            return
        self.link = link
        threading.Thread(target=self._read_daemon, args=(link,), daemon=True).start()
        replay = self.handshake.replay
        if replay:
            self._send(replay)
        else:
            self._start_relaying()

    def _on_daemon(self, value: "tuple[socket, bytes]") -> None:
        link, line = value
        if link is not self.link:
            return
        message = messages.Message(line)
        if self.handshake.is_answer(message):
            if self.handshake.confirmation:
                self._send(self.handshake.confirmation)
            self._start_relaying()
            return
        if message.is_answer:
            self.served = True
            self.open.pop(message.key, None)
            self.handshake.note_answer(message.key)
        self._write(line)

    def _on_lost(self, link: "socket") -> None:
        if link is not self.link:
            return
        link.close()
        self.link = None
        self.ready = False
        unanswered, self.open = list(self.open.values()), {}
        for message in unanswered:
            if message.may_repeat and not message.repeated:
                message.repeated = True
                self._hold(message)
            else:
                self._write(standby.lost(message))
        if self.held or self.standing_by:
            self.finder.look()

    def _on_end(self, _value: object) -> None:
        self.closing = time.monotonic() + GOODBYE_SECONDS

    # Actions

    def _hold(self, message: messages.Message) -> None:
        self.held.append((message, time.monotonic()))
        if self.link is None:
            self.finder.look()

    def _give_up_waiting(self) -> None:
        """Answer held messages locally once the oldest one has waited long enough."""
        if time.monotonic() < self.held[0][1] + self._patience():
            return
        self.standing_by = True
        held, self.held = self.held, []
        for message, _ in held:
            self._answer_locally(message)

    def _answer_locally(self, message: messages.Message) -> None:
        answer = standby.answer(message, self.home, self.env)
        if answer:
            self._write(answer)
            self.handshake.note_answer(message.key)

    def _start_relaying(self) -> None:
        """Forward held messages after the handshake. If the client was answered locally, notify it that there are new tools."""
        self.ready = True
        held, self.held = self.held, []
        for message, _ in held:
            self._forward(message)
        if self.standing_by:
            self.standing_by = False
            self._write(standby.TOOLS_CHANGED)

    def _forward(self, message: messages.Message) -> None:
        if message.is_request:
            self.open[message.key] = message
        elif message.cancels:
            self.open.pop(message.cancels, None)
        self._send(message.line)

    def _send(self, line: bytes) -> None:
        if self.link is None:
            return
        try:
            self.link.sendall(line + b"\n")
        except OSError:
            self._on_lost(self.link)

    def _write(self, line: bytes) -> None:
        data = memoryview(line + b"\n")
        while data:
            data = data[os.write(self.output, data) :]


def main() -> None:
    """Run the proxy. Threads that are still reading end with the process."""
    os.umask(0o077)
    env = dict(os.environ)
    if env.get("MEMORYD_INTERNAL"):
        return
    StdioProxy(protocol.home_folder(env), env).run()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # The client has exited.
        os._exit(0)
    os._exit(0)
