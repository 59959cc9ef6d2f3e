"""Calls every public method of LangGraph's SDK, sync and async: the result is that of the table, and each call is one request."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client, get_sync_client
from threadkeep.langgraph import ThreadkeepSaver

from agent_server.sdk_call import Call
from agent_server.sdk_calls import CALLS
from agent_server.wire import sdk
from equivalence import graphs
from support.request_log import RequestLog
from support.server import Server

# They are about the connection.
NO_PARTS = {"http", "close", "aclose"}


class Scene:
    """A tenant with the thread `asking`, which waits for an answer to its graph."""

    def __init__(self, server: Server, send: Callable[[Call, str], Any], log: RequestLog, key: str):
        self.send, self.log = send, log
        self.unlisted = sdk(server, key)
        self.unlisted.threads.create(thread_id="asking", graph_id="agent")
        graph = graphs.asking("plain", ThreadkeepSaver(server.url, api_key=key))
        config: Any = {"configurable": {"thread_id": "asking"}}
        graph.invoke({"log": ["in"]}, config)
        self.asked = graph.get_state(config)


@contextmanager
def sync_client(url: str, key: str) -> Iterator[Callable[[Call, str], Any]]:
    with get_sync_client(url=url, api_key=key) as client:

        def send(call: Call, id: str) -> Any:
            answer = call.send(client, id)
            return list(answer) if isinstance(answer, Iterator) else answer

        yield send


@contextmanager
def async_client(url: str, key: str) -> Iterator[Callable[[Call, str], Any]]:
    client = get_client(url=url, api_key=key)

    async def send(call: Call, id: str) -> Any:
        answer = call.send(client, id)
        if inspect.isawaitable(answer):
            answer = await answer
        return [it async for it in answer] if isinstance(answer, AsyncIterator) else answer

    with asyncio.Runner() as runner:
        yield lambda call, id: runner.run(send(call, id))
        runner.run(client.aclose())


@pytest.fixture(scope="module", params=[sync_client, async_client])
def scene(request: pytest.FixtureRequest, server: Server) -> Iterator[Scene]:
    key = server.new_key()
    with RequestLog(server.url) as log, request.param(log.url, key) as send:
        yield Scene(server, send, log, key)


@pytest.mark.parametrize("make", [get_client, get_sync_client])
def test_the_table_has_every_method_and_no_other(make: Any) -> None:
    client = make(url="http://localhost", api_key="none")
    parts = {name for name in vars(client) if not name.startswith("_")} - NO_PARTS
    methods = {
        f"{part}.{name}"
        for part in parts
        for name in vars(type(getattr(client, part)))
        if not name.startswith("_")
    }
    assert methods == {call.method for call in CALLS}


@pytest.mark.parametrize("call", CALLS, ids=lambda it: f"{it.method} {it.does}")
def test_a_call_gives_its_result_in_one_request(scene: Scene, call: Call) -> None:
    id = call.given(scene.unlisted) if call.given else ""
    before = len(scene.log.requests)
    if call.refusal:
        with pytest.raises(httpx.HTTPStatusError) as error:
            scene.send(call, id)
        answer = error.value.response
        assert (type(error.value), answer.status_code) == (call.refusal.error, call.refusal.status)
        assert call.refusal.code in (None, answer.json()["code"])
    else:
        assert scene.send(call, id) == call.answer(scene.asked, id)
    sent = scene.log.requests[before:]
    counted = [it for it in sent if it == call.counted] if call.counted else sent
    assert len(counted) == 1, sent
