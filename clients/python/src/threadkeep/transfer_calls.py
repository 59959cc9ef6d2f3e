"""The calls of `Client` and `AsyncClient` that move a tenant as one file, in pairs.

For keys of the whole tenant; others are refused with NotGrantedError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from threadkeep import transfers
from threadkeep.http.connection import Connection
from threadkeep.local_files import File
from threadkeep.snapshots import SessionName
from threadkeep.transfers import Imported


class TransferCalls:
    """Part of `Client`."""

    _connection: Connection

    def export(
        self,
        file: File,
        *,
        threads: Sequence[str] | None = None,
        sessions: Sequence[SessionName] | None = None,
        namespaces: Sequence[Sequence[str]] | None = None,
        snapshots: Sequence[str] | None = None,
    ) -> int:
        """Write everything of the tenant, or the parts that are named, to a path or a seekable
        file; how many bytes it has.

        **It is not encrypted**, whatever the database is: at a path only its user may read it. A
        thread and a session come whole, a namespace with what is below it, a snapshot with what it
        keeps. Each of them is of one moment, all together are not. A path has the file once all of
        it is there; after an error it is what it was. A connection that was lost begins again;
        TransportError where all attempts broke off, ProtocolError where something else answers.
        NotFoundError for a part that is not there.
        """
        request = transfers.export_request(
            threads=threads, sessions=sessions, namespaces=namespaces, snapshots=snapshots
        )
        return transfers.export(self._connection.settings, file, request)

    def import_(
        self,
        file: File,
        *,
        overwrite: bool = False,
        dry_run: bool = False,
        check_first: bool = True,
    ) -> Imported:
        """Read a file of an export, at a path or seekable, into the tenant; what became of it.

        The file is sent twice, first as a `dry_run`: nothing comes of one that is damaged or cut
        off (ExportFileError), or of which something is there with other contents
        (ImportConflictError, unless `overwrite` replaces it). With `check_first=False` it is sent
        once: each thread, session, item and snapshot is imported whole or not at all, and what
        stands before the place that ends it has been imported by then.

        `dry_run` says what would happen, counts conflicts, and changes nothing. What is there as in
        the file stays. LeaseHeldError for a thread whose lease somebody has; QuotaExceededError.
        After an error the same import goes on where it ended, and after a lost connection it is
        sent again by itself: what came before then counts as unchanged.
        """
        settings = self._connection.settings
        return transfers.import_(
            settings, file, overwrite=overwrite, dry_run=dry_run, check_first=check_first
        )


class AsyncTransferCalls:
    """Part of `AsyncClient`."""

    _connection: Connection

    async def export(
        self,
        file: File,
        *,
        threads: Sequence[str] | None = None,
        sessions: Sequence[SessionName] | None = None,
        namespaces: Sequence[Sequence[str]] | None = None,
        snapshots: Sequence[str] | None = None,
    ) -> int:
        """See `Client.export`. Files are written in a thread."""
        request = transfers.export_request(
            threads=threads, sessions=sessions, namespaces=namespaces, snapshots=snapshots
        )
        return await asyncio.to_thread(transfers.export, self._connection.settings, file, request)

    async def import_(
        self,
        file: File,
        *,
        overwrite: bool = False,
        dry_run: bool = False,
        check_first: bool = True,
    ) -> Imported:
        """See `Client.import_`. Files are read in a thread."""
        settings = self._connection.settings
        return await asyncio.to_thread(
            transfers.import_,
            settings,
            file,
            overwrite=overwrite,
            dry_run=dry_run,
            check_first=check_first,
        )
