"""deepagents with a scripted model: a real agent loop without a network, the same words in every run."""

from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from support import settings

if settings.HAS_DEEPAGENTS:
    from deepagents import create_deep_agent

Answer = AIMessage | Callable[[list[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """Answers with the next entry of its script; an entry that is a function sees the conversation."""

    script: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any
    ) -> ChatResult:
        entry = self.script.pop(0) if self.script else AIMessage(content="done")
        message = entry(messages) if callable(entry) else entry
        return ChatResult(generations=[ChatGeneration(message=message)])


def calls(*named: tuple[str, str, dict[str, Any]]) -> AIMessage:
    """A model answer that calls tools: (id, name, arguments) each."""
    return AIMessage(
        content="",
        tool_calls=[
            {"id": call_id, "name": name, "args": arguments, "type": "tool_call"}
            for call_id, name, arguments in named
        ],
    )


def search(query: str) -> str:
    """Look something up."""
    return f"result of {query}: " + "lorem ipsum " * (len(query) % 5 + 1)


def recall(messages: list[BaseMessage]) -> AIMessage:
    """Tells how much of the conversation the model was shown, so that lost state changes the answer."""
    texts = [message.text for message in messages if message.type != "system"]
    return AIMessage(content=f"saw {len(texts)} messages, {sum(map(len, texts))} characters")


def agent(saver: Any, script: list[Answer], **options: Any) -> Any:
    return create_deep_agent(
        model=Scripted(script=list(script)), tools=[search], checkpointer=saver, **options
    )


def turn_script(turn: int, tools: int) -> list[Answer]:
    """One turn: `tools` calls one after the other, a file written in every third turn, then an answer."""
    script: list[Answer] = [
        calls((f"c{turn}-{n}", "search", {"query": f"q{turn}-{n}"})) for n in range(tools)
    ]
    if turn % 3 == 0:
        arguments = {"file_path": f"/notes/{turn}.md", "content": f"note of turn {turn}"}
        script.append(calls((f"w{turn}", "write_file", arguments)))
    return [*script, recall]


def talk(driver: Any, graph: Any, turns: range, config: dict[str, Any]) -> None:
    """The user's side of these turns; the graph's model must hold their script."""
    for turn in turns:
        driver.invoke(graph, question(turn), config)


def question(turn: int) -> dict[str, Any]:
    """What the user says in a turn."""
    message = {"role": "user", "content": f"question {turn}", "id": f"user-{turn}"}
    return {"messages": [message]}


def talker(saver: Any, turns: range, tools: int) -> Any:
    """An agent whose model knows its lines for these turns."""
    return agent(saver, [line for turn in turns for line in turn_script(turn, tools)])


def parallel_calls() -> list[tuple[str, str, dict[str, Any]]]:
    """Five tool calls of one model answer."""
    return [(f"p{n}", "search", {"query": f"parallel {n}" * (n + 1)}) for n in range(5)]
