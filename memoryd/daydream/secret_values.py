"""Distinguish secret values from placeholders, code and human-chosen names. Pure functions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path

import numpy as np

from memoryd.core.deadline import NEVER, Deadline
from memoryd.core.errors import ConfigError

LETTERS_FILE = Path(__file__).with_name("secret_letters.npy")

_NOT_VALUES = frozenset(
    """none null nil true false undefined string str text bytes int number bool boolean any unknown object optional required
    invalid missing expired valid wrong correct incorrect empty unset default example placeholder redacted hidden secret
    password passwd passphrase token changeme change_me value your here yes no not set removed masked bearer basic
    test secrets vault keyring keychain env stdin file prompt auto generated generate random disabled enabled todo tbd tba n/a na
    varchar secretstr passwordinput plaintext plain hash hashed encrypted key keys pass user username login admin root
    argon2 argon2i argon2d argon2id bcrypt scrypt pbkdf2 sha1 sha256 sha512 sha-256 sha-512 md5 base64 base32 utf8 utf-8 aes128 aes256 aes-256
    contraseña contrasena passwort kennwort senha пароль 密码 密碼 パスワード 비밀번호 hasło wachtwoord lösenord
    aes-256-gcm oauth oauth2 oidc saml2 jwt totp mfa 2fa u2f fido2 ed25519 rsa2048 rsa4096 x509 hs256 rs256 es256 http2 ipv4 ipv6 k8s s3 ec2
    oauth2.0 v1 v2 v3 p256 secp256k1 1password bitwarden keepass i18n l10n pkcs8 pkcs12 crc32 hex32 ascii85 option options flag flags argument arguments parameter parameters""".split()
)
# Predicates in sentences about passwords, such as "the password is too short", in the supported languages.
_PREDICATES = frozenset(
    """a an the in on at of to for too so very only also always never still now then used same different secure strong weak long short old new
    correct sent stored safe public private up per from with without that this there where what when how why being been
    wrong bad good ok okay fine gone there ready due shown lost known it its just never often kept visible nothing something
    gleich unverändert inchangé identique idéntica mismo misma stesso stessa
    falsch richtig leer nötig noetig pflicht zu im in am an der die das ein eine kein keine nicht nur auch immer nie jetzt sicher schwach
    stark alt neu weg bekannt unbekannt da hier dort gut schlecht egal pflichtfeld
    trop le la les un une dans en de du des pas plus aussi requis vide faux correct court long fort faible bon mauvais perdu nul
    el los las una muy más mas demasiado corta larga débil debil fuerte nula vacía vacia falsa errónea buena mala igual
    o os as um uma muito não nao curta longa fraca forte errada vazia nula boa inválida invalida
    il lo gli uno molto non corta debole sbagliata vuota
    het een te niet kort lang fout leeg zwak
    wymagane wymagana błędne niepoprawne nieprawidłowe puste krótkie povinné prázdné špatné neplatné krátké kötelező hibás érvénytelen zorunlu geçersiz yanlış hatalı obligatoriu greșită incorectă
    krävs felaktigt påkrevd ugyldig forkert ugyldigt påkrævet pakollinen väärä virheellinen verplicht ongeldig onjuist vereist obavezna pogrešna neispravna obvezno napačno vale nõutav nepareiza obligāta neteisingas privalomas
    wajib salah kosong bắt sai обязателен обязательный обязательно задължителна грешна обов'язковий невірний
    слишком не в на неверный неверен пустой короткий старый новый нужен обязателен""".split()
)
_PREDICATE_ENDING = re.compile(
    r"(?:ed|ing|able|ible|ful|less|ive|ary|ory|ous|ent|ant|ical|"
    r"ig|lich|bar|ert|iert|end|los|legt|setzt|ndert|chert|halten|aufen|"
    r"ée?s?|oire|ide|ado|ida|ada|ido|ados|idas|orio|oria|óri[ao]s?|ect[ao]s?|ut[ao]|us[ao]|ável|ível|ato|ata|ito|ita|ен|ён|на|но|ый|ая)$"
)
_TEMPLATE = re.compile(
    r"^[$%<{(&@*\[]|^redacted[-_]|^\.[*+]|^(?:[a-z_]{2,20}%2F){1,4}[a-z_]{2,20}$|^(?:[aA0]-[zZfF9]){2,3}|\$\{|\$\(|\{\{|%\(|\.\.\.|…|[()]|\*{3}|•{3}|x{4,}|^(?:your|my|the|some|dein|ihr|insert|enter|put|votre|tu)[-_ ]|"
    r"[-_](?:here|goes[-_]here|placeholder)$|^(?:ex|s)ample[-_]|change[-_]?(?:me|it|this)|^replace[-_]|^dummy|^fake[-_]?(?:key|token|password|secret)|"
    r"^example|EXAMPLE(?:KEY)?$|example[-_]?(?:key|token|secret|password)$|^12345|^abc123$|^test[-_]?(?:key|token|secret|password)|^not[-_]a[-_]|^(?:process\.env|import\.meta|os\.(?:environ|getenv)|System\.getenv|ENV\[|secrets\.[A-Z])|^!{1,2}[a-z]|^ENC\[|^!vault|^\{cipher\}|^sealed:|^%[\w.]{1,60}[(%]|^#\{|^@[\w.]{1,60}[@(]|"
    r"^(?:env|file|fd|stdin|vault|ssm|awssm|gcpsm|secretref|keyvault|ref\+\w{1,20}):\S",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"^[a-z]{2,20}(?:\.[a-z0-9]{2,20})+$", re.IGNORECASE)
_CHOSEN_WORDS = re.compile(r"[a-z0-9]{4,14}(?:\.[a-z0-9]{4,14}){1,3}(?<=[a-z]\d\d)\d{0,2}[!?]?")
_LOOKUP = re.compile(
    r"^(?:process|os|sys|env|self|this|config|cfg|settings|options|args|req|request|secrets|vars?|data|local|module|params|inputs|ctx|app|std)"
    r"[.:\[]|^[A-Za-z_]\w{0,80}(?:(?:\.|::|->|\?\.)[A-Za-z_]\w{0,80})+$|^[a-z_][\w.]{0,60}\[|^[A-Z][A-Z_]{3,60}$|^arn:|^projects/|^op://|^vault:|^ref\+|"
    r"^[A-Z]?[a-z]{2,20}(?:[A-Z][a-z]{2,20}|(?:ID|URL|URI|API|JWT|UUID|HTTP|JSON|SSO|MFA|OTP)(?![a-z])){1,6}[;!?,)]?$"
)
_NAMESPACE = re.compile(
    r"^(?:process|os|sys|env|self|this|config|cfg|settings|options|args|req|request|secrets|vars?|params|inputs|app|module|data|local|random_password)\."
)
_PATH = re.compile(
    r"^(?:\.{0,2}/|~/|[A-Za-z]:\\|https?://|file:)|"
    r"^[\w./@-]{1,200}\.(?:tsx?|jsx?|py|go|rs|rb|java|kt|php|cs|c|h|md|json|ya?ml|toml|ini|cfg|conf|env|txt|html|css|s?css|sh|pem|crt|key|pub|log|sql|lock|tf|xml|png|svg)(?::\d{1,6})?$"
)
_RELATIVE = re.compile(r"^[\w.@-]{1,60}/[\w./@-]{1,140}$")
_DATE = re.compile(
    r"^\d{4}-\d{2}-\d{2}(?:[T ][\d:.Z+-]*)?$|^v?\d{1,4}(?:\.\d{1,6}){1,3}(?:[-+][\w.+-]{0,40})?$|^\d{1,3}(?:[.,]\d{1,3})?%?$"
)
_UNIT = re.compile(r"^\d{1,12}(?:ms|s|m|h|d|kb|mb|gb|px|em|rem|k|x|min|sec|days?|hours?|chars?|bytes?|bits?)?$", re.IGNORECASE)
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CONSONANTS = re.compile(r"(?=([bcdfghjklmnpqrstvwxz]{3}))", re.IGNORECASE)
# Clusters of three consonants that occur in ordinary words.
_CLUSTERS = frozenset(
    """str scr spr spl thr shr chr sch nst rst ntr mpl ngl ght rch nch tch lth nth rth dth pth rld rds rks rts cts pts nts nds ngs cks lls sts mpt nct
    mps rms rns hts tts sks phr sph ckl ttl ddl ppl bbl ffl ggl ntl ldr ndr mbl ngr nsp xpl xtr bst ckg tpl ffs rsh ssw wsk rkf rkb rkd rkp cht hts nks
    nkt nft rft rnt rbs rst ctr ptr ftw ntg ngt ngs lst rps tbl ckp ckb ckf cks dgr ndl ngf nkl rtf rtm rtb rtl rtp rsp lts lds lps ncr nfr nfl ssl sql
    sdk ddr ttp tls rls ngk cpl crt ntf ntp ntm ntn ndp ndb ndf ndc ndm ldn sst rrr mpr mbr""".split()
)
_VOWEL = re.compile(r"[aeiouyäöüéèáíóú]", re.IGNORECASE)
_SIGNS = frozenset("!#$%^&+=*?@~§€")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,200}={0,2}")
_BASE32 = re.compile(r"(?=[A-Z]{0,12}[2-7])[A-Z2-7]{16,200}={0,6}")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-f]+", re.IGNORECASE)
_HASHED = re.compile(r"^(?:sha\d{1,3}|md5|blake2\w?)[-:_=]", re.IGNORECASE)
_LONG = 200


# "user:pass", "user:password", "username:password", "Aladdin:open sesame" and "foo:bar" in base64
_EXAMPLE_LOGINS = frozenset(
    "dXNlcjpwYXNz dXNlcjpwYXNzd29yZA== dXNlcm5hbWU6cGFzc3dvcmQ= QWxhZGRpbjpvcGVuIHNlc2FtZQ== Zm9vOmJhcg==".split()
)


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, such as a type, a template, a path, or a lookup of something else."""
    bare = value.strip("\"'`<>[]{}().,;:!?-_ ").casefold()
    if not bare or bare in _NOT_VALUES or value in _EXAMPLE_LOGINS or len(set(bare)) <= 2:
        return True
    head = _CHOSEN_PAIR.sub("", value[:_LONG])
    if _BASE64.fullmatch(head) and not is_wordy(head):
        return False
    if is_compound(head) or _ALGORITHM.fullmatch(head):
        return True
    if _RELATIVE.match(head) and is_wordy(head):
        return True
    return _TEMPLATE.search(head) is not None or _PATH.search(head) is not None or _HASHED.match(head) is not None


