"""Every answer that the calls can give, made by real calls, and the page that shows them.

``python -m tests.answers_page`` writes the page anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.answer_schemas import FORGET_ERRORS, LIST_ERRORS, STORE_ERRORS, TOOL_ERRORS
from portal.manager import AgentMemoryManager
from portal.tools import call
from tests.databases import opened
from tests.factories import Clock, create_personas
from tests.manager.world import World

PAGE = Path(__file__).parent.parent / "docs" / "agents" / "answers.md"

OUTCOMES = {"created", "replaced", "unchanged", "forgotten"}
ERRORS = {*STORE_ERRORS, *FORGET_ERRORS, *LIST_ERRORS, *TOOL_ERRORS}

INTRODUCTION = """\
# Every answer of the calls

Each call answers with JSON text, also when it refuses. This page is made by real calls of Ada's agent, in
this order; a test makes it again and compares. The tools for models have the same names and answers as the
manager's methods, except that `list` is called `list_memories` there.

A success has `"ok": true`. Where something else happened too, `note` says so in one sentence. A refusal has
`"ok": false`, a code in `error`, and a `message` that tells a model what it can do now; nothing was written.
`key` is the canonical form of the key, and `null` where there is none.
"""

CALLS = {
    "remember": "`remember(agent, memory_key, content)`",
    "propose_account_fact": "`propose_account_fact(agent, memory_key, content)`",
    "forget": "`forget(agent, memory_key)`",
    "list_memories": "`list(agent)`",
    "": "Only from the tools",
}


@dataclass(frozen=True)
class Shown:
    """An answer, with what had happened before."""

    tool: str
    title: str
    answer: str

    @property
    def data(self) -> Any:
        return json.loads(self.answer)

    @property
    def code(self) -> str:
        """What sums the answer up: its error or its outcome; of a list, that it is one."""
        data = self.data
        return str(data["outcome"] if "outcome" in data else data.get("error", "list"))


class Script:
    """The calls behind the page. Ada's agent asks, unless something else is said."""

    def __init__(self, world: World) -> None:
        self.world = world

    def ask(
        self, tool: str, title: str, /, *, who: str = "ada", definition: str = "support", **arguments: str
    ) -> Shown:
        """Make a call and show its answer."""
        self.world.clock.advance(seconds=1)
        agent = self.world.agent(who, definition)
        return Shown(tool, title, call(self.world.manager, agent, tool, arguments))

    def remember(self) -> Iterator[Shown]:
        world, ask = self.world, self.ask
        german = {"memory_key": "Preferred Language", "content": "Answers in German"}
        austrian = german | {"content": "Answers in Austrian German"}
        yield ask("remember", "A new key", **german)
        yield ask("remember", "Another text under the key", **austrian)
        yield ask("remember", "The same text again", **austrian)
        world.propose("ada", "travel_class", "Everybody flies economy")
        yield ask(
            "remember",
            "The key was a proposal of hers",
            memory_key="travel_class",
            content="Likes to fly economy",
        )
        world.confirmed("bob", "travel_class", "Everybody flies economy")
        yield ask(
            "remember",
            "The key has been confirmed since",
            memory_key="travel_class",
            content="Likes to fly business",
        )
        world.propose("ada", "visa", "Nobody needs a visa")
        world.confirmed("bob", "visa", "Visas are paid for")
        yield ask(
            "remember",
            "The key was a proposal of hers, and somebody else's has been confirmed since",
            memory_key="visa",
            content="Needs no visa",
        )
        world.forget("ada", "visa")
        world.confirmed("bob", "cost_centre", "Invoices go to 4711")
        yield ask(
            "remember", "The key is confirmed, and not held", memory_key="cost_centre", content="Has 0815"
        )
        yield ask("remember", "No key", memory_key="../x", content="Answers in German")
        yield ask(
            "remember", "A text with a character that is not stored", memory_key="language", content="a\0b"
        )
        yield ask("remember", "A text that is too long", memory_key="language", content="x" * 2001)
        yield ask("remember", "A text with too many lines", memory_key="language", content="x\n" * 40)
        world.set_limits(memory_limit=2)
        yield ask(
            "remember", "There are as many memories as there may be", memory_key="seat", content="Window"
        )
        world.set_limits(memory_limit=100, memory_characters=50)
        yield ask("remember", "There is no room for the text", memory_key="seat", content="By the window")
        world.set_limits(memory_characters=20_000)

    def propose(self) -> Iterator[Shown]:
        world, ask = self.world, self.ask
        tool = "propose_account_fact"
        hours = {"memory_key": "office_hours", "content": "Nine to five"}
        reworded = hours | {"content": "Nine to five, Fridays to three"}
        yield ask(tool, "A new key", **hours)
        yield ask(tool, "Another text under the key", **reworded)
        yield ask(tool, "The same text again", **reworded)
        world.remember("ada", "closing_day", "The office is closed on Mondays")
        yield ask(
            tool,
            "The key was a memory of hers",
            memory_key="closing_day",
            content="The office is closed on Mondays",
        )
        yield ask(tool, "The key is confirmed", memory_key="cost_centre", content="Invoices go to 0815")
        world.rejected("ada", "parking", "Parking is free", reason="Only for visitors")
        yield ask(
            tool, "The key was rejected, and she had stated it", memory_key="parking", content="Park anywhere"
        )
        world.rejected("bob", "dress_code", "Ties are worn", reason="Not since 2019")
        yield ask(
            tool,
            "The key was rejected, and somebody else had stated it",
            memory_key="dress_code",
            content="No ties",
        )
        yield ask(tool, "No key", memory_key="?", content="Nine to five")
        yield ask(tool, "No text", memory_key="office_hours", content=" ")
        yield ask(tool, "A text that is too long", memory_key="office_hours", content="x" * 2001)
        world.set_limits(memory_limit=4)
        yield ask(
            tool, "There are as many memories as there may be", memory_key="canteen", content="Opens at noon"
        )
        world.set_limits(memory_limit=100, proposal_limit=2)
        yield ask(tool, "As many proposals wait as there may", memory_key="canteen", content="Opens at noon")
        world.set_limits(proposal_limit=20)

    def forget(self) -> Iterator[Shown]:
        ask = self.ask
        yield ask("forget", "The key is held", memory_key="preferred-language")
        yield ask("forget", "The key is held, and confirmed too", memory_key="travel_class")
        yield ask("forget", "The key is confirmed, and not held", memory_key="cost_centre")
        yield ask("forget", "There is nothing under the key", memory_key="favourite_colour")
        yield ask("forget", "No key", memory_key="")

    def list(self) -> Iterator[Shown]:
        world, ask = self.world, self.ask
        yield ask("list_memories", "Memories, a proposal and account facts")
        yield ask("list_memories", "Nothing is held, and nothing is confirmed", definition="travel")
        world.personas.directory.deactivate(world.person("ada"))
        yield ask("list_memories", "Her profile is not active any more")
        yield ask("remember", "Her profile is not active any more", memory_key="seat", content="Window")
        yield ask(
            "propose_account_fact", "Her profile is not active any more", memory_key="seat", content="Window"
        )
        yield ask("forget", "Her profile is not active any more", memory_key="seat")
        world.personas.directory.activate(world.person("ada"))

    def tools(self) -> Iterator[Shown]:
        for title, tool, arguments in (
            ("There is no such tool", "delete_memory", "{}"),
            ("An argument is missing, or one too many, or no text, or the JSON is broken", "remember", "{"),
            ("The tool takes no arguments", "list_memories", '{"owner": "bob@acme.example"}'),
        ):
            yield Shown("", title, call(self.world.manager, self.world.agent("ada"), tool, arguments))


