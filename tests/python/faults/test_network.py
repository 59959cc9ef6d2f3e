"""A PostgreSQL behind a bad network: swallowed packets, lost answers, cut connections, a name that leads to a standby.

A writer gets an acknowledgement or an honest 503, and what was acknowledged is there once.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from support.front import Front, Network, PlaceBehind
from support.http import Answer
from support.postgres import Postgres, Standby
from support.server import Server, free_port
from support.waiting import wait_until

WRITERS = 32
PAGE = 100
# A statement that is asked after, several times.
LONG_SECONDS = 6


class Behind:
    """A server, the front before its database, and what was acknowledged."""

    def __init__(self, front: Front, place: PlaceBehind, server: Server) -> None:
        self.front = front
        self.place = place
        self.server = server
        self.acknowledged: list[int] = []
        self._lock = threading.Lock()

    def put(self, number: int) -> Answer:
        body = {"namespace": ["n"], "key": str(number), "value": {"n": number}, "index": False}
        answer = self.server.post("/v1/store/put", body)
        if answer.status == 200:
            with self._lock:
                self.acknowledged.append(number)
        return answer

    def is_ready(self) -> bool:
        return self.server.get("/readyz").status == 200

    def check_nothing_is_lost(self) -> None:
        """Every acknowledged item is there, and each has its own value."""
        stored: dict[str, int] = {}
        while True:
            body = {"prefix": ["n"], "limit": PAGE, "offset": len(stored)}
            answer = self.server.post("/v1/store/search", body)
            assert answer.status == 200, answer
            found = answer.json()["items"]
            stored |= {item["key"]: item["value"]["n"] for item in found}
            if len(found) < PAGE:
                break
        assert {str(number) for number in self.acknowledged} <= stored.keys()
        assert all(str(number) == key for key, number in stored.items())


@pytest.fixture
def behind(syncing_postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[Behind]:
    """A parameter is the server's options."""
    options = getattr(request, "param", [])
    with Front(syncing_postgres) as front:
        place = PlaceBehind(front, "sslmode=disable")
        server = Server(place, allow_unsafe=False, options=options)
        try:
            yield Behind(front, place, server.start())
        finally:
            server.kill()
            place.remove()


def timed(call: Callable[[], Answer], record: Callable[[str, object], None]) -> Answer:
    began = time.monotonic()
    answer = call()
    record("seconds to an answer", round(time.monotonic() - began, 2))
    return answer


@pytest.mark.parametrize("network", [Network.SWALLOWS_OLD, Network.LOSES_ANSWERS])
def test_connections_that_swallow_are_given_up_and_the_write_goes_on(
    behind: Behind, network: Network, record_property: Callable[[str, object], None]
) -> None:
    assert behind.put(0).status == 200
    behind.front.become(network)
    answer = timed(lambda: behind.put(1), record_property)
    assert answer.status == 200, answer
    assert behind.put(2).status == 200
    behind.check_nothing_is_lost()


def test_a_database_that_answers_nothing_is_told_and_comes_back(
    behind: Behind, record_property: Callable[[str, object], None]
) -> None:
    assert behind.put(0).status == 200
    behind.front.become(Network.SWALLOWS)
    with ThreadPoolExecutor(WRITERS) as pool:
        calls = [
            pool.submit(timed, lambda number=number: behind.put(number), record_property)  # type: ignore[misc]
            for number in range(1, WRITERS + 1)
        ]
        answers = [call.result() for call in calls]
    assert {answer.status for answer in answers} == {503}
    assert all(answer.headers.get("retry-after") for answer in answers)
    wait_until(lambda: not behind.is_ready(), "the server to be not ready")
    behind.front.become(Network.GOOD)
    wait_until(lambda: behind.put(100).status == 200, "writes to be taken again")
    wait_until(behind.is_ready, "the server to be ready again")
    behind.check_nothing_is_lost()


def test_a_statement_that_takes_long_is_not_given_up(behind: Behind) -> None:
    assert behind.put(0).status == 200
    made = behind.front.connections
    postgres, name = behind.front.postgres, behind.server.place.name
    assert name is not None
    with psycopg.connect(postgres.url(name)) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute("select from items for update")
        call = pool.submit(behind.put, 0)
        wait_until(lambda: behind.front.connections > made, "the statement to be asked after")
        time.sleep(LONG_SECONDS)
        assert not call.done()
        holder.rollback()
        assert call.result().status == 200
    assert "given up" not in behind.server.all_output()


def test_connections_that_are_cut_cost_nothing(behind: Behind) -> None:
    for number in range(20):
        if number % 3 == 0:
            behind.front.cut()
        assert behind.put(number).status == 200
    behind.check_nothing_is_lost()


def test_a_database_that_was_made_read_only_is_not_ready_and_comes_back(behind: Behind) -> None:
    assert behind.put(0).status == 200
    postgres = behind.front.postgres
    for takes_writes in (False, True):
        value = "off" if takes_writes else "on"
        postgres.run(f"alter system set default_transaction_read_only = {value}")
        postgres.run("select pg_reload_conf()")
        if takes_writes:
            break
        wait_until(lambda: behind.put(1).status == 503, "writes to be refused")
        refused = behind.put(1)
        assert (refused.status, refused.headers.get("retry-after")) == (503, "1"), refused
        wait_until(lambda: not behind.is_ready(), "the server to be not ready")
    wait_until(lambda: behind.put(2).status == 200, "writes to be taken again")
    wait_until(behind.is_ready, "the server to be ready again")
    behind.check_nothing_is_lost()


