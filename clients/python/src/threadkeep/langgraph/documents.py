"""Values of items, and filters on them, as exact JSON text, with bytes in the form of every client.

Bytes travel as `{"$threadkeep:bytes": "<base64>"}`, also nested. An object of the caller with one
key that looks like that gets a `$` more, and loses it when it is read. clients/PROTOCOL.md has the
rule, tests/vectors/documents.json its examples for all languages.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from threadkeep.errors import ProtocolError, UnserializableError

BYTES = "$threadkeep:bytes"
_LIKE_A_TAG = re.compile(r"\$+threadkeep:")
_MAY_HOLD_TAGS = re.compile(rb"threadkeep:|\\u00[2-7]")
_BYTES_TYPES = (bytes, bytearray, memoryview)


def _tagged(value: object) -> dict[str, str]:
    if isinstance(value, _BYTES_TYPES):
        return {BYTES: base64.b64encode(value).decode("ascii")}
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


_encode = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, separators=(",", ":"), default=_tagged
).encode


def document_text(value: Mapping[str, Any], field: str) -> bytes:
    """The value of an item. Raises UnserializableError."""
    plain = dict(value)
    text = _written(lambda: plain, field)
    if b"threadkeep:" not in text:
        return text
    # The value itself is never bytes, so only what is inside of it can look like them.
    return _written(lambda: {name: _escaped(entry) for name, entry in plain.items()}, field)


def filter_text(conditions: Mapping[str, Any] | None) -> bytes | None:
    """A filter; None for none. Raises UnserializableError."""
    return _written(lambda: _filter(dict(conditions)), "filter") if conditions else None


def document_of(text: bytes) -> dict[str, Any]:
    """The value of an item's text."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ProtocolError(f"a value of the store is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProtocolError("a value of the store is no object")
    if _MAY_HOLD_TAGS.search(text) is None:
        return value
    return {name: _revived(entry) for name, entry in value.items()}


def _written(make: Callable[[], Any], field: str) -> bytes:
    try:
        return _encode(make()).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise UnserializableError(f"{field} is not JSON: {error}", field=field) from error


def _escaped(value: Any) -> Any:
    if isinstance(value, dict):
        escaped = {name: _escaped(entry) for name, entry in value.items()}
        name = _only_name(escaped)
        return escaped if name is None else {f"${name}": escaped[name]}
    return [_escaped(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _revived(value: Any) -> Any:
    if isinstance(value, list):
        return [_revived(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    name = _only_name(value)
    if name is not None and name.startswith("$$"):
        return {name[1:]: _revived(value[name])}
    if name == BYTES and (found := _bytes_of(value[BYTES])) is not None:
        return found
    return {name: _revived(entry) for name, entry in value.items()}


def _only_name(value: dict[Any, Any]) -> str | None:
    """The only key of an object that looks like the tag of bytes, or like its escaped form."""
    if len(value) != 1:
        return None
    (name,) = value
    return name if isinstance(name, str) and _LIKE_A_TAG.match(name) else None


def _bytes_of(text: object) -> bytes | None:
    """The bytes of a text that an encoder makes; None for every other one."""
    if not isinstance(text, str):
        return None
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if base64.b64encode(found).decode("ascii") == text else None


def _filter(conditions: Any) -> Any:
    if not isinstance(conditions, dict):
        return conditions
    written: dict[Any, Any] = {}
    for name, condition in conditions.items():
        if name == "$not":
            written[name] = _filter(condition)
        elif name in ("$and", "$or") and isinstance(condition, (list, tuple)):
            written[name] = [_filter(inner) for inner in condition]
        else:
            written[name] = _test(condition)
    return written


def _test(condition: Any) -> Any:
    if isinstance(condition, _BYTES_TYPES):
        # At the place of operators the tag would be taken for one.
        return {"$eq": condition}
    if not isinstance(condition, dict):
        return _escaped(condition)
    has_operators = any(isinstance(name, str) and name.startswith("$") for name in condition)
    return {
        name: _escaped(operand) if has_operators and name != "$not" else _test(operand)
        for name, operand in condition.items()
    }
