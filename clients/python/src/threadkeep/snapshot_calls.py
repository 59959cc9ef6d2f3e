"""The snapshot calls of `Client` and `AsyncClient`, in pairs: `client.snapshots.take(…)`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from threadkeep import snapshots
from threadkeep.http.connection import Connection
from threadkeep.local_files import File
from threadkeep.plans import afinish, finish
from threadkeep.snapshot_archives import Links, get_archive, put_archive
from threadkeep.snapshot_parts import (
    NamespaceChoice,
    SessionChoice,
    ThreadChoice,
    restore_body,
    take_body,
)
from threadkeep.snapshots import (
    HeldLease,
    Restored,
    SessionName,
    Snapshot,
    SnapshotPage,
    StagedArchive,
    ThreadToTake,
)


class Snapshots:
    """Part of `Client`. Frozen copies of threads, namespaces and sessions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def take(
        self,
        snapshot_id: str | None = None,
        *,
        threads: Sequence[str | ThreadToTake] = (),
        namespaces: Sequence[Sequence[str]] = (),
        sessions: Sequence[SessionName] = (),
        labels: Mapping[str, str] | None = None,
        document: Any = None,
        expires_in_seconds: int | None = None,
        archive: str | StagedArchive | None = None,
    ) -> Snapshot:
        """Freeze all of it at one moment, whole or not at all.

        A thread comes with its history, a namespace with everything below it, files included.
        `document` is anything of JSON. The same `snapshot_id` with the same contents answers the
        snapshot that is there; with others it raises InvalidError. NotFoundError is for a thread,
        a session or an `archive` of `put_archive` that is not there.
        """
        body = take_body(
            snapshot_id=snapshot_id,
            threads=threads,
            namespaces=namespaces,
            sessions=sessions,
            labels=labels,
            document=document,
            expires_in_seconds=expires_in_seconds,
            archive=archive,
        )
        return finish(self._connection, snapshots.take(body))

    def put_archive(
        self,
        workspace: str,
        file: File,
        *,
        sha256: str | None = None,
        links: Links = "inside",
    ) -> StagedArchive:
        """Stage a tar of a workspace for the next `take`, from a path or a seekable file.

        Plain, or packed with gzip or zstd. What archives of one workspace have in common is kept
        once. With `sha256` it must be that of the tar without packing. InvalidError names what is
        wrong with it: links lead inside of the archive unless `links` is "any". It goes in a day
        if no snapshot is taken with it.
        """
        return put_archive(self._connection.settings, workspace, file, sha256, links)

    def get_archive(self, snapshot_id: str, file: File) -> int:
        """Write the archive of a snapshot to a path or a seekable file; how many bytes it has.

        It is the tar without packing. A restore does not touch it: unpack it where it belongs. A
        path has it once all of it is there; after an error it is what it was.
        SnapshotNotFoundError, and ArchiveNotFoundError where the snapshot has none.
        """
        return get_archive(self._connection.settings, snapshot_id, file)

    def get(self, snapshot_id: str) -> Snapshot | None:
        """What a snapshot holds; None when there is none of that id."""
        return finish(self._connection, snapshots.get(snapshot_id))

    def list(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SnapshotPage:
        """One page, newest first, of those that have all these labels."""
        return finish(self._connection, snapshots.page(labels, limit, cursor))

    def delete(self, snapshot_id: str) -> None:
        """Remove a snapshot. What was restored from it stays. No error when there is none."""
        finish(self._connection, snapshots.delete(snapshot_id))

    def restore(
        self,
        snapshot_id: str,
        *,
        threads: ThreadChoice | None = None,
        namespaces: NamespaceChoice | None = None,
        sessions: SessionChoice | None = None,
        dry_run: bool = False,
        safety: bool = True,
        leases: Sequence[HeldLease] = (),
        subjects: Mapping[str, str] | None = None,
    ) -> Restored:
        """Bring back everything, or what is named, whole or not at all.

        In place it is afterwards as it was: what came later goes, into a snapshot of its own with
        `safety`, and savers that still run get ThreadRestoredError. A mapping names other threads,
        namespaces or keys of sessions, where there must be nothing (ThreadExistsError,
        NamespaceExistsError, SessionExistsError). With a key of the whole tenant, `subjects` says
        whose the threads and sessions are that are made. `dry_run`: only say what would change.
        """
        body = restore_body(
            snapshot_id,
            threads=threads,
            namespaces=namespaces,
            sessions=sessions,
            dry_run=dry_run,
            safety=safety,
            leases=leases,
            subjects=subjects,
        )
        return finish(self._connection, snapshots.restore(body))


class AsyncSnapshots:
    """Part of `AsyncClient`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def take(
        self,
        snapshot_id: str | None = None,
        *,
        threads: Sequence[str | ThreadToTake] = (),
        namespaces: Sequence[Sequence[str]] = (),
        sessions: Sequence[SessionName] = (),
        labels: Mapping[str, str] | None = None,
        document: Any = None,
        expires_in_seconds: int | None = None,
        archive: str | StagedArchive | None = None,
    ) -> Snapshot:
        """See `Snapshots.take`."""
        body = take_body(
            snapshot_id=snapshot_id,
            threads=threads,
            namespaces=namespaces,
            sessions=sessions,
            labels=labels,
            document=document,
            expires_in_seconds=expires_in_seconds,
            archive=archive,
        )
        return await afinish(self._connection, snapshots.take(body))

    async def put_archive(
        self,
        workspace: str,
        file: File,
        *,
        sha256: str | None = None,
        links: Links = "inside",
    ) -> StagedArchive:
        """See `Snapshots.put_archive`. Files are read in a thread."""
        settings = self._connection.settings
        return await asyncio.to_thread(put_archive, settings, workspace, file, sha256, links)

    async def get_archive(self, snapshot_id: str, file: File) -> int:
        """See `Snapshots.get_archive`. Files are written in a thread."""
        settings = self._connection.settings
        return await asyncio.to_thread(get_archive, settings, snapshot_id, file)

    async def get(self, snapshot_id: str) -> Snapshot | None:
        """See `Snapshots.get`."""
        return await afinish(self._connection, snapshots.get(snapshot_id))

    async def list(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SnapshotPage:
        """See `Snapshots.list`."""
        return await afinish(self._connection, snapshots.page(labels, limit, cursor))

    async def delete(self, snapshot_id: str) -> None:
        """See `Snapshots.delete`."""
        await afinish(self._connection, snapshots.delete(snapshot_id))

    async def restore(
        self,
        snapshot_id: str,
        *,
        threads: ThreadChoice | None = None,
        namespaces: NamespaceChoice | None = None,
        sessions: SessionChoice | None = None,
        dry_run: bool = False,
        safety: bool = True,
        leases: Sequence[HeldLease] = (),
        subjects: Mapping[str, str] | None = None,
    ) -> Restored:
        """See `Snapshots.restore`."""
        body = restore_body(
            snapshot_id,
            threads=threads,
            namespaces=namespaces,
            sessions=sessions,
            dry_run=dry_run,
            safety=safety,
            leases=leases,
            subjects=subjects,
        )
        return await afinish(self._connection, snapshots.restore(body))
