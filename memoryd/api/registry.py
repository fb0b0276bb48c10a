"""The registry of operations: what memoryd offers, to whom, and on which interfaces.

An operation is a function with a typed request and a typed answer, decorated with `@operation` in a module of this
package. MCP tools, commands, forms, the reference and permissions are all derived from it.
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
    from memoryd.api.runtime import Runtime  # This import loads the stores, which a command does not need.

R = TypeVar("R")
A = TypeVar("A", bound=Mapping[str, object])
MODULES = tuple(
    (
        "memories settle reviews views graph sessions dreams projects transfer admin settings routers trials guards team machines"
    ).split()
)
_NOTE = {"type": "string", "description": "What was omitted from this answer and how to get it."}
_TYPES: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    str | None: {"type": ["string", "null"]},
}


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of an operation: a person, or a model, which has fewer permissions. `cwd` is the caller's folder."""

    is_model: bool
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """How an operation is offered to models over MCP.

    Args:
        title: Title of the tool.
        description: Instructions for the model.
        order: Position in the list of tools.
        read_only: MCP annotation.
        destructive: MCP annotation.
        idempotent: MCP annotation.
        always_load: Whether clients that load tools on demand should load it at the start.
        gives_memories: Whether to mark the answer as data.
        list_key: Name of the list in the answer that is truncated to the token budget.
        more: A hint on how to get the omitted entries.
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
    """Mark a part of an answer for the tool's output schema, as in `Annotated[str, Shown("The file.")]`.

    Args:
        description: Description in the schema.
        always: Whether the part is always present.
        schema: A schema that replaces the one derived from the type.
    """

    description: str = ""
    always: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Operation(Generic[R, A]):
    """One operation.

    Args:
        name: Name of the operation and of the tool.
        request: Class of the request.
        answer: Class of the answer.
        run: The handler.
        tool: How to offer it as a tool over MCP, if at all.
        command: Name of the command generated from the request (`memoryd NAME`), or empty for no generated command.
        form: Title of the console form generated from the request, or empty for no form.
        person_only: Whether it is refused in the client's shell, where a model may be typing.
        when_off: Whether models may call it while memory is switched off.
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
        """The description for people, taken from the handler's docstring."""
        return inspect.getdoc(self.run) or ""

    def input_schema(self) -> Schema:
        """Return the JSON schema of the tool's arguments."""
        return input_schema(self.request)

    def output_schema(self) -> Schema:
        """Return the JSON schema of the tool's result: the parts of the answer marked with `Shown`."""
        found: dict[str, Schema] = {}
        required: list[str] = []
        for name, hint in get_type_hints(self.answer, include_extras=True).items():
            for kind, mark in _marks(hint):
                found[name] = _part(kind, mark)
                required += [name] if mark.always else []
        return {"type": "object", "properties": {**found, "note": _NOTE}, "required": required}

    def refuse_in_client(self, values: Mapping[str, Any]) -> None:
        """Raise InputError if the operation is reserved for people and the command runs in the client's shell."""
        named = (parameter.person_only and values.get(name) for name, parameter in parameters(self.request).items())
        if self.person_only or any(named):
            raise only_a_person()


def only_a_person() -> InputError:
    """Return the error for an action that models may not take on the user's behalf."""
    return InputError(
        "Only you may do this, and in Claude Code's shell memoryd can't distinguish you from the model.",
        fix="Run the command in your own terminal, or type /memoryd:off or /memoryd:on at the prompt.",
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
    """Turn a function into an operation. The name defaults to that of the function. See `Operation` for the other arguments."""

    def decorate(run: Callable[[Runtime, R, Caller], A]) -> Operation[R, A]:
        return Operation(name or run.__name__, request, answer, run, tool, command, form, person_only, when_off)

    return decorate


@cache
def operations() -> Mapping[str, Operation[Any, Any]]:
    """Return all operations by name. Their modules import heavy dependencies only inside handlers."""
    found: dict[str, Operation[Any, Any]] = {}
    for module in MODULES:
        for value in vars(importlib.import_module(f"memoryd.api.{module}")).values():
            if isinstance(value, Operation):
                found[value.name] = value
    return found


@cache
def tools() -> Mapping[str, Operation[Any, Any]]:
    """Return the operations offered to models, in display order."""
    offered = [entry for entry in operations().values() if entry.tool is not None]
    return {entry.name: entry for entry in sorted(offered, key=lambda entry: entry.tool.order if entry.tool else 0)}
