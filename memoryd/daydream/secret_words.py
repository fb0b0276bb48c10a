"""Find secrets by nearby words.

Such a word may be before or after the value in a clause, in a column heading, or in the name of a value.
`secret_rules` covers the written forms of secrets. This module only uses what a word such as "password" implies about
the words next to it. Words are looked up in sets, for a few words on each side, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, chain
from pathlib import Path

from memoryd.core.errors import ConfigError
from memoryd.daydream.secret_values import (
    ScannedText,
    is_compound,
    is_described,
    is_lookup,
    is_measure,
    is_mixed,
    is_placeholder,
    is_predicate,
    is_wordy,
    looks_random,
    stems_in,
)

Found = tuple[int, int, str]

MARK = "[redacted:"
_REACH = 120  # Number of characters to examine on each side of a word.
_WORDS_BACK = 6
_WORDS_ON = 9
_MIN_PASSWORD = 4
_LONGEST_CHOSEN = 60

_PASSWORD = (
    r"pass[ -]?words?|pass[ -]?phrase|passcode|passwd|pwd|passwort|kennwort|losungswort|mot de passe|mdp|code secret|phrase secrète|contraseña|contrasena|clave|senha|"
    r"palavra[- ]passe|palavra[- ]chave|pre-?shared[ -]key|psk|network key|wi-?fi key|(?:secret|security)(?: question)? answer|geheimnis|geheimzahl|(?:shared|common|client|signing|webhook|hmac) secret|parola d'ordine|parola chiave|wachtwoord|hasło|heslo|lösenord(?:et)?|passord(?:et)?|adgangskoden?|salasanani?|şifre(?:m|si|miz)?|jelszó|пароль|пароля|паролем|пароле|login|logon|zugang|zugangsdaten|credentials?|creds?|pin|pw"
)
_KEY = (
    r"(?:api|app|auth|admin|access|account|service|signing|encryption|master|shared|deploy|storage|client|bot|webhook|licen[sc]e|recovery|unseal|rescue|emergency|root|activation|personal access|session|bearer|refresh|hmac|jwt|cookie)"
    r"[ -]?(?:keys?|tokens?|secrets?|cookie)|tokens?|secrets?|schlüssel|api-schlüssel|jeton|clé(?: secrète| api| d'api)?|llave|chave|chiave|ключ|токен|секрет|session[ -]?id|sessions-id|cookie"
)
# Matches at the start of a word, or of the last part of a hyphenated German compound, as in "WLAN-Passwort".
WORD_START = r"(?:(?<![\w-])|(?<=\w-)(?=(?-i:[PKZLS][a-zü]))|(?<=[a-zäöüß])(?=(?-i:passwort|kennwort|schlüssel|token|wachtwoord|lösenord)))"
_KEYWORD = re.compile(rf"{WORD_START}(?:(?P<password>{_PASSWORD})|(?P<key>{_KEY}))(?!\w)", re.IGNORECASE)
_PASSWORD_STEMS = stems_in(
    "pass pwd pw kennwort losungswort mot~de mdp code~secret phrase~secr contrase clave senha palavra parola wachtwoord hasło heslo lösenord passord adgangskode salasana şifre jelsz парол login logon zugang cred pin pre-shared preshared psk network~key wi-fi wifi shared~s common~s client~s signing~s webhook~s hmac~s secret~ security~ geheim"
)
_KEY_STEMS = stems_in(
    "api app auth admin access account service signing encryption master shared deploy storage client bot webhook licen recovery unseal rescue emergency root activation personal session bearer refresh "
    "hmac jwt cookie token secret schlüssel jeton clé llave chave chiave ключ токен секрет"
)
# Every name of a key contains one of these.
_KEY_ENDS = frozenset("key token secret cookie session schlüssel jeton clé llave chave chiave ключ токен секрет".split())

# Constructions such as "X is the password" and "the password is X"
_IS = frozenset(
    """is was are be be: = := => -> → ⇒ : — – - == ist war lautet lauten heißt heisst wäre est était es sera será sería era é è sarà sarebbe seria são sono это является jest reads equals
    remains became wird wurde bleibt reste devient queda quedó quedo ficou fica foi rimane diventa стал будет теперь остался now: jetzt: that's thats c'est it's""".split()
)
_AS = frozenset("as als comme como come jako som как".split())
TO = frozenset(("to", "auf", "zu", "en", "\u00e0", "a", "in", "para", "\u0432", "\u043d\u0430", "into"))
CHANGED = frozenset(
    """changed set reset rotated updated switched made geändert gesetzt gestellt umgestellt changé mis remis passé cambié cambiado cambié cambiada cambiamos puesto
    troquei troquem trocou trocamos mudamos mudei mudou alterado alterada trocada trocado mudada cambiato cambiata impostata impostato сменил сменили изменил изменён изменен поменял поменяли сменён""".split()
)
_AFTER_IS = frozenset(
    """new neu nuevo nueva nouveau novo nova nuova новый now still currently again actually really just simply formerly originally früher vorher bisher auparavant antes prima раньше always jetzt nun aktuell noch immer wieder ahora maintenant toujours désormais adesso ora agora теперь всё ещё the same as before:
    set to always literally only""".split()
)
ASKS_FOR = frozenset(
    """use try used using enter type put set take pick give nimm nehmt nimmt nehme nehmen benutze benutz verwende verwendet gib tippe setz setze probier versuch usa uso use usad prueba pon puse
    utilise utilisez utilisons mets mis entre entrez essaie essaye j'utilise usei usar digite coloque tente inserisci metti prova usiamo usamos используй используем введи вводи поставь попробуй
    with mit avec con com used chose picked took usé usamos usaba usei usamos usava usado usato messo scelto pris choisi utilisé prends habe hab haben hatte nahm nutze nutzt использую использовал использовала поставил поставила ввёл
    elegí puse scelgo escolhi pôs""".split()
)
_POINTS = frozenset(
    "that this it that's this it's das dies es ce c'est cela esto eso esa esta isto essa isso questa questo это its".split()
)
_WORKS = frozenset(
    "works work worked serves served dient diente funktioniert marche fonctionne sert sirve funciona serve funziona служит подходит still now also again here auch jetzt".split()
)
_BETWEEN = frozenset({*_POINTS, *_IS, *_WORKS, ""})
# Words that may appear in place of a value but are not values
_NO_VALUE = frozenset(
    """that this here there which what where when who whose why how it its he she they you we i das dies dieses hier was wer wo wie es welches ce cela ça voici quel quelle esto eso esta este cual cuál isso isto esta essa
    qual quale questa questo это что вот here's email e-mail username user name names value string text plaintext default input field length bcrypt argon2 scrypt vault keycloak ldap
    localhost nothing everything something anything same first second third last other another one two each every either both stdin environment env file hash random empty null none security only
    not never always also still identity authentication authorization oauth saml sso basic bearer cookie header query uuid jwt json yaml base64 hex number numbers letters digits part
    used stored known required needed expected given validated sent there allowed hidden shown treated defined mandatory optional important problem question answer point goal aim issue reason""".split()
)
# Words and signs that join a value to a name
JOINS = _IS | _AS | TO | _AFTER_IS | CHANGED
_ABOUT = frozenset(
    """hash hashes algorithm length policy policies field fields manager column table type format cost reset check page rule rules strength entropy generator input form prompt count budget limit file
    files store storage expiry expiration lifetime ttl endpoint url name names id rotation handling validation parser bucket source server provider service hashing function method kind class value
    system store stores parameter argument option variable flag header primaria primarias foránea foranea ajena externa única primaire étrangère feld länge richtlinie regel datei verwaltung manager hasher""".split()
)
_GOES_ON = frozenset(
    """for of on to in at from when if and or but as so until since because please ok okay now again there here by with für vom von auf im in am zum zur und oder aber bitte wenn bis seit pour du de des sur et ou si quand
    genommen gesetzt verwendet benutzt gewählt eingestellt hinterlegt vergeben eingeben ein an seit desde depuis since para del de en y o si do da no na e ou se per di del della su и для от на в если""".split()
)
_QUOTES = "\"'`„“”«»‚‘’*()[]<>「」『』"
_STRONG = "!#$?&§%^*~"
_STRONG_SIGNS = frozenset(_STRONG)
_SIGN_OR_DIGIT = re.compile(rf"[\d{re.escape(_STRONG)}]")
_STRIPPED = _QUOTES + ","
_SENTENCE_END = re.compile(r"[.!?。！？；;](?=\s|[^\x00-\x7f]|$)|\n")
_TOKEN = re.compile(r"\S+")