# Brackets between the letters of a value, as in "verde(lima)88", where a call or an index would end.
_CHOSEN_PAIR = re.compile(r"(?<=[A-Za-z\d])(?:\([A-Za-z\d]{1,20}\)|\[[A-Za-z\d]{1,20}\])(?=[A-Za-z\d!#?&+*])")
# Names of algorithms with a number, such as "bcrypt12" and "jwt-rs256".
_ALGORITHM = re.compile(
    r"(?:u?int|float|byte)(?:8|16|32|64|128)(?:array|_t)?|prime\d{3}v\d|secp\d{3}[rk]\d|nistp\d{3}|brainpoolp\d{3}[rt]\d|(?:jwt|oauth|scram|hmac|aes|rsa|ecdsa|ecdh|bcrypt|scrypt|argon2?i?d?|pbkdf2?|sha|md|blake|chacha|[rhep]s)"
    r"[-_]?(?:sha|rs|hs|es|ps|gcm|cbc|v)?[-_]?\d{0,4}(?:-?(?:gcm|cbc|ctr))?",
    re.IGNORECASE,
)
_COMPOUND = re.compile(
    r"(?:^|-)(?:encoded|encrypted|kodiert|codiert|verschlüsselt|gehasht|geschützt|hashed|protected|based|generated|managed|sensitive|only|safe|free|aware|specific|dependent|related|derived|less|end|date|band|write|read|use|in|out|up|side|wide|level|friendly|driven)$",
    re.IGNORECASE,
)


