"""The review queue: the core's pages of it, and the portal's against an answer that does nothing (P-9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from flask import Flask
from flask.testing import FlaskClient
from portal.manager import AgentMemoryManager
from portal.models import Organisation
from portal.pages import Question
from portal.settings import Settings
from portal.web import create_app
from portal.web.services import EXTENSION
from tests.web.visitors import HERE, Visitor

from bench.results import Table, at_most
from bench.timing import Call, race
from bench.worlds import NOW, PASSWORD, Queue

PAGE_LIMIT = 50
SECRET_KEY = "a secret key for the bench, which protects nothing"  # noqa: S105


def measure_queue(kind: str, queues: Sequence[Queue], *, rounds: int) -> Table:
    """Compare the first page of the queue and one in the middle, in a short and in a long queue."""
    table = Table(f"A page of {PAGE_LIMIT} keys of the review queue on {kind}")
    with ExitStack() as stack:
        calls: dict[str, Call] = {}
        for queue in queues:
            manager = AgentMemoryManager.from_url(queue.url)
            stack.callback(manager.dispose)
            calls[f"{queue.waiting:,} waiting, first page"] = _page(manager, queue, None)
            calls[f"{queue.waiting:,} waiting, in the middle"] = _page(manager, queue, _middle(queue))
        medians = race(f"{kind}: pages of the queue", calls, rounds=rounds, warm_up=3)
    first, *others = calls
    for name in others:
        table.compare("P-9", name, first, medians, at_most(1.25))
    return table


def _page(manager: AgentMemoryManager, queue: Queue, after: str | None) -> Call:
    organisation = Organisation(id=queue.organisation_id)

    def read() -> None:
        page = manager.find_review_queue(organisation, "support", limit=PAGE_LIMIT, after=after)
        assert len(page) == PAGE_LIMIT

    return read


def _middle(queue: Queue) -> str:
    """Return the cursor with which the second half of a queue begins; every microsecond has one proposal."""
    asked = Question("queue", (queue.organisation_id, "support", "", "oldest"), (int, int))
    return asked.cursor((NOW + queue.waiting // 2, 0))


def measure_portal(queue: Queue, *, rounds: int) -> Table:
    """Compare the page that an administrator sees with the shortest answer that Flask can give."""
    app = create_app(Settings(secret_key=SECRET_KEY, database_url=queue.url, public_url=HERE))
    visitor = Visitor(app)
    visitor.sign_in(queue.email, PASSWORD)
    path = "/admin/support/"
    entries = visitor.get(path).text.count('<article class="card entry')
    calls: dict[str, Callable[[], object]] = {
        f"the queue's page, signed in ({entries} full entries)": lambda: visitor.get(path),
        "a bare Flask answer": _bare_client().get,
    }
    medians = race("The portal's page and a bare answer", calls, rounds=rounds, warm_up=3)
    app.extensions[EXTENSION].database.dispose()
    table = Table("The portal's pages in process, on SQLite")
    page, bare = calls
    table.compare("P-9", page, bare, medians, at_most(20))
    return table


def _bare_client() -> FlaskClient:
    app = Flask(__name__)
    app.add_url_rule("/", view_func=lambda: "ok")
    return app.test_client()
