from __future__ import annotations

import time

import pytest
from argon2 import PasswordHasher

from portal.errors import InvalidInput
from portal.passwords import check_hash, hash_password, needs_rehash, verify_password

LONGEST = "ü" * 512
LONE_SURROGATE = "pass\ud800word"


@pytest.mark.parametrize("password", ["correct horse", " ", "ὀδυσσεύς", "a\x00b", LONGEST, LONE_SURROGATE])
def test_a_password_is_the_one_behind_its_hash(password: str) -> None:
    password_hash = hash_password(password)
    assert verify_password(password_hash, password)
    assert not verify_password(password_hash, password[1:])


def test_a_hash_is_of_the_kind_that_was_decided_on_and_salted() -> None:
    assert hash_password("correct horse").startswith("$argon2id$")
    assert hash_password("correct horse") != hash_password("correct horse")


@pytest.mark.parametrize("password", ["", LONGEST + "x"])
def test_an_empty_or_overlong_password_is_refused(password: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        hash_password(password)
    assert refusal.value.field == "password"


@pytest.mark.parametrize("password_hash", [None, "", "$argon2id$nonsense"])
def test_without_a_hash_no_password_is_right(password_hash: str | None) -> None:
    assert not verify_password(password_hash, "correct horse")


def test_a_hash_from_elsewhere_stays_as_it_is() -> None:
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    hashes = [None, hash_password("correct horse"), quick.hash("correct horse")]
    assert [check_hash(password_hash) for password_hash in hashes] == hashes


@pytest.mark.parametrize(
    "text",
    [
        "",
        "correct horse",
        "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        "$argon2id$nonsense",
        "$argon2id$v=19$m=x,t=3,p=4$c2FsdHNhbHQ$aGFzaGhhc2g",
        "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaGhhc2g\x00",
        "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$aGFzaGhhc2g\ud800",
    ],
)
def test_anything_else_is_no_hash(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_hash(text)
    assert refusal.value.field == "password_hash"


def test_an_overlong_password_is_wrong_even_where_its_beginning_is_right() -> None:
    assert not verify_password(hash_password(LONGEST), LONGEST + "x")


def test_asking_for_nobody_takes_as_long_as_a_wrong_password() -> None:
    """A hash takes tens of milliseconds and returning early none, so a third of it is telling enough."""
    password_hash = hash_password("correct horse")
    verify_password(None, "makes the dummy")

    def seconds(stored: str | None, password: str) -> float:
        started = time.perf_counter()
        verify_password(stored, password)
        return time.perf_counter() - started

    wrong = min(seconds(password_hash, "wrong") for _ in range(3))
    assert min(seconds(None, "wrong") for _ in range(3)) > wrong / 3
    assert min(seconds(password_hash, LONGEST + "x") for _ in range(3)) > wrong / 3


def test_a_hash_with_weaker_parameters_is_to_be_renewed() -> None:
    weaker = PasswordHasher(time_cost=1, memory_cost=1_024).hash("correct horse")
    assert verify_password(weaker, "correct horse")
    assert needs_rehash(weaker)
    assert not needs_rehash(hash_password("correct horse"))
