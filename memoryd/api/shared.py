"""Parameters shared by several operations, and the representation of memories in answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from memoryd.api.parameters import choice, choices, moment, text, texts
from memoryd.api.registry import Shown
from memoryd.core.codec import item_to_dict
from memoryd.core.errors import InputError
from memoryd.core.text import one_line
from memoryd.core.types import Kind, MemoryItem, Polarity, Scope, Source
from memoryd.recall.prompt_block import describe_source, harmless

MAX_KEYS = 6
MAX_KEY = 200
MAX_TAG = 100

Memory = dict[str, Any]
MEMORY: dict[str, Any] = {
    "type": "object",
    "description": "A memory. relevancy and confidence are 0..1; trust says who vouches for it.",
    "properties": {
        "id": {"type": "string"},
        "content": {"type": "string"},
        "kind": {"type": "string"},
        "polarity": {"type": "string"},
        "created_at": {"type": "string"},
    },
    "required": ["id", "content"],
}
MEMORIES = {"type": "array", "items": MEMORY}
LeftOut = Annotated[int, Shown("Number of entries not shown.")]


def brief(item: MemoryItem) -> Memory:
    """Return the fields needed to judge a memory."""
    values = item_to_dict(item)
    names = ("id", "content", "kind", "polarity", "scope", "project", "session", "source", "trust", "status")
    times = {name: values[name] for name in ("created_at", "valid_from", "valid_to", "expired_at") if values[name]}
    extras = {name: values[name] for name in ("tags", "pinned", "supersedes") if values[name]}
    return {name: values[name] for name in names} | {"who": describe_source(item)} | times | extras


def project_parameter(**about: Any) -> Any:
    """Define the project that an operation applies to."""
    return text(
        "Id or name of another project, or 'all'; default: the project of the working folder.",
        **{"help": "Project id or name; 'all' for every project (default: this folder's).", **about},
    )


def kinds_parameter() -> Any:
    """Define a filter by kinds."""
    return choices(Kind, "Only these kinds.", "A kind.", flags=("--kind",), help="Only this kind; may be repeated.")


def sources_parameter() -> Any:
    """Define a filter by sources."""
    return choices(Source, flags=("--source",), help="Only from this source; may be repeated.", in_tool=False)


def session_parameter() -> Any:
    """Define a filter by session."""
    return text("Only memories of this session id.", help="Only from this session.")


def after_parameter(**about: Any) -> Any:
    """Define a filter by the earliest time."""
    description = "Only from this time on: 2026-11-27 or 2026-11-27T09:30:00Z."
    return moment(description, help="Recorded at or after this time.", **about)


def before_parameter(**about: Any) -> Any:
    """Define a filter by the latest time."""
    return moment("Only before this time.", help="Recorded before this time.", **about)


def scope_filter() -> Any:
    """Define a filter by scope."""
    return choice(
        Scope,
        "Only memories of this scope. user: this person, everywhere. project: this project. team: its team.",
        help="Only of this scope.",
    )


def kind_parameter(**about: Any) -> Any:
    """Define the kind of a memory."""
    return choice(
        Kind,
        "preference: how the user likes it. rule: must always or never be done. decision: what was chosen and why. fact: what is "
        "true. fix: root cause and remedy. dead_end: what was tried and failed. environment: machines, tools, versions, paths. "
        "todo. note.",
        **{"help": "The kind of memory.", **about},
    )


def polarity_parameter(**about: Any) -> Any:
    """Define the polarity, which is information, instruction or prohibition."""
    description = "know: information. do: should be done. dont: must not be done."
    return choice(Polarity, description, **{"help": "Show it under know, do or don't.", **about})


def asked_as_parameter(**about: Any) -> Any:
    """Define the keys: alternative wordings by which a memory is found."""
    return texts(
        "About four questions or tasks, in other words than the statement, for which it will be relevant: two in the user's "
        "language, two in English. It is found by them later.",
        "A question or task.",
        model_limit=MAX_KEY,
        flags=("--asked-as",),
        help="A question for which it is relevant, in other words; may be repeated.",
        **about,
    )


def tags_parameter(**about: Any) -> Any:
    """Define tags, or a filter by tags."""
    description = "Tags: a few lower-case words."
    return texts(
        description, "A tag.", model_limit=MAX_TAG, flags=("--tag",), **{"help": "Only with this tag; may be repeated.", **about}
    )


def keys_of(entries: Sequence[str], *, typed: bool = False) -> tuple[str, ...]:
    """Normalise the keys of a memory, and remove secrets and private blocks.

    Each key is a short question or task on one line. `typed` means that a person typed them. Raises InputError.
    """
    from memoryd.daydream.redact import storable_text

    if len(entries) > MAX_KEYS:
        raise InputError(f"asked_as: {len(entries)} entries are too many.", fix=f"Give about four, at most {MAX_KEYS}.")
    keys = [harmless(storable_text(one_line(entry)[: 4 * MAX_KEY], typed=typed).text[:MAX_KEY]) for entry in entries]
    return tuple(dict.fromkeys(key for key in keys if key))
