"""Whatever somebody wrote is text: the page has the same elements as for any other text."""

from __future__ import annotations

import pytest

from tests.corpus_inputs import BadInput, bad_inputs, cases
from tests.web.pages import Page, shape
from tests.web.visitors import FRAGMENT, Portal

MARKUP = "</p></article><script>alert(1)</script><img src=x onerror=alert(1)>\"' {{ 7*7 }} {% x %}"


def pages_with(portal: Portal, content: str) -> dict[str, str]:
    """Return every page that shows a content, in all the places where one can be."""
    personas = portal.personas
    held = portal.remember(personas.ada, "held", content)
    proposed = portal.propose(personas.ada, "proposed", content)
    confirmed = portal.account_fact(personas.ada, "confirmed", content)
    rejected = portal.decide(portal.propose(personas.ada, "rejected", content), "reject", content[:500])
    ada, root = portal.visitor(personas.ada), portal.visitor(personas.root)
    paths = ["", "confirmed", "rejected", "?q=zz"]
    paths += [
        f"facts/{memory.id}{step}" for memory in (proposed, confirmed, rejected) for step in ("", "/delete")
    ]
    found = {path: root.get(f"/admin/support/{path}").text for path in paths}
    found["own"] = ada.get("/me/support/").text
    found["delete own"] = ada.get(f"/me/support/memories/{held.id}/delete").text
    found["ask in place"] = ada.get(f"/me/support/memories/{held.id}/delete", headers=FRAGMENT).text
    found["delete all"] = ada.get("/me/support/delete-all").text
    found["prompt"] = ada.get("/me/support/prompt").text
    found["conflict"] = root.post(
        f"/admin/support/facts/{proposed.id}/decide", action="confirm", version="99"
    ).text
    # Each run makes other ids.
    for name, memory in {"H": held, "P": proposed, "C": confirmed, "R": rejected}.items():
        found = {path: text.replace(str(memory.id), name) for path, text in found.items()}
    return dict(zip([str(number) for number in range(len(found))], found.values(), strict=True))


@pytest.fixture
def plain(portal: Portal) -> dict[str, str]:
    """The pages for a text that is harmless beyond doubt."""
    found = pages_with(portal, "x")
    for definition in portal.personas.directory.find_definitions(portal.personas.acme):
        portal.personas.directory.delete_definition(definition)
    portal.personas.directory.define_agent(portal.personas.acme, name="support", title="Support")
    return found


def contents_of(page: Page) -> list[str]:
    return [content.text for content in page.classed("content")]


def assert_inert(plain: dict[str, str], found: dict[str, str], content: str) -> None:
    for name, text in found.items():
        page, other = Page(text), Page(plain[name])
        assert shape(page.root) == shape(other.root), name
        assert len(contents_of(page)) == len(contents_of(other))
        assert set(contents_of(page)) <= {content}


def test_every_page_shows_the_content_somewhere(plain: dict[str, str]) -> None:
    shown = [len(contents_of(Page(text))) for text in plain.values()]
    assert shown == [1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 4, 1, 1, 2, 0, 1]


@pytest.mark.parametrize("bad", cases("content", "C5"))
def test_a_content_stays_text(portal: Portal, plain: dict[str, str], bad: BadInput) -> None:
    assert_inert(plain, pages_with(portal, bad.value), bad.value)


def pages_of_people_called(portal: Portal, name: str, slug: str) -> list[Page]:
    """Return the pages of an organisation where everything that has a name has this one."""
    directory = portal.personas.directory
    organisation = directory.create_organisation(name=name, slug=slug)
    root, ada = (
        directory.create_profile(
            organisation, email=f"{who}@{slug}.example", name=name, role=role, password=slug
        )
        for who, role in (("root", "administrator"), ("ada", "member"))
    )
    for definition in ("support", "travel"):
        directory.define_agent(organisation, name=definition, title=name, description=name)
    directory.agent_for(root, "support")
    portal.propose(ada, "hours", "x")
    lunch = portal.propose(ada, "lunch", "x")
    portal.manager.decide_account_fact(lunch.id, organisation, root, "confirm")
    visitor = portal.visitor()
    visitor.sign_in(root.email, slug)
    paths = ["/admin/", "/admin/support/", "/admin/support/confirmed", "/me/", "/me/support/", "/sign-in"]
    person = f"/admin/people/{ada.id}"
    paths += ["/admin/people/", person, f"{person}/deactivate", directory.make_link(ada).address("")]
    pages = [visitor.page(path) for path in paths]
    link = visitor.press(visitor.page(person), f"Make a link {' '.join(name.split())}")
    return [*pages, Page(link.text)]


def test_markup_in_names_and_titles_stays_text(portal: Portal) -> None:
    plain = pages_of_people_called(portal, "x", "plain")
    found = pages_of_people_called(portal, MARKUP, "markup")
    assert [shape(page.root) for page in found] == [shape(page.root) for page in plain]
    assert [MARKUP in page.root.text for page in found] == [True] * 11


@pytest.mark.parametrize("bad", bad_inputs("q="), ids=lambda bad: bad.id)
def test_a_search_stays_text(portal: Portal, bad: BadInput) -> None:
    root = portal.visitor(portal.personas.root)
    page = Page(root.get("/admin/support/", query_string={"q": bad.value}).text)
    plain = Page(root.get("/admin/support/", query_string={"q": "x"}).text)
    assert shape(page.root) == shape(plain.root)
    assert page.find("input", type="search").attributes["value"] == bad.value
