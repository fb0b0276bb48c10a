"""Generate command-line options and arguments from the requests of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from memoryd.api.parameters import ALL, Choice, Count, FilePath, Flag, Id, ListOf, Parameter, Share, Statuses, Text, parameters
from memoryd.api.registry import Operation
from memoryd.cli.root import absolute
from memoryd.core.types import Status

F = TypeVar("F", bound=Callable[..., Any])


def takes(operation: Operation[Any, Any], *names: str, **named: str) -> Callable[[F], F]:
    """Add the named parameters of an operation to a command, in this order. Without names, add all parameters.

    `other=name` passes the parameter `name` to the command's function as `other`.
    """
    known = parameters(operation.request)
    wanted = {name: name for name in names or (() if named else known)} | named

    def decorate(function: F) -> F:
        for target, name in reversed(wanted.items()):
            function = _made(target, known[name])(function)
        return function

    return decorate


def _made(name: str, parameter: Parameter) -> Callable[[F], F]:
    if parameter.argument or (isinstance(parameter, Text) and parameter.words):
        return _argument(name, parameter)
    flags = parameter.flags or (f"--{name.replace('_', '-')}",)
    return click.option(*flags, name, **_option(parameter), help=parameter.about or None)


def _argument(name: str, parameter: Parameter) -> Callable[[F], F]:
    if isinstance(parameter, ListOf):
        return click.argument(name, nargs=-1, required=True)
    if isinstance(parameter, Text) and parameter.words:
        return click.argument(name, nargs=-1, required=parameter.required, callback=_joined)
    return click.argument(name, required=parameter.required, **_typed(parameter))


def _option(parameter: Parameter) -> dict[str, Any]:
    if isinstance(parameter, Flag):
        switch = any("/" in flag for flag in parameter.flags)
        return {"default": parameter.default} if switch else {"is_flag": True, "default": parameter.default or None}
    if isinstance(parameter, ListOf):
        return {"multiple": True, **_typed(parameter.item)}
    default = {"default": parameter.default, "show_default": True} if isinstance(parameter, Count) else {}
    if isinstance(parameter, Choice) and parameter.default is not None:
        default = {"default": parameter.default.value, "show_default": True}
    return {**default, **_typed(parameter)}


def _typed(parameter: Parameter) -> dict[str, Any]:
    """Return the click options for reading and converting a single value."""
    if isinstance(parameter, Choice):
        return {"type": click.Choice([member.value for member in parameter.enum], case_sensitive=False)}
    if isinstance(parameter, Statuses):
        return {"type": click.Choice([*(status.value for status in Status), ALL])}
    if isinstance(parameter, Count):
        return {"type": click.IntRange(parameter.low, parameter.high)}
    if isinstance(parameter, Share):
        return {"type": click.FloatRange(0, 1)}
    if isinstance(parameter, FilePath):
        return {"type": click.Path(), "callback": _absolute}
    if isinstance(parameter, Id):
        return {"metavar": None}
    return {}


def _joined(ctx: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> str | None:
    return " ".join(words) if words else None


def _absolute(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return str(absolute(value)) if value else value