def find_by_words(scanned: ScannedText) -> list[Found]:
    """Return the secrets in a text, in order and without overlaps."""
    text = scanned.text
    found = [*_near_words(scanned), *_in_columns(scanned), *_codes(scanned), *_seeds(scanned)]
    if scanned.has(_CJK_WORDS):
        found += _near_cjk(text)
    if "<login@>" in scanned.there:
        found += _without_scheme(text)
    if scanned.has(_ASSIGNED_WORDS):
        found += _names(text)
        found += _parts(text)
    if "hook" in scanned.there:
        found += _hooks(text)
    out: list[Found] = []
    for start, end, kind in sorted(found):
        if (
            (not out or start >= out[-1][1])
            and MARK not in text[start:end]
            and not _in_mark(text, start)
            and not is_described(text, start)
        ):
            out.append((start, end, kind))
    return out


def _in_mark(text: str, start: int) -> bool:
    return text.rfind(MARK, max(0, start - 60), start) > text.rfind("]", max(0, start - 60), start)


# In a clause


class _Words:
    """The words of a text, which is split and folded only once."""

    def __init__(self, text: str) -> None:
        self._chosen: dict[int, bool] = {}
        self._random: dict[int, bool] = {}
        matches = [*_TOKEN.finditer(text)]
        self.starts = [match.start() for match in matches]
        self.raws = [match.group() for match in matches]
        self.folded = [raw.casefold().strip(_STRIPPED) if len(raw) <= _REACH else "" for raw in self.raws]
        ends = [match.end() for match in matches]
        self.closes = [
            raw[-1] in ".!?;" or end < start and "\n" in text[end:start] or "。" in raw
            for raw, end, start in zip(self.raws, ends, [*self.starts[1:], 0], strict=True)
        ]

    def chosen(self, number: int) -> bool:
        """Return whether a word looks like a human-chosen password."""
        known = self._chosen.get(number)
        if known is None:
            raw = self.raws[number]
            known = len(raw) <= _LONGEST_CHOSEN and _SIGN_OR_DIGIT.search(raw) is not None and is_chosen(_bare(0, raw)[1])
            self._chosen[number] = known
        return known

    def random(self, number: int) -> bool:
        """Return whether a word is a high-entropy run of characters."""
        known = self._random.get(number)
        if known is None:
            raw = self.raws[number]
            value = _bare(0, raw)[1] if 14 <= len(raw) <= 210 and any(c.isdigit() for c in raw) else ""  # noqa: PLR2004 - as in _RUN
            known = value != "" and (_is_random(value) or _KEY_HEX.fullmatch(value) is not None)
            self._random[number] = known
        return known

    def sentence(self, start: int, end: int) -> tuple[int, int]:
        """Return the sentence around a position, limited to a few words on each side."""
        first = last = max(0, bisect_left(self.starts, start + 1) - 1)
        least, most = max(0, first - _WORDS_ON), min(len(self.starts), first + _WORDS_ON + 3)
        while first > least and not self.closes[first - 1]:
            first -= 1
        while last < most and (last == len(self.starts) - 1 or not self.closes[last]):
            last += 1
        return first, min(most, last + 1)

    def before(self, at: int) -> list[tuple[int, str]]:
        """Return the last few words before a position, unchanged."""
        number = bisect_left(self.starts, at)
        if number and self.starts[number - 1] + len(self.raws[number - 1]) > at:
            number -= 1
        least = max(0, number - _WORDS_BACK - 4)
        return [*zip(self.starts[least:number], self.raws[least:number], strict=True)]

    def after(self, at: int) -> list[tuple[int, str, str]]:
        """Return the next few words of the sentence, each with its folded form."""
        number, out = bisect_left(self.starts, at), []
        if number and (rest := self.raws[number - 1][at - self.starts[number - 1] : at - self.starts[number - 1] + _REACH]):
            out.append((at, rest, rest.casefold().strip(_STRIPPED)))
            if self.closes[number - 1]:
                return out if len(rest) > 1 or rest == ":" else []
        elif number and self.closes[number - 1]:
            return out
        while number < len(self.starts) and len(out) < _WORDS_ON + 3 and self.starts[number] - at < _REACH:
            out.append((self.starts[number], self.raws[number], self.folded[number]))
            if self.closes[number]:
                break
            number += 1
        return out


def _near_words(scanned: ScannedText) -> Iterator[Found]:
    text = scanned.text
    words: _Words | None = None
    places = scanned.positions(_PASSWORD_STEMS)
    if scanned.has(_KEY_ENDS):
        places = sorted({*places, *scanned.positions(_KEY_STEMS)})
    for at in places:
        scanned.deadline.check()
        word = _KEYWORD.match(text, at)
        if word is None:
            continue
        words = words or _Words(text)
        password = word["password"] is not None
        kind = "password" if password else "key"
        for span in (_before(text, word, words, password), _after(text, word, words, password)):
            if span is not None:
                yield (*span, kind)
        if not password or "<random-hex>" in scanned.there and _NO_LOGIN.match(word[0]):
            for start, value in _random_near(word, words):
                yield start, start + len(value), kind
        if password and _NO_LOGIN.match(word[0]) and not is_about(text, word.end()):
            for start, value in _chosen_near(text, word, words):
                yield start, start + len(value), kind


def _before(text: str, word: re.Match[str], words: _Words, password: bool) -> tuple[int, int] | None:
    """Return the value in clauses such as "X is the password", "use X as the password" and "X — that's the password"."""
    if not word.start() or not (text[word.start() - 1].isspace() or text[word.start() - 1] in _QUOTES):
        return None
    tokens = words.before(word.start())
    for steps in range(1, min(_WORDS_BACK, len(tokens))):
        joint = tokens[-steps][1].casefold().strip(_QUOTES)
        if joint in ("=", ":="):  # The previous word shows that it is a name.
            return None
        if joint in _AS or joint in _IS:
            return _joined_before(text, word, tokens[:-steps], joint, password)
        if steps > 1 and joint[-1:] in ".,;:!?":
            return None
    return None


_NO_LOGIN = re.compile(r"(?!login|logon|zugang|cred|pin|access)", re.IGNORECASE)
_OF = frozenset(
    """for of on at in by from via per against inside für von bei auf in im aus über pour de du sur dans chez para de del en por sobre do da no na di del su per для от на в из user users account accounts
    host hosts server service database db schema table column file field class function method branch ticket issue version named called utilisateur usuario usuário utente benutzer nutzer konto compte cuenta conta
    пользователя пользователь сервер сервера""".split()
)
_LONE_ANSWER = re.compile(
    r"(?:\s?[.!…:]{1,3}|[^\n.!?]{0,40}\?{1,2})\s{1,3}(?:[—–>-]{1,2}\s{1,2})?(?P<secret>\S{6,60}?)[.!]?(?=\s{0,3}(?:\n|$))"
)


def _chosen_near(text: str, word: re.Match[str], words: _Words) -> Iterator[tuple[int, str]]:
    """Yield values in the same sentence that look like chosen passwords rather than names."""
    answer = _LONE_ANSWER.match(text, word.end())
    if answer is not None and is_chosen(answer["secret"]):
        yield answer.start("secret"), answer["secret"]
    first, last = words.sentence(word.start(), word.end())
    changed = any(words.folded[number] in CHANGED for number in range(first, last)) if first < last else False
    for number in range(first, last):
        raw = words.raws[number]
        if not words.chosen(number) or word.start() <= words.starts[number] < word.end():
            continue
        start, value = _bare(words.starts[number], raw)
        before = words.folded[number - 1] if number else ""
        if is_strong(value) or changed or before not in _OF:
            yield start, value


def _random_near(word: re.Match[str], words: _Words) -> Iterator[tuple[int, str]]:
    """Yield high-entropy runs next to the name of a key, in the same sentence."""
    first, last = words.sentence(word.start(), word.end())
    if first >= last:
        return
    hashed = any(words.folded[number] in _OF_A_DIGEST for number in range(first, last)) or is_about(word.string, word.end())
    for number in range(first, last):
        if words.random(number) and not word.start() <= words.starts[number] < word.end():
            if hashed and _KEY_HEX.fullmatch(_bare(0, words.raws[number])[1]):
                continue
            yield _bare(words.starts[number], words.raws[number])


