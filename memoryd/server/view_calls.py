"""The calls that look at memory as a whole: what projects there are, and what memory holds at a glance."""

from __future__ import annotations

from typing import Any

from memoryd.project import ProjectRegistry
from memoryd.server.memory_calls import Caller
from memoryd.server.params import Params


class ViewCalls:
    """project_names."""

    def __init__(self, registry: ProjectRegistry) -> None:
        self._registry = registry

    def project_names(self, params: Params, caller: Caller) -> dict[str, Any]:
        """Known projects by name, without counting; `current` is the one of the caller's folder, if any."""
        params.done()
        known = sorted(self._registry.known().items(), key=lambda entry: (entry[1].casefold(), entry[0]))
        current = self._registry.resolve(caller.cwd).id if caller.cwd else ""
        return {"projects": [{"id": id, "name": name} for id, name in known], "current": current}
