from pathlib import Path

import pytest

from memoryd.core.config import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return a user's settings, with the bundled embedder."""
    return Settings(home=tmp_path / "home")