_KEY_HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64}")
_OF_A_DIGEST = frozenset(
    """hash hashes hashed sha sha1 sha256 sha-256 sha512 md5 digest checksum checksums fingerprint commit commits revision id ids uuid trace span request etag image layer block tx transaction
    integrity prüfsumme empreinte huella hachage хеш хэш 哈希 ハッシュ public öffentlicher publique pública publica pubblica content-hash hash: md5: sha256: id: digest: commit: object blob file cache""".split()
)


def _is_random(value: str) -> bool:
    """Return whether the value can't be a name.

    It must mix upper case, lower case and digits, and must not contain a word.
    """
    if not _RUN.fullmatch(value) or sum(c.isdigit() for c in value) < 3 or is_placeholder(value) or _UUID.match(value):  # noqa: PLR2004
        return False
    return any(c.isupper() for c in value) and any(c.islower() for c in value) and not is_wordy(value) and looks_random(value)


_RUN = re.compile(r"[A-Za-z0-9_+=~-]{14,200}")


def is_chosen(value: str) -> bool:
    """Return whether the value looks like a chosen password.

    That is a long word with digits and perhaps punctuation that does not look like the name of a machine or branch.
    """
    if _SIGN_INSIDE.fullmatch(value):
        return not is_placeholder(value)
    if (
        len(value) < 7
        or not any(c.isdigit() for c in value)
        or sum(c.isalpha() for c in value) < 4
        or any(c in "/=(<>:@[]{}|\\" for c in value)
    ):  # noqa: PLR2004
        return False
    if (
        _IS_CODE.search(value)
        or is_placeholder(value)
        or is_measure(value)
        or is_lookup(value)
        and "." not in value
        or is_name(value)
        or MARK in value
    ):
        return False
    return (
        is_strong(value)
        or not any(c in "-_." for c in value)
        and not value[0].isdigit()
        or any(c.isupper() for c in value)
        and any(c.islower() for c in value)
    )


_SIGN_INSIDE = re.compile(r"[A-Za-z]{3,20}[!$%^~][A-Za-z]{3,20}")


def _joined_before(
    text: str, word: re.Match[str], tokens: list[tuple[int, str]], joint: str, password: bool
) -> tuple[int, int] | None:
    pointed = joint in ("that's", "thats", "c'est", "it's")
    while len(tokens) > 1 and (last := tokens[-1][1].casefold().strip(",.—–-")) in _BETWEEN:
        pointed = pointed or last not in _WORKS
        tokens = tokens[:-1]
    if not tokens:
        return None
    start, raw = tokens[-1]
    start, value = _bare(start, raw)
    if not value or is_about(text, word.end()):
        return None
    if _may_be_secret(value, password, near=True):
        return (start, start + len(value))
    chosen = joint in _AS and (_is_chosen_words(value) or _TWO_CAPITALS.fullmatch(value) is not None)
    if not password or pointed and joint not in _IS or not (_may_be_word(value) or chosen):
        return None
    earlier = tokens[-2][1].casefold().strip(_QUOTES) if len(tokens) > 1 else ""
    if (
        joint in _AS
        and (earlier in ASKS_FOR or chosen and "_" not in value and earlier in _TAKES)
        and _clause_ends(text, word.end())
    ):
        return (start, start + len(value))
    first = not earlier or earlier[-1] in ".,;:!?" or raw[:1] in "\"'`„“«"
    if joint in _IS and joint not in ("-", ":") and first and _clause_ends(text, word.end()) and _begins_line(text, tokens):
        return (start, start + len(value))
    return None


_TWO_CAPITALS = re.compile(r"[A-Z][a-zà-ÿ]{2,14}[A-Z][a-zà-ÿ]{2,14}")
# Verbs after which joined words may be what is used as a password.
_TAKES = frozenset(
    "takes accepts share shares set left put kept has uses used puse dejé acepta tiene quedó mis laissé accepte".split()
)


def _begins_line(text: str, tokens: list[tuple[int, str]]) -> bool:
    return len(tokens) > 1 or not text[max(0, tokens[0][0] - 3) : tokens[0][0]].strip(" \n\"'`„“«*->")


def _after(text: str, word: re.Match[str], words: _Words, password: bool) -> tuple[int, int] | None:
    """Return the value in clauses such as "the password for X will be Y" and "the password was changed to Y"."""
    if "?" in text[word.end() : word.end() + 2] and (answer := _ANSWER.match(text, word.end())) is not None:
        return answer.span("secret") if password and _may_be_secret(answer["secret"], password, near=True) else None
    if (
        password
        and "phrase" in word[0].casefold()
        and (phrase := _PHRASE.match(text, word.end())) is not None
        and _is_passphrase_after(text, word, phrase["secret"])
    ):
        return phrase.span("secret")
    return None if is_about(text, word.end()) else _joined_after(words.after(word.end()), password)


def _joined_after(tokens: list[tuple[int, str, str]], password: bool) -> tuple[int, int] | None:
    """Return the first value joined to the previous words by "is" or a similar word."""
    joined = changed = False
    before = ""
    for number, (start, raw, folded) in enumerate(tokens):
        if number >= _WORDS_ON and not joined:
            return None
        changed = changed or folded in CHANGED
        if folded in _IS or raw[-1] == ":" or changed and folded in TO:
            joined, before = True, folded
            continue
        if joined and (folded in _AFTER_IS or folded in ("auf", "to")):
            continue
        if not joined and not (password and not _STRONG_SIGNS.isdisjoint(raw)):
            before = folded
            continue
        at, value = _bare(start, raw)
        if joined and _is_joined(value, raw, before, number, password) or not joined and value and is_strong(value):
            return (at, at + len(value))
        joined, before = False, folded
    return None


def _is_joined(value: str, raw: str, before: str, number: int, password: bool) -> bool:
    """Return whether a value after "is" is a secret. A quoted word also counts as a password."""
    near = (number <= _CLAUSE_WORDS or before in _IS) and (password or before.isalpha())
    if value and (is_strong(value) or _may_be_secret(value, password, near=near)):
        return True
    if password and before in _IS and _LONG_PHRASE.fullmatch(value) and not is_compound(value):
        return True
    return password and before in _IS and len(value) >= 7 and _quoted(raw) and _may_be_word(value)  # noqa: PLR2004


_LONG_PHRASE = re.compile(r"(?=[a-z-]{0,60}[a-z]{5})[a-z]{2,14}(?:-[a-z]{2,14}){2,7}")


_CLAUSE_WORDS = 6

_ANSWER = re.compile(r"\s?\?{1,2}[ \t]{1,3}(?P<secret>[^\s\"'`]{4,60}?)[.!]?(?=\s{0,3}(?:\n|$))")
_PHRASE = re.compile(r"[ \t]{1,2}[\"'`„“]?(?P<secret>[a-z]{2,12}(?:[ -][a-z]{2,12}){3,9})(?=[\"'`”“]?[.!]?\s{0,3}(?:\n|$))")
_TIES = frozenset(
    "the a an is are was be been in on at of to from by with for not and or must should will it this that read kept stored has have can may we you they needs".split()
)


def _is_passphrase_after(text: str, word: re.Match[str], phrase: str) -> bool:
    """Return whether the words after "with passphrase" form a passphrase.

    They do unless one of them is a function word.
    """
    before = text[max(0, word.start() - 30) : word.start()].casefold().split()
    return "phrase" in word[0].casefold() and bool(ASKS_FOR.intersection(before[-2:])) and not _TIES.intersection(phrase.split())


def _quoted(raw: str) -> bool:
    return raw[:1] in "\"'`„“«" and raw.rstrip(".,;")[-1:] in "\"'`”“»"


def _bare(start: int, raw: str) -> tuple[int, str]:
    """Return a word without quotes and sentence-ending punctuation."""
    if _CALL.search(raw):
        return start, ""
    head = len(raw) - len(raw.lstrip(_QUOTES))
    value = raw[head:].rstrip(_QUOTES + ".,;:?…")
    return start + head, value.rstrip("'\"`”»")


_CALL = re.compile(r"[A-Za-z_]\(")


