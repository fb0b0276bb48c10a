"""The network that finds secrets in wordings that no pattern matches."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryd.core.errors import ConfigError
from memoryd.daydream import secret_network
from memoryd.daydream.redact import redact
from memoryd.daydream.secret_network import load


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (
            "recovery words, in order: amber pulse maple window otter drift cabin ladder noble flame usage zero",
            "drift cabin ladder",
        ),
        ("vault passphrase → zwei kleine Brote mit Butter", "zwei kleine Brote mit Butter"),
        ("define('NONCE_SALT', 'v;|Xk2Lq0[tR)m+89fdPz{eW&#a~4iSgZ71Fb');", "v;|Xk2Lq0[tR)m+89fdPz{eW&#a~4iSgZ71Fb"),
    ],
)
def test_values_in_unknown_wordings_are_found(text: str, secret: str) -> None:
    assert secret not in redact(text).text


@pytest.mark.parametrize(
    "text",
    [
        "The token parser reads `request.headers` and returns an AuthContext, see src/auth/context.py",
        'key = cache.make_key("user-profile", version=3)',
        "rename the secret in deploy/values-staging.yaml to shop-db-credentials",
        "the password field uses autocomplete=new-password on the SignUpForm",
        "login fails with HTTP 401 since commit 4f2a9c1 on release/2024-11",
        "const token = await tokenService.refreshAccessToken(sessionId)",
        "Das Passwort wird mit Argon2id gehasht, siehe PasswordHasher.hash",
    ],
)
def test_what_only_resembles_a_secret_is_kept(text: str) -> None:
    assert redact(text).text == text


def test_weights_that_do_not_fit_are_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "weights.npz"
    broken.write_bytes(b"not an archive")
    monkeypatch.setattr(secret_network, "NETWORK_FILE", broken)
    load.cache_clear()
    try:
        with pytest.raises(ConfigError, match="Install memoryd again"):
            load()
    finally:
        load.cache_clear()
