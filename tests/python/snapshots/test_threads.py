"""`client.threads` on the real server: titles, metadata, search and count, with savers beside them."""

import asyncio
from datetime import datetime, timedelta
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from threadkeep import AsyncClient, Client
from threadkeep.calls import ThreadPreview, ThreadTtl
from threadkeep.errors import InvalidError, NotFoundError, TooLargeError, VersionConflictError

from snapshots.world import World, config
from support.proxy import Proxy
from support.server import Server
from support.waiting import wait_until

ODD: dict[str, Any] = {"n": 1.0, "big": 2**70, "none": None, "list": [1, {"a": True}], "ü": "\x00"}


def test_a_thread_is_made_found_changed_and_counted(client: Client) -> None:
    threads = client.threads
    made = threads.create("trip", title="Trip to Rome", metadata={"customer": "acme"})
    assert made.created
    first = made.thread.version
    assert made.thread.title == "Trip to Rome"
    assert threads.create("trip", title="another").created is False
    changed = threads.update("trip", metadata={"state": "done"}, if_version=first)
    assert changed.metadata == {"customer": "acme", "state": "done"}
    with pytest.raises(VersionConflictError):
        threads.update("trip", metadata={}, if_version=first)
    assert threads.update("trip", title=None).title is None
    assert threads.update("trip", title="Rome", metadata={}, replace_metadata=True).metadata == {}
    assert [it.thread_id for it in threads.search(q="ROM").threads] == ["trip"]
    assert threads.search(metadata={"customer": "acme"}).threads == []
    assert threads.count(ids=["trip", "none"], prefix="t") == 1
    assert threads.count(created_after="2999-01-01T00:00:00Z") == 0
    with pytest.raises(NotFoundError):
        threads.update("none", title="x")
    kept = threads.update("trip", ttl=ThreadTtl(90, "keep_latest"))
    assert kept.ttl is not None and kept.ttl.expires_at is not None
    assert (kept.ttl.minutes, kept.ttl.strategy) == (90, "keep_latest")
    lived = datetime.fromisoformat(kept.ttl.expires_at) - datetime.fromisoformat(kept.updated_at)
    assert lived == timedelta(minutes=90)
    assert threads.update("trip", title="Rome").ttl is not None
    assert threads.update("trip", ttl=None).ttl is None
    with pytest.raises(InvalidError) as refused:
        threads.update("trip", ttl=ThreadTtl(0))
    assert refused.value.field == "ttl"
    with pytest.raises(TooLargeError):
        threads.create("large", metadata={"a": "x" * 70_000})
    with pytest.raises(InvalidError):
        threads.search(sort="weight")  # type: ignore[arg-type]


def test_metadata_comes_back_and_is_found_whatever_it_is(client: Client) -> None:
    thread = client.threads.create(metadata=ODD).thread
    assert thread.metadata == ODD
    for name, value in ODD.items():
        found = client.threads.search(metadata={name: value}).threads
        assert [it.thread_id for it in found] == [thread.thread_id], name
    assert client.threads.count(metadata={"big": 2**70 + 1}) == 0


def test_a_saver_goes_on_with_a_thread_that_was_made_before(world: World) -> None:
    made = world.client.threads.create("t", title="A title", metadata={"a": 1}).thread
    world.graph().invoke({"log": ["one"]}, config("t"))
    thread = world.client.get_thread("t")
    assert thread is not None
    assert (thread.title, thread.metadata) == ("A title", {"a": 1})
    assert thread.checkpoint_count > 0
    assert (thread.created_at, thread.generation) == (made.created_at, made.generation)


def test_lost_replies_do_it_once(client: Client, proxy: Proxy, api_key: str) -> None:
    far = Client(proxy.url, api_key=api_key).threads
    proxy.lose(1)
    made = far.create(title="One")
    assert made.created
    assert client.threads.count() == 1
    proxy.lose(1)
    first = made.thread.version
    changed = far.update(made.thread.thread_id, metadata={"a": 1}, if_version=first)
    assert changed.version > first
    assert proxy.lost == 2


def test_pages_and_the_asynchronous_client(server: Server, api_key: str) -> None:
    async def run() -> None:
        async with AsyncClient(server.url, api_key=api_key) as client:
            for number in range(5):
                await client.threads.create(f"t{number}", metadata={"odd": number % 2 == 1})
            first = await client.threads.search(limit=2, sort="thread_id", order="asc")
            rest = await client.threads.search(
                limit=9, sort="thread_id", order="asc", cursor=first.next_cursor
            )
            ids = [it.thread_id for it in [*first.threads, *rest.threads]]
            assert ids == [f"t{number}" for number in range(5)]
            assert rest.next_cursor is None
            assert await client.threads.count(metadata={"odd": True}) == 2
            assert (await client.threads.update("t0", title="x")).title == "x"

    asyncio.run(run())