def is_compound(value: str) -> bool:
    """Return whether hyphenated words form a description, as in "base64-encoded" and "up-to-date"."""
    return "-" in value and _COMPOUND.search(value.rstrip(".,;:!?")) is not None


def is_lookup(value: str) -> bool:
    """Return whether an unquoted value is an expression in code.

    Dotted words that end in a number are not, because people choose these as passwords.
    """
    head = value[:_LONG]
    return _LOOKUP.search(head) is not None and (_CHOSEN_WORDS.fullmatch(head) is None or _NAMESPACE.match(head) is not None)


_OPERATORS = re.compile(r"::|->|\?\.|^[A-Za-z_]\w{0,60}\[|^(?:arn:|projects/|op://|vault:|ref\+)|^[A-Z][A-Z_]{3,60}$")
_SAYS_ACCESS = re.compile(
    r"pass(?:w|phrase|\b)|pwd|secret|token|(?:api|auth)_?key|credential|login|field|input|label", re.IGNORECASE
)


def is_expression(value: str) -> bool:
    """Return whether a value that is quoted or on a command line is an expression or a key of a translation.

    Unlike in code, words joined by dots or capitals alone are no sign of that, because people choose these as passwords.
    """
    head = value[:_LONG]
    if not is_lookup(head):
        return False
    return _NAMESPACE.match(head) is not None or _OPERATORS.search(head) is not None or _SAYS_ACCESS.search(head) is not None


