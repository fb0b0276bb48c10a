"""Past sessions of other clients are imported from their own logs, and their origin is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memoryd.api.conftest import Desk
from tests.memoryd.clients.test_codex import Rollout
from tests.memoryd.clients.test_gemini import Recording
from tests.memoryd.clients.test_opencode_log import Sessions

SAID = {
    "codex": "From now on never use tabs in this project.",
    "gemini": "From now on always run the linter before you commit.",
    "opencode": "From now on always deploy from the release branch.",
}


@pytest.mark.slow
def test_the_sessions_of_each_client_become_memories_that_name_it(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "OPENCODE_DB", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    rollout = Rollout(tmp_path / ".codex", cwd=str(desk.folder))
    rollout.prompt(SAID["codex"])
    recording = Recording(tmp_path)
    recording.path.parent.with_name(".project_root").write_text(str(desk.folder))
    recording.prompt(SAID["gemini"])
    (tmp_path / ".local" / "share" / "opencode").mkdir(parents=True)
    sessions = Sessions(tmp_path / ".local" / "share" / "opencode")
    sessions.session()
    sessions.run("UPDATE session SET directory = ?", str(desk.folder))
    sessions.prompt(SAID["opencode"])
    sessions._db.close()

    for client in SAID:
        assert desk.user("import_transcripts", client=client)["queued"] == 1
    while desk.api.tick() is not None:
        pass
    kept = {item["content"]: item["id"] for item in desk.user("list_memories")["memories"]}
    assert {desk.user("why", id=id)["origin"]["client"] for id in kept.values()} == set(SAID)
    assert len(kept) == len(SAID)
    for client in SAID:  # Nothing is read twice.
        desk.user("import_transcripts", client=client)
    while desk.api.tick() is not None:
        pass
    assert len(desk.user("list_memories")["memories"]) == len(SAID)
