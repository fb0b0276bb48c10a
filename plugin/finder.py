"""Finds the daemon for the pump, and starts it where there is none."""

import _socket
import os
import struct
import threading
import time

import hook
import starter

CONNECT_SECONDS = 1.0
SEND_SECONDS = 10
EAGER_SECONDS = 60.0
LASTING_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 30.0


def working_folder(env):
    """The folder whose memories the client wants."""
    return env.get("CLAUDE_PROJECT_DIR") or os.getcwd()


def _is_ours(home):
    """Whether what listens answers a ping as memoryd does."""
    link = hook.connect(home, CONNECT_SECONDS)
    try:
        link.sendall(b"memoryd/1 ping\n")
        return link.recv(100).startswith(b"pong ")
    except TimeoutError:
        raise hook.BusyError("no answer to a ping") from None
    except OSError:
        return False
    finally:
        link.close()


def open_link(home, cwd):
    """A connection that speaks MCP. Raises NoDaemonError or BusyError."""
    if not _is_ours(home):
        raise hook.NoDaemonError("what listens is not memoryd")
    link = hook.connect(home, CONNECT_SECONDS)
    folder = os.fsencode(cwd)
    try:
        link.sendall(b"memoryd/1 mcp %d\n" % len(folder) + folder)
        link.settimeout(None)
        if hasattr(_socket, "SO_SNDTIMEO"):  # a daemon that stops reading must not stop the pump
            link.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
    except OSError as error:
        raise hook.NoDaemonError(str(error)) from None
    return link


class Finder:
    """Puts ("found", link) into the queue once for each call of `look` that finds no search running."""

    def __init__(self, home, env, events):
        self.home = home
        self.env = env
        self.events = events
        self._running = threading.Lock()
        self._found_at = 0.0
        self._short = 0  # links in a row that did not last

    def look(self):
        """Begin a search, unless one is on."""
        if self._running.acquire(blocking=False):
            threading.Thread(target=self._search, daemon=True).start()

    def _search(self):
        link = None
        begun = time.monotonic()
        self._short = self._short + 1 if begun - self._found_at < LASTING_SECONDS else 0
        if self._short > 1:  # something accepts us and throws us out again
            time.sleep(min(0.25 * 2.0**self._short, LONGEST_PAUSE_SECONDS))
        while link is None:
            try:
                link = open_link(self.home, working_folder(self.env))
            except hook.NoDaemonError:
                self._start()
                self._pause(begun)
            except hook.BusyError:
                self._pause(begun)
        self._found_at = time.monotonic()
        self._running.release()
        self.events.put(("found", link))

    @staticmethod
    def _pause(begun):
        """Quick at first, patient later: an environment that is being built takes a minute or more."""
        waited = time.monotonic() - begun
        time.sleep(0.03 if waited < 3 else 0.25 if waited < EAGER_SECONDS else 2.0)

    def _start(self):
        pid = starter.start_daemon(self.home, self.env)
        if pid:
            threading.Thread(target=_reap, args=(pid,), daemon=True).start()


def _reap(pid):
    """Wait for the child, so that a daemon that ends is gone and not a zombie of ours."""
    os.waitpid(pid, 0)
