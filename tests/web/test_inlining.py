"""A template that has another one written into it."""

from __future__ import annotations

import pytest
from jinja2 import DictLoader, Environment, TemplateSyntaxError

from portal.web.inlining import InlineExtension

PIECES = {
    "row.html": "{# Expects `name`. #}\n<li>{{ name }}</li>\n",
    "list.html": "{% for name in names %}{% inline 'row.html' %}{% endfor %}",
    "nested.html": "<ul>{% inline 'list.html' %}</ul>",
    "setting.html": "{% set sum = a + b %}",
    "sum.html": "{% inline 'setting.html' %}{{ sum }}",
    "broken.html": "\n\n{% if %}",
    "with_broken.html": "{% inline 'broken.html' %}",
}


@pytest.fixture
def jinja() -> Environment:
    return Environment(
        autoescape=True, trim_blocks=True, extensions=[InlineExtension], loader=DictLoader(PIECES)
    )


def test_a_piece_is_drawn_as_if_it_stood_there(jinja: Environment) -> None:
    drawn = jinja.get_template("nested.html").render(names=["a", "<b>"])
    assert drawn == "<ul><li>a</li><li>&lt;b&gt;</li></ul>"


def test_what_a_piece_sets_stays_set(jinja: Environment) -> None:
    assert jinja.get_template("sum.html").render(a=1, b=2) == "3"


def test_nothing_is_looked_up_when_a_page_is_drawn(jinja: Environment) -> None:
    template = jinja.get_template("nested.html")
    jinja.loader = None
    assert template.render(names=["a"]) == "<ul><li>a</li></ul>"


def test_a_mistake_in_a_piece_is_told_with_its_name_and_line(jinja: Environment) -> None:
    with pytest.raises(TemplateSyntaxError) as mistake:
        jinja.get_template("with_broken.html")
    assert (mistake.value.name, mistake.value.lineno) == ("broken.html", 3)
