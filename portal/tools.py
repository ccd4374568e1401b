"""The four calls as tools for language models, whatever framework hands them over.

A tool is bound to one agent by its host. No argument names a tenant, a person or an agent, and what a
model gets wrong is an answer with ``"ok": false`` like any other refusal; so a model can reach nothing
but its own agent's memory, and no confirmed fact or decision at all.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from portal import answer_schemas
from portal.contents import MAX_CONTENT_LENGTH, MAX_CONTENT_LINES
from portal.keys import MAX_KEY_INPUT_LENGTH, MAX_KEY_LENGTH
from portal.recall import as_json

if TYPE_CHECKING:
    from portal.manager import AgentMemoryManager
    from portal.models import Agent

Vendor = Literal["openai", "anthropic", "mcp"]
Schema = dict[str, Any]


@dataclass(frozen=True)
class Parameter:
    """An argument of a tool: a text, always required."""

    description: str
    max_length: int
    """Code points that are read at most; whether they are accepted is the manager's to say."""


@dataclass(frozen=True)
class Tool:
    """What a model is told about one of the calls."""

    title: str
    description: str
    parameters: Mapping[str, Parameter]
    answer: Schema
    """JSON Schema of what the tool returns."""
    is_read_only: bool = False
    is_destructive: bool = False

    def docstring(self) -> str:
        """Return the description in the form from which frameworks read those of the arguments."""
        if not self.parameters:
            return self.description
        arguments = [f"    {name}: {each.description}" for name, each in self.parameters.items()]
        return "\n".join([self.description, "", "Args:", *arguments])

    def input_schema(self, *, with_lengths: bool) -> Schema:
        """Return JSON Schema of the arguments, with ``maxLength`` where the vendor takes it."""
        return {
            "type": "object",
            "properties": {
                name: {"type": "string", "description": each.description}
                | ({"maxLength": each.max_length} if with_lengths else {})
                for name, each in self.parameters.items()
            },
            "required": [*self.parameters],
            "additionalProperties": False,
        }


_KEY = f"""\
A short name for the fact, such as preferred_language: letters, digits and _, at most {MAX_KEY_LENGTH} \
characters. Case and the choice of separators make no difference."""
_KNOWN_KEY = """\
The key under which it is remembered, as list_memories shows it."""
_CONTENT = f"""\
The fact in a sentence or two of plain text: at most {MAX_CONTENT_LENGTH:,} characters and \
{MAX_CONTENT_LINES} lines."""

_REMEMBER = """\
Remember something about this person that will matter in later conversations. Correct it under the key that \
was used first: the new text replaces the old one."""
_PROPOSE = """\
Propose something about the whole account, such as the person's company, rather than about this person. An \
administrator confirms it before the agents of other people see it."""
_FORGET = """\
Forget what is remembered under a key: the person asks for it, or there is no room and this matters least. \
Confirmed account facts stay."""
_LIST = """\
List what is remembered now about this person and about the account, and how full the memory is."""

_TEXTS = {
    "memory_key": Parameter(_KEY, MAX_KEY_INPUT_LENGTH),
    "content": Parameter(_CONTENT, MAX_CONTENT_LENGTH),
}

TOOLS: Mapping[str, Tool] = {
    "remember": Tool(
        title="Remember", description=_REMEMBER, parameters=_TEXTS, answer=answer_schemas.STORE_ANSWER
    ),
    "propose_account_fact": Tool(
        title="Propose an account fact",
        description=_PROPOSE,
        parameters=_TEXTS,
        answer=answer_schemas.STORE_ANSWER,
    ),
    "forget": Tool(
        title="Forget",
        description=_FORGET,
        parameters={"memory_key": Parameter(_KNOWN_KEY, MAX_KEY_INPUT_LENGTH)},
        answer=answer_schemas.FORGET_ANSWER,
        is_destructive=True,
    ),
    "list_memories": Tool(
        title="List memories",
        description=_LIST,
        parameters={},
        answer=answer_schemas.LIST_ANSWER,
        is_read_only=True,
    ),
}


def tools_for(manager: AgentMemoryManager, agent: Agent) -> Sequence[Callable[..., str]]:
    """Return the four tools as plain functions, bound to an agent.

    Each has annotations, and a docstring that describes it and its arguments to a model. They are
    synchronous and safe to call from several threads; async runtimes use ``asyncio.to_thread``. What they
    return is the manager's JSON text, also where they are called with the wrong arguments
    (``invalid_arguments``).

    :param agent: whose memory they reach, whatever they are called with.
    """

    def remember(memory_key: str, content: str) -> str:
        return _run(manager, agent, "remember", {"memory_key": memory_key, "content": content})

    def propose_account_fact(memory_key: str, content: str) -> str:
        return _run(manager, agent, "propose_account_fact", {"memory_key": memory_key, "content": content})

    def forget(memory_key: str) -> str:
        return _run(manager, agent, "forget", {"memory_key": memory_key})

    def list_memories() -> str:
        return _run(manager, agent, "list_memories", {})

    return [_forgiving(each) for each in (remember, propose_account_fact, forget, list_memories)]