def all_answers(world: World) -> Sequence[Shown]:
    """Make the calls in an empty world, and return what they answered."""
    script = Script(world)
    parts = (script.remember, script.propose, script.forget, script.list, script.tools)
    return [shown for part in parts for shown in part()]


def page(answers: Sequence[Shown]) -> str:
    """Return the page, in Markdown."""
    sections = [
        f"## {heading}\n\n" + "\n".join(_entry(shown) for shown in answers if shown.tool == tool)
        for tool, heading in CALLS.items()
    ]
    return "\n".join([INTRODUCTION, *sections])


def _entry(shown: Shown) -> str:
    return f"**{shown.title}** (`{shown.code}`)\n\n```json\n{_in_lines(shown.data)}\n```\n"


def _in_lines(answer: dict[str, Any]) -> str:
    """Return an answer with a line for each of its parts."""
    parts = [f'  "{name}": {json.dumps(part, ensure_ascii=False)}' for name, part in answer.items()]
    return "{\n" + ",\n".join(parts) + "\n}"


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as folder, opened(f"sqlite:///{folder}/portal.db") as database:
        database.upgrade()
        clock = Clock()
        personas = create_personas(database, clock=clock)
        world = World(database, AgentMemoryManager(database, clock=clock), personas, clock)
        PAGE.write_text(page(all_answers(world)), encoding="utf-8")


if __name__ == "__main__":
    main()
