"""Handle a hook when no daemon responds, and the first session after the setup. Imported only in these two cases."""

import json
import os
import time

import governance
import protocol
import starter

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping

RETRY_SECONDS = 0.05


def _working_folder(body: bytes) -> str:
    try:
        cwd = json.loads(body).get("cwd")
    except ValueError:
        cwd = None
    return cwd if isinstance(cwd, str) and cwd else os.getcwd()


def _with_message(answer: bytes, message: str) -> bytes:
    """Append a line for the user to the answer."""
    if not message:
        return answer
    try:
        value = json.loads(answer) if answer else {}
    except ValueError:
        value = {}
    value["systemMessage"] = "\n".join(filter(None, (value.get("systemMessage"), message)))
    return json.dumps(value).encode()


def recover(event: str, env: "Mapping[str, str]", body: bytes, problem: Exception) -> bytes:
    """Log the problem, start a daemon if none responds, and return the best answer that is possible without one."""
    home = protocol.home_folder(env)
    absent = isinstance(problem, protocol.NoDaemonError)
    started = absent and starter.start_daemon(home, env)
    protocol.log(home, event, f"{problem}{'; starting a daemon' if started else ''}")
    record = protocol.event_record(env, body)
    if protocol.is_typed_command(event, record):
        return _wait_for_daemon(home, event, (protocol.ATTENDED if protocol.is_attended(env) else b"") + record)
    if event != "SessionStart":
        return b""
    cached = governance.cached_answer(home, env, _working_folder(body))
    if cached:
        protocol.spool_or_log(home, "GovernanceShown", record)  # Prevents later prompts from repeating the message.
    return _with_message(cached, starter.setup_message(home, env) if absent else "")


def _wait_for_daemon(home: str, event: str, record: bytes) -> bytes:
    """Wait for the daemon that was just started, because the user expects a reply to a typed command."""
    deadline = time.monotonic() + protocol.TYPED_SECONDS
    while time.monotonic() < deadline:
        time.sleep(RETRY_SECONDS)
        try:
            return protocol.ask(home, event, record, deadline)
        except protocol.NoDaemonError:
            continue  # It is still starting.
        except protocol.BusyError:
            break
    return _with_message(b"", "memoryd did not answer, so nothing was changed. Type it again in a moment.")


def announce(env: "Mapping[str, str]", answer: bytes) -> bytes:
    """Add the message that the first setup is complete. It is shown only once."""
    path = env.get("CLAUDE_PLUGIN_DATA", "") + "/announce"
    try:
        with open(path, encoding="utf-8") as stream:
            message = stream.read(1000).strip()
        os.unlink(path)
    except OSError:
        return answer  # Another session has already shown the message.
    return _with_message(answer, message)
