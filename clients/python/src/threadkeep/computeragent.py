"""`ThreadkeepSessionStore` for ComputerAgent in Python (`computer-agent-py`).

Register it with `register_session_store("threadkeep", ThreadkeepSessionStore())`. Entries come back
as that package's own class where it is installed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from threadkeep import sessions
from threadkeep.errors import ProtocolError
from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.plans import afinish
from threadkeep.sessions import NewEntry

KIND = "computeragent"


class StoreEntry(Protocol):
    """What is read of an entry that is appended."""

    @property
    def role(self) -> Any: ...
    @property
    def content(self) -> Any: ...
    @property
    def timestamp(self) -> float: ...
    @property
    def metadata(self) -> Mapping[str, Any] | None: ...


@dataclass(frozen=True)
class SessionStoreEntry:
    """One entry, where ComputerAgent is not installed: its class has the same fields."""

    role: str
    content: Any
    timestamp: float
    metadata: Mapping[str, Any] | None = None


class ThreadkeepSessionStore:
    """The session store protocol: create, load, append, delete, each one round trip.

    `url` and `api_key` default to the variables THREADKEEP_URL and THREADKEEP_API_KEY. With
    `project_key`, that one is used for every call instead of the caller's. `timeout` is how many
    seconds a call may take (None: as long as it takes). Contents are JSON; what
    is not raises UnserializableError, and nothing is stored.
    """

    kind = "threadkeep"

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

    async def create(self, *, project_key: str, session_id: str) -> None:
        """Make a session; nothing happens when it is there."""
        plan = sessions.create(KIND, self._address(project_key, session_id), {})
        await afinish(self._connection, plan)

    async def load(self, *, project_key: str, session_id: str) -> list[Any]:
        """All entries in their order; none when there is no such session."""
        address = self._address(project_key, session_id)
        found = await afinish(self._connection, sessions.load_all(KIND, address, stream=""))
        return [_entry(one.data) for one in found or ()]

    async def append(self, *, project_key: str, session_id: str, entry: StoreEntry) -> None:
        """Add an entry."""
        data = {"role": entry.role, "content": entry.content, "timestamp": entry.timestamp}
        if entry.metadata is not None:
            data["metadata"] = dict(entry.metadata)
        wires = sessions.wire_entries([NewEntry(data)])
        plan = sessions.append(KIND, self._address(project_key, session_id), wires, stream="")
        await afinish(self._connection, plan)

    async def delete(self, *, project_key: str, session_id: str) -> None:
        """Remove a session. No error when there is none."""
        plan = sessions.delete(KIND, self._address(project_key, session_id), None)
        await afinish(self._connection, plan)

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

    def _address(self, project_key: str, session_id: str) -> tuple[str, str]:
        pinned = self.project_key if self.project_key is not None else project_key
        return (pinned, session_id)


def _entry(data: Any) -> Any:
    try:
        from computeragent.protocol_types import SessionStoreEntry as Theirs
    except ImportError:
        made: Any = SessionStoreEntry
    else:
        made = Theirs
    try:
        return made(data["role"], data["content"], data["timestamp"], data.get("metadata"))
    except (KeyError, TypeError, AttributeError) as error:
        raise ProtocolError(f"an entry of the session is not ComputerAgent's: {error}") from error
