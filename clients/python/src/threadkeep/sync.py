"""`threadkeep-sync DIR`: brings what is in a folder into the drive. One way, from here to there.

Only files that differ travel, by size and SHA-256. Nothing is removed from the drive unless it is
asked for, and never what somebody else changed meanwhile. Links are not followed.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from threadkeep.client import Client
from threadkeep.errors import InvalidError, ThreadkeepError, VersionConflictError
from threadkeep.file_plans import BATCH_BYTES_MAX
from threadkeep.files import FileEntry
from threadkeep.labels import label

WORKSPACE = "workspace"
USER_WITHOUT_KEYS = "default"
CHUNK_BYTES = 1 << 20
Say = Callable[[str], None]


@dataclass
class Report:
    """What a run did, or in a dry run would do. Paths are those of the drive."""

    uploaded: list[str] = field(default_factory=list)
    unchanged: int = 0
    deleted: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    """Not removed, because somebody changed them meanwhile, or because they hold what stays."""
    failed: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    """Links, devices and names that are no Unicode."""
    bytes_sent: int = 0


@dataclass(frozen=True)
class Local:
    """A file here."""

    file: Path
    size: int


def sync(
    client: Client,
    folder: str | os.PathLike[str],
    namespace: Sequence[str],
    *,
    to: str = "/",
    delete: bool = False,
    dry_run: bool = False,
    exclude: Sequence[str] = (),
    say: Say = lambda _: None,
) -> Report:
    """Bring a folder into a namespace, below `to`. Raises ThreadkeepError for the listing only.

    With `delete`, what is not here goes there too. `exclude` are patterns of names or of whole
    paths below the folder; what they match is neither sent nor removed.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidError(f"{root} is no folder", field="folder")
    base = to.rstrip("/")
    run = _Run(client, tuple(namespace), Report(), dry_run, say)
    here = dict(_found(root, base, exclude, run.report.skipped))
    there = {
        entry.path: entry
        for entry in run.listed(base or "/")
        if not entry.is_dir and not _excluded(entry.path[len(base) + 1 :], exclude)
    }
    if delete:
        run.delete([entry for path, entry in there.items() if path not in here], here)
    run.upload(path for path in here.items() if run.differs(*path, there.get(path[0])))
    return run.report


class _Run:
    def __init__(
        self,
        client: Client,
        namespace: tuple[str, ...],
        report: Report,
        dry_run: bool,
        say: Say,
    ) -> None:
        self.client = client
        self.namespace = namespace
        self.report = report
        self.dry_run = dry_run
        self.say = say

    def listed(self, folder: str) -> list[FileEntry]:
        entries: list[FileEntry] = []
        cursor: str | None = None
        while True:
            page = self.client.files.ls(self.namespace, folder, recursive=True, cursor=cursor)
            entries += page.entries
            cursor = page.next_cursor
            if cursor is None:
                return entries

    def differs(self, path: str, local: Local, entry: FileEntry | None) -> bool:
        """Whether the file must travel. Where that cannot be known, it does."""
        try:
            if entry is None or entry.size not in (local.size, _size_of_base64(local.size)):
                return True
            if entry.sha256 is None:
                entry = self.client.files.stat(self.namespace, path)
            if entry is None or entry.sha256 != _sha256(local.file):
                return True
        except (OSError, ThreadkeepError) as error:
            self._failed(path, error)
            return False
        self.report.unchanged += 1
        return False

    def upload(self, changed: Iterator[tuple[str, Local]]) -> None:
        batch: list[tuple[str, bytes]] = []
        size = 0
        for path, local in changed:
            if self.dry_run:
                self._uploaded(path, local.size)
            elif local.size > BATCH_BYTES_MAX:
                self._stream(path, local)
            else:
                try:
                    data = local.file.read_bytes()
                except OSError as error:
                    self._failed(path, error)
                    continue
                if size + len(data) > BATCH_BYTES_MAX:
                    self._send(batch)
                    batch, size = [], 0
                batch.append((path, data))
                size += len(data)
        self._send(batch)

    def delete(self, gone: list[FileEntry], here: dict[str, Local]) -> None:
        for entry in gone:
            path = entry.path
            # The path of a file may be a folder as well; deleting it would take what is below.
            if any(stays.startswith(f"{path}/") for stays in here):
                self._kept(path)
            elif self.dry_run:
                self._deleted(path)
            else:
                try:
                    self.client.files.delete(self.namespace, path, if_version=entry.version)
                except VersionConflictError:
                    self._kept(path)
                except ThreadkeepError as error:
                    self._failed(path, error)
                else:
                    self._deleted(path)

    def _send(self, batch: list[tuple[str, bytes]]) -> None:
        if not batch:
            return
        try:
            done = self.client.files.upload(self.namespace, batch)
        except ThreadkeepError as error:
            for path, _ in batch:
                self._failed(path, error)
            return
        for (path, data), one in zip(batch, done, strict=True):
            if one.error is None:
                self._uploaded(path, len(data))
            else:
                self._failed(path, one.error)

    def _stream(self, path: str, local: Local) -> None:
        try:
            with local.file.open("rb") as file:
                self.client.files.put_content(self.namespace, path, file)
        except (OSError, ThreadkeepError) as error:
            self._failed(path, error)
        else:
            self._uploaded(path, local.size)

    def _uploaded(self, path: str, size: int) -> None:
        self.report.uploaded.append(path)
        self.report.bytes_sent += size
        self.say(f"upload {path}")

    def _deleted(self, path: str) -> None:
        self.report.deleted.append(path)
        self.say(f"delete {path}")

    def _kept(self, path: str) -> None:
        self.report.kept.append(path)
        self.say(f"keep   {path}: it changed, or holds what stays")

    def _failed(self, path: str, error: object) -> None:
        self.report.failed[path] = str(error)
        self.say(f"failed {path}: {error}")


