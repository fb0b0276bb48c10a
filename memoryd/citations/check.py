"""Compare cited code with the working tree and its branch.

The quick check compares a file's size and time, then its content. It starts no process and runs at every recall.
Mismatches are checked with git in the background. The result is cached until the file or HEAD changes.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path, PurePosixPath

from memoryd.citations.repository import Repository, blob_id, read_file
from memoryd.citations.symbols import alike, body_digest, definition, holds_text
from memoryd.citations.versions import still_says, values_of
from memoryd.core.types import CODE_TAG, Citation, MemoryItem

log = logging.getLogger(__name__)
KEPT_FINDINGS = 20_000
KEPT_REPOSITORIES = 32
SAME_CODE = 0.5  # Minimum share of equal lines for a definition elsewhere to be an edited copy.
DISTINCTIVE = 10  # Minimum length of a name.
MAX_UNTRACKED = 200


class CodeState(IntEnum):
    """State of cited code. If a memory cites several places, the highest value counts."""

    UNCHANGED = 0
    MOVED = 1
    OTHER_BRANCH = 2
    CHANGED = 3
    GONE = 4


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """The state of a citation, the current location of its code, and the current value of a cited configuration entry."""

    state: CodeState
    path: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A cached finding, valid for one size and time of the file and one HEAD."""

    finding: CitationCheck
    stamp: tuple[int, int] | None
    head: str
    final: bool


def _matches(citation: Citation, data: bytes) -> CitationCheck | None:
    """Return the finding for the content of the cited file, or None if it lacks a cited definition."""
    if citation.key:
        value = values_of(citation.path, data.decode("utf-8", "replace")).get(citation.key)
        if value is None:
            return CitationCheck(CodeState.CHANGED, citation.path)
        same = still_says(citation.value, value)
        return CitationCheck(CodeState.UNCHANGED if same else CodeState.CHANGED, citation.path, "" if same else value)
    if citation.blob and blob_id(data) == citation.blob:
        return CitationCheck(CodeState.UNCHANGED, citation.path)
    text = data.decode("utf-8", "replace")
    if citation.symbol:
        body = definition(text, citation.symbol)
        if body is None:
            return None
        same = not citation.body or body_digest(body) == citation.body
    else:
        same = holds_text(text, citation.text) if citation.text else not citation.blob
    return CitationCheck(CodeState.UNCHANGED if same else CodeState.CHANGED, citation.path)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