def test_a_conversation_has_its_first_message_as_its_title(client: Client, world: World) -> None:
    titles: list[tuple[str | None, str | None]] = []

    def look(thread_id: str) -> None:
        # The saver stores the input while the first node runs already.
        thread = wait_until(lambda: client.get_thread(thread_id), "the thread")
        assert thread is not None
        titles.append((thread.title, thread.title_from))

    def answer(_: MessagesState) -> dict[str, Any]:
        look("talk")
        return {"messages": [AIMessage("Take the train.")]}

    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=world.saver())
    graph.invoke({"messages": [HumanMessage(" How to get\nto Rome?")]}, config("talk"))
    graph.invoke({"messages": [("user", "And back?")]}, config("talk"))
    look("talk")
    # What stops before its first step has only the input.
    graph.invoke({"messages": "A plan"}, config("plan"), interrupt_before=["answer"])
    look("plan")
    assert titles == [
        *[("How to get to Rome?", "first_message")] * 3,
        ("A plan", "first_message"),
    ]
    found = client.threads.search(q="to rome")
    assert [it.thread_id for it in found.threads] == ["talk"]
    assert client.threads.update("talk", title="Rome").title_from == "set"
    back = client.threads.update("talk", title=None)
    assert (back.title, back.title_from) == ("How to get to Rome?", "first_message")


def test_the_status_follows_the_graph(client: Client, world: World) -> None:
    class State(TypedDict, total=False):
        approved: bool
        failed: bool

    def ask(state: State) -> State:
        if state.get("failed"):
            raise ValueError("no")
        return {"approved": interrupt("Go on?")}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("end", lambda _: {})
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "end")
    graph = builder.compile(checkpointer=world.saver())

    def status(thread_id: str) -> str | None:
        thread = client.get_thread(thread_id)
        assert thread is not None
        assert thread.state_updated_at == thread.updated_at
        return thread.status

    graph.invoke({}, config("asks"))
    assert status("asks") == "interrupted"
    with pytest.raises(ValueError, match="no"):
        graph.invoke({"failed": True}, config("fails"))
    assert status("fails") == "error"
    graph.invoke({}, config("answered"))
    graph.invoke(Command(resume=True), config("answered"))
    assert status("answered") == "idle"
    graph.invoke({}, config("stopped"), interrupt_before=["ask"])
    assert status("stopped") == "busy"
    graph.update_state(config("stopped"), {"approved": False}, as_node="ask")
    assert status("stopped") == "interrupted"
    with world.saver(exclusive=True) as saver:
        builder.compile(checkpointer=saver).invoke({}, config("leased"))
        assert status("leased") == "busy"
    found = client.threads.search(status=["interrupted", "error"], sort="thread_id", order="asc")
    assert [it.thread_id for it in found.threads] == ["asks", "fails", "leased", "stopped"]
    assert client.threads.count(status=["idle"]) == client.threads.count(status="idle") == 1
    approved = client.threads.search(values={"approved": True}, status="idle")
    assert [it.thread_id for it in approved.threads] == ["answered"]
    assert client.threads.count(values={"approved": False}) == 1
    assert client.threads.count(values={"approved": 1}) == 0
    newest = client.threads.search(sort="state_updated", order="desc", limit=1).threads
    assert [it.thread_id for it in newest] == ["leased"]
    asking = {"next": ["ask"], "interrupts": 1}
    for thread_id, shown in [("asks", asking), ("answered", {"next": [], "interrupts": 0})]:
        (thread,) = client.threads.search(ids=[thread_id], include=["preview"]).threads
        assert thread.preview == ThreadPreview(**shown, cut=False)
    both = client.threads.search(ids=["asks", "answered"], include=["values", "interrupts"])
    shown = {it.thread_id: it for it in both.threads}
    assert shown["answered"].values == {"approved": True}
    assert shown["answered"].interrupts == {}
    assert shown["asks"].values_preview is False
    ((question,),) = (shown["asks"].interrupts or {}).values()
    assert question["value"] == "Go on?"
    (plain,) = client.threads.search(ids=["asks"]).threads
    assert plain.values is None
    assert plain.interrupts is None
