"""Filter out memories that don't apply to the session's working tree.

These are memories about deleted code, and rules limited to another folder. Memories about code that has changed are marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath

from memoryd.citations.check import CodeCheck, CodeState, annotated, overall
from memoryd.citations.cite import inside, working_tree
from memoryd.core.project import ProjectRegistry
from memoryd.core.types import WISH_KINDS, MemoryItem, Scope, Trust
from memoryd.language.entities import named_places


class CurrentCode:
    """Checks memories against a session's working tree, or else the project's first existing folder. Never waits for git."""

    def __init__(self, registry: ProjectRegistry, check: CodeCheck | None = None) -> None:
        self._registry = registry
        self.check = check or CodeCheck()

    def root_of(self, project: str) -> Path | None:
        """Return a working tree of the project, or None if there is none."""
        return next((root for folder in self._registry.folders(project) if (root := working_tree(folder))), None)

    def current(self, items: Iterable[MemoryItem], root: str = "", *, keep_gone: bool = False) -> list[MemoryItem]:
        """Return the items in order, annotated where their code has changed.

        Unpinned memories about deleted code are omitted. So are rules limited by their wording to a sub-folder other
        than the session's.

        Args:
            items: Memories.
            root: The session's folder. Memories of other projects are checked against the folders of those projects.
            keep_gone: Whether to keep memories about deleted code, marked as such.
        """
        here = working_tree(root)
        items = [item for item in items if here is None or binds_here(item, here, root)]
        if not any(item.cites for item in items):
            return items
        ours = self._registry.known_project(here) if here else ""
        cited = sorted((item for item in items if item.cites and item.scope is not Scope.USER), key=lambda item: item.project)
        found: dict[str, MemoryItem | None] = {}
        for project, group in groupby(cited, key=lambda item: item.project):
            tree = here if project == ours else self.root_of(project)
            if tree is not None:
                found |= self._checked(list(group), tree, keep_gone)
        kept = (found.get(item.id, item) for item in items)
        return [item for item in kept if item is not None]

    def _checked(self, items: list[MemoryItem], tree: Path, keep_gone: bool) -> dict[str, MemoryItem | None]:
        findings = iter(self.check.quick(tree, [cited for item in items for cited in item.cites]))
        out: dict[str, MemoryItem | None] = {}
        for item in items:
            state = overall([next(findings) for _ in item.cites])
            gone = state.state is CodeState.GONE and not item.pinned and not keep_gone
            out[item.id] = None if gone else annotated(item, state)
        return out


# Rules limited to a sub-folder


def bound_folder(item: MemoryItem, root: Path) -> str:
    """Return the sub-folder that limits a user's rule or preference according to its wording, or an empty string."""
    for folder in named_folders(item):
        try:
            if (root / folder).is_dir():
                return folder
        except OSError:
            continue  # The name is too long for a path, or its parent can't be read.
    return ""


def named_folders(item: MemoryItem) -> Iterator[str]:
    """Yield the folders to which the wording of a user's rule or preference may limit it."""
    if item.kind not in WISH_KINDS or item.scope is Scope.USER or item.trust not in (Trust.INSTRUCTION, Trust.TEAM):
        return
    yield from named_places(item.content, item.entities)


def binds_here(item: MemoryItem, root: Path, cwd: str) -> bool:
    """Return whether a rule may apply in a session's folder.

    It may unless its wording limits it to a sub-folder that is neither the session's folder nor a parent or child of it.
    """
    folder = bound_folder(item, root)
    here = inside(cwd, root) if folder and cwd else "."
    if not folder or here in ("", "."):
        return True
    one, other = PurePosixPath(folder), PurePosixPath(here)
    return one.is_relative_to(other) or other.is_relative_to(one)
