"""Find secrets by their appearance and the topic of the surrounding text.

`secret_rules`, `secret_words` and `secret_walk` need a name for the value. Often there is none: in the output of a
command that prints a secret, for a token on its own, or in a login described in a sentence. Here, a value that looks
chosen or generated is a secret if the same line contains a word for access. A long random value needs no such word,
unless the text identifies it as something else (a digest, an identifier, a part of an address). All windows are
bounded, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from memoryd.daydream.secret_values import (
    ScannedText,
    in_address,
    is_described,
    is_expression,
    is_lookup,
    is_measure,
    is_placeholder,
    is_wordy,
    stems_in,
)
from memoryd.daydream.secret_words import MARK, Found, is_about, is_chosen, is_name, is_strong

_REACH = 110
_LONGEST = 80
_LONGEST_COMMAND = 2_000
_VARIED = 8  # Number of distinct letters in an application password.
_SHORTEST = 6
_NEAREST = 3  # Number of words for access to consider on each side.

# Words for access, in many languages
_STEMS = stems_in(
    "pass пасс пасв пассв парол гасл pwd pw mdp kennwort contrase contrasi senha clave wachtwoord hasł hesl lösen adgang kodeord salasan "
    "jelsz parol lozin šifr gesl parool slaptaž şifre wi-fi wifi wlan ssid hotspot unlock entsperr déverrou sblocc desbloq log sign~ signed~ "
    "zugang accès acces доступ вход логин bitlocker veracrypt keepass bitwarden lastpass cred bindpw ldap bind coffre tresor сейф caja kata~l bios luks geheim sandi "
    "κωδικ συνθημ पासवर्ड كلمة السر المرور السري סיסמ رمز گذر پاس khẩu รหัส পাসও கடவுச் wagwoord пасворд құпия პაროლ գաղտն "
    "パス 密 口令 비번 암호"
)
_STRONG_WORD = re.compile(
    r"(?:pass(?:word|wort|wd|phrase|code|ord|er)?\w{0,6}|passe|пасс\w{0,6}|пасв\w{0,6}|парол\w{0,6}|гасл\w{0,3}|pwd|pw|mdp|kennwort\w{0,3}|contrase\w{0,4}|contrasin\w{0,3}|senhas?|clave|wachtwoord\w{0,2}|hasł\w{0,4}|"
    r"hesl\w{0,3}|lösen(?:ord)?\w{0,3}|adgangskod\w{0,3}|kodeord\w{0,3}|salasan\w{0,5}|jelsz\w{0,6}|parol\w{0,5}|lozin\w{0,4}|šifr\w{0,3}|gesl\w{0,3}|parool\w{0,3}|slaptaž\w{0,6}|şifre\w{0,5}|sandi|"
    r"wi-?fi|wlan|ssid|hotspot|unlock\w{0,3}|entsperr\w{0,4}|déverrou\w{0,6}|sblocc\w{0,4}|desbloque\w{0,4}|bitlocker|veracrypt|keepass\w{0,3}|bitwarden|lastpass|luks|bios|bindpw|ldap|bind ?dn|coffre|tresor\w{0,2}|сейф\w{0,2}|caja fuerte|kata laluan|"
    r"log(?:ged|ging|s)?[ -]?(?:in|on)|logins?|logon|sign(?:ed|s)? in|zugangsdaten|zugang|accès|вход\w{0,3}|логин\w{0,3}|creds?|credentials?|"
    r"geheim\w{0,6}|κωδικ\w{1,4}|συνθημ\w{1,8}|पासवर्ड|كلمة|السر|المرور|السري|סיסמ\w{0,3}|رمز|گذر\w{0,5}|پاس|khẩu|รหัส[\u0e00-\u0e7f]{0,12}|পাসও\w{0,6}|கடவுச்\w{0,6}|wagwoord|құпия\w{0,6}|პაროლ\w{0,3}|գաղտն\w{0,6}|"
    r"パス(?:ワード|フレーズ|コード)?|密[码碼钥]|口令|비번|암호)",
    re.IGNORECASE,
)
# Scripts without spaces end a token.
_TOKEN = re.compile(r"[^\s\"'`<>{}\[\],;|“”„«»「」『』，。、；：（）\u3040-\u9fff\uac00-\ud7a3\u0e00-\u0e7f]{6,90}")
_CLAUSE_END = re.compile(r"[.!](?=\s)|[?](?!\s{1,3}(?:A:|[-—→>*]{1,2}|[\"'„“])?\s{0,3}[\"'„“]?\Z)|[。！？]")


def find_in_context(scanned: ScannedText) -> list[Found]:
    """Return the secrets revealed by their appearance and the surrounding line, in order and without overlaps."""
    found = [*_chosen(scanned), *_random_runs(scanned), *_outputs(scanned), *_special(scanned)]
    out: list[Found] = []
    for start, end, kind in sorted(found):
        free = (not out or start >= out[-1][1]) and MARK not in scanned.text[start:end] and not _inside_mark(scanned.text, start)
        if free and not is_described(scanned.text, start):
            out.append((start, end, kind))
    return out


def _inside_mark(text: str, start: int) -> bool:
    at = text.rfind(MARK, max(0, start - 40), start)
    return at >= 0 and "]" not in text[at:start]


# Chosen passwords in lines about access


def _chosen(scanned: ScannedText) -> Iterator[Found]:
    text = scanned.text
    for start, end, words in _lines_about_access(scanned):
        scanned.deadline.check()
        for token in _TOKEN.finditer(text, start, end):
            value = _bare(token[0])
            if not _looks_chosen(text, token, value):
                continue
            here = bisect_left(words, (token.start(), 0))
            if any(_is_given(text, token, value, word) for word in words[max(0, here - _NEAREST) : here + _NEAREST]):
                yield token.start(), token.start() + len(value), "password"


def _lines_about_access(scanned: ScannedText) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield stretches of lines around words for access, with the positions of these words."""
    text, begin, end, words = scanned.text, 0, -1, list[tuple[int, int]]()
    for at in scanned.positions(_STEMS):
        word = _STRONG_WORD.match(text, at)
        if word is None or words and at < words[-1][1] or _is_part_of_word(text, word):
            continue
        left = max(text.rfind("\n", max(0, at - _REACH), at) + 1, at - _REACH)
        right = text.find("\n", word.end(), word.end() + _REACH)
        right = min(len(text), word.end() + _REACH) if right < 0 else right
        if left > end and words:
            yield begin, end, words
            words = []
        if not words:
            begin = max(left, 0)
        end = right
        words.append(word.span())
    if words:
        yield begin, end, words


