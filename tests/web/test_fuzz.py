"""Whatever is sent to any address in any field by anybody: no fault of ours, no leak, nothing in the log.

What there is to send is not written down here: the addresses come from the URL map, and the fields from the
forms and links of the pages, so that a new one is tried as soon as it is there.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias
from urllib.parse import parse_qsl, quote_from_bytes, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from portal.models import Profile
from tests.databases import BOTH_KINDS, Databases, databases_of_kind
from tests.factories import Personas
from tests.log_lines import logged_lines
from tests.scale import at_scale
from tests.web.pages import Page
from tests.web.visitors import FRAGMENT, HERE, Portal

MARK = "zyzzyva"
"""Stands in most of what is sent, so that it can be told from everything else."""

# Nobody in particular gets to see any of these, in whatever case, as addresses of people have them in small
# letters; of the people each sees what is theirs.
SECRETS: Mapping[str, frozenset[str]] = {
    "nobody": frozenset({"acme", "measles", "globex"}),
    "ada": frozenset({"globex"}),
    "root": frozenset({"globex", "measles"}),
    "eve": frozenset({"acme", "measles"}),
}

# What pages send only now and then: when a list is long, or somebody came from elsewhere.
RARE_NAMES = ("q", "status", "sort", "after", "limit", "since", "from", "next")

ODD_TEXTS = [
    "",
    " ",
    "\0",
    "Vien\0na",
    "\ud83d",
    "\udc00" * 40,
    "\u202ekcab",
    "\u0441\u043e\u0440\u0435",
    "ﬀ\u0301\u200d\ufeff",
    "\r\nSet-Cookie: a=b",
    "%00%ff%",
    "../../etc/passwd",
    "//evil.example",
    "/\t/evil.example",
    "{{7*7}}${7*7}",
    "<script>alert(1)</script>",
    "' OR 1=1--",
    "on",
    "confirm",
    "null",
    "x" * 10_000,
    "x" * 70_000,
]

ODD_NUMBERS = [
    *map(str, (0, -1, 2**31, 2**32, 2**62 - 1, 2**62, 2**63 - 1, 2**63, 10**19)),
    "9" * 400,
    "1e9",
    "NaN",
    "+1",
    "٣",
]

Pairs: TypeAlias = tuple[tuple[str, str], ...]


@pytest.fixture(scope="session", params=BOTH_KINDS)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Both kinds: what one of them stores, compares or refuses the other may not."""
    return databases_of_kind(request)


@dataclass(frozen=True)
class Sending:
    """One request, but for the token, which is put in when it is sent."""

    method: str
    path: str
    query: Pairs = ()
    form: Pairs = ()


Surface: TypeAlias = dict[str, dict[str, list[Sending]]]
"""What the pages of each person let them send, by endpoint."""


def furnish(portal: Portal) -> Mapping[str, Sequence[object]]:
    """Give everybody something, and return what addresses are made of."""
    people = portal.personas
    gus = people.directory.create_profile(people.acme, email="gus@acme.example", name="Gus")
    people.directory.deactivate(gus)
    eves = portal.propose(people.eve, "closed", "Globex never closes")
    portal.manager.decide_account_fact(eves.id, people.globex, people.eve, "confirm")
    memories = [
        eves,
        portal.propose(people.eve, "hours", "Globex opens at ten"),
        portal.remember(people.ada, "illness", "Ada has measles"),
        portal.propose(people.ada, "hours", "Acme opens at nine"),
        portal.propose(people.bob, "hours", "Acme opens at eight"),
        portal.account_fact(people.bob, "closed", "Acme closes at five"),
        portal.decide(portal.propose(people.ada, "parking", "Acme has no cars"), "reject", "Acme has one"),
    ]
    return {
        "definition": ["support"],
        "memory_id": [memory.id for memory in memories],
        "profile_id": [people.bob.id, gus.id],
        "token": [people.directory.make_link(people.bob).token],
        "filename": ["portal.css"],
    }


def explore(portal: Portal) -> Surface:
    """Look at every page as everybody, and at what is on it."""
    surface: Surface = {who: defaultdict(list) for who in SECRETS}
    addresses = [*good_addresses(portal, furnish(portal))]
    for who, found in surface.items():
        visitor = portal.visitor(getattr(portal.personas, who, None))
        for address in addresses:
            keep(portal, Sending("GET", address), found)
            with visitor.get(address) as answer:
                text = answer.get_data(as_text=True)
                # Whoever has a link that is good may see whose it is.
                assert address.startswith("/welcome/") or not secrets_in(text, who), (who, address)
                if answer.status_code == 200 and answer.mimetype == "text/html":
                    for sending in sendings_on(Page(text)):
                        keep(portal, sending, found)
    return surface


def secrets_in(text: str, who: str) -> list[str]:
    """Return what somebody is shown and should not be."""
    folded = text.casefold()
    return [secret for secret in SECRETS[who] if secret in folded]


