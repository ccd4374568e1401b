"""The code keeps its habits, and each rule that says so is shown to see what it forbids."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.conventions import python_rules as py
from tests.conventions import template_rules as html
from tests.conventions.template_rules import Template

ROOT = Path(__file__).parent.parent

PythonRule = Callable[[ast.Module], Iterator[int]]
TemplateRule = Callable[[Template], Iterator[int]]


def files(folder: str, pattern: str = "*") -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob(pattern) if path.is_file())


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in files(folder, "*.py")]


def breaches(rule: PythonRule, paths: Iterable[Path]) -> list[str]:
    found = ((path, line) for path in paths for line in rule(ast.parse(path.read_text())))
    return [f"{path.relative_to(ROOT)}:{line}" for path, line in found]


@pytest.mark.parametrize("rule", py.EVERYWHERE, ids=lambda rule: rule.__name__)
def test_all_modules_keep(rule: PythonRule) -> None:
    assert breaches(rule, [*modules("portal", "tests"), *ROOT.glob("*.py")]) == [], rule.__doc__


@pytest.mark.parametrize("rule", py.IN_THE_PACKAGE, ids=lambda rule: rule.__name__)
def test_the_package_keeps(rule: PythonRule) -> None:
    assert breaches(rule, modules("portal")) == [], rule.__doc__


@pytest.mark.parametrize("rule", py.IN_TESTS, ids=lambda rule: rule.__name__)
def test_the_tests_keep(rule: PythonRule) -> None:
    assert breaches(rule, modules("tests")) == [], rule.__doc__


@pytest.mark.parametrize("rule", html.RULES, ids=lambda rule: rule.__name__)
def test_all_templates_keep(rule: TemplateRule) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files("templates")
        for line in rule(Template(path.read_text()))
    ]
    assert found == [], rule.__doc__


def test_there_is_something_to_hold() -> None:
    assert modules("portal")
    assert modules("tests")
    assert files("templates")


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (py.conditional_asserts, "assert status == 200 if signed_in else 404"),
        (py.markup, "from markupsafe import Markup"),
        (py.markup, "markupsafe.Markup(text)"),
        (py.markup, "Markup.join(texts)"),
        (py.naive_clocks, "datetime.utcnow()"),
        (py.naive_clocks, "dt.datetime.utcfromtimestamp(0)"),
        (py.rows_by_id_alone, "session.get(AgentMemory, memory_id)"),
        (py.rows_by_id_alone, "db.session.get(models.Profile, 1)"),
        (py.broad_excepts, "try: work()\nexcept: pass"),
        (py.broad_excepts, "try: work()\nexcept Exception: pass"),
        (py.broad_excepts, "try: work()\nexcept (ValueError, BaseException): pass"),
        (py.hidden_imports, "def late():\n from portal.keys import canonical_key"),
        (py.hidden_imports, "async def late():\n import portal.keys"),
        (py.hidden_imports, "def late():\n from . import keys"),
        (py.idle_tests, "def test_it(): work()"),
        (py.idle_tests, "class TestIt:\n def test_it(self): work()"),
        (py.idle_tests, "def test_it(): help()\ndef help(): work()"),
        (py.mocks, "import unittest.mock"),
        (py.mocks, "from unittest import mock"),
        (py.mocks, "from unittest.mock import patch"),
    ],
)
def test_a_python_rule_sees(rule: PythonRule, source: str) -> None:
    assert list(rule(ast.parse(source))) != []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (py.conditional_asserts, "assert status == (200 if signed_in else 404)"),
        (py.rows_by_id_alone, 'session.get("csrf_token")'),
        (py.rows_by_id_alone, "session.get(TOKEN)"),
        (py.broad_excepts, "try: work()\nexcept ValueError: pass"),
        (py.hidden_imports, "from portal.keys import canonical_key"),
        (py.hidden_imports, "def late():\n import regex"),
        (py.idle_tests, "def test_it():\n with pytest.raises(ValueError): work()"),
        (py.idle_tests, "def test_it(): assert_invariants(database)"),
        (py.idle_tests, "def test_it(): help()\ndef help(): more()\ndef more(): assert work()"),
    ],
)
def test_a_python_rule_lets_pass(rule: PythonRule, source: str) -> None:
    assert list(rule(ast.parse(source))) == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (html.unescaped_text, "{{ memory.content|safe }}"),
        (html.unescaped_text, "{{ memory.content|urlize }}"),
        (html.unescaped_text, "{{ Markup(memory.content) }}"),
        (html.unescaped_text, "{% autoescape false %}{{ x }}{% endautoescape %}"),
        (html.inline_scripts, "<script>go()</script>"),
        (html.inline_scripts, '<script src="/a.js">go()</script>'),
        (html.inline_scripts, '<script type="application/json">{{ x }}</script>'),
        (html.inline_styles, "<style>p { color: red }</style>"),
        (html.inline_styles, '<p style="color: red">'),
        (html.handlers, '<button onclick="go()">'),
        (html.handlers, '<button {% if x %}onclick="go()"{% endif %}>'),
        (html.handlers, '<form hx-on:submit="go()">'),
        (html.handlers, '<form hx-on--after-swap="go()">'),
        (html.evaluated_values, """<form hx-vals='js:{"x": now()}'>"""),
        (html.evaluated_values, """<form hx-headers='javascript:{"x": 1}'>"""),
        (html.evaluated_values, '<div hx-trigger="click[event.ctrlKey]">'),
        (html.evaluated_values, '<div hx-vars="x: now()">'),
        (html.evaluated_values, '<a href="JavaScript:go()">'),
        (html.boosts_and_extensions, '<body hx-boost="true">'),
        (html.boosts_and_extensions, '<body hx-boost:inherited="true">'),
        (html.boosts_and_extensions, '<body hx-ext="sse">'),
        (html.unquoted_values, "<p class=key>"),
        (html.unquoted_values, "<p class={{ status }}>"),
        (html.unquoted_values, "<p class = key>"),
        (html.unquoted_values, "<p {{ attributes }}>"),
        (html.json_in_double_quotes, '<p data-x="{{ x|tojson }}">'),
        (html.written_text_in_names, '<p id="fact-{{ memory.memory_key }}">'),
        (html.written_text_in_names, '<a href="/search?q={{ memory.content }}">'),
        (html.written_text_in_names, """<a href="{{ url_for('page', q=memory.content) }}">"""),
        (html.written_text_in_names, """<form action="/{{ memory['memory_key'] }}">"""),
        (html.written_text_in_names, """<form hx-confirm="Delete {{ memory.memory_key|upper }}?">"""),
        (html.written_text_in_names, '<p class="{{ profile.name }}">'),
        (html.written_text_in_names, '<label for="{{ key }}">'),
    ],
)
def test_a_template_rule_sees(rule: TemplateRule, source: str) -> None:
    assert list(rule(Template(f"<main>\n{source}"))) == [2]


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (html.unescaped_text, "{{ memory.content|upper }}"),
        (
            html.inline_scripts,
            """<script src="{{ url_for('static', filename='portal.js') }}" defer></script>""",
        ),
        (html.handlers, '<input name="once" {% if one %}checked{% endif %}>'),
        (html.evaluated_values, """<form hx-vals='{"step": "do"}' hx-trigger="every 60s">"""),
        (html.unquoted_values, """<p class="a {% if x > 1 %}b{% endif %}" hidden data-x='{{ "1>0" }}'>"""),
        (html.unquoted_values, """<input value="{{ url_for("page") }}"/><br/>"""),
        (html.json_in_double_quotes, "<p data-x='{{ x|tojson }}'>"),
        (html.written_text_in_names, '<p id="fact-{{ memory.id }}" aria-label="{{ memory.memory_key }}">'),
        (html.written_text_in_names, """<a href="{{ url_for('page', definition=definition.name) }}">"""),
        (html.written_text_in_names, '<label for="{{ field.id }}">{{ memory.content }}</label>'),
    ],
)
def test_a_template_rule_lets_pass(rule: TemplateRule, source: str) -> None:
    assert list(rule(Template(source))) == []
