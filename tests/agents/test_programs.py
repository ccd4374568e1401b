"""What docs/agents shows runs as it stands, and no framework lets a model do more than the tools do."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from portal.models import Agent
from tests.agents.programs import FOLDER, FRAMEWORKS, load, require, tool_call
from tests.bad_calls import BAD_CALLS, BadCall
from tests.databases import opened
from tests.invariants import assert_invariants, assert_nothing_written, read_state
from tests.manager.world import World
from tests.trespass import FACT, SECRET, attempts, furnish, not_held_by

# `portal mcp` is asked all of this in a test of its own, without starting a server for each call.
IN_PROCESS = [program for program in FRAMEWORKS if program != "with_mcp"]

TRANSCRIPT = """\
Ada: Please answer me in German.
    remember {"memory_key": "preferred_language", "content": "Answers in German"}
    -> created
Agent: I will answer in German from now on.
Ada: Austrian German, that is.
    remember {"memory_key": "Preferred Language", "content": "Answers in Austrian German"}
    -> replaced
Agent: Corrected: Answers in Austrian German.
Ada: I work in Vienna this week.
    remember {"memory_key": "office_this_week", "content": "Works in Vienna this week"}
    -> created
Agent: Enjoy Vienna.
Ada: I always sit by the window.
    remember {"memory_key": "seat", "content": "Sits by the window"}
    -> limit_reached
    forget {"memory_key": "office_this_week"}
    -> forgotten
    remember {"memory_key": "seat", "content": "Sits by the window"}
    -> created
Agent: My memory of you was full. I remember the window now, and not any more where you are this week.
Ada: Forget where I sit.
    forget {"memory_key": "seat"}
    -> forgotten
Agent: Forgotten. I remember 1 thing about you.
Ada: All our invoices go to cost centre 4711.
    propose_account_fact {"memory_key": "cost_centre", "content": "Invoices go to cost centre 4711"}
    -> created
Agent: I have proposed that. Your colleagues' agents will know it once an administrator confirms it.
Bob: Which cost centre do invoices go to?
Agent: Nobody has told me.
(Root confirms: Invoices go to cost centre 4711)
Bob: Which cost centre do invoices go to?
Agent: Invoices go to cost centre 4711.
Bob: That is wrong. They go to 0815.
    propose_account_fact {"memory_key": "cost_centre", "content": "Invoices go to cost centre 0815"}
    -> already_confirmed
Agent: An administrator has confirmed this: Invoices go to cost centre 4711. Only they can change it.
Ada: What do you remember about me?
    list_memories {}
    -> a list
Agent: Answers in Austrian German (personal).
"""


def test_every_program_of_the_folder_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("with_*.py")} == set(FRAMEWORKS)


@pytest.mark.parametrize("program", FRAMEWORKS)
def test_a_program_holds_the_conversation_as_it_stands(program: str, database_url: str) -> None:
    require(FRAMEWORKS[program])
    command = [sys.executable, "-W", "error", str(FOLDER / f"{program}.py"), database_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, TRANSCRIPT), done.stderr
    with opened(database_url) as database:
        assert_invariants(database)
        memories = read_state(database).memories.values()
    assert sorted((row.memory_key, row.status, row.content, row.version) for row in memories) == [
        ("cost_centre", "confirmed", "Invoices go to cost centre 4711", 2),
        ("preferred_language", "personal", "Answers in Austrian German", 2),
    ]


class Scripted:
    """A model that makes one call after the other, and keeps what comes back."""

    def __init__(self, *moves: object) -> None:
        self.moves = moves
        self.prompt = ""
        self.answers: list[str] = []

    def __call__(self, prompt: str, _said: str, answers: Sequence[str]) -> object:
        self.prompt, self.answers = prompt, list(answers)
        return self.moves[len(answers)] if len(answers) < len(self.moves) else "done"


Ask = Callable[..., Scripted]


def asking(program: str, world: World) -> Ask:
    """Return what lets the program's model make calls, each a tool's name and arguments, in one turn."""
    turn = load(program).turn
    agent: Agent = world.agent("ada")

    def ask(*calls: tuple[str, object]) -> Scripted:
        model = Scripted(*(tool_call(tool, arguments) for tool, arguments in calls))
        assert turn(world.manager, agent, "Do something.", model) == "done"
        return model

    return ask


def batches(calls: Sequence[BadCall], size: int = 4) -> Iterator[Sequence[BadCall]]:
    """Several in a row, because frameworks end a run over the second mistake, but few enough for any."""
    return (calls[start : start + size] for start in range(0, len(calls), size))


@pytest.mark.parametrize("program", IN_PROCESS)
def test_each_bad_call_is_an_answer_and_nothing_is_written(program: str, world: World) -> None:
    ask = asking(program, world)
    before = world.state()
    for calls in batches(BAD_CALLS):
        answers = map(json.loads, ask(*((bad.tool, bad.arguments) for bad in calls)).answers)
        for bad, answer in zip(calls, answers, strict=True):
            assert (answer["ok"], answer["error"]) == (False, bad.error), bad.id
    assert_nothing_written(before, world.state())


@pytest.mark.parametrize("program", IN_PROCESS)
def test_no_tool_reaches_what_is_somebody_elses(program: str, world: World) -> None:
    furnish(world)
    ask = asking(program, world)
    agent = world.agent("ada")
    before = not_held_by(agent, world.state())
    models = [ask((tool, dict(arguments))) for tool, arguments in attempts(world)]
    assert not_held_by(agent, world.state()) == before
    told = [text for model in models for text in (model.prompt, *model.answers)]
    assert not any(SECRET in text for text in told)
    assert any(FACT in text for text in told)


@pytest.mark.parametrize("program", IN_PROCESS)
def test_the_model_gets_the_prompt_block_of_this_moment(program: str, world: World) -> None:
    ask = asking(program, world)
    ask(("remember", {"memory_key": "language", "content": "Answers in German"}))
    block = world.manager.prompt_block(world.agent("ada"))
    assert block.strip() in ask(("list_memories", {})).prompt


def test_the_openai_agents_sdk_can_stream_what_it_could_not_read(world: World) -> None:
    """Streaming goes another way through the SDK than `turn` does."""
    program = load("with_openai_agents")
    bad = next(bad for bad in BAD_CALLS if bad.id == "lone surrogate")
    model = Scripted(tool_call(bad.tool, bad.arguments))
    remembering = program.with_memory(world.manager, world.agent("ada"), program.PretendModel(model))

    async def stream() -> str:
        options = program.RunConfig(tracing_disabled=True)
        run = program.Runner.run_streamed(remembering, "Do something.", run_config=options)
        async for _ in run.stream_events():
            pass
        return str(run.final_output)

    assert asyncio.run(stream()) == "done"
    (answer,) = map(json.loads, model.answers)
    assert (answer["ok"], answer["error"]) == (False, bad.error)
