"""What is sent again, when, and as what a final failure is raised."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from typing import Any

import pytest

from fake_server import FakeServer, Fault
from support import checkpoint, config, metadata
from threadkeep import Client
from threadkeep.errors import (
    DocumentNotFoundError,
    InternalError,
    InvalidError,
    NotFoundError,
    ProtocolError,
    SessionNotFoundError,
    ThreadRestoredError,
    TransportError,
    UnauthorizedError,
    UnavailableError,
)
from threadkeep.http import connection, retry
from threadkeep.http.settings import WRITE_SECONDS_MAX, budget_of, settings_of
from threadkeep.http.transport import Answer, SendFailedError
from threadkeep.langgraph import ThreadkeepSaver


def put(saver: ThreadkeepSaver) -> Any:
    return saver.put(config(), checkpoint("c1", {"a": 1}), metadata(), {"a": 1})


@pytest.mark.parametrize("apply", [True, False])
def test_a_lost_reply_is_repaired_by_sending_again(
    saver: ThreadkeepSaver, server: FakeServer, apply: bool
) -> None:
    server.faults = [Fault(drop=True, apply=apply)]
    put(saver)
    assert len(server.commits()) == 2
    found = saver.get_tuple(config())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"a": 1}


async def test_a_lost_reply_is_repaired_for_coroutines(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.faults = [Fault(drop=True, apply=True), Fault(status=503)]
    await saver.aput(config(), checkpoint("c1", {"a": 1}), metadata(), {"a": 1})
    assert len(server.commits()) == 3


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_a_later_attempt_may_change_is_sent_again(
    saver: ThreadkeepSaver, server: FakeServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection.time, "sleep", lambda _: None)
    server.faults = [Fault(status=status)]
    put(saver)
    assert len(server.commits()) == 2


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "unauthorized", UnauthorizedError),
        (404, "not_found", NotFoundError),
        (404, "session_not_found", SessionNotFoundError),
        (404, "document_not_found", DocumentNotFoundError),
        (409, "thread_restored", ThreadRestoredError),
        (500, "internal", InternalError),
        (500, "a_code_of_later", InternalError),
        (405, "method_not_allowed", ProtocolError),
    ],
)
def test_what_no_attempt_can_change_is_raised_at_once(
    saver: ThreadkeepSaver, server: FakeServer, status: int, code: str, kind: type
) -> None:
    server.faults = [Fault(status=status, code=code)] * 9
    with pytest.raises(kind) as raised:
        saver.get_tuple(config())
    assert len(server.seen) == 1
    error: Any = raised.value
    assert (error.status, error.code, error.request_id) == (status, code, "r-1")


def test_attempts_end_with_the_time_of_the_call(saver: ThreadkeepSaver, server: FakeServer) -> None:
    server.faults = [Fault(status=503, code="overloaded")] * 999
    begun = time.monotonic()
    with pytest.raises(UnavailableError) as raised:
        saver.with_options(timeout=1).get_tuple(config())
    assert raised.value.code == "overloaded"
    assert time.monotonic() - begun < 1.5
    assert len(server.seen) > 4
    server.faults = [Fault(status=503, code="overloaded")] * 9
    assert saver.get_tuple(config()) is None, "with the usual time it goes on"


def test_retry_after_is_honoured(saver: ThreadkeepSaver, server: FakeServer) -> None:
    server.faults = [Fault(status=503, retry_after="1")]
    put(saver)
    first, second = server.requests("/commit")
    assert second.begun - first.ended >= 0.9


def free_port() -> int:
    """Below the range of outgoing connections: a client that tries and tries a port of that range
    can be given the very port, and talks to itself."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as free:
            try:
                free.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def test_nobody_there_is_said_with_the_address_and_what_to_do(
    transport: Any, caplog: pytest.LogCaptureFixture
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    saver = ThreadkeepSaver(url, transport=transport, timeout=2)
    begun = time.monotonic()
    with pytest.raises(TransportError, match=f"{url}.*refused.*threadkeep serve"):
        saver.get_tuple(config())
    assert 1 < time.monotonic() - begun < 2.5
    with pytest.raises(TransportError):
        saver.with_options(timeout=0.2).get_tuple(config())
    said = [record.message for record in caplog.records if url in record.message]
    assert len(said) == 1, "while it lasts, once"


@pytest.mark.parametrize("seconds", [0.5, 1.5])
def test_a_server_that_comes_back_in_time_is_not_missed(transport: Any, seconds: float) -> None:
    port, servers = free_port(), []
    timer = threading.Timer(seconds, lambda: servers.append(FakeServer(port=port).start()))
    timer.start()
    saver = ThreadkeepSaver(f"http://127.0.0.1:{port}", transport=transport, timeout=20)
    try:
        put(saver)
        timer.join()
        assert len(servers[0].commits()) == 1
    finally:
        timer.join()
        servers[0].stop()


@pytest.mark.parametrize("is_write", [True, False])
def test_a_server_that_never_answers_is_an_error_in_time(
    server: FakeServer, transport: Any, is_write: bool
) -> None:
    gate = threading.Event()
    server.faults = [Fault(gate=gate)] * 9
    saver = ThreadkeepSaver(server.url, transport=transport, timeout=1.5)
    begun = time.monotonic()
    with pytest.raises(TransportError, match=f"{server.url} took the request and did not answer"):
        put(saver) if is_write else saver.get_tuple(config())
    took = time.monotonic() - begun
    gate.set()
    assert 1.3 < took < 2.2
    # A write may still run; a read is asked again, on a connection of its own.
    assert len(server.seen) == (1 if is_write else 2)
    assert len({seen.client_port for seen in server.seen}) == len(server.seen)


async def test_a_server_that_never_answers_is_an_error_in_time_for_coroutines(
    server: FakeServer, transport: Any
) -> None:
    gate = threading.Event()
    server.faults = [Fault(gate=gate)] * 9
    saver = ThreadkeepSaver(server.url, transport=transport).with_options(timeout=1)
    begun = time.monotonic()
    outcomes = await asyncio.gather(
        saver.aput(config(), checkpoint("c1", {"a": 1}), metadata(), {"a": 1}),
        saver.aput_writes(config(checkpoint_id="c1"), [("a", 1)], "task"),
        saver.aget_tuple(config("other")),
        return_exceptions=True,
    )
    took = time.monotonic() - begun
    gate.set()
    assert [type(outcome) for outcome in outcomes] == [TransportError] * 3
    assert took < 1.5, "whoever waits behind another does not wait twice"


def test_connections_that_fell_silent_are_not_used_again(
    server: FakeServer, transport: Any
) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport, timeout=1.5)
    for _ in range(2):
        saver.get_tuple(config())
    gate = threading.Event()
    server.faults = [Fault(gate=gate)]
    assert saver.get_tuple(config()) is None, "the read got its answer on another connection"
    put(saver)
    gate.set()
    first, _, _, again, last = server.seen
    assert first.client_port != again.client_port == last.client_port