def good_addresses(portal: Portal, values: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """Give the addresses of pages that are there, for somebody."""
    for rule in portal.app.url_map.iter_rules():
        names = sorted(rule.arguments)
        if "GET" in (rule.methods or ()):
            for chosen in product(*(values[name] for name in names)):
                yield address_of(rule, dict(zip(names, chosen, strict=True)))


def address_of(rule: Rule, values: Mapping[str, object]) -> str:
    return re.sub(r"<\w+:(\w+)>", lambda found: str(values[found[1]]), rule.rule)


def sendings_on(page: Page) -> Iterator[Sending]:
    """Give what the forms of a page send with each button, and where its links lead."""
    for form in page.forms:
        address = urlsplit(form.action)
        for button in form.buttons.values():
            pairs = {**form.fields, **dict([button] if button else [])}
            fields = tuple(pair for pair in pairs.items() if pair[0] not in {"csrf_token", "as"})
            query = tuple(parse_qsl(address.query))
            is_get = form.method == "get"
            yield Sending(form.method.upper(), address.path, query + fields * is_get, fields * (not is_get))
    for element in page.root.walk():
        address = urlsplit(element.attributes.get("href") or element.attributes.get("hx-get", "#"))
        if address.path:
            yield Sending("GET", address.path, tuple(parse_qsl(address.query)))


def keep(portal: Portal, sending: Sending, found: dict[str, list[Sending]]) -> None:
    try:
        endpoint, _ = portal.app.url_map.bind("127.0.0.1").match(sending.path, sending.method)
    except HTTPException:
        return
    if sending not in found[endpoint]:
        found[endpoint].append(sending)


def encoded(text: str) -> str:
    """Return a text as it is sent, with halves of surrogate pairs as bytes that are not UTF-8."""
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")


def encoded_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(f"{encoded(name)}={encoded(value)}" for name, value in pairs)


any_text = st.characters(codec=None)
odd = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_TEXTS).map(lambda text: MARK + text),
    st.text(any_text, max_size=30).map(lambda text: MARK + text),
    st.sampled_from(ODD_NUMBERS),
)


@st.composite
def spoilt(draw: st.DrawFn, found: Mapping[str, Sequence[Sending]]) -> Sending:
    """Something that a page sends, with nothing or a few things wrong."""
    # More often forms than pages, and what has many fields, because most can go wrong there.
    method = draw(st.sampled_from(["GET", "POST", "POST"]))
    few = [each for sendings in found.values() for each in sendings[:3] if each.method == method]
    sending = draw(st.sampled_from([each for each in few for _ in range(1 + len(each.query + each.form))]))
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        sending = draw(spoilt_path(sending) if draw(st.integers(0, 5)) == 0 else spoilt_pairs(sending))
    return sending


@st.composite
def spoilt_path(draw: st.DrawFn, sending: Sending) -> Sending:
    segments = sending.path.split("/")
    segments[draw(st.integers(1, len(segments) - 1))] = encoded(draw(odd))
    return replace(sending, path="/".join(segments))


@st.composite
def spoilt_pairs(draw: st.DrawFn, sending: Sending) -> Sending:
    """Let a field have an odd value, be missing or come twice, or add one."""
    is_form = sending.method == "POST" and draw(st.integers(0, 3)) > 0
    pairs = [*(sending.form if is_form else sending.query)]
    index = draw(st.integers(0, len(pairs)))
    name = pairs[index][0] if index < len(pairs) else draw(st.sampled_from(RARE_NAMES) | odd)
    there, spoilt = pairs[index : index + 1], (name, draw(odd))
    pairs[index : index + 1] = draw(st.sampled_from([[spoilt], [spoilt], [], [*there, spoilt]]))
    return replace(sending, form=tuple(pairs)) if is_form else replace(sending, query=tuple(pairs))


def send(
    portal: Portal, who: str, wanted: Sequence[Sending], headers: Mapping[str, str]
) -> Iterator[tuple[Sending, str]]:
    """Send requests as somebody, and give what each was answered with, headers first."""
    profile: Profile | None = getattr(portal.personas, who, None)
    # So that nobody is refused for signing in too often.
    portal.clock.advance(hours=1)
    visitor = portal.visitor(profile)
    token = visitor.token()
    for each in wanted:
        with visitor.client.open(
            f"{each.path}?{encoded_pairs(each.query)}",
            method=each.method,
            base_url=HERE,
            data=encoded_pairs((("csrf_token", token), *each.form)) if each.method == "POST" else None,
            content_type="application/x-www-form-urlencoded" if each.method == "POST" else None,
            headers=headers,
        ) as answer:
            assert answer.status_code < 500, each
            yield each, f"{answer.headers}\n{answer.get_data(as_text=True)}"


def restore(people: Personas) -> None:
    """Undo what an administrator did to people, so that each can sign in and is who they were."""
    for person in (people.root, people.ada, people.eve):
        people.directory.activate(person)
        people.directory.set_role(person, person.role)


@pytest.mark.long
def test_nothing_that_anybody_sends_is_a_fault_a_leak_or_in_the_log(portal: Portal) -> None:
    surface = explore(portal)
    # Whoever has a link that is good may see whose it is; so that it is good no more.
    portal.clock.advance(days=30)

    @settings(max_examples=at_scale(300), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data(), st.sampled_from([*SECRETS, "ada", "root", "root"]), st.sampled_from([{}, FRAGMENT]))
    def fuzz(data: st.DataObject, who: str, headers: Mapping[str, str]) -> None:
        # Mostly what their own pages send, and some of what somebody else's do.
        whose = data.draw(st.sampled_from([who, who, who, *SECRETS]))
        wanted = data.draw(st.lists(spoilt(surface[whose]), min_size=10, max_size=20))
        restore(portal.personas)
        with logged_lines() as lines:
            for each, answer in send(portal, who, wanted, headers):
                assert not secrets_in(answer, who), each
        written = json.dumps(lines).casefold()
        assert not [word for word in (MARK, "acme", "globex", "measles", "example") if word in written]

    fuzz()


def test_what_is_tried_are_the_forms_that_pages_have(portal: Portal) -> None:
    surface = explore(portal)
    posts = {rule.endpoint for rule in portal.app.url_map.iter_rules() if "POST" in (rule.methods or ())}
    assert posts - {endpoint for found in surface.values() for endpoint in found} == set()
    [decide, *_] = surface["root"]["administrators.decide"]
    assert {name for name, _ in decide.form} >= {"action", "version"}
