"""Discovers the public functions of memoryd that take only text, and measures how their cost grows."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import memoryd
from tests.costs import repeated, steep

# Reasons for the exclusions. All other functions that take only text or bytes are tried.
LEFT_OUT = {
    "memoryd.daemon.client.error_from": "its texts come from the daemon, which bounds them",
    "memoryd.core.config.problem_of": "the standard library reads it, and the file is the user's own",
    "memoryd.core.config_file.": "writes the user's own file",
    "memoryd.daydream.transcript.first_prompt": "takes a path",
    "memoryd.daydream.transcript.": "takes a path",
    "memoryd.daydream.reconcile.": "takes a path and runs git",
    "memoryd.demo.": "makes the sample's own sessions",
    "memoryd.core.files.": "takes a path",
    "memoryd.citations.repository.head_commit": "takes a path",
    "memoryd.citations.cite.working_tree": "takes a path",
    "memoryd.stores.rows.create_": "takes a table's name",
    "memoryd.stores.rows.upsert_": "takes a table's name",
    "memoryd.daemon.endpoint.": "takes the daemon's own line",
    "memoryd.language.cues.negation": "takes the name of a language",
    "memoryd.language.cues.content": "its second text is the name of a language",
    "memoryd.stores.vector_cache.": "takes a model's name",
    "memoryd.guard.messages.is_in": "its first text is the name of a language",
    **dict.fromkeys(
        [
            f"memoryd.guard.rules.{name}."
            for name in ("branches", "commands", "companions", "content", "messages", "objects", "paths", "placement", "senses")
        ],
        "its text is a rule of up to 600 characters: compile_rule, which is measured, refuses longer ones",
    ),
}
SEEDS = (
    "<private>",
    "</private>",
    "<private reason='x'>a</private>",
    "<system-reminder>",
    "</system-reminder>",
    "<bash-stdout>x</bash-stdout>",
    "<memoryd-recall ",
    "<command-name>",
    "<command-args>a",
    "<",
    "< ",
    "[Image: ",
    "[Pasted text #1",
    "[Request interrupted",
    "[a](",
    "![",
    "\u200d",
    "](",
    "sk-a-",
    "/",
    "a/b.",
    "1234567890-",
    "1",
    "12:",
    "1.2.",
    "a",
    "A",
    "aB",
    "_",
    "-",
    "=",
    "a=b;",
    "password: ",
    "key=",
    "://",
    "http://a:",
    "a@b.",
    "@",
    "\\",
    '"',
    "'",
    "`",
    "``` ",
    "```\n",
    "> a\n",
    "\n",
    "\r\n",
    "\n\n- a",
    "    a\n",
    " ",
    "\t",
    ". ",
    "A. ",
    "no, ",
    "don't ",
    "not ",
    "use a not b ",
    "use npm instead of pnpm, ",
    "always ",
    "from now on ",
    "the root cause is ",
    "if ",
    "(",
    "()",
    "{",
    "[",
    "%",
    "$",
    "${a}",
    "&a ",
    "*a, ",
    "#",
    "---\n",
    "---\na: b\n",
    "a: ",
    ", ",
    "- ",
    "| a ",
    "é",
    "漢字",
    "我们不用",
    "不要这样做，",
    "必须先测试；",
    "\u200b",
    "\u0301",
    "\U0001f600",
    "\x00",
    "\x1b[",
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "eyJhbGciOi.",
    "AKIA",
    "0x",
    "mem_000000000000 ",
    "last week before the ",
    "2026-01-01 ",
    "“a” ",
    "&amp;",
    "\ufeff",
)


@dataclass(frozen=True, slots=True)
class TextFunction:
    """A function and the number of its text parameters, each of type str or bytes."""

    name: str
    call: Callable[..., object]
    kinds: tuple[type, ...]


def text_functions() -> Iterator[TextFunction]:
    """Yield all of them, by name."""
    for found in pkgutil.walk_packages(memoryd.__path__, "memoryd."):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for name, value in sorted(vars(module).items()):
            function = inspect.unwrap(value) if callable(value) else value
            if name.startswith("_") or not inspect.isfunction(function) or function.__module__ != found.name:
                continue
            kinds = _text_kinds(function)
            full = f"{found.name}.{name}"
            if kinds and not any(full.startswith(left) for left in LEFT_OUT):
                yield TextFunction(full, function, kinds)


def _text_kinds(function: Callable[..., object]) -> tuple[type, ...]:
    """Return the types of the required parameters, if all of them are texts."""
    if inspect.iscoroutinefunction(function):
        return ()
    parameters = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in parameters):
        return ()
    try:
        hints = typing.get_type_hints(function)
    except NameError:  # A type that is imported only for the type checker.
        return ()
    kinds = tuple(hints.get(p.name) for p in parameters)
    return kinds if kinds and all(kind in (str, bytes) for kind in kinds) else ()


def problem(function: TextFunction, seed: str, characters: int) -> str:
    """Return the problem with the function's cost for the repeated seed, or an empty text. Its result does not matter."""

    def call(text: str) -> None:
        given = [text if kind is str else text.encode("utf-8", "surrogatepass") for kind in function.kinds]
        with contextlib.suppress(Exception):  # refusing is an answer too
            result = function.call(*given)
            if inspect.isgenerator(result):
                for _ in result:
                    continue

    found = steep(call, repeated(seed), characters)
    return found and f"{function.name} of {seed!r}: {found}"
