"""The hook client: passes one event from Claude Code to the daemon within a few milliseconds.

hook.sh runs it as `python -I -S hook.py EVENT`. The exit code is always 0 and stderr is empty, so that an error never
disturbs the session. Events are first written to disk, and the client waits up to ASK_SECONDS for an answer. Only
modules that load fast are imported here; fallback.py handles failures. The client also runs on old Python versions,
to report that they are too old. The protocol is specified in docs/design/daemon-protocol.md.
"""

import os
import sys
from time import monotonic

sys.dont_write_bytecode = True  # The plugin's folder may be read-only or a git repository.
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import protocol  # noqa: E402

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping

SPOOLED = ("SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
# Counted from the start of hook.sh if known, so that a slow start of Python shortens the wait. The total is below 300 ms.
ASK_SECONDS = {"SessionStart": 0.16, "UserPromptSubmit": 0.2, "PreToolUse": 0.1, "PostToolUseFailure": 0.1, "SubagentStart": 0.16}
MIN_ASK_SECONDS = 0.04  # An idle daemon answers within 20 ms.
LONGEST_START_SECONDS = 1.0
POKE_SECONDS = 0.1
READ_SECONDS = 1.0  # Needed in case standard input is never closed. A busy client may be slow.
MAX_PATIENCE_SECONDS = 4.0
MAX_INPUT = 16_000_000


def started_ago() -> float:
    """Return the seconds since hook.sh started, according to the kernel, or 0 if that is unknown."""
    try:
        from time import CLOCK_BOOTTIME, clock_gettime

        now = clock_gettime(CLOCK_BOOTTIME)
        ticks = os.sysconf("SC_CLK_TCK")
        own, parent = (now - _start_ticks(pid) / ticks for pid in (os.getpid(), os.getppid()))
    except (ImportError, OSError, ValueError, IndexError, AttributeError):
        return 0.0
    # If Python was not started by hook.sh, its parent (a test or a shell) has been running for longer.
    ago = parent if parent < own + LONGEST_START_SECONDS / 2 else own
    return ago if 0 <= ago < LONGEST_START_SECONDS else 0.0


def _start_ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stream:
        return int(stream.read(4096).rpartition(b")")[2].split()[19])


def read_input() -> bytes:
    """Read standard input. Return up to MAX_INPUT + 1 bytes and discard the rest."""
    parts = []
    size = 0
    try:
        while True:
            part = os.read(0, 1 << 20)
            if not part:
                break
            if size <= MAX_INPUT:
                parts.append(part)
            size += len(part)
    except TimeoutError:
        pass  # The input may still be complete. _input_fault checks that.
    return b"".join(parts)[: MAX_INPUT + 1]


def _end_late(_number: int, _frame: object) -> None:
    raise TimeoutError


def _read_input_in_time() -> bytes:
    try:
        import _signal as signals  # type: ignore[import-not-found]  # the C module loads faster than signal

        signals.signal(signals.SIGALRM, _end_late)
        signals.setitimer(signals.ITIMER_REAL, READ_SECONDS)
    except (ImportError, AttributeError):  # Windows has no timer signal.
        return read_input()
    body = read_input()
    signals.setitimer(signals.ITIMER_REAL, 0)  # All later waits have their own timeouts.
    return body


def patience(env: "Mapping[str, str]") -> float:
    """Return how many seconds a benchmark lets hooks wait for the daemon. Below the client's own timeout of 5 s."""
    try:
        return min(MAX_PATIENCE_SECONDS, float(env.get("MEMORYD_HOOK_SECONDS") or 0.0))
    except ValueError:
        return 0.0


def _deliver(home: str, event: str, data: bytes, start: float, env: "Mapping[str, str]") -> bytes:
    """Spool the event, then send it with `ask` or notify the daemon with `poke`. Return the answer.

    Raises the same errors as `ask` and `poke`.
    """
    if event in SPOOLED:
        protocol.spool_or_log(home, event, data)
    if event in ASK_SECONDS:
        head, least = protocol.login_lines(env) if protocol.wants_login(home, env) else b"", MIN_ASK_SECONDS
        if protocol.is_typed_command(event, data):
            head, least = head + (protocol.ATTENDED if protocol.is_attended(env) else b""), protocol.TYPED_SECONDS
        deadline = max(start + ASK_SECONDS[event], monotonic() + max(least, patience(env)))
        if event == "PreToolUse" and env.get("MEMORYD_GUARD") == "off":
            head += b"MEMORYD_GUARD=off\n"
        return protocol.ask(home, event, head + data, deadline)
    protocol.poke(home, POKE_SECONDS)
    return b""


def _input_fault(body: bytes) -> str:
    if len(body) > MAX_INPUT:
        return "the input is too long"
    whole = body.startswith(b"{") and body.rstrip().endswith(b"}")
    return "" if whole else "the input is not a JSON object"


def is_uninstalled(env: "Mapping[str, str]") -> bool:
    """Return whether the plugin was uninstalled during this session.

    In this case, the client marks the plugin's folder. It keeps the plugin's data only for an update.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.exists(os.path.join(root, ".orphaned_at")) and not os.path.isdir(env.get("CLAUDE_PLUGIN_DATA", ""))


def handle(event: str, env: "Mapping[str, str]", start: float) -> None:
    """Read one event from standard input, process it, and print the answer."""
    if is_uninstalled(env):
        return
    home = protocol.home_folder(env)
    body = _read_input_in_time()
    answer = b""
    fault = _input_fault(body)
    problem: Exception | None = ValueError(fault) if fault else None
    if problem is None:
        try:
            answer = _deliver(home, event, protocol.event_record(env, body), start, env)
        except (protocol.NoDaemonError, protocol.BusyError) as error:
            problem = error
    if isinstance(problem, protocol.BusyError) and event != "SessionStart":
        protocol.log(home, event, str(problem))  # A daemon is running but there is no cached answer. Don't take any longer.
    elif problem is not None:
        import fallback

        answer = fallback.recover(event, env, body, problem)
    elif event == "SessionStart" and os.path.exists(env.get("CLAUDE_PLUGIN_DATA", "") + "/announce"):
        import fallback

        answer = fallback.announce(env, answer)
    if answer:
        os.write(1, answer + b"\n")


def main(arguments: "list[str]", env: "Mapping[str, str]") -> None:
    """Handle the event named by the first argument; ignore unknown events."""
    start = monotonic() - started_ago()
    event = arguments[1] if len(arguments) > 1 else ""
    if env.get("MEMORYD_INTERNAL") or event not in SPOOLED and event not in ASK_SECONDS:
        return
    os.umask(0o077)
    try:
        handle(event, env, start)
    except Exception as error:  # noqa: BLE001 - an error in memoryd must never reach the session
        protocol.log(protocol.home_folder(env), event, repr(error))


if __name__ == "__main__":
    try:
        main(sys.argv, os.environ)
    finally:
        os._exit(0)
