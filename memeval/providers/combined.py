"""Several local systems combined, as in agent frameworks.

An example is a page about the user, the newest messages and search results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.protocols import Capabilities, Model, Provider
from memeval.core.types import Case, Retrieved, SearchRequest, Session
from memeval.providers.local import Options
from memeval.specs import ProviderSpec, ProviderType

DEFAULT = (
    {"provider": "working-memory", "share": 1},
    {"provider": "last-k", "share": 2},
    {"provider": "semantic-recall", "share": 7},
)


@dataclass(frozen=True, slots=True)
class _Part:
    provider: Provider
    share: int


@registry.provider("combined")
class CombinedProvider(Provider):
    """A provider that takes `share` pieces from each part in rotation, in the part's own order, until there are enough.

    The option `parts` is a list of `{provider, share, options}`, where `provider` is the registered name of a local
    provider. The option `model` is a model for parts that support one.
    """

    capabilities = Capabilities(model=True, gold=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._name = spec.name
        read = Options(spec, options)
        self._parts = [self._part(read, entry) for entry in read.get("parts", DEFAULT)]
        read.text("model", "")
        read.finish()
        if not self._parts:
            raise read.wrong("parts", [], "at least one part")

    def _part(self, read: Options, entry: Any) -> _Part:
        if (
            not isinstance(entry, Mapping)
            or not isinstance(entry.get("provider"), str)
            or set(entry) - {"provider", "share", "options"}
        ):
            raise read.wrong("parts", entry, "a list of {provider, share, options}")
        share = entry.get("share", 1)
        if isinstance(share, bool) or not isinstance(share, int) or share < 1:
            raise read.wrong("parts", entry, "shares that are positive integers")
        name = entry["provider"]
        part = registry.provider.get(name)(ProviderSpec(name, ProviderType.LOCAL), entry.get("options", {}))
        return _Part(part, share)

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self._name

    def use_model(self, model: Model) -> None:
        """Pass this model to the parts that support one."""
        for part in self._parts:
            if part.provider.capabilities.model:
                part.provider.use_model(model)

    def use_gold(self, scope: str, case: Case) -> None:
        """Pass the gold evidence to the parts that accept it."""
        for part in self._parts:
            if part.provider.capabilities.gold:
                part.provider.use_gold(scope, case)

    def open(self, workdir: Path) -> None:
        """Open each part in its own folder."""
        for number, part in enumerate(self._parts):
            part.provider.open(workdir / f"{number}-{part.provider.name}")

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Ingest the sessions into every part. Return the report of each part by name."""
        return {part.provider.name: dict(part.provider.ingest(scope, sessions)) for part in self._parts}

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Wait until all parts are ready."""
        for part in self._parts:
            part.provider.await_indexed(scope, timeout_seconds)

    def search(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Return pieces of all parts. Each turn is returned only once.

        Scores are derived from the rank, because scores of different parts are not comparable.
        """
        lists = [list(part.provider.search(scope, request)) for part in self._parts]
        chosen: list[Retrieved] = []
        seen: set[tuple[str, ...]] = set()
        while len(chosen) < request.k and any(lists):
            for part, waiting in zip(self._parts, lists, strict=True):
                for piece in [waiting.pop(0) for _ in range(min(part.share, len(waiting)))]:
                    key = piece.turns or (piece.text,)
                    if key not in seen:
                        seen.add(key)
                        chosen.append(piece)
        return [_placed(piece, place) for place, piece in enumerate(chosen[: max(0, request.k)])]

    def clear(self, scope: str) -> None:
        """Delete the scope in all parts."""
        for part in self._parts:
            part.provider.clear(scope)

    def close(self) -> None:
        """Close all parts."""
        for part in self._parts:
            part.provider.close()


def _placed(piece: Retrieved, place: int) -> Retrieved:
    return Retrieved(piece.text, 1.0 / (place + 1), piece.sessions, piece.turns, piece.at, piece.metadata)
