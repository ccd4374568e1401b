"""Whatever is sent to any address in any field by anybody: no fault of ours, no leak, nothing in the log.

What there is to send is not written down here: the addresses come from the URL map, and the fields from the
forms and links of the pages, so that a new one is tried as soon as it is there.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias
from urllib.parse import parse_qsl, quote_from_bytes, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

from portal.models import Profile
from tests.databases import Databases
from tests.log_lines import logged_lines
from tests.web.pages import Page
from tests.web.visitors import FRAGMENT, HERE, Portal

SCALE = int(os.environ.get("PORTAL_TEST_SCALE", "1"))

MARK = "zyzzyva"
"""Stands in most of what is sent, so that it can be told from everything else."""

# Nobody in particular gets to see any of these; of the people each sees what is theirs.
SECRETS: Mapping[str, frozenset[str]] = {
    "nobody": frozenset({"Acme", "measles", "Globex"}),
    "ada": frozenset({"Globex"}),
    "root": frozenset({"Globex", "measles"}),
    "eve": frozenset({"Acme", "measles"}),
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

Values: TypeAlias = dict[str, set[str]]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("sqlite_files", id="sqlite"),
        pytest.param("postgres_server", id="postgres", marks=pytest.mark.postgres),
    ],
)
def databases(request: pytest.FixtureRequest) -> Databases:
    """Both kinds: what one of them stores, compares or refuses the other may not."""
    found: Databases = request.getfixturevalue(request.param)
    return found


@dataclass(frozen=True)
class Surface:
    """Where something can be sent to, and what pages send there."""

    rules: Sequence[Rule]
    fields: Mapping[str, Values]
    """By endpoint, the fields of its forms and links with the values that were seen in them."""
    arguments: Values
    """By name, what can stand in an address."""


def furnish(portal: Portal) -> Values:
    """Give everybody something, and return what addresses are made of."""
    people = portal.personas
    eves = portal.propose(people.eve, "closed", "Globex never closes")
    portal.manager.decide_account_fact(eves.id, people.globex, people.eve, "confirm")
    memories = [
        eves,
        portal.propose(people.eve, "hours", "Globex opens at ten"),
        portal.remember(people.ada, "illness", "Ada has measles"),
        portal.propose(people.ada, "hours", "Acme opens at nine"),
        portal.account_fact(people.bob, "closed", "Acme closes at five"),
        portal.decide(portal.propose(people.bob, "parking", "Acme has no cars"), "reject", "Acme has one"),
    ]
    return {
        "definition": {"support", "travel", "claims"},
        "memory_id": {str(memory.id) for memory in memories},
        "filename": {"portal.css", "portal.js"},
    }


def explore(portal: Portal) -> Surface:
    """Look at every page, and at what is on it."""
    fields: defaultdict[str, Values] = defaultdict(lambda: defaultdict(set))
    surface = Surface([*portal.app.url_map.iter_rules()], fields, furnish(portal))
    for rule in surface.rules:
        fields[rule.endpoint].update({name: {""} for name in RARE_NAMES})
    for profile in (None, portal.personas.ada, portal.personas.root):
        visitor = portal.visitor(profile)
        for rule in surface.rules:
            for path in good_paths(rule, surface.arguments):
                with visitor.get(path) as answer:
                    if answer.status_code == 200 and answer.mimetype == "text/html":
                        learn(portal, Page(answer.get_data(as_text=True)), surface.fields)
    return surface


def good_paths(rule: Rule, arguments: Values) -> Iterator[str]:
    if "GET" in (rule.methods or ()):
        for memory_id in arguments["memory_id"] if "memory_id" in rule.arguments else [""]:
            yield path_of(rule, {"definition": "support", "memory_id": memory_id, "filename": "portal.css"})


def path_of(rule: Rule, arguments: Mapping[str, str]) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: encoded(arguments[found[1]]), rule.rule)


def learn(portal: Portal, page: Page, fields: Mapping[str, Values]) -> None:
    """Add what the forms and links of a page would send, and where to."""
    for form in page.forms:
        sent = {*form.fields.items(), *(button for button in form.buttons.values() if button)}
        keep(portal, form.action, form.method.upper(), sent, fields)
    for element in page.root.walk():
        for attribute in ("href", "hx-get"):
            keep(portal, element.attributes.get(attribute, ""), "GET", set(), fields)


def keep(
    portal: Portal, address: str, method: str, sent: set[tuple[str, str]], fields: Mapping[str, Values]
) -> None:
    parts = urlsplit(address)
    try:
        endpoint, _ = portal.app.url_map.bind("127.0.0.1").match(parts.path, method)
    except HTTPException:
        return
    for name, value in sent | {*parse_qsl(parts.query)}:
        fields[endpoint][name].add(value)


def encoded(text: str) -> str:
    """Return a text as it is sent, with halves of surrogate pairs as bytes that are not UTF-8."""
    return quote_from_bytes(text.encode("utf-8", "surrogatepass"), safe="")


def encoded_pairs(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(f"{encoded(name)}={encoded(value)}" for name, value in pairs)


@dataclass(frozen=True)
class Sending:
    """One request, but for the token, which is put in when it is sent."""

    method: str
    path: str
    query: Sequence[tuple[str, str]]
    form: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    has_token: bool


any_text = st.characters(codec=None)
odd = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.sampled_from(ODD_TEXTS).map(lambda text: MARK + text),
    st.text(any_text, max_size=30).map(lambda text: MARK + text),
    st.sampled_from(ODD_NUMBERS),
)


@st.composite
def sendings(draw: st.DrawFn, surface: Surface) -> Sending:
    rule = draw(st.sampled_from(surface.rules))
    method = draw(st.sampled_from(sorted((rule.methods or set()) - {"OPTIONS", "HEAD"})))
    arguments = {
        name: draw(st.sampled_from(sorted(surface.arguments[name])) | odd) for name in sorted(rule.arguments)
    }
    pairs = draw(pairs_of(surface.fields[rule.endpoint]))
    is_get = method == "GET"
    return Sending(
        method,
        path_of(rule, arguments),
        pairs if is_get else draw(pairs_of(surface.fields[rule.endpoint])),
        [] if is_get else pairs,
        draw(st.sampled_from([{}, {}, FRAGMENT, {"HX-Request": "true", "HX-Target": MARK}])),
        draw(st.integers(0, 9)) > 0,
    )


def pairs_of(fields: Values) -> st.SearchStrategy[list[tuple[str, str]]]:
    """Fields that are there, missing or doubled, with values that were seen or are odd, and odd fields."""
    pairs = [
        st.tuples(st.just(name), st.sampled_from(sorted(values)) | odd)
        for name, values in sorted(fields.items())
        if name != "csrf_token"
    ]
    return st.lists(st.one_of(*pairs, st.tuples(odd, odd)), max_size=len(pairs) + 2)


def send(portal: Portal, who: str, wanted: Sequence[Sending]) -> Iterator[tuple[Sending, str]]:
    """Send requests as somebody, and give what each was answered with, headers first."""
    profile: Profile | None = getattr(portal.personas, who, None)
    # So that nobody is refused for signing in too often.
    portal.clock.advance(hours=1)
    visitor = portal.visitor(profile)
    token = visitor.token()
    for each in wanted:
        form = [*each.form, *([("csrf_token", token)] if each.has_token else [])]
        with visitor.client.open(
            f"{each.path}?{encoded_pairs(each.query)}",
            method=each.method,
            base_url=HERE,
            headers=dict(each.headers),
            data=encoded_pairs(form) if each.form else None,
            content_type="application/x-www-form-urlencoded" if each.method == "POST" else None,
        ) as answer:
            assert answer.status_code < 500, each
            yield each, f"{answer.headers}\n{answer.get_data(as_text=True)}"


def test_nothing_that_anybody_sends_is_a_fault_a_leak_or_in_the_log(portal: Portal) -> None:
    surface = explore(portal)
    fresh = count()

    def replenish() -> None:
        """Replace what was decided or deleted, so that there is always something to reach."""
        if not portal.manager.find_proposed_account_facts(portal.personas.acme, "support"):
            proposal = portal.propose(portal.personas.ada, f"hours_{next(fresh)}", "Acme opens at nine")
            surface.arguments["memory_id"].add(str(proposal.id))

    @settings(max_examples=60 * SCALE, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.sampled_from(sorted(SECRETS)), st.lists(sendings(surface), min_size=4, max_size=10))
    def fuzz(who: str, wanted: Sequence[Sending]) -> None:
        replenish()
        with logged_lines() as lines:
            for each, answer in send(portal, who, wanted):
                assert not [secret for secret in SECRETS[who] if secret in answer], each
        written = json.dumps(lines)
        assert not [word for word in (MARK, "Acme", "Globex", "measles", "example") if word in written]

    fuzz()


def test_what_is_tried_are_the_fields_that_forms_have(portal: Portal) -> None:
    fields = explore(portal).fields
    assert {"action", "version", "reason"} <= fields["administrators.decide"].keys()
    assert {"email", "password", "next"} <= fields["auth.sign_in"].keys()
    assert {"oldest"} <= fields["administrators.queue"]["sort"]