_NAMED = re.compile(
    r"(?<![\w/@.$-])\$?(?P<name>[A-Za-z_][\w.-]{0,60})[\"'`\])]{0,2}(?:[ \t]{0,3}(?:=>|:=|=)[ \t]{0,3}|[ \t]{0,2}:[ \t]{1,3}|(?<=[\"']):[ \t]{0,3})[\"'`]?$"
)
_NAME_PIECE = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])|\d+")
# Last words of names whose value describes a credential or says where it is.
_DESCRIBES = frozenset(
    """name names ref refs reference id ids path paths file files filename dir directory folder url urls uri endpoint policy policies algorithm algorithms alg algo type types mode ttl
    expiry expires expiration lifetime timeout age header headers prefix suffix length len size min max minimum maximum count rotation days hours minutes seconds field fields format
    label strategy hasher driver drivers store provider providers version versions enabled required arn selector placeholder issuer audience scope scopes kind role roles title description
    template pattern regex rule rules limit bits encoding env source column table param parameter status state method methods grant message error reader helper resolver factory class handler
    namespace annotation bucket region location cipher curve digest complexity strength entropy history requirement requirements confirmation hint message text help tooltip query statement sql
    hash checksum fingerprint thumbprint integrity etag enc encrypted hashed sealed""".split()
)


# Cookies that only count visitors
_OF_ANALYTICS = frozenset((("ga",), ("gid",), ("gat",), ("fbp",), ("fbc",), ("gcl", "au"), ("hjid",), ("utma",), ("utmz",)))


def name_before(text: str, start: int) -> tuple[str, ...]:
    """Return the words of the name to which the value at a position is assigned, in lower case."""
    joint = text[max(0, start - 8) : start].rstrip(" \t\"'`")[-1:]
    if joint not in ("=", ":", ">"):
        return ()
    found = _NAMED.search(text, max(0, start - 80), start)
    return tuple(piece.casefold() for piece in _NAME_PIECE.findall(found["name"])) if found else ()


# A secret encrypted by sops, the message or the default name in `${NAME:?…}`, the id of a key in output of gpg.
_NO_PLACE = re.compile(r"\bENC\[[^\]\n]{0,300}$|\$\{\w{1,60}:?$")
_PGP_ID = re.compile(r"(?:0x)?[0-9A-F]{16}(?![\w-])")
_OF_PGP = re.compile(
    r"\b(?:gpg|pgp|signing(?:key)?|secret-keys|keyserver|key(?: id|s)?|rsa\d{4}|sec|uid|signed|signature)\b", re.IGNORECASE
)


def is_described(text: str, start: int) -> bool:
    """Return whether a value is data about a credential, as the name before it says ("secret_name"), or only refers to one."""
    if text.find("[", max(0, start - 300), start) >= 0 or text[max(0, start - 1) : start] in ("{", ":"):
        place = _NO_PLACE.search(text, max(0, start - 320), start)
        if place is not None and (place[0][0] == "E" or text[start : start + 1] in ("?", "+")):
            return True
    if _PGP_ID.match(text, start) and _OF_PGP.search(text, max(0, start - 60), start):
        return True
    if _is_reference(text, start) or _is_introduced_as_other(text, start):
        return True
    flag = _FLAG.search(text, max(0, start - 64), start) if text[max(0, start - 1) : start] in (" ", '"', "'") else None
    words = tuple(piece.casefold() for piece in _NAME_PIECE.findall(flag["name"])) if flag else name_before(text, start)
    return _is_described_by(words, text, start)


def _is_reference(text: str, start: int) -> bool:
    """Return whether a value says where a credential is, or is a part of a token whose rest is left out."""
    if text.startswith("${", max(0, start - 2)) or _is_in_arn(text, start) or _REFERENCE.search(text, max(0, start - 64), start):
        return True
    if text.startswith("eyJ", start) and _CUT_OFF.match(text, start):
        return True
    return _SUBSCRIPT.match(text, max(0, start - 3)) is not None and _SUBSCRIPT_NAME.match(text, start) is not None


def _is_introduced_as_other(text: str, start: int) -> bool:
    """Return whether the words before a value say that it is an example, the number of a device, a word to search for or a key of data."""
    if _OF_A_DEVICE.search(text, max(0, start - 80), start):
        return True
    head = text[max(0, start - 40) : start].rstrip(" \t\"'`„“(:,=").casefold()
    if head.endswith(_EXAMPLE_ENDS) and _FOR_EXAMPLE.search(text, max(0, start - 40), start):
        return True
    if head.endswith(_KEY_ENDS) and _KEY_OF_DATA.search(head):
        return True
    return _KEYWORD.search(head) is not None and _PLAIN_WORDS.match(text, start) is not None