def _found(
    root: Path, base: str, exclude: Sequence[str], skipped: list[str]
) -> Iterator[tuple[str, Local]]:
    """The files of a folder under their paths in the drive."""
    with os.scandir(root) as entries:
        for entry in sorted(entries, key=lambda it: it.name):
            yield from _found_one(entry, "", base, exclude, skipped)


def _found_one(
    entry: os.DirEntry[str], above: str, base: str, exclude: Sequence[str], skipped: list[str]
) -> Iterator[tuple[str, Local]]:
    below = f"{above}{entry.name}"
    if _excluded(below, exclude):
        return
    if not _is_unicode(entry.name):
        skipped.append(entry.path)
    elif entry.is_dir(follow_symlinks=False):
        with os.scandir(entry.path) as entries:
            for inner in sorted(entries, key=lambda it: it.name):
                yield from _found_one(inner, f"{below}/", base, exclude, skipped)
    elif entry.is_file(follow_symlinks=False):
        size = entry.stat(follow_symlinks=False).st_size
        yield f"{base}/{below}", Local(Path(entry.path), size)
    else:
        skipped.append(entry.path)


def _excluded(below: str, exclude: Sequence[str]) -> bool:
    """Whether a pattern matches the path, a folder above it, or a name in it."""
    parts = below.split("/")
    whole = ["/".join(parts[: at + 1]) for at in range(len(parts))]
    return any(fnmatch.fnmatchcase(it, pattern) for pattern in exclude for it in (*whole, *parts))


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _size_of_base64(size: int) -> int:
    """What a listing says of a file of bytes that are no text."""
    return -(-size // 3) * 4


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0, or 1 when a file failed or could not be sent, 2 when nothing ran."""
    options = _parser().parse_args(arguments)
    say: Say = (lambda _: None) if options.quiet else print
    try:
        with Client(options.url) as client:
            report = sync(
                client,
                options.folder,
                options.namespace or (_user_of(client, options.user), WORKSPACE),
                to=options.to,
                delete=options.delete,
                dry_run=options.dry_run,
                exclude=options.exclude,
                say=say,
            )
    except (ThreadkeepError, OSError) as error:
        print(f"threadkeep-sync: {error}", file=sys.stderr)
        return 2
    for path in report.skipped:
        print(f"skipped {path!r}: a link, a device, or a name that is no text", file=sys.stderr)
    for path, reason in report.failed.items():
        print(f"failed {path}: {reason}", file=sys.stderr)
    print(f"{'would be: ' if options.dry_run else ''}{_summary(report)}")
    return 1 if report.failed or report.skipped else 0


def _summary(report: Report) -> str:
    return (
        f"{len(report.uploaded)} uploaded ({report.bytes_sent} bytes), "
        f"{report.unchanged} unchanged, {len(report.deleted)} deleted, {len(report.kept)} kept, "
        f"{len(report.skipped)} skipped, {len(report.failed)} failed"
    )


def _user_of(client: Client, user: str | None) -> str:
    """The label of whose drive it is: the user that is named, else the one that the key is for."""
    if user is not None:
        return label(user)
    identity = client.whoami()
    if identity.label is not None:
        return identity.label
    if identity.credential is None:
        return USER_WITHOUT_KEYS
    raise InvalidError("the key is for the whole tenant: say whose drive it is with --user")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="threadkeep-sync",
        description="Bring what is in a folder into the drive. One way; only what differs travels.",
        epilog="The key is taken from THREADKEEP_API_KEY.",
    )
    add = parser.add_argument
    add("folder", metavar="DIR", help="the folder")
    add("--url", help="the server (THREADKEEP_URL, else http://127.0.0.1:7070)")
    add("--user", help="whose drive (default: whom the key is for)")
    add(
        "--namespace",
        action="append",
        metavar="LABEL",
        help="a label of another namespace than the user's workspace; repeat for each",
    )
    add("--to", default="/", metavar="PATH", help="the folder of the drive (/)")
    add("--delete", action="store_true", help="remove from the drive what is not in DIR")
    add("--dry-run", action="store_true", help="say what would be done, and do nothing")
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out names, or paths below DIR, that match; repeatable",
    )
    add("--quiet", action="store_true", help="only the summary and what failed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
