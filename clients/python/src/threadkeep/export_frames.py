"""Whether the file of an export is whole, told while it arrives; see `clients/EXPORT.md`.

Only where its frames begin and end is looked at. Their checks are for whoever imports it.
"""

from __future__ import annotations

from threadkeep.errors import ProtocolError

PREAMBLE = b"THREADKEEP EXPORT\n"
"""How a file begins; a warning and an empty line follow."""
PREAMBLE_BYTES_MAX = 4_096
LENGTH_BYTES = 4
CHECK_BYTES = 32
LAST = b"\x81\xa6finish"
"""How the payload of the last frame begins. No frame is shorter than that and its length."""


class Frames:
    """Follows the frames of one file."""

    def __init__(self) -> None:
        self._waiting = b""
        """The beginning of the preamble or of a frame."""
        self._is_begun = False
        self._left_bytes = 0
        """Of the frame that is passing by."""
        self._is_last = False

    @property
    def is_whole(self) -> bool:
        """Whether the file may end here."""
        return self._is_last and self._left_bytes == 0 and not self._waiting

    def take(self, chunk: bytes) -> None:
        """What arrived next. Raises ProtocolError where it is no file of an export."""
        at, chunk = 0, self._waiting + chunk
        self._waiting = b""
        if not self._is_begun:
            at = self._begin(chunk)
        while self._is_begun and at < len(chunk):
            if self._left_bytes == 0:
                head = chunk[at : at + LENGTH_BYTES + len(LAST)]
                if len(head) < LENGTH_BYTES + len(LAST):
                    break
                length = int.from_bytes(head[:LENGTH_BYTES], "little")
                self._left_bytes = LENGTH_BYTES + length + CHECK_BYTES
                self._is_last = head[LENGTH_BYTES:] == LAST
            passed = min(self._left_bytes, len(chunk) - at)
            self._left_bytes -= passed
            at += passed
        self._waiting = chunk[at:]

    def _begin(self, chunk: bytes) -> int:
        """Where the frames begin; 0 while that is not known."""
        end = chunk.find(b"\n\n", 0, PREAMBLE_BYTES_MAX)
        is_unlike = chunk[: len(PREAMBLE)] != PREAMBLE[: len(chunk)]
        if is_unlike or (end < 0 and len(chunk) > PREAMBLE_BYTES_MAX):
            raise ProtocolError("the answer is no file of an export")
        self._is_begun = end >= 0
        return end + 2 if self._is_begun else 0
