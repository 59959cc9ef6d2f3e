"""Every call that may go through any number of rows ends when its time is over: the calls are those that the API document
says so of. The tables are locked, as very many rows would hold such a call up.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlencode

import psycopg
import pytest

from support.http import Answer, post_json, request
from support.postgres import Databases
from support.server import Place, Server

# A list waits on one of the connections for searches, half of all, of which a tenant has half.
CONNECTIONS = 96
AT_ONCE = CONNECTIONS // 4
# Without what lets callers in, and what keeps the servers.
DATA = """threads, thread_details, checkpoints, manifests, writes, items, item_versions, sessions, session_logs,
    session_entries, snapshots, audit_events, retention_policies, retention_reports"""
# By a UUID, an alias would be looked up first.
THREAD = "conversation"
# Of an operation that writes, what reads.
BODIES = {"run_store_batch": {"ops": [{"search": {"prefix": ["ann"]}}]}}


class Search(NamedTuple):
    """A call that may go through any number of rows."""

    operation: str
    method: str
    path: str
    body: Any

    def one_of(self, key: str, operator: str) -> str:
        """The key that may call it."""
        return operator if self.path.startswith("/v1/operator/") else key

    def send(self, server: Server, key: str) -> Answer:
        if self.body is not None:
            return post_json(server.url, self.path, self.body, key=key)
        return request(server.url, self.method, self.path, key=key)


def searches(server: Server, token: str) -> Iterator[Search]:
    for name in ("/openapi.json", "/agentrail/openapi.json"):
        for path, methods in server.get(name).json()["paths"].items():
            for method, operation in methods.items():
                if operation.get("x-cost") == "search":
                    yield search_of(path, method, operation, token)


def search_of(path: str, method: str, operation: dict[str, Any], token: str) -> Search:
    values = {"thread_id": THREAD, "token": token, "subject": "ann"}
    parameters = operation.get("parameters", [])
    in_query = [it for it in parameters if it["in"] == "query"]
    # A key of the whole tenant says whose drive it means.
    needed = [it["name"] for it in in_query if it.get("required") or it["name"] == "subject"]
    query = urlencode({name: values.get(name, "x") for name in needed})
    named = re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], "x"), path)
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    name = operation["operationId"]
    body = None if content is None else BODIES.get(name, content.get("example", {}))
    return Search(name, method.upper(), f"{named}?{query}" if query else named, body)


@pytest.fixture
def server(databases: Databases) -> Iterator[Server]:
    place = Place(databases)
    server = Server(place, options=["--connections", str(CONNECTIONS)])
    try:
        yield server.start()
    finally:
        server.kill()
        place.remove()


def test_every_search_ends_when_its_time_is_over(server: Server, databases: Databases) -> None:
    key = server.new_key()
    thread = {"thread_id": THREAD, "metadata": {"graph_id": "agent"}}
    assert server.post("/v1/threads/create", thread, key).status == 200
    grants = {"sessions": [{"prefix": "agentrail:", "actions": ["read"]}]}
    token = server.post("/v1/tokens", {"subject": "ann", "grants": grants}, key).json()["token"]
    operator = server.new_operator_key()
    found = {it.operation: it for it in searches(server, token)}
    assert len(found) > 30
    assert server.place.name is not None
    with psycopg.connect(databases.url(server.place.name)) as locking:
        locking.execute(f"lock table {DATA} in access exclusive mode")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            sent = pool.map(lambda it: it.send(server, it.one_of(key, operator)), found.values())
            answers = dict(zip(found, sent, strict=True))
        locking.rollback()
    ends = {name: (it.status, it.code) for name, it in answers.items()}
    others = {name: end for name, end in ends.items() if end != (503, "deadline_exceeded")}
    assert others == {}
    # Once nothing holds them up, they are answered.
    for it in found.values():
        assert it.send(server, it.one_of(key, operator)).status in (200, 404), it.operation
