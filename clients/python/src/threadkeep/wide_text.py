"""Texts that may hold what UTF-8 cannot: they travel as they are, else as their JSON text."""

from __future__ import annotations

import json

from threadkeep.errors import ProtocolError


def wire_text(text: str) -> str | bytes:
    """A text as it travels."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text).encode("ascii")
    return text


def wire_text_or_none(text: str | None) -> str | bytes | None:
    """The same where there may be none."""
    return None if text is None else wire_text(text)


def text_of(wire: object) -> str:
    """The text of an answer."""
    try:
        text = json.loads(wire) if isinstance(wire, bytes) else wire
    except ValueError as error:
        raise ProtocolError(f"a text of the answer cannot be read: {error}") from error
    if not isinstance(text, str):
        raise ProtocolError("the answer lacks a text")
    return text
