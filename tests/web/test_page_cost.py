"""What a page of fifty full entries costs: whoever reviews waits for it many times a day."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest
from flask import Flask

from tests.web.visitors import Portal, Visitor

FULL = ("word " * 400)[:2_000]
MOST_BYTES = 200_000

# The goal is 20. This bound only keeps a page from becoming many times slower unseen.
MOST_TIMES_A_BARE_ANSWER = 400


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


def seconds_for(work: Callable[[], object]) -> float:
    """Return how long something takes at its typical best."""
    times = []
    for _ in range(15):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


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
    ratio = seconds_for(lambda: root.get("/admin/support/")) / seconds_for(lambda: bare.get("/"))
    record_property("times a bare answer", round(ratio, 1))
    assert ratio < MOST_TIMES_A_BARE_ANSWER
