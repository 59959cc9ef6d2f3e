"""The session calls of `Client` and `AsyncClient`, in pairs: `client.sessions.append(…)`."""

from __future__ import annotations

from collections.abc import Sequence

from threadkeep import session_documents as documents
from threadkeep import sessions
from threadkeep.http.connection import Connection
from threadkeep.plans import afinish, finish
from threadkeep.sessions import (
    Appended,
    Document,
    DocumentChange,
    Key,
    Log,
    NewEntry,
    SessionKindPage,
    SessionOrigin,
    SessionPage,
    StoredDocument,
    Stream,
    wire_entries,
)


class Sessions:
    """Part of `Client`. Logs and documents of agents, under a kind and a key of free texts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, kind: str, key: Key, **origin: str) -> bool:
        """Make a session, with `user`, `agent`, `title`; False when it was there. Changes none."""
        named = SessionOrigin(**origin)  # type: ignore[typeddict-item]  # refused by the server
        return finish(self._connection, sessions.create(kind, key, named))

    def append(
        self,
        kind: str,
        key: Key,
        entries: Sequence[NewEntry],
        *,
        stream: str = "",
        if_head: int | None = None,
        document: DocumentChange | None = None,
        origin: SessionOrigin | None = None,
    ) -> Appended:
        """Add entries, all or none, and put `document` with them.

        Raises HeadMovedError when the stream's last entry is not `if_head`, VersionConflictError
        when the document has another version.
        """
        plan = sessions.append(
            kind,
            key,
            wire_entries(entries),
            stream=stream,
            if_head=if_head,
            document=document,
            origin=origin,
        )
        return finish(self._connection, plan)

    def load(
        self,
        kind: str,
        key: Key,
        *,
        stream: str = "",
        after_seq: int | None = None,
        limit: int | None = None,
        tail: int | None = None,
        bytes_max: int | None = None,
        token_budget: int | None = None,
    ) -> Log | None:
        """One page of a stream in its order; None when nothing was ever written to it."""
        plan = sessions.load(
            kind,
            key,
            stream=stream,
            after_seq=after_seq,
            limit=limit,
            tail=tail,
            bytes_max=bytes_max,
            token_budget=token_budget,
        )
        return finish(self._connection, plan)

    def streams(self, kind: str, key: Key) -> Sequence[Stream]:
        """The streams of a session."""
        return finish(self._connection, sessions.streams(kind, key))

    def list(
        self,
        kind: str,
        *,
        key_prefix: Key | None = None,
        user: str | None = None,
        stream: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionPage:
        """One page of sessions, newest first; pass `next_cursor` on as `cursor`.

        With `stream`, only sessions with entries in it, by the time of the last one.
        """
        plan = sessions.page(
            kind, key_prefix=key_prefix, user=user, stream=stream, limit=limit, cursor=cursor
        )
        return finish(self._connection, plan)

    def kinds(self, *, limit: int | None = None, cursor: str | None = None) -> SessionKindPage:
        """One page of the kinds of sessions that may be read, by name; at most 100.

        Pass `next_cursor` on as `cursor`. A page may be short where there is one.
        """
        return finish(self._connection, sessions.kinds(limit, cursor))

    def delete(self, kind: str, key: Key, *, stream: str | None = None) -> None:
        """Remove a stream, or without one the session with all it has. No error when absent."""
        finish(self._connection, sessions.delete(kind, key, stream))

    def put_document(
        self, kind: str, key: Key, name: str, content: str, *, if_version: int | None = None
    ) -> StoredDocument:
        """Create or replace a document; with `if_version` 0 only if there is none."""
        return finish(self._connection, documents.put(kind, key, name, content, if_version))

    def get_document(self, kind: str, key: Key, name: str) -> Document | None:
        """A document; None when there is none."""
        return finish(self._connection, documents.get(kind, key, name))

    def append_document(self, kind: str, key: Key, name: str, content: str) -> StoredDocument:
        """Add to the end of a document, or create it."""
        return finish(self._connection, documents.append(kind, key, name, content))

    def list_documents(
        self, kind: str, key: Key, *, name_prefix: str | None = None
    ) -> Sequence[StoredDocument]:
        """The documents of a session, without their contents."""
        return finish(self._connection, documents.list_all(kind, key, name_prefix))

    def find_documents(
        self, kind: str, name: str, *, key_prefix: Key | None = None
    ) -> Sequence[Document]:
        """The document of that name of every session below the prefix."""
        return finish(self._connection, documents.find(kind, name, key_prefix))

    def delete_document(self, kind: str, key: Key, name: str) -> None:
        """Remove a document. No error when absent."""
        finish(self._connection, documents.delete(kind, key, name))

    def add(self, kind: str, key: Key, counter: str, by: int = 1) -> int:
        """Add to a counter, which begins at 0. Returns its value now."""
        return finish(self._connection, documents.add(kind, key, counter, by))

    def compact(
        self,
        kind: str,
        key: Key,
        *,
        through_seq: int,
        expected_head: int,
        replacement: Sequence[NewEntry],
        stream: str = "",
        archive_stream_prefix: str = "archive/",
        document: tuple[str, str] | None = None,
        count: int | None = None,
    ) -> tuple[str, int]:
        """Move a stream's entries up to `through_seq` to an archive, and put others in their place.

        All or none; raises HeadMovedError when somebody appended meanwhile. `document` is a name
        and what to add to it; `count` says how many entries go, and is checked. In replacement and
        document, `{archive_id}` stands for the archive's id. Returns that id and the head.
        """
        plan = documents.compact(
            kind,
            key,
            stream=stream,
            through_seq=through_seq,
            expected_head=expected_head,
            archive_stream_prefix=archive_stream_prefix,
            replacement=replacement,
            document=document,
            count=count,
        )
        return finish(self._connection, plan)


class AsyncSessions:
    """Part of `AsyncClient`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, kind: str, key: Key, **origin: str) -> bool:
        """See `Sessions.create`."""
        named = SessionOrigin(**origin)  # type: ignore[typeddict-item]  # refused by the server
        return await afinish(self._connection, sessions.create(kind, key, named))

    async def append(
        self,
        kind: str,
        key: Key,
        entries: Sequence[NewEntry],
        *,
        stream: str = "",
        if_head: int | None = None,
        document: DocumentChange | None = None,
        origin: SessionOrigin | None = None,
    ) -> Appended:
        """See `Sessions.append`."""
        plan = sessions.append(
            kind,
            key,
            wire_entries(entries),
            stream=stream,
            if_head=if_head,
            document=document,
            origin=origin,
        )
        return await afinish(self._connection, plan)

    async def load(
        self,
        kind: str,
        key: Key,
        *,
        stream: str = "",
        after_seq: int | None = None,
        limit: int | None = None,
        tail: int | None = None,
        bytes_max: int | None = None,
        token_budget: int | None = None,
    ) -> Log | None:
        """See `Sessions.load`."""
        plan = sessions.load(
            kind,
            key,
            stream=stream,
            after_seq=after_seq,
            limit=limit,
            tail=tail,
            bytes_max=bytes_max,
            token_budget=token_budget,
        )
        return await afinish(self._connection, plan)

    async def streams(self, kind: str, key: Key) -> Sequence[Stream]:
        """See `Sessions.streams`."""
        return await afinish(self._connection, sessions.streams(kind, key))

    async def list(
        self,
        kind: str,
        *,
        key_prefix: Key | None = None,
        user: str | None = None,
        stream: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionPage:
        """See `Sessions.list`."""
        plan = sessions.page(
            kind, key_prefix=key_prefix, user=user, stream=stream, limit=limit, cursor=cursor
        )
        return await afinish(self._connection, plan)

    async def kinds(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> SessionKindPage:
        """See `Sessions.kinds`."""
        return await afinish(self._connection, sessions.kinds(limit, cursor))

    async def delete(self, kind: str, key: Key, *, stream: str | None = None) -> None:
        """See `Sessions.delete`."""
        await afinish(self._connection, sessions.delete(kind, key, stream))

    async def put_document(
        self, kind: str, key: Key, name: str, content: str, *, if_version: int | None = None
    ) -> StoredDocument:
        """See `Sessions.put_document`."""
        return await afinish(self._connection, documents.put(kind, key, name, content, if_version))

    async def get_document(self, kind: str, key: Key, name: str) -> Document | None:
        """See `Sessions.get_document`."""
        return await afinish(self._connection, documents.get(kind, key, name))

    async def append_document(self, kind: str, key: Key, name: str, content: str) -> StoredDocument:
        """See `Sessions.append_document`."""
        return await afinish(self._connection, documents.append(kind, key, name, content))

    async def list_documents(
        self, kind: str, key: Key, *, name_prefix: str | None = None
    ) -> Sequence[StoredDocument]:
        """See `Sessions.list_documents`."""
        return await afinish(self._connection, documents.list_all(kind, key, name_prefix))

    async def find_documents(
        self, kind: str, name: str, *, key_prefix: Key | None = None
    ) -> Sequence[Document]:
        """See `Sessions.find_documents`."""
        return await afinish(self._connection, documents.find(kind, name, key_prefix))

    async def delete_document(self, kind: str, key: Key, name: str) -> None:
        """See `Sessions.delete_document`."""
        await afinish(self._connection, documents.delete(kind, key, name))

    async def add(self, kind: str, key: Key, counter: str, by: int = 1) -> int:
        """See `Sessions.add`."""
        return await afinish(self._connection, documents.add(kind, key, counter, by))

    async def compact(
        self,
        kind: str,
        key: Key,
        *,
        through_seq: int,
        expected_head: int,
        replacement: Sequence[NewEntry],
        stream: str = "",
        archive_stream_prefix: str = "archive/",
        document: tuple[str, str] | None = None,
        count: int | None = None,
    ) -> tuple[str, int]:
        """See `Sessions.compact`."""
        plan = documents.compact(
            kind,
            key,
            stream=stream,
            through_seq=through_seq,
            expected_head=expected_head,
            archive_stream_prefix=archive_stream_prefix,
            replacement=replacement,
            document=document,
            count=count,
        )
        return await afinish(self._connection, plan)
