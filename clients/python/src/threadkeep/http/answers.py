"""Reads one HTTP/1.1 answer as its bytes arrive (RFC 9112). Strict: what could be read in two ways
is refused, because the bytes of one answer must never be taken for those of the next.
"""

from __future__ import annotations

import re

HEAD_BYTES_MAX = 64 << 10
"""A head (status line and headers) may have so many bytes; so may the trailers of chunks."""
CHUNK_LINE_BYTES_MAX = 4 << 10

_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n\0]*)?\Z")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*\Z")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n\0]*)?\Z")
_LENGTH = re.compile(rb"[0-9]{1,18}\Z")
_WITHOUT_BODY = frozenset({204, 304})


class BrokenAnswerError(Exception):
    """The bytes are no answer that can be read in one way only."""


class AnswerReader:
    """Takes bytes with `feed` until `is_whole`. Answers of status 1xx are left out."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        """By lower-case name; of several with one name, the values joined by a comma."""
        self.is_whole = False
        self._waiting = b""
        self._pieces: list[bytes] = []
        self._missing: int | None = None
        """Bytes of the body or of the chunk; None: up to the end of the connection."""
        self._is_chunked = False
        self._part = "head"
        self._keeps = False

    @property
    def body(self) -> bytes:
        """The body, of a whole answer."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    @property
    def leaves_connection(self) -> bool:
        """Whether the connection may be used again: the answer says so, and nothing follows it."""
        return self.is_whole and self._keeps and not self._waiting

    def feed(self, data: bytes) -> None:
        """Bytes that arrived. Raises BrokenAnswerError."""
        if self._waiting:
            data = self._waiting + data
            self._waiting = b""
        while data and not self.is_whole:
            if self._part == "body":
                data = self._take_body(data)
                continue
            rest = self._take_head(data) if self._part == "head" else self._take_line(data)
            if rest is None:
                self._waiting = data
                return
            data = rest
        self._waiting = data

    def end(self) -> None:
        """The connection ended. Raises BrokenAnswerError unless the answer is whole with it."""
        if self._part == "body" and self._missing is None:
            self.is_whole = True
        if not self.is_whole:
            begun = "before its end" if self.status or self._waiting else "without an answer"
            raise BrokenAnswerError(f"the connection was closed {begun}")

    def _take_head(self, data: bytes) -> bytes | None:
        end = data.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX)
        if end < 0:
            if len(data) >= HEAD_BYTES_MAX:
                raise BrokenAnswerError(f"the head is longer than {HEAD_BYTES_MAX} bytes")
            return None
        first, *lines = data[:end].split(b"\r\n")
        found = _STATUS_LINE.match(first)
        if found is None:
            raise BrokenAnswerError("the answer does not begin with a status line of HTTP/1.1")
        headers: dict[bytes, bytes] = {}
        for line in lines:
            header = _HEADER_LINE.match(line)
            if header is None:
                raise BrokenAnswerError("a header cannot be read")
            name, value = header[1].lower(), header[2]
            headers[name] = value if name not in headers else headers[name] + b"," + value
        status = int(found[2])
        if status < 200:
            if status == 101:
                raise BrokenAnswerError("the answer switches to another protocol")
            return data[end + 4 :]
        self.status, self.headers = status, headers
        tokens = headers.get(b"connection", b"").lower()
        self._keeps = found[1] == b"1" and b"close" not in tokens
        self._begin_body()
        return data[end + 4 :]

    def _begin_body(self) -> None:
        self._part = "body"
        coding, length = (self.headers.get(it) for it in (b"transfer-encoding", b"content-length"))
        if coding is not None:
            if length is not None or coding.lower() != b"chunked":
                raise BrokenAnswerError("the length of the body is said in two ways")
            self._part, self._is_chunked = "size", True
        elif length is not None:
            lengths = {it.strip() for it in length.split(b",")}
            (one, *others) = lengths
            if others or _LENGTH.match(one) is None:
                raise BrokenAnswerError("the length of the body cannot be read")
            self._missing = int(one)
        if self.status in _WITHOUT_BODY or self._missing == 0:
            self.is_whole = True

    def _take_body(self, data: bytes) -> bytes:
        if self._missing is None:
            self._pieces.append(data)
            self._keeps = False
            return b""
        piece = data[: self._missing]
        self._pieces.append(piece)
        self._missing -= len(piece)
        if self._missing == 0:
            if self._is_chunked:
                self._part = "behind"
            else:
                self.is_whole = True
        return data[len(piece) :]

    def _take_line(self, data: bytes) -> bytes | None:
        """The size of a chunk, what stands behind one, or a trailer."""
        longest = HEAD_BYTES_MAX if self._part == "trailers" else CHUNK_LINE_BYTES_MAX
        end = data.find(b"\r\n", 0, longest)
        if end < 0:
            if len(data) >= longest:
                raise BrokenAnswerError("a line of a chunked body is too long")
            return None
        line, rest = data[:end], data[end + 2 :]
        if self._part == "behind":
            if line:
                raise BrokenAnswerError("a chunk is longer than its size")
            self._part = "size"
        elif self._part == "size":
            size = _CHUNK_LINE.match(line)
            if size is None:
                raise BrokenAnswerError("the size of a chunk cannot be read")
            self._missing = int(size[1], 16)
            self._part = "body" if self._missing else "trailers"
        elif not line:
            self.is_whole = True
        elif _HEADER_LINE.match(line) is None:
            raise BrokenAnswerError("a trailer cannot be read")
        return rest