_FLAG = re.compile(r"(?<!\S)--(?P<name>[a-z][\w-]{1,50})\s{1,2}[\"']?$")
# The pattern below is only tried after one of these.
_EXAMPLE_ENDS = (
    "such as", " like", "example", "e.g", "e.g.", " b.", "z.b.", "beispiel", "etwa", "exemple", "ejemplo", "esempio", "например", "called", "named", "titled", "genannt", "namens",
    "nommé", "nommée", "llamado", "llamada", "chamado", "chamada", "chiamato", "chiamata", "token", "_data", "sha1", "sha256", "sha384", "sha512", "md5",
)  # fmt: skip


_KEY_ENDS = ("key", "keys", "key is", "sitekey", " es", " est", " é", " è", "键", "键是", "键为", "schlüssel", "schlüssel ist")
# Keys of tables and caches
_KEY_OF_DATA = re.compile(
    r"(?:\b(?:site|public|publishable|partition|sort|cache|primary|foreign|idempotency|routing|dedup\w{0,12})[ -]?key(?: is)?|\b(?:restored from|saved with|hit (?:for|on)|not found for input)(?: the)?(?: primary)? keys?|"
    r"\b(?:clave|chave|clé|chiave) (?:prim[aá]ri[ae]|primaire|for[aá]nea|externa|étrangère|estrangeira|esterna|de (?:partici[oó]n|orden\w{0,8}|cach[eé]|idempotencia|cache)) (?:es|est|é|è)|"
    r"(?:主|外|缓存|分区|排序|唯一)键[是为]?|\b(?:primär|fremd|cache|partitions|sortier)-?schlüssel(?: ist)?)$"
)
# A word to search for
_PLAIN_WORDS = re.compile(r"[^\W\d_]{1,30}(?:[-_ ][^\W\d_]{1,30}){0,6}(?![\w!#$%&*+@-])")
_KEYWORD = re.compile(r"\b(?:palabras? clave|palavras?[- ]chave|mots?[- ]cl[ée]s?)(?! secr)(?: [^\W\d]{1,20}){0,4}$")
# The start of a reference in the syntax of a framework or a pipeline, up to the name of what it refers to.
_REFERENCE = re.compile(
    r"(?:(?-i:(?<![\w.])credentials\([\"'])|%[a-z]{1,12}\([\w:.-]{0,40}|#\{[\w.\[(]{0,40}[\"']?|\(\(|@[\w.]{1,40}\([\w.]{0,20}=?|(?<![\w-])(?:env|file|fd|secretref):|\{cipher\})$"
)


# The header of a token whose rest is left out
_CUT_OFF = re.compile(r"eyJ[\w-]{8,80}(?:\.{3}|…)")
# The name of a field in brackets, as in `form["password1"]`.
_SUBSCRIPT = re.compile(r"[\w)\]]\[[\"']")
_SUBSCRIPT_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,40}\d{0,2}[\"']\]")
# The number of a token that is a device.
_OF_A_DEVICE = re.compile(
    r"\b(?:seriennummer|inventarnummer|serial number of|numéro de série|número de s[eé]rie|numero di serie)\b[^\n.!?]{0,50}$",
    re.IGNORECASE,
)


def _is_in_arn(text: str, start: int) -> bool:
    """Return whether the value is a part of the name of a resource at Amazon, or of a decentralized identifier."""
    begin = max(text.rfind(scheme, max(0, start - 120), start) for scheme in ("arn:", "did:"))
    if begin > 0 and text[begin - 1].isalnum():
        return False
    return begin >= 0 and not any(c.isspace() or c in "\"'," for c in text[begin:start])