def _is_part_of_word(text: str, word: re.Match[str]) -> bool:
    """Return whether the word continues on either side, as in "compass". Names in code such as "dbPassword" don't count."""
    before, after = text[max(0, word.start() - 1) : word.start()], text[word.end() : word.end() + 1]
    if before == "/" and _IN_A_PATH.search(text, max(0, word.start() - 80), word.start()):
        return True
    if word[0][0] > "\u0590":  # In these scripts, articles and prepositions are attached to the word.
        return False
    return before.isalpha() and not (word[0][:1].isupper() and before.islower()) or after.isalpha() and word[0].isascii()


_IN_A_PATH = re.compile(r"(?<![\w/.~-])[~.]{0,2}/(?:[\w.-]{1,40}/){0,6}$")


def _bare(raw: str) -> str:
    return raw.rstrip(".,:?…)").rstrip("!") if raw.endswith(("!!", "!?")) else raw.rstrip(".,:?…)")


def _looks_chosen(text: str, token: re.Match[str], value: str) -> bool:
    """Return whether a token could be a password at all."""
    if len(value) < _SHORTEST or _SIGN_OR_DIGIT.search(value) is None or MARK in value:
        return False
    if NAMES_ONE.search(value) and not is_strong(value):
        return False
    if is_placeholder(value) or _MANGLED.match(value) or _RANGE.search(value) or _NO_VALUE.fullmatch(value):
        return False
    return (
        text[max(0, token.start() - 1) : token.start()] not in ("$", "/", "\\", "#")
        and text[token.end() : token.end() + 1] != "("
    )


def _is_given(text: str, token: re.Match[str], value: str, word: tuple[int, int]) -> bool:
    """Return whether a token in a line about access is a password rather than another word with digits."""
    if not (word[1] <= token.start() < word[1] + _REACH or token.end() <= word[0] < token.end() + _REACH):
        return False
    if is_very_strong(value) or _is_signed(value):
        return True
    between = text[word[1] : token.start()] if token.start() >= word[1] else text[token.end() : word[0]]
    if not _is_plain(value) or _CLAUSE_END.search(between) or is_about(text, word[1]):
        return False
    left = max(0, token.start() - 24)
    if _NUMBERED.search(text, left, token.start()):
        return False
    if _VERB.fullmatch(text, *word) and (_HOST_LIKE.fullmatch(value) or _TO_A_HOST.search(text, left, token.start())):
        return False
    if (
        _DOES.match(text, token.start() + len(value))
        or _JOINED.search(text, left, token.start()) is not None
        or _follows(text, token, word, between)
    ):
        return True
    # A Latin word among words of another alphabet is a value or a name.
    return (
        value.isascii()
        and not text[word[0] : word[1]].isascii()
        and text[max(0, token.start() - 2) : token.start()].strip()[-1:] > "\u02ff"
    )


NAMES_ONE = re.compile(r"passw|token|secret|login|auth|key|cookie|session", re.IGNORECASE)
_MANGLED = re.compile(r"_?_Z[A-Z\d]|\w{1,90}@@")
# Character classes, as in "[a-zA-Z0-9!@#]".
_RANGE = re.compile(r"[aA]-[zZ]|0-9|\\[dwsn]|\.\*|%[sd]|&&|\|\||=>|->|[a-z]\(|^[\w.-]+=|^--?[a-z]|://")
_NO_VALUE = re.compile(
    r"[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30})+|[\w./-]{1,60}@v?\d{1,4}\.[\w.]*|(?-i:@?[a-z][a-z\d./-]{1,60}@v?\d{1,2})|\S{1,80}/\S{0,80}|#\w+|@[\w/-]+|\d[\d.,:%-]*|(?-i:[A-Z]{2,}[#-]\d+)|(?:issue|pr|bug|ticket|mr|line|no|nr)s?#\d+",
    re.IGNORECASE,
)
_SIGNS = frozenset("!#$%&*?@^~§€+")


