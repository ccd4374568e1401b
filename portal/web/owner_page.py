"""What the page about one of a person's agents is made of, and each part of it that is drawn anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from flask import render_template, request

from portal.counts import Count
from portal.models import AgentMemory
from portal.recall import HELD
from portal.values import Status
from portal.web.addresses import list_url, pager_links, row_link
from portal.web.auth import me
from portal.web.lookups import get_definition
from portal.web.services import services

FACTS_A_PAGE = 50

LIST = "owners.memories"

# In the order of the page. It can be narrowed to one of them; "" is everything.
ORDER = (Status.PERSONAL, Status.PROPOSED, Status.REJECTED, Status.CONFIRMED)
SECTIONS = ("", *ORDER)

Effect = Literal["add", "replace", "nothing"]


@dataclass(frozen=True)
class Section:
    """A part of the page: the memories with one status that it shows, and how many there are."""

    memories: Sequence[AgentMemory]
    count: Count
    after: str | None = None
    """Where the next page of it begins; only account facts have pages."""


def show(template: str, definition: str, **more: object) -> str:
    """Return the page about one agent, or a part of it: both are made of the same numbers."""
    found, own = get_definition(definition), find_own(definition)
    sections = find_sections(definition, own)
    return render_template(
        template,
        definition=found,
        usage=services().reports.find_usage(me(), definition),
        sections=sections,
        effects=find_effects(own),
        delete_link=row_link("owners.delete", definition),
        keep_link=row_link("owners.keep", definition),
        back=list_url(LIST, definition),
        **narrow(definition, sections),
        **pager_links(LIST, definition, sections[Status.CONFIRMED].after, status=Status.CONFIRMED),
        **more,
    )


def find_own(definition: str, search: str = "") -> Sequence[AgentMemory]:
    """Return all of the person's own rows: what is held is bounded, and rejections take somebody's time."""
    return services().manager.find_own_memories(me().organisation, me(), definition, search=search)


def find_sections(definition: str, own: Sequence[AgentMemory]) -> Mapping[Status, Section]:
    """Return what the search finds in each section."""
    search = request.args.get("q", "")
    matching = find_own(definition, search) if search else own
    groups = {each: [memory for memory in matching if memory.status == each] for each in ORDER}
    facts = services().manager.find_confirmed_account_facts(
        me().organisation, definition, search=search, limit=FACTS_A_PAGE, after=request.args.get("after")
    )
    return {each: Section(group, Count(len(group))) for each, group in groups.items()} | {
        Status.CONFIRMED: Section(facts, Count(facts.total, is_capped=facts.total_is_capped), facts.after)
    }


def find_effects(own: Sequence[AgentMemory]) -> Mapping[int, Effect]:
    """Return for each fact that was turned down what "Keep it" would do to what the agent holds."""
    held = {memory.memory_key: memory for memory in own if memory.status in HELD}
    return {
        memory.id: effect_of_keeping(memory, held.get(memory.memory_key))
        for memory in own
        if memory.status == Status.REJECTED
    }


def effect_of_keeping(rejected: AgentMemory, held: AgentMemory | None) -> Effect:
    if held is None:
        return "add"
    return "nothing" if (held.content, held.status) == (rejected.content, Status.PERSONAL) else "replace"


def narrow(definition: str, sections: Mapping[Status, Section]) -> Mapping[str, Any]:
    """Return what the query narrows the page to: a section, and of a search the sections that match."""
    search, status = request.args.get("q", ""), request.args.get("status", "")
    shown = status if status in SECTIONS else ""
    asked = [each for each in ORDER if shown in ("", each)]
    return {
        "search": search,
        "shown": shown,
        "visible": [each for each in asked if sections[each].memories or not search],
        "section_links": {each: list_url(LIST, definition, status=each, after=None) for each in SECTIONS},
    }