def is_about(text: str, at: int) -> bool:
    """Return whether the next word turns the text into a statement about passwords, as in "the password policy"."""
    if text[at : at + 2] in ("'s", "’s"):
        return text[at + 2 : at + 3] == " " and is_about(text, at + 2)
    if _FILE_NAME.match(text, at):
        return True
    following = _NEXT_WORD.match(text, at)
    return following is not None and following[1].casefold() in _ABOUT


_FILE_NAME = re.compile(
    r"\.(?:tar|zip|gz|tgz|py|[jt]sx?|go|rs|md|json|ya?ml|toml|env|txt|sh|sql|pem|conf|cfg|ini|log|xml|html?|java|php|rb|kt|cs)\b"
)


_NEXT_WORD = re.compile(r"[\s_-]{1,2}(\w{1,20})")


def _clause_ends(text: str, at: int) -> bool:
    if not text[at : at + 3].strip(_QUOTES + " \t"):
        following = _NEXT_WORD.match(text, at)
        return following is None or following[1].casefold() in _GOES_ON
    rest = text[at : at + 30].lstrip(_QUOTES + " \t")
    return not rest or rest[0] in ".,;:!?)\n—–-" or rest.split(maxsplit=1)[0].casefold().strip(",.") in _GOES_ON


def may_be_password(value: str) -> bool:
    """Return whether a value may be a password where one is expected."""
    return _may_be_secret(value, password=True, near=True)


def _may_be_secret(value: str, password: bool, *, near: bool) -> bool:
    """Return whether a value is none of these: a word, a name, a measure, a placeholder."""
    if len(value) < _MIN_PASSWORD or MARK in value or _IS_CODE.search(value):
        return False
    if value.isdigit() and len(set(value)) > 1:
        return password and near and 4 <= len(value) <= 12 and not _YEAR.match(value) and value != "123456"  # noqa: PLR2004 - PINs, numbers as passwords
    if is_placeholder(value):
        return False
    if is_name(value):
        return False
    if is_measure(value) or is_lookup(value) and not any(c.isdigit() for c in value):
        return password and near and _is_pair(value)
    if password:
        return is_mixed(value) or len(value) >= 6 and _SIGNED.search(value) is not None  # noqa: PLR2004 - "yes/no"
    return looks_random(value) and not is_wordy(value) or near and is_strong(value) or near and is_mixed(value) and len(value) >= 8 and _DIGITS_IN.search(value) is not None  # fmt: skip


# Quoted text, code without spaces, and numbers with a grouping character
_IS_CODE = re.compile(r"[\\→\"`]|[\w\]]\[|\w\(|\{[^{}]{0,200}\}|^\d{1,3}(?:_\d{3})+$|…")


def _is_pair(value: str) -> bool:
    """Return whether the value consists of two words joined by a dot.

    Neither word may be common in code or in sentences about passwords.
    """
    parts = value.split(".")
    return len(parts) == 2 and all(
        len(part) >= 4
        and part.isalpha()
        and part.islower()
        and _may_be_word(part + "z"[: 5 - len(part)])
        and not _NAMESPACE.fullmatch(part)
        for part in parts
    )  # noqa: PLR2004


