"""`portal mcp` over a real pipe, asked by the SDK's own client and, where that is too polite, by hand."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents
from sqlalchemy import text

from portal.cli import MODULES
from portal.database import Database
from portal.manager import AgentMemoryManager
from portal.mcp import BLOCK_NAME, BLOCK_URI, UNREACHABLE
from portal.tools import specifications
from tests.bad_calls import BAD_CALLS, GOOD
from tests.databases import SqliteFiles, opened
from tests.factories import Clock, create_personas
from tests.invariants import assert_invariants, assert_nothing_written
from tests.manager.world import World
from tests.trespass import FACT, SECRET, attempts, furnish, not_held_by

PORTAL = Path(sys.executable).with_name("portal")
ENDS_WITHIN_S = 20
Result = TypeVar("Result")


@pytest.fixture
def world(sqlite_files: SqliteFiles) -> Iterator[World]:
    """On SQLite, because what the pipe carries does not depend on the database."""
    with sqlite_files.migrated() as url, opened(url) as database:
        yield populated(database)


@pytest.fixture
def each_world(database: Database) -> World:
    """On SQLite and on PostgreSQL, where many calls meet in the database."""
    return populated(database)


def populated(database: Database) -> World:
    clock = Clock()
    personas = create_personas(database, clock=clock)
    world = World(database, AgentMemoryManager(database, clock=clock), personas, clock)
    world.agent("ada")
    return world


def arguments(world: World, who: str = "ada") -> list[str]:
    owner = world.person(who).email
    return ["mcp", "--owner", owner, "--definition", "support", "--database", world.database.url]


@asynccontextmanager
async def connected(world: World, **options: Any) -> AsyncIterator[Client]:
    """The SDK's client at the other end of the pipe."""
    # The whole environment, because a subprocess is to be measured like the rest.
    server = StdioServerParameters(command=str(PORTAL), args=arguments(world), env=dict(os.environ))
    async with Client(server, **options) as client:
        yield client


def through_client(world: World, work: Callable[[Client], Awaitable[Result]], **options: Any) -> Result:
    async def run() -> Result:
        async with connected(world, **options) as client:
            return await work(client)

    return asyncio.run(run())