_SIGN_OR_DIGIT = re.compile(rf"[\d{re.escape(''.join(sorted(_SIGNS)))}]")


def is_very_strong(value: str) -> bool:
    """Return whether the value mixes letters, digits and signs as only passwords do."""
    if not (any(c.isdigit() for c in value) and sum(c.isalpha() for c in value) >= 3) or is_lookup(value):  # noqa: PLR2004
        return False
    return is_strong(value) or (
        "@" in value[1:-1] and _AT_SIGN.fullmatch(value) is not None or sum(c in _SIGNS for c in value) >= 2 and "(" not in value  # noqa: PLR2004
    )


_AT_SIGN = re.compile(r"(?=\w{0,30}[A-Z])[^\W\d_]{3,20}@\d{2,8}[!?]?|[A-Za-z]{1,2}@[A-Za-z]{0,6}\d[\w!]{1,20}")


def _is_signed(value: str) -> bool:
    """Return whether words are joined by a sign and end in digits, as in "hammer&amboss33"."""
    return _SIGNED.fullmatch(value) is not None


_SIGNED = re.compile(r"[^\W\d_]{3,20}[!&+~^%*?$](?:[^\W\d_]{1,20}\d{0,6}|\d{1,6})[!?]?")


def _is_plain(value: str) -> bool:
    """Return whether a word with digits may be a password, as in "bluefish482", "Zinnober-Falke-77" and "kq8Zx2Lm"."""
    if is_name(value) or is_measure(value) or is_lookup(value) and not _WORDS_DIGITS.fullmatch(value):
        return False
    return is_chosen(value) or _WORDS_DIGITS.fullmatch(value) is not None or is_generated(value)


_WORDS_DIGITS = re.compile(r"(?=[^\W_]{0,60}[-_.]?.{0,40}\d\d)[^\W\d_]{4,20}(?:[-_.][^\W\d_]{2,20}){0,4}[-_.]?\d{2,6}[!?]?")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")


def is_generated(value: str) -> bool:
    """Return whether a short value is random: upper case, lower case and digits alternate frequently."""
    if not 8 <= len(value) <= _LONGEST or not value.replace("-", "").replace("_", "").isalnum():  # noqa: PLR2004
        return False
    pieces = _PIECE.findall(value)
    kinds = any(c.islower() for c in value), any(c.isupper() for c in value), sum(c.isdigit() for c in value) >= 2  # noqa: PLR2004
    return all(kinds) and len(pieces) * 2.2 >= len(value) - value.count("-") and not is_wordy(value)


# The text directly before a disclosed value
_JOINED = re.compile(
    r"(?:[:=→：]|->|—|–|\b(?:is|was|are|be|ist|war|lautet|est|es|es:|é|è|to|auf|på|to|je|(?:salasan\w{1,4}|parool\w{0,2}) on|er|är|jest|este|estas|είναι|है|هي|هو|היא|הוא|là|adalah|ialah|ir|yra|е|это|через|pw|pwd|key|psk|пасс\w{0,4}|парол\w{1,2}|"
    r"with|using|via|mit|avec|con|com|с|by|try|use|enter|type|code|/|only|again|now|w/))[\"'`„“«(*]{0,2}\s{1,3}[\"'`„“«(*]{0,2}$|[:=：→][\"'`„“«(*\s]{0,3}$|[\"'`„“«]$",
    re.IGNORECASE,
)


def _follows(text: str, token: re.Match[str], word: tuple[int, int], between: str) -> bool:
    """Return whether the value is next to the word. "Pass" and "log in" may be verbs, so they require a noun before them."""
    if between.strip(" \t\"'`(") or token.start() < word[1] or text[word[0] : word[1]].casefold() == "ssid":
        return False
    return _VERB.fullmatch(text, *word) is None or _OF_A_NETWORK.search(text, max(0, word[0] - 60), word[0]) is not None


# Names of machines to log in to, accounts and branches look like this as well.
_HOST_LIKE = re.compile(r"[a-z]+(?:[-_.][a-z]+){0,4}[-_.]\d{1,3}|[a-z]+(?:[-_.][a-z]+){1,4}\d{1,3}")
_TO_A_HOST = re.compile(r"\b(?:to|on|at|into|onto|in|auf|bei|à|sur|en|su|w|do|в|на|op|på)\s{1,2}$", re.IGNORECASE)
_VERB = re.compile(
    r"pass(?:es|ed|ing)?|unlock\w*|log\w* ?-?(?:in|on)s?|sign\w* in|desbloque\w*|accès|ldap|bind ?dn|creds?|credentials?|zugang\w*|логин\w*|вход\w*|bios|ssid|wi-?fi|wlan|hotspot",
    re.IGNORECASE,
)
_OF_A_NETWORK = re.compile(r"wi-?fi|wlan|ssid|hotspot|router|vpn|user|login|логин|admin|root|account", re.IGNORECASE)
_DOES = re.compile(
    r"[\"'`”“»]?\s(?:unlocks?|opens?|decrypts?|gets? (?:you|me|us)|lets? (?:you|me|us)|logs (?:you|me) in|worked|works (?:for|as|on)|öffnet|entsperrt|ouvre|déverrouille|abre|apre|открывает)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?:user|users|utente|benutzer|account|konto|host|server|db|database|table|column|branch|ticket|issue|version|model|file|class|function|method|named|called|id|uid|in|on host|from|under|page|schema)\s{1,2}$",
    re.IGNORECASE,
)

