"""What language models write as JSON can be read by everybody, and says the same where it said anything."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.model_json import MAX_LEVELS, legible
from tests.bad_calls import BAD_CALLS, BadCall

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(), parts, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_what_is_readable_stays_as_it_is(value: object) -> None:
    spellings = [json.dumps(value), json.dumps(value, ensure_ascii=False)]
    assert [legible(text) for text in spellings] == spellings


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_no_arguments_stay_none(blank: str) -> None:
    assert legible(blank) == blank


def is_readable(text: str) -> bool:
    try:
        json.dumps(json.loads(text or "null"), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


@given(st.text(st.characters(codec=None)).map(json.dumps) | st.text(st.characters(codec=None)))
def test_whatever_a_model_writes_can_be_read_and_encoded(written: str) -> None:
    assert is_readable(legible(written).strip())


@pytest.mark.parametrize("bad", BAD_CALLS, ids=lambda bad: bad.id)
def test_bad_calls_can_be_read_and_encoded(bad: BadCall) -> None:
    assert is_readable(legible(bad.as_json))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r'"\ud83d"', chr(0x10D83D)),
        (r'"\uDC00\ud83d"', chr(0x10DC00) + chr(0x10D83D)),
        ('"\ud83d"', chr(0x10D83D)),
        (r'"\ud83d\ude00"', "\N{GRINNING FACE}"),
        (r'"\\ud83d"', r"\ud83d"),
    ],
)
def test_half_of_a_pair_is_spelt_out_and_a_whole_one_kept(written: str, read: str) -> None:
    assert json.loads(legible(written)) == read


def test_brackets_are_counted_as_deep_as_everybody_reads() -> None:
    fits, deeper = ("[" * levels + "]" * levels for levels in (MAX_LEVELS, MAX_LEVELS + 1))
    assert legible(fits) == fits
    assert json.loads(legible(deeper)) == deeper
