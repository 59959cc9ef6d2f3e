"""Archives of workspaces, streamed: neither side ever holds one whole. Blocking."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlencode

from threadkeep.errors import InvalidError
from threadkeep.file_contents import receive, send
from threadkeep.http.settings import Settings
from threadkeep.local_files import File, replaced, source
from threadkeep.snapshots import StagedArchive, part

Links = Literal["inside", "any"]
MEDIA_TYPE = "application/x-tar"


def put_archive(
    settings: Settings, workspace: str, file: File, sha256: str | None, links: Links
) -> StagedArchive:
    """Stage an archive."""
    query = {"workspace": workspace, "links": links}
    if sha256 is not None:
        query["sha256"] = sha256
    with source(file) as opened:
        return part(StagedArchive, send(settings, _target(query), opened, MEDIA_TYPE))


def get_archive(settings: Settings, snapshot_id: str, file: File) -> int:
    """Write the archive of a snapshot to a file; how many bytes it has."""
    with replaced(file) as opened:
        return receive(settings, _target({"snapshot_id": snapshot_id}), opened)


def _target(query: dict[str, str]) -> str:
    try:
        return f"/v1/snapshots/archive?{urlencode(query)}"
    except UnicodeEncodeError as error:
        field = next(iter(query))
        raise InvalidError(f"{field} is not Unicode text: {error}", field=field) from error