# Long random runs without any name

_RUN = re.compile(r"(?<![A-Za-z0-9_+/=.~%@#$\\-])[A-Za-z0-9_+/=~.-]{20,400}(?![\w\\@%])")
_LONG_ENOUGH = 32
OTHER_THAN_A_SECRET = re.compile(
    r"(?:\b(?:[a-z]{0,12}id(?:-\d)?|guid|hash|sha\d{0,3}|md5|digest|checksum|integrity|fingerprint|thumbprint|e?tag|nonce|code_challenge|(?:[a-z]{1,12}_)?cursor|after|before|next|prev|page|offset|version|commit|rev|revision|addr|address|contract|public|pub\w{0,8}|peer|(?:signature|digest)value>|\w{0,30}(?:hash|digest|checksum|fingerprint)>|x509\w{0,12}>|modulus>|"
    r"cert|certificate|issuer|subject|image|icon|font|data|src|href|url|mappings|tx|txn|block|root|h1|trace|span|request|req|upload|file|folder|drive|sheet|doc|document|chunk|asset|build|bundle|state|slug|ref|invoice|order|object|"
    r"entity|message|msg|event|thread|run|job|task|node|container|pod|instance|model|dataset|ipfs|cid|magnet|blob|layer|manifest|ksuid|ulid|nanoid|short|link|video|channel|playlist|team|board|card|design|"
    r"branch|tag|class|package|module|ssh-rsa|ssh-ed25519|ssh-dss|ecdsa-sha2-\w{1,12}|base64,?|solana|program|bitcoin|btc|mint|index|on)(?:\s?key)?(?:\s(?:is|was|of|at|is at|to))?[\"']?\s{0,3}[:=#/]?\s{0,3}[\"'`(<]{0,2}|"
    r"[/\\#?&]|sha\d{1,3}[-:/]|sha-\d{3}=:|base64,|nonce-|h1:)$",
    re.IGNORECASE,
)
IS_DATA = re.compile(
    r"_?_Z\w|AAAA[A-Z]|Qm[1-9A-HJ-NP-Za-km-z]{44}$|iVBOR|R0lGOD|UklGR|PHN2Z|PD94b|/9j/|JVBERi|UEsDB|ME(?:UCI|QCI|YCI)[A-Q]|H4sI|d09G|T1RUT|AAEAAA|MII|MIGfMA0G|M(?:Fkw|Fww|Cow|HYw)[EB]|eyJ|bafy|AQICAH|AgB[A-Z]|sha\d{3}|nonce-|"
    r"0x[0-9a-fA-F]{40}$|pk_(?:live|test)_|[a-z]{2,8}_[A-Za-z0-9]{8,24}$|(?:chatcmpl|resp|toolu|call|asst|thread|batch)[-_]|[a-z]+-[a-z]+-|https?|www\.|W/|arn:|projects/",
)
_FILE_END = re.compile(r"\.(?:[a-z]{2,5}\d?|[a-z]\d?)$")


def _random_runs(scanned: ScannedText) -> Iterator[Found]:
    """Yield runs of mixed-case letters and digits that don't occur in names."""
    if "<random>" not in scanned.there:
        return
    text = scanned.text
    for match in _RUN.finditer(text):
        scanned.deadline.check()
        value = match[0].rstrip(".-=/") if not match[0].endswith("=") else match[0]
        start, value = _without_name(match.start(), value)
        if len(value) < _LONG_ENOUGH or not looks_generated(value) or IS_DATA.match(value) or _FILE_END.search(value):
            continue
        if OTHER_THAN_A_SECRET.search(text, max(0, start - 48), start) or in_address(text, start):
            continue
        if _IS_AN_ADDRESS.match(text, start + len(value)):
            continue
        if _is_public_block(text, start) or _OF_PUBLIC_JWK.search(text, max(0, start - 10), start):
            continue
        yield start, start + len(value), "key"


_IS_AN_ADDRESS = re.compile(
    r"\s(?:is|was|=|—|-)\s(?:(?:the|a|an|our|my|your)\s)?(?:[\w'-]{1,20}\s){0,2}(?:address|digest|hash|checksum|fingerprint)\b",
    re.IGNORECASE,
)
_OF_PUBLIC_JWK = re.compile(r"[\"'](?:n|x|y|kid|x5[ct])[\"']\s{0,2}:\s{0,2}[\"']$")


