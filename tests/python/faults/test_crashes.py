"""Clients commit without pause while the server and the database crash again and again.

Every acknowledged commit is there afterwards, none is half there, none is doubled by a retry.
A short outage of the database may be invisible to the clients: the server waits it out.
"""

import signal
from collections.abc import Callable

import pytest

from support import settings
from support.committers import Crowd, Patient
from support.native import Native
from support.postgres import Postgres
from support.server import Server


def crash_again_and_again(crowd: Crowd, crash_and_recover: Callable[[], None], times: int) -> None:
    """Between two crashes, and after the last, a number of commits must be acknowledged."""
    for _ in range(times):
        crowd.wait_for_more()
        crash_and_recover()
    crowd.wait_for_more()


def kill_and_start(server: Server) -> None:
    server.kill()
    server.start()


def shut_down_and_start(postgres: Postgres) -> None:
    postgres.shut_down_immediately()
    postgres.start()


def kill_and_start_database(postgres: Postgres) -> None:
    """SIGKILL of the postmaster; its processes end when they miss it."""
    postgres.stop(signal.SIGKILL)
    postgres.start()


def check(server: Server, crowd: Crowd, native: Native) -> None:
    """All is there, no thread seems to have tasks, and the doctor finds nothing."""
    crowd.check_stored(native)
    for member in crowd.members:
        thread = native.thread(member.thread_id)
        assert thread and thread["status"] == "idle"
    examined = server.command("doctor")
    assert examined.returncode == 0, examined.stdout + examined.stderr


def test_what_was_acknowledged_survives_sigkill_of_the_server(durable_server: Server) -> None:
    key = durable_server.new_key()

    with Crowd(durable_server, key) as crowd:
        crash_again_and_again(crowd, lambda: kill_and_start(durable_server), settings.KILLS)

    assert crowd.retries >= settings.KILLS, "the crashes hit nobody, so nothing was shown"
    kill_and_start(durable_server)
    check(durable_server, crowd, Native(durable_server.url, key))


@pytest.mark.parametrize("crash", [shut_down_and_start, kill_and_start_database])
def test_what_was_acknowledged_survives_a_crash_of_the_database(
    durable_server_on_postgres: Server,
    syncing_postgres: Postgres,
    crash: Callable[[Postgres], None],
) -> None:
    server, key = durable_server_on_postgres, durable_server_on_postgres.new_key()

    with Crowd(server, key) as crowd:
        crash_again_and_again(crowd, lambda: crash(syncing_postgres), settings.DATABASE_SHUTDOWNS)

    assert server.running(), "the server must outlive its database"
    shut_down_and_start(syncing_postgres)
    server.wait_ready()
    check(server, crowd, Patient(server.url, key))


def test_what_was_acknowledged_survives_a_crash_of_server_and_database_together(
    durable_server_on_postgres: Server, syncing_postgres: Postgres
) -> None:
    server, key = durable_server_on_postgres, durable_server_on_postgres.new_key()

    def both() -> None:
        server.kill()
        shut_down_and_start(syncing_postgres)
        server.start()

    with Crowd(server, key) as crowd:
        crash_again_and_again(crowd, both, settings.DATABASE_SHUTDOWNS)

    assert crowd.retries >= settings.DATABASE_SHUTDOWNS, "the crashes hit nobody"
    check(server, crowd, Patient(server.url, key))