_YEAR = re.compile(r"(?:19|20)\d\d$")
_DIGITS_IN = re.compile(r"\d{2}|[a-z]\d[a-z]")
_SIGNED = re.compile(r"[a-z][!#$%&*+?@^~=.][a-z]|[a-z]!$", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
# Names of software, versions, machines, tickets, git hashes, codes of messages ("WFLYCTL0013"), email addresses, calls
_NAME = re.compile(
    r"(?:[A-Za-z]{1,12}v?\d{1,2}(?:\.\d+)*|(?-i:[A-Z]{2,8}-\d{1,6}|[A-Z]{2,5}\d{3,10}|[A-Z]{2,10}(?:0\d{2,9}|\d{5,10}|(?!19|20)\d{4})[A-Z]?|[A-Z]\d[A-Z]{2,4}\d{4}[A-Z])|#\d+|(?:issue|pr|bug|ticket|mr|no|nr|gh|line|file|id)[#-]\d+|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,30})+|[0-9a-f]{7,12}|[0-9a-f]{40}|\w{1,60}\(.*|v?\d+(?:\.\d+)+\S*|\d+(?:st|nd|rd|th)|"
    r"(?:oauth|sha|utf|argon|base|aes|ipv|ed|rs|hs|es|rsa|md|i18|k8|s3|ec)-?\d\w*|[\w.-]{1,60}\.(?:com|org|net|io|dev|local|internal|de|py|js|ts|go|rs|md|json|ya?ml|toml|env|txt|sh|sql|pem|tex|rst|csv|xlsx?|docx?|pdf|jpe?g|png|svg|gz|zip|[jw]ar|jks|p12|pfx|crt|csr|cer|der|service|cnf|conf|cfg|ini|log|xml|html?|properties|gradle|twig|vue|bat|ps1|ipynb|proto)|"
    r"[a-z]{2,20}(?:-[a-z]{2,20}){0,3}-20\d\d-[01]\d(?:-[0-3]\d)?|\d+[-/x]\w+|[A-Za-z]+/[A-Za-z]+|--?[a-z]\S*|\w+=\S*|(?-i:[a-z]+_[a-z_]+\d?)|(?-i:[A-Z_]{3,}\d?))$",
    re.IGNORECASE,
)
_LONGEST_NAME = 200
_SHORT_NAME = re.compile(r"[A-Za-z]{1,3}\d{1,2}$")
_WORD_DIGITS = re.compile(r"[A-Za-z]{4,20}\d{1,2}$")


def is_name(value: str) -> bool:
    """Return whether the value is the name of software, a version, a machine, a ticket or a git hash."""
    if len(value) > _LONGEST_NAME:
        return False
    if _UUID.match(value):
        return True
    if _WORD_DIGITS.match(value) and value.casefold().rstrip("0123456789") not in _NUMBERED:
        return False
    return _NAME.match(value) is not None


_NUMBERED = frozenset(
    """argon oauth base utf sha python node http step phase stage version level user server host db worker node app pod test case section chapter part page line option item type group team
    sprint postgres mysql redis windows ubuntu release build task issue ticket bug figure table appendix scrypt blake pbkdf crc keepass web totp fido varchar char iterm keycloak vault round draft java iphone pixel cluster replica shard instance config env""".split()
)


_TWO_WORDS = re.compile(r"[^\W\d_]{3,20}(?:[-_.][^\W\d_]{3,20}){1,4}")


def _is_chosen_words(value: str) -> bool:
    """Return whether the value consists of words joined by hyphens or similar signs that don't describe a password."""
    return _TWO_WORDS.fullmatch(value) is not None and not is_compound(value) and not is_placeholder(value) and not is_lookup(value) or _TWO_WORDS.fullmatch(value) is not None and "." in value and not _NAME.match(value)  # fmt: skip


def _may_be_word(value: str) -> bool:
    """Return whether a plain word may be a password and does not describe one."""
    word = value.casefold()
    return len(value) >= 5 and value.isalpha() and word not in _NO_VALUE and word not in _ABOUT and not is_predicate(value) and not is_placeholder(value)  # fmt: skip


def is_strong(value: str) -> bool:
    """Return whether the value mixes letters, digits and punctuation, unlike words and names in code."""
    if is_placeholder(value) or is_lookup(value) or is_name(value) or "(" in value or "/" in value or _IS_CODE.search(value):
        return False
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    return letters and digits and len(value) >= 6 and any(c in _STRONG for c in value[1:]) and not _QUERY.search(value)  # noqa: PLR2004


_QUERY = re.compile(r"[?&]\w{1,40}=|[./]\S{0,60}#L?\d+$|[./]\S{0,60}#[a-z]+$|^#")

# Scripts without spaces

_CJK_WORD = re.compile(
    r"密码|密碼|口令|密钥|秘钥|令牌|金鑰|私钥|凭证|凭据|パスワード|暗証番号|合言葉|秘密鍵|비밀번호|비번|패스워드|암호|비밀키|토큰|パスフレーズ|パスコード|密语|トークン|シークレット(?:キー)?|キー|鍵|クレデンシャル|시크릿|키"
)
_CJK_BEFORE = re.compile(
    r"(?P<secret>[!-~]{4,60})[」』”\"]?\s?(?:が|は|是|为|為|就是|作为|作為|设为|设成|设置为|设置成|改为|改成|定为|用作|設為|という|って|との|이라는|라는|当|當|做|に|を|를|을|이|가|은|는|로|으로|，|,|、|—|-)[^\x00-\x7f]{0,14}\s?$"
)
_CJK_KEYS = frozenset(
    "密钥 秘钥 令牌 金鑰 私钥 凭证 凭据 秘密鍵 비밀키 토큰 トークン シークレット シークレットキー キー 鍵 クレデンシャル 시크릿 키".split()
)
_ASCII_RUN = re.compile(r"[!-~]{4}[!-~]*")
_NEAR_CJK = 34
_CJK_STRONG = re.compile(r"(?P<secret>[!-~]{6,60})[^\x00-\x7f。！？]{1,24}\s?$")
_CJK_AFTER = re.compile(
    r"[^\x00-\x7f\n。！？]{0,16}[\s:：「『“\"=→]{0,4}[^\x00-\x7f\n。！？]{0,8}\s?(?P<secret>[!-~]{4,80})(?![秒分時时日年月桁回件個名円位个字元天次行文자초회개원]|\s?(?:초|분|자리|文字))"
)


_CJK_WORDS = frozenset(
    "密码 密碼 口令 密钥 秘钥 令牌 パスワード 暗証番号 合言葉 秘密鍵 비밀번호 비번 패스워드 암호 비밀키 토큰 パスフレーズ パスコード 密语 トークン 金鑰 私钥 凭证 凭据 シークレット キー 鍵 クレデンシャル 시크릿 키".split()
)


def _near_cjk(text: str) -> Iterator[Found]:
    runs = [match.span() for match in _ASCII_RUN.finditer(text)]
    starts = [start for start, _ in runs]
    for word in _CJK_WORD.finditer(text):
        number = bisect_left(starts, word.start())
        close = (
            number
            and word.start() - runs[number - 1][1] < _NEAR_CJK
            or number < len(runs)
            and starts[number] - word.end() < _NEAR_CJK
        )
        if not close:
            continue
        password = word[0] not in _CJK_KEYS
        left = text[max(0, word.start() - 90) : word.start()]
        before = _CJK_BEFORE.search(left)
        if before is not None:
            yield from _cjk_value(before, word.start() - len(left), password, made=_MADE.search(before[0]) is not None)
        strong = _CJK_STRONG.search(left)
        if strong is not None and is_strong(strong["secret"]):
            yield from _cjk_value(strong, word.start() - len(left), password)
        after = _CJK_AFTER.match(text, word.end(), word.end() + _REACH)
        if after is not None:
            yield from _cjk_value(after, 0, password)


# As in "makes X the password"
_MADE = re.compile(
    r"(?:を|设为|设成|设置为|设置成|改为|改成|定为|作为|作為|用作|設為|当|當|做|를|을|로|으로|という|이라는)[^!-~]{0,8}$"
)


def _cjk_value(match: re.Match[str], shift: int, password: bool, *, made: bool = False) -> Iterator[Found]:
    at, value = _bare(match.start("secret") + shift, match["secret"])
    quoted = at and match.string[match.start("secret") - 1] in "「『“"
    chosen = (
        password
        and (quoted or made)
        and len(value) >= _MIN_PASSWORD + 1
        and (_may_be_word(value) or _is_chosen_words(value) or _LONG_PHRASE.fullmatch(value) is not None)
    )
    if value and (chosen or _may_be_secret(value, password, near=True) or is_strong(value)):
        yield at, at + len(value), "password"


# Columns and rows

_COLUMN = re.compile(
    rf"(?:[\w./ -]{{0,20}}?[\s_-])?(?:(?P<password>{_PASSWORD}|pass)|(?P<key>{_KEY}|key|otp|2fa|recovery codes?|backup codes?))(?:\s?\([\w ]{{1,20}}\)|s)?",
    re.IGNORECASE,
)
_COLUMN_CJK = re.compile(r"[^\x00-\x7f]{0,6}(?:密码|密碼|口令|密钥|パスワード|暗証番号|비밀번호|암호)")
# Every heading of a column of secrets contains one of these.
_HEADS = stems_in(
    "pass pwd pw kennwort losungswort mot~de mdp code phrase~secr contrase clave senha palavra parola wachtwoord hasło heslo lösenord парол login logon zugang cred pin key token secret cookie "
    "session schlüssel jeton clé llave chave chiave ключ токен секрет otp 2fa 密码 密碼 口令 密钥 パスワード 暗証番号 비밀번호 암호"
)
_NO_CSV = re.compile(r"^\s|[\"'()=.:]|[,;]\s*$")
_RULED = re.compile(r"[\s|:│┃+=─━┼-]*$")
_BARS = str.maketrans({"│": "|", "┃": "|", "¦": "|"})
_MAX_ROWS = 200
_LONGEST_ROW = 4_000  # Longer lines are not rows of a hand-written table.
_MAX_CELLS = 40


def _in_columns(scanned: ScannedText) -> Iterator[Found]:
    heads = scanned.positions(_HEADS)
    if not heads or not any(bar in scanned.text for bar in "|│┃\t,;"):
        return
    lines = scanned.text.splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    least = 0  # The previous lines were rows of a table.
    for number in sorted({bisect_right(starts, at) - 1 for at in heads}):
        if number < least or len(lines[number]) > _LONGEST_ROW:
            continue
        scanned.deadline.check()
        columns, bar, value = _head_of(lines[number])
        if value is not None:
            yield starts[number] + value[0], starts[number] + value[1], "password"
        least = number + 1
        while columns and least < len(lines) and least <= number + _MAX_ROWS and len(lines[least]) <= _LONGEST_ROW:
            row = _plain(lines[least])
            if bar not in row:
                break
            if not _RULED.match(row):
                yield from _cells_of(row, starts[least], bar, columns)
            least += 1


def _plain(line: str) -> str:
    return line if line.isascii() else line.translate(_BARS)


def _head_of(line: str) -> tuple[dict[int, bool], str, tuple[int, int] | None]:
    """Return the columns with secrets, the separator, and any value in the line itself."""
    line, value = _plain(line), None
    for bar in _bars(line):
        columns, found = _header(line, bar)
        value = value or found
        if columns:
            return columns, bar, value
    return {}, "", value


def _bars(line: str) -> Iterator[str]:
    """Yield the characters that may separate the cells of a line."""
    if (" | " in line or line.lstrip().startswith("| ")) and line.count("|") <= _MAX_CELLS:
        yield "|"
    if "\t" in line and line.count("\t") <= _MAX_CELLS:
        yield "\t"
    for sign in ";,":
        if sign in line and line.count(sign) <= _MAX_CELLS and not _NO_CSV.search(line):
            yield sign


def _cells(line: str, bar: str) -> list[tuple[int, str]]:
    out, at = [], 0
    for cell in line.rstrip("\r\n").split(bar):
        out.append((at + len(cell) - len(cell.lstrip()), cell.strip().strip("`*\"'")))
        at += len(cell) + 1
    return out


def _header(line: str, bar: str) -> tuple[dict[int, bool], tuple[int, int] | None]:
    """Return the columns with secrets if this is a table heading, or the value after a name in a row."""
    cells = _cells(line, bar)
    filled = [cell for _, cell in cells if cell]
    columns: dict[int, bool] = {}
    valued = any(_VALUE_COLUMN.fullmatch(cell) for cell in filled)
    for number, (_, cell) in enumerate(cells):
        if 0 < len(cell) <= 40 and (match := _COLUMN.fullmatch(cell)):  # noqa: PLR2004 - a head's length
            columns[number] = match["password"] is not None
        elif 0 < len(cell) <= 16 and _COLUMN_CJK.fullmatch(cell):  # noqa: PLR2004
            columns[number] = True
    if not columns or len(filled) < 2 or any(len(cell) > 40 for cell in filled) and bar != "|":  # noqa: PLR2004
        return {}, None
    for number, password in columns.items():
        if number + 1 < len(cells) and bar in "|\t":
            at, value = cells[number + 1]
            begin = line.find(value, at) if value else -1
            if begin >= 0 and not any(c.isspace() for c in value) and _may_be_secret(value, password, near=True):
                return {}, (begin, begin + len(value))
    if valued or bar in ",;" and not all(_NAME_OF_COLUMN.fullmatch(cell) for cell in filled):
        return {}, None
    return columns, None


_VALUE_COLUMN = re.compile(r"values?|wert|valeur|valor|valore|значение|值|値|값", re.IGNORECASE)
_NAME_OF_COLUMN = re.compile(r"[^\W\d][\w /-]{0,30}")


def _cells_of(line: str, start: int, bar: str, columns: dict[int, bool]) -> Iterator[Found]:
    cells = _cells(line, bar)
    for number, password in columns.items():
        if number >= len(cells):
            continue
        at, value = cells[number]
        begin = line.find(value, at) if value else -1
        if begin < 0 or any(c.isspace() for c in value):
            continue
        wordy = password and len(value) >= 6 and value.isalpha() and not is_predicate(value) and value.casefold() not in _TYPES  # noqa: PLR2004
        if _may_be_secret(value, password, near=True) or wordy or password and "-" in value and _is_phrase(value):
            yield start + begin, start + begin + len(value), "password" if password else "key"


_TYPES = frozenset(
    "string varchar boolean integer number password required optional rotated expired managed bcrypt argon unknown".split()
)


def _is_phrase(value: str) -> bool:
    return value.count("-") >= 2 and all(part.isalnum() for part in value.split("-"))  # noqa: PLR2004


# Codes

_ANY_NUMBER = re.compile(r"\d{4}|\d{2}[ -]\d{2}")
_CODE_STEMS = stems_in(
    "code código codice kod~ kodu kód koden kode~ otp 2fa mfa tan authenticator authy pin пин one-time one~time einmal код 验证码 校验码 认证码 動態密碼 认证コード 認証コード 確認コード ワンタイム 인증번호 인증~번호 인증~코드 확인~코드 动态码"
)
_CODE = re.compile(
    r"(?:(?P<strong>(?:verification|verifizierungs?|verificatie|verificatie-|telegram|whatsapp|signal|slack|google|github|microsoft|apple|steam|discord|paypal|bank|door|gate|garage|alarm|safe|lock|unlock|entry|building|tür|haustür|tor|steam guard|scratch|backup|recovery|rescue|security|auth(?:entication|enticator|entifizierungs)?|login|log-?in|sign-?in|sms|confirmation|access|activation|2fa|mfa|t?otp|two[- ]factor|one[- ]time|einmal|bestätigungs|sicherheits|zugangs|freischalt|anmelde)"
    r"[ -]?(?:code|token|passcode|pin)|(?:abhol|pick-?up|collection|parcel|packstation)[ -]?code|code (?:de |d')(?:retrait|vérification|confirmation|sécurité|connexion|authentification|accès)|code reçu|code sms|código (?:de |sms)(?:verificación|verificação|seguridad|segurança|acceso|acesso|confirmación|confirmação)?|codice (?:di |sms|otp)(?:verifica|sicurezza|conferma|accesso)?|"
    r"(?:mfa|2fa|otp|totp)(?:[ -](?:token|code|pin))?|authenticator(?:[- ]app)?|authy|m?tan|smstan|codes? for (?:the )?(?:login|log-?in|sign-?in|access|2fa|mfa|verification|bank|door)|one[- ]time (?:password|passcode|pin)|einmal(?:passwort|kennwort)|пин(?:-?код)?|код (?:подтверждения|доступа|из смс|безопасности|входа)|kod (?:weryfikacyjny|potwierdzający|autoryzacyjny|dostępu|sms|bezpieczeństwa)|(?:doğrulama|onay|güvenlik|giriş) kodu\w{0,4}|(?:ověřovací|potvrzovací|bezpečnostní|autorizační|sms) kód|(?:ellenőrző|megerősítő|biztonsági|belépési)[ -]?kód\w{0,2}|(?:verifierings|bekräftelse|säkerhets|engångs|bekreftelses|sikkerhets|engangs|bekræftelses)koden?|kode (?:verifikasi|otp|keamanan)|cod(?:ul)? de (?:verificare|confirmare)|验证码|校验码|认证码|动态码|認証コード|確認コード|ワンタイム(?:パスワード|コード)|인증 ?번호|인증 ?코드|확인 ?코드)|"
    r"(?P<weak>code|código|codice|код|kód|kod))(?![0-9a-z\u0430-\u044f'’_(/-])",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.#:/,$€@-])(?P<secret>[A-Z]{1,2}-\d{4,8}|\d{4,8}|\d{3}[ -]\d{3}|\d{2}[ -]\d{2}[ -]\d{2}|\d{4}[ -]\d{4})(?![A-Za-z0-9_%:/-]|[.,]\d|\s?[秒分時时日年月桁回件個名円位个字元天次行文자초회개원])"
)
_NUMBERED_BY = re.compile(
    r"(?:\b(?:line|lines|port|issue|ticket|pr|row|rows|error|status|exit|version|build|id|order|at|after|since|until|in|under|over|about|than|exceeds?|returned?|returns|returning|http|zip|area|page|commit|zeile|fehler|seit|nach|ligne|erreur|depuis|línea|строка|строке|rfc|"
    r"expires|within|every|max|min|up to|least|most)|[#:=]\d*)\s{0,2}$",
    re.IGNORECASE,
)
_CODE_GOES_ON = frozenset(
    "eingeben verwenden nutzen benutzen is as was for when if to and on that this but it i from your my the just now again works expires this in please der die as ist als war und wenn est et si es y e é è это и если — – - that's".split()
)
# Things that a number may count: plurals, and units without a plural.
_COUNTED = re.compile(
    r"(?:[a-z]{2}s|[a-z]{3}en|[a-z]{3}er|ов|ей|ых|нд|ут|и|ы)$|^(?:people|chars?|ms|px|kb|mb|gb|sec|min|mal|times|секунд|минут|of|lines?|percent|prozent|byte|bytes|euro|dollar|usd|eur|mal|zeichen|oder|or|x|до|или)$"
)
_CODE_IS = re.compile(
    r"\s{0,2}(?:is|are|ist|est|es|é|è|это|—|–|-|=|:|,|：|是|は|が)?(?:\s{1,2}(?:that's|that is|this is|das ist|c'est|it's|is|ist))?\s{0,2}(?:(?:the|your|my|our|a|new|current|dein|ihr|mein|der|die|das|votre|ton|le|la|tu|su|el|mi|o|seu|meu|il|tuo|mio|твой|ваш|мой|sms|latest|login|sign-in|one-time|新的?|您的|你的)\s{1,2}){1,4}(?:[\w-]{1,15}\s{1,2}){0,2}$",
    re.IGNORECASE,
)
_NO_CODE_BEFORE = re.compile(
    r"(?:error|exit|status|zip|return|area|response|postal|country|bar|qr|source|http|fehler|erreur|promo|discount|product|sample|bank|sort|swift|tax|currency|dialling|dialing|coupon|referral|voucher|lines? of)[ -]$",
    re.IGNORECASE,
)


def _codes(scanned: ScannedText) -> Iterator[Found]:
    places = scanned.positions(_CODE_STEMS) if "<digits>" in scanned.there else []
    if not places or _ANY_NUMBER.search(scanned.text) is None:
        return
    text, low = scanned.text, scanned.low()
    for at in places:
        scanned.deadline.check()
        start = max(0, low.rfind("\n", max(0, at - 24), at) + 1, at - 24)
        word = next((m for m in _CODE.finditer(text, start, at + 40) if m.end() > at), None)
        if word is not None and (not is_about(text, word.end()) or _ENTERED.search(text, start, word.start())):
            yield from _numbers_near(text, word)


def _numbers_near(text: str, word: re.Match[str]) -> Iterator[Found]:
    strong = word["strong"] is not None
    if not strong and _NO_CODE_BEFORE.search(text[max(0, word.start() - 12) : word.start()]):
        return
    if word.start() and (
        text[word.start() - 1].isalnum() and text[word.start() - 1].isascii() or text[word.start() - 1] in "_-/."
    ):
        return
    left = max(0, text.rfind("\n", max(0, word.start() - 60), word.start()) + 1, word.start() - 60)
    before = [*_NUMBER.finditer(text, left, word.start())]
    if before:
        match = before[-1]
        between = text[match.end() : word.start()]
        if (
            (_CODE_IS.match(between) and (_clause_ends(text, word.end()) or _next_word(text, word.end()) in _RELATIVE))
            or strong
            and _number_ends(text, match)
            and not _SENTENCE_END.search(between)
        ):
            yield match.start("secret"), match.end("secret"), "one-time-code"
    if not strong and not _BY_MAIL.match(text, word.end()) and not _OWN.search(text[max(0, word.start() - 16) : word.start()]):
        return
    end = text.find("\n", word.end(), word.end() + 60)
    right = end if end >= 0 else min(len(text), word.end() + 60)
    after = _NUMBER.search(text, word.end(), right + 9 if end < 0 else right)
    if (
        after is not None
        and _number_ends(text, after)
        and not _SENTENCE_END.search(text, word.end(), after.start())
        and not _CALL.search(text, word.end(), after.start())
        and (strong or _JOINED.search(text[word.end() : after.start()]))
    ):
        yield after.start("secret"), after.end("secret"), "one-time-code"


_BY_MAIL = re.compile(
    r"[^\n.:!?]{0,40}\b(?:sms|text|texted|e-?mail|mail|correo|app|mailed|llegó|recib\w{1,3}|reçu|ricevut\w|chegou|received|arrived|sent|got|пришёл|пришел|получил\w?|kam|bekommen|erhalten)\b",
    re.IGNORECASE,
)
_ENTERED = re.compile(
    r"\b(?:enter|type|use|try|put|tippe|gib|eingeben|entre|saisis|introduce|escribe|digite|введи)\s{1,2}[\d -]{4,9}\s",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:(?:with|using|via|enter|type|opens with|mit|avec|con|com|с)(?:\s(?:the|this|that|dem|le|el|o|il))?|my|your|our|mein|dein|ihr|unser|mon|ton|votre|notre|mi|tu|su|meu|seu|il mio|il tuo|мой|твой|ваш)\s{1,2}(?:\w{1,10}\s)?$",
    re.IGNORECASE,
)
_JOINED = re.compile(r"(?:\b(?:is|ist|lautet|est|es|é|è|это|was|war|now|jetzt)|[:=—–-])\s{0,2}$", re.IGNORECASE)
_RELATIVE = frozenset("the i he she that we they which you it from der die den das que qui che они который".split())


