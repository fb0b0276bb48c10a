"""HTTP APIs as memory systems. The YAML file defines the calls and the parsing of responses.

If neither the add nor the search template uses `runTag` or `setup`, the scope is inserted into the body field given
by `scoping`. This keeps cases apart when the file omits the scope.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.calls import Stop
from memeval.core.errors import ConfigError
from memeval.core.protocols import Capabilities
from memeval.core.types import EMPTY
from memeval.providers.docker import ComposeService
from memeval.providers.http_client import JsonClient, fill
from memeval.providers.remote import RemoteProvider
from memeval.specs import EndpointSpec, ProviderSpec, ScopeType

_FIELDS = {
    ScopeType.CONTAINER_TAGS: "containerTags",
    ScopeType.USER_ID: "user_id",
    ScopeType.SESSION_ID: "session_id",
}


@registry.provider("http")
class HttpProvider(RemoteProvider):
    """A memory system behind an HTTP API, with the common options of remote providers."""

    capabilities = Capabilities(stop=True, check=True, retries=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        if spec.endpoints is None:
            raise ConfigError(f"{spec.origin.where('endpoints')} are missing.", fix="Add endpoints.add and endpoints.search.")
        super().__init__(spec, options, spec.endpoints)
        self._client = JsonClient(spec, self.stop)
        self._service: ComposeService | None = None

    def use_stop(self, stop: Stop) -> None:
        """Interrupt waits when the run stops."""
        super().use_stop(stop)
        self._client = JsonClient(self.spec, stop)

    def watch(self, see: Callable[[str, bytes], None]) -> None:
        """Pass each raw response to an observer, together with the method and address of the request."""
        self._client.see = see

    def check(self) -> None:
        """Raise ConfigError if the API key is missing."""
        self._client.check_key()

    def open(self, workdir: Path) -> None:
        """Check the key, start the container if there is one, and open the request log."""
        self.check()
        if self.spec.docker is not None:
            self._service = ComposeService(self.spec, self.stop.sleep)
            self._service.ensure()
        super().open(workdir)

    def close(self) -> None:
        """Close the log, and stop the container if this provider started it."""
        if self._service is not None:
            self._service.stop()
            self._service = None
        super().close()

    def call(self, call: Any, kind: str, scope: str, values: Mapping[str, Any], page: Mapping[str, Any] = EMPTY) -> Any:
        """Make one request and parse the response."""
        end: EndpointSpec = call
        delays = {"search": self.spec.rate_limit.search_delay} | dict.fromkeys(("add", "setup"), self.spec.rate_limit.add_delay)
        data = {"runTag": scope, "setup": self.log.setup(scope), **values}
        body = fill(end.body, data) if end.body is not None else None
        query = dict(fill(dict(end.query), data))
        if kind in ("add", "search"):
            body, query = self._scoped(end, scope, body, query)
        in_body = end.paging is not None and end.paging.location == "body"
        body, query = ({**(body or {}), **page}, query) if in_body else (body, {**query, **page})
        return self._client.call(
            end.method,
            _path(end.path, data),
            body,
            query=query,
            headers={key: str(fill(value, data)) for key, value in end.headers.items()},
            kind=kind,
            delay=delays.get(kind, 0.0),
            ignore=end.ignore_status,
        )

    def _scoped(self, end: EndpointSpec, scope: str, body: Any, query: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        if end.names_scope:
            return body, query
        scoping = self.spec.scoping
        field = scoping.field or _FIELDS.get(scoping.type, "")
        value: Any = [scope] if scoping.type is ScopeType.CONTAINER_TAGS else scope
        if end.method.upper() == "GET":
            return body, {**query, field: value}
        return {**(body or {}), field: value}, query


def _path(template: str, data: Mapping[str, Any]) -> str:
    """Fill in the path. The values are percent-encoded."""
    return str(fill(template, _Quoted(data)))


class _Quoted(dict[str, Any]):
    """A mapping that percent-encodes its texts on access."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({key: _quoted(value) for key, value in values.items()})


def _quoted(value: Any) -> Any:
    if isinstance(value, str):
        return urllib.parse.quote(value, safe="")
    if isinstance(value, Mapping):
        return {key: _quoted(item) for key, item in value.items()}
    return value