def test_a_body_adds_time_for_its_bytes() -> None:
    small = retry.Attempts(settings_of(None, None, timeout=2), is_write=True, body_bytes=1_000)
    large = retry.Attempts(settings_of(None, None, timeout=2), is_write=True, body_bytes=64 << 20)
    assert small.limits().seconds <= 2.01
    assert 69 - 1 <= large.limits().seconds <= 70


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), 1e9])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    for make in (
        lambda: ThreadkeepSaver(timeout=timeout),
        lambda: Client().with_options(timeout=timeout),
    ):
        with pytest.raises(InvalidError) as raised:
            make()
        assert raised.value.field == "timeout"


def test_without_a_timeout_a_call_waits(server: FakeServer, transport: Any) -> None:
    server.faults = [Fault(seconds=1.2)]
    hasty = Client(server.url, transport=transport, timeout=0.5)
    assert hasty.with_options(timeout=None).limits() == {"ops": 256}
    assert Client(server.url, transport=transport, timeout=None).limits() == {"ops": 256}


@pytest.mark.parametrize(
    "outcome", [SendFailedError("late", "silent"), Answer(504, "text/html", None, b"")]
)
def test_no_second_attempt_while_the_first_may_still_run(outcome: Any) -> None:
    chosen = settings_of(None, None, timeout=20)
    over = budget_of(20) + WRITE_SECONDS_MAX
    write = retry.Attempts(chosen, is_write=True)
    assert write.seconds_until_next(outcome) >= over - 0.1
    read = retry.Attempts(chosen, is_write=False)
    assert read.seconds_until_next(outcome) < 1
    for kind in ("lost", "unreached"):
        again = retry.Attempts(chosen, is_write=True)
        assert again.seconds_until_next(SendFailedError("reset", kind)) < 1