def call(manager: AgentMemoryManager, agent: Agent, name: object, arguments: object) -> str:
    """Run a tool that a model asked for, and return the answer as JSON text.

    Whatever a model can get wrong is an answer with ``"ok": false``: ``unknown_tool`` and
    ``invalid_arguments`` (broken JSON, an argument that is missing, one too many, or not a text), beside
    the manager's own refusals.

    :param agent: whose memory the tool reaches; no argument can change that.
    :param name: the tool's name, as the model wrote it.
    :param arguments: what the model wrote: a dict, or JSON text of an object. Nothing and blank text count
        as no arguments.
    :raises TypeError: ``agent`` is no :class:`~portal.models.Agent`.
    """
    if not isinstance(name, str) or name not in TOOLS:
        return _refusal("unknown_tool", f"There is no such tool. The tools are {', '.join(TOOLS)}.")
    given = _read_arguments(arguments)
    return _invalid_arguments(name) if given is None else _run(manager, agent, name, given)


def specifications(vendor: Vendor) -> list[Schema]:
    """Return the four tools as a vendor's API wants them described.

    :param vendor: ``"openai"`` for Chat Completions, in strict mode; ``"anthropic"`` for Messages;
        ``"mcp"`` for the answer to ``tools/list``, with output schemas and annotations.
    :raises ValueError: there is no such vendor.
    """
    describe = _DESCRIBED_FOR.get(vendor)
    if describe is None:
        raise ValueError("the vendor must be openai, anthropic or mcp")
    return [describe(name, tool) for name, tool in TOOLS.items()]


def _describe_for_openai(name: str, tool: Tool) -> Schema:
    function = {
        "name": name,
        "description": tool.description,
        "strict": True,
        # Strict mode refuses a schema with a keyword that it does not know, and has refused this one.
        "parameters": tool.input_schema(with_lengths=False),
    }
    return {"type": "function", "function": function}


def _describe_for_anthropic(name: str, tool: Tool) -> Schema:
    return {
        "name": name,
        "description": tool.description,
        "input_schema": tool.input_schema(with_lengths=True),
    }


def _describe_for_mcp(name: str, tool: Tool) -> Schema:
    return {
        "name": name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema(with_lengths=True),
        "outputSchema": tool.answer,
        "annotations": {
            "readOnlyHint": tool.is_read_only,
            "destructiveHint": tool.is_destructive,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }


_DESCRIBED_FOR: Mapping[str, Callable[[str, Tool], Schema]] = {
    "openai": _describe_for_openai,
    "anthropic": _describe_for_anthropic,
    "mcp": _describe_for_mcp,
}


def _run(manager: AgentMemoryManager, agent: Agent, name: str, arguments: Mapping[object, object]) -> str:
    # Asked of the type, because an object of a host's own may lie about its class.
    are_texts = all(issubclass(type(value), str) for value in arguments.values())
    if not are_texts or arguments.keys() != TOOLS[name].parameters.keys():
        return _invalid_arguments(name)
    methods: Mapping[str, Callable[..., str]] = {
        "remember": manager.remember,
        "propose_account_fact": manager.propose_account_fact,
        "forget": manager.forget,
        "list_memories": manager.list,
    }
    return methods[name](agent, *(arguments[parameter] for parameter in TOOLS[name].parameters))


def _forgiving(function: Callable[..., str]) -> Callable[..., str]:
    """Describe a tool to models, and let it answer where an argument is missing or one too many."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def tool(*args: object, **kwargs: object) -> str:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            return _invalid_arguments(function.__name__)
        return function(*args, **kwargs)

    tool.__doc__ = TOOLS[function.__name__].docstring()
    return tool


def _read_arguments(arguments: object) -> dict[object, object] | None:
    """Return the arguments by name, or None where they are no object of JSON."""
    if isinstance(arguments, str | bytes):
        try:
            arguments = json.loads(arguments) if arguments.strip() else None
        except (ValueError, RecursionError):
            return None
    if arguments is None:
        return {}
    return arguments if isinstance(arguments, dict) else None


def _invalid_arguments(name: str) -> str:
    texts = " and ".join(TOOLS[name].parameters)
    needed = f"with a JSON object of {texts}, each a text, and nothing else" if texts else "without arguments"
    return _refusal("invalid_arguments", f"Call {name} {needed}.")


def _refusal(error: str, message: str) -> str:
    return as_json({"ok": False, "error": error, "message": message})
