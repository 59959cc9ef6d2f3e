"""Listing and erasing subjects: what is sent, over both HTTP cores, and what the answers become."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import ormsgpack
import pytest

from fake_server import FakeServer, Fault
from threadkeep import AsyncClient, Client
from threadkeep.errors import NotGrantedError, ProtocolError
from threadkeep.subjects import ErasureReceipt, Subject, SubjectPage

SUBJECT = "ann & bob/../ä?subject=eve"
COUNTS = [
    "keys",
    "threads",
    "items",
    "checkpoints",
    "writes",
    "values",
    "delta_bases",
    "chunks",
    "packs",
    "size_bytes",
    "retention_policies",
    "retention_reports",
    "tombstones",
    "answers",
]
RECEIPT = {name: at for at, name in enumerate(COUNTS)}


def answering(server: FakeServer, answer: Any) -> None:
    server.fault_path = "/v1/subjects"
    server.faults.append(Fault(raw=ormsgpack.packb(answer), content_type="application/msgpack"))


@pytest.mark.parametrize("transport", ["stdlib", "auto"])
async def test_an_erasure_answers_its_receipt(server: FakeServer, transport: Any) -> None:
    answering(server, {**RECEIPT, "of_later_servers": 1})
    with Client(server.url, transport=transport) as client:
        receipt = client.subjects.delete(SUBJECT)
    assert asdict(receipt) == RECEIPT
    answering(server, RECEIPT)
    async with AsyncClient(server.url, transport=transport) as client:
        assert await client.subjects.delete(SUBJECT) == ErasureReceipt(**RECEIPT)
    encoded = "ann+%26+bob%2F..%2F%C3%A4%3Fsubject%3Deve"
    seen = [(it.method, it.path) for it in server.seen]
    assert seen == [("DELETE", f"/v1/subjects?subject={encoded}")] * 2


@pytest.mark.parametrize("transport", ["stdlib", "auto"])
async def test_subjects_are_listed_by_page(server: FakeServer, transport: Any) -> None:
    counts = {"keys": 1, "threads": 2, "sessions": 0, "snapshots": 0, "items": 3, "size_bytes": 4}
    ann = {"subject": SUBJECT, **counts, "partial": True, "updated_at": "2026-01-31T12:00:00Z"}
    bob = {"subject": "", **counts, "partial": False}
    answering(server, {"subjects": [ann, {**bob, "of_later_servers": 1}], "next_cursor": "c&"})
    with Client(server.url, transport=transport) as client:
        page = client.subjects.list(limit=2)
    assert page == SubjectPage([Subject(**ann), Subject(**bob)], "c&")
    answering(server, {"subjects": []})
    async with AsyncClient(server.url, transport=transport) as client:
        assert await client.subjects.list(cursor=page.next_cursor) == SubjectPage([], None)
    seen = [(it.method, it.path) for it in server.seen]
    assert seen == [("GET", "/v1/subjects?limit=2"), ("GET", "/v1/subjects?cursor=c%26")]


@pytest.mark.parametrize("answer", [{}, {"subjects": [{"subject": "ann"}]}, {"subjects": 1}])
def test_half_a_list_is_an_error(server: FakeServer, answer: Any) -> None:
    answering(server, answer)
    with Client(server.url) as client, pytest.raises(ProtocolError):
        client.subjects.list()


@pytest.mark.parametrize("answer", [{}, {"threads": 1}, {**RECEIPT, "keys": None}])
def test_half_a_receipt_is_an_error(server: FakeServer, answer: Any) -> None:
    answering(server, answer)
    with Client(server.url) as client, pytest.raises(ProtocolError, match=r"keys|checkpoints"):
        client.subjects.delete("ann")


def test_who_may_not_is_told(server: FakeServer) -> None:
    server.fault_path = "/v1/subjects"
    server.faults.append(Fault(status=403, code="not_granted"))
    with Client(server.url) as client, pytest.raises(NotGrantedError):
        client.subjects.delete("ann")
