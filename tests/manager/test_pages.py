"""Pages and cursors by themselves."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.errors import InvalidInput
from portal.pages import COUNT_CAP, Page, Position, Question, check_limit, cut_page
from portal.values import MAX_ID

BY_TIME = Question("proposed", (1, "support", ""), (int, int))
BY_KEY = Question("confirmed", (1, "support", ""), (str,))


def test_a_page_is_a_sequence() -> None:
    page = Page(("a", "b", "c"), total=3)
    assert (len(page), list(page), page[0], page[-1]) == (3, ["a", "b", "c"], "a", "c")
    assert list(page[1:]) == ["b", "c"]
    assert "b" in page
    assert page.index("c") == 2
    assert list(reversed(page)) == ["c", "b", "a"]
    assert isinstance(page, Sequence)
    with pytest.raises(IndexError):
        page[3]


def test_an_empty_page_is_the_last_one_of_nothing() -> None:
    page: Page[str] = Page()
    assert (len(page), page.total, page.total_is_capped, page.after) == (0, 0, False, None)
    assert not page


@given(moment=st.integers(-MAX_ID, MAX_ID), memory_id=st.integers(1, MAX_ID))
def test_a_cursor_of_times_leads_back_to_its_place(moment: int, memory_id: int) -> None:
    cursor = BY_TIME.cursor((moment, memory_id))
    assert BY_TIME.position(cursor, limit=5) == (moment, memory_id)
    assert cursor.isascii()
    assert not set(cursor) & set("+/=&?# ")


@given(key=st.text(st.characters(whitelist_categories=["Ll", "Lo", "Mn", "Nd"]), min_size=1))
def test_a_cursor_of_keys_leads_back_to_its_place(key: str) -> None:
    position = BY_KEY.position(BY_KEY.cursor((key,)), limit=5)
    assert position == ((key,) if key.isprintable() else None)


@given(st.text() | st.binary().map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_whatever_somebody_makes_up_is_page_one(cursor: str) -> None:
    assert BY_TIME.position(cursor, limit=5) is None


@pytest.mark.parametrize("cursor", [None, "", "=", "é", "\ud800", "\x00", "W10", "bnVsbA", "e30", "MQ"])
def test_what_does_not_decode_is_page_one(cursor: str | None) -> None:
    assert BY_TIME.position(cursor, limit=5) is None


def forged(*values: object) -> str:
    """Return a cursor with the right digest and other values."""
    digest = json.loads(base64.urlsafe_b64decode(BY_TIME.cursor((1, 1)) + "=="))[0]
    return base64.urlsafe_b64encode(json.dumps([digest, *values]).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "values",
    [
        (),
        (1,),
        (1, 2, 3),
        ("1", 2),
        (1.0, 2),
        (True, 2),
        (None, 2),
        ([1], 2),
        (MAX_ID + 1, 2),
        (1, -MAX_ID - 2),
    ],
    ids=str,
)
def test_a_forged_place_is_page_one(values: tuple[object, ...]) -> None:
    assert BY_TIME.position(forged(1, 2), limit=5) == (1, 2)
    assert BY_TIME.position(forged(*values), limit=5) is None


@pytest.mark.parametrize("key", ["a\x00", "\ud800", "a\nb", "\u202e"])
def test_a_forged_key_that_no_database_compares_is_page_one(key: str) -> None:
    digest = json.loads(base64.urlsafe_b64decode(BY_KEY.cursor(("a",)) + "=="))[0]
    cursor = base64.urlsafe_b64encode(json.dumps([digest, key]).encode()).decode()
    assert BY_KEY.position(cursor, limit=5) is None


def test_deeply_nested_nonsense_is_page_one() -> None:
    nested = base64.urlsafe_b64encode(b"[" * 100_000).decode()
    assert BY_TIME.position(nested, limit=5) is None


@pytest.mark.parametrize(
    "other",
    [
        Question("rejected", (1, "support", ""), (int, int)),
        Question("proposed", (2, "support", ""), (int, int)),
        Question("proposed", (1, "travel", ""), (int, int)),
        Question("proposed", (1, "support", "a"), (int, int)),
        Question("proposed", (1, "support", "", "newest"), (int, int)),
        Question("proposed", (1, "support"), (int, int)),
    ],
)
def test_another_questions_cursor_is_page_one(other: Question) -> None:
    assert BY_TIME.position(other.cursor((1, 2)), limit=5) is None


def test_a_question_with_a_text_that_cannot_be_encoded_has_cursors_too() -> None:
    odd = Question("own", (1, "support", "\ud800"), (int,))
    assert odd.position(odd.cursor((5,)), limit=5) == (5,)


def test_without_a_limit_there_is_no_place_to_begin() -> None:
    assert BY_TIME.position(BY_TIME.cursor((1, 2)), limit=None) is None


@pytest.mark.parametrize("limit", [None, 1, 10_000])
def test_a_limit_is_a_number_of_entries_or_none(limit: int | None) -> None:
    assert check_limit(limit) == limit


@pytest.mark.parametrize("limit", [0, -1, 10_001, True, 1.0, "1"])
def test_another_limit_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        check_limit(limit)


@pytest.mark.parametrize(
    ("number", "limit", "shown", "goes_on"),
    [(0, 3, 0, False), (2, 3, 2, False), (3, 3, 3, False), (4, 3, 3, True), (4, None, 4, False)],
)
def test_a_page_is_cut_from_up_to_one_entry_more(
    number: int,
    limit: int | None,
    shown: int,
    goes_on: bool,  # noqa: FBT001
) -> None:
    entries = [f"entry {each}" for each in range(number)]
    positions: list[Position] = [(each, 7) for each in range(number)]
    page = cut_page(BY_TIME, entries, positions, limit=limit, total=number)
    assert list(page) == entries[:shown]
    assert page.total == number
    assert BY_TIME.position(page.after, limit=5) == ((shown - 1, 7) if goes_on else None)


@pytest.mark.parametrize(
    ("total", "limit", "expected"),
    [
        (COUNT_CAP, 1, (COUNT_CAP, False)),
        (COUNT_CAP + 1, 1, (COUNT_CAP, True)),
        (COUNT_CAP + 1, None, (COUNT_CAP + 1, False)),
        (COUNT_CAP * 5, None, (COUNT_CAP * 5, False)),
    ],
)
def test_a_total_is_capped_where_there_is_a_limit(
    total: int, limit: int | None, expected: tuple[int, bool]
) -> None:
    page = cut_page(BY_TIME, ["a"], [(1, 1)], limit=limit, total=total)
    assert (page.total, page.total_is_capped) == expected
