"""A call of LangGraph's SDK with its expected result: an answer or a refusal."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx
from langgraph_sdk import errors
from langgraph_sdk.client import SyncLangGraphClient

Send = Callable[[Any, str], Any]
Given = Callable[[SyncLangGraphClient], str]

CLASSES = {
    400: errors.BadRequestError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.UnprocessableEntityError,
}


class Text:
    """Equals a text of this form."""

    def __init__(self, pattern: str):
        self.pattern = pattern

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and re.fullmatch(self.pattern, other) is not None

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Text({self.pattern!r})"


TIME = Text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00")
UUID = Text(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Refusal:
    status: int
    code: str | None
    error: type[httpx.HTTPStatusError]


@dataclass(frozen=True)
class Call:
    """Both clients, sync and async, send it alike."""

    method: str
    # Continues the name of the method to a sentence.
    does: str
    send: Send
    # The answer, or what makes it of the graph's state of the thread `asking` and of the id.
    returns: Any = None
    refusal: Refusal | None = None
    # Creates the thread or item that the call names, and returns its id.
    given: Given | None = None
    # The only request that is counted, where the call opens streams beside it.
    counted: str | None = None

    def answer(self, asked: Any, id: str) -> Any:
        return self.returns(asked, id) if callable(self.returns) else self.returns


def returns(method: str, does: str, send: Send, answer: Any, given: Given | None = None) -> Call:
    return Call(method, does, send, returns=answer, given=given)


def refused(
    method: str,
    does: str,
    send: Send,
    status: int,
    code: str | None = None,
    given: Given | None = None,
) -> Call:
    return Call(method, does, send, refusal=Refusal(status, code, CLASSES[status]), given=given)


def needs_graph(method: str, what: str, send: Send, given: Given | None = None) -> Call:
    return refused(method, f"{what}: needs the graph", send, 422, "needs_graph", given)


def unconverted(call: Call) -> Call:
    """The SDK raises the error of httpx where it would follow a redirection or open a stream."""
    assert call.refusal
    return replace(call, refusal=replace(call.refusal, error=httpx.HTTPStatusError))