_FOR_EXAMPLE = re.compile(
    r"(?:\b(?:called|named|titled|genannt|namens|nommée?|llamad[oa]|chamad[oa]|chiamat[oa])|\bSHA\d{1,3}:|\bMD5:|\bsuch as|\bpasswords like|\bfor example|\be\.g\.|\bz\. ?B\.|\bzum Beispiel|\bwie etwa|\bpar exemple|\bpor ejemplo|\bad esempio|например|"
    r"\b(?:sequence|resume|page|pagination|continuation|sync|cursor|delta|watch)[ -]token\W{1,4}(?:\w{1,10}\W{1,4})?)[:,]?\s{0,2}[\"'`„“(]{0,2}$",
    re.IGNORECASE,
)
_OF_PAGES = frozenset(
    "page next continuation sequence sync resume cursor pagination starting delta skip prev previous last".split()
)
_OF_DATA = frozenset(
    "idempotency cache sort partition primary foreign routing range dedup surrogate natural public pub publishable site".split()
)
_OF_ELEMENTS = frozenset((("name",), ("id",), ("for",), ("class",), ("type",), ("testid",), ("autocomplete",)))
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z_.-]{0,60}\d{0,2}(?=[\"'\s>])")


def _is_described_by(words: tuple[str, ...], text: str, start: int) -> bool:
    """Return whether the words of a name show that its value is not a credential."""
    if words in _OF_ANALYTICS or words in _OF_ELEMENTS and _PLAIN_NAME.match(text, start) is not None:
        return True
    if words == ("id",) and _PREFIXED_ID.match(text, start):
        return True
    if words[-2:] in (("existing", "secret"), ("pull", "secret"), ("pull", "secrets"), ("tls", "secret")):
        return True
    if (
        words[-3:-1] == ("web", "socket")
        or words[-2:-1] == ("sha",)
        or words[-1:] in (("challenge",), ("digest",), ("md5",), ("integrity",), ("checksum",))
    ):
        return True
    if words[-1:] and words[-1] in _OF_REFERENCES and _REFERS.search(text, max(0, start - 320), start):
        return True
    if len(words) < 2:  # noqa: PLR2004
        return False
    if words[-2:] == ("password", "key") and _PLAIN_KEY.match(text, start):
        return True
    if (
        words[-1] in ("token", "key")
        and words[-2] in _OF_PAGES
        or words[-1] == "key"
        and words[-2] in _OF_DATA
        or words[0] in ("hashed", "encrypted", "sealed")
    ):
        return True
    if words[-1] not in _DESCRIBES:
        return False
    return words[-1] not in ("id", "ids") or words[-2] not in ("session", "sess", "secret", "connect")


_PREFIXED_ID = re.compile(r"[a-z]{2,8}_[A-Za-z0-9]{6,40}[\"']")
# The fields of a reference to a secret of Kubernetes, as in "secretKeyRef: {name: db, key: admin-password}".
_OF_REFERENCES = frozenset("key name property version".split())
_REFERS = re.compile(
    r"\b\w{0,30}Ref\s{0,2}:\s{0,2}(?:\{[^{}\n]{0,200}|\n(?:[ \t]{1,40}[\w-]{1,40}:[^\n]{0,80}\n){0,3}[ \t-]{1,40}[\w-]{1,40}:[ \t]{1,3}[\"']?)$"
)
_PLAIN_KEY = re.compile(r"[a-z]{1,20}(?:[-_.][a-z]{1,20}){0,6}(?![\w.-])")
_ENDS_ADDRESS = re.compile(r"[ \n\t\"'`(<]")


def in_address(text: str, start: int) -> bool:
    """Return whether a position is in the path of a URL, whose parts are mostly identifiers."""
    scheme = text.rfind("://", max(0, start - 300), start)
    return scheme >= 0 and _ENDS_ADDRESS.search(text, scheme, start) is None


def is_lookup_in_prose(value: str) -> bool:
    """Like `is_lookup`, but for prose, where words with dots and a digit may be a password."""
    return is_lookup(value) and not (_DOTTED.match(value) and any(c.isdigit() for c in value) and not _NAMESPACE.match(value))


def is_measure(value: str) -> bool:
    """Return whether the value is a date, a version, or a number with a unit."""
    return _DATE.match(value) is not None or _UNIT.match(value) is not None


def is_setting(value: str) -> bool:
    """Return whether a value is a name with a value of its own, as on the line after a setting that is empty."""
    return _SETTING.match(value) is not None


_SETTING = re.compile(r"(?:[A-Z][A-Z\d_]{1,60}|[a-z][a-z\d_.-]{1,60})(?:=(?!=?$)|:$)")


def is_mixed(value: str) -> bool:
    """Return whether the value contains letters together with digits, or with signs that don't occur in words."""
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    return letters and (digits or any(c in _SIGNS for c in value[:-1])) and not is_measure(value)


def is_wordy(value: str) -> bool:
    """Return whether the value consists mostly of word-like pieces, as human-chosen names do."""
    pieces = _PIECE.findall(value)
    letters = sum(map(len, pieces))
    return letters >= 3.2 * len(pieces) > 0 and sum(len(piece) for piece in pieces if _is_word(piece)) >= 0.6 * letters


def _is_word(piece: str) -> bool:
    if len(piece) <= 2 or not _VOWEL.search(piece):  # noqa: PLR2004 - shorter ones occur by chance
        return False
    return all(match[1].casefold() in _CLUSTERS for match in _CONSONANTS.finditer(piece))


def looks_random(value: str) -> bool:
    """Return whether a key looks random.

    The longer the key, the fewer digits it needs. Human-chosen names don't look random.
    """
    if is_measure(value) or not any(c.isalpha() for c in value):
        return False
    digits = sum(c.isdigit() for c in value)
    if _BASE32.fullmatch(value) or _UUID.fullmatch(value) or (digits and len(value) >= 16 and _HEX.fullmatch(value)):
        return True
    if is_wordy(value):
        # With this many digits between the words, the value is not a name.
        return digits >= 6 and len(value) >= 16 and digits * 4 >= len(value) and "-" not in value and "_" not in value
    if digits >= 3 and len(value) >= 8 or digits >= 2 and len(value) >= 12 or digits >= 1 and len(value) >= 20:
        return True
    return len(value) >= 16 and any(c.isupper() for c in value) and any(c.islower() for c in value)


def is_predicate(value: str) -> bool:
    """Return whether a plain word describes a password instead of being one."""
    word = value.strip(".,;!?").casefold()
    return word in _PREDICATES or word in _NOT_VALUES or len(word) < 5 or _PREDICATE_ENDING.search(word) is not None


# Sequences of letters


@cache
def load_letters() -> tuple[float, ...]:
    """Load how rare each sequence of three letters is in words. Raises ConfigError if the file can't be read."""
    try:
        rare = np.load(LETTERS_FILE, allow_pickle=False)
        if rare.shape != (27 * 27 * 27,):
            raise ValueError(f"shape {rare.shape}")
    except (OSError, ValueError, EOFError) as error:
        raise ConfigError(f"{LETTERS_FILE} can't be used: {error}", fix="Install memoryd again.") from error
    return tuple(float(number) / _MOST_RARE for number in rare)


_MOST_RARE = 256


def letter_sequences(word: str) -> list[int]:
    """Return the numbers of the sequences of three letters in a text. Everything but a to z counts as the same sign."""
    signs = [ord(c) - 96 if "a" <= c <= "z" else 0 for c in word.lower()]
    return [
        (a * 27 + b) * 27 + c for a, b, c in zip(signs, signs[1:], signs[2:], strict=False) if (a > 0) + (b > 0) + (c > 0) > 1
    ]


def strangeness(value: str) -> list[float]:
    """Return how rare the sequences of letters of a value are in words, on average and at most."""
    sequences = letter_sequences(value[:64])
    if not sequences:
        return [0.0, 0.0]
    letters = load_letters()
    rare = sorted([letters[number] for number in sequences])
    return [sum(rare) / len(rare), sum(rare[-3:]) / len(rare[-3:])]


def is_strange(value: str) -> bool:
    """Return whether a long run of letters can't be words of any language, because their sequences are too rare."""
    return value.isascii() and value.isalpha() and _SHORTEST_STRANGE <= len(value) <= _LONG and strangeness(value)[0] > _STRANGE


_SHORTEST_STRANGE, _STRANGE = 10, 0.42


# Determine which literals required by patterns occur in a text, and where.
#
# A text is processed word by word. Most words of a log are already cached, so most of a text costs one set operation. A pattern
# is not tried at all if its literals are missing. The cache holds a limited number of words, and only short ones.
_LONGEST_KNOWN = 24
_MAX_KNOWN = 40_000


class Anchors:
    """Finds literals and shapes in texts.

    Literals are lower case and contain no spaces. Shapes are patterns that match no space. Thread-safe, because
    concurrent updates store the same values.
    """

    def __init__(self, literals: Iterable[str], shapes: Mapping[str, re.Pattern[str]]) -> None:
        folded = {literal.casefold() for literal in literals}
        self._plain = re.compile(_any_of(literal for literal in folded if literal.isascii()))
        self._foreign = tuple(literal for literal in folded if not literal.isascii())
        # If a literal occurs, so do its prefixes.
        self._begins = {literal: frozenset(other for other in folded if literal.startswith(other)) for literal in folded}
        self._shapes = tuple(shapes.items())
        self._without = set[str]()
        self._with: dict[str, frozenset[str]] = {}

    def within(self, text: str) -> frozenset[str]:
        """Return the literals that occur in the text, ignoring case, and the names of the shapes that occur."""
        found, new, known = set[str](), list[str](), self._with
        for word in set(text.split()) - self._without:
            anchors = known.get(word)
            if anchors is None:
                new.append(word)
            else:
                found |= anchors
        if new:
            found |= self._look(new)
        return frozenset(found)

    def _look(self, words: list[str]) -> set[str]:
        """Find the anchors of new words and cache them."""
        ends = list(accumulate(len(word) + 1 for word in words))
        joined = "\n".join(words)
        of = dict[int, set[str]]()
        for name, shape in self._shapes:
            for match in shape.finditer(joined):
                of.setdefault(bisect_right(ends, match.start()), set()).add(name)
        folded = fold(joined)
        if len(folded) != len(joined):
            folded_words = [fold(word) for word in words]
            ends = list(accumulate(len(word) + 1 for word in folded_words))
            folded = "\n".join(folded_words)
        found = self._plain.search(folded)
        while found is not None:
            of.setdefault(bisect_right(ends, found.start()), set()).update(self._begins[found[0]])
            found = self._plain.search(folded, found.start() + 1)
        for literal in () if folded.isascii() else self._foreign:
            at = folded.find(literal)
            while at >= 0:
                number = bisect_right(ends, at)
                of.setdefault(number, set()).add(literal)
                at = folded.find(literal, ends[number])
        self._remember(words, of)
        return set[str]().union(*of.values())

    def remembered(self) -> int:
        """Return the number of cached words."""
        return len(self._without) + len(self._with)

    def _remember(self, words: list[str], of: Mapping[int, set[str]]) -> None:
        if self.remembered() > _MAX_KNOWN:
            self._without, self._with = set(), {}
        self._without.update([word for number, word in enumerate(words) if number not in of and len(word) <= _LONGEST_KNOWN])
        self._with.update({words[number]: frozenset(own) for number, own in of.items() if len(words[number]) <= _LONGEST_KNOWN})


def _any_of(literals: Iterable[str]) -> str:
    """Return a pattern that matches the longest literal at a position, comparing each character only once."""
    by_first: dict[str, list[str]] = {}
    ends = False
    for literal in sorted(literals):
        if literal:
            by_first.setdefault(literal[0], []).append(literal[1:])
        else:
            ends = True
    branches = "|".join(re.escape(first) + _any_of(rest) for first, rest in by_first.items())
    return f"(?:{branches}){'?' if ends else ''}" if branches else ""


class Stems:
    """Prefixes of a pattern's matches.

    They may contain spaces. A prefix is located by its longest part without spaces.
    """

    def __init__(self, stems: Iterable[str]) -> None:
        parts = [(max(stem.split(), key=len).casefold(), stem) for stem in stems]
        by_part: dict[str, list[str]] = {}
        for part, stem in parts:
            by_part.setdefault(part, []).append(stem)
        self._by_part = {part: tuple(found) for part, found in by_part.items()}
        self.parts = frozenset(self._by_part)

    def positions(self, low: str, there: frozenset[str]) -> list[int]:
        """Return the positions of the prefixes in a lower-case text. `there` contains the literals that occur in it."""
        at: set[int] = set()
        for part in self.parts & there:
            for stem in self._by_part[part]:
                start = low.find(stem)
                while start >= 0:
                    at.add(start)
                    start = low.find(stem, start + len(stem))
        return sorted(at)


@lru_cache(maxsize=64)
def stems_in(line: str) -> Stems:
    """Return the stems of a list in which `~` represents a space. Equal lists share one object."""
    return Stems(stem.replace("~", " ") for stem in line.split())


class ScannedText:
    """A text and the literals that occur in it. Results needed by several patterns are computed once."""

    __slots__ = ("_low", "_positions", "deadline", "text", "there")

    def __init__(self, text: str, there: frozenset[str], deadline: Deadline = NEVER) -> None:
        self.deadline = deadline
        self.text = text
        self.there = there
        self._low = ""
        self._positions: dict[Stems, list[int]] = {}

    def low(self) -> str:
        """The text in lower case, with all positions unchanged."""
        if not self._low:
            self._low = self.text.replace("İ", "I").lower()
        return self._low

    def positions(self, stems: Stems) -> list[int]:
        """Return the positions of the prefixes."""
        known = self._positions.get(stems)
        if known is None:
            known = self._positions[stems] = stems.positions(self.low(), self.there) if stems.parts & self.there else []
        return known

    def has(self, anchors: frozenset[str]) -> bool:
        """Return whether any of the literals occurs in the text."""
        return not self.there.isdisjoint(anchors)

    def changed(self, text: str) -> ScannedText:
        """Return the scanned form of the text after parts of it were removed."""
        return self if text == self.text else ScannedText(text, self.there, self.deadline)


def fold(text: str) -> str:
    """Fold the case of a text like case-insensitive patterns do."""
    return text.lower() if text.isascii() else text.replace("İ", "I").casefold()
