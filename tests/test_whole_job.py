"""The whole job, from outside: a server, an agent runtime, and people whose browsers run no JavaScript.

Nothing here reaches into the portal. The runtime imports the manager in a process of its own; people read
pages, and send the forms that stand on them with whatever is in them; at the end the manager reads the
database back.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import pytest

from portal.manager import AgentMemoryManager
from portal.models import AgentMemory, Profile
from portal.values import Status
from tests.databases import opened
from tests.factories import PASSWORD, Personas, create_personas
from tests.invariants import assert_invariants
from tests.web.pages import Element, Form, Page

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(sys.executable).parent
STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 30

RUNTIME = """
import json, sys
from portal.manager import AgentMemoryManager

manager = AgentMemoryManager.from_url(sys.argv[1])
for line in sys.stdin:
    call, agent_id, arguments = json.loads(line)
    print(getattr(manager, call)(manager.get_agent(agent_id), *arguments), flush=True)
manager.dispose()
print(sorted({"flask", "jinja2", "werkzeug"} & sys.modules.keys()))
"""


class Runtime:
    """A process that runs agents: it knows the database and the manager, and no pages."""

    def __init__(self, url: str, personas: Personas) -> None:
        self._personas = personas
        command = [sys.executable, "-W", "error", "-c", RUNTIME, url]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, owner: Profile, call: str, *arguments: str) -> dict[str, Any]:
        """Let somebody's agent make a call, and return what it is told."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(
            json.dumps([call, self._personas.agent(owner).id, arguments]),
            file=self._process.stdin,
            flush=True,
        )
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def recalls(self, owner: Profile) -> tuple[dict[str, str], dict[str, str]]:
        """Return what somebody's agent has: its own memories and the account facts, contents by key."""
        listed = self.call(owner, "list")
        own, facts = listed["memories"], listed["account_facts"]
        return {each["key"]: each["content"] for each in own}, {
            each["key"]: each["content"] for each in facts
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        """End the process, which says last what it has loaded of the web."""
        loaded, _ = self._process.communicate(timeout=STOPS_WITHIN_S)
        assert (self._process.returncode, loaded) == (0, "[]\n")


class Person:
    """Somebody with a browser that runs no JavaScript."""

    def __init__(self, address: str) -> None:
        self.browser = httpx.Client(base_url=address, timeout=30)
        self.page = Page("<p>nothing yet</p>")

    def open(self, path: str) -> httpx.Response:
        """Go to an address, and wherever that leads."""
        return self._show(self.browser.get(path, follow_redirects=True))

    def _show(self, answer: httpx.Response) -> httpx.Response:
        self.page = Page(answer.text)
        return answer

    def submit(self, path: str, press: tuple[str, str] | None = None, **typed: str) -> httpx.Response:
        """Fill in the form on the page that goes to `path` and has this button, press it, and follow.

        What the page put into the form is sent as it is.
        """
        [form] = [form for form in self.page.forms if _goes_to(form, path) and press in form.buttons.values()]
        assert typed.keys() <= form.fields.keys()
        fields = {**form.fields, **typed, **dict([press] if press else [])}
        # A browser says where a form came from.
        headers = {"Origin": str(self.browser.base_url).rstrip("/"), "Sec-Fetch-Site": "same-origin"}
        return self._show(self.browser.post(form.action, data=fields, headers=headers, follow_redirects=True))

    def sign_in(self, profile: Profile) -> httpx.Response:
        """Open the portal, as one does, and sign in where it asks for that."""
        assert self.open("/").url.path == "/sign-in"
        return self.submit("/sign-in", email=profile.email, password=PASSWORD)

    def entry(self, key: str) -> Element:
        """Return the part of the page that shows the memory with a key."""
        [found] = [entry for entry in self.page.entries if key in _keys(entry)]
        return found

    @property
    def keys(self) -> list[str]:
        return sorted(self.page.keys)

    def link(self, key: str, pattern: str) -> str:
        """Return the address of a link in the entry of a key, whose path is of a form."""
        links = [part.attributes["href"] for part in self.entry(key).walk() if part.tag == "a"]
        [found] = {link for link in links if re.fullmatch(pattern, urlsplit(link).path)}
        return found


def _goes_to(form: Form, path: str) -> bool:
    return urlsplit(form.action).path == path


def _keys(entry: Element) -> list[str]:
    return [part.words for part in entry.walk() if part.has_class("key")]


@dataclass(frozen=True)
class Installation:
    """A portal that is served, a runtime beside it, and the people who use both."""

    url: str
    address: str
    personas: Personas
    runtime: Runtime

    @contextmanager
    def browser(self, profile: Profile | None = None) -> Iterator[Person]:
        person = Person(self.address)
        with person.browser:
            if profile is not None:
                assert person.sign_in(profile).status_code == 200
            yield person


def environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    return kept | {
        "PORTAL_DATABASE_URL": url,
        "PORTAL_SECRET_KEY": "not-a-secret-but-long-enough-for-one-4711",
        "PORTAL_PUBLIC_URL": "http://127.0.0.1:8000",
    }


@contextmanager
def served(url: str, log: Path) -> Iterator[str]:
    """Serve the portal with two workers, and give the address. It has to end by itself when it is told to."""
    options = ["--workers", "2", "--bind", "127.0.0.1:0", "--no-control-socket"]
    command = [sys.executable, "-m", "gunicorn", *options, "wsgi:app"]
    with (
        log.open("w") as errors,
        subprocess.Popen(command, cwd=ROOT, env=environment(url), stderr=errors) as server,
    ):
        try:
            yield address_in(log, server)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(STOPS_WITHIN_S)
    said = log.read_text()
    assert server.returncode == 0, said
    assert "Traceback" not in said, said
    # Whoever reads the log could use a link that is in it.
    assert "/welcome/" not in said


def address_in(log: Path, server: subprocess.Popen[bytes]) -> str:
    """Wait until a server has said where it listens."""
    give_up_at = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < give_up_at and server.poll() is None:
        if found := re.search(r"Listening at: (http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.05)
    pytest.fail(log.read_text())


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    subprocess.run([PROGRAMS / "portal", "upgrade"], env=environment(database_url), check=True, cwd="/")
    with opened(database_url) as database:
        personas = create_personas(database, password=PASSWORD)
        with (
            Runtime(database_url, personas) as runtime,
            served(database_url, tmp_path / "log") as address,
        ):
            yield Installation(database_url, address, personas, runtime)
        assert_invariants(database)


FACT = r"/admin/support/facts/\d+"
MEMORY = r"/me/support/memories/\d+"
WELCOME = r"http://127\.0\.0\.1:8000(/welcome/[A-Za-z0-9_-]{43})"

CONFIRM, REJECT, DELETE = (("action", action) for action in ("confirm", "reject", "delete"))


def test_what_one_agent_learns_and_an_administrator_confirms_everybodys_agent_knows(
    installation: Installation,
) -> None:
    agents_learn(installation)
    root_reviews(installation)
    agents_know_what_was_decided(installation)
    ada_looks_after_her_own(installation)
    nobody_else_gets_in(installation)
    only_what_was_on_the_screen_is_confirmed(installation)
    root_takes_a_confirmed_fact_back(installation)
    root_lets_somebody_in_and_keeps_them_out(installation)
    expect_the_same_in_the_database(installation)


def agents_learn(here: Installation) -> None:
    ada, bob, runtime = here.personas.ada, here.personas.bob, here.runtime
    for owner, call, key, content in (
        (ada, "remember", "Preferred Language", "Answers in German, <b>please</b> 🇩🇪"),
        (ada, "remember", "allergies", "Peanuts"),
        (ada, "propose_account_fact", "billing contact", "Invoices go to Ms Åkesson"),
        (ada, "propose_account_fact", "office dog", "Is called Rex"),
        (bob, "propose_account_fact", "wifi", "The password is on the fridge"),
    ):
        assert runtime.call(owner, call, key, content)["outcome"] == "created"
    # Until somebody confirms it, what Ada's agent proposed is hers alone.
    assert runtime.recalls(bob) == ({"wifi": "The password is on the fridge"}, {})


def root_reviews(here: Installation) -> None:
    with here.browser(here.personas.root) as root:
        assert root.open("/").url.path == "/admin/"
        root.open("/admin/support/")
        # Only what was proposed is there, and not what Ada's agent keeps for her.
        assert root.keys == ["billing_contact", "office_dog", "wifi"]
        assert "Invoices go to Ms Åkesson" in root.entry("billing_contact").text
        address = root.link("billing_contact", FACT)
        assert root.submit(f"{address}/decide", CONFIRM).status_code == 200
        assert root.keys == ["office_dog", "wifi"]
        address = root.link("office_dog", FACT)
        assert root.submit(f"{address}/decide", REJECT, reason="Not about the account").status_code == 200
        assert root.keys == ["wifi"]
        address = root.link("wifi", FACT)
        root.open(root.link("wifi", f"{FACT}/delete"))
        assert root.submit(f"{address}/decide", DELETE).status_code == 200
        assert root.keys == []
        for shelf, keys in (("confirmed", ["billing_contact"]), ("rejected", ["office_dog"])):
            root.open(f"/admin/support/{shelf}")
            assert root.keys == keys


def agents_know_what_was_decided(here: Installation) -> None:
    ada, bob, runtime = here.personas.ada, here.personas.bob, here.runtime
    facts = {"billing_contact": "Invoices go to Ms Åkesson"}
    assert runtime.recalls(bob) == ({}, facts)
    own = {"allergies": "Peanuts", "preferred_language": "Answers in German, <b>please</b> 🇩🇪"}
    assert runtime.recalls(ada) == (own, facts)
    again = runtime.call(ada, "propose_account_fact", "Office-Dog", "Is called Max")
    assert (again["error"], again["reason"]) == ("already_rejected", "Not about the account")
    assert (
        runtime.call(bob, "propose_account_fact", "Office-Dog", "Is called Max").keys().isdisjoint({"reason"})
    )


def ada_looks_after_her_own(here: Installation) -> None:
    with here.browser(here.personas.ada) as ada:
        assert ada.open("/").url.path == "/me/"
        ada.open("/me/support/")
        assert {"allergies", "preferred_language", "office_dog"} <= set(ada.keys)
        shown = ada.page.root.text
        assert "Answers in German, <b>please</b> 🇩🇪" in shown
        assert "Not about the account" in shown
        assert "Invoices go to Ms Åkesson" in shown
        delete = ada.link("allergies", f"{MEMORY}/delete")
        ada.open(delete)
        assert "Peanuts" in ada.page.root.text
        assert ada.submit(delete).url.path == "/me/support/"
        assert "allergies" not in ada.keys
        assert ada.open(delete).status_code == 404
    own, _ = here.runtime.recalls(here.personas.ada)
    assert own.keys() == {"preferred_language"}


def nobody_else_gets_in(here: Installation) -> None:
    confirmed = _find(here, "billing_contact")
    own = _find(here, "preferred_language")
    review = [
        "/admin/",
        "/admin/support/",
        "/admin/support/confirmed",
        "/admin/support/rejected",
        f"/admin/support/facts/{confirmed.id}",
        f"/admin/support/facts/{confirmed.id}/delete",
    ]
    with here.browser(here.personas.bob) as bob:
        assert {path: bob.open(path).status_code for path in review} == dict.fromkeys(review, 404)
        assert bob.open(f"/me/support/memories/{own.id}/delete").status_code == 404
    with here.browser(here.personas.eve) as eve:
        # She administers too, but somewhere else.
        assert [eve.open(path).status_code for path in review] == [200, 200, 200, 200, 404, 404]
        eve.open("/admin/support/confirmed")
        assert eve.keys == []
    with here.browser(here.personas.root) as root:
        # What Ada's agent keeps for her is no administrator's.
        assert root.open(f"/admin/support/facts/{own.id}").status_code == 404
    with here.browser() as anonymous:
        assert {anonymous.open(path).url.path for path in review} == {"/sign-in"}


def only_what_was_on_the_screen_is_confirmed(here: Installation) -> None:
    bob, runtime = here.personas.bob, here.runtime
    runtime.call(bob, "propose_account_fact", "opening hours", "Nine to five")
    with here.browser(here.personas.root) as root:
        root.open("/admin/support/")
        address = root.link("opening_hours", FACT)
        runtime.call(bob, "propose_account_fact", "opening hours", "Ten to four")
        assert root.submit(f"{address}/decide", CONFIRM).status_code == 409
        shown = root.page.root.text
        assert "Ten to four" in shown
        assert runtime.recalls(here.personas.ada)[1].keys() == {"billing_contact"}
        # The page that says so has a fresh form, with the new words beside it.
        assert root.submit(f"{address}/decide", CONFIRM).status_code == 200
    assert runtime.recalls(here.personas.ada)[1]["opening_hours"] == "Ten to four"


def root_takes_a_confirmed_fact_back(here: Installation) -> None:
    with here.browser(here.personas.root) as root:
        root.open("/admin/support/confirmed")
        address = root.link("billing_contact", f"{FACT}/delete")
        root.open(address)
        assert root.submit(address, DELETE).status_code == 200
        root.open("/admin/support/confirmed")
        assert root.keys == ["opening_hours"]
        copied = dict(root.browser.cookies)
        root.submit("/sign-out")
        # Whoever copied the cookie is signed out with it.
        with httpx.Client(base_url=here.address, cookies=copied) as thief:
            assert thief.get("/admin/").headers["Location"].startswith("/sign-in")
    assert here.runtime.recalls(here.personas.bob)[1].keys() == {"opening_hours"}


def root_lets_somebody_in_and_keeps_them_out(here: Installation) -> None:
    email, password = "zoe@acme.example", "a password of Zoë's own"
    with here.browser(here.personas.root) as root, here.browser() as zoe:
        root.open("/admin/people/invite")
        root.submit("/admin/people/invite", email=email, name="Zoë")
        found = re.fullmatch(WELCOME, root.page.find("input", name="link").attributes["value"])
        assert found is not None
        welcome = found[1]
        assert zoe.open(welcome).status_code == 200
        assert zoe.submit(welcome, password=password, again=password).url.path == "/sign-in"
        zoe.submit("/sign-in", email=email, password=password)
        assert "Zoë · Acme" in zoe.page.root.words
        assert zoe.open(welcome).status_code == 404
        root.open("/admin/people/?q=zoe")
        person = root.page.link("Zoë")
        root.open(f"{person}/deactivate")
        assert root.submit(f"{person}/deactivate").url.path == person
        assert zoe.open("/me/").url.path == "/sign-in"


def expect_the_same_in_the_database(here: Installation) -> None:
    rows = {
        (row.memory_key, row.status): (row.content, row.stated_by_id, row.decided_by_id, row.decision_reason)
        for row in _all(here)
    }
    ada, bob, root = here.personas.ada.id, here.personas.bob.id, here.personas.root.id
    assert rows == {
        ("preferred_language", Status.PERSONAL): ("Answers in German, <b>please</b> 🇩🇪", ada, None, ""),
        ("office_dog", Status.REJECTED): ("Is called Rex", ada, root, "Not about the account"),
        ("opening_hours", Status.CONFIRMED): ("Ten to four", bob, root, ""),
    }


def _all(here: Installation) -> list[AgentMemory]:
    """Return everything that the manager finds in Acme, read from the database by itself."""
    acme = here.personas.acme
    with opened(here.url) as database:
        manager = AgentMemoryManager(database)
        return [
            *manager.find_own_memories(acme, here.personas.ada, "support"),
            *manager.find_own_memories(acme, here.personas.bob, "support"),
            *manager.find_proposed_account_facts(acme, "support"),
            *manager.find_confirmed_account_facts(acme, "support"),
        ]


def _find(here: Installation, key: str) -> AgentMemory:
    [found] = [memory for memory in _all(here) if memory.memory_key == key]
    return found
