"""The memory of values alone, and when it is searched."""

from __future__ import annotations

from threadkeep.langgraph.exchange import Exchange
from threadkeep.langgraph.values import Named, Values


def named(number: int, place: str = "v") -> Named:
    return Named(place, bytes([number]) * 32, bytes([number]) * 1000)


def test_the_memory_is_bounded_over_all_threads() -> None:
    values = Values(10_000)
    for number in range(100):
        values.keep(f"t-{number % 7}", [named(number, f"v{number}")])
        assert values.size_bytes <= 10_000
    assert values.get("t-1", bytes([99]) * 32) is not None
    assert sum(len(values.latest(f"t-{it}")) for it in range(7)) == 8
    places = [place for thread in values._threads.values() for place in thread.places]
    assert len(places) == 8
    values.keep("t-0", [Named("v", b"x" * 32, bytes(20_000))])
    assert values.get("t-0", b"x" * 32) is None


def test_the_thread_used_last_keeps_its_values() -> None:
    values = Values(5 * 1250)
    values.keep("old", [named(1), named(2, "w")])
    values.keep("new", [named(3), named(4, "w")])
    values.keep("old", [named(1)])
    values.keep("third", [named(5), named(6, "w")])
    assert [name[0] for name, _ in values.latest("old")] == [1, 2]
    assert [name[0] for name, _ in values.latest("new")] == [4]
    assert values.at("new", "v") is None
    assert values.at("old", "w") == named(2, "w")


def test_places_without_a_base_are_searched_less_often() -> None:
    exchange = Exchange(1 << 20)
    searched = []
    for _ in range(40):
        searched.append(exchange._may_search("t", "v||a"))
        if searched[-1]:
            exchange._missed("t", "v||a")
    assert searched[:4] == [True, True, True, False]
    assert 4 <= sum(searched) <= 9
