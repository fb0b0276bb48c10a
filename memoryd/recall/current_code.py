"""Leave out memories about code that is gone, and mark those about code that has changed since."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from memoryd.citations.check import CodeCheck, CodeState, annotated, overall
from memoryd.citations.cite import working_tree
from memoryd.core.project import ProjectRegistry
from memoryd.core.types import MemoryItem, Scope


class CurrentCode:
    """Compares memories with the working tree of a session, or of the project's first folder that exists. Never waits for git."""

    def __init__(self, registry: ProjectRegistry, check: CodeCheck | None = None) -> None:
        self._registry = registry
        self.check = check or CodeCheck()

    def root_of(self, project: str) -> Path | None:
        """Return a working tree of the project."""
        return next((root for folder in self._registry.folders(project) if (root := working_tree(folder))), None)

    def current(self, items: Iterable[MemoryItem], root: str = "", *, keep_gone: bool = False) -> list[MemoryItem]:
        """Return the items in their order, without those about code that is gone (pinned ones are kept), and with remarks.

        Args:
            items: Memories.
            root: The session's folder. Memories of other projects are compared with folders of their own.
            keep_gone: Whether to return memories about code that is gone, marked as such.
        """
        items = list(items)
        if not any(item.cites for item in items):
            return items
        here = working_tree(root)
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
