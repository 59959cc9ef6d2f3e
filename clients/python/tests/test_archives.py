"""Archives of workspaces: files at paths are replaced whole or not at all, refusals are heard.

A refusal may come while a body is still being sent.
"""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from raw_answers import answer, answering, problem
from threadkeep.errors import InvalidError, SnapshotNotFoundError, TransportError

TAR = bytes(range(256)) * 40
LARGE = 32 << 20
"""More than the buffers of a connection hold."""


def test_what_is_at_a_path_stays_when_there_is_no_archive(tmp_path: Path) -> None:
    target = tmp_path / "backup.tar"
    target.write_bytes(b"the only copy")
    with answering(lambda _: problem(404, "snapshot_not_found")) as (client, _):
        with pytest.raises(SnapshotNotFoundError):
            client.snapshots.get_archive("typo", target)
        with pytest.raises(SnapshotNotFoundError):
            client.snapshots.get_archive("typo", str(tmp_path / "new.tar"))
        with pytest.raises(IsADirectoryError):
            client.snapshots.get_archive("typo", tmp_path)
    assert target.read_bytes() == b"the only copy"
    assert list(tmp_path.iterdir()) == [target]


def test_what_is_at_a_path_stays_when_an_archive_breaks_off(tmp_path: Path) -> None:
    target = tmp_path / "backup.tar"
    target.write_bytes(b"the only copy")
    cut = [answer(TAR)[:-1], problem(404, "snapshot_not_found")]
    with (
        answering(lambda number: cut[number - 1]) as (client, _),
        pytest.raises(SnapshotNotFoundError),
    ):
        client.snapshots.get_archive("s", target)
    assert target.read_bytes() == b"the only copy"
    assert list(tmp_path.iterdir()) == [target]


def test_a_whole_archive_replaces_what_is_at_a_path(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "backup.tar", tmp_path / "link"
    target.write_bytes(b"older and longer" * len(TAR))
    target.chmod(0o640)
    link.symlink_to(target)
    with answering(lambda _: answer(TAR)) as (client, _):
        assert client.snapshots.get_archive("s", link) == len(TAR)
        assert client.snapshots.get_archive("s", tmp_path / "new.tar") == len(TAR)
    assert link.is_symlink()
    assert target.read_bytes() == (tmp_path / "new.tar").read_bytes() == TAR
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.rglob("*")) == [
        "backup.tar",
        "folder",
        "link",
        "new.tar",
    ]


def test_an_empty_digest_is_sent_and_refused() -> None:
    refusing = answering(lambda _: problem(422, "invalid"))
    with refusing as (client, targets), pytest.raises(InvalidError):
        client.snapshots.put_archive("w", io.BytesIO(b""), sha256="")
    query = parse_qs(urlsplit(targets[0]).query, keep_blank_values=True)
    assert query == {"workspace": ["w"], "links": ["inside"], "sha256": [""]}


def test_a_refusal_before_the_end_of_a_body_is_the_answer() -> None:
    with answering(lambda _: problem(422, "invalid")) as (client, targets):
        with pytest.raises(InvalidError):
            client.snapshots.put_archive("w", io.BytesIO(bytes(LARGE)))
        # A body that is held whole goes the same way.
        with pytest.raises(InvalidError):
            client.files.write(("a",), "/a", "x" * LARGE)
    assert len(targets) == 2


def test_a_connection_that_breaks_without_an_answer_is_a_lost_one() -> None:
    with answering(lambda _: b"") as (client, targets), pytest.raises(TransportError):
        client.snapshots.put_archive("w", io.BytesIO(bytes(LARGE)))
    assert len(targets) == 4
