"""Python objects as memory systems: `adapter: ./file.py:Class` in a YAML file, or an object passed to `memeval.evaluate`.

A class or function creates one object per case. A single object for all cases must separate them by a `scope` (or `user_id`)
argument, or have a `clear` method. With `clear`, it contains one case at a time and is refilled for each case.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memeval import registry
from memeval.core.code import guarded, load_object
from memeval.core.errors import ConfigError, ProviderError
from memeval.core.protocols import Capabilities
from memeval.core.types import Retrieved, SearchRequest, Session
from memeval.providers.local import LocalProvider, Options, sqlite_notes
from memeval.providers.retrieval import RetrievalUnit, cut
from memeval.specs import ProviderSpec

OBJECTS_KEPT = 4
SCOPES = ("scope", "user_id")
LIMITS = ("k", "limit", "top_k", "n_results", "n")
TEXTS = ("text", "content", "memory", "page_content")
SCORES = ("score", "similarity", "relevance", "relevancy")


class Holder:
    """The objects of a run by scope, and a record of their contents.

    `memeval.evaluate` keeps one holder for all phases of its run.
    """

    def __init__(self, made_of: Any, settings: Mapping[str, Any] | None = None) -> None:
        self._made_of = made_of
        self._settings = dict(settings or {})
        self._each = inspect.isclass(made_of) or (callable(made_of) and not hasattr(made_of, "search"))
        self._objects: OrderedDict[str, Any] = OrderedDict()
        self._filled: set[str] = set()
        self.lock = threading.RLock()

    @property
    def persistent(self) -> bool:
        """Return whether each object gets a folder, which makes its state available to the next process."""
        return self._each and "folder" in _parameters(self._made_of)

    def check(self, name: str, where: str) -> None:
        """Raise ConfigError if the options don't match the class, or if the class doesn't create a memory."""
        if self._each:
            given = {**self._settings, **({"folder": Path()} if self.persistent else {})}
            try:
                inspect.signature(self._made_of).bind(**given)
            except TypeError as error:
                known = ", ".join(_parameters(self._made_of)) or "nothing"
                raise ConfigError(f"{where}: {name} can't be created: {error}.", fix=f"It takes: {known}.") from None
            except ValueError:
                return  # Built-ins may have no signature.
        elif self._settings:
            raise ConfigError(f"{where}: an existing object takes no options.", fix="Give its class instead.")
        if inspect.isclass(self._made_of) or not self._each:
            _check_methods(self._made_of, name, where)

    def get(self, name: str, scope: str, folder: Path) -> tuple[Any, bool]:
        """Return the object for a scope, and whether it already contains the scope's turns. Raises ProviderError."""
        if not self._each:
            return self._made_of, self._holds(name, scope)
        if scope not in self._objects:
            more = {"folder": folder} if self.persistent else {}
            if self.persistent:
                folder.mkdir(parents=True, exist_ok=True)
            made = guarded(name, "making it", lambda: self._made_of(**self._settings, **more))
            _check_methods(made, name, name)
            self._objects[scope] = made
            if self.persistent:
                self._filled.add(scope)
            while len(self._objects) > OBJECTS_KEPT:
                self.drop(name, next(iter(self._objects)))
        self._objects.move_to_end(scope)
        return self._objects[scope], scope in self._filled

    def _holds(self, name: str, scope: str) -> bool:
        """Return whether the shared object contains this case.

        If it doesn't, an object that can't separate cases is cleared first.
        """
        if scope in self._filled or self.scoped:
            return scope in self._filled
        if self._filled:
            clear = getattr(self._made_of, "clear", None)
            if clear is None:
                raise ProviderError(
                    f"{name} already contains a case, and has neither clear() nor an argument scope.",
                    fix="Give its class (or a function that creates one) instead of an object, or add one of these.",
                )
            guarded(name, "clear", clear)
            self._filled.clear()
        return False

    @property
    def scoped(self) -> bool:
        """Return whether the shared object separates cases itself."""
        return not self._each and bool(_named(self._made_of.add, SCOPES)) and bool(_named(self._made_of.search, SCOPES))

    def filled(self, scope: str) -> None:
        """Record that the object contains the turns of the scope."""
        self._filled.add(scope)

    def forget(self, name: str, scope: str) -> None:
        """Clear the object that contains a scope."""
        if self._each:
            self.drop(name, scope)
        elif scope in self._filled and (clear := getattr(self._made_of, "clear", None)) is not None:
            given = {key: scope for key in _named(clear, SCOPES)}
            if given or not self.scoped:
                guarded(name, "clear", lambda: clear(**given))
        self._filled.discard(scope)

    def drop(self, name: str, scope: str) -> None:
        """Drop the object of a scope."""
        made = self._objects.pop(scope, None)
        self._filled.discard(scope)
        if (close := getattr(made, "close", None)) is not None:
            guarded(name, "close", close)

    def close(self, name: str) -> None:
        """Drop all objects."""
        for scope in list(self._objects):
            self.drop(name, scope)


