"""Retention by the real program: a graph that waits for an answer is swept and goes on, policies act and report."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langgraph.types import Command
from threadkeep import AsyncClient, Client
from threadkeep.calls import ThreadTtl
from threadkeep.errors import InvalidError, NotGrantedError
from threadkeep.langgraph import ThreadkeepSaver

from equivalence import graphs
from support.server import Server
from support.waiting import wait_until

INTERVAL = ["--retention-interval", "1"]


@pytest.fixture
def client(start_server: Callable[..., Server]) -> Client:
    server = start_server(options=INTERVAL)
    return Client(server.url, api_key=server.new_key())


def saver_of(client: Client) -> ThreadkeepSaver:
    settings = client._connection.settings
    return ThreadkeepSaver(settings.url, api_key=settings.api_key)


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def count(client: Client, name: str) -> int:
    found = client.get_thread(name)
    return found.checkpoint_count if found else 0


def finished(client: Client, policy_thread: str | None = None) -> Any:
    """The next report of a policy that is asked to run now."""
    known = {it.report_id for it in client.list_retention_reports().reports}
    assert client.run_retention(policy_thread) >= 1

    def report() -> Any:
        reports = client.list_retention_reports().reports
        new = [it for it in reports if it.report_id not in known and it.thread_id == policy_thread]
        return new[-1] if new else None

    return wait_until(report, "a report of the round")


async def test_policies_are_listed_in_pages(client: Client) -> None:
    settings = client._connection.settings
    other = AsyncClient(settings.url, api_key=settings.api_key)
    put = [client.put_retention_policy(keep_last=3), client.put_retention_policy("b", keep_last=1)]
    put.insert(1, client.put_retention_policy("a"))
    assert [it.thread_id for it in put] == [None, "a", "b"]
    # What was put is due, and a round moves its time.
    stored = client.list_retention_policies()
    assert [replace(it, due_at="") for it in stored.policies] == [
        replace(it, due_at="") for it in put
    ]
    first = client.list_retention_policies(limit=2)
    rest = await other.list_retention_policies(cursor=first.next_cursor)
    assert [it.thread_id for it in [*first.policies, *rest.policies]] == [None, "a", "b"]
    assert (stored.next_cursor, rest.next_cursor) == (None, None)
    ann = Client(settings.url, api_key=client.keys.create(subject="ann").key)
    with pytest.raises(NotGrantedError):
        ann.list_retention_policies()


@pytest.mark.parametrize("kind", graphs.KINDS)
@pytest.mark.parametrize("build", ["asking", "nested"])
def test_a_graph_that_waits_is_swept_and_resumes(client: Client, kind: str, build: str) -> None:
    def graph(saver: ThreadkeepSaver) -> Any:
        if build == "asking":
            return graphs.asking(kind, saver)
        return graphs.nested(kind, saver, own_memory=False, asks=True)

    saver = saver_of(client)

    def go_on(name: str, answer: str) -> Any:
        """Answer until nothing is asked any more."""
        while graph(saver).get_state(thread(name)).interrupts:
            graph(saver).invoke(Command(resume=answer), thread(name))
        return graph(saver).get_state(thread(name))

    for name in ("swept", "left alone"):
        for turn in range(3):
            go_on(name, f"answer {turn}")
            graph(saver).invoke({"log": [f"turn {turn}"]}, thread(name))
        if build == "asking":
            # Waits at its second question, with the first answer among the pending writes.
            graph(saver).invoke(Command(resume="the first answer"), thread(name))
    graphs.chain(kind, saver).invoke({"log": ["turn"]}, thread("waits for nobody"))
    client.put_retention_policy("left alone")
    before = count(client, "swept")
    client.put_retention_policy(keep_last=1, expire_after_seconds=1, keep_interrupted=True)
    # From here on the others would have expired too, did they not wait.
    wait_until(lambda: client.get_thread("waits for nobody") is None, "the thread to expire")
    assert finished(client).errors == 0
    assert 1 <= count(client, "swept") < before
    # Both a saver that remembers what was there, and one that knows nothing.
    for reader in (saver, saver_of(client)):
        swept, alone = (graph(reader).get_state(thread(name)) for name in ("swept", "left alone"))
        assert (swept.values, swept.next) == (alone.values, alone.next)
        assert [it.value for it in swept.interrupts] == [it.value for it in alone.interrupts]
        assert swept.interrupts
    ends = [go_on(name, "the last answer") for name in ("swept", "left alone")]
    assert ends[0].values == ends[1].values
    assert ends[0].next == ()
    if build == "asking":
        assert "the first answer likes the last answer" in ends[0].values["log"]


def test_policies_say_first_what_they_do(client: Client) -> None:
    saver = saver_of(client)
    for name in ("a", "b"):
        for turn in range(4):
            graphs.chain("plain", saver).invoke({"log": [f"turn {turn}"]}, thread(name))
    sizes = {name: count(client, name) for name in ("a", "b")}
    would = client.prune_threads(["a", "b"], keep_last=2, dry_run=True)
    assert [it.checkpoints for it in would.threads] == [sizes["a"] - 2, sizes["b"] - 2]
    assert would.total.stored_bytes > 0
    client.put_retention_policy(keep_last=2, dry_run=True)
    dry = finished(client)
    assert (dry.dry_run, dry.removed, dry.threads_pruned) == (True, would.total, 2)
    assert {name: count(client, name) for name in ("a", "b")} == sizes
    client.put_retention_policy("b")
    client.put_retention_policy(keep_last=2)
    wait_until(lambda: count(client, "a") == 2, "the policy to act")
    assert count(client, "b") == sizes["b"], "exempt"
    assert client.prune_threads(["b"], keep_last=2).threads[0] == would.threads[1]
    client.delete_retention_policy()
    assert client.get_retention_policy() is None
    policy = client.get_retention_policy("b")
    assert policy is not None
    assert (policy.thread_id, policy.keep_last) == ("b", None)


async def test_the_asynchronous_client_does_the_same(client: Client) -> None:
    settings = client._connection.settings
    other = AsyncClient(settings.url, api_key=settings.api_key)
    graphs.chain("plain", saver_of(client)).invoke({"log": ["turn"]}, thread("a"))
    put = await other.put_retention_policy("a", older_than_seconds=3600, dry_run=True)
    for policy in (await other.get_retention_policy("a"), client.get_retention_policy("a")):
        assert policy is not None
        assert replace(policy, due_at=put.due_at) == put, "a run has moved `due_at` at most"
    assert await other.run_retention("a") == 1
    report = await other.prune_threads(["a"], older_than=3600, dry_run=True)
    assert report.total.checkpoints == 0
    wait_until(lambda: client.list_retention_reports(thread_id="a").reports, "a report")
    page = await other.list_retention_reports(thread_id="a", limit=1)
    assert page.reports[0].thread_id == "a"
    await other.delete_retention_policy("a")
    assert await other.get_retention_policy("a") is None
    with pytest.raises(InvalidError) as caught:
        await other.put_retention_policy(keep_last=0)
    assert (caught.value.field, caught.value.limit) == ("keep_last", 1_000_000)
    await other.aclose()


def test_a_thread_expires_under_a_server_that_was_killed_and_came_back(
    start_server: Callable[..., Server],
) -> None:
    server = start_server(options=INTERVAL)
    client = Client(server.url, api_key=server.new_key())
    graphs.chain("plain", saver_of(client)).invoke({"log": ["turn"]}, thread("a"))
    client.put_retention_policy(expire_after_seconds=2)
    server.kill()
    server.start()
    wait_until(lambda: client.get_thread("a") is None, "the thread to expire")

    def its_report() -> Any:
        reports = client.list_retention_reports().reports
        return next((it for it in reports if it.threads_expired), None)

    report = wait_until(its_report, "its report")
    assert (report.threads_expired, report.removed.checkpoints) == (1, 5)


def test_threads_go_or_shrink_when_their_ttl_ends(client: Client) -> None:
    saver = saver_of(client)
    for name in ("goes", "shrinks", "stays"):
        for turn in range(3):
            graphs.chain(graphs.KINDS[0], saver).invoke({"log": [str(turn)]}, thread(name))
    shortly = 0.01
    client.threads.update("goes", ttl=ThreadTtl(shortly))
    client.threads.update("shrinks", ttl=ThreadTtl(shortly, "keep_latest"))
    client.threads.update("stays", ttl=ThreadTtl(60))
    wait_until(lambda: client.get_thread("goes") is None, "the thread to be deleted")
    wait_until(lambda: count(client, "shrinks") == 1, "the thread to shrink")
    assert count(client, "stays") > 3
    graph = graphs.chain(graphs.KINDS[0], saver)
    assert graph.get_state(thread("shrinks")).values == graph.get_state(thread("stays")).values
    assert client.list_retention_reports().reports == []
