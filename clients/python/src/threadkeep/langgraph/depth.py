"""Measures the depth of the values of an extension, extensions inside it included.

The decoder limits the depth of one extension but not of those inside each other, which take the
stack of the process: stored bytes could end it.
"""

from __future__ import annotations

EXTENSION_LEVELS = 4
"""What an extension takes of the stack, in levels of arrays."""
_LENGTH_WIDTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4}
_FIXED = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
_EXTENSION_WIDTHS = {0xC7: 1, 0xC8: 2, 0xC9: 4}
_FIXED_EXTENSIONS = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_CONTAINERS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


def depth_of(data: bytes, codes: frozenset[int]) -> int:
    """The deepest nesting in MessagePack, in levels of arrays; `codes` are extensions that nest.

    Data that is cut off or damaged ends the count: the decoder refuses it.
    """
    at, deepest, depth = 0, 0, 0
    open_items: list[tuple[int, int]] = []
    left = 1
    while True:
        while left == 0 and open_items:
            left, depth = open_items.pop()
        if left == 0 or at >= len(data):
            return deepest
        left -= 1
        at, inside, levels = _head(data, at, codes)
        if inside:
            open_items.append((left, depth))
            left, depth = inside, depth + levels
            deepest = max(deepest, depth)


def _head(data: bytes, at: int, codes: frozenset[int]) -> tuple[int, int, int]:
    """Where the next value starts, how many values are inside this one, and the levels it adds."""
    first = data[at]
    at += 1
    if 0x80 <= first <= 0x9F:
        return at, (first & 0x0F) * (1 if first & 0x10 else 2), 1
    if first in _CONTAINERS:
        width, each = _CONTAINERS[first]
        return at + width, _number(data, at, width) * each, 1
    if first in _EXTENSION_WIDTHS or first in _FIXED_EXTENSIONS:
        width = _EXTENSION_WIDTHS.get(first, 0)
        size = _FIXED_EXTENSIONS.get(first) or _number(data, at, width)
        at += width
        is_open = at < len(data) and data[at] in codes
        return (at + 1, 1, EXTENSION_LEVELS) if is_open else (at + 1 + size, 0, 0)
    return at + _length(data, first, at), 0, 0


def _length(data: bytes, first: int, at: int) -> int:
    """The bytes of a number, text or binary after its first one."""
    if 0xA0 <= first <= 0xBF:
        return first & 0x1F
    if first in _LENGTH_WIDTHS:
        width = _LENGTH_WIDTHS[first]
        return width + _number(data, at, width)
    return _FIXED.get(first, 0)


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "big")
