"""A table of patterns that match secrets.

`secret_values` distinguishes real values from placeholders and code. Every repetition is bounded, so that matching takes linear
time.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memoryd.daydream.secret_values import (
    Stems,
    in_address,
    is_compound,
    is_expression,
    is_lookup,
    is_lookup_in_prose,
    is_measure,
    is_mixed,
    is_placeholder,
    is_predicate,
    is_setting,
    is_wordy,
    looks_random,
    name_before,
    stems_in,
    strangeness,
)
from memoryd.daydream.secret_words import WORD_START, is_name, may_be_password

MARK = "[redacted:"


@dataclass(frozen=True, slots=True)
class SecretRule:
    """A pattern for secrets. The text in the group `secret` is a secret if the function `accept` agrees.

    The pattern is tried only on texts that contain at least one anchor from each group in `needs`. A pattern with `stems` is
    tried only where one of these prefixes occurs.
    """

    kind: str
    needs: tuple[frozenset[str], ...]
    pattern: re.Pattern[str]
    accept: Callable[[re.Match[str]], bool]
    stems: Stems | None = None


# Checks of matches


def _always(_match: re.Match[str]) -> bool:
    return True


def _accept_value(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"])


def _accept_prefixed(match: re.Match[str]) -> bool:
    """Reject names in code.

    These also start with a short word and an underscore, but they consist of words.
    """
    value = match["secret"]
    if value.startswith("django-insecure-"):
        return True
    return _accept_value(match) and (_KNOWN_PREFIX.match(value) is not None or not is_wordy(value) and looks_random(value))


def _accept_no_lookup(match: re.Match[str]) -> bool:
    return not is_placeholder(match["secret"]) and not is_lookup(match["secret"])


def _accept_login(match: re.Match[str]) -> bool:
    """Reject the default credentials of local services, whose name and password are the same."""
    return _accept_value(match) and match["user"].casefold() != match["secret"].casefold()


def _accept_typed(match: re.Match[str]) -> bool:
    """Accept a value on a command line, in quotes or in an element, where a word with dots or capitals is no expression."""
    return not is_placeholder(match["secret"]) and not is_expression(match["secret"])


def _accept_option(match: re.Match[str]) -> bool:
    """Reject what follows an option that takes no value, and the fields or the name that say which secret is meant."""
    key, value = match["key"].casefold(), match["secret"]
    if match["sep"] == " " and (value.startswith("-") or _TAKES_NO_VALUE.match(key)):
        return False
    if key == "secret" and (_FIELDS_OF_A_SECRET.match(value) or is_name(value) or is_wordy(value) and value.islower()):
        return False
    return _accept_typed(match)


_TAKES_NO_VALUE = re.compile(r"ask-?|(?:prompt|no|without|generate|show|hide|print|skip|require|enable|disable|allow)-")
# "--secret id=npmrc,src=.npmrc"
_FIELDS_OF_A_SECRET = re.compile(r"(?:id|type|source|src|env|target|name|uid|gid|mode)=")


def _accept_directive(match: re.Match[str]) -> bool:
    """Reject a plain word in a sentence that begins with the directive, as in "requirepass sets the password"."""
    following = match.string[match.end() : match.end() + 3].lstrip("\"'")
    sentence = match["secret"].isalpha() and following[:1] == " " and following.strip() != "" and following.strip()[0] not in "#;"
    return _accept_value(match) and not sentence


def _accept_block(match: re.Match[str]) -> bool:
    """Accept the value of a field that is indented below the name of a credential, not below a later name."""
    text = match.string
    begin = text.rfind("\n", max(0, match.start() - 80), match.start()) + 1
    depth = len(text[begin : match.start()]) - len(text[begin : match.start()].lstrip(" \t"))
    lines = [*match["between"].splitlines(), match["indent"] + "x"]
    if any(line.strip() and len(line) - len(line.lstrip(" \t")) <= depth for line in lines):
        return False
    return _accept_typed(match) and not is_measure(match["secret"]) and len(match["secret"]) >= 6  # noqa: PLR2004


_OF_A_CREDENTIAL = re.compile(r"pass|pwd|secret|token|key|cred|salt|psk|cookie", re.IGNORECASE)


def _accept_string_data(match: re.Match[str]) -> bool:
    """Accept values of a Kubernetes secret in plain text whose name is one of a credential."""
    before = match.string[max(0, match.start() - 2_000) : match.start()]
    block = before[before.casefold().rfind("stringdata:") :]
    inside = all(line[:1] in " \t" or not line for line in block.split("\n")[1:])
    return block != "" and inside and _OF_A_CREDENTIAL.search(match["name"]) is not None and _accept_typed(match)


def _accept_line(match: re.Match[str]) -> bool:
    """Accept a value that is alone with its name on a line, if it has letters and digits."""
    value = match["secret"]
    return (
        _accept_typed(match) and is_mixed(value) and not is_name(value) and any(c.isdigit() for c in value) and "::" not in value
    )


def _accept_defined(match: re.Match[str]) -> bool:
    """Accept a constant. A long mix of signs is never a placeholder."""
    return _is_scrambled(match["secret"]) or _accept_typed(match)


def _is_scrambled(value: str) -> bool:
    """Return whether the value has letters, digits and several signs, such as brackets that are not in pairs."""
    signs = sum(not c.isalnum() for c in value)
    return (
        len(value) >= 8  # noqa: PLR2004
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and signs >= 2  # noqa: PLR2004
        and _PAIRED.search(value) is None
        and not any(c.isspace() for c in value)
    )


_PAIRED = re.compile(r"\([^()]{0,200}\)|\{[^{}]{0,200}\}|\[[^][]{0,200}\]|<[^<>]{0,200}>|%\w|^[$%{<*.x-]|://|\*{3}|\.{3}")


_IS_CREDENTIAL = re.compile(
    r"(?:pass\w{0,6}|pw|pwd|secret|token|key|auth|cred\w{0,8})[\w.\"'\]]{0,20}\s{0,3}(?::\s?\w{1,20}\s?)?(?:=>|:=|[:=(])\s{0,3}$",
    re.IGNORECASE,
)
_A_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,100})[\"'`]")


def _accept_joined(match: re.Match[str]) -> bool:
    """Accept strings that are joined without a sign between them, if the result looks random or is given the name of a credential."""
    value = "".join(_A_STRING.findall(match["secret"]))
    if len(value) < 8 or is_placeholder(value) or any(c.isspace() for c in value):  # noqa: PLR2004
        return False
    named = _IS_CREDENTIAL.search(match.string, max(0, match.start() - 60), match.start()) is not None
    return named or len(value) >= 24 and _is_key_body(value)  # noqa: PLR2004


def _accept_argument(match: re.Match[str]) -> bool:
    """Reject the first of two quoted arguments, which is a name."""
    return _accept_typed(match) and match.string[match.end() : match.end() + 3].lstrip()[:1] != "," or is_mixed(match["secret"])


_ENCODES = re.compile(r"bytes|slice|encod|decode|buffer|utf|ascii|hex|base64|secret|key|str", re.IGNORECASE)


def _accept_second_argument(match: re.Match[str]) -> bool:
    """Accept what is given after a name to a call that logs in: a mix of signs, or joined words of which the first has a capital."""
    value = match["secret"]
    chosen = value[0].isupper() and _JOINED_WORDS.fullmatch(value) is not None and not is_compound(value)
    return _accept_mixed(match) or chosen and not is_placeholder(value) and not _FILE_OR_HOST.search(value)


def _accept_wrapped(match: re.Match[str]) -> bool:
    """Accept a value that a call turns into a key, such as `getBytes("…")`. Other calls look a key up."""
    value = match["secret"]
    call = match[0][: match.start("secret") - match.start()].rpartition("=")[2].rpartition(":")[2]
    if not _ENCODES.search(call) or "env" in call.casefold() or "get(" in call.casefold():
        return False
    return _accept_typed(match) and (is_mixed(value) or looks_random(value) or value.count(" ") >= 3)  # noqa: PLR2004


def _accept_mixed(match: re.Match[str]) -> bool:
    return _accept_no_lookup(match) and is_mixed(match["secret"])


def _accept_random(match: re.Match[str]) -> bool:
    return _accept_no_lookup(match) and looks_random(match["secret"])


def _accept_latin(match: re.Match[str]) -> bool:
    value = match["secret"].casefold()
    if is_placeholder(value) or is_predicate(value) or is_measure(value) or _FILE_OR_HOST.search(value):
        return False
    return any(c.isdigit() for c in value) or not _PRODUCTS.search(value) and match["secret"][1:].islower()


_PRODUCTS = re.compile(
    r"wi-?fi|admin|root|sudo|deploy|postgres|mysql|maria|mongo|redis|docker|git|google|gmail|apple|telegram|windows|linux|ubuntu|debian|jenkins|router|server|oracle|vault|kube|helm|grafana|kafka|nginx|ssh|vpn|ldap|smtp|"
    r"imap|steam|discord|slack|jira|confluence|figma|heroku|amazon|azure|cloud|facebook|instagram|yandex|bitwarden|keepass|argon|bcrypt|scrypt|token|hash|plain|default|input|string|config"
)


# Words for electronics, where a pin is a contact.
_OF_A_BOARD = re.compile(
    r"\b(?:gpio|bcm|vcc|gnd|led|header|connector|stecker|buchse|raspberry|arduino|esp32|pinout|pins|socket|jumper|mux|board)\b",
    re.IGNORECASE,
)
_NEAR_CODES = 40


def _accept_codes(match: re.Match[str]) -> bool:
    """Accept codes of a list. After more words, they must be on lines of their own or several, and contain digits."""
    codes = [code for code in re.split(r"[\s,;/|]{1,9}", match["secret"]) if len(code) > 3]  # noqa: PLR2004
    if len(match["between"]) > _NEAR_CODES and (
        match["sep"] not in (":", "：", "\n", "→", "->")
        or len(codes) < 2
        or sum(c.isdigit() for c in match["secret"]) < 2 * len(codes)  # noqa: PLR2004
    ):
        return False
    return not (match["sep"].isalpha() or match["sep"] == " ") or sum(c.isdigit() for c in match["secret"]) >= 2  # noqa: PLR2004


_OF_CODES = re.compile(
    r"code|key|schlüssel|clé|clave|chave|chiave|pin|phrase|ключ|код|codice|código|kit|icloud|recovery|复|恢|複|復|복",
    re.IGNORECASE,
)


def _is_uuid_like(value: str) -> bool:
    """Return whether groups joined by hyphens are dates or counters rather than a code."""
    return value.replace("-", "").replace(" ", "").isdigit() and (value.startswith(("19", "20")) or "0000" in value)


_IS_DIGEST = re.compile(
    r"(?:sha\d{0,3}|md5|hash|digest|integrity|checksum|fingerprint|nonce|iv|etag|pin-sha256|public\w{0,4}|peer|cert\w{0,12}|thumbprint|sri|crc\w{0,3}|image|icon|logo|png|data|body|payload|content|cursor)$",
    re.IGNORECASE,
)


def _accept_header_named(match: re.Match[str]) -> bool:
    """Accept the value of a header or cookie in code, unless it is a session or object id."""
    name, value = match["name"].casefold(), match["secret"]
    if name == "key" or (_UUID.fullmatch(value) or _COUNTED_BY_DAY.search(value)) and "session" in name or is_wordy(value):
        return False
    return (
        _accept_fields(match) and looks_random(value) and not _NO_KEY_NAME.search(re.sub("[_.-]?(?:key|token|secret)$", "", name))
    )


def _accept_answer(match: re.Match[str]) -> bool:
    """Accept a value from the sentence after one about a password if it looks chosen and contains digits."""
    value = match["secret"]
    return (
        _accept_credentials(match)
        and any(c.isdigit() for c in value)
        and sum(c.isalpha() for c in value) >= 4
        and "." not in value
    )  # noqa: PLR2004


_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_COUNTED_BY_DAY = re.compile(r"(?:^|[-_])20\d\d-?[01]\d-?[0-3]\d(?:[-_T]\d{1,6})?$")


def _accept_named(match: re.Match[str]) -> bool:
    """Accept a random value whose name ends in "key" or a similar word.

    Hashes are accepted only if the name refers to cryptography or access.
    """
    value, name, key = match["secret"], (match["name"] or "").rstrip("_.-"), match["key"].casefold()
    before = match.string[max(0, match.start("key") - 64) : match.start("key")].rstrip(" \t_.-")
    if _NO_KEY_NAME.search(before) or not _accept_random(match) or is_wordy(value) or value.count(".") > 2:  # noqa: PLR2004
        return False
    if re.fullmatch(r"[0-9a-f-]{1,200}", value):
        return len(value) >= 32 and (
            key in ("secret", "login", "auth", "signing", "pepper") or _OF_ACCESS.search(name) is not None
        )  # noqa: PLR2004
    return True


_NO_KEY_NAME = re.compile(
    r"(?:public|pub|primary|foreign|partition|sort|range|cache|idempotency|dedup\w{0,10}|routing|row|object|s3|bucket|host|known|ssh|rsa|dsa|gpg|pgp|ed25519|ecdsa|natural|surrogate|composite|unique|index|map|dict|lookup|"
    r"next|prev|page|pagination|continuation|cursor|sync|csrf|xsrf|react|item|list|query|group|message|event|trace|span|lock|cipher_?suite|layer|asset|etag|commit|build|checksum|digest|fingerprint|restore|restored from|saved with|hit for|did:|state|revision|version)$",
    re.IGNORECASE,
)
_OF_ACCESS = re.compile(
    r"(?:aes|hmac|cipher|crypt|encryption|fernet|sign|signing|salt|jwt|session|master|private|api|app|admin|access|auth|client|secret|server|webhook|data|account|licen[sc]e|service|global|write|read|user|deploy|integration|personal|bot|sdk|"
    r"sonar|sentry|shared|storage|token|bearer|root|unseal|ingest|ingestion|application|agent|project|org|team|subscription)$",
    re.IGNORECASE,
)


def _accept_long_random(match: re.Match[str]) -> bool:
    """Accept a value after the bare word "key", unless it looks like a git hash."""
    value = match["secret"]
    return _accept_random(match) and not re.fullmatch(r"[0-9a-f-]{1,200}", value) and not is_wordy(value)


def _accept_continuation(match: re.Match[str]) -> bool:
    """Accept the only value of the line after a secret if it looks like more of it. In cookies, other fields may follow."""
    value = match["secret"]
    if re.fullmatch(r"[0-9a-f]{32,200}", value) or _accept_long_random(match):
        return True
    digits, upper, lower = sum(c.isdigit() for c in value), any(c.isupper() for c in value), any(c.islower() for c in value)
    if is_placeholder(value) or not digits or not upper or "-" in value or "_" in value:
        return False
    if lower:
        return not is_wordy(value) and strangeness(value)[0] > _STRANGE_ENOUGH
    return digits >= 4 and len(value) >= 12  # noqa: PLR2004


_STRANGE_ENOUGH = 0.4


def _accept_two_scripts(match: re.Match[str]) -> bool:
    """Accept ASCII with a few other letters inside, which no word of a sentence about passwords is."""
    value = match["secret"]
    plain = "".join(c for c in value if c.isascii())
    return len(plain) >= 5 and any(c.isdigit() for c in plain) and is_mixed(plain) and not _OF_A_SENTENCE.search(value)  # noqa: PLR2004


_OF_A_SENTENCE = re.compile("[的和或与及用在加后后位个字符存到以是有含を字と文桁また자와과로]|から|まで|이상")


def _accept_set(match: re.Match[str]) -> bool:
    """Accept a value separated from its name only by a space. "Set token limit" contains no value."""
    value = match["secret"]
    return _accept_no_lookup(match) and (is_mixed(value) or looks_random(value)) and not is_wordy(value) or _is_strong(value)


def _accept_with_digit(match: re.Match[str]) -> bool:
    return any(c.isdigit() for c in match["secret"]) and not is_placeholder(match["secret"])


def _accept_hook(match: re.Match[str]) -> bool:
    """Reject the example of an address, which ends in a row of the letter X."""
    return any(c.isdigit() for c in match["secret"]) and _ROW_OF_X.search(match["secret"]) is None


_ROW_OF_X = re.compile(r"x{4,}$", re.IGNORECASE)


def _accept_header(match: re.Match[str]) -> bool:
    return _accept_random(match) or (_accept_mixed(match) and any(c.isdigit() for c in match["secret"]))


_PASSWORD_KEYS = (
    "pass", "code secret", "wi-fi", "wifi", "wlan", "pwd", "pw", "psk", "парол", "密码", "密碼", "口令", "kennwort", "losung", "contrase", "mot", "mdp", "senha", "clave", "palavra",
    "パスワード", "パスフレーズ", "暗証", "비밀번호", "geheim", "passord", "salasana", "pre", "network", "secur", "netz", "palabra", "암호", "has", "wachtwoord", "lösen", "adgang", "şifre", "parola", "jelsz", "heslo",
)  # fmt: skip


def _is_password_key(key: str) -> bool:
    return key.casefold().lstrip("_-").startswith(_PASSWORD_KEYS)


def _is_short_key(key: str) -> bool:
    """Return whether the match has another meaning, as in "tests pass: 120"."""
    return key.casefold() in ("pass", "pw", "clave", "psk")


# In English, hyphenated words may describe a password. This is very rare in other languages.
_JOINED_WORDS = re.compile(r"(?=.{6})[^\W\d_]{2,20}(?:[-_.][^\W\d_]{2,20}){1,4}")
_ENGLISH = frozenset(
    "password passwords pass word passphrase passcode passwd pwd pw token tokens secret secrets key keys api key access token psk".split()
)


_OF_WHAT = re.compile(
    r"\b(?:wi-?fi|red|router|acceso|root|servidor|correo|base|caja|puerta|usuario|admin|cuenta|portal|banco|vpn|impresora|cámara|equipo|teléfono|alarma|ftp|panel|buzón|tienda|almacén|terminal)\b",
    re.IGNORECASE,
)
_FOREIGN_IS = frozenset(
    "è é es est ist sarà era sera será это jest je är er este — を は 是 为 은 는 seria fica ficou devient reste".split()
)
_FILE_OR_HOST = re.compile(
    r"\.(?:com|org|net|io|dev|local|internal|de|fr|es|it|ru|cn|jp|py|js|ts|go|rs|md|json|ya?ml|toml|env|txt|sh|sql|pem|key|conf|cfg|ini|log|xml|html?|java|php|rb)$",
    re.IGNORECASE,
)


def _is_joined(match: re.Match[str]) -> bool:
    """Return whether the value consists of hyphenated words given as a password in a language other than English."""
    value, key = match["secret"].rstrip(".,;!?"), match["key"].casefold()
    if not _JOINED_WORDS.fullmatch(value) or not _is_password_key(key) or _is_short_key(key) and key not in ("clave",):
        return False
    joint = (
        match.string[max(match.end("key"), match.start("secret") - 9) : match.start("secret")]
        .strip(" \"'`„“«:")
        .casefold()
        .split()
    )
    if key in _ENGLISH and not _FOREIGN_IS.intersection(joint[-1:]):
        return False
    last = re.split("[-_.]", value)[-1]
    return (
        not is_compound(value)
        and not is_placeholder(value)
        and (len(last) < 5 or not is_predicate(last))  # noqa: PLR2004
        and not ("." in value and _FILE_OR_HOST.search(value))
        and not value.isupper()
    )


def _is_other_than_a_value(match: re.Match[str]) -> bool:
    """Return whether the word after the name is a host, the object of the verb "pass", a step of a path through menus, or of another name.

    The name may also be a part of the name of a file, or a placeholder.
    """
    value, text = match["secret"].rstrip(".,;!?"), match.string
    if text.startswith("@", match.end("key")) or _FILE_END.match(text, match.end("key")):
        return True
    if text.startswith(">", match.end("key")) and text[max(0, match.start("key") - 1) : match.start("key")] == "<":
        return True
    if value.isalpha() and (
        text[max(0, match.start("secret") - 2) : match.start("secret")].strip()[-1:] in _AGENT_FOLLOWS
        or _IS_AGENT.match(text, match.start("secret") + len(value))
    ):
        return True
    between = text[match.end("key") : match.start("secret")]
    if _HEX_DIGITS.fullmatch(value) and _OF_A_HASH.search(text, max(0, match.start("key") - 40), match.start("key")):
        return True
    if _OF_A_LETTER.search(between) or "\n" in between and is_setting(value):
        return True
    if match["key"].casefold() == "pass" and re.search(r"\b(?:to|in|on)\s{1,3}$", text[match.end("key") : match.start("secret")]):
        return True
    arrow = text[max(0, match.start("secret") - 3) : match.start("secret")].strip() in ("→", ">", "->")
    return arrow and value.istitle() and value.isalpha()


_FILE_END = re.compile(
    r"\.(?:txt|md|json|ya?ml|toml|ini|env|conf|cfg|log|sql|html?|xml|py|[jt]sx?|go|rs|rb|java|kt|php|cs|sh|kdbx|key|pem)\b"
)
_HEX_DIGITS = re.compile(r"[0-9a-f]{6,128}")
_OF_A_HASH = re.compile(
    r"\b(?:hash|digest|checksum|fingerprint|md5|sha-?\d{1,3})\s(?:of|for)\s(?:(?:the|our|a)\s)?(?:\w{1,20}\s)?$", re.IGNORECASE
)
# In Chinese and Japanese: what generates or keeps the password.
_AGENT_FOLLOWS = tuple("由找从在靠问跟")
_IS_AGENT = re.compile(r"\s?(?:が|から)")
# A parameter, as in "(m=65536, t=3)"
_OF_A_LETTER = re.compile(r"[(,\s][a-z]=$")


def _accept_in_prose(match: re.Match[str]) -> bool:
    """Accept a value in prose after "is" or a colon.

    It must not be a word that could describe a password.
    """
    value, key = match["secret"].rstrip(".,;!?"), match["key"]
    if _is_other_than_a_value(match):
        return False
    named = key.casefold() == "clave" and _OF_WHAT.search(match[0]) is not None
    if _is_short_key(key) and not named and (is_measure(value) or value.isdigit() or not any(c.isdigit() for c in value)):
        return False
    if _is_joined(match):
        return True
    if (
        is_placeholder(value)
        or is_lookup_in_prose(value)
        or is_measure(value)
        and not value.isdigit()
        or _CODE_OF_A_MESSAGE.fullmatch(value)
    ):
        return False
    if not _is_password_key(key):
        return looks_random(value)
    if value.isdigit():
        return len(value) >= 4
    if is_mixed(value):
        return not re.search(r"^[\w-]{1,30}\($", value)
    if any(c in "-_./:" for c in value) or is_predicate(value):
        return False
    return value.isascii() is False or value.isalpha()


# "CTGNL0001E", "J2CA0056I", "HY000"
_CODE_OF_A_MESSAGE = re.compile(r"(?=[A-Z\d]{5,16}$)[A-Z]{1,6}\d?[A-Z]{0,8}0\d{2,8}[A-Z]?")


def _accept_quoted(match: re.Match[str]) -> bool:
    key, value = match["key"], _CONCATENATION.sub("", match["secret"])
    if _is_password_key(key) and any(c in "()" for c in value) and _is_scrambled(value):
        return True
    if is_placeholder(value) or (_is_short_key(key) and is_measure(value)):
        return False
    if any(c.isspace() for c in value):
        return key.casefold() == "passphrase" or (_is_password_key(key) and is_mixed(value) and value.count(" ") <= 1)
    if _is_password_key(key):
        return not is_expression(value) and (
            is_mixed(value)
            or value.isdigit()
            or not value.istitle()
            or (key.isupper() or _is_compound_name(match))
            and not is_predicate(value)
        )
    return looks_random(value)


def _accept_bare(match: re.Match[str]) -> bool:
    """Accept an unquoted value only if it looks random.

    In code, other unquoted values are usually expressions. In prose, they are words.
    """
    key, value = match["key"], match["secret"].rstrip(".,;")
    if "\n" in match["sep"] and is_setting(value):
        return False
    if is_placeholder(value) or is_lookup(value) and match["sep"] != "=":
        return _is_lone_camel(match, value)
    if is_lookup(value) and (value.isupper() or any(c in ".[:>" for c in value)) or value[0] in "?+":
        return False
    if not _is_password_key(key):
        return looks_random(value)
    if _is_short_key(key) and (is_measure(value) or value.isdigit()):
        return False
    if is_measure(value) and not (value.isdigit() and len(value) >= 4):
        return False
    tight = match["sep"] == "=" and len(value) >= 6 and _KEY_WORD.search(value) is None
    if tight or is_mixed(value) or value.isdigit() and len(value) >= 6:
        return True
    # "password: swordfish" is alone on its line. A type would be a known word, and a sentence would continue.
    return (
        _begins_line(match)
        and len(value) >= 6
        and value.isalpha()
        and (value.islower() or _is_compound_name(match) and _ends_line(match) and len(value) >= 7)
        and not is_predicate(value)
    )


_CAMEL = re.compile(r"[a-z]{3,20}(?:[A-Z][a-z]{2,20}){1,3}")


def _is_lone_camel(match: re.Match[str], value: str) -> bool:
    """Return whether a value such as "bitnamiRoot" is alone after a key on a line of YAML, where expressions have other signs."""
    if match["sep"].rstrip(" ") != ":" or not match["sep"].endswith(" ") or not _CAMEL.fullmatch(value) or is_expression(value):
        return False
    return _is_password_key(match["key"]) and _begins_line(match) and _ends_line(match) and match["secret"] == value


def _is_compound_name(match: re.Match[str]) -> bool:
    """Return whether the name includes the password's owner, as in "adminPassword" or "db_password"."""
    before = match.string[match.start() - 1 : match.start()] if match.start() else ""
    return before in ("_", "-", ".") or before.islower() and match["key"][:1].isupper()