def test_a_write_that_a_proxy_gave_up_is_sent_again_after_that(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WRITE_SECONDS_MAX", 1.0)
    saver = ThreadkeepSaver(server.url, transport=transport, timeout=4)
    server.faults = [Fault(status=504)]
    begun = time.monotonic()
    put(saver)
    budgets = [int(s.headers["threadkeep-budget-ms"]) for s in server.requests("/commit")]
    assert budgets[0] == 2_000
    assert 100 < budgets[1] <= 500, "half of what is left"
    assert time.monotonic() - begun >= 3, "the budget of 2 and the running time of 1 are over"


def test_the_budget_is_less_than_what_the_client_waits() -> None:
    for timeout in (0.01, 1, 10, 60, 600):
        limits = retry.Attempts(settings_of(None, None, timeout=timeout), is_write=True).limits()
        assert limits.budget_seconds is not None
        assert limits.budget_seconds <= 30
        assert limits.budget_seconds < limits.seconds


@pytest.mark.parametrize("header", ["nan", "-5", "soon", "", None, "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_strange_retry_after_does_no_harm(header: str | None) -> None:
    attempts = retry.Attempts(settings_of(None, None), is_write=True)
    assert 0 <= attempts.seconds_until_next(Answer(503, "", header, b"")) < 1


def test_waits_grow_and_are_bounded() -> None:
    for outcome, longest in (
        (SendFailedError("no", "unreached"), retry.UNREACHED_WAIT_SECONDS_MAX),
        (Answer(503, "", None, b""), retry.WAIT_SECONDS_MAX),
    ):
        attempts = retry.Attempts(settings_of(None, None), is_write=False)
        waits = [attempts.seconds_until_next(outcome) for _ in range(19)]
        assert waits[0] <= retry.WAIT_SECONDS_FIRST
        assert longest / 2 <= max(waits) <= longest


def test_a_wait_that_ends_too_late_is_not_begun() -> None:
    attempts = retry.Attempts(settings_of(None, None, timeout=5), is_write=False)
    with pytest.raises(UnavailableError):
        attempts.seconds_until_next(Answer(503, "", "6", b""))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(raw=b"<html>", content_type="text/html"),
        Fault(raw=b"", content_type="application/msgpack"),
        Fault(raw=b"\x80", content_type=""),
        Fault(raw=b"\x80"),
        Fault(raw=b"\x90"),
        Fault(raw=b"\xc0"),
        Fault(cut=7),
        Fault(raw=b"x", status=302),
        Fault(raw=b"<html>", status=404, content_type="text/html"),
        Fault(raw=b"{", status=404, content_type="application/problem+json"),
    ],
)
def test_an_answer_that_is_not_understood_is_never_none(
    saver: ThreadkeepSaver, server: FakeServer, fault: Fault
) -> None:
    server.faults = [fault]
    with pytest.raises(ProtocolError):
        saver.get_tuple(config())
    assert len(server.seen) == 1
    server.faults = [fault]
    with pytest.raises(ProtocolError):
        list(saver.list(config()))
    if fault.raw != b"\x80" or not fault.content_type:
        server.faults = [fault]
        with pytest.raises(ProtocolError):
            put(saver)


def test_a_deletion_is_believed_only_when_the_answer_is_ours(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    for raw in (b"\x90", b"\xc0", b""):
        server.faults = [Fault(raw=raw)]
        with pytest.raises(ProtocolError):
            saver.delete_thread("t")


def test_a_commit_answer_without_generation_is_an_error(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.faults = [Fault(raw=b"\x80")]
    with pytest.raises(ProtocolError):
        put(saver)


def test_a_proxys_page_while_the_server_restarts_is_sent_again(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.faults = [Fault(raw=b"<html>", status=502, content_type="text/html")]
    assert saver.get_tuple(config()) is None
    assert len(server.seen) == 2


def test_a_copy_keeps_one_key_over_its_attempts(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver)
    server.faults, server.fault_path = [Fault(drop=True, apply=True)], "/copy"
    saver.copy_thread("t", "u")
    saver.delete_thread("u")
    saver.copy_thread("t", "u")
    keys = [seen.headers["idempotency-key"] for seen in server.requests("/copy")]
    assert keys[0] == keys[1] != keys[2]
    assert "u" in server.store.threads


def test_the_key_is_sent_and_never_shown(server: FakeServer, transport: Any) -> None:
    client = Client(server.url, api_key="tk_secret", transport=transport)
    client.whoami()
    assert server.seen[0].headers["authorization"] == "Bearer tk_secret"
    assert "tk_secret" not in repr(vars(client._connection))


def test_connections_are_kept(saver: ThreadkeepSaver, server: FakeServer) -> None:
    for _ in range(5):
        put(saver)
    assert len({seen.client_port for seen in server.seen}) == 1


def test_a_server_that_restarted_is_found_again(saver: ThreadkeepSaver, server: FakeServer) -> None:
    put(saver)
    begun = time.monotonic()
    server.faults = [Fault(drop=True), Fault(drop=True)]
    put(saver)
    assert time.monotonic() - begun < 2
