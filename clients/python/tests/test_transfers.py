"""Exports as files: whole or not there, whatever comes instead of one; parts that are none."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import ormsgpack
import pytest

from raw_answers import answer, answering, problem
from threadkeep import Client
from threadkeep.errors import InvalidError, NotFoundError, ProtocolError, TransportError
from threadkeep.export_frames import Frames

KIND = "application/vnd.threadkeep.export"
EMPTY_BODY_BYTES = 1
"""Of a request for everything: an empty map."""


def frame(payload: dict[str, object]) -> bytes:
    packed = ormsgpack.packb(payload)
    return len(packed).to_bytes(4, "little") + packed + b"c" * 32


BEGIN = b"THREADKEEP EXPORT\nmind it\n\n" + frame({"begin": {"format": 1}})
MIDDLE = frame({"slice": bytes(100)}) + frame({"end": {"signature": None}})
FINISH = frame({"finish": {"counts": {}, "signature": None}})
FILE = BEGIN + MIDDLE * 3 + FINISH


def chunked(body: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {KIND}\r\ntransfer-encoding: chunked\r\n\r\n"
    return head.encode() + f"{len(body):x}\r\n".encode() + body + b"\r\n" + end


def exported(file: Path, answers: Callable[[int], bytes]) -> tuple[int, list[str]]:
    with answering(answers, body_bytes=EMPTY_BODY_BYTES) as (client, targets):
        return client.export(file), targets


def test_a_file_comes_whole_and_for_its_user_only(tmp_path: Path) -> None:
    target = tmp_path / "acme.export"
    target.write_bytes(b"older and longer" * len(FILE))
    target.chmod(0o644)
    size, targets = exported(target, lambda _: chunked(FILE))
    assert size == len(FILE)
    assert target.read_bytes() == FILE
    assert target.stat().st_mode & 0o777 == 0o600
    assert targets == ["/v1/export"]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    "broken",
    [
        chunked(FILE, end=b""),
        chunked(BEGIN + MIDDLE),
        chunked(FILE[:-1]),
        chunked(FILE + MIDDLE),
        chunked(FILE + b"a"),
        chunked(b"THREADKEEP"),
        chunked(b"")[:-5],
        b"",
    ],
    ids=[
        "broken off",
        "ended between frames",
        "ended in the last frame",
        "frames behind the last",
        "bytes behind the last",
        "ended in the preamble",
        "empty",
        "no answer",
    ],
)
def test_what_is_at_a_path_stays_when_every_attempt_breaks_off(
    broken: bytes, tmp_path: Path
) -> None:
    target = tmp_path / "acme.export"
    target.write_bytes(b"the only copy")
    asked = 0

    def answers(number: int) -> bytes:
        nonlocal asked
        asked = number
        return broken

    with pytest.raises(TransportError):
        exported(target, answers)
    assert asked == 4
    assert target.read_bytes() == b"the only copy"
    assert list(tmp_path.iterdir()) == [target]


def test_a_lost_connection_begins_again(tmp_path: Path) -> None:
    # More than is read at once, so that some of it was written.
    longer = BEGIN + frame({"slice": bytes(3 << 20)})
    answers = [chunked(longer, end=b""), problem(503, "overloaded"), chunked(FILE)]
    size, targets = exported(tmp_path / "new", lambda number: answers[number - 1])
    assert size == len(FILE)
    assert (tmp_path / "new").read_bytes() == FILE
    assert len(targets) == 3
    held = io.BytesIO(b"before")
    held.seek(0, io.SEEK_END)
    opened = answering(lambda number: answers[number - 1], body_bytes=EMPTY_BODY_BYTES)
    with opened as (client, _):
        client.export(held)
    assert held.getvalue() == b"before" + FILE


def test_refusals_and_other_servers_are_heard_at_once(tmp_path: Path) -> None:
    refused: list[tuple[bytes, type[Exception]]] = [
        (problem(404, "not_found"), NotFoundError),
        (answer(b"<html>a page</html>", kind="text/html"), ProtocolError),
        (chunked(b"THREADKEEP EXPORT\n" + bytes(5_000)), ProtocolError),
    ]
    for said, error in refused:
        opened = answering(lambda _, said=said: said, body_bytes=EMPTY_BODY_BYTES)
        with opened as (client, targets), pytest.raises(error):
            client.export(tmp_path / "new")
        assert len(targets) == 1
    assert list(tmp_path.iterdir()) == []


def test_frames_are_followed_in_pieces_of_any_size() -> None:
    for size in (1, 2, 3, 11, 12, 13, 100, len(FILE)):
        frames, told = Frames(), []
        for start in range(0, len(FILE), size):
            assert not frames.is_whole
            frames.take(FILE[start : start + size])
            told.append(frames.is_whole)
        assert told[-1]


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"threads": []}, "threads"),
        ({"sessions": [], "namespaces": ()}, "sessions"),
        ({"threads": "t"}, "threads"),
        ({"namespaces": [("ann",), "bob"]}, "namespaces"),
        ({"sessions": [("kind", "key")]}, "key"),
    ],
)
def test_no_parts_are_not_everything(parts: dict[str, object], field: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        Client().export(tmp_path / "new", **parts)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert list(tmp_path.iterdir()) == []
