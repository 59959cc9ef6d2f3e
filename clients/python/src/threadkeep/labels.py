"""A subject as one legal namespace label: the same rules as in the server and in every client."""

from __future__ import annotations

from threadkeep.errors import InvalidError

_LEGAL = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@+-")


def label(subject: str) -> str:
    """Characters outside `[A-Za-z0-9_@+-]` become `~` and two hex digits per UTF-8 byte.

    No two subjects have the same label. `:` is escaped, because LangGraph.js refuses it in a label.
    """
    return _escape(subject, _LEGAL)


def label_with_colons(subject: str) -> str:
    """The former label of a subject, which leaves `:` as it is: what was kept under it stays there.

    The same as `label` for a subject without a colon. A key or token of a subject reaches both.
    """
    return _escape(subject, _LEGAL | frozenset(b":"))


def _escape(subject: str, kept: frozenset[int]) -> str:
    try:
        encoded = subject.encode()
    except UnicodeEncodeError as error:
        raise InvalidError(f"the subject is not Unicode text: {error}", field="subject") from error
    return "".join(chr(byte) if byte in kept else f"~{byte:02x}" for byte in encoded)
