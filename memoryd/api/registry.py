"""The registry of operations: what can be asked of memoryd, by whom, and how each interface offers it.

An operation is a function with a typed request and a typed answer, marked with `@operation` in a module of this package.
Nothing else lists it: MCP tools, commands, forms, the reference and the permissions are read from here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from memoryd.api.parameters import Schema, input_schema, parameters
from memoryd.core.errors import InputError

if TYPE_CHECKING:
    from memoryd.api.runtime import Runtime  # loads the stores, which a command does not need

R = TypeVar("R")
A = TypeVar("A", bound=Mapping[str, object])
MODULES = tuple("memories settle reviews views graph sessions dreams projects transfer admin settings routers".split())
_NOTE = {"type": "string", "description": "What was left out of this answer and how to get it."}
_TYPES: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    str | None: {"type": ["string", "null"]},
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a person, or a model (over MCP, or in the client's shell), which may do less. `cwd` is where they work."""

    is_model: bool
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """How an operation is offered to models; one without a tool is none that they may use over MCP.

    Tools are listed by `order`. `list_key` names the part of an answer that is cut to fit the budget, `more` how to get the rest.
    An answer that `gives_memories` says that they are data.
    """

    title: str
    description: str
    order: int
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    always_load: bool = False
    gives_memories: bool = False
    list_key: str = ""
    more: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Marks a part of an answer that the tool's output schema tells of: `Annotated[str, Shown("The file.")]`.

    `always` says that it is never missing; `schema` replaces what follows from the type.
    """

    description: str = ""
    always: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Operation(Generic[R, A]):
    """One operation.

    Args:
        name: of the call, and of the tool.
        run: the function behind it.
        tool: how models are offered it over MCP; None: not at all.
        command: name of a command that is made from the request (`memoryd NAME`); empty when one is written by hand, or none.
        form: title of the console's form that is made from the request; empty: none.
        person_only: refused in the client's shell, where a model types.
        when_off: answered to models also where memory is switched off.

    """

    name: str
    request: type[R]
    answer: type[A]
    run: Callable[[Runtime, R, Caller], A]
    tool: Tool | None = None
    command: str = ""
    form: str = ""
    person_only: bool = False
    when_off: bool = False

    @property
    def summary(self) -> str:
        """What it does, for people: the docstring of its function."""
        return inspect.getdoc(self.run) or ""

    def input_schema(self) -> Schema:
        """The JSON schema of its tool's arguments."""
        return input_schema(self.request)

    def output_schema(self) -> Schema:
        """The JSON schema of its tool's result: the parts of the answer that are marked as shown."""
        found: dict[str, Schema] = {}
        required: list[str] = []
        for name, hint in get_type_hints(self.answer, include_extras=True).items():
            for kind, mark in _marks(hint):
                found[name] = _part(kind, mark)
                required += [name] if mark.always else []
        return {"type": "object", "properties": {**found, "note": _NOTE}, "required": required}

    def refuse_in_client(self, values: Mapping[str, Any]) -> None:
        """Raise InputError for what only a person does, as the client's shell is a model's."""
        named = (parameter.person_only and values.get(name) for name, parameter in parameters(self.request).items())
        if self.person_only or any(named):
            raise only_a_person()


def only_a_person() -> InputError:
    """The refusal of what a model must not do in the user's name."""
    return InputError(
        "Only you may do that, and inside Claude Code's shell memoryd can't tell you from the model.",
        fix="Run the command in a terminal of your own; /memoryd:off and /memoryd:on can be typed at the prompt.",
    )


def _marks(hint: Any) -> Iterator[tuple[Any, Shown]]:
    if get_origin(hint) is not Annotated:
        for inner in get_args(hint):  # NotRequired[Annotated[…]]
            yield from _marks(inner)
        return
    kind, *marks = get_args(hint)
    yield from ((kind, mark) for mark in marks if isinstance(mark, Shown))


def _part(kind: Any, mark: Shown) -> Schema:
    if mark.schema is not None:
        schema = dict(mark.schema)
    elif get_origin(kind) is list:
        schema = {"type": "array", "items": {"type": "object"}}
    else:
        schema = dict(_TYPES.get(get_origin(kind) or kind) or _TYPES[kind])
    return schema | ({"description": mark.description} if mark.description else {})


def operation(
    request: type[R],
    answer: type[A],
    *,
    tool: Tool | None = None,
    command: str = "",
    form: str = "",
    person_only: bool = False,
    when_off: bool = False,
    name: str = "",
) -> Callable[[Callable[[Runtime, R, Caller], A]], Operation[R, A]]:
    """Make a function an operation, by its own name unless `name` is given (see `Operation`)."""

    def made(run: Callable[[Runtime, R, Caller], A]) -> Operation[R, A]:
        return Operation(name or run.__name__, request, answer, run, tool, command, form, person_only, when_off)

    return made


@cache
def operations() -> Mapping[str, Operation[Any, Any]]:
    """All operations by name. Their modules import nothing heavy; what a handler needs it imports when it runs."""
    found: dict[str, Operation[Any, Any]] = {}
    for module in MODULES:
        for value in vars(importlib.import_module(f"memoryd.api.{module}")).values():
            if isinstance(value, Operation):
                found[value.name] = value
    return found


@cache
def tools() -> Mapping[str, Operation[Any, Any]]:
    """The operations that models are offered, in the order in which they are listed."""
    offered = [entry for entry in operations().values() if entry.tool is not None]
    return {entry.name: entry for entry in sorted(offered, key=lambda entry: entry.tool.order if entry.tool else 0)}
