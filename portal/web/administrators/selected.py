"""Deciding on several proposals: first a page that lists them, then one with a result for each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flask import abort, render_template, request
from flask.typing import ResponseReturnValue

from portal.errors import AgentMemoryError, DecisionRefused, MemoryNotFound
from portal.models import AgentDefinition, AgentMemory
from portal.values import MAX_ID, Status
from portal.web.addresses import FactLinks, list_url
from portal.web.administrators.blueprint import QUEUE, administrators
from portal.web.administrators.deciding import DONE, REFUSALS, is_mine_already
from portal.web.auth import administrators_only, me
from portal.web.errors import GONE, Words
from portal.web.forms import at_most_one
from portal.web.lookups import get_definition
from portal.web.services import services

ACTIONS = ("confirm", "reject")

# As many as stand on a page.
MOST = 50

_SELECTED = re.compile(r"([1-9][0-9]{0,18}):([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True)
class Selected:
    """A proposal that was ticked, as it stands now."""

    memory_id: int
    version: int
    memory: AgentMemory | None
    """None where it is gone."""

    @property
    def value(self) -> str:
        """What the form sends for it."""
        return f"{self.memory_id}:{self.version}"

    @property
    def is_unchanged(self) -> bool:
        """Whether it is still what was ticked."""
        memory = self.memory
        return memory is not None and (memory.status, memory.version) == (Status.PROPOSED, self.version)


@dataclass(frozen=True)
class Result:
    """What became of one of them."""

    memory: AgentMemory | None
    words: Words
    is_done: bool


@administrators.post("/<definition:definition>/decide-selected")
@administrators_only
def decide_selected(definition: str) -> ResponseReturnValue:
    found = get_definition(definition)
    action, step, selected = at_most_one("action"), at_most_one("step"), read_selected()
    if action not in ACTIONS or step not in {None, "do"} or not selected:
        abort(400)
    items = [find_selected(memory_id, version, definition) for memory_id, version in selected]
    if step is None:
        return show_selected("administrators/selected.html", found, action, items=items)
    results = [decide_one(item, action) for item in items]
    return show_selected("administrators/results.html", found, action, results=results)


def read_selected() -> Sequence[tuple[int, int]]:
    """Return the ids and versions that were sent, or refuse with 400 where one is nonsense."""
    matches = [_SELECTED.fullmatch(value) for value in request.form.getlist("selected")]
    pairs = [(int(match[1]), int(match[2])) for match in matches if match]
    ids = {memory_id for memory_id, _ in pairs}
    if len(ids) < len(matches) or len(pairs) > MOST or any(memory_id > MAX_ID for memory_id in ids):
        abort(400)
    return pairs


def find_selected(memory_id: int, version: int, definition: str) -> Selected:
    """Return what was ticked; anything that is no account fact of the definition is gone."""
    memory = services().reports.find_account_fact(memory_id, me().organisation, definition)
    return Selected(memory_id, version, memory)


def decide_one(item: Selected, action: str) -> Result:
    """Decide on one of them. That it is not possible is no reason to leave the others."""
    if item.memory is None:
        return Result(None, GONE, is_done=False)
    try:
        decided = services().manager.decide_account_fact(
            item.memory_id, me().organisation, me(), action, expected_version=item.version
        )
    except (DecisionRefused, MemoryNotFound) as refusal:
        return explain(item.memory, refusal, action)
    return Result(decided, DONE[action], is_done=True)


def explain(seen: AgentMemory, refusal: AgentMemoryError, action: str) -> Result:
    """Say why one of them was not decided; that this person did so before is as good as done."""
    if not isinstance(refusal, DecisionRefused):
        return Result(seen, GONE, is_done=False)
    if is_mine_already(refusal.memory, action):
        return Result(refusal.memory, DONE[action], is_done=True)
    return Result(refusal.memory, REFUSALS[type(refusal)], is_done=False)


def show_selected(template: str, definition: AgentDefinition, action: str, **more: object) -> str:
    return render_template(
        template,
        definition=definition,
        action=action,
        links=FactLinks(definition.name),
        shelf=list_url(QUEUE, definition.name),
        **more,
    )