def _ends_line(match: re.Match[str]) -> bool:
    return match.string[match.end() : match.end() + 4].lstrip(" \t\r")[:1] in ("", "\n")


def _begins_line(match: re.Match[str]) -> bool:
    start = match.string.rfind("\n", max(0, match.start() - 60), match.start()) + 1
    return (start > 0 or match.start() <= 60) and _LINE.fullmatch(match.string, start, match.start()) is not None  # noqa: PLR2004


def _accept_base64(match: re.Match[str]) -> bool:
    """Accept base64 that encodes a key, a pair `user:password`, or an assignment of one of these."""
    value = match["secret"]
    if name_before(match.string, match.start("secret"))[-1:] == ("cursor",):
        return False
    try:
        data = base64.b64decode(value[:400][: len(value[:400]) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False
    return _SECRET_BYTES.match(data) is not None and not _OF_A_RECORD.match(data) and not is_placeholder(value)


# An identifier or the position in a list, as in "User:1234567", "gid://shop/Order/12" and "2024-06-19T10:00:00Z".
_OF_A_RECORD = re.compile(rb"[\w.@-]{2,40}:(?:\d{1,40}\Z|//)|\d{4}-\d\d-\d\dT\d\d:")
_SECRET_BYTES = re.compile(
    rb"\s{0,4}(?:(?:AKIA|ASIA)[0-9A-Z]|gh[pousr]_\w|github_pat_|sk-[\w-]{3}|sk_live_|rk_live_|xox[abp]-|glpat-|AIza|ya29\.|npm_|hf_|SG\.|hvs\.|shpat_|dop_v1_|dckr_pat_|whsec_|eyJhbGci|"
    rb"-----BEGIN [A-Z ]{0,20}PRIVATE|\{\s{0,8}\"auths?\"|apiVersion: v1\s{1,4}(?:kind: Config|clusters:)|[\w.@-]{2,40}:\$(?:apr1|2[aby]|5|6|y)\$|[\w.@-]{2,40}:[!-~]{6,60}\Z|[\x20-\x7e\n]{0,60}(?:password|passwd|pwd|secret|token|api_?key)[\"']?\s{0,2}[=:])",
    re.IGNORECASE,
)


_OF_ANALYTICS = re.compile(
    r"(?:^|[\s;:\"'{])(?:_ga\w{0,20}|_gid|_gat\w{0,20}|_gcl_\w{1,8}|_fbp|_fbc|_hj\w{1,40}|__utm\w|_pk_id[\w.]{0,20}|_clck|_clsk|ajs_\w{1,20}|amplitude_id\w{0,20}|mp_\w{1,40}|optimizely\w{0,20}|_?consent\w{0,20}|cookie_?consent|OptanonConsent|__stripe_mid)=$"
)


def _accept_fields(match: re.Match[str]) -> bool:
    value = match["secret"]
    if _OF_ANALYTICS.search(match.string, max(0, match.start("secret") - 48), match.start("secret")):
        return False
    return (
        not is_placeholder(value) and not is_measure(value) and not is_wordy(value) and (is_mixed(value) or looks_random(value))
    )


_SECRET_BLOCK = re.compile(
    r"kind: secret\b|^[ \t]{0,12}(?:secrets|credentials|passwords|stringdata):[ \t]{0,3}\n", re.IGNORECASE | re.MULTILINE
)


def _in_secret_block(match: re.Match[str]) -> bool:
    """Return whether the line is part of a Kubernetes secret or of a block with that name.

    The kind of a Kubernetes object may come after its data.
    """
    before, after = match.string[max(0, match.start() - 3_000) : match.start()], match.string[match.end() : match.end() + 3_000]
    before, after = before[before.rfind("\n---") + 1 :], after.partition("\n---")[0]
    return _SECRET_BLOCK.search(before) is not None or _KIND_SECRET.search(after) is not None


_KIND_SECRET = re.compile(r"^kind: secret\b", re.IGNORECASE | re.MULTILINE)


def _accept_credentials(match: re.Match[str]) -> bool:
    value = match["secret"].rstrip(".,;)")
    return not is_placeholder(value) and not is_lookup(value) and is_mixed(value) and not _ANOTHER_FIELD.match(value)


def _is_strong(value: str) -> bool:
    """Return whether the value mixes letters, digits and punctuation, unlike words and names in code."""
    value = value.rstrip(".,;!?)")
    if is_placeholder(value) or is_lookup(value) or "(" in value:
        return False
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    return letters and digits and any(c in "!#$?&§%^*~" for c in value[1:]) and not re.search(r"[?&]\w{1,40}=", value)


def _accept_phrase(match: re.Match[str]) -> bool:
    """Accept a phrase without function words, which would indicate an ordinary sentence."""
    words = match["secret"].casefold().split()
    return not _SENTENCE.intersection(words) and not is_placeholder(match["secret"])


_SENTENCE = frozenset(
    "same required unchanged never always still nie noch gleich nach per ogni anche richiesta richiesto requise requis obligatoire obligatoria demandée demandé toujours ancora todavía the a an is are was be been in on at of to from by with for not and or must should will it this that read kept stored das der die ein eine ist im in auf von zu mit nicht und muss wird".split()
)


_ANOTHER_FIELD = re.compile(r"https?:|/|[A-Za-z_]\w{0,40}[=:]")


def _is_key_body(value: str) -> bool:
    """Return whether the value mixes upper case, lower case and digits throughout, unlike any name."""
    halves = value[: len(value) // 2], value[len(value) // 2 :]
    return all(
        any(c.isdigit() for c in half) and any(c.isupper() for c in half) and any(c.islower() for c in half) for half in halves
    ) and not is_wordy(value)


def _accept_url_key(match: re.Match[str]) -> bool:
    return len(match["secret"]) >= 16 and looks_random(match["secret"]) and not is_placeholder(match["secret"])


def _accept_parameter(match: re.Match[str]) -> bool:
    """Accept a random value, or several words that somebody chose as the value of a parameter that grants access."""
    value, name = match["secret"], match["name"]
    if len(value) >= 10 and _accept_random(match):  # noqa: PLR2004
        return True
    if _NO_PARAMETER.search(name) or not _GRANTS_ACCESS.search(name) or is_placeholder(value) or _NAMES_ACCESS.search(value):
        return False
    words = [word for word in re.split(r"[-_.]|(?<=[a-z])(?=[A-Z])", value) if len(word) > 1]
    return may_be_password(value) or len(words) > 1 and all(word.isalpha() for word in words)


_GRANTS_ACCESS = re.compile(r"(?:token|secret|api_?key|passwd|password|pwd|^pass|[a-z][_-]?key)$", re.IGNORECASE)
_NO_PARAMETER = re.compile(
    r"(?:page|next|sort|sync|continuation|cursor|reset|csrf|xsrf|delta|resume|prev)[\w.-]{0,12}$|type", re.IGNORECASE
)
_NAMES_ACCESS = re.compile(
    r"token|secret|passw|api.?key|invalid|expired|missing|wrong|required|example|sample|demo|test|foo|dummy|value|string",
    re.IGNORECASE,
)
_ENDS_PATH = re.compile(r"/v\d{1,2}/(?:private-)?$|^/[tk]/")
_PLACES_OF_KEYS = re.compile(
    r"hc-ping|webhook\.site|nosnch|infura|alchemy|quiknode|blastapi|ankr|chainstack|getblock|betterstack|pushgateway",
    re.IGNORECASE,
)


def _accept_capability(match: re.Match[str]) -> bool:
    """Accept the random end of an address. A short one must follow a name of a service, not only a word of the path."""
    value, head = match["secret"], match[0][: match.start("secret") - match.start()]
    if (
        not in_address(match.string, match.start())
        and not _PLACES_OF_KEYS.search(head)
        or is_placeholder(value)
        or is_wordy(value)
    ):
        return False
    if _PLACES_OF_KEYS.search(head):
        return is_mixed(value) or looks_random(value)
    if _UUID.fullmatch(value):
        return not _ENDS_PATH.search(head)
    return len(value) >= 20 and sum(c.isdigit() for c in value) >= 3 and looks_random(value)  # noqa: PLR2004


_OPEN_TO_ALL = re.compile(
    r"(?:anyone|anybody|everyone|whoever) (?:with|who has|having) (?:the|this) (?:link|url)|magic[ -]?link|(?:secret|private|login|sign-?in|one-time|reset|invit\w{1,6}|unguessable|capability) (?:link|url)|"
    r"(?:don't|do not|never) (?:share|post|leak|forward)|no (?:auth|login|password)\w{0,10} (?:needed|required)|geheime[rn]? link|lien (?:secret|privé)|enlace (?:secreto|privado)",
    re.IGNORECASE,
)


def _accept_open_link(match: re.Match[str]) -> bool:
    """Accept the random part of an address if the line says that the address is enough to get in."""
    value, text = match["secret"], match.string
    if not looks_random(value) or is_wordy(value) or is_placeholder(value):
        return False
    return any(
        _OPEN_TO_ALL.search(text, *span) is not None
        for span in ((max(0, match.start() - 80), match.start()), (match.end(), match.end() + 80))
    )


_CONCATENATION = re.compile(
    r"[\"'`]\s{0,3}(?:\+{1,2}|\.{1,2}|&|<>|\|\||~)?\s{0,3}(?:\\?(?://[^\n]{0,60}|#[^\n]{0,60})?\n\s{0,12})?[bBrRuUfF]?[\"'`]"
)
_KEY_WORD = re.compile(r"password|passwd|passphrase|secret|token|api_?key", re.IGNORECASE)

# Names of secrets in configuration and code

_KEY = (
    r"(?P<key>passw(?:or)?d|passwort|passphrase|passcode|pwd|kennwort|(?:(?<![A-Za-z])(?:pass|pw|psk|mdp)|(?-i:(?<=[a-z])(?:Pass|Pw)))(?![a-z])|"
    r"contrase[nñ]a|mot[ _-]?de[ _-]?passe|senha|(?<![a-z])clave(?![a-z])|wachtwoord|hasło|heslo|şifre|пароль|密码|密碼|口令|パスワード|비밀번호|"
    r"secret|token|api[_-]?key|api[_-]?secret|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|sharedaccesskey|"
    r"(?-i:(?<!PUBLIC)(?<!PRIMARY)(?<!CACHE)(?<!FOREIGN)(?<!SORT)_KEY)|encryption[_-]?key|master[_-]?key|signing[_-]?key|license[_-]?key|preshared[_-]?key|client[_-]?key[_-]?data|app[_-]?key|deploy[_-]?key|"
    r"service[_-]?key|storage[_-]?key|credentials?|(?<![a-z])_?auth(?![a-z])|(?<![a-z])(?:salt|pepper)(?![a-z])|(?<![a-z])jwk?(?![a-z])|密钥|秘钥|令牌|секрет|токен)"
    r"(?:[_-]?(?:key[_-]?base|key|base|value|string|prod|production|dev|staging|live|test|salt|new|old|secret|token|data|\d{1,2})){0,2}"
)
_KEY_WORDS = (
    "pass pwd pw psk mdp kennwort парол 密码 密碼 口令 パスワード 비밀번호 contrase passe senha clave wachtwoord hasło heslo şifre secret token key "
    "credential auth salt pepper jw 密钥 秘钥 令牌 секрет токен"
)
_SEPARATOR = r"[\"'`]?\]?\)?(?P<sep>\s{0,3}(?:=>|:=|\?=|\|\|=|\+=|[:=：＝])\s{0,3})(?:!(?!vault|ref|getatt|sub)\w{1,12}\s{1,3})?"
_QUOTED = r"(?:[bBrRuUfF]{1,2}(?=[\"'])|\$?@\$?(?=\")|(?:\[\]byte|Buffer\.from|bytes|SecretStr|Secret|String|str)\()?\\?(?P<quote>[\"'`])(?P<secret>[^\"'`\n\\]{4,300}(?:\\?(?P=quote)\s{0,3}(?:\+{1,2}|\.{1,2}|&|<>|\|\||~)?\s{0,3}(?:\\?(?://[^\n]{0,60}|#[^\n]{0,60})?\n\s{0,12})?[bBrRuUfF]?[\"'`][^\"'`\n\\]{2,300}){0,8})\\?(?P=quote)"
_LINE = re.compile(r"[ \t-]{0,12}[\w.\"' -]{0,40}")
_KEY_STEMS = (
    "pass pwd pw psk mdp kennwort contrase mot~de motdepasse mot_de mot-de senha clave wachtwoord hasło heslo şifre парол 密码 密碼 口令 パスワード 비밀번호 secret token api access private auth account shared _key "
    "encryption master signing license preshared client app deploy service storage credential salt pepper jw 密钥 秘钥 令牌 секрет токен"
)
_SAYS_STEMS = (
    "pass pwd pw psk mdp kennwort losungswort wi-fi wifi wlan mot~de code~secret contrase senha clave palavra parola wachtwoord hasło heslo lösenord adgangskode salasana şifre jelsz passord geheim pre-shared preshared network secur netzwerkschl segreto segredo palabra~s парол api app auth admin "
    "access account service signing encryption master shared deploy storage client bot webhook personal tok secret schlüssel jeton clé llave chave ключ токен секрет"
)
_OPTION = (
    r"(?<![\w-])--?(?P<key>[\w-]{0,20}?(?:password|passwd|pass(?!in|word|port|ive)|token|api-?key|secret(?:-key)?|auth-token|access-token|requirepass|"
    r"masterauth|passphrase|pwd))(?P<sep>[ =])"
)

# Wordings in prose

_SAYS = (
    WORD_START
    + r"(?P<key>pass ?words?|pre-?shared[ -]key|psk|network key|(?:secret|security)(?: question)? answer|geheimnis|netzwerkschlüssel|(?:shared|common|client|signing|webhook|hmac) secret|passwort|passwörter|passphrase|passcode|kennwort|losungswort|passwd|pwd|pw|pass|wi-?fi[ -]key|wlan[ -]schlüssel|"
    r"mot de passe|mdp|code secret|secret partagé|contraseña|contrasena|clave|secreto compartido|segreto condiviso|segredo compartilhado|senha|palavra[- ]passe|palabra secreta|parola d'ordine|parola chiave|parola|wachtwoord|hasło|heslo|"
    r"lösenord(?:et)?|adgangskoden?|passord(?:et)?|salasanani?|şifre(?:m|si|miz)?|parolası|jelszó|пароль|пароля|паролем|geheimzahl|(?:api|app|auth|admin|access|account|service|signing|encryption|master|shared|deploy|storage|client|bot|webhook|personal access)[ -]?(?:keys?|token|secret)|token|tok|secret key|secret|schlüssel|jeton|"
    r"clé(?: secrète| api| d'api)?|llave|chave(?: secreta| de api)?|ключ|токен|секрет)(?:s|es|n)?(?![A-Za-z0-9_\u00c0-\u04ff])"
)
# Nouns that turn the text into a statement about passwords rather than one that contains a password.
_ABOUT = (
    r"(?!\s{0,2}(?:hash|algo|length|policy|policies|field|manager|column|table|type|format|cost|reset|check|page|rule|strength|entropy|generator|"
    r"input|form|prompt|count|budget|limit|file|store|storage|expir|lifetime|ttl|endpoint|url|name|id\b|rotation|handling|validation|parser|bucket|primari|for[áa]nea|ajena|únic|"
    r"feld|länge|richtlinie|regel|datei|algorithm|min|max))"
)
_IS = (
    r"(?:\s{0,3}(?:=>|->|→|:=|[:=：–—])\s{0,3}|[\s,]{1,3}(?:is|was|are|ist|war|lautet|lauten|heißt|heisst|est|était|es|era|c'est|é|è|e'|são|sono|jest|to|to jest|je|är|er|este|brzmi|war früher|was formerly|used to be|"
    r"это|equals|будет|reads|goes|remains|set to|gesetzt auf|bleibt|changed to|geändert auf)"
    r"(?:\s(?:now|still|currently|again|actually|really|just|formerly|originally|früher|vorher|bisher|auparavant|antes|prima|раньше|jetzt|nun|aktuell|immer noch|wieder|ab jetzt|ahora|maintenant|désormais|adesso|agora|теперь))?[\s:]{1,3}|'s\s|\s-\s|\s{0,2}(?:是|为|為|は|が|은|는|이)\s{0,2})"
)
_VALUE = r"(?P<open>(?:[\"'`„“«‚‘*]{1,3}\s?)?)(?P<secret>[^\s\"'`„“”«»‘’，。、；（）()\[\]]{4,100}?)"
_WORD_END = r"(?=\s?[\"'`”“»’*]{0,3}(?:[.,;!?)\]]{0,3}(?:\s|$)|[，。、；）]))"
_LONG_CLAUSE = r"(?:[^\n.!?:=：。/]|[.](?=\w)){0,60}(?=[\s,=→:：–—'是为為はが은는이-])"
_CLAUSE_END = r"(?=[\"'`”“»’*]{0,3}(?:[.,;!?)\]]{1,3}(?:\s|$)|\s{0,3}(?:\n|$)|[，。、；）]|\s[»”]|\s(?:and|und|et|y|e|и|for|für|pour|para|on|auf|as|bitte|please|but|aber|to|in|at|zum|um|bis|until|if|when|since|seit|desde|depuis|da|со|с|ab|hasta|até|fino|now|right|jetzt)\s))"
_CJK_KEY = r"(?P<key>密码|密碼|口令|密钥|秘钥|令牌|验证码|金鑰|私钥|凭证|凭据|パスワード|暗証番号|秘密鍵|トークン|合言葉|シークレット(?:キー)?|キー|鍵|クレデンシャル|パスフレーズ|비밀번호|암호|비밀 ?키|토큰|시크릿|(?<=API )키|(?<=API)키|액세스 ?키)"
_CJK_IS = r"[^\s，。,.!?！？：:=A-Za-z0-9]{0,14}\s{0,2}(?:是|为|為|就是|=|：|:|は|が|を|이|은|는|가)?[\s「『“\"'`：:]{0,3}"

# Keys with a vendor-specific prefix

_PREFIXED = (
    r"sk-ant-[\w-]{8,300}",
    r"sk-(?=[\w-]{0,60}\d)(?:[a-z0-9]{1,20}-){0,6}[A-Za-z0-9_]{20,300}[\w-]{0,200}",
    r"gh[pousr]_[A-Za-z0-9]{10,300}",
    r"github_pat_[A-Za-z0-9_]{10,300}",
    r"xox[a-z]-[\w-]{10,300}",
    r"xapp-\d-[\w-]{10,300}",
    r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[0-9A-Z]{16}(?![0-9A-Z])",
    r"AIza[\w-]{30,300}",
    r"ya29\.[\w-]{20,300}",
    r"1//0[\w-]{30,300}",
    r"GOCSPX-[\w-]{20,60}",
    r"gl(?:pat|dt|rt|ft|soat|ptt|agent|cbt|imt|oas|ffct)-[\w-]{16,300}",
    r"npm_[A-Za-z0-9]{20,300}",
    r"hf_[A-Za-z0-9]{20,300}",
    r"pypi-(?=[\w-]{0,80}\d)[\w-]{20,400}",
    r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,300}",
    r"whsec_[A-Za-z0-9+/=]{16,300}",
    r"SG\.[\w-]{16,100}\.[\w-]{16,100}",
    r"do[opr]_v1_[a-f0-9]{32,100}",
    r"dckr_pat_[\w-]{16,100}",
    r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{20,100}",
    r"(?:lin_api|figd|gsk|r8|pscale_(?:tkn|pw|oauth)|glsa|glc|sntrys|sntryu|phx|phc|rnd|secret|ntn|dp\.pt|dapi|patSk|re|sbp|tfp|vercel|nrak)_(?=[\w-]{0,60}\d)[\w-]{20,300}",
    r"(?:nvapi|pplx|tskey|xai|NRAK|key|PMAK|fo1|csk)-(?=[\w-]{0,60}\d)[\w-]{20,300}",
    r"hv[sbr]\.[\w-]{20,300}",
    r"ATATT3[\w=-]{20,300}",
    r"ATBB[A-Za-z0-9]{20,60}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{20,100}",
    r"dapi[a-f0-9]{32}(?:-\d)?",
    r"(?:CFPAT|xkeysib|pat-(?:na|eu)\d|pul|tvly|p8e|pm|EZ[AT]K|oy2|LTAI|AKID|API|NRI[IQ]|NRJS|pa|ctx7sk|glffct|gloas|xoxe\.xox[bp]|EAA[A-Za-z]|fio-u|ABSK|AQ\.|A3)-?(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Za-z])[A-Za-z0-9_-]{24,500}",
    r"(?:CCIPAT|bkua|vcp|vc[aikr]|sb_secret|sb_publishable|shippo_(?:live|test)|sq[apu]|pcsk|lsv2_(?:pt|sk)|jina|nf[cpou]|rpa|e2b|flb_(?:live|test)|rubygems|sgp|pnu|rdme|duffel_(?:live|test)|CLOJARS|waka|esecret|"
    r"(?:[a-z]{2,12}_){1,2}(?:live|secret|pat|token|key|sk|apikey))_(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Za-z])[A-Za-z0-9_-]{24,500}",
    r"(?:live|test|fw|ops|up|sl|wsec)_(?=[A-Za-z]{0,60}\d)(?=[a-z0-9]{0,60}[A-Z])[A-Za-z0-9]{24,300}",
    r"dp\.(?:st|ct|scim|audit|sa|said)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{30,60}",
    r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
    r"(?:aio_[A-Za-z0-9]{28}|LTAI[A-Za-z0-9]{12,30}|ATCTT3[\w=-]{20,300}|v1\.0-[a-f0-9]{24}-[a-f0-9]{100,160}|pat\.[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}|"
    r"api_org_[A-Za-z]{34}|s-s4t2(?:ud|af)-[a-f0-9]{64}|[a-f0-9]{32,36}(?:FFFF)?NRAL|NRBR-[a-f0-9]{19}|sha256~[\w-]{43}|sm_(?:pat|aat|sat)_[A-Za-z0-9]{16}|AQVN[\w-]{35,40}|"
    r"t1\.[\w-]{40,90}\.[\w-]{80,90}|lip_[A-Za-z0-9]{20}|[sp]k-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}|fc-[a-f0-9]{32}|mlsn\.[a-f0-9]{64}|sk_[a-f0-9]{48}|napi_[a-z0-9]{60,70}|"
    r"standard_[a-f0-9]{200,300}|vk1\.a\.[\w-]{60,300}|lin_oauth_[a-f0-9]{64}|amzn\.mws\.[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}|EXO[a-f0-9]{24}|SCW[A-Z0-9]{17})(?![\w-])",
    r"K10[0-9a-f]{64}::(?:server|node):[0-9a-f]{16,64}",
    r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{80,120}",
    r"SharedAccessSignature\s[^\s\"']{20,400}",
    r"v\d\.(?:local|public)\.[\w-]{20,2000}",
    r"fm[12](?:ar|a|r)?_[\w+/=-]{30,600}",
    r"(?:FwoGZXIvYXdz|FQoGZXIvYXdz|IQoJb3JpZ2lu)[\w+/=-]{20,1500}",
    r"cio[A-Za-z0-9]{32}(?!\w)",
    r"(?:dckr_oat|ops_eyJ|HRKU|mob|sdk|tk-us|wandb_v1|AKCp|cmVmdGtuOjAx|K00\d|DO00|ico|sct|dvc|hcp|hlt|gh_pat)[_-]?(?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Za-z])[A-Za-z0-9_/+-]{24,500}",
    r"(?:sl|pk|sk|tk)\.(?=[\w.-]{0,80}\d)(?=[\w.-]{0,80}[A-Z])[\w-]{20,300}(?:\.[\w-]{10,100})?",
    r"django-insecure-[^\s\"']{20,80}",
    r"access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"[\w~.]{3}\dQ~[\w~.-]{31,34}",
    r"md-(?=[\w-]{0,21}\d)(?=[\w-]{0,21}[A-Z])(?=[\w-]{0,21}[a-z])[\w-]{22}(?![\w-])",
    r"nsec1[02-9ac-hj-np-z]{50,70}",
    r"FLWSECK_TEST-[\w-]{10,60}|FLWSECK-[\w-]{10,60}",
    r"EAACEdEose0cBA[A-Za-z0-9]{10,300}",
    r"(?:sq0(?:atp|csp|idp)|EAAA)-?[\w-]{22,100}",
    r"[a-zA-Z0-9]{14}\.atlasv1\.[\w-]{40,100}",
    r"(?:MIIE[vop]|MIIEow|MIIJ[QRKJ]|MIIC[XdWe][AQgwE]|MIIBO[gwQ]IBA|MIIBV[AQ]IBA|MHcCAQEE|MHQCAQEE|MIG[HTE]AgEA|MC4CAQAwBQYDK2V|MFECAQEwBQYDK2V|RWRTY0Iy|b3BlbnNzaC1rZXktdjE)[A-Za-z0-9+/=]{20,4000}",
)
PREFIX_WORDS = (
    "sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xox xapp- akia asia abia acca a3t aiza ya29. 1//0 gocspx- glpat gldt glrt glft glsoat glptt glcbt glimt"
    " glagent npm_ hf_ pypi- sk_ rk_ pk_ whsec_ sg. _v1_ dckr_pat_ shpat_ shpca_ shppa_ shpss_ lin_api figd_ gsk_ r8_ nvapi- pplx- nrak key- pmak- fo1- csk-"
    " sntrys_ sntryu_ glsa_ glc_ tskey- xai- phx_ phc_ rnd_ pscale_ hvs. hvb. hvr. atatt3 atbb age-secret-key dapi flwseck eaace eaaa sq0 atlasv1 secret_ ntn_"
    " cfpat- xkeysib- pat-na pat-eu pul- tvly- p8e- pm- ezak eztk oy2 ltai akid api- nrii- nriq- nrjs- pa- ctx7sk- glffct- gloas- xoxe eaa fio-u- absk aq. a3- ccipat_ bkua_ vcp_ vca_ vci_ vck_ vcr_ shippo_ sqa_ sqp_ squ_ pcsk_ lsv2_ jina_"
    " nfp_ nfc_ nfo_ nfu_ rpa_ e2b_ flb_ rubygems_ sgp_ pnu_ rdme_ duffel_ clojars_ waka_ live_ test_ fw_ esecret_ ops_ up_ sl_ wsec_ pat_ token_ key_ sk_ apikey_ dp. dt0 xprv yprv zprv tprv sharedaccesssignature <airtable>"
    " aio_ ltai atctt3 v1.0- pat. api_org_ s-s4t2 nral nrbr- sha256~ sm_pat_ sm_aat_ sm_sat_ aqvn t1. lip_ k-lf- fc- mlsn. napi_ standard_ vk1.a. shpua_ lin_oauth_ amzn.mws. exo scw gloas-"
    " fm1_ fm2_ fm1a fm1r fwogzxivyxdz fqogzxivyxdz iqojb3jpz2lu cio dckr_oat ops_eyj hrku mob sdk tk-us wandb_v1 akcp cmvmdgtuojax k00 k10 do00 ico- sct dvc hcp hlt gh_pat sl. pk. sk. tk. django-insecure access-s access-d access-p 1q~ 2q~ 3q~ 4q~ 5q~ 6q~ 7q~ 8q~ 9q~ 0q~"
    " md- nsec1 .local. .public. mhqcaqee migt mige mc4caqawbqydk2v mfecaqewbqydk2v rwrty0iy miibo miibv miicd miicw miice patsk re_ sbp_ tfp_ vercel_ miie mhcc migh miij miicx b3blbnnzac1rzxktdj dp.pt"
)
# Prefixes of these, for keys split by a line end or by concatenation.
KEY_START = (
    r"(?:sk-(?:ant-|proj-|or-)?|gh[pousr]_|github_pat_|xox[abposr]-|AKIA|ASIA|AIza|ya29\.|gl(?:pat|dt|rt|ft|soat|ptt)-|npm_|hf_|pypi-|[srp]k_(?:live|test)_|whsec_|SG\.|"
    r"do[opr]_v1_|dckr_pat_|shp(?:at|ca|pa|ss|ua)_|lin_api_|figd_|gsk_|r8_|glsa_|glc_|xai-|nvapi-|pplx-|hv[sbr]\.|ATATT3|ATCTT3|ATBB|eyJ|GOCSPX-|AGE-SECRET-KEY-1|PMAK-|NRAK-|CFPAT-|"
    r"xapp-\d-|xkeysib-|sntry[su]_|dapi(?=[0-9a-f]{6})|key-(?=[0-9a-f]{6})|tskey-|tvly-|csk-|sbp_|pscale_(?:tkn|pw|oauth)_|lsv2_|pcsk_|sq0(?:atp|csp|idp)-|ph[cx]_|nfp_|pat-(?:na|eu)\d-|dp\.(?:pt|st|ct)\.)"
)
# These require no further check.
_KNOWN_PREFIX = re.compile(
    r"K10|fm[12]|FwoG|FQoG|IQoJ|cio|django|access-|[\w~.]{3}\dQ~|aio_|LTAI|ATCTT|v1\.0-|pat\.|api_org|s-s4t2|[a-f0-9]{32}|NRBR|sha256~|sm_[pas]at|AQVN|t1\.|lip_|[sp]k-lf|fc-|mlsn|napi_|standard_|vk1|lin_|amzn|EXO|SCW|"
    r"sk-|gh[pousr]_|github_pat_|xox|xapp-|A[KSBC][IC]A|A3T|AIza|ya29|1//0|GOCSPX|gl[a-z]{2,6}-|npm_|hf_|pypi-|[srp]k_|whsec_|SG\.|do[opr]_|dckr|shp[a-z]{2}_|hv[sbr]\.|ATATT|ATBB|AGE-|dapi|FLWSECK|EAACE|sq0|MI[IG]|MH[cQ]C|MC4C|MFEC|RWRT|b3Bl|[xyzt]prv"
)
PREFIXED = re.compile(rf"(?<![A-Za-z0-9_/])(?<![^\n]\+)(?P<secret>{'|'.join(_PREFIXED)})")

# One-time codes, PINs and seed phrases

_PIN = r"(?<![\w-])(?:PIN|Pin|pin|PUK|puk|Geheimzahl|Geheimnummer|code confidentiel|código secreto|codice segreto|clave numérica|пин)(?:[ -]?(?:code|number|nummer|Code|Nummer|번호|番号|号码|コード|码))?(?![A-Za-z])"
_PIN_IS = r"[^\n.:=!?]{0,40}?(?:\s{0,2}[:=：]\s{0,2}|'s\s|\s(?:is|was|ist|lautet|est|es|é|это|remains)\s{1,2}|(?:是|为|は|은|는)\s{0,2})"
_PIN_END = r"(?![A-Za-z0-9_:/%-])(?!\.\d)(?!\s(?:of|on|in|lines?|bytes?|times|ms|items|rows|pins?)\b)"
_NO_CODE = "".join(
    f"(?<!{word} )"
    for word in "error exit status zip return area response postal country bar qr source bank sort tax currency coupon referral voucher".split()
)
_BACKUP = (
    r"(?:(?:recovery|backup|emergency|scratch|rescue|reserve|wiederherstellungs|ersatz|notfall|2fa[ -]backup)[ -]?(?:codes?|keys)|c[oó]di?g?[oe]s? de (?:secours|récupération|recuperación|recuperação|respaldo|emergencia)|codici di (?:recupero|backup|emergenza)|"
    r"резервные коды|恢复代码|恢复码|备用码|备份码|リカバリーコード)"
)

_SESSION_NAME = (
    r"(?:[\w.-]{0,30}sess(?:ion)?[_.-]?(?:id|key|token)?|(?<![a-z])s?sid|connect\.sid|phpsessid|jsessionid|laravel_session|_[a-z]\w{0,30}_session|(?:x?csrf|xsrf)[\w-]{0,20}|"
    r"remember_[\w]{1,60}|\.?aspxauth|\.aspnetcore\.[\w.]{1,40}|asp\.net_sessionid|(?<![a-z])jwt|auth(?:_session|orization)?|"
    r"[\w-]{0,20}logged_in\w{0,60}|li_at|d_c0|z_c0|sapisid|hsid|ssid|__secure-[\w-]{1,40}|__host-[\w-]{1,40}|user_session|_gh_sess|cf_clearance)"
)
_ADMIN = r"[^\s:/|,;\"'`]{1,60}"


# What a line break, a quote or a table puts between the parts of a value.
_LINE_START = r"[ \t]{0,24}(?:[>|│+#*:]{1,3}[ \t]{0,20}){0,2}"
_IN_MARK = r"\[redacted:(?:assignment|key|api-key|header|authorization|cookie|password|url-key|url-parameter|base64)\]"


def _rule(
    kind: str,
    words: str,
    pattern: str,
    accept: Callable[[re.Match[str]], bool] = _always,
    *,
    ignore_case: bool = True,
    stems: str = "",
    also: str = "",
) -> SecretRule:
    """Create a rule.

    The text must contain one entry each of `words` and `also`. Entries are lower-case literals or names of SHAPES.
    """
    compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    needs = tuple(frozenset(group.casefold().split()) for group in (words, also) if group)
    return SecretRule(kind, needs, compiled, accept, stems_in(stems) if stems else None)


# Shapes of words, for rules without a sufficiently specific literal. No shape matches a space.
SHAPES: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "<user@>": re.compile(r"://[^\s'\"<>`]{1,300}@"),
        "<login@>": re.compile(r":[^\s:@/'\"<>`|]{2,100}@"),
        "<=value>": re.compile(r"[\w.%-]=[\w%+/=.:~|-]{10}"),
        "<base64>": re.compile(r"(?<![A-Za-z0-9+/=.-])(?=[a-z0-9+/]{0,15}[A-Z])[A-Za-z0-9+/]{16}"),
        "<airtable>": re.compile(r"pat[A-Za-z0-9]{14}\."),
        "<body>": re.compile(r"[A-Za-z0-9+/]{64}"),
        "<passwd>": re.compile(r":(?:\d{2,5}|\*):"),
        "<-u>": re.compile(r"^-(?:[uUa]|-user|-auth|-proxy-user)", re.MULTILINE),
        "<-p>": re.compile(r"^(?:-[pPwUAXak]|--pass|/p:)", re.MULTILINE),
        "<net>": re.compile(r"^net$", re.MULTILINE | re.IGNORECASE),
        "<call>": re.compile(
            r"(?i:connect\w{0,10}|log_?in|begin|PDO|mysqli|__construct|bind(?:_s)?|connection|credentials?|auth\w{0,12}|sign_?in|basic|user|register|stripe|openai|anthropic|twilio|sendgrid|mailgun|bot|fernet|\.new|secretbox|hash\w{0,4}|password)\(|[\"']-(?:p|pw|P|a)[\"']"
        ),
        "<pair>": re.compile(r"[\w.@\]-][/:]\w|^/$", re.MULTILINE),
        "<prefixed>": re.compile(r"[A-Za-z\d][-_.](?=[a-zA-Z_-]{0,29}\d)[\w-]{30}"),
        # Not necessarily a secret: `secret_context` examines it together with the text before it.
        "<random>": re.compile(r"(?=[\w+/=~.-]{0,30}\d)(?=[\w+/=~.-]{0,30}[A-Z])(?=[\w+/=~.-]{0,30}[a-z])[\w+/=~.-]{30}"),
        # A word with digits or signs inside, as people choose passwords: examined near names of systems.
        "<chosen>": re.compile(r"[^\W\d_]{2}[!#$%&*+?@^~._-]{0,2}[A-Z\d!#$%&*+?@^~_]|[a-z][-_.][A-Z]|[A-Za-z][013457][A-Za-z]"),
        "<random-hex>": re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{32}"),
        "<bitlocker>": re.compile(r"\d{6}-\d{6}-\d{6}-"),
        "<wif>": re.compile(r"(?<!\w)[5KL][1-9A-HJ-NP-Za-km-z]{50}"),
        "<digits>": re.compile(r"\d{2,400}"),
        "<number>": re.compile(r"\d{4,400}"),
        # Patterns taken from detect-secrets
        "<artifactory>": re.compile(r"AKC[a-zA-Z0-9]{10}|AP[\dABCDEF][a-zA-Z0-9]{8}"),
        "<discord>": re.compile(r"[MNO][\w-]{23,25}\.[\w-]{6}\."),
        "<mailchimp>": re.compile(r"-us\d"),
        "<telegram>": re.compile(r":[\w-]{35}"),
        "<twilio>": re.compile(r"(?:AC|SK)[a-z0-9]{32}"),
    }
)