def answer_of(result: CallToolResult) -> Any:
    """The answer, which is the same as text and as data, and marked as an error if it is a refusal."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    answer = json.loads(content.text)
    assert result.structured_content == answer
    assert result.is_error is not answer["ok"]
    return answer


# The SDK's client.


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_of_either_generation_finds_tools_resource_and_prompt(world: World, mode: str) -> None:
    world.remember("ada", "language", "Answers in German")
    block = world.manager.prompt_block(world.agent("ada"))

    async def look(client: Client) -> None:
        tools = await client.list_tools()
        assert [tool.model_dump(by_alias=True, exclude_none=True) for tool in tools.tools] == (
            specifications("mcp")
        )
        (resource,) = (await client.list_resources()).resources
        assert (str(resource.uri), resource.mime_type) == (BLOCK_URI, "text/plain")
        (content,) = (await client.read_resource(BLOCK_URI)).contents
        assert isinstance(content, TextResourceContents)
        assert content.text == block
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt(prompt.name)).messages
        assert isinstance(message.content, TextContent)
        assert (prompt.name, message.content.text) == (BLOCK_NAME, block)

    through_client(world, look, mode=mode)


def test_each_tool_does_what_it_says(world: World) -> None:
    async def use(client: Client) -> list[Any]:
        # The client checks each answer that is no error against the tool's output schema.
        await client.list_tools()
        return [
            answer_of(await client.call_tool(tool, given))
            for tool, given in [
                ("remember", {"memory_key": "Language", "content": "Answers in German"}),
                ("propose_account_fact", {"memory_key": "cost centre", "content": "4711"}),
                ("list_memories", {}),
                ("list_memories", None),
                ("forget", {"memory_key": "LANGUAGE"}),
            ]
        ]

    created, proposed, listed, listed_again, forgotten = through_client(world, use)
    assert [created["outcome"], proposed["memory"]["status"]] == ["created", "proposed"]
    assert [memory["key"] for memory in listed["memories"]] == ["cost_centre", "language"]
    assert listed == listed_again
    assert forgotten["outcome"] == "forgotten"
    assert [memory["key"] for memory in world.list("ada")["memories"]] == ["cost_centre"]


def test_each_refusal_of_the_manager_reaches_the_client(world: World) -> None:
    world.confirmed("bob", "cost_centre", "4711")
    world.rejected("bob", "parking", "Parking is free")
    world.set_limits(memory_limit=1, proposal_limit=0)
    world.remember("ada", "language", "Answers in German")

    async def use(client: Client) -> list[Any]:
        calls = [
            ("remember", {"memory_key": "cost_centre", "content": "0815"}),
            ("propose_account_fact", {"memory_key": "parking", "content": "Parking is free"}),
            ("remember", {"memory_key": "seat", "content": "Window"}),
            ("propose_account_fact", {"memory_key": "language", "content": "German"}),
            ("forget", {"memory_key": "seat"}),
        ]
        answers = [answer_of(await client.call_tool(*call)) for call in calls]
        world.personas.directory.deactivate(world.person("ada"))
        return [*answers, answer_of(await client.call_tool("list_memories", {}))]

    assert [answer["error"] for answer in through_client(world, use)] == [
        "already_confirmed",
        "already_rejected",
        "limit_reached",
        "proposal_limit_reached",
        "not_found",
        "inactive",
    ]


def test_fifty_calls_at_once_are_all_answered(each_world: World) -> None:
    async def use(client: Client) -> list[CallToolResult]:
        return await asyncio.gather(
            *(
                client.call_tool("remember", {"memory_key": f"key {number}", "content": str(number)})
                for number in range(50)
            )
        )

    answers = [answer_of(result) for result in through_client(each_world, use)]
    assert [answer["memory"]["content"] for answer in answers] == [str(number) for number in range(50)]
    assert each_world.list("ada")["usage"]["memories"] == 50


def test_no_tool_that_is_listed_reaches_what_is_somebody_elses(world: World) -> None:
    furnish(world)
    agent = world.agent("ada")
    tries = attempts(world)
    before = not_held_by(agent, world.state())

    async def use(client: Client) -> list[str]:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool for tool, _ in tries}
        return [json.dumps(answer_of(await client.call_tool(tool, dict(given)))) for tool, given in tries]

    answers = through_client(world, use)
    assert not_held_by(agent, world.state()) == before
    assert not any(SECRET in answer for answer in answers)
    assert any(FACT in answer for answer in answers)


def test_another_resource_or_prompt_is_refused(world: World) -> None:
    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match=f"The only resource is {BLOCK_URI}"):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError, match=f"The only prompt is {BLOCK_NAME}"):
            await client.get_prompt("another")

    through_client(world, use)


def test_a_database_that_fails_is_told_without_a_word_of_its_own_and_the_server_goes_on(world: World) -> None:
    rename = "ALTER TABLE {} RENAME TO {}"

    async def use(client: Client) -> Any:
        world.database.write(lambda session: session.execute(text(rename.format("agent", "gone"))))
        with pytest.raises(MCPError) as failed:
            await client.call_tool("remember", dict(GOOD))
        assert failed.value.error.message == UNREACHABLE
        world.database.write(lambda session: session.execute(text(rename.format("gone", "agent"))))
        return answer_of(await client.call_tool("remember", dict(GOOD)))

    assert through_client(world, use)["outcome"] == "created"


# By hand: what the client would not send, and what else is on the pipe.

HANDSHAKE = [
    {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


class Pipe:
    """A server, and both ends of its pipes."""

    def __init__(self, server: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self.server = server
        self._errors = errors
        for message in HANDSHAKE:
            self.send(json.dumps(message).encode())
        assert self.receive()["id"] == "hello"

    @property
    def to_server(self) -> IO[bytes]:
        assert self.server.stdin is not None
        return self.server.stdin

    @property
    def from_server(self) -> IO[bytes]:
        assert self.server.stdout is not None
        return self.server.stdout

    def errors(self) -> str:
        """What stands on standard error, but for the warning about old versions of SQLite."""
        self._errors.seek(0)
        return without_warnings(self._errors.read().decode())

    def send(self, line: bytes) -> None:
        self.to_server.write(line + b"\n")
        self.to_server.flush()

    def receive(self) -> Any:
        return json.loads(self.from_server.readline())

    def send_call(self, call_id: int, tool: str, given: object) -> None:
        params = {"name": tool, "arguments": given}
        message = {"jsonrpc": "2.0", "id": call_id, "method": "tools/call", "params": params}
        self.send(json.dumps(message).encode())

    def end(self) -> tuple[list[Any], str]:
        """End the input, and return what else came out and what stands on standard error."""
        self.to_server.close()
        output = [json.loads(line) for line in self.from_server]
        self.server.wait(ENDS_WITHIN_S)
        return output, self.errors()


@contextmanager
def by_hand(world: World) -> Iterator[Pipe]:
    """A server that is ended by force where the test waits too long for it."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [PORTAL, *arguments(world)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as server,
    ):
        patience = threading.Timer(ENDS_WITHIN_S * 3, server.kill)
        patience.start()
        try:
            yield Pipe(server, errors)
        finally:
            patience.cancel()
            server.kill()


def without_warnings(errors: str) -> str:
    return "".join(line for line in errors.splitlines(keepends=True) if "portal: SQLite" not in line)


