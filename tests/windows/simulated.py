"""Run a program of this project as if the system were Windows, as far as POSIX can imitate it.

`python simulated.py SCRIPT ARGS…` or `python simulated.py -m MODULE ARGS…`. What is imitated: `sys.platform`, no fork, no Unix
sockets, no signals but those of Windows, no fcntl, locks of msvcrt, line ends of files that were opened without O_BINARY, and
that a file which is open can be neither replaced nor deleted. Programs that are started this way start others this way.
Paths stay those of POSIX, since pathlib can't be imitated.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import importlib
import json  # noqa: F401 - modules that look at the system when they are imported
import os
import pathlib  # noqa: F401
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile  # noqa: F401
import threading  # noqa: F401
import time
import types
from typing import Any

POSIX_ONLY: dict[Any, tuple[str, ...]] = {
    os: tuple("fork forkpty getuid geteuid setsid killpg getpgid posix_spawn sysconf setpriority mkfifo O_NONBLOCK".split()),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "setitimer", "alarm", "pthread_sigmask"),
    socket: ("AF_UNIX",),
    time: ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC_RAW"),
}
FLAGS = {"CREATE_NO_WINDOW": 0x08000000, "CREATE_NEW_PROCESS_GROUP": 0x200, "DETACHED_PROCESS": 0x8}
BINARY = 0x8000_0000


def become_windows() -> None:
    """Imitate Windows in this process."""
    sys.platform = "win32"
    family, pair = socket.AF_UNIX, socket.socketpair
    for module, names in POSIX_ONLY.items():
        for name in names:
            for place in (module, sys.modules.get(f"_{module.__name__}")):
                if hasattr(place, name):
                    delattr(place, name)
    modules: dict[str, Any] = sys.modules
    modules |= dict.fromkeys(("fcntl", "resource", "pwd", "grp", "termios")) | {"msvcrt": _msvcrt()}
    os.kill = _no_kill
    _imitate_files()
    _imitate_processes()
    sockets: Any = socket
    sockets.socketpair = lambda: pair(family)  # asyncio's own, which is a pair of TCP sockets on Windows
    loop: Any = asyncio.SelectorEventLoop
    for name in ("add_signal_handler", "add_reader", "add_writer"):  # the loop of Windows waits for no files
        setattr(loop, name, _not_implemented)


def _not_implemented(*_arguments: Any) -> None:
    raise NotImplementedError


def _no_kill(*_arguments: Any) -> None:
    raise AssertionError("os.kill would terminate the process on Windows")


def _msvcrt() -> types.ModuleType:
    made: Any = types.ModuleType("msvcrt")
    made.LK_UNLCK, made.LK_LOCK, made.LK_NBLCK = 0, 1, 2

    def locking(handle: int, mode: int, size: int) -> None:
        tries = 10 if mode == made.LK_LOCK else 1
        for _ in range(tries):
            try:
                fcntl.flock(handle, fcntl.LOCK_UN if mode == made.LK_UNLCK else fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(1 if tries > 1 else 0)
        raise PermissionError(13, "Permission denied")

    made.locking = locking
    return made  # type: ignore[no-any-return]


class Files:
    """The functions of `os` for files, as Windows has them."""

    def __init__(self) -> None:
        self.text: set[int] = set()
        self.open_, self.write_, self.close_, self.fdopen_ = os.open, os.write, os.close, os.fdopen
        self.replace_, self.rename_, self.unlink_ = os.replace, os.rename, os.unlink

    def open(self, path: Any, flags: int, *arguments: Any, **named: Any) -> int:
        handle = self.open_(path, flags & ~BINARY, *arguments, **named)
        if not flags & BINARY:
            self.text.add(handle)
        return handle

    def write(self, handle: int, data: Any) -> int:
        if handle not in self.text:
            return self.write_(handle, data)
        self.write_(handle, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)

    def close(self, handle: int) -> None:
        self.text.discard(handle)
        self.close_(handle)

    def fdopen(self, handle: int, *arguments: Any, **named: Any) -> Any:
        self.text.discard(handle)  # Python's files are binary below their own line ends
        return self.fdopen_(handle, *arguments, **named)

    def replace(self, source: Any, target: Any, **named: Any) -> None:
        _refuse_open(source, target)
        self.replace_(source, target, **named)

    def rename(self, source: Any, target: Any, **named: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(17, "File exists", os.fspath(target))
        _refuse_open(source)
        self.rename_(source, target, **named)

    def unlink(self, path: Any, **named: Any) -> None:
        _refuse_open(path)
        self.unlink_(path, **named)


def _imitate_files() -> None:
    system: Any = os
    files = Files()
    system.O_BINARY = BINARY
    for name in ("open", "write", "close", "fdopen", "replace", "rename", "unlink"):
        setattr(system, name, getattr(files, name))
    system.remove = files.unlink


def _refuse_open(*paths: Any) -> None:
    """Raise PermissionError if this process has one of the files open."""
    wanted = set()
    for path in paths:
        with contextlib.suppress(OSError, TypeError):
            status = os.lstat(path)
            wanted.add((status.st_dev, status.st_ino))
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            status = os.fstat(int(name))
            if (status.st_dev, status.st_ino) in wanted:
                raise PermissionError(13, "The process cannot access the file because it is being used", str(paths[-1]))


def _imitate_processes() -> None:
    module: Any = subprocess
    for name, value in FLAGS.items():
        setattr(module, name, value)

    class Popen(subprocess.Popen[Any]):
        def __init__(self, command: Any, *arguments: Any, creationflags: int = 0, **named: Any) -> None:
            words = [os.fspath(word) for word in command]
            if words[0] == "/bin/sh":
                raise FileNotFoundError(2, "The system cannot find the file specified", words[0])
            if words[0] == sys.executable:
                rest = words[1:]
                while rest and rest[0] in ("-I", "-S", "-P", "-E"):
                    rest.pop(0)
                words = [words[0], __file__, *rest] if rest and rest[0] != "-c" else words
            super().__init__(words, *arguments, start_new_session=bool(creationflags), **named)

    module.Popen = Popen


def _import_everything() -> None:
    """Import memoryd with all that it uses, and forget only its own modules, so that it is imported again on "Windows"."""
    import memoryd

    for module in pkgutil.walk_packages(memoryd.__path__, "memoryd."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in [name for name in sys.modules if name == "memoryd" or name.startswith("memoryd.")]:
        del sys.modules[name]


def main(arguments: list[str]) -> None:
    """Run the program named by the arguments."""
    is_module = arguments[0] == "-m"
    if is_module:
        arguments = arguments[1:]
        _import_everything()
    become_windows()
    sys.argv = arguments
    if is_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(sys.argv[1:])
