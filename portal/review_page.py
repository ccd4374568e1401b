"""Everything that the page of the review queue shows, read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, literal_column

from portal.counts import ReviewCounts, read_review_counts
from portal.models import ACCOUNT_SCOPE, AgentDefinition, AgentMemory, Organisation
from portal.pages import Page
from portal.recall import CONFIRMED, select_memories
from portal.review_queue import Fact, QueueQuestion, ReviewEntry, read_shown_queue
from portal.scopes import find_definition, find_definition_id, id_of
from portal.transactions import DriverTransaction, Work, fetch_in

if TYPE_CHECKING:
    from portal.database import Database


@dataclass(frozen=True)
class ReviewPage:
    """A page of the review queue with all that stands beside it, of one moment."""

    definition: AgentDefinition
    entries: Page[ReviewEntry[Fact]]
    counts: ReviewCounts
    confirmed_keys: Sequence[str]
    """The keys of the definition's confirmed facts, in their order."""


class ReviewPageCalls:
    """The calls behind the page of the review queue."""

    _database: Database

    def find_review_page(self, admin_org: Organisation, asked: QueueQuestion) -> ReviewPage | None:
        """Return a page of the review queue, or None where there is no such definition."""
        organisation_id = id_of(admin_org, Organisation)

        def find(work: DriverTransaction) -> ReviewPage | None:
            definition = find_definition(work, organisation_id=organisation_id, name=asked.definition)
            if definition is None:
                return None
            return ReviewPage(
                definition=definition,
                entries=read_shown_queue(work, organisation_id, definition.id, asked),
                counts=read_review_counts(work, organisation_id, definition.id),
                confirmed_keys=read_confirmed_keys(work, organisation_id, definition.id),
            )

        return self._database.read_on_driver(find)

    def find_review_counts(self, admin_org: Organisation, agent_def_name: str) -> ReviewCounts:
        """Return what is told beside the queue of a definition; nothing where there is none of that name."""
        organisation_id = id_of(admin_org, Organisation)

        def find(work: DriverTransaction) -> ReviewCounts:
            definition_id = find_definition_id(work, organisation_id=organisation_id, name=agent_def_name)
            if definition_id is None:
                return ReviewCounts()
            return read_review_counts(work, organisation_id, definition_id)

        return self._database.read_on_driver(find)

    def find_confirmed_keys(self, admin_org: Organisation, agent_def_name: str) -> Sequence[str]:
        """Return the keys of a definition's confirmed facts, in their order."""
        organisation_id = id_of(admin_org, Organisation)

        def find(work: DriverTransaction) -> Sequence[str]:
            definition_id = find_definition_id(work, organisation_id=organisation_id, name=agent_def_name)
            return read_confirmed_keys(work, organisation_id, definition_id or 0)

        return self._database.read_on_driver(find)


def read_confirmed_keys(work: Work, organisation_id: int, definition_id: int) -> Sequence[str]:
    """Return the keys of a definition's confirmed facts, in their order."""
    place: dict[str, Any] = {"organisation_id": organisation_id, "definition_id": definition_id}
    return [key for (key,) in fetch_in(work, CONFIRMED_KEYS, place)]


CONFIRMED_KEYS = (
    select_memories(AgentMemory.memory_key, organisation_id=bindparam("organisation_id"), statuses=CONFIRMED)
    .where(
        AgentMemory.definition_id == bindparam("definition_id"),
        AgentMemory.scope_id == literal_column(str(ACCOUNT_SCOPE)),
    )
    .order_by(AgentMemory.memory_key)
)