def _without_name(start: int, value: str) -> tuple[int, str]:
    """Return the value and its position, without a name joined to it by an equals sign."""
    name, sign, rest = value.partition("=")
    if not sign or not rest.strip("=") or len(name) >= _LONG_ENOUGH:
        return start, value
    return start + len(name) + 1, rest


def _is_public_block(text: str, start: int) -> bool:
    """Return whether the run is in a certificate, a public key or base64 data."""
    left = max(0, start - 2_000)
    begin, data = text.rfind("BEGIN ", left, start), text.rfind("base64,", max(0, start - 400), start)
    return begin >= 0 and "PRIVATE" not in text[begin : begin + 40] and "-END" not in text[begin:start] or data >= 0


def looks_generated(value: str) -> bool:
    """Return whether the value mixes upper case, lower case and digits throughout, unlike any name or path."""
    halves = value[: len(value) // 2], value[len(value) // 2 :]
    if not all(any(c.isupper() for c in half) and any(c.islower() for c in half) for half in halves):
        return False
    if sum(c.isdigit() for c in value) < 3 or len(set(value)) < 14:  # noqa: PLR2004
        return False
    if value.count(".") > 1 or value.count("/") * 12 > len(value) or is_placeholder(value) or is_measure(value):
        return False
    pieces = _PIECE.findall(value)
    return len(pieces) * 4 >= len(value) and not is_wordy(value)


# Output of commands

_COMMANDS = (
    r"(?:(?:(?:go)?pass (?:show |-c |generate )?[\w./@-]{2,80}|gopass [^\n]{0,80}|op (?:read|item get)\b[^\n]{0,160}|bw get (?:password|totp|notes)\b[^\n]{0,80}|lpass show\b[^\n]{0,80}|"
    r"security find-(?:generic|internet)-password\b[^\n]{0,160}|secret-tool lookup\b[^\n]{0,120}|keyring get\b[^\n]{0,80}|kubectl [^\n]{0,60}\bget secrets?\b[^\n]{0,200}|oc get secrets?\b[^\n]{0,200}|"
    r"aws (?:secretsmanager get-secret-value|secretsmanager get-random-password|ssm get-parameters?|ecr get-login-password|rds generate-db-auth-token)\b[^\n]{0,240}|az (?:keyvault secret show|account get-access-token|acr credential show|storage account keys)\b[^\n]{0,200}|"
    r"gcloud (?:secrets versions access|auth (?:application-default )?print-(?:access|identity)-token)\b[^\n]{0,160}|vault (?:kv get|read|print token|token create|write)\b[^\n]{0,160}|heroku (?:config:get|auth:token)\b[^\n]{0,100}|"
    r"gh auth token\b[^\n]{0,60}|gh secret\b[^\n]{0,60}|fly(?:ctl)? (?:auth token|tokens create)\b[^\n]{0,100}|doppler secrets get\b[^\n]{0,100}|chamber read\b[^\n]{0,100}|infisical secrets get\b[^\n]{0,100}|"
    r"openssl rand\b[^\n]{0,60}|pwgen\b[^\n]{0,40}|apg\b[^\n]{0,40}|makepasswd\b[^\n]{0,40}|mkpasswd\b[^\n]{0,60}|wg (?:genkey|genpsk)\b[^\n]{0,20}|rails secret\b|(?:mix phx\.gen\.secret|php artisan key:generate)\b[^\n]{0,40}|"
    r"head -c ?\d+ /dev/u?random\b[^\n]{0,60}|terraform output\b[^\n]{0,100}|pulumi config get\b[^\n]{0,80}|ansible-vault (?:view|decrypt)\b[^\n]{0,100}|sops (?:-d|exec|decrypt)\b[^\n]{0,100}|gpg (?:-d|--decrypt)\b[^\n]{0,100}|"
    r"cat [^\n]{0,120}?(?:secret|passw|passphrase|token|credential|initialAdminPassword|\.pgpass|\.key|_key|apikey)[^\n]{0,60}|(?:echo|printenv|print|puts|console\.log)[ (][^\n]{0,60}?(?:PASS|SECRET|TOKEN|KEY|PWD|passw|secret|token|api_?key)[^\n]{0,60}|"
    r"(?:docker|podman) [^\n]{0,60}\bsecret inspect\b[^\n]{0,60}|python3? -c [^\n]{0,100}(?:secrets|token_|urandom|get_random_secret_key|generate_key)[^\n]{0,80}|node -e [^\n]{0,100}randomBytes[^\n]{0,80}|argocd admin initial-password\b[^\n]{0,40}|"
    r"oathtool\b[^\n]{0,80}|1pass\b[^\n]{0,40}|git config --get [^\n]{0,40}(?:token|passw|helper)[^\n]{0,20}|npm token create\b[^\n]{0,40}|kubectl create token\b[^\n]{0,60}|jq -r [^\n]{0,60}(?:passw|secret|token|key)[^\n]{0,60}))"
)
_PRINTS = re.compile(
    _COMMANDS
    + r"[ \t]{0,3}\r?\n(?:[ \t]{0,3}(?:(?:[›>#*!]|warn|note|info|hint|notice)[^\n]{0,160})?\r?\n){0,3}(?P<quote>[ \t]{0,4}[\"']?)(?P<secret>[^\s\"']{6,400})(?=[\"']?[ \t]{0,3}(?:\r?\n|$))",
)
_PRINTING_COMMAND = re.compile(rf"(?:\A|[\s;|&(\"'`]){_COMMANDS}")
_PRINT_STEMS = stems_in(
    "pass~ gopass~ op~read op~item bw~get lpass~ security~find secret-tool~ keyring~get kubectl~ oc~get aws~sec aws~ssm aws~ecr aws~rds az~key az~acc az~acr az~sto gcloud~sec gcloud~auth vault~ heroku~ "
    "gh~auth gh~secret fly~ flyctl~ doppler~ chamber~ infisical~ openssl~rand pwgen apg~ makepasswd mkpasswd wg~gen rails~secret mix~phx php~artisan head~-c terraform~output pulumi~config ansible-vault~ sops~ gpg~ "
    "cat~ echo~ printenv~ print( print~ puts~ console.log docker~ podman~ python~-c python3~-c node~-e argocd~ oathtool~ git~config npm~token jq~-r"
)
_AT_PROMPT = re.compile(r"(?:[$#❯➜%>|;&(+] ?|>>> ?|\]: ?|[\"'`]|\bsudo |\bexec [^\n]{0,60}|-- |\A|\n)[ \t]{0,4}$")
_PRINT_NEEDS = frozenset(
    "pass secret token key credential pwd passw rand random pwgen apg genpsk genkey vault op bw sops gpg terraform pulumi chamber config mkpasswd oathtool auth get-login".split()
)
_NOT_PRINTED = re.compile(
    r"(?:error|warn\w*|usage|no|not|cannot|failed|unable|total|NAME|drwx\S*|-rw\S*|\{|\[|true|false|null|none|ok|done)[:.]?",
    re.IGNORECASE,
)


def prints_secret(command: str) -> bool:
    """Return whether a command is meant to print a secret. Its output is then a secret even without a name."""
    return _PRINTING_COMMAND.search(command[:_LONGEST_COMMAND]) is not None


def _outputs(scanned: ScannedText) -> Iterator[Found]:
    """Yield the output of commands meant to print secrets."""
    text = scanned.text
    if "\n" not in text or not scanned.has(_PRINT_NEEDS):
        return
    done = 0
    for at in scanned.positions(_PRINT_STEMS):
        scanned.deadline.check()
        if at < done or not _AT_PROMPT.search(text, max(0, at - 80), at) or (match := _PRINTS.match(text, at)) is None:
            continue
        done, value = match.end(), match["secret"]
        if (
            _NOT_PRINTED.fullmatch(value)
            or is_placeholder(value)
            or value.endswith((":", ",", "{", "("))
            or "://" in value
            and "@" not in value
        ):
            continue
        if any(not c.isalpha() for c in value.strip("-_.")) or not (value.islower() or value.istitle() or value.isupper()):
            yield match.start("secret"), match.end("secret"), "password"


# Unmistakable formats

_BITLOCKER = re.compile(r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])")
_FOUR_BY_FOUR = re.compile(r"(?<![\w-])(?P<secret>[a-z]{4}(?: [a-z]{4}){3}|[a-z]{4}(?:-[a-z]{4}){3})(?![\w-])")
_APP_PASSWORD = re.compile(r"app|gmail|google|icloud|smtp|mail|pass|pw", re.IGNORECASE)
_WIF = re.compile(r"(?<![\w/])(?:[5KL][1-9A-HJ-NP-Za-km-z]{50,51})(?!\w)")
_KEY_BYTES = re.compile(r"\[\s{0,3}(?:\d{1,3}\s{0,2},\s{0,2}){15,70}\d{1,3}\s{0,3}\]")
_WALLET_KEY = re.compile(
    r"\b(?:eth\w{0,6}|evm|wallet|deployer|signer|priv\w{0,4}|private|miner|minter|relayer|funded|metamask|keystore|hot ?wallet|owner|treasury|faucet|hardhat|foundry|anvil)\b(?P<between>[^\n]{0,50}?)\b(?P<secret>(?:0x)?[0-9a-fA-F]{64})\b",
    re.IGNORECASE,
)
_ON_CHAIN = re.compile(
    r"\b(?:tx|txn|txs|transaction|hash|block|root|receipt|commit|digest|checksum|topic|bytecode|salt|slot)\b", re.IGNORECASE
)
_KEY_OF_32 = 32
_OF_A_SHORT_KEY = re.compile(
    r"(?:network|secret|private|aes|encryption|link|session|app|nwk)[_ -]?key[\"']?\s{0,3}[:=]\s{0,3}\Z", re.IGNORECASE
)
_OF_A_WALLET = re.compile(r"key|secret|wallet|seed|priv|solana", re.IGNORECASE)
_GROUPED_SEED = re.compile(
    r"(?<![A-Za-z0-9])(?P<secret>[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,15})(?![A-Za-z0-9])"
)
_OF_AUTHENTICATOR = re.compile(r"authenticat|totp|2fa|mfa|otp|scan|manual|setup key|qr", re.IGNORECASE)
_CARD = re.compile(
    r"(?<![\d.-])(?P<secret>[3-6]\d{3}(?P<gap>[ -])\d{4}(?P=gap)\d{4}(?P=gap)\d{4}|3\d{3}[ -]\d{6}[ -]\d{5}|[3-6]\d{15})(?![\d-])"
)
_OF_A_CARD = re.compile(
    r"\b(?:card|visa|master ?card|amex|cvv2?|cvc2?|exp(?:iry|ires|\.)?|karte|kreditkarte|carte|tarjeta|cartão|carta|pan|карт\w{1,3})\b|卡号|カード",
    re.IGNORECASE,
)
_CVV = re.compile(
    r"\b(?:cvv2?|cvc2?|csc|security code|prüfziffer)\b\s{0,2}[:=]?\s{0,2}(?:is\s|ist\s)?(?P<secret>\d{3,4})\b", re.IGNORECASE
)
_TEST_CARDS = frozenset(
    "4242424242424242 4000056655665556 5555555555554444 4111111111111111 4012888888881881 378282246310005 6011111111111117 5105105105105100 4000000000000002".split()
)
_LOCK = re.compile(
    r"\b(?:door|gate|garage|rack|cabinet|cage|alarm|safe|lock|locker|lockbox|disarm|keypad|entry|building|lift|voicemail|screen ?lock|screen|tablet|phone|sim|tür|tor|tresor|schließfach|alarmanlage|porte|coffre|alarme|puerta|caja fuerte|porta|cofre|"
    r"cassaforte|сейф\w{0,2}|двер\w{1,2}|домофон\w{0,2})\b[^\n.!?]{0,40}?(?P<secret>(?<![\d-])(?:\d{2}-\d{2}-\d{2}|\d{4,8}[#*]?))(?![\w-]|[.:,]\d|\s(?:ms|px|items|rows|times|files|bytes|lines|users))",
    re.IGNORECASE,
)
_CODE_WORD = re.compile(
    r"\b(?:code|combo|combination|pin|unlock|disarm|opens?|kombination|code-nummer|código|codice|код\w{0,2}|geht auf)\b",
    re.IGNORECASE,
)
_NO_COUNT = re.compile(
    r"\b(?:error|exit|status|zip|line|port|issue|pr|ticket|version|room|model|type|order|invoice|no|nr|number|source|area|postal)\b\.?\s?#?\d",
    re.IGNORECASE,
)
_HAS_BEEN = re.compile(
    r"(?:pass-?phrase|pass ?word|passwort|passphrase|kennwort|mot de passe|phrase de passe|contraseña|frase|senha|пароль\w{0,2}|парольная фраза)\b[^\n:=\"]{0,60}?(?:\b(?:is|was|been|remains|ist|war|lautet|est|es|é|è|это)\b|[:=→—–])\s{0,2}"
    r"(?:(?:always|still|now|immer|toujours|siempre|sempre|всегда)\s{1,2})?(?P<open>[\"“„«]?)(?P<secret>[^\W\d_]{2,14}(?: [^\W\d_]{2,14}){3,8})(?P<close>[\"”“»]?)(?=[.!]?\s{0,2}(?:\n|$)|\s(?:since|seit|depuis|for)\b|[,;)])",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"\b(?:the|an|is|are|was|be|been|to|of|from|for|not|must|should|will|it|this|that|which|stored|kept|has|have|can|may|you|we|they|der|das|die|ein|eine|ist|im|mit|nicht|und|muss|wird|zu|est|pas|une|un|doit|que|para|non|не|это|"
    r"same|required|unchanged|requise?|demandée?|richiest[ao]|obligatoi?r[ei]a?|ogni|nie|noch)\b",
    re.IGNORECASE,
)
_WORDS_ARROW = re.compile(
    r"(?:code secret|mot de passe|passwort|kennwort|password|passphrase|contraseña|senha|parola|пароль)\b[^\n:=→]{0,60}(?:→|->|=>|[:=])\s{0,2}[\"“„«]?(?P<secret>[^\W\d_]{3,16}(?:[.][^\W\d_]{2,16}){2,5})(?=[\"”»]?[.!]?\s{0,2}(?:\n|$))",
    re.IGNORECASE,
)
_CARD_WORDS = frozenset(
    "card visa amex cvv cvc csc exp karte carte tarjeta cartão carta pan карт 卡号 カード code prüfziffer".split()
)
_LOCK_WORDS = frozenset(
    "door gate garage rack cabinet cage alarm safe lock disarm keypad entry building lift voicemail screen tablet phone sim tür tor tresor schließfach porte coffre puerta caja porta cofre cassaforte сейф двер домофон".split()
)
_CODE_WORDS = frozenset("code combo combi pin unlock disarm open kombi código codice код geht".split())
_PHRASE_WORDS = frozenset("phrase frase фраз".split())
_NAMED_WORDS = frozenset("secret passe passwor kennwort phrase contrase senha parola парол".split())
_SHAPE_WORDS = frozenset(
    "pass code bitlocker recovery app gmail google smtp mail wallet eth deployer signer private key card visa cvv cvc exp karte tarjeta carte safe door alarm lock screen disarm keypad totp 2fa mfa authenticat scan manual setup wif "
    "solana keypair passe parol contrase senha phrase frase парол kennwort сейф двер домофон tür tresor coffre puerta porta gate garage sim pin phone priv".split()
)