def _next_word(text: str, at: int) -> str:
    following = _NEXT_WORD.match(text, at)
    return following[1].casefold() if following else ""


def _number_ends(text: str, match: re.Match[str]) -> bool:
    """Return whether nothing after the number shows that it is a count or an ordinal."""
    if (
        _YEAR.match(match["secret"])
        or _NUMBERED_BY.search(text[max(0, match.start() - 14) : match.start()])
        and text[: match.start()].rstrip()[-1:] not in ":="
    ):
        return False
    following = _NEXT_WORD.match(text, match.end())
    return following is None or (after := following[1].casefold()) in _CODE_GOES_ON or _COUNTED.search(after) is None


# Seed phrases

_SEED_STEMS = stems_in(
    "twelve~words 24~words 12~words twenty-four~words zwölf~wörter 12~wörter 24~wörter douze~mots 12~mots 24~mots doce~palabras 12~palabras 24~palabras 12~слов 24~слов двенадцать~слов "
    "dodici~parole 12~parole 12~palavras 24~palavras doze~palavras ニーモニック seed mnemonic recovery~phrase phrase~de~r frase wallet 助记词 シード сид фраз 니모닉 복구~구문 "
    "wiederherstellungs semilla backup~phrase secret~phrase"
)
_SEED_RUN = re.compile(
    r"(?<![\w'-])(?:(?:\d{1,2}\s{0,2}[.):-]?\s{0,2})?[a-z]{3,8}[\s,|]{1,4}){11,29}(?:\d{1,2}\s{0,2}[.):-]?\s{0,2})?[a-z]{3,8}(?![\w'])"
)
_NO_SEED = frozenset("the and for are was its has not you're der die und mit les des una los con".split())
_SEED_REACH = 400


