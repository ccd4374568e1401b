"""Every setting: its name, its type, its default and what it does.

Settings are read from a mapping, usually the environment, where each name has the prefix ``PORTAL_``.
What is secret can stand in a file instead: ``PORTAL_SECRET_KEY_FILE`` names a file that holds what
``PORTAL_SECRET_KEY`` would hold, as container platforms hand secrets over.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from portal.errors import InvalidInput

PREFIX = "PORTAL_"

DEFAULT_DATABASE_URL = "sqlite:///portal.db"
DEFAULT_PUBLIC_URL = "http://127.0.0.1:8000"

MIN_SECRET_CHARACTERS = 32
MIN_SECRET_DIFFERENT_CHARACTERS = 8
MAX_PROXY_HOPS = 10

# More than these, and libraries that we use would log what they read from the database.
LOG_LEVELS = ("info", "warning", "error")

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})

HOW_TO_MAKE_A_KEY = 'make one with: python3 -c "import secrets; print(secrets.token_urlsafe(48))"'


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a portal runs with. Settings that cannot be accepted cannot be made.

    :raises portal.errors.InvalidInput: a value cannot be accepted; ``field`` is the variable's name, and
        no secret is repeated.
    """

    secret_key: str = field(repr=False)
    """``PORTAL_SECRET_KEY``: text, no default. Signs cookies and tokens. At least 32 characters and not a
    placeholder. Changing it signs everybody out, unless the old one is kept as a fallback."""

    secret_key_fallbacks: tuple[str, ...] = field(default=(), repr=False)
    """``PORTAL_SECRET_KEY_FALLBACKS``: older keys, separated by spaces or commas, default none. What they
    signed is still accepted; nothing new is signed with them."""

    database_url: str = field(default=DEFAULT_DATABASE_URL, repr=False)
    """``PORTAL_DATABASE_URL``: a SQLAlchemy URL, default ``sqlite:///portal.db`` in the working folder.
    Where everything is kept."""

    public_url: str = DEFAULT_PUBLIC_URL
    """``PORTAL_PUBLIC_URL``: a URL without a path, default ``http://127.0.0.1:8000``. The address that people
    type. Its scheme decides Secure cookies and HSTS, and its host is the host that is trusted."""

    proxy_hops: int = 0
    """``PORTAL_PROXY_HOPS``: a number of proxies, 0 to 10, default 0. How many proxies in front of the portal
    add themselves to ``X-Forwarded-*``. With 0 those headers are ignored, as anybody can send them."""

    metrics_token: str = field(default="", repr=False)
    """``PORTAL_METRICS_TOKEN``: text, default none. What ``/metrics`` asks for as a bearer token. At least 32
    characters and not a placeholder. Without one there is no such page."""

    log_level: str = "info"
    """``PORTAL_LOG_LEVEL``: ``info``, ``warning`` or ``error``, default ``info``. The least that is logged;
    requests and changes of memories are ``info``."""

    def __post_init__(self) -> None:
        """Refuse what would be insecure or could not work."""
        _check_secret("SECRET_KEY", self.secret_key)
        # A plain string would be taken for a sequence of keys of one character each.
        if not isinstance(self.secret_key_fallbacks, tuple):
            raise _refusal("SECRET_KEY_FALLBACKS", "give a tuple of keys")
        for key in self.secret_key_fallbacks:
            _check_secret("SECRET_KEY_FALLBACKS", key)
        _check_public_url(self.public_url)
        if not 0 <= self.proxy_hops <= MAX_PROXY_HOPS:
            raise _refusal("PROXY_HOPS", f"give a number from 0 to {MAX_PROXY_HOPS}")
        if self.metrics_token:
            _check_secret("METRICS_TOKEN", self.metrics_token)
        if self.log_level not in LOG_LEVELS:
            raise _refusal("LOG_LEVEL", f"give one of {', '.join(LOG_LEVELS)}")

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings of this process.

        :raises portal.errors.InvalidInput: as :meth:`from_mapping`.
        """
        return cls.from_mapping(os.environ)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, str]) -> Self:
        """Read the settings from variables with the prefix ``PORTAL_``; others are ignored.

        A variable that is empty counts as one that is not set.

        :raises portal.errors.InvalidInput: the secret key is missing, a value cannot be accepted, a file
            cannot be read, or a setting is given both as a value and as a file.
        """
        return cls(
            secret_key=_secret(mapping, "SECRET_KEY"),
            secret_key_fallbacks=tuple(re.findall(r"[^\s,]+", _secret(mapping, "SECRET_KEY_FALLBACKS"))),
            database_url=database_url_from(mapping),
            public_url=public_url_from(mapping),
            proxy_hops=_number(mapping, "PROXY_HOPS", default=0),
            metrics_token=_secret(mapping, "METRICS_TOKEN"),
            log_level=_value(mapping, "LOG_LEVEL").lower() or "info",
        )

    @property
    def is_https(self) -> bool:
        """Whether people reach the portal over HTTPS, so that cookies are Secure and HSTS is sent."""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def trusted_hosts(self) -> frozenset[str]:
        """The hosts, without ports, that a request may name: IPv6 addresses in brackets, all lower case.

        Werkzeug's own list of trusted hosts cuts each entry at its first colon, so it never matches
        ``[::1]``; compare with :meth:`trusts` instead.
        """
        own = frozenset({_host(urlsplit(self.public_url))})
        return own if self.is_https else own | LOCAL_HOSTS

    def trusts(self, host: str) -> bool:
        """Tell whether ``host``, as it stands in a ``Host`` header, is one of ours, on any port."""
        matched = re.fullmatch(r"(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:[0-9]{1,5})?", host.lower(), re.ASCII)
        return matched is not None and matched[1] in self.trusted_hosts


def database_url_from(mapping: Mapping[str, str]) -> str:
    """Return the database URL alone, for programs that serve no pages and need no secret key.

    :raises portal.errors.InvalidInput: the file that should hold it cannot be read, or both are given.
    """
    return _secret(mapping, "DATABASE_URL") or DEFAULT_DATABASE_URL


def public_url_from(mapping: Mapping[str, str]) -> str:
    """Return the address of the portal alone, for programs that serve no pages but name one.

    :raises portal.errors.InvalidInput: it cannot be accepted.
    """
    url = _value(mapping, "PUBLIC_URL") or DEFAULT_PUBLIC_URL
    _check_public_url(url)
    return url


def variables_of(setting: Field[Any]) -> tuple[str, ...]:
    """Return the variables that can give a setting; for a secret that is also one which names a file.

    :param setting: one of ``dataclasses.fields(Settings)``.
    """
    name = f"{PREFIX}{setting.name.upper()}"
    # What is secret is not shown either.
    return (name,) if setting.repr else (name, f"{name}_FILE")


def find_refusals(mapping: Mapping[str, str]) -> Iterator[InvalidInput]:
    """Go through what cannot be accepted, one refusal for each setting. None means: settings can be made.

    :param mapping: as for :meth:`Settings.from_mapping`, which stops at the first.
    """
    # Settings do not depend on each other, so each is read as the only one that is set.
    complete = {f"{PREFIX}SECRET_KEY": secrets.token_urlsafe(48)}
    for setting in fields(Settings):
        own = variables_of(setting)
        alone = {name: value for name, value in mapping.items() if name in own}
        others = {name: value for name, value in complete.items() if name not in own}
        try:
            Settings.from_mapping(others | alone)
        except InvalidInput as refusal:
            yield refusal


def _value(mapping: Mapping[str, str], name: str) -> str:
    return mapping.get(PREFIX + name, "").strip()


def _secret(mapping: Mapping[str, str], name: str) -> str:
    value, path = _value(mapping, name), _value(mapping, f"{name}_FILE")
    if not path:
        return value
    if value:
        raise _refusal(name, f"set either this or {PREFIX}{name}_FILE, not both")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise _refusal(f"{name}_FILE", f"the file {path} cannot be read as text") from exc


def _number(mapping: Mapping[str, str], name: str, *, default: int) -> int:
    value = _value(mapping, name)
    if not value:
        return default
    if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII):
        raise _refusal(name, "give a whole number")
    return int(value)


def _check_secret(name: str, secret: str) -> None:
    if not secret:
        raise _refusal(name, f"this has to be set; {HOW_TO_MAKE_A_KEY}")
    if len(secret) < MIN_SECRET_CHARACTERS or len(set(secret)) < MIN_SECRET_DIFFERENT_CHARACTERS:
        raise _refusal(name, f"this is too short or a placeholder; {HOW_TO_MAKE_A_KEY}")


def _check_public_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        host, port = _host(parts), parts.port
    except ValueError as exc:
        raise _refusal("PUBLIC_URL", "this is not a URL") from exc
    if parts.scheme not in {"http", "https"} or not host or port == 0:
        raise _refusal("PUBLIC_URL", "give a URL such as https://memory.example.org")
    if parts.path not in {"", "/"} or parts.query or parts.fragment or "@" in parts.netloc:
        raise _refusal("PUBLIC_URL", "give scheme, host and port only; the portal has a host of its own")


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"[{host}]" if ":" in host else host


def _refusal(name: str, problem: str) -> InvalidInput:
    return InvalidInput(PREFIX + name, problem)
