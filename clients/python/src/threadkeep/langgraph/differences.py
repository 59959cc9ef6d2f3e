"""A value as the difference to another one: parts copied from a base, and bytes put between them.

Pure: no I/O, and nothing is remembered. Made to be fast in plain Python: bytes are compared in
large slices, never one by one. First what two values have in common at both ends, which is all
there is when a list grows; matching blocks only where the ends say too little, such as when one
value holds another inside it, or several times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from threadkeep.errors import ProtocolError

BYTES_MIN = 512
"""Smaller values travel whole, and are remembered on neither side."""
OPS_MAX = 1_024
"""As the server has it, in GET /v1/limits."""

_STEP = 64
_STEP_MAX = 1 << 20
_BLOCK = 32
_BLOCKS_MAX = 8_192
# Bytes of new text that are looked through, one position at a time, before the rest counts as new;
# what is found adds to it.
_SEARCHED_MAX = 1 << 15
_WINDOWS = 12
# What a copy, and what a difference as a whole, cost on the wire, roughly.
_COPY_COST = 20
_COST = 120

_HEADERS = {0xDC: 3, 0xDE: 3, 0xDD: 5, 0xDF: 5}

Piece = tuple[int, int] | bytes
"""A copy (offset, length) from the base, or bytes to insert."""


class DoesNotFitError(Exception):
    """A difference has no result, or another one than it says."""


class Ends(NamedTuple):
    """What two values have in common behind the headers of their lists, and at their ends."""

    base_header: int
    header: int
    prefix: int
    suffix: int

    @property
    def common(self) -> int:
        """Bytes of the value that need not travel."""
        return self.prefix + self.suffix


def name_of(data: bytes) -> bytes:
    """SHA-256, the name of a value between client and server."""
    return hashlib.sha256(data).digest()


def ends_of(base: bytes, value: bytes) -> Ends:
    """A list that grows changes the count in its header, which may then be longer, and its end."""
    base_header, header = _header_length(base), _header_length(value)
    prefix = _common_prefix(base, base_header, value, header)
    suffix = _common_suffix(base, base_header + prefix, value, header + prefix)
    return Ends(base_header, header, prefix, suffix)


def likeness(one: bytes, other: bytes) -> int:
    """How many of some samples of one value are anywhere in the other one."""
    if len(one) < _BLOCK:
        return 0
    distance = max(1, (len(one) - _BLOCK) // (_WINDOWS - 1))
    starts = range(0, len(one) - _BLOCK + 1, distance)
    return sum(other.find(one[start : start + _BLOCK]) >= 0 for start in starts)


def between(base: bytes, value: bytes, ends: Ends) -> list[Piece] | None:
    """The pieces that make the value of the base, None when they would save too little."""
    base_header, header, prefix, suffix = ends
    start, end = header + prefix, len(value) - suffix
    pieces: list[Piece] = [value[:header], (base_header, prefix)]
    if end - start > len(value) // 4 and likeness(base, value):
        pieces += _matches(base, value, start, end)
    else:
        pieces.append(value[start:end])
    pieces.append((len(base) - suffix, suffix))
    pieces = [piece for piece in pieces if _length(piece)]
    return pieces if cost_of(pieces) < len(value) * 3 // 4 else None


def cost_of(pieces: list[Piece]) -> int:
    """Bytes that a difference takes on the wire, roughly."""
    return _COST + sum(len(p) + 4 if isinstance(p, bytes) else _COPY_COST for p in pieces)


def applied(base: bytes, pieces: list[Piece], length: int, name: bytes) -> bytes:
    """The value of a difference. Checks lengths first, the digest last."""
    for piece in pieces:
        if not isinstance(piece, bytes) and (min(piece) < 0 or sum(piece) > len(base)):
            raise DoesNotFitError("a copy reaches beyond its base")
    if sum(map(_length, pieces)) != length:
        raise DoesNotFitError("the pieces do not sum to the length")
    parts = [p if isinstance(p, bytes) else base[p[0] : p[0] + p[1]] for p in pieces]
    value = b"".join(parts)
    if name_of(value) != name:
        raise DoesNotFitError("the result has another digest")
    return value


def to_wire(base_name: bytes, pieces: list[Piece], value: bytes, name: bytes) -> dict[str, Any]:
    """A difference as the protocol writes it."""
    ops = [{"insert": p} if isinstance(p, bytes) else {"copy": p} for p in pieces]
    return {"base": base_name, "ops": ops, "sha256": name, "length": len(value)}


def pieces_of_wire(ops: list[dict[str, Any]]) -> list[Piece]:
    """The pieces of a difference in an answer. Raises TypeError or KeyError for another shape."""
    pieces: list[Piece] = []
    for op in ops:
        if "insert" in op:
            if not isinstance(op["insert"], bytes):
                raise ProtocolError("the answer holds an insert that has no bytes")
            pieces.append(op["insert"])
        else:
            offset, length = op["copy"]
            if not (isinstance(offset, int) and isinstance(length, int)):
                raise ProtocolError("the answer holds a copy that has no numbers")
            pieces.append((offset, length))
    return pieces


def _length(piece: Piece) -> int:
    return len(piece) if isinstance(piece, bytes) else piece[1]


def _header_length(data: bytes) -> int:
    """Of a MessagePack list or map: it holds the count. 0 for other bytes."""
    first = data[0] if data else 0
    length = 1 if 0x80 <= first <= 0x9F else _HEADERS.get(first, 0)
    return min(length, len(data))


def _common_prefix(base: bytes, at: int, value: bytes, start: int, end: int | None = None) -> int:
    """Equal bytes from `base[at:]` and `value[start:end]` on."""
    limit = min(len(base) - at, (len(value) if end is None else end) - start)
    return _longest(
        limit, lambda low, high: value.startswith(base[at + low : at + high], start + low)
    )


def _common_suffix(
    base: bytes, floor: int, value: bytes, value_floor: int, at: int | None = None, end: int = -1
) -> int:
    """Equal bytes before `base[:at]` and `value[:end]`, not reaching below the floors."""
    at = len(base) if at is None else at
    end = len(value) if end < 0 else end
    limit = min(at - floor, end - value_floor)
    return _longest(
        limit,
        lambda low, high: value.endswith(base[at - high : at - low], value_floor, end - low),
    )


def _longest(limit: int, is_equal: Callable[[int, int], bool]) -> int:
    """How far two values are equal: strides that double up to the one that fails, then halves."""
    count, step = 0, _STEP
    while count < limit:
        step = min(step, limit - count)
        if not is_equal(count, count + step):
            break
        count += step
        step = min(step * 2, _STEP_MAX)
    else:
        return count
    # The first difference is among the `step` bytes from `count` on.
    while step > 1:
        half = step // 2
        if is_equal(count, count + half):
            count += half
            step -= half
        else:
            step = half
    return count


def _matches(base: bytes, value: bytes, start: int, end: int) -> list[Piece]:
    """The pieces of `value[start:end]`: parts that are anywhere in the base, as long as can be."""
    block = max(_BLOCK, -(-len(base) // _BLOCKS_MAX))
    # From the end, so that of equal blocks the first is found.
    starts = range((len(base) // block - 1) * block, -1, -block)
    places = {base[at : at + block]: at for at in starts}
    pieces: list[Piece] = []
    position, open_from, left = start, start, _SEARCHED_MAX
    while position + block <= end and left > 0 and len(pieces) < OPS_MAX - 8:
        at = places.get(value[position : position + block])
        if at is None:
            position += 1
            left -= 1
            continue
        back = _common_suffix(base, 0, value, open_from, at, position)
        length = back + _common_prefix(base, at, value, position, end)
        if position - back > open_from:
            pieces.append(value[open_from : position - back])
        pieces.append((at - back, length))
        # Where much is found, more is worth looking for.
        left += length // 4
        position = open_from = position - back + length
    pieces.append(value[open_from:end])
    return pieces