def test_each_bad_call_is_an_answer_and_nothing_is_written(world: World) -> None:
    before = world.state()
    with by_hand(world) as pipe:
        for number, bad in enumerate(BAD_CALLS):
            pipe.send_call(number, bad.tool, bad.arguments)
            result = CallToolResult.model_validate(pipe.receive()["result"])
            assert answer_of(result)["error"] == bad.error, bad.id
        assert pipe.end() == ([], "")
    assert_nothing_written(before, world.state())


def test_what_no_text_can_hold_is_refused_and_never_mended(world: World) -> None:
    with by_hand(world) as pipe:
        for number, spoilt in enumerate([rb"\ud83d", rb"\udc00", rb"\uD800x", b"\xff", b"\xed\xa0\x80"]):
            pipe.send_call(number, "remember", GOOD | {"content": "Vienna@"})
            assert pipe.receive()["result"]["isError"] is False
            before = world.state()
            message = json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": -1,
                    "method": "tools/call",
                    "params": {"name": "remember", "arguments": GOOD | {"content": "Vienna@"}},
                }
            )
            pipe.send(message.encode().replace(b"@", spoilt))
            answer = pipe.receive()["result"]["structuredContent"]
            assert answer["error"] == "invalid_content", spoilt
            assert_nothing_written(before, world.state())


def test_whole_surrogate_pairs_and_escaped_backslashes_come_through(world: World) -> None:
    with by_hand(world) as pipe:
        content = r"Likes \ud83d and \\ud83d " + "\N{GRINNING FACE}"
        pipe.send_call(1, "remember", GOOD | {"content": content})
        assert pipe.receive()["result"]["structuredContent"]["memory"]["content"] == content


def test_what_is_no_call_gets_no_further(world: World) -> None:
    before = world.state()
    with by_hand(world) as pipe:
        pipe.send(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "remem')
        pipe.send(b"\x00\xff")
        pipe.send(b"[" * 100_000)
        pipe.send_call(2, "list_memories", {})
        assert pipe.receive()["result"]["structuredContent"]["memories"] == []
    assert_nothing_written(before, world.state())


def test_the_server_ends_with_its_input_and_leaves_standard_error_alone(world: World) -> None:
    with by_hand(world) as pipe:
        pipe.send_call(1, "remember", GOOD)
        assert pipe.receive()["id"] == 1
        assert pipe.end() == ([], "")
        assert pipe.server.returncode == 0


def test_a_client_that_goes_away_in_the_middle_of_calls_is_no_error(each_world: World) -> None:
    with by_hand(each_world) as pipe:
        for number in range(200):
            pipe.send_call(number, "remember", {"memory_key": f"key {number % 50}", "content": str(number)})
        acknowledged = [pipe.receive() for _ in range(10)]
        pipe.from_server.close()
        pipe.to_server.close()
        assert pipe.server.wait(ENDS_WITHIN_S) == 0
        assert pipe.errors() == ""
    assert_invariants(each_world.database)
    written = {answer["result"]["structuredContent"]["memory"]["key"] for answer in acknowledged}
    assert written <= {memory["key"] for memory in each_world.list("ada")["memories"]}


# Starting up.


def start(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PORTAL, *arguments], input="", capture_output=True, text=True, check=False, timeout=ENDS_WITHIN_S
    )


def replace(arguments: Sequence[str], option: str, value: str) -> list[str]:
    position = list(arguments).index(option) + 1
    return [*arguments[:position], value, *arguments[position + 1 :]]


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert without_warnings(done.stderr).count("\n") == 1


def test_a_person_or_definition_that_is_not_there_is_one_line_and_status_2(world: World) -> None:
    given = arguments(world)
    assert_refused(start(replace(given, "--owner", "nobody@acme.example")), "nobody has this address")
    assert_refused(start(replace(given, "--definition", "sales")), "no agent definition of that name")


def test_a_database_that_is_not_there_is_one_line_and_status_2(world: World, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    assert_refused(start(replace(arguments(world), "--database", url)), "there is no database")
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_schema_is_one_line_and_status_2(world: World, tmp_path: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    assert_refused(start(replace(arguments(world), "--database", f"sqlite:///{empty}")), "portal upgrade")


WITHOUT_THE_SDK = """
import sys
from portal.cli import main

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == "mcp":
            raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

sys.meta_path.insert(0, Hidden())
main()
"""


def test_without_the_extra_the_message_names_it(world: World) -> None:
    command = [sys.executable, "-c", WITHOUT_THE_SDK, *arguments(world)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert_refused(done, "an MCP server needs the extra: pip install 'agent-memory-portal[mcp]'")


def test_other_commands_do_not_load_the_sdk() -> None:
    assert MODULES["mcp"] == "memory"
    loaded = "import sys, portal.cli.memory; print('mcp' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