def _special(scanned: ScannedText) -> Iterator[Found]:
    text = scanned.text
    if any(sign in text for sign in (":", "=", ">", "→")) and scanned.has(_NAMED_WORDS):
        yield from (
            (*match.span("secret"), "password") for match in _WORDS_ARROW.finditer(text) if not is_expression(match["secret"])
        )
    if "<digits>" in scanned.there:
        yield from _numbers(scanned)
    if "<wif>" in scanned.there:
        for match in _WIF.finditer(text):
            if any(c.isdigit() for c in match[0]) and not is_wordy(match[0]) and not in_address(text, match.start()):
                yield *match.span(), "key"
    if scanned.has(_SHAPE_WORDS):
        yield from _groups(text)
        yield from _wallets(text)
        if any(sign in text for sign in '"“„«') or scanned.has(_PHRASE_WORDS):
            yield from _phrases(text)


def _numbers(scanned: ScannedText) -> Iterator[Found]:
    """Yield recovery keys of disks, payment cards, and codes of doors and safes."""
    text = scanned.text
    if "<bitlocker>" in scanned.there:
        yield from ((*match.span(), "recovery-codes") for match in _BITLOCKER.finditer(text))
    if scanned.has(_CARD_WORDS):
        yield from _cards(text)
    if scanned.has(_LOCK_WORDS) and scanned.has(_CODE_WORDS):
        yield from _locks(text)


