"""Rules for templates. Each takes a parsed template and gives the numbers of the lines that break it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from jinja2 import Environment, FileSystemLoader, nodes

from portal.web.assets import resource_dir
from portal.web.inlining import InlineExtension

JINJA = Environment(
    autoescape=True, extensions=[InlineExtension], loader=FileSystemLoader(resource_dir("templates"))
)

# An expression stands in the HTML as its number between two characters that no template contains.
OPENING, CLOSING = "\ue000", "\ue001"
EXPRESSION = re.compile(f"{OPENING}([0-9]+){CLOSING}")
ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")

ADDRESSES = {"action", "formaction", "href", "poster", "src", "srcset"}
NAMES_OF_ELEMENTS = {
    "aria-controls",
    "aria-describedby",
    "aria-labelledby",
    "class",
    "for",
    "form",
    "id",
    "list",
}

# What people and models write, by the names that it has in templates.
WRITTEN_BY_SOMEBODY = {
    "about",
    "content",
    "decision_reason",
    "description",
    "email",
    "key",
    "memory_key",
    "name",
    "reason",
    "text",
    "title",
}
# A definition's name is limited to letters, digits and hyphens; a form field's is the programmer's.
NAMES_FROM_A_SMALL_ALPHABET = {"definition", "field"}


@dataclass(frozen=True)
class Attribute:
    """An attribute of an element: its name, its value as written in the template, and how that is quoted."""

    name: str
    value: str
    quote: str


@dataclass
class Element:
    """A start tag, and the text that follows it inside scripts and styles."""

    tag: str
    line: int
    attributes: list[Attribute]
    text: str = ""

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None where there is none."""
        return next((found.value for found in self.attributes if found.name == name), None)


@dataclass
class Template:
    """A template as Jinja sees it and as a browser would."""

    source: str
    tree: nodes.Template = field(init=False)
    expressions: list[str] = field(init=False)
    elements: list[Element] = field(init=False)

    def __post_init__(self) -> None:
        self.tree = JINJA.parse(self.source)
        html, self.expressions = without_jinja(self.source)
        self.elements = elements_of(html)

    def expressions_in(self, value: str) -> Iterator[nodes.Template]:
        """Give the expressions in an attribute's value, each as a template of its own."""
        for number in EXPRESSION.findall(value):
            yield JINJA.parse("{{" + self.expressions[int(number)] + "}}")


def unescaped_text(template: Template) -> Iterator[int]:
    """`|safe`, `|urlize`, `Markup` and `autoescape` let somebody's text become elements."""
    for filtered in template.tree.find_all(nodes.Filter):
        if filtered.name in {"safe", "urlize"}:
            yield filtered.lineno
    for name in template.tree.find_all(nodes.Name):
        if name.name == "Markup":
            yield name.lineno
    for block in template.tree.find_all(nodes.ScopedEvalContextModifier):
        yield block.lineno


def inline_scripts(template: Template) -> Iterator[int]:
    """The content security policy lets only scripts with an address run."""
    for element in template.elements:
        if element.tag == "script" and (element.get("src") is None or element.text.strip()):
            yield element.line


def inline_styles(template: Template) -> Iterator[int]:
    """The content security policy refuses `<style>` and `style=`."""
    for element in template.elements:
        if element.tag == "style" or element.get("style") is not None:
            yield element.line


def handlers(template: Template) -> Iterator[int]:
    """`onclick` is an inline script, and `hx-on` is one for htmx, which needs eval for it."""
    for element, attribute in attributes_of(template):
        if re.match(r"(data-)?hx-on|on[a-z]", attribute.name):
            yield element.line


def evaluated_values(template: Template) -> Iterator[int]:
    """`js:` values, `hx-vars` and filters in `hx-trigger` need eval, as does a script in an address."""
    for element, attribute in attributes_of(template):
        is_script = re.match(r"\s*(js|javascript):", attribute.value, re.IGNORECASE)
        has_filter = attribute.name.startswith("hx-trigger") and "[" in attribute.value
        if is_script or has_filter or attribute.name.startswith("hx-vars"):
            yield element.line


