from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from portal.differences import word_difference


def test_words_that_differ_are_marked_and_the_rest_stays_together() -> None:
    parts = [(part.kind, part.text) for part in word_difference("net 30 days", "net 60 days")]
    assert parts == [("same", "net "), ("removed", "30"), ("added", "60"), ("same", " days")]


def test_what_is_only_added_or_only_removed_stands_alone() -> None:
    assert [part.kind for part in word_difference("a", "a b")] == ["same", "added"]
    assert [part.kind for part in word_difference("a b", "a")] == ["same", "removed"]


@given(st.text("ab \n.é\u200f", max_size=40), st.text("ab \n.é\u200f", max_size=40))
def test_both_texts_can_be_read_back_from_the_parts(before: str, after: str) -> None:
    parts = list(word_difference(before, after))
    assert "".join(part.text for part in parts if part.kind != "added") == before
    assert "".join(part.text for part in parts if part.kind != "removed") == after
