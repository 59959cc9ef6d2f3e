"""`ThreadkeepBackend`: the files of a deepagents agent on a threadkeep server.

Files outlive process and sandbox, are shared by all processes with the same namespace, and are the
same items that deepagents' StoreBackend keeps over ThreadkeepStore. Each operation is one round
trip; listings and searches do not move the files; edits are made on the server, so that none of
several writers' is lost.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

from threadkeep.deepagents import operations
from threadkeep.deepagents.scope import (
    NamespaceOf,
    Scope,
    namespace_now,
    namespace_source,
    root_of,
)
from threadkeep.http.connection import Connection
from threadkeep.http.settings import TIMEOUT_SECONDS, TransportName, settings_of
from threadkeep.plans import afinish, finish


class ThreadkeepBackend(BackendProtocol):
    """Files of one namespace, for sync and async agents alike.

    `url` and `api_key` default to the variables THREADKEEP_URL and THREADKEEP_API_KEY, and `url`
    then to http://127.0.0.1:7070. Constructing does no I/O and needs no event loop.

    `namespace` is a tuple of labels, or a function that takes the Runtime (None outside of a
    graph) and answers one, asked on every operation. With `root`, paths begin in that folder of the
    namespace. `connection` is that of another backend, to share it. `timeout` is how many seconds
    a call may take (None: as long as it takes); a server that restarts is ridden out in it.

    What the server refuses and what the network does is in `error` of the results, in the words of
    deepagents' own backends; nothing is raised. Only a wrong `namespace` raises.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        namespace: Sequence[str] | NamespaceOf,
        root: str = "/",
        timeout: float | None = TIMEOUT_SECONDS,
        transport: TransportName = "auto",
        connection: Connection | None = None,
    ) -> None:
        self.namespace = namespace_source(namespace)
        self._root = root_of(root)
        self.connection = connection or Connection(settings_of(url, api_key, timeout, transport))

    def _scope(self) -> Scope:
        return Scope(namespace_now(self.namespace), self._root)

    def ls(self, path: str) -> LsResult:
        """What is in a folder, not what is below that. Empty where there is none."""
        return finish(self.connection, operations.ls(self._scope(), path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return await afinish(self.connection, operations.ls(self._scope(), path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Lines of a file; only those travel. A binary file comes whole, as base64."""
        return finish(self.connection, operations.read(self._scope(), file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        plan = operations.read(self._scope(), file_path, offset, limit)
        return await afinish(self.connection, plan)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Lines that hold `pattern`, which is taken literally."""
        plan = operations.grep(self._scope(), pattern, path, glob, max_count)
        return finish(self.connection, plan)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        plan = operations.grep(self._scope(), pattern, path, glob, max_count)
        return await afinish(self.connection, plan)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Files by their names, the last changed first."""
        return finish(self.connection, operations.glob(self._scope(), pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return await afinish(self.connection, operations.glob(self._scope(), pattern, path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create a file, or replace what is in it."""
        return finish(self.connection, operations.write(self._scope(), file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return await afinish(self.connection, operations.write(self._scope(), file_path, content))

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace a text that occurs once, or everywhere. No edit of another writer is lost."""
        plan = operations.edit(self._scope(), file_path, old_string, new_string, replace_all)
        return finish(self.connection, plan)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """See `edit`."""
        plan = operations.edit(self._scope(), file_path, old_string, new_string, replace_all)
        return await afinish(self.connection, plan)

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, or a folder with everything in it."""
        return finish(self.connection, operations.delete(self._scope(), file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return await afinish(self.connection, operations.delete(self._scope(), file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Put files whole, together. One answer each, in this order."""
        return finish(self.connection, operations.upload(self._scope(), files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        return await afinish(self.connection, operations.upload(self._scope(), files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Get files whole, together. One answer each, in this order."""
        return finish(self.connection, operations.download(self._scope(), paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        return await afinish(self.connection, operations.download(self._scope(), paths))

    def with_options(self, *, timeout: float | None) -> ThreadkeepBackend:
        """This backend, whose calls may take so many seconds. Connections are shared."""
        clone = copy.copy(self)
        clone.connection = self.connection.with_timeout(timeout)
        return clone

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.connection.described})"

    def close(self) -> None:
        """Close idle connections. Optional and repeatable."""
        self.connection.close()
