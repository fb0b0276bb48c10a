"""External programs as memory systems. They run in their own environment and exchange JSON lines over standard input and output.

Every request is one line with `id` and `do`. Every answer is one line with the same `id` and either `ok` or `error`:

    open    folder, settings          → facts about the system (version, …)
    add     scope, items              → counts; an item has id, session, role, speaker, text, at
    settle  scope                     → nothing; once all added items are searchable
    search  scope, query, k, at       → found: [{id, score}], best first
    clear   scope                     → nothing
    info                              → current figures (memory, disk, …)

Standard error is written to `process.log` next to the program's folder, and error messages quote its last line.
Closing standard input stops the program. All state must be kept in the program's folder, because searches run in
another process.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from memeval import registry
from memeval.core.errors import DependencyError, ProviderError
from memeval.core.protocols import Capabilities
from memeval.core.types import Retrieved, SearchRequest, Session
from memeval.providers.local import LocalProvider, Options
from memeval.providers.retrieval import CONTEXT_CHARACTERS, RetrievalUnit, cut, in_context
from memoryd.core.processes import kill_group

START_SECONDS = 120.0
CALL_SECONDS = 900.0
END_SECONDS = 10.0
SCOPES_KEPT = 4
MAX_PROCESSES_LISTED = 50
LOG_TAIL = 4000
PROCESSES_FILE = "processes.json"


class Program:
    """A running program.

    A program that exits, hangs or returns a malformed answer is killed, and the error states the reason.
    """

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._name = name
        self._log_path = log
        self._asked = 0
        self.see: Callable[[str, bytes], None] = lambda do, line: None
        self._lines: queue.Queue[bytes] = queue.Queue()
        with log.open("ab") as stream:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=stream,
                    env={**os.environ, **environment},
                    start_new_session=True,
                )
            except OSError as error:
                raise DependencyError(
                    f"{name} can't be started: {error}.", fix="Install it, or correct options.command."
                ) from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin = self._process.stdin
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True, name=f"{name}-answers").start()

    def ask(self, do: str, seconds: float, **values: Any) -> Mapping[str, Any]:
        """Send a request and return the answer.

        Raises ProviderError. The program is killed unless it reported the error itself.
        """
        self._asked += 1
        line = json.dumps({"id": self._asked, "do": do, **values}, ensure_ascii=True).encode() + b"\n"
        try:
            self._stdin.write(line)
            self._stdin.flush()
        except OSError:
            raise self._broken(f"ended before {do}") from None
        try:
            answer = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise self._broken(f"did not respond to {do} within {seconds:g} s") from None
        if not answer:
            raise self._broken(f"ended during {do}")
        self.see(do, answer)
        return self._parsed(do, answer)

    @property
    def running(self) -> bool:
        """Return whether the program accepts requests."""
        return self._process.poll() is None

    def end(self) -> None:
        """Wait for the program to exit, and kill it if it doesn't."""
        try:
            self._stdin.close()
            self._process.wait(END_SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            self._kill()

    def _read(self, stream: IO[bytes]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(b"")
        stream.close()

    def _parsed(self, do: str, line: bytes) -> Mapping[str, Any]:
        try:
            data = json.loads(line)
        except ValueError:
            data = None
        if not isinstance(data, dict) or data.get("id") != self._asked or not _fits(do, data):
            raise self._broken(f"responded to {do} with {line[:120].decode(errors='replace').strip()!r}")
        if "error" in data:
            raise ProviderError(
                f"{self._name} could not {do}: {data['error']}", fix=self._see(), transient=data.get("transient") is True
            )
        answer = data.get("ok", {})
        return dict(answer) if isinstance(answer, dict) else {"told": answer} if do == "info" else {}

    def _broken(self, what: str) -> ProviderError:
        self._kill()
        code = self._process.poll()
        ended = f" (exit code {code})" if what.startswith("ended") else ""
        return ProviderError(f"{self._name} {what}{ended}{self._last_words()}.", fix=self._see())

    def _see(self) -> str:
        return f"See {self._log_path}."

    def _last_words(self) -> str:
        with self._log_path.open("rb") as stream:
            stream.seek(max(0, self._log_path.stat().st_size - LOG_TAIL))
            lines = stream.read().decode(errors="replace").strip().splitlines()
        return f"; it said: {lines[-1][:200]}" if lines else ""

    def _kill(self) -> None:
        """Kill the program and its children. Does nothing if it has been reaped, because its pid may be in use again."""
        if self._process.returncode is not None:
            return
        kill_group(self._process)
        self._process.wait()


@registry.provider("process")
class ProcessProvider(LocalProvider):
    """A memory system in an external program.

    The options are `command` (a list), `settings` (for the program), `environment`, `keyExpansion`, `startSeconds` and
    `callSeconds`.
    """

    capabilities = Capabilities(provenance=True)

    def configure(self, options: Options) -> None:
        """Read the options. Raises DependencyError if the program is missing."""
        self._command = _texts(options, "command")
        self._settings = options.part("settings")
        self._environment = {key: str(value) for key, value in options.part("environment").items()}
        self._context = CONTEXT_CHARACTERS if options.flag("keyExpansion", False) else 0
        self._start_seconds = options.number("startSeconds", START_SECONDS)
        self._call_seconds = options.number("callSeconds", CALL_SECONDS)
        if self._command and shutil.which(self._command[0]) is None:
            raise DependencyError(
                f"{self.name} is not installed: there is no program {self._command[0]}.",
                fix="Install it, or correct options.command.",
            )
        self._workdir = Path()
        self._see: Callable[[str, bytes], None] = lambda do, line: None
        self._program: Program | None = None
        self._earlier: list[Mapping[str, Any]] = []
        self._owners: OrderedDict[tuple[str, str], dict[str, RetrievalUnit]] = OrderedDict()
        self._lock = threading.RLock()

    def watch(self, see: Callable[[str, bytes], None]) -> None:
        """Pass each raw output line of the program to an observer."""
        self._see = see
        if self._program is not None:
            self._program.see = see

    def open(self, workdir: Path) -> None:
        """Start the program now, so that a failure to start is reported before any work is done."""
        super().open(workdir)
        self._workdir = workdir
        workdir.mkdir(parents=True, exist_ok=True)
        self._earlier = _read_earlier(workdir / PROCESSES_FILE)
        self._ask("info")

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Add the turns of new sessions."""
        known = {session.id for session in self.store.all(scope)}
        new = [session for session in sessions if session.id not in known]
        items = [_item(piece, session) for session in new for piece in in_context(cut([session], "turn"), self._context)]
        counts = self._ask("add", scope=scope, items=items) if items else {}
        self.store.add(scope, new)
        self.changed(scope)
        return {**counts, "sessions": len(sessions), "new": len(new), "items": len(items)}

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Wait until the program has settled."""
        self._ask("settle", timeout_seconds, scope=scope)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Search with the program. Each passage is ranked by its best turn."""
        owners = self._pieces(scope, request.granularity)
        if not owners:
            return []
        at = request.at.isoformat() if request.at else ""
        answer = self._ask("search", scope=scope, query=request.text, k=request.k, at=at)
        out: dict[int, Retrieved] = {}
        for id, score in _found(self.name, answer):
            if (piece := owners.get(id)) is None:
                raise ProviderError(f"{self.name} returned {id!r}, which is not in {scope}.", fix="Correct the program.")
            out.setdefault(piece.order, piece.retrieved(score))
        return list(out.values())

    def changed(self, scope: str) -> None:
        """Drop the cached passages of the scope."""
        with self._lock:
            for key in [key for key in self._owners if key[0] == scope]:
                del self._owners[key]

    def clear(self, scope: str) -> None:
        """Delete the scope both in the program and locally."""
        self._ask("clear", scope=scope)
        super().clear(scope)

    def provenance(self) -> Mapping[str, Any]:
        """Return the facts reported by each process of the run, with the current process last."""
        processes = [*self._earlier, self._ask("info")][-MAX_PROCESSES_LISTED:]
        (self._workdir / PROCESSES_FILE).write_text(json.dumps(processes), "utf-8")
        return {"processes": processes}

    def close(self) -> None:
        """Stop the program."""
        with self._lock:
            if self._program is not None:
                self._program.end()
            self._program = None
        super().close()

    def _ask(self, do: str, seconds: float = 0.0, **values: Any) -> Mapping[str, Any]:
        with self._lock:
            if self._program is None or not self._program.running:
                self._program = self._started()
            return self._program.ask(do, seconds or self._call_seconds, **values)

    def _started(self) -> Program:
        if not self._command:
            raise self.options.wrong("command", [], "a list of the program and its arguments")
        program = Program(self.name, self._command, self._environment, self._workdir / "process.log")
        program.see = self._see
        folder = self._workdir / "program"
        folder.mkdir(exist_ok=True)
        program.ask("open", self._start_seconds, folder=str(folder.resolve()), settings=self._settings)
        return program

    def _pieces(self, scope: str, granularity: str) -> dict[str, RetrievalUnit]:
        """Return a map from turn ids to the passages that contain them."""
        key = (scope, granularity)
        with self._lock:
            if key not in self._owners:
                pieces = cut(self.store.all(scope), granularity)
                self._owners[key] = {id: piece for piece in pieces for id in piece.turns}
                while len(self._owners) > SCOPES_KEPT:
                    self._owners.popitem(last=False)
            return self._owners[key]


def _item(piece: RetrievalUnit, session: Session) -> dict[str, Any]:
    turn = next(turn for turn in session.turns if turn.id == piece.turns[0])
    at = piece.at.isoformat() if isinstance(piece.at, datetime) else ""
    return {"id": turn.id, "session": session.id, "role": turn.role, "speaker": turn.speaker, "text": piece.key, "at": at}


def _fits(do: str, answer: Mapping[str, Any]) -> bool:
    """Return whether the answer has the expected shape.

    For a search, `ok` must be an object. Other requests may return anything.
    """
    return do != "search" or "error" in answer or isinstance(answer.get("ok"), dict)


def _texts(options: Options, key: str) -> list[str]:
    value = options.get(key, [])
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        raise options.wrong(key, value, "a list of the program and its arguments")
    return list(value)


def _found(name: str, answer: Mapping[str, Any]) -> list[tuple[str, float]]:
    found = answer.get("found")
    try:
        return [(str(one["id"]), float(one.get("score") or 0.0)) for one in found or []]
    except (TypeError, ValueError, KeyError, AttributeError):
        raise ProviderError(
            f"{name} responded to search with {str(found)[:120]!r}.", fix="Return found: [{id, score}]."
        ) from None


def _read_earlier(path: Path) -> list[Mapping[str, Any]]:
    """Read the reports of earlier processes of the run. A damaged file is ignored, because only figures are lost."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [dict(one) for one in data if isinstance(one, dict)] if isinstance(data, list) else []
