"""How operations of the store become requests: reads before changes, within the server's limits.

Blocking and asynchronous callers share the plans; only the sending differs.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from langgraph.store.base import ListNamespacesOp, Op, PutOp, Result, SearchOp

from threadkeep.calls import post
from threadkeep.errors import ProtocolError
from threadkeep.http.connection import Connection
from threadkeep.http.transport import Request
from threadkeep.langgraph.embedding import Embedder, Extra, OnServer
from threadkeep.langgraph.items import (
    FinderOp,
    Page,
    Wire,
    address_of,
    is_change,
    result_of,
    wire_of,
)

BATCH = "/v1/store/batch"
OPS_MAX = 1_000
BATCH_BYTES_MAX = 16 * 1024 * 1024
ROWS_MAX = 1_000
"""Namespaces that the server lists at one time."""

Outcome = Result | Exception
Plan = Generator[tuple[Request, bool], dict[str, Any], list[Outcome]]
"""Yields requests, and whether they write; is sent their answers; returns the outcomes."""


class StoreCalls:
    """Sends operations over one connection."""

    def __init__(self, connection: Connection, embedder: Embedder | OnServer | None = None) -> None:
        self._connection = connection
        self._embedder = embedder

    def run(self, ops: Sequence[Op], *, atomic: bool) -> list[Outcome]:
        """One outcome per operation. With `atomic`, raises the first error instead."""
        extras = self._embedder.extras(ops) if self._embedder else None
        return self.finish(planned(ops, extras, atomic=atomic))

    async def arun(self, ops: Sequence[Op], *, atomic: bool) -> list[Outcome]:
        """The same without blocking."""
        extras = await self._embedder.aextras(ops) if self._embedder else None
        return await self.afinish(planned(ops, extras, atomic=atomic))

    async def arun_each(self, ops: Sequence[Op], ends: float) -> list[Outcome]:
        """For many callers, each with an outcome of its own; `ends` is the first deadline."""
        begun = time.monotonic()
        extras = await self._embedder.aextras(ops) if self._embedder else None
        # The time of a call is for the server, not for the embedding in this process.
        ends += time.monotonic() - begun
        return await self.afinish(planned(ops, extras, atomic=False), ends)

    def finish(self, plan: Plan) -> list[Outcome]:
        """Sends what the plan asks for."""
        answer: dict[str, Any] | None = None
        try:
            while True:
                request, is_write = plan.send(answer)  # type: ignore[arg-type]  # None begins
                answer = self._connection.call(request, is_write=is_write)
        except StopIteration as done:
            outcomes: list[Outcome] = done.value
            return outcomes

    async def afinish(self, plan: Plan, ends: float | None = None) -> list[Outcome]:
        """The same without blocking. `ends` is the deadline of the first request."""
        answer: dict[str, Any] | None = None
        try:
            while True:
                request, is_write = plan.send(answer)  # type: ignore[arg-type]  # None begins
                answer = await self._connection.acall(request, is_write=is_write, ends=ends)
                ends = None
        except StopIteration as done:
            outcomes: list[Outcome] = done.value
            return outcomes


def planned(ops: Sequence[Op], extras: Sequence[Extra] | None = None, *, atomic: bool) -> Plan:
    """All operations, in as few requests as the limits allow: one, nearly always.

    Where there are several, reads are in the first ones, and each of the others is atomic by
    itself. `extras` are what the operations take along.
    """
    outcomes: list[Outcome] = [None] * len(ops)
    wires: list[tuple[int, Wire]] = []
    for at, op in enumerate(ops):
        try:
            wires.append((at, _with(wire_of(op), extras[at] if extras else {})))
        except Exception as error:
            if atomic:
                raise
            outcomes[at] = error
    for part in _parts(ops, wires):
        changes = any(is_change(ops[at]) for at, _ in part)
        answer = yield _request([wire for _, wire in part], atomic=atomic, changes=changes), changes
        results = answer.get("results")
        if not isinstance(results, list) or len(results) != len(part):
            raise ProtocolError("the answer does not hold a result for each operation")
        for (at, _), result in zip(part, results, strict=True):
            try:
                outcomes[at] = result_of(ops[at], result)
            except Exception as error:
                if atomic:
                    raise
                outcomes[at] = error
    for at, op in enumerate(ops):
        outcome = outcomes[at]
        if isinstance(op, SearchOp) and isinstance(outcome, Page):
            wire = _with(wire_of(op), extras[at] if extras else {})
            outcomes[at] = yield from _rest_of_search(op, wire["search"], outcome)
        elif isinstance(op, ListNamespacesOp) and isinstance(outcome, list):
            outcomes[at] = yield from _rest_of_list(op, outcome)
    return outcomes


def _with(wire: Wire, extra: Extra) -> Wire:
    if isinstance(extra, Exception):
        raise extra
    ((name, body),) = wire.items()
    return {name: body | extra} if extra else wire


def _rest_of_search(
    op: SearchOp, first: Wire, page: Page
) -> Generator[tuple[Request, bool], Any, Page]:
    """An answer ends at its bytes and rows: the rest is asked for."""
    if isinstance(op, FinderOp) and op.wants_page:
        return page
    while page.next_cursor is not None and len(page) < op.limit:
        body = first | {
            "cursor": page.next_cursor,
            "offset": 0,
            "limit": op.limit - len(page),
        }
        answer = yield _request([{"search": body}], atomic=True, changes=False), False
        more = result_of(op, answer["results"][0])
        if not isinstance(more, Page):
            raise ProtocolError("the answer to a search holds no items")
        page.extend(more)
        page.next_cursor = more.next_cursor
    return page


def _rest_of_list(
    op: ListNamespacesOp, found: list[Any]
) -> Generator[tuple[Request, bool], Any, list[Any]]:
    while len(found) < op.limit and len(found) and len(found) % ROWS_MAX == 0:
        rest = op._replace(offset=op.offset + len(found), limit=op.limit - len(found))
        answer = yield _request([wire_of(rest)], atomic=True, changes=False), False
        more = result_of(rest, answer["results"][0])
        if not more or not isinstance(more, list):
            break
        found = [*found, *more]
    return found


def _parts(ops: Sequence[Op], wires: Iterable[tuple[int, Wire]]) -> list[list[tuple[int, Wire]]]:
    wires = list(wires)
    total = sum(_size(wire) for _, wire in wires)
    if len(wires) <= OPS_MAX and total <= BATCH_BYTES_MAX:
        return [wires] if wires else []
    last = {address_of(op): at for at, op in enumerate(ops) if isinstance(op, PutOp)}
    reads = [(at, wire) for at, wire in wires if not is_change(ops[at])]
    # Of several changes of one item the last one counts, also when they are in different requests.
    changes = [
        (at, wire)
        for at, wire in wires
        if isinstance(op := ops[at], PutOp) and last[address_of(op)] == at
    ]
    parts: list[list[tuple[int, Wire]]] = []
    for kind in (reads, changes):
        size = BATCH_BYTES_MAX
        for at, wire in kind:
            size += _size(wire)
            if size > BATCH_BYTES_MAX or len(parts[-1]) >= OPS_MAX:
                parts.append([])
                size = _size(wire)
            parts[-1].append((at, wire))
    return parts


def _size(wire: Wire) -> int:
    (body,) = wire.values()
    vectors = sum(64 + len(it["vector"]) for it in body.get("vectors", ()))
    return 256 + len(body.get("value", b"")) + vectors


def _request(wires: list[Wire], *, atomic: bool, changes: bool) -> Request:
    request = post(BATCH, {"ops": wires, "atomic": atomic})
    return request._replace(idempotency_key=uuid.uuid4().hex) if changes else request
