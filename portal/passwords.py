"""Passwords: hashed with Argon2id, and checked at the same price whether or not there is anybody."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

from portal.errors import InvalidInput

MAX_PASSWORD_BYTES = 1_024

# The library's parameters are those of RFC 9106 for memory-constrained machines, and it raises them with
# time; `needs_rehash` then says so.
_hasher = PasswordHasher()


def hash_password(password: str) -> str:
    """Return the hash to store for a password. It takes some 50 ms: never call it in a transaction.

    :param password: 1 to 1,024 bytes of UTF-8; any characters.
    :raises portal.errors.InvalidInput: (``password``) it is empty or too long.
    """
    check_password(password)
    return _hasher.hash(_encode(password))


def check_password(password: str) -> None:
    """Refuse what :func:`hash_password` would, without the work.

    :raises portal.errors.InvalidInput: (``password``) it is empty or too long.
    """
    encoded = _encode(password)
    if not encoded:
        raise InvalidInput("password", "give a password; it must not be empty")
    if len(encoded) > MAX_PASSWORD_BYTES:
        raise InvalidInput("password", f"give at most {MAX_PASSWORD_BYTES:,} bytes")


def check_hash(password_hash: str | None) -> str | None:
    """Return a hash that was made elsewhere as it is, if it is one of Argon2, or is None.

    :raises portal.errors.InvalidInput: (``password_hash``) it is not.
    """
    if password_hash is not None and not _is_hash(password_hash):
        raise InvalidInput("password_hash", "give an Argon2 hash in PHC string format")
    return password_hash


def verify_password(password_hash: str | None, password: str) -> bool:
    """Tell whether a password is the one behind a hash.

    Without a hash, or with a password that no hash can have, the same work is done against a dummy, so
    that the time taken says nothing about who is registered here.
    """
    encoded = _encode(password)
    if password_hash is None or not 0 < len(encoded) <= MAX_PASSWORD_BYTES:
        _matches(_dummy_hash(), encoded[:MAX_PASSWORD_BYTES])
        return False
    return _matches(password_hash, encoded)


def needs_rehash(password_hash: str) -> bool:
    """Tell whether a hash was made with weaker parameters than those in use now."""
    return _hasher.check_needs_rehash(password_hash)


def _encode(password: str) -> bytes:
    # A form may send a lone surrogate; hashing is no reason to refuse it.
    return password.encode(errors="surrogatepass")


def _is_hash(text: str) -> bool:
    try:
        extract_parameters(text)
    except (InvalidHashError, ValueError):
        return False
    return text.isascii() and text.isprintable()


def _matches(password_hash: str, encoded: bytes) -> bool:
    try:
        return _hasher.verify(password_hash, encoded)
    except (VerificationError, InvalidHashError):
        return False


@cache
def _dummy_hash() -> str:
    """Made when first needed: importing this module must not cost a hash."""
    return _hasher.hash(secrets.token_bytes(16))
