"""The store as LangGraph's SDK calls it, sync and async."""

import asyncio

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import BadRequestError, UnprocessableEntityError

from agent_server.wire import sdk
from support.server import Server


def test_items_are_put_got_found_and_deleted(server: Server, api_key: str) -> None:
    store = sdk(server, api_key).store
    store.put_item(["ann", "memories"], "likes", {"text": "tea", "n": 1}, index=False, ttl=60)
    store.put_item(["ann", "notes"], "a/b ü", {"text": "\x00"})
    item = store.get_item(["ann", "memories"], "likes", refresh_ttl=False)
    assert item["value"] == {"text": "tea", "n": 1} and item["namespace"] == ["ann", "memories"]
    assert item["created_at"].endswith("+00:00")
    assert store.get_item(["ann", "notes"], "a/b ü")["value"] == {"text": "\x00"}
    assert store.get_item(["ann"], "likes") is None
    found = store.search_items(["ann"], filter={"n": {"$gte": 1}})["items"]
    assert [(it["key"], it["score"]) for it in found] == [("likes", None)]
    newest = store.search_items(["ann"], limit=1, query="tea")["items"]
    assert [it["key"] for it in newest] == ["a/b ü"]
    spaces = store.list_namespaces(prefix=["ann"], max_depth=2)
    assert spaces == {"namespaces": [["ann", "memories"], ["ann", "notes"]]}
    store.delete_item(["ann", "memories"], "likes")
    store.delete_item(["ann", "memories"], "likes")
    assert store.get_item(["ann", "memories"], "likes") is None


def test_what_is_refused_has_the_class_that_the_sdk_knows(server: Server, api_key: str) -> None:
    store = sdk(server, api_key).store
    with pytest.raises(BadRequestError, match="cannot be empty"):
        store.put_item([], "k", {})
    with pytest.raises(BadRequestError, match="Unsupported operator"):
        store.search_items(["ann"], filter={"n": {"$bogus": 1}})
    with pytest.raises(UnprocessableEntityError, match="limit"):
        store.search_items(["ann"], limit=1001)


def test_the_async_client_is_answered_the_same(server: Server, api_key: str) -> None:
    async def talk() -> None:
        client = get_client(url=server.url, api_key=api_key)
        await client.store.put_item(["bob"], "k", {"n": 1})
        item = await client.store.get_item(["bob"], "k")
        assert item["value"] == {"n": 1}
        assert await client.store.get_item(["bob"], "other") is None
        found = await client.store.search_items(["bob"])
        assert [it["key"] for it in found["items"]] == ["k"]
        await client.store.delete_item(["bob"], "k")

    asyncio.run(talk())
