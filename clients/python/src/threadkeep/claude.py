"""`ThreadkeepSessionStore`: transcripts of the Claude Agent SDK on a threadkeep server.

Give it as `session_store` in `ClaudeAgentOptions`. Needs the package `claude-agent-sdk`.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from claude_agent_sdk import (
    SessionKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    fold_session_summary,
)
from claude_agent_sdk.types import SessionListSubkeysKey, SessionSummaryEntry

from threadkeep import session_documents as documents
from threadkeep import sessions
from threadkeep.errors import ProtocolError, VersionConflictError
from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.plans import Plan, afinish

KIND = "claude"
SUMMARY = "summary"
APPEND_ENTRIES_MAX = 1_000
APPEND_BYTES_MAX = 8 << 20
"""Of JSON text in one append. A larger entry travels alone."""
FOLDS_MAX = 50
"""How often a summary is made again because somebody else appended to the session."""
SUMMARIES_KEPT = 1_000
"""Summaries that one store remembers, so that an append is one round trip."""

Address = tuple[str, str]


class _Summary(NamedTuple):
    """A summary as the server had it last. `version` 0: there is none."""

    version: int
    entry: SessionSummaryEntry | None


class ThreadkeepSessionStore:
    """All six methods of the SDK's SessionStore.

    `url` and `api_key` default to the variables THREADKEEP_URL and THREADKEEP_API_KEY. Constructing
    does no I/O and needs no event loop; one object serves any number of them.

    The SDK's project key is its working directory. With `project_key`, that one is used for every
    call instead, so that a session can be resumed from another directory.
    `timeout` is how many seconds a call may take (None: as long as it takes).
    Entries with a `uuid` are stored once, whatever is sent again. Failures raise the types of
    `threadkeep.errors`; the SDK tries again, and reports what stays as a `mirror_error`.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        project_key: str | None = None,
        timeout: float | None = TIMEOUT_SECONDS,
        transport: TransportName = "auto",
    ) -> None:
        self.project_key = project_key
        self._connection = Connection(settings_of(url, api_key, timeout, transport))
        self._summaries: OrderedDict[Address, _Summary] = OrderedDict()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries to a transcript, in this order. None: nothing happens."""
        stream = key.get("subpath") or ""
        for batch in _batches(entries):
            if stream:
                plan = sessions.append(KIND, self._address(key), batch.wires, stream=stream)
                await afinish(self._connection, plan)
            else:
                await self._append_and_fold(key, batch)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """A whole transcript; None when nothing was ever written to it."""
        stream = key.get("subpath") or ""
        plan = sessions.load_all(KIND, self._address(key), stream=stream)
        found = await afinish(self._connection, plan)
        return None if found is None else [entry.data for entry in found]

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """The sessions of a project that have a main transcript, and when it last grew."""
        plan = sessions.page_all(KIND, key_prefix=(self._project(project_key),), stream="")
        found = await afinish(self._connection, plan)
        return [{"session_id": one.key[1], "mtime": one.updated_at_ms} for one in found]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """What the SDK shows of each session of a project, in one call."""
        plan = documents.find(KIND, SUMMARY, (self._project(project_key),))
        found = await afinish(self._connection, plan)
        return [
            _summary_entry(one.key[1], one.content, one.updated_at_ms) for one in found if one.key
        ]

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript; the main one with all below it. No error when there is none."""
        stream = key.get("subpath") or None
        self._summaries.pop(self._address(key), None)
        await afinish(self._connection, sessions.delete(KIND, self._address(key), stream))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """The subpaths of a session: transcripts of its sub-agents."""
        plan = sessions.streams(KIND, self._address(key))
        found = await afinish(self._connection, plan)
        return [one.stream for one in found if one.stream]

    def with_options(self, *, timeout: float | None) -> ThreadkeepSessionStore:
        """This store, whose calls may take so many seconds. Connections are shared."""
        clone = copy.copy(self)
        clone._connection = self._connection.with_timeout(timeout)
        return clone

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.described})"

    async def aclose(self) -> None:
        """Close idle connections. Optional and repeatable."""
        self._connection.close()

    def _project(self, project_key: str) -> str:
        return self.project_key if self.project_key is not None else project_key

    def _address(self, key: SessionKey | SessionListSubkeysKey) -> Address:
        return (self._project(key["project_key"]), key["session_id"])

    async def _append_and_fold(self, key: SessionKey, batch: _Batch) -> None:
        """Entries and summary in one transaction; again with the newer summary on a conflict."""
        address = self._address(key)
        for attempt in range(FOLDS_MAX):
            known = self._summaries.pop(address, None)
            try:
                stored = await afinish(self._connection, _folded(address, key, batch, known))
            except VersionConflictError:
                if attempt == FOLDS_MAX - 1:
                    raise
                await asyncio.sleep(random.uniform(0, 0.002 * min(attempt, 25)))
            else:
                self._remember(address, stored)
                return

    def _remember(self, address: Address, summary: _Summary) -> None:
        self._summaries[address] = summary
        self._summaries.move_to_end(address)
        while len(self._summaries) > SUMMARIES_KEPT:
            self._summaries.popitem(last=False)


class _Batch(NamedTuple):
    """Entries as they were given and as they travel."""

    entries: list[SessionStoreEntry]
    wires: list[dict[str, Any]]


def _batches(entries: Sequence[SessionStoreEntry]) -> Iterator[_Batch]:
    """In order; one request, nearly always."""
    batch, size = _Batch([], []), 0
    for entry in entries:
        id_ = entry.get("uuid")
        new = sessions.NewEntry(entry, id_ if isinstance(id_, str) and id_ else None)
        (wire,) = sessions.wire_entries([new])
        length = len(wire["data"])
        full = size + length > APPEND_BYTES_MAX or len(batch.wires) >= APPEND_ENTRIES_MAX
        if batch.wires and full:
            yield batch
            batch, size = _Batch([], []), 0
        batch.entries.append(entry)
        batch.wires.append(wire)
        size += length
    if batch.wires:
        yield batch


def _folded(
    address: Address, key: SessionKey, batch: _Batch, known: _Summary | None
) -> Plan[_Summary]:
    """Append with the summary that follows; the summary as it is stored then."""
    known = known or (yield from _current(address))
    summary = fold_session_summary(known.entry, key, batch.entries)
    document = sessions.DocumentChange(
        name=SUMMARY,
        content=sessions.json_of(summary["data"]).decode("ascii"),
        if_version=known.version,
    )
    done = yield from sessions.append(KIND, address, batch.wires, stream="", document=document)
    if done.document_version is None:
        raise ProtocolError("the answer does not name the summary's version")
    return _Summary(done.document_version, summary)


def _current(address: Address) -> Plan[_Summary]:
    found = yield from documents.get(KIND, address, SUMMARY)
    if found is None:
        return _Summary(0, None)
    return _Summary(found.version, _summary_entry(address[1], found.content, found.updated_at_ms))


def _summary_entry(session_id: str, content: str, mtime: int) -> SessionSummaryEntry:
    try:
        data = json.loads(content)
    except ValueError as error:
        raise ProtocolError(f"the summary of a session is not JSON: {error}") from error
    return {"session_id": session_id, "mtime": mtime, "data": data}