def test_a_user_without_a_free_connection_is_told_and_comes_back(
    syncing_postgres: Postgres,
) -> None:
    with Front(syncing_postgres) as front:
        place = PlaceBehind(front)
        syncing_postgres.run("create role agents login")
        syncing_postgres.run(f'alter database "{place.name}" owner to agents')
        place.use(front.url(str(place.name)).replace("postgres@", "agents@"))
        server = Server(place, allow_unsafe=False)
        try:
            behind = Behind(front, place, server.start())
            assert behind.put(0).status == 200
            syncing_postgres.run("alter role agents connection limit 0")
            front.cut()
            answer = behind.put(1)
            assert (answer.status, bool(answer.headers.get("retry-after"))) == (503, True), answer
            syncing_postgres.run("alter role agents connection limit -1")
            wait_until(lambda: behind.put(2).status == 200, "writes to be taken again")
            behind.check_nothing_is_lost()
        finally:
            server.kill()
            place.remove()


@pytest.fixture
def standby(syncing_postgres: Postgres) -> Iterator[Standby]:
    standby = Standby(syncing_postgres)
    try:
        standby.start()
        yield standby
    finally:
        standby.remove()


def write_until(behind: Behind, numbers: "Iterator[int]", is_over: threading.Event) -> list[int]:
    """Statuses of one writer, which begins again after a 503."""
    statuses = []
    while not is_over.is_set():
        statuses.append(behind.put(next(numbers)).status)
    return statuses


def fail_over(behind: Behind, primary: Postgres, standby: Standby) -> tuple[set[int], float]:
    """Statuses of writers while the primary dies and its standby is promoted, and seconds from there to the next acknowledgement."""
    numbers, is_over = itertools.count(1), threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        try:
            writers = [pool.submit(write_until, behind, numbers, is_over) for _ in range(WRITERS)]
            wait_until(lambda: len(behind.acknowledged) > WRITERS * 5, "writes")
            primary.shut_down_immediately()
            standby.promote()
            behind.front.serve(standby)
            promoted, before = time.monotonic(), len(behind.acknowledged)
            wait_until(lambda: len(behind.acknowledged) > before + WRITERS, "writes again")
            seconds = time.monotonic() - promoted
        finally:
            is_over.set()
    return set().union(*(writer.result() for writer in writers)), seconds


@pytest.fixture
def replicated(syncing_postgres: Postgres, standby: Standby) -> Postgres:
    """A primary that acknowledges what its standby has applied."""
    standby_name = "any 1 (walreceiver)"
    syncing_postgres.run(f"alter system set synchronous_standby_names = '{standby_name}'")
    syncing_postgres.run("select pg_reload_conf()")
    return syncing_postgres


def test_a_promoted_standby_behind_the_same_name_is_used(
    replicated: Postgres,
    standby: Standby,
    behind: Behind,
    record_property: Callable[[str, object], None],
) -> None:
    statuses, seconds = fail_over(behind, replicated, standby)
    record_property("seconds to the next acknowledged write", round(seconds, 2))
    assert statuses <= {200, 503}
    behind.check_nothing_is_lost()
    behind.place.forget()


def test_of_several_servers_the_one_that_takes_writes_is_used(
    replicated: Postgres, standby: Standby, record_property: Callable[[str, object], None]
) -> None:
    """A port where nobody listens, the standby, and the primary: then the standby is promoted."""
    with Front(replicated) as first, Front(standby) as second:
        place = PlaceBehind(first)
        assert place.name is not None
        hosts = f"127.0.0.1:{free_port()},127.0.0.1:{second.port},127.0.0.1"
        place.use(first.url(place.name, "target_session_attrs=read-write", host=hosts))
        server = Server(place, allow_unsafe=False)
        try:
            behind = Behind(first, place, server.start())
            statuses, seconds = fail_over(behind, replicated, standby)
            record_property("seconds to the next acknowledged write", round(seconds, 2))
            assert statuses <= {200, 503}
            behind.check_nothing_is_lost()
        finally:
            server.kill()
            place.forget()


@pytest.mark.parametrize("behind", [[], ["--log-filter", "error"]], indirect=True)
def test_a_write_that_no_standby_has_is_not_acknowledged(
    replicated: Postgres, standby: Standby, behind: Behind
) -> None:
    """PostgreSQL tells a commit as done whose wait for the standby was cancelled."""
    assert behind.put(0).status == 200
    standby.shut_down_immediately()
    waiting = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(behind.put, 1)
        cancelled = 0
        while not call.done():
            cancelled += len(replicated.run(waiting))
        answer = call.result()
    assert cancelled > 0
    assert (answer.status, answer.json()["code"]) == (503, "commit_unknown"), answer
    standby.start()
    wait_until(lambda: behind.put(1).status == 200, "writes to be taken again")


def test_a_standby_alone_and_two_primaries_are_refused(
    syncing_postgres: Postgres, standby: Standby
) -> None:
    with Front(syncing_postgres) as first, Front(standby) as second:
        place = PlaceBehind(first)
        try:
            place.use(second.url("postgres"))
            assert "takes no writes: it is a read-only standby" in refused(place)
            standby.promote()
            place.use(first.url("postgres", host=f"localhost:{second.port},localhost"))
            assert "more than one server that takes writes" in refused(place)
        finally:
            place.remove()


def refused(place: PlaceBehind) -> str:
    """What a command says that cannot use the database."""
    done = Server(place).command("migrate")
    assert done.returncode in (2, 8), done
    return done.stderr
