"""A chat model that follows rules, so that the example needs no network and no key.

It knows what a real model would know: the conversation that it is shown, and nothing else.
"""

import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

FILES = ["/memories/password.md", "/state.md", "/notes/password.txt"]
PASSWORD = re.compile(r"password: ([A-Z]+-\d+)")


class ScriptedModel(BaseChatModel):
    """Writes, edits and reads files when it is told to, and answers from the conversation."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=answer(messages))])


def answer(messages: list[BaseMessage]) -> AIMessage:
    """The next message of the conversation."""
    said = [message for message in messages if message.type == "human"]
    told = [found[1] for message in said if (found := PASSWORD.search(message.text))]
    request = said[-1].text
    last = max(at for at, message in enumerate(messages) if message.type == "human")
    results = [message.text for message in messages[last:] if message.type == "tool"]
    if request.startswith("What was the password"):
        return AIMessage(told[-1] if told else "This appears to be the start of our conversation.")
    if results:
        is_read = request.startswith("Read ")
        return AIMessage(results[-1] if is_read else request.rpartition("Reply: ")[2])
    return AIMessage(content="", tool_calls=_calls(request, told))


def _calls(request: str, told: list[str]) -> list[Any]:
    if request.startswith("Read "):
        return [_call(0, "read_file", file_path=request.removeprefix("Read "))]
    if request.startswith("Replace "):
        old, new = told[-2:]
        return [
            _call(at, "edit_file", file_path=path, old_string=old, new_string=new)
            for at, path in enumerate(FILES)
        ]
    content = f"The password is {told[-1]}.\n"
    return [
        _call(at, "write_file", file_path=path, content=content) for at, path in enumerate(FILES)
    ]


def _call(at: int, name: str, **arguments: str) -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": f"call-{name}-{at}", "type": "tool_call"}
