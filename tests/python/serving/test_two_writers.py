"""Two servers on one PostgreSQL write to the same threads at once: no deadlock, nothing lost."""

import random
import threading
from collections.abc import Iterator

import pytest

from support.native import Native, checkpoint, writes
from support.postgres import Databases
from support.server import Place, Server
from support.waiting import wait_until

THREADS = [f"thread-{number}" for number in range(6)]
WRITERS_PER_SERVER = 8
COMMITS = 40


@pytest.fixture
def two_servers(databases: Databases) -> Iterator[list[Server]]:
    place = Place(databases)
    servers = [Server(place), Server(place)]
    try:
        yield [server.start() for server in servers]
    finally:
        for server in servers:
            server.kill()
        place.remove()


def test_writers_of_two_servers_on_the_same_threads_all_succeed(
    two_servers: list[Server],
) -> None:
    key = two_servers[0].new_key()
    wait_until(lambda: two_servers[1].get("/v1/whoami", key).status == 200, "the key to be known")
    for thread_id in THREADS:
        Native(two_servers[0].url, key).commit(thread_id, checkpoint("0", {"a": b"root"}))
    sent: dict[str, set[str]] = {thread_id: set() for thread_id in THREADS}
    errors: list[BaseException] = []

    def write(number: int) -> None:
        order = random.Random(number)
        native = Native(two_servers[number % 2].url, key)
        try:
            for step in range(COMMITS):
                thread_id = order.choice(THREADS)
                own_id = f"{step:04}-{number:02}"
                native.commit(
                    thread_id,
                    checkpoint(own_id, {"a": own_id.encode()}, parent="0"),
                    writes("0", own_id, [own_id.encode()]),
                )
                sent[thread_id].add(own_id)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(n,)) for n in range(WRITERS_PER_SERVER * 2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert errors == []
    assert sum(map(len, sent.values())) == COMMITS * len(writers)
    for server in two_servers:
        native = Native(server.url, key)
        for thread_id in THREADS:
            views = {view["checkpoint_id"]: view for view in native.list(thread_id=thread_id)}
            root = views.pop("0")
            assert views.keys() == sent[thread_id]
            assert all(bytes(v["values"][0]["data"]) == i.encode() for i, v in views.items())
            assert {write["task_id"] for write in root["writes"]} == sent[thread_id]
            assert native.thread(thread_id)["checkpoint_count"] == len(views) + 1
