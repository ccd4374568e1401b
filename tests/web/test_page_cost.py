"""What a page of fifty full entries costs: whoever reviews waits for it many times a day."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest
from flask import Flask

from portal.web.services import EXTENSION
from tests.statements import statements
from tests.web.visitors import Portal, Visitor

FULL = ("word " * 400)[:2_000]
MOST_BYTES = 200_000

# docs/benchmarks.md says what it is made of.
MOST_TIMES_A_BARE_ANSWER = 20
ROUNDS, PAGES_A_ROUND = 6, 10

# Who is signed in, which definition, its page of the queue, the counts beside it, and the keys in use.
STATEMENTS = ["sign_in_session", "agent_definition", "heads", "count(*)", "memory_key"]


@pytest.fixture
def root(portal: Portal) -> Visitor:
    """An administrator of fifty proposals as long as they can be."""
    directory, acme = portal.personas.directory, portal.personas.acme
    directory.define_agent(acme, name="support", memory_characters=200_000, proposal_limit=60)
    agent = portal.personas.agent(portal.personas.ada)
    for number in range(50):
        portal.manager.propose_account_fact(agent, f"fact_number_{number}", FULL)
        portal.clock.advance(seconds=1)
    return portal.visitor(portal.personas.root)


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long something takes this thread, whatever else the machine does meanwhile."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def ratio_in_turns(work: Callable[[], object], measure: Callable[[], object]) -> float:
    """Return how many times as long one thing typically takes as another, done in turns.

    Of other work on the machine, in the caches too, both have the same share then.
    """
    pairs = [(seconds_of(work), seconds_of(measure)) for _ in range(PAGES_A_ROUND)]
    works, measures = zip(*pairs, strict=True)
    return float(statistics.median(works) / statistics.median(measures))


def bare_app() -> Flask:
    app = Flask("bare")
    app.add_url_rule("/", view_func=lambda: "ok")
    return app


def test_fifty_full_entries_are_under_200_kb(root: Visitor) -> None:
    answer = root.get("/admin/support/")
    assert answer.text.count('class="card entry"') == 50
    assert len(answer.data) < MOST_BYTES


def test_fifty_full_entries_take_not_many_times_a_bare_answer(
    root: Visitor, record_property: Callable[[str, object], None]
) -> None:
    bare = bare_app().test_client()
    ratios = [
        ratio_in_turns(lambda: root.get("/admin/support/"), lambda: bare.get("/")) for _ in range(ROUNDS)
    ]
    record_property("times a bare answer", round(min(ratios), 1))
    assert min(ratios) < MOST_TIMES_A_BARE_ANSWER


def test_the_page_asks_the_database_five_things(portal: Portal, root: Visitor) -> None:
    with statements(portal.app.extensions[EXTENSION].database) as seen:
        root.get("/admin/support/")
    asked = [statement for statement in seen if statement.startswith(("SELECT", "WITH"))]
    assert len(asked) == len(STATEMENTS)
    assert all(word in statement for word, statement in zip(STATEMENTS, asked, strict=True))
    others = [statement for statement in seen if statement not in asked]
    # A connection that wrote last is told once how long a read may wait.
    assert [other for other in others if not other.startswith("PRAGMA busy_timeout")] == [
        "BEGIN DEFERRED",
        "COMMIT",
    ]
