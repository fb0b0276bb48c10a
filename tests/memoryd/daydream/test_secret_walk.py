"""The value of a named credential is found in every syntax and for every style of value."""

from __future__ import annotations

import pytest

from memoryd.daydream.redact import redact

CHOSEN = (
    "orchard.kettle381",
    "lantern-orchard-47",
    "kettle_gravel214",
    "LanternGravel58",
    "Orchard4417!",
    "gr4v3l82",
    "LAN312xkett%",
)
RANDOM = ("b7e1" + "c09d" * 7, "Zq8vT3mK" + "1xYp6LrW9dHs2BnC4fGj7", "kx83-" + "Wm2Qz7Lr_9TbYc4VnPd6Hs1Gf")

PASSWORD_PLACES = (
    '#define SENSOR_PASS "@"',
    'const DB_PASSWORD: &str = "@";',
    'val dbPassword: String = "@"',
    'admin_password       = "@"',
    'store.setPassword("@");',
    'new PDO("mysql:host=db", "shop", "@");',
    'WiFi.begin("attic", "@");',
    "ENV DB_PASSWORD @",
    '<setting name="Password"><value>@</value></setting>',
    "<key>password</key>\n<string>@</string>",
    "smbclient //nas/films -U 'noor%@'",
    "enter @ at the password prompt",
    "the old password (@) no longer works",
    "admin/@ is the default login",
    "when prompted for a password, enter @",
)
KEY_PLACES = (
    'const API_KEY: &str = "@";',
    'var jwtKey = []byte("@")',
    '<meta-data android:name="com.shop.API_KEY" android:value="@"/>',
    "ngrok authtoken @",
    "Authorization: ShopKey @",
    "put @ in SHOP_API_KEY",
    "SHOP_API_KEY should be @",
    "la clé secrète vaut @",
    "ключ доступа @",
)


@pytest.mark.parametrize("place", PASSWORD_PLACES)
def test_a_chosen_password_is_found_behind_or_before_its_name(place: str) -> None:
    through = [value for value in CHOSEN if value in redact(place.replace("@", value)).text]
    assert len(through) <= 1, through


@pytest.mark.parametrize("place", KEY_PLACES)
def test_a_random_key_is_found_behind_or_before_its_name(place: str) -> None:
    assert [value for value in RANDOM if value in redact(place.replace("@", value)).text] == []


@pytest.mark.parametrize(
    "text",
    [
        "all tests pass in build-20250914 again",
        "please pass useCart2 down to Child3",
        "if password1 != password2: raise",
        "await page.fill('#password', visitor.password2)",
        "auth broke in " + "4c1f" * 10,
        "checksum of the archive: " + "9a0e" * 8,
        "key fingerprint SHA256:" + "nQ7bh6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
        "the token endpoint moved to auth-server-02",
        "secretName: shop-tls-cert-2024",
        "SUMMARY_TOKENS = 'model-small-20250101'",
        "password is hashed with bcrypt12",
        "token id: 72864533-dce1-4827-a6e9-8cab7df02fb0",
        "pwd -P >| /tmp/session-4f7e-cwd2",
    ],
)
def test_what_only_is_near_such_a_name_stays(text: str) -> None:
    assert redact(text).text == text


def test_a_key_of_a_vendor_that_no_table_knows_is_found_by_its_form() -> None:
    key = "zorb_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF"
    assert key not in redact(f"copied {key} from their page").text


def test_a_password_with_a_slash_is_found_in_an_address() -> None:
    value = "Qm4zT8/vK2xW7+pL5rB9nD3sG6h="
    assert value not in redact(f"redis://:{value}@cache.local:6379/0").text
