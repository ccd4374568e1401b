"""How times, numbers and texts are written."""

from __future__ import annotations

import datetime as dt

import pytest

from portal.counts import Count
from portal.web.filters import ago, counted, exact, excerpt, is_long, machine

NOON = dt.datetime(2026, 3, 1, 12, 4, 5, 999, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (dt.timedelta(), "just now"),
        (dt.timedelta(seconds=-5), "just now"),
        (dt.timedelta(seconds=59), "just now"),
        (dt.timedelta(minutes=1), "1 minute ago"),
        (dt.timedelta(minutes=59), "59 minutes ago"),
        (dt.timedelta(hours=1), "1 hour ago"),
        (dt.timedelta(hours=23), "23 hours ago"),
        (dt.timedelta(days=1), "1 day ago"),
        (dt.timedelta(days=30), "30 days ago"),
        (dt.timedelta(days=31), "1 month ago"),
        (dt.timedelta(days=365), "11 months ago"),
        (dt.timedelta(days=366), "1 year ago"),
        (dt.timedelta(days=3653), "10 years ago"),
    ],
    ids=str,
)
def test_how_long_ago(passed: dt.timedelta, words: str) -> None:
    assert ago(NOON - passed, NOON) == words


def test_when() -> None:
    assert exact(NOON) == "1 Mar 2026, 12:04"
    assert machine(NOON) == "2026-03-01T12:04:05Z"


def test_how_many() -> None:
    assert [counted(Count(number)) for number in (0, 999)] == ["0", "999"]
    assert counted(Count(1_000, is_capped=True)) == "1,000+"


def test_what_is_long() -> None:
    assert [is_long("x" * 800), is_long("x" * 801)] == [False, True]
    assert [is_long("\n" * 9), is_long("\n" * 10)] == [False, True]


def test_how_a_long_text_begins() -> None:
    assert excerpt("\n".join("abcdefghijk")) == "a\nb\nc\nd"
    assert excerpt("x" * 900) == "x" * 100
