"""The file calls of `Client` and `AsyncClient`, in pairs: `client.files.read(…)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from threadkeep import file_plans as plans
from threadkeep.file_contents import get_content, put_content
from threadkeep.files import (
    Downloaded,
    EditedFile,
    FileEntry,
    FileMatches,
    FilePage,
    FileWindow,
    FoundFiles,
    MovedFile,
    Namespace,
    Uploaded,
)
from threadkeep.http.connection import Connection
from threadkeep.plans import afinish, finish


class Files:
    """Part of `Client`. The files of exactly one namespace, never of one below it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ls(
        self,
        namespace: Namespace,
        path: str = "/",
        *,
        recursive: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> FilePage:
        """One page of a folder, by path; pass `next_cursor` on as `cursor`."""
        return finish(self._connection, plans.ls(namespace, path, recursive, limit, cursor))

    def read(
        self, namespace: Namespace, path: str, *, offset: int = 0, limit: int | None = None
    ) -> FileWindow:
        """Lines of a file (2,000 without `limit`), or all of a binary one."""
        return finish(self._connection, plans.read(namespace, path, offset, limit))

    def write(
        self, namespace: Namespace, path: str, content: str, *, if_version: int | None = None
    ) -> int:
        """Create or replace a file of text. Returns its version."""
        return finish(self._connection, plans.write(namespace, path, content, if_version))

    def append(
        self,
        namespace: Namespace,
        path: str,
        content: str,
        *,
        base_sha256: str | None = None,
        if_version: int | None = None,
    ) -> int:
        """Add to the end of a file, or create it. Returns its version.

        With `base_sha256`, only if that is what the file holds now; else BaseMismatchError.
        """
        plan = plans.append(namespace, path, content, base_sha256, if_version)
        return finish(self._connection, plan)

    def edit(
        self,
        namespace: Namespace,
        path: str,
        old_string: str,
        new_string: str,
        *,
        replace_all: bool = False,
        if_version: int | None = None,
    ) -> EditedFile:
        """Replace a text that occurs once, or everywhere. No edit of others is lost."""
        plan = plans.edit(namespace, path, old_string, new_string, replace_all, if_version)
        return finish(self._connection, plan)

    def glob(
        self,
        namespace: Namespace,
        pattern: str,
        path: str | None = None,
        *,
        limit: int | None = None,
    ) -> FoundFiles:
        """Files by their names: `*.md` at any depth, `src/**/*.py` from `path` on."""
        return finish(self._connection, plans.glob(namespace, pattern, path, limit))

    def grep(
        self,
        namespace: Namespace,
        pattern: str,
        path: str | None = None,
        *,
        glob: str | None = None,
        max_count: int | None = None,
    ) -> FileMatches:
        """Lines that hold `pattern`, which is taken literally."""
        return finish(self._connection, plans.grep(namespace, pattern, path, glob, max_count))

    def delete(self, namespace: Namespace, path: str, *, if_version: int | None = None) -> int:
        """Remove a file, or a folder with everything in it. Returns how many files went."""
        return finish(self._connection, plans.delete(namespace, path, if_version))

    def upload(self, namespace: Namespace, contents: Sequence[tuple[str, bytes]]) -> list[Uploaded]:
        """Put whole files, as (path, bytes). One result each, in this order."""
        return finish(self._connection, plans.upload(namespace, contents))

    def download(self, namespace: Namespace, paths: Sequence[str]) -> list[Downloaded]:
        """Get whole files. One result each, in this order."""
        return finish(self._connection, plans.download(namespace, paths))

    def put_content(
        self,
        namespace: Namespace,
        path: str,
        file: BinaryIO,
        *,
        media_type: str | None = None,
        if_version: int | None = None,
    ) -> int | None:
        """Create or replace a file of any size from an open, seekable one. Returns its version.

        With `if_version` only the file that has this version, 0: only where there is none; else
        raises VersionConflictError.
        """
        settings = self._connection.settings
        return put_content(settings, namespace, path, file, media_type, if_version)

    def get_content(self, namespace: Namespace, path: str, file: BinaryIO) -> int:
        """Write a file of any size to an open, seekable one. Returns how many bytes it has."""
        return get_content(self._connection.settings, namespace, path, file)

    def stat(self, namespace: Namespace, path: str) -> FileEntry | None:
        """What a listing says of one path; None when there is nothing."""
        return finish(self._connection, plans.stat(namespace, path))

    def move(
        self,
        namespace: Namespace,
        source: str,
        target: str,
        *,
        to_namespace: Namespace | None = None,
        overwrite: bool = False,
        if_version: int | None = None,
    ) -> MovedFile:
        """Move a file or a whole folder. Raises PathTakenError where something is already."""
        plan = plans.relocate(
            "move", namespace, source, target, to_namespace, overwrite, if_version
        )
        return finish(self._connection, plan)

    def copy(
        self,
        namespace: Namespace,
        source: str,
        target: str,
        *,
        to_namespace: Namespace | None = None,
        overwrite: bool = False,
        if_version: int | None = None,
    ) -> MovedFile:
        """Copy a file or a whole folder. Raises PathTakenError where something is already."""
        plan = plans.relocate(
            "copy", namespace, source, target, to_namespace, overwrite, if_version
        )
        return finish(self._connection, plan)


class AsyncFiles:
    """Part of `AsyncClient`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def ls(
        self,
        namespace: Namespace,
        path: str = "/",
        *,
        recursive: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> FilePage:
        """See `Files.ls`."""
        return await afinish(self._connection, plans.ls(namespace, path, recursive, limit, cursor))

    async def read(
        self, namespace: Namespace, path: str, *, offset: int = 0, limit: int | None = None
    ) -> FileWindow:
        """See `Files.read`."""
        return await afinish(self._connection, plans.read(namespace, path, offset, limit))

    async def write(
        self, namespace: Namespace, path: str, content: str, *, if_version: int | None = None
    ) -> int:
        """See `Files.write`."""
        return await afinish(self._connection, plans.write(namespace, path, content, if_version))

    async def append(
        self,
        namespace: Namespace,
        path: str,
        content: str,
        *,
        base_sha256: str | None = None,
        if_version: int | None = None,
    ) -> int:
        """See `Files.append`."""
        plan = plans.append(namespace, path, content, base_sha256, if_version)
        return await afinish(self._connection, plan)

    async def edit(
        self,
        namespace: Namespace,
        path: str,
        old_string: str,
        new_string: str,
        *,
        replace_all: bool = False,
        if_version: int | None = None,
    ) -> EditedFile:
        """See `Files.edit`."""
        plan = plans.edit(namespace, path, old_string, new_string, replace_all, if_version)
        return await afinish(self._connection, plan)

    async def glob(
        self,
        namespace: Namespace,
        pattern: str,
        path: str | None = None,
        *,
        limit: int | None = None,
    ) -> FoundFiles:
        """See `Files.glob`."""
        return await afinish(self._connection, plans.glob(namespace, pattern, path, limit))

    async def grep(
        self,
        namespace: Namespace,
        pattern: str,
        path: str | None = None,
        *,
        glob: str | None = None,
        max_count: int | None = None,
    ) -> FileMatches:
        """See `Files.grep`."""
        return await afinish(
            self._connection, plans.grep(namespace, pattern, path, glob, max_count)
        )

    async def delete(
        self, namespace: Namespace, path: str, *, if_version: int | None = None
    ) -> int:
        """See `Files.delete`."""
        return await afinish(self._connection, plans.delete(namespace, path, if_version))

    async def upload(
        self, namespace: Namespace, contents: Sequence[tuple[str, bytes]]
    ) -> list[Uploaded]:
        """See `Files.upload`."""
        return await afinish(self._connection, plans.upload(namespace, contents))

    async def download(self, namespace: Namespace, paths: Sequence[str]) -> list[Downloaded]:
        """See `Files.download`."""
        return await afinish(self._connection, plans.download(namespace, paths))

    async def stat(self, namespace: Namespace, path: str) -> FileEntry | None:
        """See `Files.stat`."""
        return await afinish(self._connection, plans.stat(namespace, path))

    async def move(
        self,
        namespace: Namespace,
        source: str,
        target: str,
        *,
        to_namespace: Namespace | None = None,
        overwrite: bool = False,
        if_version: int | None = None,
    ) -> MovedFile:
        """See `Files.move`."""
        plan = plans.relocate(
            "move", namespace, source, target, to_namespace, overwrite, if_version
        )
        return await afinish(self._connection, plan)

    async def copy(
        self,
        namespace: Namespace,
        source: str,
        target: str,
        *,
        to_namespace: Namespace | None = None,
        overwrite: bool = False,
        if_version: int | None = None,
    ) -> MovedFile:
        """See `Files.copy`."""
        plan = plans.relocate(
            "copy", namespace, source, target, to_namespace, overwrite, if_version
        )
        return await afinish(self._connection, plan)
