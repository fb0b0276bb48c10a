"""The protocol that hooks and the MCP proxy share with the daemon: endpoint, messages, spool, log and errors.

Only modules that load fast are imported at the top, because a hook has only a few milliseconds. The protocol is
specified in docs/design/daemon-protocol.md.
"""

import _socket
import os
from time import monotonic, time_ns

TYPE_CHECKING = False  # Importing typing would take too long. Type checkers treat this as true.
if TYPE_CHECKING:
    from collections.abc import Mapping

# Commands typed by the user get a longer timeout, because the user expects a reply.
TYPED, TYPED_SECONDS = (b'"/memoryd:setup', b'"/memoryd:off', b'"/memoryd:on'), 3.0
ATTENDED = b"MEMORYD_ATTENDED=1\n"
LOG_LIMIT = 256_000
# All that the daemon needs of a spooled event. The rest, such as the last answer, are words of the session.
SPOOLED_FIELDS = ("session_id", "transcript_path", "cwd", "hook_event_name", "source", "reason", "trigger", "agent_id")
MAX_ANSWER = 1_000_000
OPTION_PREFIX = "CLAUDE_PLUGIN_OPTION_"
LOGIN_PREFIX = "MEMORYD_LOGIN_"
LOGIN_PREFIXES = ("ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_REGION_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_CLIENT_")
LOGIN_NAMES = (
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_EXECPATH",
    "CLOUD_ML_REGION",
    "GCLOUD_PROJECT",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_FILE",
)


BINARY = getattr(os, "O_BINARY", 0)  # without it, Windows turns each line end that os.write is given into two characters


class NoDaemonError(Exception):
    """Raised when no daemon is running, or another process listens in its place. The caller should start a daemon."""


class BusyError(Exception):
    """Raised when a daemon is running but does not answer in time."""


def home_folder(env: "Mapping[str, str]") -> str:
    """Return memoryd's home folder. Must match memoryd.core.config.find_home."""
    chosen = env.get("MEMORYD_HOME") or env.get(OPTION_PREFIX + "HOME") or "~/.memoryd"
    return os.path.abspath(os.path.expanduser(chosen))


def at_once(path: str, flags: int) -> int:
    """Open a file without waiting, even if it is a pipe. Its content is None while nobody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def connect(home: str, seconds: float) -> "_socket.socket":
    """Return a socket connected to the daemon. Raises NoDaemonError or BusyError."""
    try:
        with open(os.path.join(home, "run", "endpoint"), "rb", opener=at_once) as stream:
            kind, _, rest = (stream.read(4096) or b"").strip().partition(b" ")
        if kind == b"unix":
            return _connect_unix(rest, seconds)
        if kind == b"tcp":
            return _connect_tcp(rest, seconds)
    except (TimeoutError, _socket.timeout, BlockingIOError):  # EAGAIN means that the listener's backlog is full.
        raise BusyError("the daemon does not accept connections") from None
    except (OSError, ValueError, OverflowError) as error:
        raise NoDaemonError(str(error)) from None
    raise NoDaemonError("the endpoint file is invalid")


def _connect_unix(path: bytes, seconds: float) -> "_socket.socket":
    if os.lstat(path).st_uid != os.getuid():
        raise NoDaemonError("the socket belongs to another user")
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    link.settimeout(seconds)
    link.connect(path)
    return link


def _connect_tcp(rest: bytes, seconds: float) -> "_socket.socket":
    port, token = rest.split(b" ")
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    link.settimeout(seconds)
    link.connect(("127.0.0.1", int(port)))
    try:
        import proof

        proof.exchange(link, int(port), token, seconds)
    except (TimeoutError, _socket.timeout):  # Not BusyError: a process that does not respond is not necessarily the daemon.
        raise NoDaemonError("the process at the daemon's port does not authenticate itself") from None
    link.settimeout(seconds)
    return link


def log(home: str, event: str, text: str) -> None:
    """Append one line to logs/hooks.log, rotating it by size. Errors are ignored."""
    from time import strftime

    path = os.path.join(home, "logs", "hooks.log")
    line = f"{strftime('%Y-%m-%dT%H:%M:%S')} {event} {text}".replace("\n", " ")[:1000] + "\n"
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > LOG_LIMIT:
            os.replace(path, path + ".1")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
        os.write(handle, line.encode("utf-8", "replace"))
        os.close(handle)
    except OSError:
        return  # There is no other place to log to.


def event_record(env: "Mapping[str, str]", body: bytes) -> bytes:
    """Return the event's record for the socket and the spool: KEY=VALUE lines, an empty line, and the hook's input."""
    lines = []
    for key in sorted(env):
        if key.startswith(OPTION_PREFIX) or key in ("CLAUDE_PROJECT_DIR", "MEMORYD_CLIENT"):
            lines.append(key + "=" + " ".join(env[key].splitlines()) + "\n")
    return os.fsencode("".join(lines)) + b"\n" + body


class _Plain:
    """The options of the JSON scanner. Numbers stay texts, because huge ones can't be converted."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_int = parse_float = parse_constant = str


