"""A chat model that follows a script, so that the example needs no network and no key.

An entry of the script is a message, or a function from the history to a message.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

Entry = AIMessage | Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers with the entries of its script, one after the other."""

    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        entry: Entry = self.script.pop(0)
        answer = entry(messages) if callable(entry) else entry
        return ChatResult(generations=[ChatGeneration(message=answer)])


def call_tool(name: str, **arguments: str) -> AIMessage:
    """A message in which the model asks for one tool."""
    call = {"name": name, "args": arguments, "id": f"call-{name}", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])
