from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoryd.core.errors import StoreError
from memoryd.daemon import watch
from memoryd.daemon.watch import MemoryWatcher
from tests.deep_folders import unnest

LIMIT = 60.0


class Receiver:
    """Collects a watcher's events, and waits for them."""

    def __init__(self) -> None:
        self.calls: list[set[Path]] = []
        self.failures: list[Exception] = []
        self._arrived = threading.Condition()

    def __call__(self, paths: set[Path]) -> None:
        with self._arrived:
            self.calls.append(paths)
            self._arrived.notify_all()
            if self.failures:
                raise self.failures.pop()

    def wait_for(self, condition: Callable[[set[Path]], bool], seconds: float = LIMIT) -> bool:
        with self._arrived:
            return self._arrived.wait_for(lambda: condition(self.paths), seconds)

    @property
    def paths(self) -> set[Path]:
        return set().union(*self.calls)


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "memories"
    folder.mkdir()
    return folder


@pytest.fixture
def watcher(folder: Path, receiver: Receiver) -> Iterator[MemoryWatcher]:
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.05)
    watcher.start()
    yield watcher
    watcher.stop()


@pytest.mark.usefixtures("watcher")
def test_new_changed_moved_and_deleted_files_are_reported(folder: Path, receiver: Receiver) -> None:
    file = folder / "a.md"
    file.write_text("one")
    assert receiver.wait_for(lambda paths: file in paths)
    receiver.calls.clear()
    file.write_text("two")
    assert receiver.wait_for(lambda paths: file in paths)
    moved = folder / "b.md"
    file.rename(moved)
    assert receiver.wait_for(lambda paths: {file, moved} <= paths)
    receiver.calls.clear()
    moved.unlink()
    assert receiver.wait_for(lambda paths: moved in paths)


@pytest.mark.usefixtures("watcher")
def test_files_in_new_folders_are_reported_by_their_own_or_their_folders_path(folder: Path, receiver: Receiver) -> None:
    file = folder / "user" / "s" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    assert receiver.wait_for(lambda paths: any(path in (file, *file.parents) for path in paths))


def test_a_storm_is_folded_into_few_calls(folder: Path, receiver: Receiver) -> None:
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.5)  # A pause of the writer on a busy machine is shorter.
    watcher.start()
    try:
        files = [folder / f"{number}.md" for number in range(200)]
        for file in files:
            file.write_text("x")
        assert receiver.wait_for(lambda paths: set(files) <= paths)
        assert len(receiver.calls) < 50
    finally:
        watcher.stop()


def test_too_many_paths_become_the_folder(folder: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MAX_PATHS", 10)
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.05)
    watcher.start()
    try:
        for number in range(40):
            (folder / f"{number}.md").write_text("x")
        assert receiver.wait_for(lambda paths: folder in paths)
    finally:
        watcher.stop()


@pytest.mark.usefixtures("watcher")
def test_our_temporary_files_are_not_reported_but_what_they_become_is(folder: Path, receiver: Receiver) -> None:
    temporary = folder / ".tmp-1"
    temporary.write_text("x")
    temporary.rename(folder / "a.md")
    assert receiver.wait_for(lambda paths: folder / "a.md" in paths)
    assert temporary not in receiver.paths


@pytest.mark.usefixtures("watcher")
def test_a_failing_receiver_does_not_end_the_watch(folder: Path, receiver: Receiver) -> None:
    receiver.failures.append(StoreError("no luck"))
    (folder / "a.md").write_text("x")
    assert receiver.wait_for(lambda paths: folder / "a.md" in paths)
    (folder / "b.md").write_text("x")
    assert receiver.wait_for(lambda paths: folder / "b.md" in paths)


def test_a_folder_that_comes_later_or_is_made_again_is_watched(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_RESCAN_SECONDS", 0.05)
    folder = tmp_path / "later"
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.05)
    watcher.start()
    try:
        folder.mkdir()
        assert receiver.wait_for(lambda paths: folder in paths)
        receiver.calls.clear()
        shutil.rmtree(folder)
        assert receiver.wait_for(lambda paths: folder in paths)
        receiver.calls.clear()
        folder.mkdir()
        assert receiver.wait_for(lambda paths: folder in paths)
        # The call may still have been about the end of the old folder, so the first files can come before the new watch.
        assert any(_is_told_of(receiver, folder / f"{number}.md") for number in range(200))
    finally:
        watcher.stop()


def _is_told_of(receiver: Receiver, file: Path) -> bool:
    file.write_text("x")
    return receiver.wait_for(lambda paths: file in paths, LIMIT / 200)


def test_start_and_stop_may_be_called_twice_and_again(folder: Path, receiver: Receiver) -> None:
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.05)
    before = set(threading.enumerate())
    watcher.stop()
    for _ in range(2):
        watcher.start()
        watcher.start()
        watcher.stop()
        watcher.stop()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "memoryd-watch"]


def test_reading_the_folder_gives_no_events(folder: Path, watcher: MemoryWatcher, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    real = watcher._collect
    monkeypatch.setattr(watcher._observer and next(iter(next(iter(watcher._observer._handlers.values())))), "on_any_event",
                        lambda event: (seen.append(event.event_type), real(event)))  # fmt: skip
    for _ in range(50):
        list(folder.iterdir())
    (folder / "last.md").write_text("end")
    assert watcher._on_change.wait_for(lambda paths: folder / "last.md" in paths)  # type: ignore[attr-defined]
    assert not {"opened", "closed_no_write"} & set(seen)
    assert "created" in seen


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such folders")
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.slow), "while"])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_changes_are_noticed_beside_more_folders_in_folders_than_the_observer_can_bear(folder: Path, when: str) -> None:
    # In a process of its own, since the observer's thread, which all watchers share, may end.
    code = """
import sys, threading
from pathlib import Path
from memoryd.daemon import watch
from tests.deep_folders import NAME, nest
from tests.memoryd.test_watch import Receiver
folder, when = Path(sys.argv[1]), sys.argv[2]
watch.REPORT_SECONDS = watch._RESCAN_SECONDS = 0.05
receiver = Receiver()
if when == "before":
    nest(folder)
watcher = watch.MemoryWatcher(folder, receiver, settle_seconds=0.02)
watcher.start()
if when == "while":
    nest(folder.parent)
    (folder.parent / NAME).rename(folder / NAME)
    receiver.wait_for(lambda paths: folder / NAME in paths)
(folder / "new.md").write_text("x")
seen = receiver.wait_for(lambda paths: folder / "new.md" in paths or folder in paths)
watcher.stop()
print("noticed" if seen else "missed")
"""
    try:
        run = subprocess.run([sys.executable, "-c", code, str(folder), when], capture_output=True, text=True, timeout=LIMIT * 3)
    finally:
        unnest(folder)
    assert run.stdout == "noticed\n", run.stderr


def test_a_folder_that_the_system_refuses_to_watch_is_reported_again_and_again(
    folder: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("watchdog.observers.api.BaseObserver.schedule", refuse)
    monkeypatch.setattr(watch, "REPORT_SECONDS", 0.01)
    monkeypatch.setattr(watch, "_RESCAN_SECONDS", 0.01)
    watcher = MemoryWatcher(folder, receiver, settle_seconds=0.01)
    watcher.start()
    try:
        assert receiver.wait_for(lambda _: len(receiver.calls) >= 3)
    finally:
        watcher.stop()
    assert receiver.paths == {folder}
    assert [record.getMessage() for record in caplog.records if "Can't watch" in record.getMessage()] == [
        f"Can't watch {folder}: inotify watch limit reached. Edits are found within 0 seconds."
    ]
