"""Quotas and the audit log by the real program: set by the operator, felt and read by clients."""

from collections.abc import Callable

import pytest
from threadkeep import AsyncClient, Client
from threadkeep.errors import QuotaExceededError, UnauthorizedError, UnavailableError
from threadkeep.langgraph import ThreadkeepSaver

from equivalence import graphs
from support.server import Server
from support.waiting import wait_until


def turn(server: Server, key: str, thread: str) -> None:
    saver = ThreadkeepSaver(server.url, api_key=key)
    config = {"configurable": {"thread_id": thread}}
    graphs.chain("plain", saver).invoke({"log": ["turn"]}, config)


def key_of(server: Server, tenant: str) -> str:
    return server.make_keys([tenant])[0]


def command(server: Server, *arguments: str) -> str:
    done = server.command(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    return start_server()


def test_a_quota_is_felt_within_seconds_and_deleting_makes_room(server: Server) -> None:
    key = key_of(server, "acme")
    client = Client(server.url, api_key=key)
    turn(server, key, "a")
    shown = command(server, "quotas", "set", "--tenant", "acme", "--threads-max", "1")
    assert "threads\t1\t1\n" in shown
    wait_until(lambda: client.usage().quota.threads_max == 1, "the quota to arrive")
    wait_until(lambda: client.usage().threads == 1, "the thread to be counted")
    turn(server, key, "a")
    with pytest.raises(QuotaExceededError) as caught:
        turn(server, key, "b")
    assert (caught.value.field, caught.value.limit) == ("threads", 1)
    ThreadkeepSaver(server.url, api_key=key).delete_thread("a")
    wait_until(lambda: client.usage().threads == 0, "the room to be seen")
    turn(server, key, "b")
    # A tenant without a quota never noticed.
    other = key_of(server, "globex")
    for thread in ("a", "b"):
        turn(server, other, thread)
    assert Client(server.url, api_key=other).usage().threads == 2


async def test_the_log_has_the_acts_and_the_refusals(server: Server) -> None:
    key = key_of(server, "acme")
    patient = Client(server.url, api_key=key)
    client = patient.with_options(timeout=0.5)
    other = AsyncClient(server.url, api_key=key_of(server, "globex"))
    client.put_retention_policy("thread", keep_last=7)
    acts = [(it.act, it.object, it.details.get("keep_last")) for it in client.audit().events]
    put, created = acts
    assert put == ("policy_put", "thread", 7)
    assert created[0] == "key_created"
    assert client.audit().events[0].actor == created[1]
    assert [it.act for it in (await other.audit()).events] == ["key_created"]
    command(server, "quotas", "set", "--tenant", "acme", "--requests-per-second-per-token", "2")
    wait_until(lambda: client.usage().quota.requests_per_second_per_token == 2, "the quota")
    answers = []
    for _ in range(20):
        try:
            client.whoami()
        except UnavailableError as error:
            answers.append((error.code, error.status, error.limit))
    assert len(answers) >= 10
    assert set(answers) == {("too_many_requests", 429, 2)}
    with pytest.raises(UnauthorizedError):
        Client(server.url, api_key="tk_nobody").whoami()

    def counted() -> bool:
        # Refused itself now and then; it waits as it is told.
        refused = sum(it.count for it in patient.audit(act="refused").events)
        return refused >= len(answers)

    wait_until(counted, "the refusals")
    events = patient.audit(act="refused").events
    assert {it.details["code"] for it in events} == {"too_many_requests"}
    assert len(events) < 10
    await other.aclose()
    lines = command(server, "audit", "--tenant", "acme", "--act", "quota_set").splitlines()
    assert len(lines) == 1
    assert '"requests_per_second_per_token":2' in lines[0]
    unknown = wait_until(lambda: command(server, "audit", "--unknown"), "unknown callers")
    assert '"code":"unauthorized"' in unknown
    assert "tk_nobody" not in unknown
