"""What is sent again, when, and as what a final failure is raised."""

from __future__ import annotations

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
    NotFoundError,
    ProtocolError,
    SessionNotFoundError,
    ThreadRestoredError,
    TransportError,
    UnauthorizedError,
    UnavailableError,
)
from threadkeep.http import connection, retry
from threadkeep.http.settings import WRITE_SECONDS_MAX, settings_of
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


def test_attempts_are_bounded(saver: ThreadkeepSaver, server: FakeServer) -> None:
    server.faults = [Fault(status=503, code="overloaded")] * 9
    with pytest.raises(UnavailableError) as raised:
        saver.get_tuple(config())
    assert raised.value.code == "overloaded"
    assert len(server.seen) == 4


def test_retry_after_is_honoured(saver: ThreadkeepSaver, server: FakeServer) -> None:
    server.faults = [Fault(status=503, retry_after="1")]
    put(saver)
    first, second = server.requests("/commit")
    assert second.begun - first.ended >= 0.9


def test_nobody_there_is_a_transport_error(transport: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    saver = ThreadkeepSaver(f"http://127.0.0.1:{port}", transport=transport, attempts=2)
    with pytest.raises(TransportError):
        saver.get_tuple(config())


@pytest.mark.parametrize(
    "outcome", [SendFailedError("late", timed_out=True), Answer(504, "text/html", None, b"")]
)
def test_no_second_attempt_while_the_first_may_still_run(outcome: Any) -> None:
    chosen = settings_of(None, None, request_timeout_seconds=2)
    over = chosen.budget_seconds + WRITE_SECONDS_MAX
    write = retry.Attempts(chosen, is_write=True)
    assert 2 + write.seconds_until_next(outcome, 2) >= over
    read = retry.Attempts(chosen, is_write=False)
    assert 2 + read.seconds_until_next(outcome, 2) < over
    lost = retry.Attempts(chosen, is_write=True)
    assert lost.seconds_until_next(SendFailedError("reset"), 0) < 1


def test_a_write_that_timed_out_is_sent_again_after_that(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WRITE_SECONDS_MAX", 3.0)
    saver = ThreadkeepSaver(server.url, transport=transport, request_timeout_seconds=3)
    gate = threading.Event()
    server.faults = [Fault(gate=gate)]
    begun = time.monotonic()
    put(saver)
    took = time.monotonic() - begun
    gate.set()
    assert [int(s.headers["threadkeep-budget-ms"]) for s in server.requests("/commit")] == [
        1_500,
        1_500,
    ]
    assert took >= 4.5, "the budget of 1.5 and the running time of 3 are over"


def test_a_read_that_timed_out_is_sent_again_without_that_wait(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WRITE_SECONDS_MAX", 30.0)
    saver = ThreadkeepSaver(server.url, transport=transport, request_timeout_seconds=3)
    gate = threading.Event()
    server.faults = [Fault(gate=gate)]
    assert saver.get_tuple(config()) is None
    gate.set()
    first, second = server.seen
    assert second.begun - first.begun < 30, "the running time of a write is not over"


def test_the_budget_is_less_than_what_the_client_waits() -> None:
    for timeout in (0.01, 1, 10, 60, 600):
        settings = settings_of(None, None, request_timeout_seconds=timeout)
        assert settings.budget_seconds <= 30
        assert settings.budget_seconds < timeout


@pytest.mark.parametrize("header", ["nan", "-5", "soon", "", None, "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_strange_retry_after_does_no_harm(header: str | None) -> None:
    attempts = retry.Attempts(settings_of(None, None), is_write=True)
    assert 0 <= attempts.seconds_until_next(Answer(503, "", header, b""), 0.1) < 1


def test_waits_grow_and_are_bounded() -> None:
    attempts = retry.Attempts(settings_of(None, None, attempts=20), is_write=False)
    failed = SendFailedError("no")
    waits = [attempts.seconds_until_next(failed, 0) for _ in range(19)]
    assert waits[0] <= retry.WAIT_SECONDS_FIRST
    assert 1 < max(waits) <= retry.WAIT_SECONDS_MAX
    with pytest.raises(TransportError):
        attempts.seconds_until_next(failed, 0)


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
