"""A chat model that follows a script, so that the example needs no network and no key."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    """Answers with the messages of its script, one after the other."""

    script: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.script.pop(0))])


def call_tool(name: str, **arguments: str) -> AIMessage:
    """A message in which the model asks for one tool."""
    call = {"name": name, "args": arguments, "id": f"call-{name}", "type": "tool_call"}
    return AIMessage(content="", tool_calls=[call])
