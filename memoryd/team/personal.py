"""Find personal data in a memory before it is shared with a team."""

from __future__ import annotations

import re
from collections.abc import Iterable

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_EXAMPLE = re.compile(r"@(?:[\w-]{1,63}\.){0,8}(?:example\.(?:com|org|net)|example|test|invalid|localhost)$", re.IGNORECASE)
_REMOTE = re.compile(r"git@", re.IGNORECASE)  # the user name in the address of a repository
_PHONE = re.compile(r"(?<![\w./-])(?:\+|00)[1-9]\d{0,2}(?:[ ./-]?\(?\d{1,5}\)?){2,6}(?![\w-])")
_LOCAL_PHONE = re.compile(
    r"\b(?:tel(?:efon|ephone)?|phone|mobile|mobil|handy|call(?: me)?(?: at| on)?|fax|whatsapp)\b[ .:#]{0,4}"
    r"\(?0?\d{1,5}\)?(?:[ ./-]?\d{2,5}){2,5}\b",
    re.IGNORECASE,
)
_US_PHONE = re.compile(r"(?<![\w./-])(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}(?![\w-])")
_LEAST_DIGITS = 8
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
_CARD = re.compile(r"(?<![\w.-])\d{4}(?:[ -]?\d{4}){2}[ -]?\d{1,7}(?![\w-]|\.\d)")
_LEAST_CARD = 13
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:[\\/]Users[\\/])(?P<name>[^\s/\\:\"'`<>,;)\]]{1,64})")
_NOBODY = frozenset(
    "runner user users username you me node app ubuntu vscode jenkins shared public default git ci build vagrant name $user "
    "{user} … ... * ec2-user developer dev gitpod circleci admin".split()
)


def personal_data(text: str) -> list[str]:
    """Return the kinds of personal data in a text, without duplicates. Linear in the length of the text."""
    accounts = [match for match in _IBAN.finditer(text) if _is_iban(match[0])]
    cards = [match for match in _CARD.finditer(text) if _is_card(match[0])]
    found = {
        "email address": any(map(_is_address, _EMAIL.finditer(text))),
        "phone number": _has_phone_number(_without(text, (*accounts, *cards))),
        "bank account": bool(accounts),
        "card number": bool(cards),
        "user name in a path": any(match["name"].lower() not in _NOBODY for match in _HOME.finditer(text)),
    }
    return [kind for kind, there in found.items() if there]


def _without(text: str, matches: Iterable[re.Match[str]]) -> str:
    """Return the text without the numbers that were recognised as something else."""
    out, at = [], 0
    for match in sorted(matches, key=lambda match: match.start()):
        out.append(text[at : match.start()])
        at = max(at, match.end())
    return "|".join([*out, text[at:]])


def _is_address(match: re.Match[str]) -> bool:
    return not _EXAMPLE.search(match[0]) and not _REMOTE.match(match[0])


def _has_phone_number(text: str) -> bool:
    if _LOCAL_PHONE.search(text) or _US_PHONE.search(text):
        return True
    return any(sum(map(str.isdigit, match[0])) >= _LEAST_DIGITS for match in _PHONE.finditer(text))


def _is_iban(text: str) -> bool:
    """Return whether the check digits are right (ISO 13616)."""
    plain = text.replace(" ", "")
    return any(_checks_out(plain[:end]) for end in range(len(plain), 14, -1))


def _checks_out(plain: str) -> bool:
    turned = plain[4:] + plain[:4]
    return int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1


def _is_card(text: str) -> bool:
    """Return whether the check digit is right (Luhn)."""
    digits = [int(sign) for sign in text if sign.isdigit()]
    if len(digits) < _LEAST_CARD or len(set(digits)) == 1:
        return False
    doubled = [sum(divmod(2 * digit, 10)) if at % 2 else digit for at, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
