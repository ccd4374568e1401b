"""Memory for an agent made with LangGraph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conversation import INSTRUCTIONS, Think, ToolCall, hold
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.prebuilt.tool_node import ToolCallRequest

from portal.manager import AgentMemoryManager
from portal.models import Agent
from portal.tools import call, specifications, tools_for


def with_memory(manager: AgentMemoryManager, agent: Agent, model: BaseChatModel) -> CompiledStateGraph[Any]:
    """Return a graph that remembers."""
    talking = model.bind_tools(specifications("openai"))

    def talk(state: MessagesState) -> dict[str, list[BaseMessage]]:
        # Read anew for each answer of the model, and not kept among the messages.
        prompt = SystemMessage(f"{INSTRUCTIONS}\n\n{manager.prompt_block(agent)}")
        return {"messages": [with_broken_calls(talking.invoke([prompt, *state["messages"]]))]}

    graph = StateGraph(MessagesState)
    graph.add_node("talk", talk)
    graph.add_node("tools", memory_tools(manager, agent))
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", tools_condition)
    graph.add_edge("tools", "talk")
    return graph.compile()


def memory_tools(manager: AgentMemoryManager, agent: Agent) -> ToolNode:
    """Return the four tools. Without the wrapper, LangChain drops arguments that a tool does not have."""

    def run(request: ToolCallRequest, _execute: Callable[[ToolCallRequest], Any]) -> ToolMessage:
        wanted = request.tool_call
        answer = call(manager, agent, wanted["name"], wanted["args"])
        return ToolMessage(answer, name=wanted["name"], tool_call_id=wanted["id"])

    return ToolNode(tools_for(manager, agent), wrap_tool_call=run)


def with_broken_calls(message: BaseMessage) -> BaseMessage:
    """Let calls whose arguments are no JSON reach the tools too, which say what is wrong with them."""
    if isinstance(message, AIMessage):
        message.tool_calls += [
            tool_call(name=str(broken["name"]), args={"no JSON": broken["args"]}, id=broken["id"])
            for broken in message.invalid_tool_calls
        ]
    return message


def turn(manager: AgentMemoryManager, agent: Agent, said: str, think: Think) -> str:
    """Let the agent hear something, and return what it says."""
    graph = with_memory(manager, agent, PretendModel(think=think))
    return str(graph.invoke({"messages": [HumanMessage(said)]})["messages"][-1].content)


class PretendModel(BaseChatModel):
    """Stands for a real model, such as `ChatAnthropic(model="claude-sonnet-4-5")`."""

    think: Think

    @property
    def _llm_type(self) -> str:
        return "pretended"

    def bind_tools(self, tools: Any, **_: Any) -> PretendModel:  # noqa: ARG002 - LangChain's name
        """Take no notice of the tools, because the moves are written down."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        prompt, said, *rest = messages
        answers = [str(message.content) for message in rest if isinstance(message, ToolMessage)]
        message = as_message(self.think(str(prompt.content), str(said.content), answers), len(answers))
        return ChatResult(generations=[ChatGeneration(message=message)])


def as_message(move: ToolCall | str, number: int) -> AIMessage:
    """Write a move as LangChain's models do."""
    if isinstance(move, str):
        return AIMessage(move)
    call_id = f"call_{number}"
    if isinstance(move.arguments, str):
        broken = invalid_tool_call(name=move.name, args=move.arguments, id=call_id, error="no JSON")
        return AIMessage("", invalid_tool_calls=[broken])
    return AIMessage("", tool_calls=[tool_call(name=move.name, args=dict(move.arguments), id=call_id)])


if __name__ == "__main__":
    hold(turn)
