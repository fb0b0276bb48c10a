"""Keys of the user's machines. Each machine has a key of its own; a code that the user carries over introduces it to the others.

Signatures are Ed25519. The code never reaches the shared folder: a machine proves with it, by an HMAC over its public key, that
the user has let it in. What no introduced machine has signed is not taken over.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from memoryd.core.errors import InputError

CODE_BYTES = 20
_CODE = re.compile(r"[A-Z2-7]{32}")
_SEPARATORS = re.compile(r"[\s-]+")


def new_code() -> str:
    """Return a new code of 160 random bits, in groups of four characters."""
    text = base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode()
    return "-".join(text[i : i + 4] for i in range(0, len(text), 4))


def read_code(text: str) -> str:
    """Return a code as `new_code` writes it. Raises InputError if it is not a code."""
    plain = _SEPARATORS.sub("", text).upper()
    if not _CODE.fullmatch(plain):
        raise InputError("This is not a code of 'memoryd sync init'.", fix="Copy all eight groups that the first machine showed.")
    return "-".join(plain[i : i + 4] for i in range(0, len(plain), 4))


@dataclass(frozen=True, slots=True)
class Key:
    """The private key of this machine."""

    secret: str

    @staticmethod
    def new() -> Key:
        """Create a key."""
        raw = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return Key(base64.b64encode(raw).decode())

    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(base64.b64decode(self.secret))

    def public(self) -> str:
        """Return the public key as text."""
        return base64.b64encode(self._private().public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def sign(self, data: bytes) -> str:
        """Return the signature of the bytes as text."""
        return base64.b64encode(self._private().sign(data)).decode()


def machine_id(public: str) -> str:
    """Return the id of a machine: a digest of its public key, so that it can't claim to be another one."""
    return hashlib.sha256(b"memoryd machine\0" + public.encode()).hexdigest()[:12]


def is_signed(public: str, data: bytes, signature: str) -> bool:
    """Return whether the owner of the public key signed the bytes."""
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(public)).verify(base64.b64decode(signature), data)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def introduction(code: str, public: str, name: str) -> str:
    """Return the proof that the machine with this key and name knows the code."""
    message = b"\0".join((b"memoryd sync", public.encode(), name.encode()))
    return hmac.new(code.encode(), message, hashlib.sha256).hexdigest()


def is_introduced(code: str, public: str, name: str, proof: str) -> bool:
    """Return whether the proof was made with the code."""
    return hmac.compare_digest(introduction(code, public, name), proof)