class CodeCheck:
    """Finds the states of cited code. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, Citation], _Kept] = OrderedDict()
        self._repositories: OrderedDict[str, Repository] = OrderedDict()
        self._lock = threading.Lock()
        self._running: threading.Thread | None = None
        self._waiting: dict[tuple[str, Citation], None] = {}

    def quick(self, root: Path, citations: Iterable[Citation]) -> list[CitationCheck]:
        """Return findings without starting a process. Mismatches are checked with git in the background."""
        repository = self._repository(root)
        head = repository.head()
        out, open_questions = [], []
        for citation in citations:
            kept = self._look(repository, citation, head)
            out.append(kept.finding)
            if not kept.final:
                open_questions.append(citation)
        if open_questions:
            self._ask_later(root, open_questions)
        return out

    def thorough(self, root: Path, citations: Iterable[Citation]) -> list[CitationCheck]:
        """Return findings, and check all mismatches with git. This takes milliseconds per citation."""
        repository = self._repository(root)
        head = repository.head()
        out = []
        for citation in citations:
            kept = self._look(repository, citation, head)
            out.append(kept.finding if kept.final else self._ask(repository, citation, head))
        return out

    def settle(self, timeout: float = 30.0) -> None:
        """Wait until all background checks have finished."""
        with self._lock:
            running = self._running
        if running is not None:
            running.join(timeout)

    def _repository(self, root: Path) -> Repository:
        with self._lock:
            found = self._repositories.get(str(root))
            if found is None:
                found = self._repositories[str(root)] = Repository(root)
                if len(self._repositories) > KEPT_REPOSITORIES:
                    self._repositories.popitem(last=False)
            return found

    def _look(self, repository: Repository, citation: Citation, head: str) -> _Kept:
        """Return the cached finding, or what the file alone shows."""
        key = (str(repository.root), citation)
        kept = self._kept.get(key)
        current = kept.finding.path if kept and kept.finding.path else citation.path
        if not _is_inside(current):
            return _Kept(CitationCheck(CodeState.GONE), None, head, final=True)
        stamp = _stamp(repository.root / current)
        same_file = kept is not None and kept.stamp == stamp
        if kept is not None and same_file and (kept.head == head or kept.finding.state is CodeState.UNCHANGED):
            return kept
        path = repository.root / citation.path
        data = read_file(path)
        found = _matches(citation, data) if data is not None else None
        if found is None:
            found = CitationCheck(CodeState.GONE) if kept is None or not kept.final else kept.finding
        result = _Kept(found, _stamp(path), head, final=found.state is CodeState.UNCHANGED or not head)
        if result.final:
            self._keep(key, result)
        return result

    def _keep(self, key: tuple[str, Citation], kept: _Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT_FINDINGS:
                self._kept.popitem(last=False)

    # Checks with git

    def _ask_later(self, root: Path, citations: Iterable[Citation]) -> None:
        with self._lock:
            self._waiting |= dict.fromkeys((str(root), citation) for citation in citations)
            if self._running is None:
                self._running = threading.Thread(target=self._work, name="cited code", daemon=True)
                self._running.start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._running = None
                    return
                root, citation = next(iter(self._waiting))
                del self._waiting[(root, citation)]
            try:
                repository = self._repository(Path(root))
                self._ask(repository, citation, repository.head())
            except Exception:
                log.exception("cited code could not be checked")

    def _ask(self, repository: Repository, citation: Citation, head: str) -> CitationCheck:
        found = self._found_by_git(repository, citation, head)
        stamp = _stamp(repository.root / (found.path or citation.path))
        self._keep((str(repository.root), citation), _Kept(found, stamp, head, final=True))
        return found

    def _found_by_git(self, repository: Repository, citation: Citation, head: str) -> CitationCheck:
        data = read_file(repository.root / citation.path)
        here = _matches(citation, data) if data is not None else None
        if here is not None and here.state is CodeState.UNCHANGED:
            return here
        found = (
            self._followed(repository, citation, head)
            or here
            or self._elsewhere(repository, citation)
            or CitationCheck(CodeState.GONE)
        )
        if found.state in (CodeState.CHANGED, CodeState.GONE) and _is_on_other_branch(repository, citation, head):
            return replace(found, state=CodeState.OTHER_BRANCH)
        return found

    def _followed(self, repository: Repository, citation: Citation, head: str) -> CitationCheck | None:
        """Return the finding for the file's path after renames, if it was renamed."""
        path = repository.renamed(citation.path, citation.commit, head) if citation.commit and head else ""
        found = self._at(repository, citation, path) if path and path != citation.path else None
        return found or self._uncommitted(repository, citation)

    def _uncommitted(self, repository: Repository, citation: Citation) -> CitationCheck | None:
        """Return the finding for a file moved without a commit."""
        if not citation.blob or (repository.root / citation.path).exists():
            return None
        suffix = PurePosixPath(citation.path).suffix
        for path in [path for path in repository.untracked() if PurePosixPath(path).suffix == suffix][:MAX_UNTRACKED]:
            found = self._at(repository, citation, path)
            if found is not None and found.state is CodeState.MOVED:
                return found
        return None

    @staticmethod
    def _at(repository: Repository, citation: Citation, path: str) -> CitationCheck | None:
        data = read_file(repository.root / path) if _is_inside(path) else None
        found = _matches(replace(citation, path=path), data) if data is not None else None
        if found is None:
            return None
        return replace(found, state=CodeState.MOVED) if found.state is CodeState.UNCHANGED else found

    def _elsewhere(self, repository: Repository, citation: Citation) -> CitationCheck | None:
        """Return the finding for a definition moved to another file, possibly with edits."""
        if not citation.symbol:
            return None
        before = repository.content(citation.commit, citation.path) if citation.commit else None
        body = definition(before.decode("utf-8", "replace"), citation.symbol) if before else None
        edited: list[tuple[float, CitationCheck]] = []
        for path in repository.files_with(citation.symbol):
            data = read_file(repository.root / path) if path != citation.path and _is_inside(path) else None
            now = definition(data.decode("utf-8", "replace"), citation.symbol) if data else None
            found = self._at(repository, citation, path) if now else None
            if found is not None and found.state is CodeState.MOVED:
                return found
            if found is not None and now:
                edited.append((alike(body, now) if body else 0.0, found))
        likeness, best = max(edited, key=lambda pair: pair[0], default=(0.0, None))
        # Names like `parse` are often defined elsewhere too. A longer name that occurs once is the same definition, rewritten.
        rewritten = len(edited) == 1 and len(citation.symbol) >= DISTINCTIVE
        return best if likeness >= SAME_CODE or rewritten else None


def _is_on_other_branch(repository: Repository, citation: Citation, head: str) -> bool:
    """Return whether the code was cited on a branch outside HEAD's history and is unchanged there."""
    if not citation.commit or repository.holds(citation.commit, head) is not False:
        return False
    for tip in repository.tips_with(citation.commit, head):
        data = repository.content(tip, citation.path)
        found = _matches(citation, data) if data is not None else None
        if found is not None and found.state is CodeState.UNCHANGED:
            return True
    return False


def _is_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts and parts[0] != ".git"


# Use of the findings in recall


def overall(findings: Sequence[CitationCheck]) -> CitationCheck:
    """Return the state of a memory, given the states of its citations. It is gone only if all of them are."""
    gone = [found for found in findings if found.state is CodeState.GONE]
    if gone and len(gone) < len(findings):
        return CitationCheck(CodeState.CHANGED)
    return max(findings, key=lambda found: (found.state, found.now), default=CitationCheck(CodeState.UNCHANGED))


def remark(found: CitationCheck) -> str:
    """Return a remark for readers of the memory about the cited code, or an empty text."""
    if found.state is CodeState.CHANGED:
        return f"{found.path} now says {found.now[:60]}" if found.now else "the code has changed since"
    if found.state is CodeState.MOVED:
        return f"now in {found.path}"
    return {CodeState.GONE: "the code is gone", CodeState.OTHER_BRANCH: "about code on another branch"}.get(found.state, "")


def annotated(item: MemoryItem, found: CitationCheck) -> MemoryItem:
    """Return the memory with the remark as a tag, which is never stored."""
    note = remark(found)
    return replace(item, tags=(*item.tags, CODE_TAG + note)) if note else item