def boosts_and_extensions(template: Template) -> Iterator[int]:
    """Links and forms stay the browser's own, and htmx is its core only."""
    for element, attribute in attributes_of(template):
        if re.match(r"hx-(boost|ext)\b", attribute.name):
            yield element.line


def unquoted_values(template: Template) -> Iterator[int]:
    """Escaping does not hold a value in an attribute that has no quotes."""
    for element, attribute in attributes_of(template):
        if (attribute.value and not attribute.quote) or OPENING in attribute.name:
            yield element.line


def json_in_double_quotes(template: Template) -> Iterator[int]:
    """`|tojson` writes double quotes, so it is safe between single ones only."""
    for element, attribute in attributes_of(template):
        for expression in template.expressions_in(attribute.value):
            if attribute.quote == '"' and any(f.name == "tojson" for f in expression.find_all(nodes.Filter)):
                yield element.line


def written_text_in_names(template: Template) -> Iterator[int]:
    """What somebody wrote is shown, and never names, addresses or instructs."""
    for element, attribute in attributes_of(template):
        instructs = attribute.name in ADDRESSES | NAMES_OF_ELEMENTS or attribute.name.startswith("hx-")
        if instructs and any(map(mentions_written_text, template.expressions_in(attribute.value))):
            yield element.line


RULES = [
    unescaped_text,
    inline_scripts,
    inline_styles,
    handlers,
    evaluated_values,
    boosts_and_extensions,
    unquoted_values,
    json_in_double_quotes,
    written_text_in_names,
]


def attributes_of(template: Template) -> Iterator[tuple[Element, Attribute]]:
    for element in template.elements:
        for attribute in element.attributes:
            yield element, attribute


def mentions_written_text(expression: nodes.Template) -> bool:
    return any(map(is_written_text, expression.find_all((nodes.Name, nodes.Getattr, nodes.Getitem))))


def is_written_text(node: nodes.Node) -> bool:
    match node:
        case nodes.Name(name=name):
            return name in WRITTEN_BY_SOMEBODY
        case nodes.Getattr(node=owner, attr="name"):
            return last_name(owner) not in NAMES_FROM_A_SMALL_ALPHABET
        case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=name)):
            return name in WRITTEN_BY_SOMEBODY
    return False


def last_name(node: nodes.Node) -> str:
    match node:
        case nodes.Name(name=name) | nodes.Getattr(attr=name):
            return str(name)
    return ""


def without_jinja(source: str) -> tuple[str, list[str]]:
    """Return the HTML with a mark for each expression, lines kept, and the expressions' sources."""
    html: list[str] = []
    expressions: list[str] = []
    ending = ""
    for _, kind, text in JINJA.lex(source):
        if kind == "data":
            html.append(text)
        elif kind == "variable_begin":
            ending = "variable_end"
            html.append(f"{OPENING}{len(expressions)}{CLOSING}")
            expressions.append("")
        elif kind == ending:
            ending = ""
        elif ending:
            expressions[-1] += text
        if kind != "data":
            html.append("\n" * text.count("\n"))
    return "".join(html), expressions


def elements_of(html: str) -> list[Element]:
    parser = ElementParser()
    parser.feed(html)
    parser.close()
    return parser.elements


class ElementParser(HTMLParser):
    """Keeps every start tag with its attributes as they were written."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        written = (self.get_starttag_text() or "")[len(tag) + 1 :]
        self.elements.append(Element(tag, self.getpos()[0], list(parse_attributes(written))))

    def handle_data(self, data: str) -> None:
        if self.elements and self.cdata_elem:
            self.elements[-1].text += data


def parse_attributes(written: str) -> Iterator[Attribute]:
    for name, value in ATTRIBUTE.findall(written):
        quote = value[0] if value[:1] in {'"', "'"} else ""
        yield Attribute(name.lower(), value[1:-1] if quote else value, quote)