def _without_ties(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield runs of twelve or more words without function words."""
    stretch: list[re.Match[str]] = []
    for word in [*_SEED_WORD.finditer(match.string, match.start(), match.end()), None]:
        if word is not None and word[0] not in _NO_SEED:
            stretch.append(word)
            continue
        if len(stretch) >= _SHORTEST_SEED and len({word[0] for word in stretch}) * 3 >= len(stretch) * 2:
            yield stretch[0].start(), stretch[-1].end()
        stretch = []


_SEED_WORD = re.compile(r"[a-z]{3,8}")
_SHORTEST_SEED = 12


SEED_WORDS_FILE = Path(__file__).with_name("seed_words.txt")
_LISTED_WORD = re.compile(r"[A-Za-z]{3,8}")
_BETWEEN_LISTED = re.compile(r"[\s\d.,:;|\"'`\[\])>*#-]{1,12}")
_FEWEST_DIFFERENT = 8  # Phrases may repeat words, but headings of a table repeat most of them.


@cache
def _seed_words() -> frozenset[str]:
    """Load the English words of BIP 39, of which wallets make their phrases. Raises ConfigError."""
    try:
        return frozenset(SEED_WORDS_FILE.read_text(encoding="ascii").split())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{SEED_WORDS_FILE} can't be read: {error}", fix="Install memoryd again.") from error


def _listed(text: str) -> Iterator[Found]:
    """Yield runs of twelve or more words that are all in the list for seed phrases, numbered or not, whatever is around them."""
    listed = _seed_words()
    if len(listed.intersection(_LISTED_WORD.findall(text.lower()))) < _SHORTEST_SEED - 2:
        return
    run = list[re.Match[str]]()
    for match in [*_LISTED_WORD.finditer(text), None]:
        known = match is not None and match[0].lower() in listed
        if match is not None and known and (not run or _is_next(text, run[-1].end(), match.start())):
            run.append(match)
            continue
        if len(run) >= _SHORTEST_SEED and len({word[0].lower() for word in run}) >= _FEWEST_DIFFERENT:
            yield run[0].start(), run[-1].end(), "seed-phrase"
        run = [match] if match is not None and known else []


def _is_next(text: str, end: int, start: int) -> bool:
    return start - end <= _FARTHEST_LISTED and _BETWEEN_LISTED.fullmatch(text, end, start) is not None


_FARTHEST_LISTED = 12


def _seeds(scanned: ScannedText) -> Iterator[Found]:
    yield from _listed(scanned.text)
    text, done = scanned.text, 0
    for at in scanned.positions(_SEED_STEMS):
        scanned.deadline.check()
        left, right = max(done, at - _SEED_REACH), min(len(text), at + _SEED_REACH)
        if right <= done:
            continue
        for match in _SEED_RUN.finditer(text, left, right):
            for start, end in _without_ties(match):
                yield start, end, "seed-phrase"
                done = end
        done = max(done, at)


# Names and addresses

_LOGIN = re.compile(
    r"(?<![\w/.:@+-])(?P<user>[\w.+-]{2,40}):(?P<secret>[^\s:@/'\"<>`|]{2,100})@(?P<host>\d{1,3}(?:\.\d{1,3}){3}|localhost|tcp\(|\[[0-9a-f:]{2,40}\]|[a-z][\w-]{0,60}(?:\.[\w-]{1,60}){1,6}|[a-z][\w-]{0,60}:\d{2,5})",
    re.IGNORECASE,
)
_MAIL = frozenset(
    "mailto mail email e-mail cc bcc to from contact sip sips xmpp name author maintainer von an para user group by reviewed-by npm docker image git ssh pkg".split()
)
ACCOUNTS = frozenset(
    "admin root deploy postgres mysql app sa guest backup ftp test dev ops svc service jenkins gitlab git ubuntu pi ec2-user user".split()
)


_DATE_OR_TIME = re.compile(r"[\d.+-]{2,40}")


def _without_scheme(text: str) -> Iterator[Found]:
    if "@" not in text or ":" not in text:
        return
    for match in _LOGIN.finditer(text):
        value, user, host = match["secret"], match["user"].casefold(), match["host"]
        if user in _MAIL or _DATE_OR_TIME.fullmatch(user) or is_placeholder(value) or _VERSION.match(value):
            continue
        exact = (
            host[0].isdigit()
            or ":" in host
            or "(" in host
            or user in ACCOUNTS
            or text[match.end() : match.end() + 1] in ":/"
            and text[match.end() : match.end() + 1]
        )
        if is_mixed(value) or exact and value.casefold() not in ("group", "users"):
            yield match.start("secret"), match.end("secret"), "password"


_VERSION = re.compile(r"v?\d+(?:\.\d+){0,3}(?:-[a-z]+)?$|latest$")

_ASSIGNED = re.compile(
    r"(?:(?<=\n)|(?<=[\s;\"'])|\A)(?:export |set |ENV |ARG |- )?(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,60}?[_.-])?(?P<key>PASS|PASSWORD|PASSWD|PASSPHRASE|PWD|PW|PAT|PASSWORT|PASSCODE|SECRET|TOKEN|KEY|CREDENTIALS?|CREDS|AUTH|SALT|PEPPER|DSN|COOKIE|PIN|SECRET_KEY|API_?KEY)"
    r"(?P<more>_(?:BASE|PROD|DEV|STAGING|LIVE|OLD|NEW|PART|\d|[A-F](?![A-Z])))?[ \t]{0,2}(?:=|:=|\?=)[ \t]{0,2}(?P<quote>[\"'])?(?P<secret>(?(quote)[^\"'\n]{4,200}|[^\s\"'`;|<>]{4,200}))(?(quote)(?P=quote))(?=[\s;\"']|$)",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"(?:^|[_.-])(?:sort|primary|cache|foreign|public|pub|partition|row|order|group|index|lookup|map|dict|object|bucket|s3|redis|storage|hot|shortcut|keyboard|translation|i18n|unique|range|hash|composite|natural|surrogate|"
    r"config|feature|flag|query|metric|routing|message|kafka|topic|idempotency|dedup\w*|registry|react|data|label|json|item|field|parent|document|doc|state|event|next|prev|test|host|known|ssh|gpg|pgp|default|"
    r"csrf|eos|bos|pad|unk|mask|special|max|min|num|end|start|stop|separator|sep|max_new|lang|use|with|has|is|enable|enabled|disable|require|required|skip|no|allow|show|method|type|mode|name)[_.-]$",
    re.IGNORECASE,
)
_NO_SETTING = re.compile(
    r"(?:^|[_.-])(?:use|with|has|is|enable|enabled|disable|require|required|skip|no|allow|show|csrf|xsrf|eos|bos|pad|unk|mask|special|max|min|num|end|start|stop|separator|sep|max_new|lang|next|prev|page|test|default|data|pull|push)[_.-]$",
    re.IGNORECASE,
)
_NAMESPACE = re.compile(
    r"(?:process|os|env|self|this|config|cfg|settings|options|args|req|request|secrets|vars?|params|inputs|app|local|module|data)\b"
)
_NAMES_A_SECRET = re.compile(r"secret|key|token|pass|cred|auth|cert|tls|config", re.IGNORECASE)
_LOOSE = frozenset(("KEY", "TOKEN", "AUTH", "COOKIE", "PIN"))
_SETTINGS = frozenset(
    """basic bearer digest kerberos ldap oauth oauth2 oidc saml token disabled enabled required optional default inherit session cookie local internal external github google plain login none
    trust peer reject md5 scram-sha-256 ident password apikey api-key header manual automatic always never""".split()
)


_ASSIGNED_WORDS = frozenset("pass pwd pw _pat secret token key cred auth salt pepper dsn cookie pin".split())


def _names(text: str) -> Iterator[Found]:
    """Yield values of names that end in a word for secrets. A plain word counts only if it is alone on its line."""
    if "=" not in text:
        return
    for match in _ASSIGNED.finditer(text):
        name, key, value = match["name"] or "", match["key"].upper(), match["secret"].strip()
        upper = match["key"].isupper() and name.isupper() or match["key"].isupper() and not name
        tight = "=" + match["secret"][:1] in match[0]
        loose = not tight and not upper and value.isalpha() and match.start() and text[match.start() - 1] != "\n"
        if loose or match["quote"] is None and value[-1] in ",)" and not is_mixed(value[:-1]):  # It is an argument of a call.
            continue
        if not _is_assigned(name, key, value, upper, match["quote"] is not None, tight):
            continue
        yield match.start("secret"), match.end("secret"), "assignment"


def _is_assigned(name: str, key: str, value: str, upper: bool, quoted: bool, tight: bool) -> bool:
    if (
        is_placeholder(value)
        or value.casefold() in _SETTINGS
        or _IS_CODE.search(value)
        or is_measure(value)
        and not (value.isdigit() and len(value) >= 6 and key.startswith("PA"))
    ):  # noqa: PLR2004
        return False
    if (
        is_lookup(value)
        and (_NAMESPACE.match(value) or not tight or "[" in value or ":" in value or value.isupper())
        or "(" in value
        or "://" in value
        or _UUID.match(value)
    ):
        return False
    if (
        not name
        and key in ("KEY", "TOKEN", "AUTH", "COOKIE", "PIN", "SALT")
        or key in _LOOSE
        and (_NO_KEY if key == "KEY" else _NO_SETTING).search(name)
    ):
        return False
    if any(c.isspace() for c in value):
        return quoted and key.startswith("PA") and len(value) >= 8  # noqa: PLR2004 - a phrase
    if not upper and not quoted and not key.startswith(("PA", "PW")):
        return (
            "_" not in value
            and "." not in value
            and bool(name)
            and not is_predicate(value)
            and key in ("SECRET", "CREDENTIALS", "SALT", "PEPPER")
        )
    if "_" in value and value.replace("_", "").isalpha() and (value.islower() or value.isupper()):
        return False
    if key == "COOKIE":
        return is_mixed(value) and looks_random(value)
    if quoted and key in ("SECRET", "KEY") and "secret" in (name + key).casefold() and _is_phrase(value):
        return _NAMES_A_SECRET.search(value) is None
    return len(value) >= 5 and not (quoted and not upper and not key.startswith(("PA", "PW")) and not is_mixed(value))  # noqa: PLR2004


# For "apiKey = a + b", find the strings assigned to these names.
_COMPOSED = re.compile(
    r"(?:key|token|secret|passw\w{0,6}|pwd)\w{0,8}[\"']?[ \t]{0,3}(?:=|:|:=)[ \t]{0,3}[fb]?[\"'`]?(?P<parts>(?:[$#]?\{?[A-Za-z_]\w{0,40}\}?(?:[ \t]{0,3}(?:\+|\.{1,2}|&|<>|~)[ \t]{0,3}|(?<=\})(?=[$#{])|(?=\$))){1,8}[$#]?\{?[A-Za-z_]\w{0,40}\}?)",
    re.IGNORECASE,
)
_PART = re.compile(r"[A-Za-z_]\w{0,40}")
_GIVEN = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z_]\w{0,40})[ \t]{0,3}(?:=|:|:=)[ \t]{0,3}[fb]?(?P<quote>[\"'`])(?P<secret>[\w+/=~.-]{4,300})(?P=quote)"
)


def _parts(text: str) -> Iterator[Found]:
    names = {name for match in _COMPOSED.finditer(text) for name in _PART.findall(match["parts"])}
    if not names:
        return
    for match in _GIVEN.finditer(text):
        if match["name"] in names and is_mixed(match["secret"]) and not is_wordy(match["secret"]):
            yield match.start("secret"), match.end("secret"), "key"


_HOOK = re.compile(
    r"https?://(?P<url>[\w.:-]{3,100}/[\w./@%=&?-]{0,120}?)(?P<secret>(?=[\w-]{0,200}\d)(?=[\w-]{0,200}[A-Za-z])[\w-]{12,200})(?=[\s\"'`,;)>\]/]|[.](?:\s|$)|$)"
)


def _hooks(text: str) -> Iterator[Found]:
    """Yield the last part of a webhook URL."""
    if "hook" not in text:
        return
    for match in _HOOK.finditer(text):
        near = chain((match["url"],), (text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 40]))
        if any("hook" in part.casefold() for part in near) and looks_random(match["secret"]) and not _UUID.match(match["secret"]):
            yield match.start("secret"), match.end("secret"), "webhook"


# A search runs only on texts that contain one of these literals.
ANCHORS = frozenset().union(
    *(stems.parts for stems in (_PASSWORD_STEMS, _KEY_STEMS, _CODE_STEMS, _SEED_STEMS, _HEADS)),
    _KEY_ENDS,
    _CJK_WORDS,
    _ASSIGNED_WORDS,
    {"hook"},
)
