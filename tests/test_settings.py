from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from portal.errors import InvalidInput
from portal.settings import Settings, database_url_from, find_refusals

KEY = "a3N0b3AgdGhlIHByZXNzZXMsIHRoaXMgaXMgYSBrZXk"
OLDER_KEY = "b2xkZXIgdGhhbiB0aGUgb3RoZXIsIHN0aWxsIGEga2V5"


def read(**variables: str) -> Settings:
    return Settings.from_mapping({"PORTAL_SECRET_KEY": KEY} | variables)


def test_a_secret_key_is_all_that_has_to_be_set() -> None:
    assert read() == Settings(
        secret_key=KEY,
        secret_key_fallbacks=(),
        database_url="sqlite:///portal.db",
        public_url="http://127.0.0.1:8000",
        proxy_hops=0,
        metrics_token="",
        log_level="info",
    )


def test_every_setting_is_read_from_its_variable() -> None:
    settings = read(
        PORTAL_SECRET_KEY_FALLBACKS=OLDER_KEY,
        PORTAL_DATABASE_URL="postgresql+psycopg://db/portal",
        PORTAL_PUBLIC_URL="https://memory.example.org",
        PORTAL_PROXY_HOPS="2",
        PORTAL_METRICS_TOKEN=OLDER_KEY,
        PORTAL_LOG_LEVEL="Warning",
    )
    assert settings == Settings(
        secret_key=KEY,
        secret_key_fallbacks=(OLDER_KEY,),
        database_url="postgresql+psycopg://db/portal",
        public_url="https://memory.example.org",
        proxy_hops=2,
        metrics_token=OLDER_KEY,
        log_level="warning",
    )


def test_the_environment_is_such_a_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTAL_SECRET_KEY", KEY)
    monkeypatch.setenv("PORTAL_PROXY_HOPS", "3")
    assert Settings.from_environment().proxy_hops == 3


def test_an_empty_variable_counts_as_not_set() -> None:
    assert read(PORTAL_PUBLIC_URL="", PORTAL_PROXY_HOPS=" ", PORTAL_SECRET_KEY_FALLBACKS="") == read()


@pytest.mark.parametrize("separator", [" ", ",", ", ", "\n"])
def test_fallbacks_are_separated_by_spaces_or_commas(separator: str) -> None:
    assert read(PORTAL_SECRET_KEY_FALLBACKS=KEY + separator + OLDER_KEY).secret_key_fallbacks == (
        KEY,
        OLDER_KEY,
    )


def test_secrets_can_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    (tmp_path / "url").write_text("postgresql+psycopg://me:secret@db/portal\n")
    settings = Settings.from_mapping(
        {"PORTAL_SECRET_KEY_FILE": str(tmp_path / "key"), "PORTAL_DATABASE_URL_FILE": str(tmp_path / "url")}
    )
    assert settings.secret_key == KEY
    assert settings.database_url == "postgresql+psycopg://me:secret@db/portal"


def test_without_a_secret_key_the_refusal_says_how_to_make_one() -> None:
    with pytest.raises(InvalidInput, match="token_urlsafe") as refusal:
        Settings.from_mapping({})
    assert refusal.value.field == "PORTAL_SECRET_KEY"