RULES: tuple[SecretRule, ...] = (
    # In URLs
    _rule(
        "url-key",
        "<user@>",
        r"://(?P<secret>[^\s:/@'\"<>`?#]{16,300})(?::(?:x-oauth-basic|x-token-auth)?)?@(?=[\w\[$])",
        _accept_url_key,
    ),
    _rule(
        "password",
        "<user@>",
        r"://(?P<user>[^\s:/'\"<>`]{0,100}):(?P<secret>[^\s/'\"<>`]{1,200})@(?=[\w\[$]|//\w)",
        _accept_login,
    ),
    _rule(
        "password",
        "<user@>",
        r"://[^\s:/@'\"<>`]{1,60}:(?P<secret>(?!\d{1,5}/)[^\s/@'\"<>`]{1,60}/[^\s/@'\"<>`]{1,60})@(?=[\w-]{1,60}\.\w|\[|localhost)",
        lambda match: not any(c in "${}*" for c in match["secret"]),
    ),
    # A slash should be encoded here, but base64 is often pasted without encoding.
    _rule(
        "password",
        "<user@>",
        r"://[^\s:/'\"<>`]{0,100}:(?P<secret>(?!\d{1,5}/)[A-Za-z0-9+/=]{16,200})@(?=[\w\[$])",
        _accept_random,
    ),
    _rule(
        "webhook",
        "",
        r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/\d{5,25}/|webhook\.office\.com/webhookb2/|"
        r"hooks\.zapier\.com/hooks/catch/|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|chat\.googleapis\.com/v1/spaces/[\w-]{1,40}/messages\?key=|"
        r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|oapi\.dingtalk\.com/robot/send\?access_token=|maker\.ifttt\.com/trigger/\w{1,60}/with/key/|"
        r"api\.telegram\.org/bot|logic\.azure\.com[^\s?]{0,200}\?[^\s]{0,200}?sig=|hook\.\w{2,4}\d?\.make\.com/|/webhooks?/(?:[\w-]{0,40}/){0,3}(?=[\w-]{0,60}\d))"
        r"(?P<secret>[\w@:/.%=&?-]{12,300})",
        _accept_hook,
        stems="hooks.slack discord webhook.office hooks.zapier open.feishu open.larksuite chat.googleapis qyapi oapi.dingtalk maker.ifttt api.telegram logic.azure hook. /webhook",
    ),
    _rule(
        "url-parameter",
        "<=value>",
        r"[?&#~;](?P<name>[\w.-]{0,30}(?:token|secret|api_?key|apikey|passwd|password|pwd|(?:cron|build|trigger|deploy|hook|push|auth)[_-]?key)(?:_?(?:hash|hint|value|code|v?\d))?|key|auth|sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|access_?key|"
        r"appid|code|sessionid|sid|pass|hmac|ticket|(?:invite|invitation|auth|access|login|magic|verify|verification|reset|activation|confirm|unsubscribe|share|session|oauth|client|device|user)[_-]?(?:code|hash|ticket|key|id_token|link))=(?P<secret>[\w%+/=.~!*-]{8,2000})",
        _accept_parameter,
        also="token secret api_key apikey pass pwd key auth sig appid code session sid hmac hash ticket link",
    ),
    # Addresses that grant access to whoever knows them
    _rule(
        "url-key",
        "",
        r"(?:hc-ping\.com|webhook\.site|nosnch\.in|ntfy\.sh|cronitor\.link/p/[\w-]{1,60}|infura\.io/(?:ws/)?v\d|alchemy(?:api)?\.(?:io|com)/(?:v\d|nft/v\d)|quiknode\.pro|blastapi\.io|"
        r"ankr\.com/[\w/]{1,40}|chainstack\.com|getblock\.io|uptimerobot\.com/[\w/]{1,30}|betterstack\.com/api/v\d/heartbeat|pushgateway\.[\w.-]{1,40}/[\w/]{1,40}|"
        r"/(?:private|ical|ics|unsubscribe|unsub|opt-?out|preferences|webcal|feeds?|rss|push|ping|heartbeats?|token|tokens?|auth|key|apikey|api[_-]key|access|shared-link|secret-link|t|k|hooks?/\w{1,20}|v\d{1,2}))/(?:private-)?"
        r"(?P<secret>[\w~=-]{8,300})(?=/?(?:[\s\"'`,;)>\]|?#]|\.(?:\s|$|ics|xml|rss|json|atom)|/\w{1,20}\.(?:ics|xml|rss|json)|$))",
        _accept_capability,
        stems="hc-ping webhook.site nosnch ntfy. cronitor infura alchemy quiknode blastapi ankr. chainstack getblock uptimerobot betterstack pushgateway "
        "/private/ /unsub /opt /preferences/ /ical/ /ics/ /webcal/ /feed /rss/ /push/ /ping/ /heartbeat /token /auth/ /key/ /apikey/ /api_key/ /api-key/ /access/ /shared-link/ /secret-link/ /t/ /k/ /hook /v",
    ),
    _rule(
        "url-key",
        "magic auth login verify reset invite confirm sso",
        r"/(?:magic|auth|log-?in|sign-?in|verify|reset|invite|confirm|sso|activate)[\w/-]{0,60}\?(?:[\w.-]{1,20}=[^&\s]{0,80}&){0,4}(?!(?:state|nonce|client_id|id|user_?id|redirect\w{0,8}|scope|uid|next|return\w{0,4}|code_challenge)=)[\w.-]{1,20}=(?P<secret>[\w~-]{20,300})",
        _accept_random,
        stems="/magic /auth /log /sign /verify /reset /invite /confirm /sso /activate",
    ),
    _rule(
        "url-key",
        "/private-",
        r"/private-(?P<secret>[0-9a-f]{16,64})/",
    ),
    _rule(
        "url-key",
        ".m.pipedream .x.pipedream .oast. .interact.sh .burpcollaborator",
        r"://(?P<secret>[a-z0-9]{12,60})\.(?:[mx]\.pipedream\.net|oast\.\w{2,6}|interact\.sh|burpcollaborator\.net)\b",
        lambda match: any(c.isdigit() for c in match["secret"]),
    ),
    _rule(
        "url-key",
        "link url",
        r"https?://[\w.:-]{3,80}/(?:[\w.:~@%+-]{0,80}/){0,6}(?:[\w-]{1,30}[=?]){0,2}(?P<secret>[\w~-]{16,200})(?:/[\w.-]{1,40})?(?:\?\w{1,8}=[\w-]{0,40})?(?=[\s\"'`,;)>\]]|\.(?:\s|$)|$)",
        _accept_open_link,
        stems="http:// https://",
    ),
    # Headers and cookies
    _rule(
        "authorization",
        "authorization",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token|digest|apikey|key|negotiate|ntlm|bot|splunk|hmac|aws4-hmac-sha256)\s{1,3}(?P<secret>(?!(?:username|realm|credential)=)[^\s\"',;]{6,2000})",
        _accept_value,
        stems="authorization",
    ),
    _rule(
        "authorization",
        "authorization",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<secret>[^\s\"',;]{12,2000})",
        _accept_random,
        stems="authorization",
    ),
    _rule("authorization", "bearer", r"\bbearer[ :=\"']{1,3}(?P<secret>[\w.~+/=-]{16,2000})", _accept_with_digit, stems="bearer"),
    _rule(
        "authorization", "basic", r"\bbasic\s{1,3}(?P<secret>[A-Za-z0-9+/]{10,400}={0,2})(?![\w-])", _accept_base64, stems="basic"
    ),
    _rule(
        "header",
        "x- private-token job-token apikey api-key",
        r"(?:\bx-[\w-]{0,40}(?:key|token|auth|secret|signature|password)|private-token|job-token|deploy-token|\bapi-?key)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<secret>[\w.~+/=-]{8,2000})",
        _accept_header,
        stems="x- private-token job-token deploy-token api-key apikey",
    ),
    _rule(
        "cookie",
        "<=value>",
        rf"(?<![\w.-]){_SESSION_NAME}=(?P<secret>[\w%+/=.:~|-]{{10,2000}})",
        _accept_fields,
        also="logged_in sess sid csrf xsrf auth jwt token remember cookie secure host li_at z_c0 d_c0 cf_clear",
    ),
    _rule(
        "cookie",
        "cookie",
        r"(?:cookies?[\"']?\s{0,2}[:=]\s{0,2}[\"'{]{0,2}|;\s{0,2})[\w.%-]{1,60}=(?P<secret>[\w%+/=.:~|-]{16,2000})",
        _accept_fields,
        also="<=value>",
    ),
    # Prefixes
    _rule("api-key", PREFIX_WORDS, PREFIXED.pattern, _accept_prefixed, ignore_case=False),
    # Vendors that are not in the table above
    _rule(
        "api-key",
        "<prefixed>",
        r"(?<![\w/.+=@-])(?P<secret>(?!sha|md5|etag|chunk|index)[A-Za-z]{2,12}\d?(?:[-_.][a-z]{2,8}){0,2}[-_.](?P<body>[A-Za-z0-9_-]{30,300}))(?![\w/.-])",
        lambda match: _is_key_body(match["body"]) and not is_placeholder(match["secret"]),
        ignore_case=False,
    ),
    _rule(
        "jwt",
        "eyj ewog ew0k eya",
        r"(?<![\w+/])(?P<secret>(?:ewog|ew0K|eyA)[\w-]{8,4000}\.[\w-]{8,8000}\.[\w-]{8,2000}|eyJ[\w-]{6,4000}(?:\.[\w-]{6,8000}|\.\.[\w-]{8,8000})(?:\.[\w-]{0,8000}){0,3})",
        ignore_case=False,
    ),
    _rule(
        "base64",
        "<base64>",
        r"(?<![A-Za-z0-9+/=.-])(?P<secret>[A-Za-z0-9+/]{16,4000}={0,2})(?![A-Za-z0-9+/])",
        _accept_base64,
        ignore_case=False,
    ),
    # Configuration and code
    _rule(
        "assignment",
        "pass pwd secret token key pw",
        r"(?:(?<=\n)|\A)[ \t]{0,12}(?:export[ \t])?[\w.-]{0,40}(?:password|passwd|pass|pwd|pw|secret|token|key)[ \t]{0,2}=[ \t]{0,2}(?P<secret>[^\s\"'`$(){}=,;|&<>]{2,100}[;|&<>,][^\s\"'`$(){}=]{2,100})(?=[ \t]{0,3}(?:\r?\n|$))",
        _accept_typed,
    ),
    _rule("assignment", _KEY_WORDS, _KEY + _SEPARATOR + _QUOTED, _accept_quoted, stems=_KEY_STEMS),
    _rule(
        "assignment",
        _KEY_WORDS,
        _KEY + _SEPARATOR + r"(?P<secret>(?:[^\s\"'`,;|\\&<>]|&(?!\w{1,40}=)){4,300})",
        _accept_bare,
        stems=_KEY_STEMS,
    ),
    _rule(
        "assignment",
        _KEY_WORDS,
        _KEY
        + r"[\"']?\s{0,2}[:=]\s{0,2}[|>]?-?[ \t]{0,4}\n[ \t]{1,16}(?P<sep>)(?:(?:value|default|content|data|text)[\"']?\s{0,2}[:=]\s{0,2})?[\"']?(?P<secret>[^\s\"'`]{6,300})[\"']?(?=\s{0,4}(?:\n|$))",
        _accept_mixed,
        stems=_KEY_STEMS,
    ),
    _rule(
        "assignment",
        "pass pwd token api secret requirepass masterauth",
        _OPTION + r"[\"']?(?P<secret>[^\s\"'`]{4,300})",
        _accept_option,
        also="-pass -pwd --",
    ),
    _rule(
        "assignment",
        "value",
        r"(?:name|key|id)[\"']?\s{0,2}[:=]\s{0,2}[\"']?[\w.:-]{0,60}(?:pass(?:word|wd|phrase)?|pwd|secret|token|api_?key|apikey|private_?key|credential)[\w.:-]{0,20}[\"']?[,\s]{1,20}"
        r"-?\s{0,4}[\"']?(?:value|default)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<secret>[^\s\"',<>}]{4,300})",
        _accept_typed,
        also="pass pwd secret token api private credential",
        stems="name key id",
    ),
    _rule(
        "assignment",
        "default value",
        r"(?:variable|output|parameter|param|local)s?\s{1,3}[\"']?[\w-]{0,60}(?:password|passwd|pass|pwd|secret|token|key|credential|auth|psk|webhook|dsn)[\w-]{0,20}[\"']?\s{0,3}[^{}\n]{0,40}\{[^{}]{0,400}?"
        r"(?:default|value|defaultvalue)\s{0,20}[:=]\s{0,10}[\"'](?P<secret>[^\"'\n]{4,300})[\"']",
        lambda match: _accept_typed(match) and not is_measure(match["secret"]),
        also="pass pwd secret token key credential auth psk webhook dsn",
        stems="variable output param local",
    ),
    _rule(
        "assignment",
        _KEY_WORDS,
        _KEY
        + r"[\"']?[ \t]{0,3}:[ \t]{0,3}\{?[ \t]{0,3}\r?\n(?P<between>(?:[ \t][^\n]{0,200}\n){0,8}?)(?P<indent>[ \t]{1,40})[\"']?(?:default|value|defaultvalue|current|data|content|text|plain(?:text)?|result|generated)[\"']?"
        r"[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?P<secret>[^\s\"',}]{4,300})",
        _accept_block,
        stems=_KEY_STEMS,
        also="default value current data content text plain result generated",
    ),
    _rule(
        "assignment",
        "</",
        r"(?:name|key)=[\"'][\w.:-]{0,60}?(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key)[\"'][^<>]{0,60}>\s{0,20}(?P<secret>[^<>\s]{4,300})\s{0,20}</",
        _accept_typed,
        also="pass pwd secret token key",
    ),
    _rule(
        "assignment",
        "",
        r"(?:\b(?:enable|username\s\S{1,40}(?:\s{1,2}privilege\s\d{1,2})?)\s{1,2}(?:algorithm-type\s\S{1,12}\s{1,2})?(?:secret|password)\s{1,2}(?:\d\s{1,2})?|"
        r":\s{1,2}(?:psk|eap|xauth|ntlm|rsa)\s{1,2}(?=\")|\boption\s{1,2}(?:key|password|psk|secret|pass|auth_secret|sae_password)\s{1,2}(?=['\"])|"
        r"\bmessage-digest-key\s\d{1,3}\smd5\s(?:\d\s)?|\bneighbor\s\S{1,40}\s(?:password|key)\s(?:\d\s)?|\bplain-text-password-value\s|#\s?define\s\w{0,30}(?:PASS|PASSWORD|PASSWD|PWD|PSK|SECRET|TOKEN|API_KEY)\w{0,8}\s{1,8}(?=\")|\bacl\s{1,2}setuser\b[^\n]{0,120}?\s>|\bsmbpasswd\b[^\n]{0,60}?<<\s{0,2}\S{1,10}\n|\bpasswd\b[^\n]{0,60}?<<-?\s{0,2}['\"]?\w{1,12}['\"]?\n)"
        r"[\"']?(?P<secret>[^\s\"']{4,100})",
        _accept_typed,
        stems="message-digest-key neighbor~ plain-text-password #define #~define enable~ username~ :~psk :~eap :~xauth :~ntlm :~rsa option~ acl~setuser smbpasswd passwd",
        also="secret password psk eap xauth ntlm rsa option setuser smbpasswd passwd message-digest-key neighbor plain-text-password-value #define define",
    ),
    _rule(
        "password",
        "echo printf",
        r"(?:pass\w{0,8}|pw|secret|token|key|auth)[\w-]{0,20}[\"']?\s{0,2}[ =:]\s{0,2}[\"'<($`]{0,3}(?:echo|printf)\s{1,2}(?:-n\s{1,2}|['\"]%s['\"]\s{1,2})?[\"']?(?P<secret>[^\s\"'$()`]{4,200})[\"')`]?(?=[\s\"')]|$)",
        _accept_typed,
        stems="pass pw secret token key auth",
    ),
    _rule(
        "password",
        "auth login credentials cred",
        r"(?-i:\b[A-Z][A-Z0-9_]{0,30}_)(?:AUTH|LOGIN|CREDENTIALS?|CREDS?)=[\"']?(?-i:[a-z][\w.@-]{1,40})[:/](?P<secret>[^\s\"'/]{4,100})(?=[\"']?(?:\s|$))",
        _accept_typed,
    ),
    _rule(
        "assignment",
        "jwt auth token encryption security crypto signing",
        r"[\"'](?:jwt|auth|token|encryption|security|crypto|signing)\w{0,16}[\"']\s{0,3}:\s{0,3}\{[^{}]{0,300}?[\"']\w{0,12}(?:key|secret)[\"']\s{0,3}:\s{0,3}[\"'](?P<secret>[^\"'\n]{8,200})[\"']",
        _accept_typed,
        also="key secret",
    ),
    _rule(
        "password",
        "begin softap addap",
        r"wifi\w{0,8}\.(?:begin|addap|softap|begin_station)\(\s{0,3}(?:[\"'][^\"'\n]{1,60}[\"']|\w{1,40})\s{0,3},\s{0,3}[\"'](?P<secret>[^\"'\n]{4,80})[\"']",
        _accept_typed,
        stems="wifi",
    ),
    # In an interpreter, the result of an expression that gives a secret
    _rule(
        "key",
        "",
        r"(?:>>>|irb[^>\n]{0,24}>|in \[\d{1,3}\]:|(?<=\n)>|\A>)\s[^\n]{0,120}(?:secret|token|passw|api_?key|securerandom|randombytes|generate_key|generate_password|gen_salt)[^\n]{0,80}\n(?:=>|out\[\d{1,3}\]:)?[ \t]{0,3}b?[\"'](?P<secret>[^\"'\s]{8,300})[\"']",
        _accept_typed,
        stems=">>> irb in~[ >~",
    ),
    _rule(
        "assignment",
        "pass pwd secret psk key token community kennwort mdp senha clave parola heslo",
        r"(?:(?<=\n)|\A)[ \t]{0,16}(?:set[ \t]{1,3})?(?:password|passwd|pass|pwd|secret|psk|key|token|community|passphrase|passcode|kennwort|passwort|mdp|senha|clave|parola|heslo)"
        r"[ \t]{1,16}[\"']?(?P<secret>[^\s\"']{6,100})[\"']?(?=[ \t]{0,3}(?:\r?\n|$))",
        _accept_line,
    ),
    # Calls whose argument at this place is always a secret
    _rule(
        "key",
        "",
        r"define\(\s{0,3}[\"']\w{0,40}(?:KEY|SALT|PASS|PASSWORD|PASSWD|PWD|SECRET|TOKEN)[\"']\s{0,3},\s{0,20}(?P<quote>[\"'])(?P<secret>[^\n]{6,200}?)(?P=quote)\s{0,3}\)",
        _accept_defined,
        stems="define(",
    ),
    _rule(
        "password",
        "",
        r"(?:create_?(?:super)?_?user|sp_addlogin|sp_password|add_?user|make_?user|register_?user|new_?user|createAdmin)[( ]\s{0,4}(?:[\"'][^\"'\n]{1,60}[\"']\s{0,2},\s{0,4}){1,2}[\"'](?P<secret>[^\"'\s@]{6,100})[\"']",
        lambda match: _accept_typed(match) and is_mixed(match["secret"]),
        stems="create_user create_superuser createuser createsuperuser createadmin sp_addlogin sp_password add_user adduser make_user makeuser register_user registeruser new_user newuser",
    ),
    _rule(
        "assignment",
        "stringdata:",
        r"(?<=\n)[ \t]{1,8}(?P<name>[\w.-]{1,60}):[ \t]{1,3}[\"']?(?P<secret>[^\s\"'|>]{4,300})[\"']?(?=[ \t]{0,3}(?:\n|$))",
        _accept_string_data,
    ),
    _rule(
        "password",
        "",
        r"(?:mysqli(?:_connect|->real_connect)?|mysql_p?connect|maria_connect|PDO|getConnection|oci_(?:p?connect)|ibase_connect|odbc_connect|sqlsrv_connect|db2_connect|imap_open|ldap_bind|ssh2_auth_password|ftp_login)(?:\\\\?\w{1,30}){0,2}(?:(?:->|::)__construct)?\(\s{0,4}(?:[^,()\n]{1,120},\s{0,12}){2}[\"'](?P<secret>[^\"'\s]{3,200})[\"']",
        _accept_typed,
        stems="mysqli mysql_ maria_ pdo getconnection oci_ ibase_ odbc_ sqlsrv_ db2_ imap_open ldap_bind ssh2_auth ftp_login",
    ),
    _rule(
        "password",
        "",
        r"(?:NetworkCredential|HTTPBasicAuth|HTTPDigestAuth|UsernamePasswordCredentials?|UsernamePasswordAuthenticationToken|PasswordAuthentication|ftp_login|ssh2_auth_password|SetBasicAuth|basicAuth(?:entication)?|"
        r"PlainAuth|PlainAuthProvider|PlainTextAuthProvider|auth\.basic|credentials\.basic)\(\s{0,4}(?:[^,()\n]{0,120},\s{0,12}){1,2}?[\"'](?P<secret>[^\"'\s]{4,200})[\"']",
        _accept_argument,
        stems="networkcredential httpbasicauth httpdigestauth usernamepassword passwordauthentication ftp_login ssh2_auth setbasicauth basicauth plainauth plaintextauth auth.basic credentials.basic",
    ),
    _rule(
        "password",
        "",
        r"(?:set_?(?:password|passwd|pwd|passphrase|secret_?key)|(?:check|verify|hash|make|encode|validate)_?(?:password|passwd|pw)|bcrypt\.(?:hash|compare)\w{0,4}|checkpw|hashpw|password_(?:hash|verify))\(\s{0,4}[bru]?[\"'](?P<secret>[^\"'\s]{6,100})[\"']",
        lambda match: (
            _accept_typed(match)
            and not _NAMES_ACCESS.search(match["secret"])
            and (
                is_mixed(match["secret"])
                or may_be_password(match["secret"])
                or _JOINED_WORDS.fullmatch(match["secret"]) is not None
            )
        ),
        stems="setpass set_pass setpwd set_pwd setsecretkey set_secret_key checkpass check_pass verifypass verify_pass hashpass hash_pass makepass make_pass encodepass validatepass validate_pass bcrypt. checkpw hashpw password_hash password_verify",
    ),
    # What a script answers when it is asked for a password
    _rule(
        "password",
        "assword asswort assphrase",
        r"(?:assword|asswort|assphrase)[^\n]{0,40}\n[ \t]{0,16}(?:\w{1,20}\.)?(?:send|sendline|exp_send)(?:\s{1,3}--)?[ (]{1,3}[\"'](?P<secret>[^\"'\s\\$]{4,100})(?:\\[rn]){0,2}[\"']",
        _accept_typed,
    ),
    _rule(
        "password",
        "-secrets",
        r"(?<=\n)[ \t]{0,4}[^\s#]{1,60}[ \t]{1,12}(?:\*|[\w.-]{1,60})[ \t]{1,12}[\"']?(?P<secret>[^\s\"']{4,100})[\"']?[ \t]{1,12}(?:\*|\d{1,3}(?:\.\d{1,3}){3})",
        _accept_typed,
    ),
    _rule(
        "key",
        "",
        r"(?:create(?:hmac|cipheriv|decipheriv|secretkey)\(\s{0,4}[\"'][\w-]{1,20}[\"']\s{0,2},\s{0,4}|(?:hash_hmac|openssl_encrypt|openssl_decrypt)\(\s{0,4}[\"'][\w-]{1,20}[\"']\s{0,2},[^,()\n]{1,80},\s{0,4}|"
        r":crypto\.(?:mac|hmac)\(\s{0,4}(?::\w{1,12}\s{0,2},\s{0,4}){1,2}|OpenSSL::HMAC\.\w{0,8}digest\(\s{0,4}[^,\n]{1,60},\s{0,4}|"
        r"CryptoJS\.(?:Hmac\w{1,10}|AES\.(?:en|de)crypt)\(\s{0,4}[^,\n]{1,80},\s{0,4}|(?:URLSafe(?:Timed)?Serializer|TimestampSigner|cookieParser)\(\s{0,4}|"
        r"(?:SecretKeySpec|HMACSHA\d{1,3}|SymmetricSecurityKey|Keys\.hmacShaKeyFor|Algorithm\.HMAC\d{3}|PBEKeySpec)\(\s{0,4}(?:[\w.]{1,60}\()?\s{0,2})b?[\"'](?P<secret>[^\"'\n]{6,200})[\"']",
        _accept_typed,
        stems="createhmac createcipheriv createdecipheriv createsecretkey hash_hmac openssl_ secretkeyspec hmacsha symmetricsecuritykey keys.hmac algorithm.hmac pbekeyspec :crypto. openssl::hmac cryptojs. urlsafe timestampsigner cookieparser",
    ),
    _rule(
        "key",
        "key secret salt pepper",
        r"(?:key|secret|salt|pepper)\w{0,12}\s{0,3}(?:=|:|:=|=>)\s{0,3}(?:new\s)?[\w.:]{1,60}\((?:[\w.]{1,30}\()?\s{0,2}b?[\"'](?P<secret>[^\"'\n]{8,200})[\"']",
        _accept_wrapped,
        stems="key secret salt pepper",
    ),
    _rule(
        "assignment",
        "sensitive",
        r"(?:variable|output)\s{1,3}[\"'][^\"'\n]{1,80}[\"']\s{0,3}\{(?=[^{}]{0,400}sensitive\s{0,20}=\s{0,10}true)[^{}]{0,400}?(?:default|value)\s{0,20}=\s{0,10}[\"'](?P<secret>[^\"'\n]{4,300})[\"']",
        _accept_typed,
    ),
    _rule(
        "assignment",
        "kty",
        r"[\"'](?:d|p|q|dp|dq|qi|k)[\"']\s{0,3}:\s{0,3}[\"'](?P<secret>[\w-]{20,2000})[\"']",
        ignore_case=False,
    ),
    _rule(
        "assignment",
        "",
        r"(?:login|log_in|auth\w{0,12}(?:\s?=\s?)?|connect|sign_?in|basic_?auth|credentials?)\(\s{0,3}[\"'][^\"'\n]{1,60}[\"']\s{0,3},\s{0,3}[\"'](?P<secret>[^\"'\s]{6,200})[\"']",
        _accept_second_argument,
        stems="login log_in auth connect sign basic_auth basicauth credential",
    ),
    _rule(
        "assignment",
        "</",
        r"<(?:[\w-]{1,20}:)?[\w.-]{0,30}(?:password|passwd|pwd|pass|secret|token|apikey|api-key|api_key|privatekey|passphrase|passwort|accesskey|secretkey)[\w.-]{0,20}(?:\s[^<>]{0,100})?>\s{0,20}"
        r"(?:<!\[CDATA\[)?(?P<secret>[^<>\s\]]{3,300})(?:\]\]>)?\s{0,20}</",
        lambda match: _accept_typed(match) and not is_measure(match["secret"]),
        also="pass pwd secret token api private access",
    ),
    _rule(
        "assignment",
        "kind: secrets: credentials: passwords: stringdata:",
        r"(?<=\n)[ \t]{1,8}[\w.-]{1,60}:[ \t]{1,3}(?P<secret>[A-Za-z0-9+/]{12,4000}={0,2})(?=[ \t]{0,3}(?:\n|$))",
        lambda match: _in_secret_block(match) and _accept_fields(match),
    ),
    _rule(
        "password",
        "identified password key",
        r"\b(?:identified\s{1,3}(?:with\s{1,3}\w{1,40}\s{1,3})?by|as\s{1,3}\w{1,40}\s{1,3}key|pragma\s{1,3}(?:\w{1,20}\.)?(?:re)?key\s{0,3}=|(?:encrypted\s{1,3})?password)\s{1,3}(?:for\s{1,3}\S{1,60}\s{0,3}=\s{0,3})?[\"'](?P<secret>[^\"'\s]{4,200})[\"']",
        _accept_typed,
        stems="identified encrypted password as~ pragma",
    ),
    _rule(
        "assignment",
        "\"auth\" 'auth'",
        r"[\"']auth[\"']\s{0,3}:\s{0,3}[\"'](?P<secret>[A-Za-z0-9+/=]{8,2000})[\"']",
        _accept_mixed,
    ),
    _rule(
        "password",
        "password",
        r"\b(?:machine\s{1,4}\S{1,100}\s{1,4})?login\s{1,4}\S{1,100}\s{1,4}password\s{1,4}(?P<secret>[^\s\"']{3,200})",
        _accept_value,
        stems="machine login",
    ),
    _rule(
        "password",
        "<passwd>",
        r"(?:(?<=\n)|\A)[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*@-]{1,60}:(?P<secret>[^\s:]{4,200})(?=\s|$)",
        _accept_value,
    ),
    _rule(
        "password",
        "<passwd> :0:0:",
        r"(?:(?<=\n)|\A)[\w.-]{1,32}:(?P<secret>[^\s:*!$/]{4,100}):\d{1,6}:\d{1,6}:[^:\n]{0,80}:[/\w.-]{0,80}:",
        _accept_typed,
    ),
    _rule(
        "password",
        "$",
        r"(?P<secret>\$(?:apr1|2[abxy]|1|5|6|y|argon2id?|argon2i|pbkdf2-sha\d{3})\$[\w./$=,+-]{16,300})(?<!\.\.\.)",
    ),
    _rule(
        "password",
        "pass pwd pw kennwort mdp contrase clave senha парол 密码 口令",
        r"\b(?:user(?:name)?|uid|login|benutzer(?:name)?|usuario|usuário|utilisateur|用户名?|账号|帳號|логин)\s{0,2}[:=：]?\s{0,2}[\"'`]?[\w.@+-]{1,60}[\"'`]?[,;\s/和及]{1,4}(?:and |und |et |y |e |и )?"
        r"(?:the |das |le |la |el )?(?:pass(?:word|wd|wort)?|pwd|pw|kennwort|mot de passe|mdp|contraseña|clave|senha|пароль|密码|口令)\s{0,2}[:=：]?\s{0,2}[\"'`]?(?P<secret>[^\s\"'`,，。]{4,200})",
        _accept_credentials,
        stems="user uid login benutzer usuario usuário utilisateur 用户 账号 帳號 логин",
    ),
    _rule(
        "password",
        "pass pwd pw kennwort mdp contrase clave senha парол 密码 口令",
        r"\b(?:user(?:name)?|login|benutzer(?:name)?|usuario|usuário|utilisateur|identifiant|utente|логин|пользователь|用户名?|账号)\s{0,2}[:=：]\s{0,2}[\w.@+-]{1,60}[,;\s/]{1,4}"
        r"(?:pass(?:word|wd|wort)?|pwd|pw|kennwort|mot de passe|mdp|contraseña|clave|senha|пароль|密码|口令)\s{0,2}[:=：]\s{0,2}(?P<secret>[^\s\"'`,;，。()<>{}\[\]]{4,100})(?=[\s,;，。]|$)",
        lambda match: _accept_typed(match) and not is_measure(match["secret"]) and not _ANOTHER_FIELD.match(match["secret"]),
        stems="user login benutzer usuario usuário utilisateur identifiant utente логин пользователь 用户 账号",
    ),
    _rule(
        "password",
        "requirepass masterauth bindpw rootpw -password",
        r"\b(?:requirepass|masterauth|bindpw|rootpw|ldappasswd|sasl_passwd|auth-user-pass|plain-text-password|encrypted-password)\s{1,4}[\"']?(?P<secret>[^\s\"']{4,200})",
        _accept_directive,
    ),
    # Command lines
    _rule(
        "password",
        "<-u>",
        r"\b(?:curl|wget|https?|xh|aria2c)\b[^\n]{0,400}?\s(?:-u|--user|-a|--auth|--proxy-user|-U)[ =]?[\"']?[^\s:\"']{1,80}:(?P<secret>[^\s\"']{2,200})",
        _accept_value,
        stems="curl wget http xh aria2c",
    ),
    _rule(
        "password",
        "<-p>",
        r"\b(?:(?:mysql|mariadb)(?:dump|admin|import|show)?\b[^\n]{0,200}?\s-p|sshpass\s{1,3}-p\s{0,3}|(?:docker|podman|nerdctl|skopeo|crane|helm registry) login\b[^\n]{0,200}?\s-p[ =]{0,2}|"
        r"mongo(?:sh|dump|restore|export|import)?\b[^\n]{0,200}?\s-p[ =]{0,2})[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_value,
        ignore_case=False,
        stems="mysql mariadb sshpass docker podman helm~registry skopeo crane nerdctl mongo",
    ),
    _rule(
        "password",
        "<-p>",
        r"\b(?:(?:redis|valkey|keydb)-cli\b[^\n]{0,200}?\s-a|(?:sqlcmd|bcp|tsql)\b[^\n]{0,200}?\s-P|ldap(?:search|modify|add|delete|passwd|whoami)\b[^\n]{0,300}?\s-w|"
        r"(?:smbclient|rpcclient|winexe)\b[^\n]{0,200}?\s-U\s{0,2}[\"']?[^\s%\"']{1,60}%|(?:7z[az]?|unrar|rar)\b[^\n]{0,200}?\s-h?p|(?:zip|unzip)\b[^\n]{0,200}?\s-P|ipmitool\b[^\n]{0,200}?\s-P|"
        r"az (?:acr )?login\b[^\n]{0,200}?\s-p|(?:cqlsh|evil-winrm|crackmapexec|psexec)\b[^\n]{0,200}?\s-p|xfreerdp\b[^\n]{0,200}?/p:|snmp\w{0,8}\b[^\n]{0,200}?\s-[AX])\s{0,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_typed,
        ignore_case=False,
        stems="redis-cli valkey-cli keydb-cli sqlcmd bcp tsql ldap smbclient rpcclient winexe 7z unrar rar zip unzip ipmitool az~acr az~login cqlsh evil-winrm crackmapexec psexec xfreerdp snmp",
    ),
    _rule(
        "password",
        "pass:",
        r"-(?:passin|passout|pass|k|storepass|keypass|srcstorepass|deststorepass)\s{1,2}(?:pass:)?[\"']?(?P<secret>[^\s\"']{4,100})",
        _accept_typed,
        ignore_case=False,
    ),
    _rule(
        "password",
        "keytool openssl",
        r"-(?:storepass|keypass|srcstorepass|deststorepass|k)\s{1,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_typed,
        ignore_case=False,
    ),
    _rule(
        "password",
        "<-u>",
        r"\s(?:-u|-U|--user(?:name)?)[ =]{1,2}[\"']?[\w.@-]{1,60}[\"']?\s{1,3}(?:-p|-P|-w|--pass)[ =]{0,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_mixed,
        ignore_case=False,
        also="<-p>",
    ),
    _rule(
        "password",
        "lftp ncftp",
        r"\b(?:lftp|ncftp\w{0,5})\b[^\n]{0,80}?-u\s{1,3}[\"']?[\w.@-]{1,60},(?P<secret>[^\s\"']{4,100})",
        _accept_value,
    ),
    _rule(
        "password",
        "secret",
        r"\bsecrets?\s{1,3}(?:set|put|create|add)\b[^\n]{0,100}?(?:--body|-b|--value|--secret-string|--data|--string-value)[ =]{1,3}[\"']?(?P<secret>[^\s\"']{6,300})",
        _accept_typed,
        stems="secret",
    ),
    _rule("password", "--from-literal", r"--from-literal[= ][\w.-]{1,60}=[\"']?(?P<secret>[^\s\"']{8,300})", _accept_mixed),
    _rule(
        "password",
        "htpasswd",
        r"\bhtpasswd\s{1,3}(?:-\w{1,6}\s{1,3}){1,4}(?:[\w./-]{1,100}\s{1,3})?[\w.@-]{1,60}\s{1,3}[\"']?(?P<secret>[^\s\"']{4,100})",
        _accept_value,
    ),
    _rule(
        "password",
        "sqlplus",
        r"\b(?:sqlplus|expdp|impdp|rman target)\s{1,3}(?:-\w{1,3}\s{1,3}){0,3}[\w.]{1,60}/[\"']?(?P<secret>[^\s@\"'/]{3,100})@",
        _accept_value,
    ),
    _rule(
        "password",
        "<net>",
        r"\bnet\s{1,3}user\s{1,3}[\w.-]{1,60}\s{1,3}[\"']?(?P<secret>[^\s\"'/]{4,100})",
        _accept_value,
        also="user",
    ),
    _rule(
        "password", "/user:", r"\bnet\s{1,3}use\b[^\n]{0,120}?/user:\S{1,80}\s{1,3}(?P<secret>[^\s\"'/]{4,100})", _accept_value
    ),
    _rule(
        "password",
        "chpasswd",
        r"[\"']?\b[\w.-]{1,40}:(?P<secret>[^\s\"':|]{4,100})[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd",
        _accept_value,
    ),
    _rule(
        "password",
        "pass pwd secret token key auth credential",
        r"\b(?:setx?|setenv|env|arg|export|declare|typeset|add|put)(?:\s{1,3}-{1,2}[\w-]{1,20}){0,3}\s{1,3}[\w.:/-]{0,60}?(?:PASS(?:WORD|WD|PHRASE|WORT)?|PWD|SECRET|TOKEN|API_?KEY|CREDENTIALS?|_KEY|AUTH|(?-i:(?<=[a-z])(?:Password|Token|Secret|Key)))\w{0,12}[ =]{1,3}[\"']?(?P<secret>[^\s\"']{4,300})",
        _accept_set,
        stems="set env arg export declare typeset add put",
    ),
    _rule(
        "password",
        "sudo",
        r"\becho\s{1,3}(?:-n\s{1,3})?[\"']?(?P<secret>[^\s\"'|]{3,100})[\"']?\s{0,3}\|\s{0,3}sudo\s{1,3}(?:-\w{1,10}\s{1,3}){0,5}-S",
        _accept_value,
        ignore_case=False,
        stems="echo",
    ),
    _rule(
        "password",
        "-stdin -pass --with-token",
        r"\becho\s{1,3}(?:-n\s{1,3})?[\"']?(?P<secret>[^\s\"'|$]{4,300})[\"']?\s{0,3}\|[^\n]{0,200}?(?:-stdin|-pass(?:word)?-fd|--with-token)",
        _accept_value,
        ignore_case=False,
        stems="echo",
    ),
    _rule(
        "password",
        "<<<",
        r"(?:passwd|password|-stdin|sudo -S|pass insert|kinit|secrets?|vault|login|data-file=-|--with-token|restic|borg|cryptsetup|luks\w{0,10}|gpg|ssh-add|htpasswd)[^\n]{0,80}?<<<\s{0,2}[\"']?(?P<secret>[^\s\"'$][^\s\"']{3,100})",
        _accept_value,
    ),
    _rule(
        "password",
        "securestring",
        r"SecureString\b[^\n]{0,200}?--value[ =]{1,3}[\"']?(?P<secret>[^\s\"']{4,300})",
        _accept_typed,
    ),
    _rule(
        "password",
        "",
        r"\bvault\s{1,3}(?:login|operator\s{1,3}unseal|unwrap|token\s{1,3}(?:renew|revoke|lookup))\s{1,3}(?:-\S{1,40}\s{1,3}){0,4}[\"']?(?P<secret>[^\s\"'=-][^\s\"'=]{7,300})",
        _accept_mixed,
        stems="vault",
    ),
    _rule(
        "password",
        "",
        r"(?:\bssh-keygen\b[^\n]{0,200}?\s-[NP]\s{0,2}|(?<=\])[\"']?\s-[NP]\s{1,2}|\bwpa_passphrase\s{1,3}(?:\"[^\"\n]{1,40}\"|\S{1,40})\s{1,3}|openssl\b[^\n]{0,200}?\s-(?:passin|passout|pass|k)\s{1,2}(?:pass:)?)(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n-][^\"'\n]{3,100}(?=[\"'])|[^\s\"'-][^\s\"']{3,100}))",
        lambda match: _accept_no_lookup(match) and not match["secret"].startswith(("env:", "file:", "fd:", "stdin")),
        ignore_case=False,
        stems="ssh-keygen wpa_passphrase openssl ~-n ~-p '~-n \"~-n '~-p",
    ),
    _rule("password", "rclone", r"rclone\sobscure\s{1,2}[\"']?(?P<secret>[^\s\"'$-][^\s\"']{3,100})", _accept_value),
    _rule("password", "thin:", r"thin:[\w.$#]{1,40}/(?P<secret>[^\s@/\"']{3,80})@", _accept_value),
    _rule("authorization", "digest", r"\bdigest\s[^\n]{0,400}?response=\"?(?P<secret>[0-9a-f]{32,64})"),
    _rule(
        "header",
        "-key -token -secret -signature",
        r"(?<![\w-])(?!(?:idempotency|cache|surrogate|sort|primary|partition|public|sec-websocket|foreign|dedup\w{0,10}|routing|next|page|continuation)-)[A-Za-z][\w-]{1,40}-(?:key|token|secret|signature)[\"']?\s{0,2}:\s{0,2}[\"']?(?P<secret>[\w.~+/=-]{10,2000})",
        lambda match: _accept_no_lookup(match) and looks_random(match["secret"]) and not is_wordy(match["secret"]),
    ),
    _rule(
        "assignment",
        "key secret token signature credential seed licen _pat .login .auth",
        r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{0,40}?)?(?P<key>key|secret|token|signature|signing|credential|seed|pepper|licen[cs]e|(?<=_)pat|(?<=\.)login|(?<=\.)auth)[\"'`]?\s{0,3}(?:=>|:=|[:=])\s{0,3}(?:[bBrRuUfF]{1,2}(?=[\"']))?[\"'`]?(?P<secret>[\w+/=~.-]{20,300})(?=[\"'`\s,;)}\]]|$)",
        _accept_named,
    ),
    _rule(
        "key",
        "key schlüssel",
        r"(?<![\w-])(?P<name>[\w-]{2,20})[ -](?P<key>key|schlüssel)(?:\s{1,2}(?:is|ist|of ours|here)\b)?\s{0,2}[:=→-]{0,2}\s{1,2}[\"'`]?(?P<secret>[\w+/=~.-]{20,300})(?=[\"'`\s,;)}\]]|$)",
        _accept_named,
    ),
    _rule(
        "key",
        "licen product serial activation produkt",
        r"(?:licen[sc]e|product|serial|activation|produkt|lizenz)[ _-]?(?:key|schlüssel|number|code)?[^\n]{0,20}?(?P<secret>[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){3,7})(?![\w-])",
        _accept_with_digit,
        stems="licen product serial activation produkt lizenz",
    ),
    _rule(
        "password",
        "app google gmail",
        r"\b(?:app|google|gmail|icloud|apple|yahoo|anwendungs?)[ -]{0,2}(?:specific[ -])?(?:password|passwort|kennwort|passcode)[^\n]{0,30}?\s(?P<secret>[a-z]{4}(?:[ -][a-z]{4}){3})(?![\w-])",
        stems="app google gmail icloud yahoo anwendung",
    ),
    _rule(
        "password",
        "pass pwd kennwort contrase senha парол wachtwoord hasło",
        r"\b(?:use|try|type|enter|put|nimm|nehmt|verwende|benutze|gib|utilise|mets|entre|usa|uso|pon|digite|coloque|inserisci|metti|используй|введи|with|mit|avec|con|com)\s{1,2}[\"'`„“«]?(?P<secret>[^\s\"'`„“”«»,;()]{6,60})[\"'`”“»]?\s{1,2}"
        r"(?:for|as|als|für|pour|comme|para|como|come|per|на|для|как)\s{1,2}(?:\w{1,15}\s{1,2}){0,3}(?:password|passwort|passphrase|passcode|kennwort|mot de passe|contraseña|senha|пароль|wachtwoord|hasło)(?![\w-])",
        lambda match: (
            _accept_no_lookup(match)
            and (
                is_mixed(match["secret"])
                or match["secret"].count("-") >= 2
                and not is_predicate(match["secret"].rsplit("-", 1)[1])
            )
        ),  # noqa: PLR2004
        stems="use try type enter put nimm nehmt verwende benutze gib utilise mets entre usa uso pon digite coloque inserisci metti используй введи with mit avec con com",
    ),
    _rule(
        "password",
        "",
        r"\b(?:log\w{0,6}|sign\w{0,3}|melde\w{0,2}|meld|anmeld\w{0,4}|einlogg\w{0,4}|connect\w{0,4}|accedi|accedere|acceda|entra\w{0,2}|inicia\w{0,2}|conecta\w{0,4}|identifi\w{0,6}|войди\w{0,2}|зайди\w{0,2}|логин\w{0,5})\b[^\n.]{0,30}?\s(?:as|with|mit|als|avec|con|com|с|как|под)\s{1,2}(?:[\w.@-]{2,60}\s{0,2}"
        r"(?:/|:|,|\s(?:and|und|et|e|y|и|with|mit))\s{0,2})?[\"'`„“«]?(?P<secret>[^\s\"'`„“”«»,;()/]{6,60})",
        lambda match: _is_strong(match["secret"]),
        stems="log sign meld anmeld einlogg connect acced entra inicia conecta identifi войди зайди логин",
    ),
    _rule(
        "assignment",
        "pass token secret auth pwd key",
        r"[\"']--?[\w-]{0,30}(?:password|passwd|pass|pwd|token|secret|requirepass|masterauth|api-?key|auth)[\"']\s{0,2}(?:,\s{0,20}|\n[ \t]{0,20}-[ \t]{1,3})[\"'](?P<secret>[^\"'\s-][^\"'\s]{3,300})[\"']",
        _accept_typed,
        also="--",
    ),
    _rule(
        "assignment",
        "define(",
        r"define\(\s{0,3}[\"']\w{0,30}(?:PASSWORD|PASS|SECRET|KEY|TOKEN|SALT|AUTH)\w{0,12}[\"']\s{0,3},\s{0,3}[\"'](?P<secret>[^\"'\n]{4,300})[\"']",
        _accept_typed,
    ),
    _rule(
        "password",
        "securestring",
        r"SecureString\s{1,2}(?:-String\s{1,2})?[\"'](?P<secret>[^\"'\s]{4,200})[\"']",
        _accept_value,
    ),
    _rule(
        "password",
        "",
        r"\b(?:ansible-vault\s{1,2}encrypt_string|bw\s{1,2}login\s{1,2}\S{1,60}|op\s{1,2}signin\b[^\n]{0,60}?\s--password)\s{1,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,200})",
        _accept_typed,
        stems="ansible-vault bw op",
    ),
    _rule(
        "password",
        "@",
        r"(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{1,30}){1,4}\s{0,2}[/|]\s{0,2}[\"'`]?(?P<secret>[^\s\"'`/|,;]{6,60})",
        lambda match: _accept_credentials(match) and any(c.isdigit() for c in match["secret"]) and "." not in match["secret"],
    ),
    _rule(
        "password",
        "wi-fi wifi wlan ssid",
        r"\b(?:wi-?fi|wlan|ssid)\b[^\n]{0,60}?\b(?:key|pw|psk|code|schlüssel|clé|clave|chave)\s{0,2}(?:is|ist|est|es|é|:|=|→|->)?\s{0,2}[\"'`„“]?(?P<secret>[^\s\"'`„“”,;]{6,63})",
        _accept_credentials,
        stems="wi-fi wifi wlan ssid",
    ),
    _rule(
        "password",
        "password passwort kennwort",
        r"(?:\w@[\w.-]{2,60}|\b(?:ssh|user|login|account|nutzer|benutzer|konto)\b)[^\n.]{0,40}?[,;]\s(?:the\s|das\s)?(?:password|passwort|kennwort)\s{1,2}(?P<secret>[a-z]{6,30})(?=[.!)]?\s{0,3}(?:\n|$))",
        lambda match: not is_predicate(match["secret"]) and not is_placeholder(match["secret"]),
    ),
    _rule(
        "password",
        "",
        r"\b(?:opens?|unlocks?|unlocked|decrypts?|öffnet|entsperrt|entschlüsselt|s'ouvre|déverrouille|abre|apre|открывается|открывает|(?:get|gets|got|come|let) (?:me |you )?in|komm\w{0,3} (?:du |man |ich )?rein)\s(?:it\s|sich\s)?(?:with|mit|avec|con|com|с|using)\s{1,2}[\"'`„“«]?(?P<secret>[^\s\"'`„“”«»,;()/]{6,60})",
        lambda match: (
            _accept_credentials(match)
            and any(c.isdigit() for c in match["secret"])
            and any(c.isalpha() for c in match["secret"])
            and not is_name(match["secret"])
        ),
        stems="open unlock decrypt öffnet entsperrt entschlüsselt s'ouvre déverrouille abre apre открыва get~ gets~ got~ come~ let~ komm",
    ),
    _rule(
        "password",
        "login zugang cred anmelded accès acceso acesso identifiant credencia credenzial доступ учётн учетн",
        r"\b(?:logins?|zugang(?:sdaten)?|anmeldedaten|creds?|credentials?|identifiants?|accès|accesos?|acessos?|credenciales|credenciais|credenziali|доступы?|учётные данные|учетные данные)\b[^\n:=]{0,60}?(?:,|\s(?:are|is|sind|sont|son|sono|são))\s{1,2}[\"'`]?"
        + _ADMIN
        + r"[\"'`]?(?:\s?/\s?|\s(?:and|und|et|y|e|и)\s)[\"'`]?(?P<secret>[^\s\"'`,，。/]{6,60})",
        lambda match: _accept_credentials(match) and any(c.isdigit() for c in match["secret"]),
    ),
    _rule(
        "password",
        "",
        r"(?<![\w-])(?:connecter|connexion|conectar\w{0,3}|acceder|accéder|accedere|entrar|einzuloggen|anzumelden|log ?in|sign in|войти|входа?)\s{0,2}[:：]\s{0,2}[\w.@-]{1,60}\s{0,2}/\s{0,2}[\"'`]?(?P<secret>[^\s\"'`,，。/]{6,60})",
        _accept_credentials,
        stems="connecter connexion conectar acceder accéder accedere entrar einzuloggen anzumelden login log~in sign~in войти вход",
    ),
    _rule(
        "one-time-code",
        "sms text",
        r"\b(?:got|received|have|bekam|bekommen|erhalten|kam|reçu|recibí|recebi|ricevuto|получил\w?|пришло)\s{1,2}(?P<secret>\d{4,8}|\d{3}[ -]\d{3})\s(?:by|per|par|por|via|in|over|as|по|als)\s(?:a\s)?(?:text|sms)\b",
        also="<digits>",
    ),
    _rule(
        "password",
        "passwort kennwort",
        r"\b(?:passwort|kennwort)\s{1,2}(?:auf|zu|mit)?\s{0,2}[\"„“']?(?P<secret>[\w.-]{6,40})[\"”“']?\s{1,2}(?:eingeben|eintippen|nehmen|benutzen|verwenden|eingegeben|gesetzt|geändert|gestellt|ein|an|verwendet|genommen|benutzt|gewählt|vergeben|eingestellt)\b(?=\s{0,2}(?:[.,;!?)]|\n|$))",
        lambda match: not is_predicate(match["secret"]) and not is_placeholder(match["secret"]),
        stems="passwort kennwort",
    ),
    _rule(
        "password",
        "pass kennwort contrase senha парол clave mdp",
        r"\b(?:user(?:name)?|benutzer(?:name)?|nutzer|usuario|usuário|utilisateur|utente|логин|пользователь)\s{1,2}[\w.@-]{1,40}\s{0,1}(?:,|\s(?:and|und|et|y|e|и))\s{1,2}(?:the |das |le |la |a )?(?:password|passwort|kennwort|mot de passe|contraseña|senha|пароль|clave|mdp)\s{1,2}(?P<secret>[^\W\d_]{6,40})(?=[.!)]?\s{0,3}(?:\n|$))",
        lambda match: not is_predicate(match["secret"]) and not is_placeholder(match["secret"]),
        stems="user benutzer nutzer usuario usuário utilisateur utente логин пользователь",
    ),
    _rule(
        "cookie",
        "true false",
        r"\b(?:TRUE|FALSE)\s{1,8}\d{1,12}\s{1,8}[\w.-]{1,60}\s{1,8}(?P<secret>[^\s\"'<>]{8,2000})",
        _accept_fields,
        ignore_case=False,
    ),
    _rule(
        "cookie",
        "value",
        r"[\"']?name[\"']?\s{0,2}:\s{0,2}[\"'](?:[\w.-]{0,30}sess\w{0,20}|\w{0,10}sid|connect\.sid|[\w.-]{0,20}auth\w{0,10}|jwt|[\w-]{0,20}csrf\w{0,10}|cookie|authorization)[\"']\s{0,2},\s{0,4}[\"']?value[\"']?\s{0,2}:\s{0,2}[\"'](?P<secret>[^\"'\s]{8,2000})[\"']",
        _accept_fields,
        stems="name \"name 'name",
    ),
    _rule(
        "authorization",
        "signature=",
        r"\bSignature=\"?(?P<secret>[0-9a-f]{32,128}|[A-Za-z0-9+/]{40,400}={0,2})",
        stems="signature=",
    ),
    _rule(
        "authorization",
        "websocket-protocol",
        r"Sec-WebSocket-Protocol[\"']?:\s{0,2}[\"']?(?:[\w.-]{1,30},\s{0,2})?(?P<secret>[\w.-]{20,2000})",
        _accept_random,
    ),
    _rule(
        "password",
        "admin root user gast guest",
        r"\b(?:use|type|enter|with|as|nimm|mit|gib|avec|con|com|usa|entre)\s{1,2}(?:admin|root|user|guest|gast|administrator|pi)\s{1,2}(?:and |und |et |y |e )?[\"'`]?(?P<secret>[A-Za-z][^\s\"'`,;()]{5,40}\d{2,6}[!?]?)(?=[\"'`]?(?:[.,;!?]?\s|$))",
        lambda match: _accept_credentials(match) and not is_name(match["secret"]) and "/" not in match["secret"],
        stems="use~ type~ enter~ with~ as~ nimm mit~ gib~ avec con~ com~ usa~ entre~",
    ),
    _rule(
        "password",
        "pass pw p: p=",
        r"(?<![\w-])(?:u|un|usr|user|login|uid)\s?[:=]\s?\S{1,60}?[\s,;/|]{1,3}(?:p|pw|pwd|pass)\s?[:=]\s?[\"'`]?(?P<secret>[^\s\"'`,;]{6,100})",
        _accept_mixed,
        stems="u: u= un: usr user login uid u~: u~=",
    ),
    _rule(
        "password",
        "pulumi ansible chamber doppler heroku fly wrangler",
        r"\b(?:pulumi\s{1,2}config\s{1,2}set\b[^\n]{0,60}?--secret\s{1,2}[\w:.-]{1,60}|chamber\s{1,2}write\s{1,2}\S{1,60}\s{1,2}\S{1,60})\s{1,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{5,200})",
        _accept_typed,
        stems="pulumi chamber",
    ),
    _rule(
        "key",
        "secret",
        r"secret[ _-]?id[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<secret>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
        stems="secret",
    ),
    _rule(
        "key",
        ".key key-file keyfile token-file secret-file _key",
        r"(?:\.key|[_-]key|key[ -]?file|token[ -]file|secret[ -]file)\b[^\n]{0,24}?(?:contains|holds|has|is|says|reads|enthält|contient|contiene|[:=])\s{1,2}[\"'`]?(?P<secret>[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64})(?![\w-])",
        lambda match: (
            any(c.isdigit() for c in match["secret"])
            and not re.search(
                r"cache|public|primary|hash|checksum|fingerprint",
                match.string[max(0, match.start() - 20) : match.start()],
                re.IGNORECASE,
            )
        ),
    ),
    _rule(
        "assignment",
        "auth credential",
        r"(?:auth|credentials?)[\"']?\s{0,3}[:=]\s{0,3}[\[(]\s{0,3}[\"'][^\"'\n]{1,60}[\"']\s{0,3},\s{0,3}[\"'](?P<secret>[^\"'\s]{6,200})[\"']",
        _accept_mixed,
        stems="auth credential",
    ),
    _rule(
        "password",
        "wlan wifi wi-fi netz network router",
        r"\b(?:wlan|wi-?fi|netzwerk|network|router)[\w-]{0,14}\b[^\n.!?]{0,60}?[:=]\s{0,2}(?P<secret>\d{4,6}(?:[- ]\d{4,6}){2,4}|\d{16,20})(?![\d-])",
        stems="wlan wifi wi-fi netzwerk network router",
    ),
    # A hexadecimal key or an identifier as the argument of a login command
    _rule(
        "key",
        "login auth activate authenticate authtoken set-token",
        r"(?:^|[\s`\"'$;&|])[\w.-]{2,24}\s{1,2}(?:[a-z-]{2,12}\s{1,2})?(?:login|auth|authenticate|activate|authtoken|set-token)\s{1,2}(?:--?[\w-]{1,20}[ =]{1,2}){0,2}[\"']?(?P<secret>[0-9a-f]{32,64}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w-])",
        lambda match: any(c.isdigit() for c in match["secret"]),
    ),
    _rule(
        "key",
        "codecov snyk coveralls bugsnag rollbar sentry-cli buildkite percy chromatic",
        r"\b(?:codecov|snyk|coveralls|bugsnag\S{0,10}|rollbar\S{0,10}|sentry-cli|buildkite\S{0,10}|percy|chromatic)\b[^\n]{0,80}?\s(?:-t|-k|--\w{0,20}(?:token|key|auth))[ =]{1,2}[\"']?(?P<secret>[\w-]{16,100})",
        _accept_with_digit,
        stems="codecov snyk coveralls bugsnag rollbar sentry-cli buildkite percy chromatic",
    ),
    _rule(
        "assignment",
        "-d -p --",
        r"(?<!\S)-[DP][\w.-]{0,60}(?:login|token|passw\w{0,6}|secret|key|auth\w{0,8})=[\"']?(?P<secret>[^\s\"']{8,300})",
        lambda match: (
            _accept_mixed(match) and not is_name(match["secret"]) or re.fullmatch(r"[0-9a-f]{32,64}", match["secret"]) is not None
        ),
    ),
    _rule(
        "key",
        "username user",
        r"[\"']user(?:name)?[\"']\s{0,3}:\s{0,3}[\"'][^\"'\n]{1,60}[\"']\s{0,3},\s{0,12}[\"'](?:key|token|secret|api_?key)[\"']\s{0,3}:\s{0,3}[\"'](?P<secret>[\w+/=.-]{16,200})[\"']",
        _accept_with_digit,
    ),
    _rule(
        "one-time-code",
        "steam",
        r"\bsteam(?: guard)?(?: code)?(?:\sis)?\s{0,2}[:=]?\s{1,2}(?P<secret>(?-i:(?=[A-Z]{0,4}\d)[A-Z0-9]{5}))\b",
        stems="steam",
    ),
    # Network devices, directories and system accounts
    _rule(
        "password",
        "community radius tacacs snmp isakmp shared-secret server-key pre-shared-key chap",
        r"\b(?:snmp-server\s{1,2}community|community(?:[ -]string)?(?:\s(?:is|ist|was))?|(?:radius|tacacs\+?)(?:-server)?(?:\s{1,2}host\s\S{1,60})?\s{1,2}(?:server[ -])?(?:key|secret|shared[ -]secret)(?:\s(?:is|ist))?|crypto isakmp key|"
        r"shared-secret|server-key|pre-shared-key(?:\sascii-text)?|rocommunity6?|rwcommunity6?|com2sec\s\S{1,40}\s\S{1,40}|(?:ppp\s)?(?:chap|pap)\s(?:password|sent-username\s\S{1,40}\spassword))(?:\s{1,2}(?:[057]|ascii|hex))?\s{0,2}[:=]?\s{1,2}[\"'`]?(?P<secret>[^\s\"'`,;]{6,100})",
        lambda match: (
            _accept_mixed(match)
            and not is_name(match["secret"])
            or re.search(r"[a-z]\d[a-z]| [57] [\"'`]?[0-9A-Fa-f]{8,200}$", match[0]) is not None
            or "snmp-server" in match[0]
            and match["secret"].casefold() not in ("public", "private", "string")
            and not is_placeholder(match["secret"])
        ),
        stems="snmp-server community radius tacacs crypto~isakmp shared-secret server-key pre-shared-key rocommunity rwcommunity com2sec ppp chap pap",
    ),
    _rule(
        "password",
        "snmp onesixtyone",
        r"\b(?:snmp\w{0,8}|onesixtyone)\b[^\n]{0,120}?\s-c\s{0,2}[\"']?(?P<secret>(?!public\b|private\b)[^\s\"'-][^\s\"']{3,100})",
        _accept_typed,
        ignore_case=False,
        stems="snmp onesixtyone",
    ),
    _rule(
        "password",
        "add_user change_password useradd usermod adduser kadmin htdigest set-password setpass requirepass",
        r"\b(?:rabbitmqctl\s{1,2}(?:add_user|change_password)\s{1,2}\S{1,60}|(?:useradd|usermod|adduser)\b[^\n]{0,120}?\s(?:-p|--password)|kadmin\S{0,6}\b[^\n]{0,120}?-pw|(?:set-password|setpass(?:word)?)\s{1,2}\S{1,60}|config\sset\srequirepass)[\s=]{1,2}[\"']?(?P<secret>[^\s\"'-][^\s\"']{3,100})",
        _accept_typed,
        stems="rabbitmqctl useradd usermod adduser kadmin set-password setpass config~set",
    ),
    _rule(
        "password",
        "<net>",
        r"\bnet\s{1,3}use\s{1,3}(?:[a-z]:|\*)?\s{0,3}\\\\\S{1,120}\s{1,3}[\"']?(?P<secret>[^\s\"'/][^\s\"']{3,100})",
        _accept_value,
        also="use",
    ),
    _rule(
        "url-key",
        "<-u>",
        r"\b(?:curl|https?|xh)\b[^\n]{0,400}?\s(?:-u|--user|-a|--auth)[ =]?[\"']?(?P<secret>[\w.=-]{16,300}):(?=[\"'\s]|$)",
        _accept_random,
        stems="curl http xh",
    ),
    _rule(
        "url-key",
        "",
        r"/(?:invit(?:e|ation)s?|join|reset(?:[_-]password)?|password[_-]?reset|magic(?:[_-]?link)?|verify(?:[_-]email)?|activate|activation|confirm|one-?time|onboard|sso|auth/(?:callback|verify)|s/secret|secret|einladung(?:en)?|passwort[_-]?(?:reset|zur(?:ü|ue)cksetzen|vergessen)|aktivier\w{1,6}|best(?:ä|ae)tig\w{1,6}|freischalt\w{1,6}|freigabe|abmelden|r(?:é|e)initialis\w{1,6}|mot-de-passe|d(?:é|e)sinscription|"
        r"restablecer\w{0,20}|recuperar\w{0,20}|baja|convite|convidar|invito|conferma)s?/(?P<secret>[\w=~.-]{16,300})(?=[\s\"'`)>\],?#]|$)",
        _accept_url_key,
        stems="/invit /join /reset /password /magic /verify /activat /confirm /one /onboard /sso /auth /s/secret /secret /einladung /passwort /aktivier /bestätig /bestaetig /freischalt /freigabe /abmelden /réinit /reinit /mot-de-passe /désins /desins /restablecer /recuperar /baja /convi /conferma",
    ),
    # State of Terraform
    _rule(
        "assignment",
        "random_",
        r"[\"']?(?:random_(?:password|string|bytes|id)|tls_private_key)[\"'.][^\n]{0,40}(?:\n[^\n]{0,200}){0,8}?[\"']?(?:result|value|base64|bcrypt_hash|private_key_pem)[\"']?\s{0,12}[:=]\s{0,3}[\"'](?P<secret>[^\"'\n]{6,300})[\"']",
        _accept_mixed,
        stems='random_ "random_ tls_private',
    ),
    _rule(
        "assignment",
        "known sensitive",
        r"[~+-]\s{1,3}(?:value|result|secret\w{0,10}|key|password|\w{0,20}(?:token|secret|key|password))\s{0,12}=\s{0,3}\"(?P<secret>[^\"\n]{6,300})\"\s{1,3}->\s{1,3}\((?:known after apply|sensitive)",
        _accept_mixed,
    ),
    _rule(
        "assignment",
        "secret_key secretkey",
        r"secret_?key(?:_base)?[\"']?\]?\s{0,3}(?:=|:|=>)\s{0,3}b?(?P<quote>[\"'])(?P<secret>[^\n]{8,200}?)(?P=quote)(?=[\s,;)}]|$)",
        lambda match: (
            any(c.isdigit() for c in match["secret"])
            and not re.search(r"^[$<{%]|\$\{|\{\{|process\.|environ|getenv|[\"'],?\s", match["secret"])
            and (not is_placeholder(match["secret"]) or len(match["secret"]) >= 24)
            and not is_lookup(match["secret"])
            and not re.search(r"change|replace|example|your", match["secret"], re.IGNORECASE)
        ),
        stems="secret_key secretkey",
    ),
    _rule(
        "key",
        "key token secret",
        r"(?<![\w-])(?:api_?key|key|token|secret)\s{0,3}(?:=|:|:=)\s{0,3}[\"'](?P<secret>[A-Za-z0-9+/_=-]{6,100}[\"']\s{0,3}[+.&]\s{0,3}[\"'][A-Za-z0-9+/_=-]{6,100})[\"']",
        lambda match: all(looks_random(part) for part in re.findall(r"[\w+/=-]{6,100}", match["secret"])),
        stems="key token secret api",
    ),
    _rule(
        "seed",
        "2fa totp otp mfa authenticator",
        r"\b(?:2fa|totp|otp|mfa|authenticator)[ _-]?(?:seed|secret|setup key|setup code|setup|key|app)?(?:\sis|\sist)?\s{0,2}[:=→-]?\s{1,2}[\"'`]?(?P<secret>(?-i:[A-Z2-7]{16,64})={0,6})(?![\w=])",
        lambda match: any(c in "234567" for c in match["secret"]),
        stems="2fa totp otp mfa authenticator",
    ),
    # A hexadecimal key that is merely called "key"
    _rule(
        "key",
        "key token",
        r"(?:(?:^|\n|[.!?:]\s)|\b(?:my|our|the|new|your|bare|old|prod|live|staging|this|here's the|mein|unser|der|la|le)\s{1,2})(?:key|token|schlüssel|clé|clave)(?:\s(?:is|here|here is|ist|lautet))?\s{0,2}[:=]?\s{1,2}[\"'`]?"
        r"(?P<secret>[0-9a-f]{32}|[0-9a-f]{64}|[0-9a-f]{48}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?![\w-])",
        _accept_with_digit,
    ),
    _rule(
        "key",
        "",
        _IN_MARK
        + r"[\"'`]?\s{0,2}[\\^]\r?\n"
        + _LINE_START
        + r"[\"'`]?(?P<secret>[\w+/=-]{8,200})(?=[\"'`]?[ \t]{0,3}(?:\r?\n|$))",
        lambda match: is_mixed(match["secret"]),
    ),
    # Dots in place of the middle of a value
    _rule(
        "key",
        "",
        _IN_MARK + r"[ ]?(?:…|\.{3}|\[\.{3}\])[ ]?(?P<secret>[A-Za-z0-9+/=_-]{8,200})(?![\w.])",
        _accept_random,
    ),
    # Directly behind a value, a backslash or the "=" of quoted-printable text continues it.
    _rule(
        "key",
        "",
        _IN_MARK + r"[\\^=]{1,2}\r?\n" + _LINE_START + r"(?P<secret>(?!-)[^\s\"'`\\;,()<>{}\[\]]{4,400})(?=[\"'`;,\s\\)]|$)",
        lambda match: (
            not is_placeholder(match["secret"]) and "://" not in match["secret"] and not _ANOTHER_FIELD.match(match["secret"])
        ),
    ),
    _rule(
        "authorization",
        "signature hawk oauth",
        r"(?:signature[\"']?\s{0,2}[:=][^\n]{0,80}?\bv\d=|\bmac=\"|\boauth_(?:token|consumer_key|signature|token_secret|consumer_secret)=\"?)(?P<secret>[\w+/=%-]{20,500})",
    ),
    _rule("private-key", "private-mac", r"Private-MAC:\s{0,3}(?P<secret>[0-9a-f]{40,64})"),
    _rule(
        "header",
        "session jwt",
        r"(?<![\w-])(?:x-(?:[\w-]{1,30}-)?(?:session|jwt)(?:-id)?|session(?:_?id)?|sessionid)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?P<secret>[\w.~+/=-]{20,4000})",
        lambda match: _accept_random(match) and _UUID.fullmatch(match["secret"]) is None and not is_wordy(match["secret"]),
    ),
    _rule(
        "password",
        "pass pwd kennwort contrase senha парол wachtwoord hasło passe clave",
        r"(?<![\w-])(?:password|passwort|passphrase|passcode|kennwort|pwd|mot de passe|contraseña|clave|senha|пароль|пароля|wachtwoord|hasło)(?![\w-])[^\n.?!]{0,80}\s?[.?!]{1,2}\s{1,3}(?:[-—>]{1,2}\s)?"
        r"(?:(?:i think|i guess|maybe|probably|no,? wait|sorry|pretty sure|ich glaube|vielleicht|je crois|peut-être|creo que|quizás|acho que|talvez|forse|наверное|кажется),?\s{1,2})?"
        r"(?:(?:it'?s|it is|it was|it should be|it must be|try|use|should be|must be|was it|that'?s|es ist|er lautet|es lautet|das ist|versuch|probier|c'est|essaie|c'était|es|era|prueba|usa|è|prova|é|tente|это|попробуй)\s{1,2}(?:now |still |just |mal )?)?"
        r"[\"'`„“«]?(?P<secret>[^\s\"'`„“”«»,;()/]{6,60}?)(?=[\"'`”“»]{0,2}(?:[.,!?]{0,3}(?:\s|$)))",
        _accept_answer,
        stems="pass pwd kennwort mot~de contrase clave senha парол wachtwoord hasło",
    ),
    _rule(
        "password",
        "codice código code",
        r"\b(?:codice segreto|código secreto|code secret|mot secret|palavra secreta)\b[^\n.:=]{0,30}?(?:\s(?:è|é|es|est)\s{1,2}|\s?:\s{0,2})[\"'`„“«]?(?P<secret>[^\W\d_]{6,40})(?=[\"'`”“»]?[.!]?\s{0,3}(?:\n|$))",
        lambda match: not is_predicate(match["secret"]) and not is_placeholder(match["secret"]),
        stems="codice~se código~se code~se mot~se palavra~se",
    ),
    _rule(
        "header",
        "key token secret auth cookie sess sid jwt signature credential",
        r"[\"'](?P<name>[\w.-]{0,40}(?:key|token|secret|auth\w{0,12}|cookie|session(?:[_-]?id)?|sid|jwt|signature|credentials?))[\"']\]?\s{0,2}(?:,|=>?|:)\s{0,2}b?[\"'`](?:(?:Bearer|Basic|Token|ApiKey)\s{1,2}|[\w.%-]{1,40}=(?=[\w%+/.:~|-]{12}))?(?P<secret>[\w%+/=.:~|-]{16,2000})(?=[\"'`;])",
        _accept_header_named,
    ),
    _rule(
        "key",
        "<base64>",
        r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{1,50})[\"']?[ \t]{0,3}(?::(?=[ \t\"'])|=|:=|=>)[ \t]{0,3}[\"'`]?(?P<secret>(?:[A-Za-z0-9+/]{22}==|[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==))(?![\w+/=])",
        lambda match: (
            _NO_KEY_NAME.search(match["name"]) is None
            and _IS_DIGEST.search(match["name"]) is None
            and _accept_random(match)
            and not is_wordy(match["secret"])
        ),
    ),
    _rule(
        "key",
        "",
        r"(?P<name>[A-Za-z]\w{0,30}?)_?(?:\d|[a-d]|one|first|head|start|left)[\"']?\s{0,3}[:=]{1,2}\s{0,3}[\"'`]?\[redacted:[a-z-]{2,30}\][\"'`]?[,;]?\s{1,12}(?:const |let |var |local |my |\$)?(?P=name)_?\w{1,6}[\"']?\s{0,3}[:=]{1,2}\s{0,3}[\"'`](?P<secret>[A-Za-z0-9+/_=-]{6,200})[\"'`]",
        _accept_random,
    ),
    _rule(
        "password",
        "",
        r"\b(?:signed|signing|encrypted|decrypted|protected|locked|secured|signiert|verschlüsselt|geschützt|signé|chiffré|firmado|cifrado|firmato|assinado|подписан\w?|зашифрован\w?)\s(?:with|by|using|mit|avec|con|com|с помощью)\s(?:the\s\w{1,12}\s)?[\"'`„“«]?(?P<secret>[^\s\"'`„“”«»,;()/]{8,100})",
        lambda match: (
            _accept_credentials(match)
            and any(c.isdigit() for c in match["secret"])
            and any(c.islower() for c in match["secret"])
            and (is_wordy(match["secret"]) or looks_random(match["secret"]))
        ),
        stems="signed signing encrypted decrypted protected locked secured signiert verschlüsselt geschützt signé chiffré firmado cifrado firmato assinado подписан зашифрован",
    ),
    _rule(
        "authorization",
        "",
        r"authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?[A-Za-z][\w-]{1,30}\s{1,3}(?P<secret>[\w.~+/=:-]{12,2000})(?=[\"'`\s,;]|$)",
        _accept_random,
        stems="authorization",
    ),
    _rule("authorization", "mac=", r"\bmac=\"(?P<secret>[\w+/=]{20,200})\""),
    _rule(
        "header",
        "x-",
        r"(?<![\w-])x-(?![\w-]{0,40}(?:id|hash|etag|cache|ray|trace\w{0,6}|nonce|digest|checksum|version|span|request|cursor|next|page|runtime|served-by|powered-by)\b)[\w-]{2,40}[\"']?:\s{1,2}[\"']?(?P<secret>[\w+/=.~-]{16,300})(?=[\"'\s,;]|$)",
        lambda match: (
            _accept_long_random(match) and any(c.isupper() for c in match["secret"]) and any(c.islower() for c in match["secret"])
        ),
        stems="x-",
    ),
    _rule(
        "password",
        "redis mysql maria mongo sqlcmd psql",
        r"[\"'](?:redis-cli|mysql\w{0,6}|mariadb|mongo\w{0,6}|sqlcmd)[\"'][^\n\]]{0,120}?[\"']-[apP][\"'],\s{0,3}[\"'](?P<secret>[^\"'\s]{4,100})[\"']",
        _accept_typed,
    ),
    _rule(
        "key",
        "part half piece chunk teil hälfte partie moitié parte mitad metade metà",
        r"\b(?:first|second|third|last|other|1st|2nd|3rd|erste\w?|zweite\w?|dritte\w?|première|seconde|deuxième|primera|segunda|primeira|prima|seconda)\s(?:part|half|piece|chunk|teil|hälfte|partie|moitié|parte|mitad|metade|metà)(?:\s(?:is|ist|est|es|é|è|of it|of the key))?[:,]?\s{1,2}[\"'`]?(?P<secret>[\w+/=-]{6,200})",
        lambda match: (
            is_mixed(match["secret"]) and not is_measure(match["secret"]) and sum(c.isdigit() for c in match["secret"]) >= 2
        ),  # noqa: PLR2004
    ),
    _rule(
        "assignment",
        "",
        r"\b(?:jwt\.(?:sign|verify|encode|decode)\(\s{0,4}[\w.(){}:\"' ]{1,60}?,\s{0,4}|createhmac\(\s{0,4}[\"'][\w-]{1,20}[\"'],\s{0,4}|hmac\.new\(\s{0,4}|fernet\(\s{0,4})b?[\"'](?P<secret>[^\"'\s]{8,300})[\"']",
        _accept_typed,
        stems="jwt. createhmac hmac.new fernet",
    ),
    _rule(
        "assignment",
        "key token secret pass pwd",
        r"(?:key|token|secret|password|passwd|pwd)\w{0,12}[\"']?\s{0,3}(?:=|:|:=|=>)\s{0,3}(?:[\"']{2}\.join\(\s{0,3})?[\[(]\s{0,6}(?P<secret>(?:[bBrRuUfF]?[\"'][\w+/=~.-]{6,100}[\"'],?\s{0,12}){2,12})[\])]",
        lambda match: all(
            looks_random(part) or is_mixed(part) and not is_wordy(part)
            for part in re.findall(r"[\"']([^\"']{1,100})[\"']", match["secret"])
        ),
        stems="key token secret pass pwd",
    ),
    _rule(
        "key", "ac <twilio>", r"\bAC[0-9a-f]{32}\W{1,6}(?:\w{1,12}\W{1,4}){0,2}(?P<secret>[0-9a-f]{32})(?!\w)", ignore_case=False
    ),
    _rule(
        "key",
        "token key secret passwor schlüssel clé clave chave chiave jeton",
        r"(?<![\w/-])(?P<secret>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})[\"'`]?\s(?:is|was|ist|war|est|es|è|é)\s(?:the|our|my|your|der|das|mein|unser|la|le|notre|el|il|o|a)\s(?:[\w-]{1,20}\s){0,2}?"
        r"(?:(?<!public )(?<!primary )(?<!cache )(?<!idempotency ))(?:token|(?:api[ -]|secret[ -]|master[ -]|admin[ -]|access[ -])?key|secret|password|passwort|schlüssel|clé|clave|chave|chiave|jeton)(?![\w-])(?! (?:id|hash|name))",
    ),
    _rule(
        "key",
        "",
        r"\[redacted:(?:assignment|key|api-key|password)\][\"'`]\s{0,20}\.(?:concat|append|push|plus)\(\s{0,3}[\"'`](?P<secret>[^\"'`\s]{4,200})[\"'`]",
    ),
    _rule(
        "key",
        "join",
        r"(?:[\"']{2}\.join\(\s{0,3}[\[(]|-join\s{0,3}@?\()\s{0,6}(?P<secret>[bBrRuUfF]?[\"'][^\"'\n]{1,100}[\"'](?:\s{0,3},\s{0,12}[bBrRuUfF]?[\"'][^\"'\n]{1,100}[\"']){1,12})\s{0,6},?\s{0,6}[\])]",
        _accept_joined,
        stems="''.join \"\".join -join",
    ),
    _rule(
        "key",
        ".join('') .join(\"\") .join(``)",
        r"\[\s{0,6}(?P<secret>[\"'`][^\"'`\n]{1,100}[\"'`](?:\s{0,3},\s{0,12}[\"'`][^\"'`\n]{1,100}[\"'`]){1,12}),?\s{0,6}\]\.join\((?:''|\"\"|``)\)",
        _accept_joined,
    ),
    _rule(
        "key",
        "token key secret password",
        r"(?<![\w/.-])(?P<secret>[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[A-Za-z0-9_-]{20,200})[\"'`]?\s(?:as|in|into|für|als|comme|como|come)\s(?:the\s)?[\"'`$]{0,2}(?-i:[A-Z][A-Z0-9]{0,20}(?:_[A-Z0-9]{1,20}){0,4}_?(?:TOKEN|KEY|SECRET|PASSWORD))\b",
        lambda match: looks_random(match["secret"]) and not is_wordy(match["secret"]),
    ),
    _rule(
        "key",
        "base64:",
        r"(?:key|secret|schlüssel|clé|clave|chave)\b[^\n]{0,30}?base64:(?P<secret>[A-Za-z0-9+/]{22,120}={0,2})(?![\w+/])",
        _accept_random,
        stems="key secret schlüssel clé clave chave",
    ),
    _rule("key", "<digits>", r"(?<![\w/.-])(?P<secret>[12]/\d{10,20}:[0-9a-f]{32})(?!\w)"),
    _rule(
        "recovery-codes",
        "recovery backup scratch",
        r"(?:recovery|backup|scratch)(?:[ -]codes?)?\s?[:=]\s{1,3}(?P<secret>[0-9a-f]{5}-[0-9a-f]{5}(?:[,;\s]{1,3}[0-9a-f]{5}-[0-9a-f]{5}){0,20})(?![\w-])",
        _accept_with_digit,
    ),
    # Prose
    _rule(
        "password",
        _KEY_WORDS
        + " geheim segreto segredo palabra clé schlüssel llave chave jeton parola ключ lösen adgang salasana jelsz wi-fi wifi wlan code",
        _SAYS + _ABOUT + _LONG_CLAUSE + _IS + _VALUE + _WORD_END,
        lambda match: _accept_in_prose(match) and _is_whole(match) and not _is_code_or_purpose(match),
        stems=_SAYS_STEMS,
    ),
    _rule(
        "password",
        "密码 密碼 口令 密钥 秘钥 令牌 金鑰 私钥 凭证 凭据 パスワード 暗証 秘密鍵 トークン 合言葉 シークレット キー 鍵 クレデンシャル パスフレーズ 비밀번호 암호 비밀 토큰 시크릿 키",
        _CJK_KEY + _CJK_IS + r"(?P<secret>[!-~]{4,200}?)(?=[\"'`”」』]?(?:[\s，。、；！？）]|$|[^\x00-\x7f]|[.,;](?:\s|$)))",
        _accept_in_prose,
    ),
    # A password in which letters of another script are mixed with ASCII
    _rule(
        "password",
        "密码 密碼 口令 パスワード パスフレーズ 비밀번호 암호",
        r"(?:密码|密碼|口令|パスワード|パスフレーズ|비밀번호|암호)[^\s，。,.!?！？：:=A-Za-z0-9]{0,10}(?:\s{0,2}(?:就是|是|为|為|改成|改为|设为|=|：|:|は|が|은|는)[\s「『“\"'`]{0,3}|(?<=[码碼令])\s?)"
        r"(?P<secret>[!-~]{1,20}[\u3040-\u9fff\uac00-\ud7a3]{1,4}[!-~]{1,20}(?:[\u3040-\u9fff\uac00-\ud7a3]{1,4}[!-~]{1,20}){0,2})(?=[\s，。、；！？（）」』”\"'`]|です|でし|입니다|이에요|$)",
        _accept_two_scripts,
    ),
    _rule(
        "password",
        _KEY_WORDS,
        _SAYS + r"\s{1,2}[\"'`„“«*]{1,3}(?P<secret>[^\s\"'`„“”«»*]{4,100})[\"'`”“»*]{1,3}",
        _accept_in_prose,
        stems=_SAYS_STEMS,
    ),
    _rule(
        "password",
        _KEY_WORDS,
        r"(?<![\w-])(?P<key>password|passwort|kennwort|passcode|pwd|pw|mdp|mot de passe|contraseña|senha|пароль)\s{1,2}(?P<secret>[^\s\"'`()\[\]]{6,100}?)"
        + _CLAUSE_END,
        lambda match: _accept_credentials(match) and any(c.isdigit() for c in match["secret"]),
        stems="password passwort kennwort passcode pwd pw mdp mot~de contrase senha парол",
    ),
    _rule(
        "password",
        "",
        r"(?:zugangsdaten|zugang|einloggen|anmelden|anmeldedaten|anmeldung|connexion|inicio de sesión|вход|登录|ログイン|로그인|logins?(?:[- ]?daten)?|credentials?|creds?|identifiants?|accès|acceso|acesso|credenciales|credenciais|credenziali|учётные данные|учетные данные|доступы?|"
        r"user(?:name)?\s?/\s?(?:pass(?:word|wort)?|pw)|account|логин|账号密码|账户|账号|アカウント|계정)(?:[^\n:=：]{0,40}?[:=：]|\s?(?:→|->|=>|は|是|为|은|는)|\s(?:are|is|sind|sont|son|sono|são))\s{0,3}[\"'`]?"
        + _ADMIN
        + r"[\"'`]?\s{0,2}[/:|,]\s{0,2}[\"'`]?(?P<secret>[^\s\"'`,，。/]{5,100})",
        _accept_credentials,
        stems="zugang einlogg anmeld connexion inicio вход 登录 ログイン 로그인 login cred identifiant accès acceso acesso учётн учетн доступ user account логин 账号 账户 アカウント 계정",
    ),
    _rule(
        "password",
        "",
        r"\b(?:log(?:ged)?[ -]?in|sign(?:ed)? in|connect|einloggen|anmelden|connecter|entrar)\s{1,2}(?:as|with|mit|als|avec|con|com)\s{1,2}[\w.@-]{1,60}\s{0,2}(?:/|:|and|und|with|mit|et|y|,)\s{0,2}(?P<secret>[^\s\"'`,，。/]{5,100})",
        lambda match: _accept_credentials(match) and any(c.isdigit() for c in match["secret"]),
        stems="log sign connect einloggen anmelden entrar",
    ),
    _rule(
        "password",
        "ssh log sign connect access get",
        r"\b(?:ssh|log(?:ged|ging)?|sign|connect|access|get|rein|komm\w{0,3})\b[^\n]{0,24}\b(?:with|as|mit|als|avec|con|com)\s{1,2}[\w.@-]{2,40}\s?[/:]\s?[\"'`]?(?P<secret>[^\s\"'`,，。/]{6,100})",
        lambda match: (
            _accept_credentials(match)
            and any(c.isdigit() for c in match["secret"])
            and any(c in "!#$?&§%^*@" for c in match["secret"])
        ),
        stems="ssh log sign connect access get rein komm",
    ),
    _rule(
        "password",
        "",
        r"(?:passphrase|phrase secrète|phrase de passe|frase secreta|frase segreta|frase de contraseña|парольная фраза)[^\n.:=]{0,100}?(?:[:=]|→|\b(?:is|lautet|ist|est|es|é|è|to|typed|entered|used|chose|set)\b)\s{0,3}(?P<secret>(?:[\w'’-]{1,20}[ ]){2,11}[\w'’-]{2,20})(?=[.!]?\s{0,3}(?:\n|$)|[.!]\s)",
        _accept_phrase,
        stems="passphrase phrase~secrète phrase~de~passe frase~se frase~de~con парольная",
    ),
    _rule(
        "password",
        "passphrase",
        r"passphrase[^\n.:=]{0,60}?(?:[:=]|→|\b(?:is|lautet|ist|est|es|é|è|to)\b)\s{0,3}[\"“„«'](?P<secret>[^\"”“»'\n]{8,200})[\"”“»']",
        _accept_value,
        stems="passphrase",
    ),
    _rule(
        "password",
        "unlock decrypt open log sign get access unzip extract mount entsperr öffn entschlüssel déverrou ouvrir déchiffr abrir desbloque aprire sblocc",
        r"[\"'`“„](?P<secret>[^\s\"'`“”„<>(){}]{7,60})[\"'`”“]\s(?:to|um|pour|para|per)\s(?:[\w.-]{1,20}\s){0,3}(?:unlock|decrypt|open|log|sign|get in|access|unzip|extract|mount|zu entsperren|entsperren|zu öffnen|entschlüsseln|déverrou|ouvrir|déchiffr|abrir|desbloque|aprire|sblocc)",
        lambda match: _accept_typed(match) and is_mixed(match["secret"]) and not is_name(match["secret"]),
    ),
    _rule(
        "password",
        "ssh sftp scp telnet ftp rdp vnc",
        r"\b(?:ssh|sftp|scp|telnet|ftp|rdp|vnc)\s[^\n@]{0,40}?[\w.-]{1,40}@[\w.-]{1,80}(?::\d{2,5})?\s{0,2}(?:[(#,–—→]|->|--?(?=\s)|/ )\s{0,2}[\"'`]?(?P<secret>[^\s\"'`()<>/]{6,60})[\"'`)]{0,2}(?=\s{0,3}(?:[.,;!]|\n|$))",
        lambda match: (
            _accept_typed(match)
            and is_mixed(match["secret"])
            and not is_name(match["secret"])
            and not re.fullmatch(r"[a-z]{2,20}-v?\d{1,4}(?:\.\d{1,4}){0,3}", match["secret"])
        ),
    ),
    # After a Russian word, a word in another alphabet is a name or a value.
    _rule(
        "password",
        "парол пин",
        r"(?<!\w)(?:парол[ьяеюм]{1,2}|пин-код)\s(?:(?:теперь|сейчас|снова|был|такой|от \w{2,15}|на \w{2,15}|для \w{2,15})\s)?(?:[—–:-]\s)?[«\"']?(?P<secret>[A-Za-z][\w.!@#$%-]{5,40})[»\"']?(?=\s{0,2}(?:[,;!?)]|[.](?:\s|$)|\n|$)|\s(?:со|с|и|на|для|от|от|пока)\s)",
        _accept_latin,
    ),
    _rule(
        "key",
        "",
        r"\[redacted:api-key\]\r?\n[ \t>|]{0,12}(?P<secret>[A-Za-z0-9_-]{14,200})(?=[\s.,;])",
        lambda match: (
            _accept_long_random(match)
            and any(c.isdigit() for c in match["secret"])
            and any(c.isupper() for c in match["secret"])
            and any(c.islower() for c in match["secret"])
        ),
    ),
    _rule(
        "key",
        "",
        _IN_MARK
        + r"[ \t]{0,3}[│|]?\r?\n"
        + _LINE_START
        + r"(?P<secret>[A-Za-z0-9+/=_-]{8,400})(?=[\"'`;,)]?[ \t]{0,20}[│|]?[ \t]{0,3}(?:\r?\n|$)|[;\"'`] )",
        _accept_continuation,
    ),
    _rule(
        "key",
        "",
        r"\[redacted:(?:assignment|key|api-key)\][^\n]{0,60}\b(?:continue[sd]|rest|remainder|remaining|second|other half|then|next|weiter|suite|resto|follow\w{0,4})\b[^\n]{0,40}:\s{0,3}(?:\r?\n)?[ \t]{0,8}[\"'`]?(?P<secret>[\w+/=-]{12,300})(?=[\"'`.,]{0,2}(?:\s|$))",
        _accept_random,
    ),
    # Codes
    _rule(
        "one-time-code",
        "<digits>",
        r"(?<![\w-])(?:--?(?:otp|totp|2fa|mfa|token-code|code|passcode|one-time-\w{1,10}|verification-code|two-factor\w{0,6}|mfa-\w{1,8})[ =]{1,2}|"
        r"[\"']?(?:x-)?(?:\w{1,12}[_-])?(?:(?:otp|totp|2fa|mfa)(?:[_-]?(?:code|token|pin|password|passcode|value))?|(?:one_?time|verification|two_?factor|sms|security|tan|auth|confirmation|login)[_-]?(?:code|pin|password|passcode))[\"']?\s{0,2}[:=]\s{0,2})[\"']?(?P<secret>\d{6,8}|\d{3}[ -]\d{3})(?![\w.-]| [a-z])",
        stems="-otp --otp -totp --totp --2fa --mfa --token-code --code --passcode --one-time --verification --two-factor otp totp 2fa mfa one verification two sms security tan auth confirmation login x- \" '",
    ),
    _rule(
        "recovery-codes",
        "recover wiederherstell récup recuper ripristin filevault bitlocker rescue backup ersatz notfall herstel återställ восстанов 恢复 復旧 복구 unlock setup pairing escrow emergency",
        r"(?:recover|wiederherstell|récup|recuper|ripristin|filevault|bitlocker|rescue|backup|ersatz|notfall|herstel|återställ|восстанов|恢复|復旧|복구|unlock|setup|pairing|escrow|emergency)[^\n]{0,80}?(?<![\w-])"
        r"(?P<secret>(?-i:[A-Z0-9]{4,6})(?:-(?-i:[A-Z0-9]{4,6})){2,7}|(?-i:[A-Z0-9]{1,2})-(?-i:[A-Z0-9]{4,6})(?:-(?-i:[A-Z0-9]{4,6})){3,7}|\d{4} \d{4}(?! ?\d)|\d{3}-\d{2}-\d{3}|\d{4}-\d{3}-\d{4})(?![\w-])",
        lambda match: (
            any(c.isdigit() for c in match["secret"])
            and not _is_uuid_like(match["secret"])
            and (not match["secret"][0].isdigit() or _OF_CODES.search(match[0]) is not None)
        ),
        stems="recover wiederherstell récup recuper ripristin filevault bitlocker rescue backup ersatz notfall herstel återställ восстанов 恢复 復旧 복구 unlock setup pairing escrow emergency",
    ),
    _rule(
        "one-time-code",
        "<digits>",
        r"\bpass ?code\s{0,2}(?:[:=]|is)?\s{1,2}(?P<secret>\d{5,10})(?![\w.-]|\s(?:digits|characters|attempts))",
        stems="passcode pass~code",
    ),
    _rule(
        "one-time-code",
        "<chosen> <digits>",
        r"(?<![\w-])(?:confirmation|verification|security|log-?in|sign-?in|pairing|device|activation|invite|bestätigungs|sicherheits|einladungs|freischalt)[ -]?code\s{0,2}(?:[:=]|is|was|ist|lautet)\s{0,2}[\"'`]?(?P<secret>(?-i:[A-Z0-9]{3,6}(?:-[A-Z0-9]{3,6}){1,4}))(?![\w-])",
        _accept_with_digit,
        stems="confirmation verification security log sign pairing device activation invite bestätigungs sicherheits einladungs freischalt",
        also="code",
    ),
    _rule(
        "seed",
        "oathtool",
        r"\boathtool\s{1,2}(?:-{1,2}[\w-]{1,20}(?:[ =](?:sha\d{1,3}|\d{1,2}))?\s{1,2}){0,5}[\"']?(?P<secret>[A-Z2-7a-z0-9]{12,80}={0,6})(?![\w/.-])",
        _accept_value,
    ),
    _rule(
        "one-time-code",
        "<number>",
        _PIN + _PIN_IS + r"[\"'`*]{0,3}(?P<secret>\d{4,8}|\d{3} \d{3})(?!\d)" + _PIN_END,
        ignore_case=False,
        stems="pin puk geheimzahl geheimnummer code~confidentiel código~secreto codice~segreto clave~numérica пин",
    ),
    _rule(
        "one-time-code",
        "pin puk",
        r"(?<![\w-])(?:my|our|mein|unser|sim|card|karten|door|tür|phone|handy|bank|alarm|safe|screen|wallet|ec)(?:[- ][\w]{1,12}){0,2}[- ]?(?:pin|puk)(?:[ -]?code)?,?\s{1,2}(?P<secret>\d{4,8})\b"
        + _PIN_END,
        also="<number>",
        stems="my our mein unser sim card karten door tür phone handy bank alarm safe screen wallet ec-",
    ),
    _rule(
        "one-time-code",
        "<number>",
        r"(?<![\w-])(?:(?:PUK|Puk|puk)[12]?(?:[ -]?(?:[Cc]ode|[Nn]umber|[Nn]ummer))?\s{0,2}[:=]?\s{1,2}(?=\d{8}(?!\d))|(?:SIM-|Karten-|Super-)?PIN[12]?\s{1,2})(?P<secret>\d{4,8})(?!\d)"
        + _PIN_END,
        lambda match: not _OF_A_BOARD.search(match.string, max(0, match.start() - 60), match.end() + 60),
        ignore_case=False,
        stems="puk pin sim-pin karten-pin super-pin",
    ),
    # What the code is entered for
    _rule(
        "one-time-code",
        "<digits>",
        r"(?<![\w-])(?:code|código|codice)\s(?P<secret>\d{4,8}|\d{3}[ -]\d{3}),?\s(?:to|para|um|zum|pour|per)\s(?:\w{1,10}\s){0,2}?(?:sign|log|verify|confirm|authenticate|unlock|"
        r"iniciar|entrar|acceder|verificar|confirmar|anmelden|anzumelden|einloggen|bestätigen|connecter|vérifier|confirmer|accedere|verificare|confermare)",
        stems="code código codice",
    ),
    _rule("one-time-code", "<number>", r"(?<![\w-])pin[- ]?code\s{1,2}(?P<secret>\d{4,8})\b" + _PIN_END, stems="pin"),
    _rule(
        "one-time-code",
        "<digits>",
        _NO_CODE
        + r"(?<![\w-])code\s{0,3}(?:is|:|=|ist|lautet|est)\s{0,3}[\"'`]?(?P<secret>\d{6}|\d{3}[ -]\d{3})\b(?=[\"'`]?\s{0,2}(?:[.,;!?)]|\n|$))",
        stems="code",
    ),
    _rule(
        "one-time-code",
        "验证码 код 校验码 认证码 인증번호 確認コード 認証コード",
        r"(?:验证码|校验码|认证码|인증번호|確認コード|認証コード|код(?:а)?(?: подтверждения| доступа| из смс)?)\s{0,2}(?:是|为|は|는|—|-)?[：: ]{0,3}(?P<secret>\d{4,8})\b",
    ),
    _rule(
        "recovery-codes",
        "code key код 代码 备用码 恢复码 备份码 コード códig codic",
        _BACKUP
        + r"(?P<between>[^\n:=→\[]{0,100}?)(?P<sep>[:=：\n→!]|->|\s(?=[a-z-]{0,16}\d)(?=[a-z0-9]{3,8}-[a-z0-9]{3,8}\b)|\b(?:is|are|ist|sind|lautet|lauten|est|sont|son|es|são|è|sono)\b)\s{0,4}(?P<secret>(?:[-*•\d.)\s,;/|]{0,8}(?:(?:and|und|et|y|e|и)\s)?(?:[A-Za-z0-9]{3,8}(?:-[A-Za-z0-9]{3,8}){1,4}|\d{4} \d{4}(?! ?\d)|\d{3} \d{3} \d{2,3}(?! ?\d)|(?=[a-z ]{0,40}\d)[a-z0-9]{4}(?: [a-z0-9]{4}){3,15}|\d{6,10}|(?=[A-Za-z]{0,12}\d)[A-Za-z0-9]{6,16}|[0-9a-f]{32,64})){1,30})",
        _accept_codes,
        stems="recovery backup emergency scratch rescue reserve wiederherstellungs ersatz notfall 2fa code código codici резервные 恢复代码 恢复码 备用码 备份码 リカバリーコード",
    ),
)


def _is_whole(match: re.Match[str]) -> bool:
    """Return whether the value is a secret: it is not a word, or is not used as part of a sentence.

    A German noun in a sentence needs an article.
    """
    value = match["secret"]
    german = match["key"].casefold() in ("passwort", "kennwort", "losungswort") and value.istitle()
    return german or is_mixed(value) or looks_random(value) or _ends_clause(match)


def _is_code_or_purpose(match: re.Match[str]) -> bool:
    """Return whether the word belongs to code or expresses a purpose, rather than describing the password.

    Examples are "username, password = split" and "the password to authenticate".
    """
    value = match["secret"]
    if _NO_SPACES.search(value):  # In scripts without spaces, the match extends beyond the value.
        return True
    if is_mixed(value) or value.isdigit() or match["open"].strip():
        return False
    joint = match.string[max(match.end("key"), match.start("secret") - 8) : match.start("secret")].split()
    if joint[-1:] == ["to"]:
        return not match["key"].casefold().startswith("hasł")
    return joint[-1:] == ["="] and not _begins_line(match)


_NO_SPACES = re.compile("[\u3040-\u9fff\uac00-\ud7a3]")


def _ends_clause(match: re.Match[str]) -> bool:
    return _AFTER.match(match.string, match.end("secret")) is not None


_AFTER = re.compile(_CLAUSE_END[3:-1])
