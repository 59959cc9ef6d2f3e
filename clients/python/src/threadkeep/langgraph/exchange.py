"""Values in their short forms: on their way out as differences, on their way in by their names.

Both directions use one memory, `Values`. What cannot be resolved is asked for, or sent, whole;
nothing here is ever needed for a call to succeed. Values that travel in parts have no short form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from threadkeep.langgraph import differences, parts
from threadkeep.langgraph.decode import reading_answer
from threadkeep.langgraph.differences import BYTES_MIN, DoesNotFitError, Piece, name_of
from threadkeep.langgraph.encode import Op, Value, bin_of, packed
from threadkeep.langgraph.values import Named, Values

PREFIX_BYTES = 16
OTHERS_MAX = 6
"""Values of other places that are looked at when the one before at the same place is no base."""
TRIED_MAX = 3
"""Of them, the ones that are tried in earnest."""
MISSES_MAX = 3
"""After so many values of a place without a base, others are looked at only now and then."""
MISSES_BETWEEN = 8
PLACES_MAX = 10_000
"""Places of threads about which something is remembered."""
PAUSE_MAX = 64
"""Commits without differences after the server refused several in a row."""


ROOM_BYTES = parts.BODY_BYTES_MAX - 64 * 1024
"""What operations may take of the body of a commit; the rest is for its head and names of parts."""


class Packed(NamedTuple):
    """Operations as they are sent, and what is known to be stored when they are acknowledged.

    `shown` has the MessagePack of each of their values, None for one that goes in parts.
    """

    ops: Sequence[Op]
    shown: list[list[bytes | None]]
    stored: list[Named]
    has_differences: bool

    @property
    def in_parts(self) -> list[bytes]:
        """The values that go in parts, in their order."""
        return [value.data for value, shown in self._values() if shown is None]

    def joined(self, named: Sequence[bytes] = ()) -> list[bytes]:
        """The operations as MessagePack, with these in the place of the values in parts."""
        names = iter(named)
        return [
            _joined(op, [next(names) if it is None else it for it in shown])
            for op, shown in zip(self.ops, self.shown, strict=True)
        ]

    def _values(self) -> Iterator[tuple[Value, bytes | None]]:
        for op, shown in zip(self.ops, self.shown, strict=True):
            yield from zip(op.values, shown, strict=True)


class Exchange:
    """See the module. One for all copies of a saver. `bytes_max` 0: everything goes whole."""

    def __init__(self, bytes_max: int) -> None:
        self.values = Values(bytes_max)
        self._start()

    def _start(self) -> None:
        self._misses: dict[tuple[str, str], int] = {}
        # Where the base of a place was found: sends after the list they repeat.
        self._usual: dict[tuple[str, str], str] = {}
        self._refused_in_a_row = 0
        self._pause = 0

    def forget_everything(self) -> None:
        """In a forked child: no lock of the parent may be used."""
        self.values.forget_everything()
        self._start()

    # Out

    def packed(self, thread_id: str, ops: Sequence[Op], *, whole: bool = False) -> Packed:
        """The operations, with differences for values whose base the server should know."""
        remembers = self.values.bytes_max > 0
        if remembers and self._pause > 0:
            self._pause -= 1
            whole = True
        named: list[Named] = []
        found = False
        shown: list[list[bytes | None]] = []
        for op in ops:
            forms: list[bytes | None] = []
            for value in op.values:
                if parts.is_large(value.data):
                    forms.append(None)
                    continue
                difference = None
                if remembers:
                    name = name_of(value.data)
                    difference = None if whole else self._difference(thread_id, value, name)
                    found = found or difference is not None
                    if value.is_stored:
                        named.append(Named(value.place, name, value.data))
                forms.append(bin_of(value.data) if difference is None else packed(difference))
            shown.append(forms)
        if ousted := _make_room(ops, shown):
            named = [it for it in named if not any(it.data is data for data in ousted)]
        return Packed(ops, shown, named, found)

    def acknowledged(self, thread_id: str, sent: Packed) -> None:
        """The operations are stored."""
        self.values.keep(thread_id, sent.stored)
        if sent.has_differences:
            self._refused_in_a_row = 0

    def refused(self, thread_id: str) -> None:
        """The server does not know a base. It was started anew, or another server answered."""
        self.values.forget(thread_id)
        self._refused_in_a_row += 1
        self._pause = min(PAUSE_MAX, 2**self._refused_in_a_row - 2)

    def _difference(self, thread_id: str, value: Value, name: bytes) -> dict[str, Any] | None:
        data = value.data
        pieces: list[Piece] | None
        if self.values.get(thread_id, name) is not None:
            return differences.to_wire(name, [(0, len(data))], data, name)
        key = (thread_id, value.place)
        before = self.values.at(thread_id, value.place)
        if before is not None:
            ends = differences.ends_of(before.data, data)
            if ends.common >= len(data) // 2:
                pieces = differences.between(before.data, data, ends)
                if pieces is not None:
                    return differences.to_wire(before.name, pieces, data, name)
        usual = self.values.at(thread_id, self._usual[key]) if key in self._usual else None
        if usual is not None:
            ends = differences.ends_of(usual.data, data)
            pieces = differences.between(usual.data, data, ends)
            if pieces is not None and differences.cost_of(pieces) < len(data) // 4:
                return differences.to_wire(usual.name, pieces, data, name)
        others = self.values.latest_of_places(thread_id, OTHERS_MAX)
        if not others or not self._may_search(thread_id, value.place):
            return None
        if len(self._misses) + len(self._usual) > PLACES_MAX:
            self._misses.clear()
            self._usual.clear()
        found = _cheapest(data, others if before is None else [*others, before])
        if found is None:
            self._missed(thread_id, value.place)
            return None
        self._misses.pop(key, None)
        base, pieces = found
        self._usual[key] = base.place
        return differences.to_wire(base.name, pieces, data, name)

    def _may_search(self, thread_id: str, place: str) -> bool:
        misses = self._misses.get((thread_id, place), 0)
        if misses >= MISSES_MAX and misses % MISSES_BETWEEN:
            self._misses[thread_id, place] = misses + 1
            return False
        return True

    def _missed(self, thread_id: str, place: str) -> None:
        key = (thread_id, place)
        self._misses[key] = self._misses.get(key, 0) + 1

    # In

    def offer(self, thread_id: str) -> Offer | None:
        """What is told to the server about the values of a thread, None when nothing is kept."""
        if self.values.bytes_max == 0:
            return None
        return Offer(self.values.latest(thread_id))

    def learned(self, thread_id: str, stored: list[Named]) -> None:
        """Values that were read."""
        self.values.keep(thread_id, stored)


class Offer:
    """The values that were named in one read. They cannot be forgotten before its answer comes."""

    def __init__(self, held: list[tuple[bytes, bytes]]) -> None:
        self._held = dict(held)
        self.have_values = [name[:PREFIX_BYTES] for name, _ in held]

    def resolved(self, answer: dict[str, Any]) -> list[Named]:
        """Put bytes in the place of every name and difference. Returns what is worth keeping.

        Raises DoesNotFitError when something is not held or has another digest.
        """
        named = []
        with reading_answer():
            for place, entry in _entries(answer):
                data = entry.get("data")
                if isinstance(data, bytes):
                    # Most are small, and there are thousands of them in a long history.
                    if len(data) < BYTES_MIN:
                        continue
                    name = name_of(data)
                elif isinstance(data, Mapping):
                    if "parts" in data:
                        continue
                    name, data = self._resolve(data)
                    entry["data"] = data
                else:
                    continue
                self._held[name] = data
                if place is not None:
                    named.append(Named(place, name, data))
        return named

    def _resolve(self, data: Mapping[str, Any]) -> tuple[bytes, bytes]:
        if "same" in data:
            return data["same"], self._value(data["same"])
        base, name = self._value(data["base"]), data["sha256"]
        pieces = differences.pieces_of_wire(data["ops"])
        return name, differences.applied(base, pieces, data["length"], name)

    def _value(self, name: bytes) -> bytes:
        value = self._held.get(name)
        if value is None:
            raise DoesNotFitError("the answer names a value that is not held")
        return value


def _cheapest(data: bytes, candidates: Sequence[Named]) -> tuple[Named, list[Piece]] | None:
    """The base that saves most, with the pieces; None when none saves enough."""
    covered: dict[bytes, tuple[int, Named]] = {}
    for candidate in candidates:
        # The first is the cheaper one for a small value; the second says how much is covered.
        if differences.likeness(candidate.data, data):
            count = differences.likeness(data, candidate.data)
            covered[candidate.name] = count, candidate
    # Samples are coarse, so the best few are tried.
    best = sorted(covered.values(), key=lambda item: item[0], reverse=True)[:TRIED_MAX]
    found = []
    for _, base in best:
        ends = differences.ends_of(base.data, data)
        pieces = differences.between(base.data, data, ends)
        if pieces is not None:
            found.append((base, pieces))
    return min(found, key=lambda it: differences.cost_of(it[1]), default=None)


def _make_room(ops: Sequence[Op], shown: list[list[bytes | None]]) -> list[bytes]:
    """Have the largest values go in parts where all are too much for one body. Returns those."""
    ousted: list[bytes] = []
    if sum(op.size_bytes for op in ops) <= ROOM_BYTES:
        return ousted
    sizes = [(len(it), at, n) for at, forms in enumerate(shown) for n, it in enumerate(forms) if it]
    total = sum(size for size, _, _ in sizes) + sum(len(text) for op in ops for text in op.texts)
    for size, at, number in sorted(sizes, reverse=True):
        if total <= ROOM_BYTES:
            break
        shown[at][number] = None
        ousted.append(ops[at].values[number].data)
        total -= size
    return ousted


def _joined(op: Op, shown: Sequence[bytes]) -> bytes:
    if not shown:
        return op.texts[0]
    pairs = zip(op.texts[1:], shown, strict=True)
    return b"".join([op.texts[0], *(part for text, data in pairs for part in (data, text))])


def _entries(answer: dict[str, Any]) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Every entry with data, in the order in which the server wrote them.

    With its place for those of the first checkpoint, which are worth keeping; the others of a page
    are older.
    """
    views = [answer["checkpoint"]] if answer.get("checkpoint") else answer.get("checkpoints") or []
    for number, view in enumerate(views):
        ns = view["checkpoint_ns"]
        for value in view["values"]:
            yield (None if number else f"v|{ns}|{value['channel']}"), value
        for write in view["writes"]:
            yield (None if number else f"w|{ns}|{write['channel']}"), write
        for send in view.get("pending_sends") or ():
            yield None, send
        yield from _seeds_of_bases(view.get("bases") or ())
    yield from _seeds_of_bases(answer.get("bases") or ())
    single = answer.get("checkpoint")
    for node in answer.get("chain") or ():
        for seed in node["seeds"]:
            yield (f"v|{single['checkpoint_ns']}|{seed['channel']}" if single else None), seed
        yield from _seeds_of_bases(node.get("bases") or ())


def _seeds_of_bases(bases: Sequence[dict[str, Any]]) -> Iterator[tuple[None, dict[str, Any]]]:
    for base in bases:
        if base.get("seed") is not None:
            yield None, base["seed"]
