"""Differences on the wire, with a real graph and a real server: fewer bytes, the same states."""

import asyncio
import re
from collections.abc import Callable

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from threadkeep.langgraph import ThreadkeepSaver

from support.proxy import Proxy
from support.server import Server
from wire import chat

TURNS = 8


@pytest.fixture(scope="module")
def expected() -> list[object]:
    """The states of the conversation on LangGraph's own saver."""
    saver = InMemorySaver()
    talk(saver, range(TURNS))
    return chat.history(saver)


def talk(saver: object, turns: range, thread_id: str = "t") -> None:
    graph = chat.graph_with(saver)
    for number in turns:
        graph.invoke(chat.turn(number), chat.config(thread_id))


def refused_commits(server: Server) -> int:
    """How often the server asked for whole values."""
    text = server.metrics()
    route = 'route="/v1/checkpoints/commit",status="409"'
    found = re.search(rf"threadkeep_http_request_seconds_count{{.*{route}}} (\d+)", text)
    return int(found[1]) if found else 0


def counted(server: Server, api_key: str, differences: bool) -> tuple[Proxy, ThreadkeepSaver]:
    """A saver behind a proxy. The standard library's client does not ask for compressed answers."""
    proxy = Proxy(server.url)
    saver = ThreadkeepSaver(
        proxy.url,
        api_key=api_key,
        transport="stdlib",
        difference_bytes_max=32 << 20 if differences else 0,
    )
    return proxy, saver


def test_a_conversation_sends_and_reads_a_fraction_of_its_values(
    server: Server, expected: list[object]
) -> None:
    sent, received = [], []
    for differences in (True, False):
        proxy, saver = counted(server, server.new_key(), differences)
        with proxy:
            talk(saver, range(TURNS))
            sent.append(proxy.sent)
            received.append(proxy.received)
            assert chat.history(saver) == expected
    print(f"sent {sent[0]:,} of {sent[1]:,} bytes, received {received[0]:,} of {received[1]:,}")
    assert sent[0] * 6 < sent[1]
    assert received[0] * 6 < received[1]


def test_a_history_that_is_read_for_the_first_time_comes_as_differences(
    server: Server, api_key: str, expected: list[object]
) -> None:
    talk(ThreadkeepSaver(server.url, api_key=api_key), range(TURNS))
    received = []
    for differences in (True, False):
        proxy, reader = counted(server, api_key, differences)
        with proxy:
            assert chat.history(reader) == expected
            received.append(proxy.received)
    print(f"received {received[0]:,} of {received[1]:,} bytes")
    # Only ends are compared, so each list of sends comes whole once.
    assert received[0] * 2 < received[1]


def test_coroutines_send_as_little(server: Server, expected: list[object]) -> None:
    async def talk_and_close(saver: ThreadkeepSaver) -> None:
        graph = chat.graph_with(saver)
        for number in range(TURNS):
            await graph.ainvoke(chat.turn(number), chat.config())
        await saver.aclose()

    sent = []
    for difference_bytes_max in (32 << 20, 0):
        api_key = server.new_key()
        with Proxy(server.url) as proxy:
            saver = ThreadkeepSaver(
                proxy.url, api_key=api_key, difference_bytes_max=difference_bytes_max
            )
            asyncio.run(talk_and_close(saver))
            sent.append(proxy.sent)
        assert chat.history(ThreadkeepSaver(server.url, api_key=api_key)) == expected
    print(f"sent {sent[0]:,} of {sent[1]:,} bytes")
    assert sent[0] * 6 < sent[1]


def test_a_restart_in_the_middle_goes_unnoticed(own_server: Server, expected: list[object]) -> None:
    saver = ThreadkeepSaver(own_server.url, api_key=own_server.new_key())
    talk(saver, range(TURNS // 2))
    assert refused_commits(own_server) == 0
    restarts = []

    def restart_once() -> None:
        if not restarts:
            restarts.append(own_server.stop())
            own_server.start()

    # In the middle of a turn: at its start a read would tell the new server the values.
    graph = chat.graph_with(saver, restart_once)
    graph.invoke(chat.turn(TURNS // 2), chat.config())
    assert restarts == [0]
    assert 1 <= refused_commits(own_server) <= 2
    talk(saver, range(TURNS // 2 + 1, TURNS))
    assert refused_commits(own_server) <= 2
    assert chat.history(saver) == expected


def test_a_server_without_memory_for_values_gets_everything_whole(
    start_server: Callable[..., Server], expected: list[object]
) -> None:
    server = start_server(options=["--recent-bytes-max", "0"])
    saver = ThreadkeepSaver(server.url, api_key=server.new_key())
    talk(saver, range(TURNS))
    assert chat.history(saver) == expected
    assert refused_commits(server) >= 1


def test_two_savers_on_one_thread_learn_from_each_other(
    server: Server, api_key: str, expected: list[object]
) -> None:
    savers = [ThreadkeepSaver(server.url, api_key=api_key) for _ in range(2)]
    for number in range(TURNS):
        talk(savers[number % 2], range(number, number + 1))
    for saver in savers:
        assert chat.history(saver) == expected


def test_a_thread_made_anew_after_its_deletion_holds_only_its_own(
    server: Server, api_key: str, expected: list[object]
) -> None:
    savers = [ThreadkeepSaver(server.url, api_key=api_key) for _ in range(2)]
    talk(savers[0], range(TURNS))
    assert chat.history(savers[1]) == expected
    savers[0].delete_thread("t")
    assert savers[1].get_tuple(chat.config()) is None
    # The second saver still holds the old values, which the server does not know any more.
    talk(savers[1], range(TURNS))
    assert chat.history(savers[0]) == expected
