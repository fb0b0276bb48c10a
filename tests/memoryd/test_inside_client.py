"""The command line detects that it runs in the client's shell."""

from __future__ import annotations

from memoryd.core.config import inside_client


def test_the_clients_mark_in_the_environment_tells() -> None:
    assert inside_client({"CLAUDECODE": "1"})
    assert not inside_client({"PATH": "/bin", "CLAUDE_CONFIG_DIR": "/x"})
