from __future__ import annotations

import html

import markupsafe
import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import StrictUndefined, UndefinedError

from portal.values import Status
from portal.web.template_code import PageEnvironment, to_html

PLACES = "{{ text }} {{ block }} {{ m(text) }} {{ [text]|join }} {{ '<' ~ text }}"


@pytest.fixture(scope="module")
def environment() -> PageEnvironment:
    return PageEnvironment(Flask(__name__), autoescape=True, undefined=StrictUndefined)


@given(st.text("<>&\"'ab\u2028é", max_size=20))
def test_a_text_is_escaped_so_that_it_says_the_same(text: str) -> None:
    escaped = to_html(text)
    assert html.unescape(escaped) == text
    assert not set(escaped) & set("<>\"'")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (markupsafe.escape("<b>"), "&lt;b&gt;"),
        (7, "7"),
        (Status.PROPOSED, "proposed"),
        (None, "None"),
        (["<"], "[&#39;&lt;&#39;]"),
    ],
)
def test_markup_stays_and_everything_else_is_escaped(value: object, expected: str) -> None:
    assert to_html(value) == expected


def test_values_of_a_page_are_escaped_wherever_they_are_put(environment: PageEnvironment) -> None:
    template = environment.from_string(
        "{% set block %}{{ text }}{% endset %}{% macro m(t) %}{{ t }}{% endmacro %}" + PLACES
    )
    assert template.render(text="<") == "&lt; &lt; &lt; &lt; &lt;&lt;"


def test_without_escaping_a_value_stands_as_it_is(environment: PageEnvironment) -> None:
    template = environment.from_string("{% autoescape false %}{{ text }}{% endautoescape %}{{ text }}")
    assert template.render(text="<") == "<&lt;"


def test_a_dot_means_an_attribute_and_nothing_else(environment: PageEnvironment) -> None:
    template = environment.from_string("{{ value.name }}")
    with pytest.raises(AttributeError):
        template.render(value={"name": "x"})
    with pytest.raises(UndefinedError):
        template.render()
