"""A subject as one legal namespace label: the same rule as in the server and in every client."""

from __future__ import annotations

from threadkeep.errors import InvalidError

_LEGAL = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@+:-")


def label(subject: str) -> str:
    """Characters outside `[A-Za-z0-9_@+:-]` become `~` and two hex digits per UTF-8 byte.

    No two subjects have the same label.
    """
    try:
        encoded = subject.encode()
    except UnicodeEncodeError as error:
        raise InvalidError(f"the subject is not Unicode text: {error}", field="subject") from error
    return "".join(chr(byte) if byte in _LEGAL else f"~{byte:02x}" for byte in encoded)
