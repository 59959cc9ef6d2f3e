"""Differences alone: made, applied, refused."""

from __future__ import annotations

import random
import time

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.errors import ProtocolError
from threadkeep.langgraph import differences
from threadkeep.langgraph.differences import DoesNotFitError, Piece, applied, ends_of, name_of


def made(base: bytes, value: bytes) -> list[Piece] | None:
    return differences.between(base, value, ends_of(base, value))


def cost(pieces: list[Piece]) -> int:
    return sum(len(piece) if isinstance(piece, bytes) else 20 for piece in pieces)


def checked(base: bytes, value: bytes) -> int:
    """What the difference costs; it must exist and give the value back."""
    pieces = made(base, value)
    assert pieces is not None
    assert len(pieces) <= differences.OPS_MAX
    assert applied(base, pieces, len(value), name_of(value)) == value
    return cost(pieces)


def noise(count: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(count)


def messages(count: int, size: int = 300) -> list[bytes]:
    return [noise(size, seed) for seed in range(count)]


@pytest.mark.parametrize("count", [1, 14, 15, 16, 300, 65535])
def test_a_list_that_grows_costs_what_was_added(count: int) -> None:
    # 16 and 65,536 entries have a longer header than 15 and 65,535.
    size = 700 if count < 1000 else 5
    base = ormsgpack.packb(messages(count, size))
    value = ormsgpack.packb(messages(count + 1, size))
    assert checked(base, value) < size + 60


def test_a_list_that_loses_its_first_entries_costs_next_to_nothing() -> None:
    assert checked(ormsgpack.packb(messages(40)), ormsgpack.packb(messages(40)[7:])) < 60


def test_a_change_in_the_middle_costs_the_change() -> None:
    entries = messages(40)
    entries[20] = b"another"
    assert checked(ormsgpack.packb(messages(40)), ormsgpack.packb(entries)) < 100


def test_a_value_that_repeats_another_one_costs_what_is_around_it() -> None:
    # The sends of parallel tools, each with the whole list.
    history = messages(60)
    sends = [{"tool": number, "state": {"messages": history}} for number in range(5)]
    value = ormsgpack.packb(sends)
    assert checked(ormsgpack.packb(history), value) < len(value) // 50


def test_entries_in_another_order_are_found_one_by_one() -> None:
    history = messages(60)
    shuffled = random.Random(1).sample(history, 60)
    value = ormsgpack.packb(shuffled)
    assert checked(ormsgpack.packb(history), value) < len(value) // 4


def test_values_that_have_nothing_in_common_have_no_difference() -> None:
    assert made(noise(5000), noise(5000, 1)) is None
    assert made(b"", noise(600)) is None
    assert made(noise(600), b"") is None


def test_a_large_value_that_is_new_is_given_up_soon() -> None:
    base = noise(1_000_000)
    begun = time.perf_counter()
    assert made(base, noise(500_000, 1) + base[:1000] + noise(500_000, 2)) is None
    assert time.perf_counter() - begun < 2


def test_many_small_parts_stay_within_the_limit_of_pieces() -> None:
    base = noise(200_000)
    parts = [base[at : at + 64] + noise(16, at) for at in range(0, 190_000, 64)]
    pieces = made(base, b"".join(random.Random(2).sample(parts, len(parts))))
    assert pieces is None or len(pieces) <= differences.OPS_MAX


@given(
    base=st.binary(max_size=400),
    cuts=st.tuples(st.integers(0, 400), st.integers(0, 400)),
    new=st.binary(max_size=60),
    head=st.sampled_from([b"", b"\x91", b"\xdc\x00\x10", b"\xdd\x00\x01\x00\x00", b"\xdc"]),
)
def test_whatever_is_made_gives_the_value_back(
    base: bytes, cuts: tuple[int, int], new: bytes, head: bytes
) -> None:
    low, high = sorted(cuts)
    value = head + base[:low] + new + base[high:] * 2
    base = head + base
    ends = ends_of(base, value)
    assert 0 <= ends.common <= len(value) - ends.header
    pieces = differences.between(base, value, ends)
    if pieces is not None:
        assert applied(base, pieces, len(value), name_of(value)) == value
        assert all(len(p) if isinstance(p, bytes) else p[1] for p in pieces)


@given(
    base=st.text("ab", max_size=300).map(str.encode),
    value=st.text("ab", max_size=300).map(str.encode),
)
def test_ends_are_as_long_as_they_can_be(base: bytes, value: bytes) -> None:
    _, _, prefix, suffix = ends_of(base, value)
    assert base[:prefix] == value[:prefix]
    shorter = min(len(base), len(value))
    assert prefix == shorter or base[prefix] != value[prefix]
    assert base[len(base) - suffix :] == value[len(value) - suffix :]
    assert prefix + suffix == shorter or base[-suffix - 1] != value[-suffix - 1]


@given(st.binary(max_size=200), st.data())
def test_blocks_found_anywhere_give_the_value_back(base: bytes, data: st.DataObject) -> None:
    parts = st.tuples(st.integers(0, 200), st.integers(0, 200)).map(lambda at: base[slice(*at)])
    value = b"".join(data.draw(st.lists(st.one_of(parts, st.binary(max_size=20)), max_size=8)))
    start = data.draw(st.integers(0, len(value)))
    pieces = differences._matches(base, value, start, len(value))
    joined = [p if isinstance(p, bytes) else base[p[0] : p[0] + p[1]] for p in pieces]
    assert b"".join(joined) == value[start:]


def test_a_difference_that_does_not_fit_is_refused() -> None:
    base, name = b"hello world", name_of(b"hello")
    assert applied(base, [(0, 5)], 5, name) == b"hello"
    for pieces, length in [
        ([(0, 5)], 4),
        ([(7, 5)], 5),
        ([(-5, 5)], 5),
        ([(0, -1), (0, 6)], 5),
        ([(1, 5)], 5),
        ([b"hellx"], 5),
    ]:
        with pytest.raises(DoesNotFitError):
            applied(base, pieces, length, name)


def test_pieces_of_another_shape_are_no_pieces() -> None:
    ops = [{"copy": [0, 5]}, {"insert": b"x"}]
    assert differences.pieces_of_wire(ops) == [(0, 5), b"x"]
    for bad in (
        {"move": 1},
        {"copy": [0]},
        {"copy": ["0", 5]},
        {"insert": 5000},
        {"copy": [1.5, 2]},
    ):
        with pytest.raises((ProtocolError, TypeError, KeyError, ValueError)):
            differences.pieces_of_wire([bad])