def _groups(text: str) -> Iterator[Found]:
    """Yield application passwords and authenticator seeds, which are written in groups of four characters."""
    for match in _FOUR_BY_FOUR.finditer(text):
        letters = match["secret"].replace(" ", "").replace("-", "")
        named = _APP_PASSWORD.search(text, max(0, match.start() - 60), match.start())
        if named and not _is_prose(match["secret"]) and len(set(letters)) >= _VARIED:
            yield *match.span("secret"), "password"
    for match in _GROUPED_SEED.finditer(text):
        named = _OF_AUTHENTICATOR.search(text, max(0, match.start() - 80), match.end() + 40)
        if named and (any(c.isdigit() for c in match["secret"]) or match["secret"].islower() and not _is_prose(match["secret"])):
            yield *match.span("secret"), "seed"


def _wallets(text: str) -> Iterator[Found]:
    """Yield wallet keys, in hexadecimal or as a list of bytes."""
    for match in _WALLET_KEY.finditer(text):
        if not _ON_CHAIN.search(match["between"]) and not _ON_CHAIN.search(text, max(0, match.start() - 20), match.start()):
            yield *match.span("secret"), "key"
    for match in _KEY_BYTES.finditer(text):
        long = match[0].count(",") >= _KEY_OF_32 - 1
        if (_OF_A_WALLET if long else _OF_A_SHORT_KEY).search(text, max(0, match.start() - 60), match.start()):
            yield *match.span(), "key"