def test_the_way_to_make_a_key_makes_one_that_is_accepted() -> None:
    assert Settings(secret_key=secrets.token_urlsafe(48)).secret_key


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORTAL_SECRET_KEY", "changeme"),
        ("PORTAL_SECRET_KEY", "x" * 64),
        ("PORTAL_SECRET_KEY", KEY[:31]),
        ("PORTAL_SECRET_KEY_FALLBACKS", f"{OLDER_KEY} dev"),
        ("PORTAL_PUBLIC_URL", "memory.example.org"),
        ("PORTAL_PUBLIC_URL", "ftp://memory.example.org"),
        ("PORTAL_PUBLIC_URL", "https://"),
        ("PORTAL_PUBLIC_URL", "https://memory.example.org/portal"),
        ("PORTAL_PUBLIC_URL", "https://me@memory.example.org"),
        ("PORTAL_PUBLIC_URL", "https://memory.example.org?x=1"),
        ("PORTAL_PUBLIC_URL", "https://memory.example.org:0"),
        ("PORTAL_PUBLIC_URL", "https://memory.example.org:port"),
        ("PORTAL_PUBLIC_URL", "https://[::1"),
        ("PORTAL_PROXY_HOPS", "-1"),
        ("PORTAL_PROXY_HOPS", "11"),
        ("PORTAL_PROXY_HOPS", "one"),
        ("PORTAL_PROXY_HOPS", "1.0"),
        ("PORTAL_PROXY_HOPS", "\N{ARABIC-INDIC DIGIT ONE}"),
        ("PORTAL_SECRET_KEY_FALLBACKS_FILE", "/nowhere/at/all"),
        ("PORTAL_METRICS_TOKEN", "scrape-me"),
        ("PORTAL_LOG_LEVEL", "debug"),
    ],
)
def test_a_value_that_cannot_be_accepted_is_refused_with_the_variables_name(
    variable: str, value: str
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(**{variable: value})
    assert refusal.value.field == variable


def test_a_secret_that_is_refused_is_not_repeated() -> None:
    with pytest.raises(InvalidInput) as refusal:
        read(PORTAL_SECRET_KEY="hunter2hunter2")
    assert "hunter2" not in str(refusal.value)


def test_settings_can_be_logged_without_their_secrets() -> None:
    url = "postgresql+psycopg://me:hunter2@db/portal"
    shown = repr(
        read(PORTAL_SECRET_KEY_FALLBACKS=OLDER_KEY, PORTAL_DATABASE_URL=url, PORTAL_METRICS_TOKEN=OLDER_KEY)
    )
    assert "http://127.0.0.1:8000" in shown
    assert not any(secret in shown for secret in (KEY, OLDER_KEY, "hunter2"))


def test_all_that_cannot_be_accepted_can_be_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2")
    variables = {
        "PORTAL_SECRET_KEY_FILE": str(tmp_path / "key"),
        "PORTAL_SECRET_KEY_FALLBACKS": OLDER_KEY,
        "PORTAL_PUBLIC_URL": "memory.example.org",
        "PORTAL_PROXY_HOPS": "many",
        "PORTAL_LOG_LEVEL": "warning",
    }
    assert [refusal.field for refusal in find_refusals(variables)] == [
        "PORTAL_SECRET_KEY",
        "PORTAL_PUBLIC_URL",
        "PORTAL_PROXY_HOPS",
    ]


def test_where_settings_can_be_made_nothing_is_refused() -> None:
    variables = {"PORTAL_SECRET_KEY": KEY, "PORTAL_PUBLIC_URL": "https://memory.example.org"}
    assert list(find_refusals(variables)) == []
    assert [refusal.field for refusal in find_refusals({})] == ["PORTAL_SECRET_KEY"]


def test_a_secret_given_twice_is_refused_rather_than_guessed(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(OLDER_KEY)
    with pytest.raises(InvalidInput, match="not both"):
        read(PORTAL_SECRET_KEY_FILE=str(tmp_path / "key"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfe" * 40)
    with pytest.raises(InvalidInput, match="PORTAL_SECRET_KEY_FILE"):
        Settings.from_mapping({"PORTAL_SECRET_KEY_FILE": str(tmp_path / "key")})


def test_fallbacks_in_one_plain_string_are_refused() -> None:
    """Flask would take each of its characters for a key."""
    with pytest.raises(InvalidInput, match="PORTAL_SECRET_KEY_FALLBACKS"):
        Settings(secret_key=KEY, secret_key_fallbacks=OLDER_KEY)  # type: ignore[arg-type]


# Over plain HTTP a portal is tried out on one machine; over HTTPS only its own name is right.
@pytest.mark.parametrize(
    ("public_url", "host", "trusted"),
    [
        ("https://memory.example.org", "memory.example.org", True),
        ("https://memory.example.org", "MEMORY.example.org:8443", True),
        ("https://memory.example.org", "localhost", False),
        ("https://memory.example.org", "example.org", False),
        ("https://memory.example.org", "memory.example.org.evil.example", False),
        ("https://memory.example.org", "memory.example.org:", False),
        ("https://memory.example.org", "memory.example.org:80:80", False),
        ("https://memory.example.org", "", False),
        ("https://Memory.Example.org", "memory.example.org", True),
        ("http://127.0.0.1:8000", "localhost:5000", True),
        ("http://127.0.0.1:8000", "127.0.0.1", True),
        ("http://127.0.0.1:8000", "[::1]:8000", True),
        ("http://127.0.0.1:8000", "evil.example", False),
        ("http://memory.lan", "memory.lan:8000", True),
        ("http://memory.lan", "localhost", True),
        ("https://[2001:db8::1]", "[2001:db8::1]:443", True),
        ("https://[2001:db8::1]", "[2001:db8::2]", False),
    ],
)
def test_the_public_url_decides_which_hosts_are_trusted(public_url: str, host: str, trusted: bool) -> None:  # noqa: FBT001
    assert Settings(secret_key=KEY, public_url=public_url).trusts(host) is trusted


@pytest.mark.parametrize(
    ("public_url", "is_https"), [("https://memory.example.org", True), ("http://127.0.0.1:8000", False)]
)
def test_the_public_urls_scheme_decides_what_is_served_as_secure(public_url: str, is_https: bool) -> None:  # noqa: FBT001
    assert Settings(secret_key=KEY, public_url=public_url).is_https is is_https


def test_a_program_without_pages_needs_no_secret_key() -> None:
    assert database_url_from({}) == "sqlite:///portal.db"
    assert database_url_from({"PORTAL_DATABASE_URL": "sqlite:///other.db"}) == "sqlite:///other.db"
