"""`ThreadkeepRoutes`: a CompositeBackend whose folders have second names.

`/memory` is `/memories`, and `/workspace` is the default backend without what is mounted over it.
Results keep the spelling of the question; a search of everything finds each file once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepMatch,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

WORKSPACE = "/workspace"
PathResult = TypeVar(
    "PathResult", WriteResult, EditResult, DeleteResult, FileUploadResponse, FileDownloadResponse
)


class Place(NamedTuple):
    """Who has a path, under which name, and what its beginning was in the question."""

    backend: BackendProtocol
    path: str
    alias: str = ""
    first: str = ""

    def back(self, found: Iterable[FileInfo | GrepMatch] | None) -> None:
        """Gives what was found the spelling of the question."""
        for one in (found or ()) if self.alias else ():
            one["path"] = f"{self.alias}{one['path'].removeprefix(self.first)}"


class ThreadkeepRoutes(CompositeBackend):
    """See the module. `workspace` is what `/workspace` names, None where it is an ordinary path."""

    def __init__(
        self,
        default: BackendProtocol,
        routes: dict[str, BackendProtocol],
        *,
        workspace: BackendProtocol | None = None,
        aliases: Mapping[str, str] | None = None,
        artifacts_root: str = "/",
    ) -> None:
        super().__init__(default=default, routes=routes, artifacts_root=artifacts_root)
        self._mounted = CompositeBackend(default=default, routes=routes)
        self._names: dict[str, tuple[BackendProtocol, str]] = {
            alias: (self._mounted, first) for alias, first in (aliases or {}).items()
        }
        if workspace is not None:
            self._names[WORKSPACE] = (workspace, "")

    def _place(self, path: str) -> Place:
        for alias, (backend, first) in self._names.items():
            if path == alias or path.startswith(f"{alias}/"):
                below = path.removeprefix(alias)
                return Place(backend, f"{first}{below}" or "/", alias, first)
        return Place(self._mounted, path)

    def _place_or_all(self, path: str | None) -> tuple[Place, str | None]:
        if path is None:
            return Place(self._mounted, "/"), None
        place = self._place(path)
        return place, place.path

    def _question(self, pattern: str, path: str | None) -> tuple[str, Place, str | None]:
        """A glob, also where the pattern begins with a second name and the path is everything."""
        if path in (None, "/"):
            bare = pattern.lstrip("/")
            for alias in self._names:
                if bare.startswith(f"{alias[1:]}/"):
                    return bare.removeprefix(alias[1:]), *self._place_or_all(alias)
        return pattern, *self._place_or_all(path)

    def _parted(self, places: list[Place]) -> Iterator[tuple[BackendProtocol, list[int]]]:
        """Which of them each backend has."""
        for backend in {id(place.backend): place.backend for place in places}.values():
            yield backend, [at for at, place in enumerate(places) if place.backend is backend]

    def ls(self, path: str) -> LsResult:
        """See `CompositeBackend.ls`."""
        place = self._place(path)
        result = place.backend.ls(place.path)
        place.back(result.entries)
        return result

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        place = self._place(path)
        result = await place.backend.als(place.path)
        place.back(result.entries)
        return result

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `CompositeBackend.read`."""
        place = self._place(file_path)
        return place.backend.read(place.path, offset=offset, limit=limit)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        place = self._place(file_path)
        return await place.backend.aread(place.path, offset=offset, limit=limit)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `CompositeBackend.grep`."""
        place, where = self._place_or_all(path)
        result = place.backend.grep(pattern, where, glob, max_count=max_count)
        place.back(result.matches)
        return result

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        place, where = self._place_or_all(path)
        result = await place.backend.agrep(pattern, where, glob, max_count=max_count)
        place.back(result.matches)
        return result

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `CompositeBackend.glob`."""
        pattern, place, where = self._question(pattern, path)
        result = place.backend.glob(pattern, where)
        place.back(result.matches)
        return result

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        pattern, place, where = self._question(pattern, path)
        result = await place.backend.aglob(pattern, where)
        place.back(result.matches)
        return result

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `CompositeBackend.write`."""
        place = self._place(file_path)
        return _asked(file_path, place.backend.write(place.path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        place = self._place(file_path)
        return _asked(file_path, await place.backend.awrite(place.path, content))

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """See `CompositeBackend.edit`."""
        place = self._place(file_path)
        done = place.backend.edit(place.path, old_string, new_string, replace_all)
        return _asked(file_path, done)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """See `edit`."""
        place = self._place(file_path)
        done = await place.backend.aedit(place.path, old_string, new_string, replace_all)
        return _asked(file_path, done)

    def delete(self, file_path: str) -> DeleteResult:
        """See `CompositeBackend.delete`."""
        place = self._place(file_path)
        return _asked(file_path, place.backend.delete(place.path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        place = self._place(file_path)
        return _asked(file_path, await place.backend.adelete(place.path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `CompositeBackend.upload_files`."""
        places = [self._place(path) for path, _ in files]
        done: dict[int, FileUploadResponse] = {}
        for backend, part in self._parted(places):
            inner = [(places[at].path, files[at][1]) for at in part]
            done.update(zip(part, backend.upload_files(inner), strict=True))
        return [_asked(path, done[at]) for at, (path, _) in enumerate(files)]

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        places = [self._place(path) for path, _ in files]
        done: dict[int, FileUploadResponse] = {}
        for backend, part in self._parted(places):
            inner = [(places[at].path, files[at][1]) for at in part]
            done.update(zip(part, await backend.aupload_files(inner), strict=True))
        return [_asked(path, done[at]) for at, (path, _) in enumerate(files)]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `CompositeBackend.download_files`."""
        places = [self._place(path) for path in paths]
        found: dict[int, FileDownloadResponse] = {}
        for backend, part in self._parted(places):
            inner = [places[at].path for at in part]
            found.update(zip(part, backend.download_files(inner), strict=True))
        return [_asked(path, found[at]) for at, path in enumerate(paths)]

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        places = [self._place(path) for path in paths]
        found: dict[int, FileDownloadResponse] = {}
        for backend, part in self._parted(places):
            inner = [places[at].path for at in part]
            found.update(zip(part, await backend.adownload_files(inner), strict=True))
        return [_asked(path, found[at]) for at, path in enumerate(paths)]


def _asked(path: str, result: PathResult) -> PathResult:
    """The result under the name that was asked for."""
    if result.path is not None:
        result.path = path
    return result
