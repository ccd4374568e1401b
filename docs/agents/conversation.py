"""The conversation that every program here holds, and a model whose moves are written down.

The people, the agents, the memory and the administrator's decision are real. Only the language model is
not: `think` stands for it, so that everything runs offline and does the same each time. Put a real model in
its place and the programs work as they are.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from portal.database import Database
from portal.directory import Directory
from portal.manager import AgentMemoryManager
from portal.models import Agent

INSTRUCTIONS = """\
You are the support agent of Acme. You remember things between conversations with four tools: `remember` what
will matter about this person later, `propose_account_fact` for what is true of the whole company, `forget`
what the person asks you to, `list_memories` to see what there is. Look at "ok" in each answer: if it is
false, nothing was stored; read the message, and tell the person what you did instead."""


@dataclass(frozen=True)
class ToolCall:
    """What a model wants done: a tool's name, and its arguments or what it wrote in place of them."""

    name: str
    arguments: Mapping[str, Any] | str

    @property
    def arguments_as_json(self) -> str:
        """The arguments as models write them."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))

    @property
    def arguments_by_name(self) -> dict[str, Any]:
        """The arguments; for what should have been JSON one that no tool has, so that it is refused."""
        return {"no JSON": self.arguments} if isinstance(self.arguments, str) else dict(self.arguments)


Think = Callable[[str, str, Sequence[str]], ToolCall | str]
"""A model: it reads its prompt, what the person said and the answers of the tools that it called since, and
wants another tool called or says something."""

Turn = Callable[[AgentMemoryManager, Agent, str, Think], str]
"""What each program provides: an agent hears something, and says something in return."""

Moves = Generator[ToolCall, Any, str]


def answer_in_german(_prompt: str) -> Moves:
    yield ToolCall("remember", {"memory_key": "preferred_language", "content": "Answers in German"})
    return "I will answer in German from now on."


def answer_in_austrian_german(_prompt: str) -> Moves:
    # Another spelling of the key that was used first: it is the same key, so the text is replaced.
    correction = {"memory_key": "Preferred Language", "content": "Answers in Austrian German"}
    answer = yield ToolCall("remember", correction)
    return f"Corrected: {answer['memory']['content']}."


def be_in_vienna(_prompt: str) -> Moves:
    yield ToolCall("remember", {"memory_key": "office_this_week", "content": "Works in Vienna this week"})
    return "Enjoy Vienna."


def sit_by_the_window(_prompt: str) -> Moves:
    window = ToolCall("remember", {"memory_key": "seat", "content": "Sits by the window"})
    answer = yield window
    if answer["ok"] or answer["error"] != "limit_reached":
        return "Noted."
    # The message says what to do: forget what matters least.
    yield ToolCall("forget", {"memory_key": "office_this_week"})
    yield window
    return "My memory of you was full. I remember the window now, and not any more where you are this week."


def forget_the_seat(_prompt: str) -> Moves:
    answer = yield ToolCall("forget", {"memory_key": "seat"})
    return f"Forgotten. I remember {answer['usage']['memories']} thing about you."


def book_on_4711(_prompt: str) -> Moves:
    fact = {"memory_key": "cost_centre", "content": "Invoices go to cost centre 4711"}
    yield ToolCall("propose_account_fact", fact)
    return "I have proposed that. Your colleagues' agents will know it once an administrator confirms it."


def book_on_0815(_prompt: str) -> Moves:
    fact = {"memory_key": "cost_centre", "content": "Invoices go to cost centre 0815"}
    answer = yield ToolCall("propose_account_fact", fact)
    if answer["ok"]:
        return "I have proposed that."
    return f"An administrator has confirmed this: {answer['existing']['content']}. Only they can change it."


def say_where_to_book(prompt: str) -> Moves:
    yield from ()  # No tool is needed for what stands in the prompt.
    lines = (json.loads(line) for line in prompt.splitlines() if line.startswith('{"trust":"confirmed"'))
    known = [line["content"] for line in lines if line["key"] == "cost_centre"]
    return f"{known[0]}." if known else "Nobody has told me."


def say_what_is_remembered(_prompt: str) -> Moves:
    answer = yield ToolCall("list_memories", {})
    return " ".join(f"{memory['content']} ({memory['status']})." for memory in answer["memories"])


MOVES: Mapping[str, Callable[[str], Moves]] = {
    "Please answer me in German.": answer_in_german,
    "Austrian German, that is.": answer_in_austrian_german,
    "I work in Vienna this week.": be_in_vienna,
    "I always sit by the window.": sit_by_the_window,
    "Forget where I sit.": forget_the_seat,
    "All our invoices go to cost centre 4711.": book_on_4711,
    "Which cost centre do invoices go to?": say_where_to_book,
    "That is wrong. They go to 0815.": book_on_0815,
    "What do you remember about me?": say_what_is_remembered,
}


def think(prompt: str, said: str, answers: Sequence[str]) -> ToolCall | str:
    """Make the next move of the model."""
    moves = MOVES[said](prompt)
    try:
        move = next(moves)
        for answer in answers:
            move = moves.send(json.loads(answer))
    except StopIteration as end:
        return str(end.value)
    return move


def hold(turn: Turn) -> None:
    """Hold the conversation in the database that the command line names, or in one that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(sys.argv[1] if sys.argv[1:] else f"sqlite:///{folder}/portal.db")
        # For programs that start another one, which has to find the same database.
        os.environ["PORTAL_DATABASE_URL"] = database.url
        try:
            converse(database, turn)
        finally:
            database.dispose()


def converse(database: Database, turn: Turn) -> None:
    """Let Ada and Bob talk to their agents, and an administrator decide in between."""
    database.upgrade()
    manager, directory = AgentMemoryManager(database), Directory(database)
    acme = directory.create_organisation(name="Acme", slug="acme")
    directory.define_agent(acme, name="support", title="Support", memory_limit=2)
    ada = directory.create_profile(acme, email="ada@acme.example", name="Ada")
    bob = directory.create_profile(acme, email="bob@acme.example", name="Bob")
    root = directory.create_profile(acme, email="root@acme.example", name="Root", role="administrator")
    agents = {person.name: directory.agent_for(person, "support") for person in (ada, bob)}

    def hear(name: str, said: str) -> None:
        print(f"{name}: {said}")
        print(f"Agent: {turn(manager, agents[name], said, watched)}")

    hear("Ada", "Please answer me in German.")
    hear("Ada", "Austrian German, that is.")
    hear("Ada", "I work in Vienna this week.")
    hear("Ada", "I always sit by the window.")
    hear("Ada", "Forget where I sit.")
    hear("Ada", "All our invoices go to cost centre 4711.")
    hear("Bob", "Which cost centre do invoices go to?")
    (proposal,) = manager.find_proposed_account_facts(acme, "support")
    # In real life somebody presses a button in the portal.
    manager.decide_account_fact(proposal.id, acme, root, "confirm", expected_version=proposal.version)
    print(f"(Root confirms: {proposal.content})")
    hear("Bob", "Which cost centre do invoices go to?")
    hear("Bob", "That is wrong. They go to 0815.")
    hear("Ada", "What do you remember about me?")


def watched(prompt: str, said: str, answers: Sequence[str]) -> ToolCall | str:
    """Think, and show which tools are called and what they answer."""
    if answers:
        answer = json.loads(answers[-1])
        print(f"    -> {answer.get('error') or answer.get('outcome') or 'a list'}")
    move = think(prompt, said, answers)
    if isinstance(move, ToolCall):
        print(f"    {move.name} {move.arguments_as_json}")
    return move
