"""`memoryd mcp`: carries MCP messages between the client's pipes and the daemon's socket.

Standard library only, because importing an MCP library alone takes longer than the client
is willing to wait. The pump starts the daemon when none answers. Until one does it speaks
for itself (standby.py); afterwards it introduces the client to the daemon by repeating the
handshake. When the daemon goes away it is started again with the next message, so that an
idle client does not keep a daemon alive.

One thread reads the client, one reads the daemon, one looks for the daemon; each puts
events in one queue, and only the main thread acts on them.
"""

import os
import sys
import threading
import time
from queue import Empty, SimpleQueue

sys.dont_write_bytecode = True  # the plugin's folder may be read-only, or a repository
sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hooks")]
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import finder  # noqa: E402
import messages  # noqa: E402
import protocol  # noqa: E402
import standby  # noqa: E402

PATIENCE_SECONDS = 1.5  # how long the first messages wait for a daemon
HOLD_SECONDS = 20.0  # how long later ones do
GOODBYE_SECONDS = 0.5  # for answers on their way when the client closes its side


class Pump:
    """The state of one client's connection. `output` is a file descriptor."""

    def __init__(self, home, env, output=1):
        self.home = home
        self.env = env
        self.output = output
        self.events = SimpleQueue()
        self.finder = finder.Finder(home, env, self.events)
        self.introduction = messages.Introduction()
        self.link = None
        self.ready = False  # whether the daemon at the link knows the client
        self.served = False  # whether a daemon ever answered
        self.standing_by = False  # whether the pump answers for itself
        self.held = []  # (message, time of arrival) that wait for a daemon
        self.open = {}  # requests that the daemon has not answered, by key
        self.closing = None  # when to go, once the client has closed its side

    def run(self, source=0):
        """Work until the client closes its side."""
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

    def _read_client(self, source):
        for line in messages.lines(lambda: os.read(source, 65536)):
            self.events.put(("client", line))
        self.events.put(("end", None))
        time.sleep(GOODBYE_SECONDS * 2)
        os._exit(0)  # the main thread hangs in a write that nobody reads

    def _read_daemon(self, link):
        for line in messages.lines(lambda: link.recv(65536)):
            self.events.put(("daemon", (link, line)))
        self.events.put(("lost", link))

    def _is_over(self):
        return self.closing is not None and (not (self.open or self.held) or time.monotonic() > self.closing)

    def _next_wait(self):
        if self.closing is not None:
            return 0.05
        if not self.held:
            return None
        return max(self.held[0][1] + self._patience() - time.monotonic(), 0.01)

    def _patience(self):
        return HOLD_SECONDS if self.served else PATIENCE_SECONDS

    # What can happen

    def _on_time(self, _value):
        """Nothing but that time has passed."""

    def _on_client(self, line):
        message = messages.Message(line)
        self.introduction.note(message)
        if self.ready:
            self._forward(message)
        elif self.standing_by:
            self._answer_alone(message)
        elif message.is_request or not self.served:
            self._hold(message)  # what is no request meant the daemon that is gone; the handshake is repeated anyway

    def _on_found(self, link):
        if self.link is not None:  # two searches overlapped
            link.close()
            return
        self.link = link
        threading.Thread(target=self._read_daemon, args=(link,), daemon=True).start()
        replay = self.introduction.replay
        if replay:
            self._send(replay)
        else:
            self._take_up()

    def _on_daemon(self, value):
        link, line = value
        if link is not self.link:
            return
        message = messages.Message(line)
        if self.introduction.is_answer(message):
            if self.introduction.confirmation:
                self._send(self.introduction.confirmation)
            self._take_up()
            return
        if message.is_answer:
            self.served = True
            self.open.pop(message.key, None)
            self.introduction.note_answer(message.key)
        self._write(line)

    def _on_lost(self, link):
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

    def _on_end(self, _value):
        self.closing = time.monotonic() + GOODBYE_SECONDS

    # What is done about it

    def _hold(self, message):
        self.held.append((message, time.monotonic()))
        if self.link is None:
            self.finder.look()

    def _give_up_waiting(self):
        """Once the oldest held message has waited long enough, the pump speaks for itself."""
        if time.monotonic() < self.held[0][1] + self._patience():
            return
        self.standing_by = True
        held, self.held = self.held, []
        for message, _ in held:
            self._answer_alone(message)

    def _answer_alone(self, message):
        answer = standby.answer(message, self.home, self.env)
        if answer:
            self._write(answer)
            self.introduction.note_answer(message.key)

    def _take_up(self):
        """The daemon knows the client: hand over what waited, and say so if the client had been put off."""
        self.ready = True
        held, self.held = self.held, []
        for message, _ in held:
            self._forward(message)
        if self.standing_by:
            self.standing_by = False
            self._write(standby.TOOLS_CHANGED)

    def _forward(self, message):
        if message.is_request:
            self.open[message.key] = message
        elif message.cancels:
            self.open.pop(message.cancels, None)
        self._send(message.line)

    def _send(self, line):
        if self.link is None:
            return
        try:
            self.link.sendall(line + b"\n")
        except OSError:
            self._on_lost(self.link)

    def _write(self, line):
        data = memoryview(line + b"\n")
        while data:
            data = data[os.write(self.output, data) :]


def main():
    """Entry point. The threads that still read are ended with the process."""
    os.umask(0o077)
    env = dict(os.environ)
    if env.get("MEMORYD_INTERNAL"):
        return
    Pump(protocol.home_folder(env), env).run()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the client is gone
        os._exit(0)
    os._exit(0)