@registry.provider("python")
class PythonProvider(LocalProvider):
    """A Python object with `add` and `search`. The options are passed to its class as arguments."""

    capabilities = Capabilities(memory=True, check=True)

    def __init__(self, spec: ProviderSpec, options: Mapping[str, Any]) -> None:
        self._spec = spec
        self._holder: Holder | None = None
        self._own = True
        self._see: Callable[[str, bytes], None] | None = None
        super().__init__(spec, options)

    def configure(self, options: Options) -> None:
        """Load the class of an adapter. Raises ConfigError."""
        settings = options.rest()
        if self._spec.adapter:
            where = options.where("adapter")
            self._holder = Holder(load_object(self._spec.adapter, self._spec.origin.path.parent, where), settings)

    def use_memory(self, memory: Any) -> None:
        """Use the object passed to `memeval.evaluate`."""
        self._holder = memory if isinstance(memory, Holder) else Holder(memory)
        self._own = False

    @property
    def _held(self) -> Holder:
        if self._holder is None:
            raise ProviderError(
                f"{self.name} has no object.", fix="Set one with adapter: ./file.py:Class, or use memeval.evaluate."
            )
        return self._holder

    def check(self) -> None:
        """Raise ConfigError if the class is unsuitable."""
        self._held.check(self.name, self.options.where("adapter") if self._spec.adapter else self.name)

    def watch(self, see: Callable[[str, bytes], None]) -> None:
        """Pass the object's return values to an observer."""
        self._see = see

    def open(self, workdir: Path) -> None:
        """Open the storage of sessions and ids under the folder."""
        self.check()
        super().open(workdir)
        self._notes = sqlite_notes(lambda scope: self.store.folder(scope))

    def ingest(self, scope: str, sessions: Sequence[Session]) -> Mapping[str, Any]:
        """Add the turns of new sessions one by one."""
        with self._held.lock:
            earlier = self.store.all(scope)
            known = {session.id for session in earlier}
            new = [session for session in sessions if session.id not in known]
            memory, holds = self._memory(scope)
            if not holds and earlier:
                self._fill(scope, memory, earlier)
            self._fill(scope, memory, new)
            self.store.add(scope, new)
        return {"sessions": len(sessions), "new": len(new)}

    def await_indexed(self, scope: str, timeout_seconds: float) -> None:
        """Call `settle` if the object has such a method."""
        with self._held.lock:
            memory, _ = self._memory(scope)
            if (settle := getattr(memory, "settle", None)) is not None:
                guarded(self.name, "settle", settle)

    def _memory(self, scope: str) -> tuple[Any, bool]:
        return self._held.get(self.name, scope, self.store.folder(scope) / "own")

    def _fill(self, scope: str, memory: Any, sessions: Sequence[Session]) -> None:
        ids: dict[str, Any] = {}
        for session in sessions:
            turns = {turn.id: turn for turn in session.turns}
            for piece in cut([session], "turn"):
                turn = turns[piece.turns[0]]
                values = {
                    "id": turn.id,
                    "session": session.id,
                    "role": turn.role,
                    "speaker": turn.speaker or turn.role,
                    "at": piece.at,
                    "metadata": {"session": session.id, "turn": turn.id, "role": turn.role, "at": str(piece.at or "")},
                    **dict.fromkeys(SCOPES, scope),
                }
                result = self._call("add", memory.add, piece.text, values)
                ids |= dict.fromkeys(_ids(result), [session.id, turn.id])
        self._notes.put(scope, ids)
        self._held.filled(scope)

    def find(self, scope: str, request: SearchRequest) -> list[Retrieved]:
        """Search with the object. Each hit is traced to its source where possible."""
        with self._held.lock:
            sessions = self.store.all(scope)
            memory, holds = self._memory(scope)
            if not holds:
                self._fill(scope, memory, sessions)
            values = {"at": request.at, **dict.fromkeys(LIMITS, request.k), **dict.fromkeys(SCOPES, scope)}
            found = self._call("search", memory.search, request.text, values, last=request.k)
        pieces = cut(sessions, "turn")
        return list(self._read(scope, found, pieces))

    def _call(self, what: str, method: Callable[..., Any], text: str, values: Mapping[str, Any], last: Any = None) -> Any:
        """Call a method with the text, and with the values declared in its signature."""
        names = _parameters(method)
        given = {name: values[name] for name in names[1:] if name in values}
        more = [last] if last is not None and not any(name in LIMITS for name in given) and len(names) > 1 else []
        given = {name: value for name, value in given.items() if not more or name != names[1]}
        result = guarded(self.name, what, lambda: method(text, *more, **given))
        if inspect.isawaitable(result):
            raise ProviderError(
                f"{self.name}: {what} is async.", fix="Give a class whose methods wait for it, e.g. with asyncio.run."
            )
        if self._see is not None:
            self._see(what, repr(result).encode())
        return result

    def _read(self, scope: str, found: Any, pieces: Sequence[RetrievalUnit]) -> Iterator[Retrieved]:
        by_turn = {piece.turns[0]: piece for piece in pieces}
        by_text = {piece.text: piece for piece in pieces}
        if isinstance(found, Mapping):
            found = found.get("results", found.get("memories"))
        if found is None or isinstance(found, str | bytes) or not hasattr(found, "__iter__"):
            raise ProviderError(f"{self.name}: search returned {found!r:.120}.", fix="Return a list of hits.")
        hits = list(found)
        notes = self._notes.get(scope, [str(id) for hit in hits if (id := _value(hit, ("id",))) is not None])
        for hit in hits:
            text = _text(hit)
            if text is None:
                raise ProviderError(
                    f"{self.name}: search returned the hit {hit!r:.120}, which has no text.",
                    fix="A hit is a text, (text, score), or has text, content or memory.",
                )
            piece = self._source(hit, text, notes, by_turn, by_text)
            score = self._score(hit)
            if piece is None:
                yield Retrieved(text, score)
            else:
                yield Retrieved(text, score, (piece.session,), piece.turns, piece.at)

    def _source(
        self,
        hit: Any,
        text: str,
        notes: Mapping[str, Any],
        by_turn: Mapping[str, RetrievalUnit],
        by_text: Mapping[str, RetrievalUnit],
    ) -> RetrievalUnit | None:
        metadata = _value(hit, ("metadata",))
        turn = metadata.get("turn") if isinstance(metadata, Mapping) else None
        id = _value(hit, ("id",))
        noted = notes.get(str(id), [None, None])[1] if id is not None else None
        for name in (turn, noted, id):
            if name is not None and (piece := by_turn.get(str(name))) is not None:
                return piece
        return by_text.get(text)

    def _score(self, hit: Any) -> float:
        value = hit[1] if isinstance(hit, tuple) and len(hit) > 1 else _value(hit, SCORES)
        if value is None:
            return 0.0
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ProviderError(f"{self.name}: search returned the score {value!r:.60}.", fix="A score is a finite number.")
        return number

    def clear(self, scope: str) -> None:
        """Delete the scope both in the object and locally."""
        with self._held.lock:
            self._held.forget(self.name, scope)
        super().clear(scope)

    def close(self) -> None:
        """Release the objects unless they belong to the caller."""
        if self._holder is not None and self._own:
            with self._holder.lock:
                self._holder.close(self.name)
        super().close()


