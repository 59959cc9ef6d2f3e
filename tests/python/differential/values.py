"""The random material: ids, channels, versions, values, metadata."""

import json
from typing import Any

from hypothesis import strategies as st
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from differential.exact import exact

NAMESPACES = ["", "child", "tool:1", "a|b:é"]
PLAIN = ["log", "note", "ünï"]
DELTA = ["d1", "d2"]
SPECIAL = ["__error__", "__scheduled__", "__interrupt__", "__resume__"]
SCORES = [1, 1.0, 1.5, True, None, "1", 2**70]
RUNS = ["run-1", "run-2", "run-3"]
TASKS = ["a", "b", "Z", "00000000-0000-0000-0000-000000000000", "ü"]
PATHS = ["", "~1", "~2", "~10", "~__pregel_pull, model", "é"]

# Byte order is not the order of numbers, nor of any locale.
IDS = ["1", "9", "10", "a", "B", "b", "é", "z", "checkpoint-1", "1f0a-8001", "1f0a-bfff", "𝔘"]

checkpoint_ids = st.sampled_from(IDS) | st.integers(0, 99).map(lambda number: f"n{number}")

# Few and telling, because a sequence of calls has room for few choices; test_round_trips tries any value.
VALUES: list[Any] = [
    None, False, True, 0, 1, 1.0, -0.0, 2**63 - 1, "", "a", "nul \0 inside", "ü 𝔘", b"", b"\x00\xff",
    [], {}, [None], {"": None}, {"k": [1, 1.0, "1", {"deep": b"x"}]}, ["m"] * 20,
]  # fmt: skip
values = st.sampled_from(VALUES)
snapshots = st.lists(values, max_size=1).map(_DeltaSnapshot)


@st.composite
def metadata(draw: Any, *, in_64_bits: bool) -> dict[str, Any]:
    """What a graph writes, with keys for filters: scalars, a list, an object."""
    made: dict[str, Any] = {
        "source": draw(st.sampled_from(["input", "loop", "update"])),
        "step": draw(st.integers(-2, 3)),
        "parents": {},
        "run_id": draw(st.sampled_from(RUNS)),
    }
    if draw(st.booleans()):
        made["score"] = draw(st.sampled_from(SCORES[:-1] if in_64_bits else SCORES))
    if draw(st.booleans()):
        made["tags"] = draw(st.sampled_from([[], ["x"], ["x", 1], ["ü\0", "y", "x"]]))
    if draw(st.booleans()):
        made["deep"] = draw(st.sampled_from([{}, {"k": None}, {"k": 1, "l": 0}, {"k": {"l": 1.0}}]))
    return made


def filters(scalars_only: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Filters that match now and then. Those of lists and objects, and of null, have a meaning of ours."""
    entries: dict[str, st.SearchStrategy[Any]] = {
        "source": st.sampled_from(["input", "loop", "update"]),
        "step": st.integers(-2, 3),
        "run_id": st.sampled_from(RUNS),
    }
    if not scalars_only:
        entries["score"] = st.sampled_from(SCORES)
        entries["tags"] = st.sampled_from([[], ["x"], ["y", "x"], [1]])
        entries["deep"] = st.sampled_from([{}, {"k": None}, {"k": 1}, {"k": {"l": 1}}])
        entries["absent"] = st.sampled_from([None, 1])
    return st.fixed_dictionaries({}, optional=entries)


def json_versions(skeleton: str) -> dict[str, Any]:
    """The channel versions of a skeleton in JSON."""
    return json.loads(skeleton)["channel_versions"]


def histories(found: Any) -> dict[str, Any]:
    """Delta histories in a form that compares exactly."""
    return {
        channel: {
            "writes": [exact(tuple(write)) for write in entry["writes"]],
            **({"seed": exact(entry["seed"])} if "seed" in entry else {}),
        }
        for channel, entry in found.items()
    }
