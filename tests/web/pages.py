"""A page as a browser without JavaScript understands it: elements, text, links and forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "hr", "img", "input", "link", "meta"}


@dataclass
class Element:
    tag: str
    attributes: Mapping[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        """Give this element and everything inside it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    @property
    def text(self) -> str:
        """What somebody reads in it, with its spaces as they are."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def words(self) -> str:
        """What somebody reads in it, spaces made single."""
        return " ".join(self.text.split())

    def has_class(self, name: str) -> bool:
        return name in self.attributes.get("class", "").split()


@dataclass(frozen=True)
class Form:
    """A form with what it would send, its buttons aside."""

    action: str
    method: str
    fields: Mapping[str, str]
    buttons: Mapping[str, tuple[str, str] | None]
    """What each button adds, by the words on it."""


class Page:
    """The elements of a page."""

    def __init__(self, html: str) -> None:
        parser = _TreeBuilder()
        parser.feed(html)
        parser.close()
        self.root = parser.root

    def find_all(self, tag: str, **attributes: str) -> list[Element]:
        return [
            element
            for element in self.root.walk()
            if element.tag == tag and attributes.items() <= element.attributes.items()
        ]

    def find(self, tag: str, **attributes: str) -> Element:
        """Return the one such element."""
        [found] = self.find_all(tag, **attributes)
        return found

    def classed(self, name: str) -> list[Element]:
        return [element for element in self.root.walk() if element.has_class(name)]

    @property
    def title(self) -> str:
        return self.find("title").words

    @property
    def heading(self) -> str:
        return self.find("h1").words

    @property
    def messages(self) -> list[str]:
        return [notice.words for notice in self.classed("notice")]

    @property
    def entries(self) -> list[Element]:
        """The memories on the page."""
        return self.find_all("article")

    @property
    def keys(self) -> list[str]:
        """The keys of the memories on the page."""
        return [key.words for entry in self.entries for key in entry.walk() if key.has_class("key")]

    def link(self, words: str) -> str:
        """Return the address of the one link with these words."""
        [link] = [link for link in self.find_all("a") if link.words == words]
        return link.attributes["href"]

    @property
    def main_buttons(self) -> list[str]:
        """The words on the buttons of the page itself, without those that every page has."""
        return [part.words for part in self.find("main").walk() if part.tag == "button"]

    @property
    def links(self) -> list[str]:
        return [link.words for link in self.find_all("a")]

    @property
    def forms(self) -> list[Form]:
        return [_read_form(self, form) for form in self.find_all("form")]

    def form(self, button: str) -> Form:
        """Return the one form that has this button."""
        [found] = [form for form in self.forms if button in form.buttons]
        return found


# What a page says about a text beside the text: hints, marks, and whether it may be selected.
REMARKS = {"flags", "pick"}


def shape(element: Element) -> list[tuple[str, tuple[str, ...]]]:
    """Return which elements there are, and with which attributes, whatever those and the text say.

    Remarks about a text are not part of it.
    """
    if element.tag == "mark" or any(map(element.has_class, REMARKS)):
        return []
    inside = [part for child in element.children if isinstance(child, Element) for part in shape(child)]
    return [(element.tag, tuple(sorted(element.attributes))), *inside]


def _read_form(page: Page, form: Element) -> Form:
    inside = list(form.walk())
    form_id = form.attributes.get("id", "")
    parts = [*inside, *(e for e in page.root.walk() if form_id and e.attributes.get("form") == form_id)]
    fields = {}
    buttons: dict[str, tuple[str, str] | None] = {}
    for part in parts:
        name, value = part.attributes.get("name"), part.attributes.get("value", "")
        if part.tag == "button":
            buttons[part.words] = (name, value) if name else None
        elif part.tag == "select":
            chosen = [option for option in part.walk() if option.tag == "option"]
            chosen.sort(key=lambda option: "selected" not in option.attributes)
            fields[str(name)] = chosen[0].attributes["value"]
        elif part.tag == "textarea":
            # The parser of HTML drops the line break after the tag.
            fields[str(name)] = part.text.removeprefix("\n")
        elif part.tag == "input":
            fields[str(name)] = value
    return Form(form.attributes["action"], form.attributes["method"], fields, buttons)


class _TreeBuilder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)