def _parameters(call: Any) -> list[str]:
    """Return the names of the keyword arguments, excluding those of * and ** parameters."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in parameters if one.kind in kinds]


def _named(call: Any, names: Sequence[str]) -> list[str]:
    return [name for name in _parameters(call) if name in names]


def _check_methods(memory: Any, name: str, where: str) -> None:
    if missing := [method for method in ("add", "search") if not callable(getattr(memory, method, None))]:
        shown = memory.__name__ if inspect.isclass(memory) else type(memory).__name__
        prefix = "" if where == name else f"{where}: "
        raise ConfigError(f"{prefix}{shown} has no method {missing[0]}.", fix="A memory has add(text) and search(query, k).")


def _value(hit: Any, names: Sequence[str]) -> Any:
    if isinstance(hit, Mapping):
        return next((hit[name] for name in names if hit.get(name) is not None), None)
    if isinstance(hit, str | tuple):
        return None
    return next((value for name in names if (value := getattr(hit, name, None)) is not None), None)


def _text(hit: Any) -> str | None:
    if isinstance(hit, str):
        return hit
    text = hit[0] if isinstance(hit, tuple) and hit else _value(hit, TEXTS)
    return text if isinstance(text, str) else None


def _ids(result: Any) -> list[str]:
    """Extract the ids from the return value of `add`.

    The value may be an id, a mapping or object with an id, or a list of these.
    """
    if isinstance(result, str | int) and not isinstance(result, bool):
        return [str(result)]
    if isinstance(result, Mapping) and isinstance(result.get("results"), list):
        result = result["results"]
    if isinstance(result, list | tuple):
        return [id for item in result for id in _ids(item)]
    found = _value(result, ("id",)) if result is not None else None
    return [str(found)] if isinstance(found, str | int) and not isinstance(found, bool) else []
