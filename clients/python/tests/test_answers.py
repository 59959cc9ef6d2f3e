"""Answers of HTTP/1.1 as they arrive: whole ones at every cut, broken ones refused."""

from __future__ import annotations

import gzip

import pytest

from threadkeep.http.answers import (
    CHUNK_LINE_BYTES_MAX,
    HEAD_BYTES_MAX,
    AnswerReader,
    BrokenAnswerError,
)
from threadkeep.http.asyncio_transport import answer_of
from threadkeep.http.transport import SendFailedError

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

WHOLE = {
    "a length": (OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello", True),
    "no body": (OK + b"content-length: 0\r\n\r\n", 200, b"", True),
    "a status without a body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "no reason": (b"HTTP/1.1 503\r\nContent-Length: 1\r\n\r\nx", 503, b"x", True),
    "one length twice": (
        OK + b"Content-Length: 2\r\ncontent-length: 2\r\n\r\nab",
        200,
        b"ab",
        True,
    ),
    "chunks": (
        CHUNKED + b"3\r\nabc\r\n00A;x=y\r\n0123456789\r\n0\r\n\r\n",
        200,
        b"abc0123456789",
        True,
    ),
    "a trailer": (CHUNKED + b"1\r\na\r\n0\r\nDigest: x\r\n\r\n", 200, b"a", True),
    "an earlier one": (
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\nx",
        200,
        b"x",
        True,
    ),
    "the last of its connection": (
        OK + b"Connection: close\r\nContent-Length: 1\r\n\r\nx",
        200,
        b"x",
        False,
    ),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False),
}

BROKEN = {
    "another protocol": b"SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/2": b"HTTP/2 200\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n\r\n",
    "a switch of protocols": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "a header without a colon": OK + b"Content-Length 5\r\n\r\n",
    "a space before the colon": OK + b"Content-Length : 5\r\n\r\n",
    "a folded header": OK + b"X: a\r\n b\r\n\r\n",
    "a line feed in a header": OK + b"X: a\nContent-Length: 1\r\n\r\n",
    "a NUL in a header": OK + b"X: a\0\r\n\r\n",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n",
    "a signed length": OK + b"Content-Length: +1\r\n\r\n",
    "a length that is no number": OK + b"Content-Length: 1x\r\n\r\n",
    "an empty length": OK + b"Content-Length:\r\n\r\n",
    "a length and chunks": OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a coding that nobody asked for": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\n",
    "a chunk of a size that is no number": CHUNKED + b"0x1\r\na\r\n",
    "a chunk that is longer than its size": CHUNKED + b"1\r\nab\r\n",
    "a trailer that is none": CHUNKED + b"0\r\nx\r\n\r\n",
    "a head without an end": OK + b"X: " + b"a" * HEAD_BYTES_MAX,
    "a size without an end": CHUNKED + b"1" * CHUNK_LINE_BYTES_MAX,
}


def read(pieces: list[bytes]) -> AnswerReader:
    reader = AnswerReader()
    for piece in pieces:
        reader.feed(piece)
    return reader


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_is_read_however_it_is_cut(name: str) -> None:
    data, status, body, leaves = WHOLE[name]
    cuts = [[data[:at], data[at:]] for at in range(len(data))]
    for pieces in [*cuts, [bytes([byte]) for byte in data]]:
        reader = read(pieces)
        assert (reader.is_whole, reader.status, reader.body) == (True, status, body), pieces
        assert reader.leaves_connection == leaves


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_that_ends_early_is_none(name: str) -> None:
    data = WHOLE[name][0]
    for at in range(len(data)):
        reader = AnswerReader()
        reader.feed(data[:at])
        assert not reader.is_whole
        with pytest.raises(BrokenAnswerError, match="the connection was closed"):
            reader.end()


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_refused_however_it_is_cut(name: str) -> None:
    data = BROKEN[name]
    for size in (1, len(data)):
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        with pytest.raises(BrokenAnswerError):
            read(pieces)


def test_an_answer_without_a_length_goes_on_to_the_end_of_its_connection() -> None:
    reader = read([OK, b"\r\nhel", b"lo"])
    assert not reader.is_whole
    reader.end()
    assert reader.is_whole
    assert reader.body == b"hello"
    assert not reader.leaves_connection


def test_what_follows_an_answer_is_never_taken_for_the_next() -> None:
    one = OK + b"Content-Length: 1\r\n\r\nx"
    reader = read([one + one])
    assert reader.is_whole
    assert reader.body == b"x"
    assert not reader.leaves_connection


def test_of_several_headers_with_one_name_all_values_are_kept() -> None:
    reader = AnswerReader()
    reader.feed(OK + b"X: a\r\nx:  b \r\nContent-Length: 0\r\n\r\n")
    assert reader.headers[b"x"] == b"a,b"


def test_a_compressed_answer_is_decompressed_and_a_damaged_one_refused() -> None:
    body = gzip.compress(b"hello" * 100)
    head = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n"
    assert answer_of(read([head % (b"gzip", len(body)), body])).body == b"hello" * 100
    for coding, sent in ((b"gzip", body[:-9]), (b"gzip", b"hello"), (b"br", body)):
        with pytest.raises(SendFailedError):
            answer_of(read([head % (coding, len(sent)), sent]))
