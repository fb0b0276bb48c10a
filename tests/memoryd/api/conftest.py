from pathlib import Path

import pytest

from memoryd.core.config import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """As a user has them: with the bundled embedder."""
    return Settings(home=tmp_path / "home")
