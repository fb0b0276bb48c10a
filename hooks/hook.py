"""The hook client: hands one event from Claude Code to the daemon, within a few milliseconds.

Run as `python -I -S hook.py EVENT` by hook.sh. Whatever happens the exit code is 0, stderr
is empty and the session goes on: events are put on disk first, and an answer is waited for
at most ASK_SECONDS. Only modules that cost nothing are imported here; what is done when something
fails is in fallback.py. Also runs on old Pythons, to say there that they are too old.
The contract is docs/design/daemon-protocol.md.
"""

import os
import sys
from time import monotonic

sys.dont_write_bytecode = True  # the plugin's folder may be read-only, or a repository
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import protocol  # noqa: E402

SPOOLED = ("SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
# Since hook.sh began, where the system tells that, so that a slow start of Python leaves less: all in all below 300 ms.
ASK_SECONDS = {"SessionStart": 0.16, "UserPromptSubmit": 0.2}
LEAST_ASK_SECONDS = 0.04  # a daemon at rest answers within 20 ms
LONGEST_START_SECONDS = 1.0
POKE_SECONDS = 0.1
READ_SECONDS = 1.0  # for a standard input that nobody closes; a busy client may be late with it
MAX_INPUT = 16_000_000


def started_ago():
    """Seconds since hook.sh began, as the kernel counts them; 0 where it does not tell."""
    try:
        from time import CLOCK_BOOTTIME, clock_gettime

        now = clock_gettime(CLOCK_BOOTTIME)
        ticks = os.sysconf("SC_CLK_TCK")
        own, parent = (now - _start_ticks(pid) / ticks for pid in (os.getpid(), os.getppid()))
    except (ImportError, OSError, ValueError, IndexError, AttributeError):
        return 0.0
    # Whatever else started Python, a test or a person's shell, has lived for longer.
    ago = parent if parent < own + LONGEST_START_SECONDS / 2 else own
    return ago if 0 <= ago < LONGEST_START_SECONDS else 0.0


def _start_ticks(pid):
    with open(f"/proc/{pid}/stat", "rb") as stream:
        return int(stream.read(4096).rpartition(b")")[2].split()[19])


def read_input():
    """Standard input, at most MAX_INPUT + 1 bytes of it; the rest is read and dropped."""
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
        pass  # what came may be whole; _input_fault looks
    return b"".join(parts)[: MAX_INPUT + 1]


def _end_late(_number, _frame):
    raise TimeoutError


def _read_input_in_time():
    try:
        import _signal as signals

        signals.signal(signals.SIGALRM, _end_late)
        signals.setitimer(signals.ITIMER_REAL, READ_SECONDS)
    except (ImportError, AttributeError):  # Windows has no timer signal
        return read_input()
    body = read_input()
    signals.setitimer(signals.ITIMER_REAL, 0)  # from here on every wait has its own limit
    return body


def _deliver(home, event, data, start, env):
    """Spool, then ask or poke. Returns the answer; raises as those do."""
    if event in SPOOLED:
        protocol.spool_or_log(home, event, data)
    if event in ASK_SECONDS:
        head, least = protocol.login_lines(env) if protocol.wants_login(home, env) else b"", LEAST_ASK_SECONDS
        if protocol.is_typed_command(event, data):
            head, least = head + (protocol.ATTENDED if protocol.is_attended(env) else b""), protocol.TYPED_SECONDS
        deadline = max(start + ASK_SECONDS[event], monotonic() + least)
        return protocol.ask(home, event, head + data, deadline)
    protocol.poke(home, POKE_SECONDS)
    return b""


def _input_fault(body):
    if len(body) > MAX_INPUT:
        return "the input is too long"
    whole = body.startswith(b"{") and body.rstrip().endswith(b"}")
    return "" if whole else "the input is no JSON object"


def handle(event, env, start):
    """One event, from its bytes on standard input to what the client is to see."""
    home = protocol.home_folder(env)
    body = _read_input_in_time()
    answer = b""
    fault = _input_fault(body)
    problem = ValueError(fault) if fault else None
    if problem is None:
        try:
            answer = _deliver(home, event, protocol.event_record(env, body), start, env)
        except (protocol.NoDaemonError, protocol.BusyError) as error:
            problem = error
    if isinstance(problem, protocol.BusyError) and event != "SessionStart":
        protocol.log(home, event, str(problem))  # nothing to start and nothing to give: no time for more
    elif problem is not None:
        import fallback

        answer = fallback.recover(event, env, body, problem)
    elif event == "SessionStart" and os.path.exists(env.get("CLAUDE_PLUGIN_DATA", "") + "/announce"):
        import fallback

        answer = fallback.announce(env, answer)
    if answer:
        os.write(1, answer + b"\n")


def main(arguments, env):
    """Entry point: handles the event that the first argument names, if it is one of ours."""
    start = monotonic() - started_ago()
    event = arguments[1] if len(arguments) > 1 else ""
    if env.get("MEMORYD_INTERNAL") or event not in SPOOLED and event not in ASK_SECONDS:
        return
    os.umask(0o077)
    try:
        handle(event, env, start)
    except Exception as error:  # noqa: BLE001 - a session must never see a fault of its memory
        protocol.log(protocol.home_folder(env), event, repr(error))


if __name__ == "__main__":
    try:
        main(sys.argv, os.environ)
    finally:
        os._exit(0)