def without_words(data: bytes) -> bytes:
    """Return an event's record with only SPOOLED_FIELDS of the hook's input, or without input if it is not a JSON object.

    The spool is a file, and memory may be off for the session. `json` would take too long to import.
    """
    import _json

    head, blank, body = data.partition(b"\n\n") if data[:1] != b"\n" else (b"", b"\n", data[1:])
    try:
        scan = _json.make_scanner(_Plain)  # type: ignore[arg-type]
        values, _ = scan(body.decode("utf-8", "replace").strip(), 0)
        known = [(name, values[name]) for name in SPOOLED_FIELDS if isinstance(values.get(name), str)]
    except (ValueError, StopIteration, RecursionError, AttributeError, TypeError):
        return head + blank
    quoted = _json.encode_basestring_ascii
    return head + blank + ("{" + ", ".join(quoted(name) + ": " + quoted(value) for name, value in known) + "}").encode()


def is_login(name: str) -> bool:
    """Return whether an environment variable holds login data of the client. Must match memoryd.llm.claude.is_login."""
    return name in LOGIN_NAMES or name.startswith(LOGIN_PREFIXES)


def wants_login(home: str, env: "Mapping[str, str]") -> bool:
    """Return whether the user agreed to model runs with the session's login, by an option or the daemon's marker file."""
    if env.get(OPTION_PREFIX + "USE_CLAUDE") == "true" or env.get(OPTION_PREFIX + "READER") == "claude":
        return True
    return os.path.exists(os.path.join(home, "run", "login-wanted"))


def login_lines(env: "Mapping[str, str]") -> bytes:
    """Return the login as header lines of a record. They are only sent over the socket and never written to a file."""
    lines = []
    for key in env:
        if is_login(key):
            value = env[key].replace("\\", "\\\\").replace("\r", "").replace("\n", "\\n")
            lines.append(LOGIN_PREFIX + key + "=" + value + "\n")
    program = _client_program(env)
    if program:
        lines.append(LOGIN_PREFIX + "CLAUDE_CODE_EXECPATH=" + program + "\n")
    return os.fsencode("".join(lines))


def is_attended(env: "Mapping[str, str]") -> bool:
    """Return whether a person uses the client interactively.

    The client must report it, and must not run inside another client's shell.
    """
    if env.get("CLAUDE_CODE_SESSION_ATTENDED") != "1":
        return False
    try:
        with open("/proc/" + env["CLAUDE_PID"] + "/environ", "rb") as stream:
            return not any(line.startswith(b"CLAUDECODE=") for line in stream.read().split(b"\0"))
    except (KeyError, OSError):  # Not available on this system.
        return True


def _client_program(env: "Mapping[str, str]") -> str:
    """Return the path of the client that runs this hook, because the client may not be on PATH. Works only on Linux."""
    try:
        path = os.readlink("/proc/" + env["CLAUDE_PID"] + "/exe")
    except (KeyError, OSError, ValueError):
        return ""
    return path if os.path.basename(path).startswith("claude") and "\n" not in path else ""


def spool(home: str, event: str, data: bytes) -> None:
    """Write the event to disk atomically and durably. Raises OSError."""
    folder = os.path.join(home, "spool")
    name = f"{time_ns():020d}-{os.getpid()}.{event}"
    temporary = os.path.join(folder, "." + name)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
    try:
        handle = os.open(temporary, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        handle = os.open(temporary, flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    os.rename(temporary, os.path.join(folder, name))


def spool_or_log(home: str, event: str, data: bytes) -> None:
    """Spool the event without the session's words.

    If the home folder is not writable, only log the failure, so that the session still gets an answer.
    """
    try:
        spool(home, event, without_words(data))
    except OSError as error:
        log(home, event, f"not spooled: {error}")


def poke(home: str, seconds: float) -> None:
    """Notify the daemon of new spool files without waiting for an answer. Raises NoDaemonError or BusyError."""
    link = connect(home, seconds)
    try:
        link.sendall(b"memoryd/1 poke\n")
    except OSError as error:
        raise NoDaemonError(str(error)) from None


def ask(home: str, event: str, data: bytes, deadline: float) -> bytes:
    """Send the event and return the daemon's answer, which may be empty. Raises NoDaemonError or BusyError."""
    link = connect(home, max(deadline - monotonic(), 0.01))
    try:
        link.sendall(b"memoryd/1 hook %s %d\n" % (event.encode("ascii"), len(data)) + data)
        return _checked(_read_to_end(link, deadline).strip(), event, link.family)
    except (TimeoutError, _socket.timeout):
        raise BusyError("no answer in time") from None
    except OSError as error:
        raise NoDaemonError(str(error)) from None


def _read_to_end(link: "_socket.socket", deadline: float) -> bytes:
    answer = b""
    while len(answer) <= MAX_ANSWER:
        link.settimeout(max(deadline - monotonic(), 0.001))
        part = link.recv(65536)
        if not part:
            return answer
        answer += part
    raise NoDaemonError("the answer is too long")


def _checked(answer: bytes, event: str, family: int) -> bytes:
    if answer and not (answer.startswith(b'{"') and answer.endswith(b"}")):
        raise NoDaemonError("the process that responds is not memoryd")  # The daemon's output must not reach the session.
    if answer and family == _socket.AF_INET:
        import proof

        return proof.own_answer(answer, event)
    return answer


def is_typed_command(event: str, data: bytes) -> bool:
    """Return whether the event may be a prompt that contains a memoryd command."""
    return event == "UserPromptSubmit" and any(command in data for command in TYPED)