def _phrases(text: str) -> Iterator[Found]:
    """Yield passphrases of several words. Without quotes, they must not contain function words."""
    for match in _HAS_BEEN.finditer(text):
        quoted = match["open"] and match["close"]
        if quoted or "phrase" in match[0].casefold() and not _SENTENCE.search(match["secret"]):
            yield *match.span("secret"), "password"


def _is_prose(text: str) -> bool:
    """Return whether the groups of four letters are words."""
    return is_wordy("".join(group.title() for group in re.split("[ -]", text)))


def _cards(text: str) -> Iterator[Found]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match["secret"])
        around = text[max(0, match.start() - 60) : match.end() + 60]
        if digits not in _TEST_CARDS and _passes_luhn(digits) and (_OF_A_CARD.search(around) is not None):
            yield *match.span("secret"), "card"
    for match in _CVV.finditer(text):
        yield *match.span("secret"), "card"


def _passes_luhn(digits: str) -> bool:
    doubled = [int(c) * (2 if number % 2 else 1) for number, c in enumerate(reversed(digits))]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0  # noqa: PLR2004


def _locks(text: str) -> Iterator[Found]:
    for match in _LOCK.finditer(text):
        around = text[max(0, match.start() - 30) : match.end() + 24]
        if _CODE_WORD.search(around) and not _NO_COUNT.search(match[0]):
            yield *match.span("secret"), "one-time-code"


# The search runs only on texts that contain one of these literals.
ANCHORS = (
    _STEMS.parts
    | _PRINT_STEMS.parts
    | _PRINT_NEEDS
    | _SHAPE_WORDS
    | _PHRASE_WORDS
    | _NAMED_WORDS
    | _CARD_WORDS
    | _LOCK_WORDS
    | _CODE_WORDS
)
