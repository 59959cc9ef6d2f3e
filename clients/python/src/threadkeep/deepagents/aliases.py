"""Second names of folders: a path that begins with one is meant where the first name is.

Results keep the spelling of the question. A search of everything finds each file once, under its
first name.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import (
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


class Named(NamedTuple):
    """A path, with what its beginning was before and is now."""

    path: str
    alias: str = ""
    first: str = ""

    def back(self, path: str) -> str:
        """A path of the results in the spelling of the question."""
        return f"{self.alias}{path.removeprefix(self.first)}" if self.alias else path


class Aliases(CompositeBackend):
    """Part of `ThreadkeepRoutes`. Both names are without a slash at their end."""

    aliases: dict[str, str]

    def _named(self, path: str) -> Named:
        for alias, first in self.aliases.items():
            if path == alias or path.startswith(f"{alias}/"):
                return Named(f"{first}{path.removeprefix(alias)}" or "/", alias, first)
        return Named(path)

    def _question(self, pattern: str, path: str | None) -> tuple[str, Named | None]:
        """A glob, also where the pattern begins with a second name and the path is everything."""
        if path is not None and path != "/":
            return pattern, self._named(path)
        for alias in self.aliases:
            if pattern.lstrip("/").startswith(f"{alias[1:]}/"):
                rest = pattern.lstrip("/").removeprefix(alias[1:])
                return rest, self._named(alias)
        return pattern, None if path is None else Named(path)

    def ls(self, path: str) -> LsResult:
        """See `CompositeBackend.ls`."""
        named = self._named(path)
        return _ls_back(named, super().ls(named.path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        named = self._named(path)
        return _ls_back(named, await super().als(named.path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `CompositeBackend.read`."""
        return super().read(self._named(file_path).path, offset=offset, limit=limit)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        return await super().aread(self._named(file_path).path, offset=offset, limit=limit)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `CompositeBackend.grep`."""
        named = None if path is None else self._named(path)
        found = super().grep(pattern, named and named.path, glob, max_count=max_count)
        return _grep_back(named, found)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        named = None if path is None else self._named(path)
        found = await super().agrep(pattern, named and named.path, glob, max_count=max_count)
        return _grep_back(named, found)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `CompositeBackend.glob`."""
        pattern, named = self._question(pattern, path)
        return _glob_back(named, super().glob(pattern, named and named.path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        pattern, named = self._question(pattern, path)
        return _glob_back(named, await super().aglob(pattern, named and named.path))

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `CompositeBackend.write`."""
        return _path_back(file_path, super().write(self._named(file_path).path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return _path_back(file_path, await super().awrite(self._named(file_path).path, content))

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """See `CompositeBackend.edit`."""
        path = self._named(file_path).path
        return _path_back(file_path, super().edit(path, old_string, new_string, replace_all))

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """See `edit`."""
        path = self._named(file_path).path
        edited = await super().aedit(path, old_string, new_string, replace_all)
        return _path_back(file_path, edited)

    def delete(self, file_path: str) -> DeleteResult:
        """See `CompositeBackend.delete`."""
        return _path_back(file_path, super().delete(self._named(file_path).path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return _path_back(file_path, await super().adelete(self._named(file_path).path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `CompositeBackend.upload_files`."""
        done = super().upload_files([(self._named(path).path, data) for path, data in files])
        return [_path_back(path, one) for (path, _), one in zip(files, done, strict=True)]

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        inner = [(self._named(path).path, data) for path, data in files]
        done = await super().aupload_files(inner)
        return [_path_back(path, one) for (path, _), one in zip(files, done, strict=True)]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `CompositeBackend.download_files`."""
        found = super().download_files([self._named(path).path for path in paths])
        return [_path_back(path, one) for path, one in zip(paths, found, strict=True)]

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        found = await super().adownload_files([self._named(path).path for path in paths])
        return [_path_back(path, one) for path, one in zip(paths, found, strict=True)]


PathResult = TypeVar(
    "PathResult", WriteResult, EditResult, DeleteResult, FileUploadResponse, FileDownloadResponse
)


def _path_back(path: str, result: PathResult) -> PathResult:
    if result.path is not None:
        result.path = path
    return result


def _ls_back(named: Named, result: LsResult) -> LsResult:
    for entry in result.entries or ():
        entry["path"] = named.back(entry["path"])
    return result


def _glob_back(named: Named | None, result: GlobResult) -> GlobResult:
    if named is None:
        return result
    for entry in result.matches or ():
        entry["path"] = named.back(entry["path"])
    return result


def _grep_back(named: Named | None, result: GrepResult) -> GrepResult:
    if named is None:
        return result
    for match in result.matches or ():
        match["path"] = named.back(match["path"])
    return result
