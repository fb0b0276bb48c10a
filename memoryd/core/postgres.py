"""Postgres access through psycopg: connection pool, translated errors, vectors and notifications.

Every call is one transaction. If the server is lost or unreachable, DatabaseUnavailable is raised. Calls shortly
afterwards fail immediately, so that a prompt does not wait for a server that is down.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from memoryd.core.errors import ConfigError, DatabaseUnavailable, DependencyError, StoreError
from memoryd.core.protocols import FloatArray

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 60
RETRY_SECONDS = 2.0
TRIES = 8
IDLE_CONNECTIONS = 8
# Names are resolved in our schema first. `public` is searched only for an extension installed there earlier.
OPTIONS = f"-c search_path=memoryd,public -c statement_timeout={STATEMENT_SECONDS}s -c client_encoding=utf8 -c jit=off"
T = TypeVar("T")
Row = tuple[Any, ...]


def shown_address(url: str) -> str:
    """Return the address for messages, without user, password and parameters."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'local'}{f':{parts.port}' if parts.port else ''}{parts.path}"


class PostgresSession:
    """One transaction."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""
        done = self._connection.execute(sql, parameters or None)
        return list(done.fetchall()) if done.description else []

    def value(self, sql: str, parameters: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None."""
        rows = self.execute(sql, parameters)
        return rows[0][0] if rows else None

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once per row, sending all rows as one batch."""
        if rows:
            with self._connection.cursor() as cursor:
                cursor.executemany(sql, rows)

    def copy(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Load rows with COPY … FROM STDIN."""
        with self._connection.cursor() as cursor, cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row(row)


class Postgres:
    """A pool of connections to one database. Thread-safe. Connections are opened on first use.

    Args:
        url: Address of the database.

    Raises:
        DependencyError: psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise DependencyError("Postgres needs psycopg.", fix="Run: pip install 'memoryd[postgres]'") from error
        self._driver = psycopg
        self._url = url
        self._lock = threading.Lock()
        self._idle: list[psycopg.Connection[Row]] = []
        self._down_until = 0.0
        self._closed = False

    @property
    def address(self) -> str:
        """The address for messages."""
        return shown_address(self._url)

    def run(self, work: Callable[[PostgresSession], T], *, patient: bool = False) -> T:
        """Run `work` in a transaction and return its result.

        `work` must be idempotent: it is retried after a deadlock, or if an idle connection turns out to be dead.

        Args:
            work: Receives the transaction.
            patient: Whether to try connecting even if the server was unreachable a moment ago.

        Raises:
            DatabaseUnavailable: The server can't be reached, or the connection was lost. The transaction may have been committed.
            StoreError: The server refused a statement.
        """
        for attempt in range(TRIES):
            connection, pooled = self._take(patient)
            try:
                with connection.transaction():
                    result = work(PostgresSession(connection))
            except self._driver.errors.DeadlockDetected as error:
                if attempt == TRIES - 1:
                    raise self._refused(error) from error
                time.sleep(0.01 * 2**attempt)
                continue
            except self._driver.Error as error:
                problem = self._translated(connection, error)
                if pooled and isinstance(problem, DatabaseUnavailable):  # The server may have been restarted in the meantime.
                    continue
                raise problem from error
            finally:
                self._give(connection)
            return result
        raise self._unavailable("the connection was lost repeatedly")

    def _take(self, patient: bool) -> tuple[psycopg.Connection[Row], bool]:
        """Return a connection, and whether it has been idle for a while."""
        with self._lock:
            if self._closed:
                raise StoreError("The store is closed.", fix="Open it again.")
            if self._idle:
                return self._idle.pop(), True
            if time.monotonic() < self._down_until and not patient:
                raise self._unavailable("it could not be reached a moment ago")
        return self.connect(), False

    def connect(self) -> psycopg.Connection[Row]:
        """Open a connection, which the caller must close.

        Raises:
            DatabaseUnavailable: The server can't be reached.
            ConfigError: The address is malformed.
        """
        try:
            connection: psycopg.Connection[Row] = self._driver.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                options=OPTIONS,
                keepalives_idle=20,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=20_000,
                application_name="memoryd",
            )
        except self._driver.OperationalError as error:
            self._down_until = time.monotonic() + RETRY_SECONDS
            raise self._unavailable(str(error)) from error
        except self._driver.Error as error:
            raise ConfigError(f"store: the database address is invalid: {_first_line(error)}.", fix=_URL_FORM) from error
        self._down_until = 0.0
        connection.prepare_threshold = 3
        return connection

    def _give(self, connection: psycopg.Connection[Row]) -> None:
        with self._lock:
            if not (self._closed or connection.closed) and len(self._idle) < IDLE_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def _translated(self, connection: psycopg.Connection[Row], error: psycopg.Error) -> StoreError:
        state = error.sqlstate or ""
        # 57P: the server is shutting down or starting; 08: connection lost; 53: out of memory, disk or connections.
        if connection.closed or connection.broken or state[:3] == "57P" or state[:2] in ("08", "53"):
            connection.close()
            self._drop_idle()
            return self._unavailable(str(error))
        return self._refused(error)

    def _drop_idle(self) -> None:
        """Close idle connections, because a server restart has broken them as well."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _unavailable(self, why: str) -> DatabaseUnavailable:
        reason = _first_line(why)
        return DatabaseUnavailable(
            f"The database at {self.address} can't be reached: {reason}.",
            fix="Check the network and the server. Until then, changes are queued on this machine and sent later.",
        )

    def _refused(self, error: psycopg.Error) -> StoreError:
        if error.sqlstate == "42501":
            return StoreError(f"The database at {self.address} refused access: {_first_line(error)}.", fix=_NOT_ALLOWED)
        if error.sqlstate in ("42P01", "3F000", "42883"):
            return StoreError(
                f"The database at {self.address} has not been set up for memoryd: {_first_line(error)}.", fix=_PREPARE
            )
        return StoreError(f"The database at {self.address} failed: {_first_line(error)}.", fix="See the server's log.")

    def notifications(self, channel: str, stop: threading.Event) -> Iterator[str]:
        """Listen on a channel and yield each payload. Also yields an empty string when listening starts and about once a second.

        Raises:
            DatabaseUnavailable: The connection is lost.
        """
        connection = self.connect()
        try:
            connection.execute(f"LISTEN {channel}")
            yield ""
            while not stop.is_set():
                for note in connection.notifies(timeout=1.0, stop_after=1):
                    yield note.payload
                else:
                    yield ""
        except self._driver.Error as error:
            raise self._unavailable(str(error)) from error
        finally:
            connection.close()

    def close(self) -> None:
        """Close all connections. Later calls raise StoreError."""
        with self._lock:
            self._closed = True
        self._drop_idle()


_URL_FORM = 'Write store = "postgres://user@host/database".'
_NOT_ALLOWED = "Ask the database owner to allow your role to connect, or to add it to the team (docs/postgres.md)."
_PREPARE = "Have the database owner run 'memoryd migrate --prepare' once (docs/postgres.md)."


def _first_line(error: object) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


def vector_text(vector: FloatArray) -> str:
    """Return a vector in pgvector's text format."""
    return "[" + ",".join(map(_short, vector.astype(np.float16).tolist())) + "]"


def read_vector(text: str) -> FloatArray:
    """Parse a vector in pgvector's text format. It is normalised again, because half precision changes its length slightly."""
    vector = np.array(text[1:-1].split(","), dtype=np.float32)
    unit: FloatArray = vector / max(float(np.linalg.norm(vector)), 1e-6)
    return unit


def _short(number: float) -> str:
    return f"{number:.5g}"
