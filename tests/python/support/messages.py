"""Finds the messages in one direction of a connection to PostgreSQL as their bytes pass (protocol 3)."""

from typing import NamedTuple

LENGTH_BYTES = 4


class Message(NamedTuple):
    """`letter` is that of its type, empty for the first one of a client, which has none."""

    letter: str
    # Where its header ends in the bytes that were fed, and how many bytes follow.
    body_at: int
    body_bytes: int

    @property
    def middle(self) -> int:
        """An offset into the bytes that were fed, or behind them, at which only a part has passed."""
        if self.body_bytes < 2:
            return max(self.body_at - 2, 0)
        return self.body_at + self.body_bytes // 2


class Messages:
    """Follows one direction from its first byte on."""

    def __init__(self, *, of_client: bool) -> None:
        self._has_type = not of_client
        self._header = b""
        self._left = 0

    def feed(self, data: bytes) -> list[Message]:
        """The messages whose header ends in these bytes."""
        found = []
        at = 0
        while at < len(data):
            if self._left:
                passed = min(self._left, len(data) - at)
                self._left -= passed
                at += passed
                continue
            part = data[at : at + LENGTH_BYTES + self._has_type - len(self._header)]
            self._header += part
            at += len(part)
            if len(self._header) < LENGTH_BYTES + self._has_type:
                break
            letter = chr(self._header[0]) if self._has_type else ""
            self._left = int.from_bytes(self._header[-LENGTH_BYTES:]) - LENGTH_BYTES
            found.append(Message(letter, at, self._left))
            self._header, self._has_type = b"", True
        return found
