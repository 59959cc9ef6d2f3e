"""What goes in comes out, to the bit: ids, versions, metadata, skeletons of any JSON, values of any tag and bytes."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from threadkeep.errors import InvalidError
from threadkeep.langgraph import ThreadkeepSaver

from differential import settings
from differential.exact import exact
from equivalence.raw import checkpoint, config, metadata

THREADS = (f"round trip {number}" for number in itertools.count())

many = hypothesis_settings(
    max_examples=settings.ROUND_TRIPS,
    suppress_health_check=list(HealthCheck),
)

any_text = st.text(max_size=20)  # NUL and lone surrogates included
legal_text = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40
)
json_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(any_text, json_values, max_size=5)
versions = (
    st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
)
tags = st.sampled_from(
    ["msgpack", "json", "null", "bytes", "msgpack+aes", "pickle", "", "é", "x" * 60]
)
typed = st.tuples(tags, st.binary(max_size=300))
ODD = {
    "a\0b": "\ud800",
    "": [1, 1.0, -0.0, 2**70, 1e300, True, None, "\0"],
    "null": None,
    "ü": {"": {}},
}


class AsItIs:
    """A serializer for tests: a value is the pair of tag and bytes itself."""

    def dumps_typed(self, value: tuple[str, bytes]) -> tuple[str, bytes]:
        return value

    def loads_typed(self, data: tuple[str, bytes]) -> tuple[str, bytes]:
        return data


@pytest.fixture
def bytes_saver(saver: Any) -> ThreadkeepSaver:
    """The saver, with values that are pairs of tag and bytes."""
    saver.serde = AsItIs()
    return saver


def stored(saver: Any, made: dict[str, Any], meta: dict[str, Any], new: dict[str, Any]) -> Any:
    """Put as the only checkpoint of a new thread and read it back both ways, which must agree."""
    thread = next(THREADS)
    saver.put(config(thread), made, meta, new)
    found = saver.get_tuple(config(thread))
    (listed,) = saver.list(config(thread))
    assert exact(listed.checkpoint) == exact(found.checkpoint)
    assert exact(listed.metadata) == exact(found.metadata)
    return found


@many
@example(extra=ODD, seen=ODD)
@given(extra=json_objects, seen=json_objects)
def test_a_skeleton_with_any_json_in_it(saver: Any, extra: Any, seen: Any) -> None:
    known = checkpoint("c", {}, {})
    made = {
        **{f"_{key}": item for key, item in extra.items()},
        **known,
        "versions_seen": {"n": seen},
    }
    found = stored(saver, made, metadata(0), {})
    assert exact(found.checkpoint) == exact(made)
    assert list(found.checkpoint) == [
        *(key for key in made if key != "channel_values"),
        "channel_values",
    ]


@many
@example(meta=ODD)
@example(meta={"parents": {"": "x"}, "step": -2})
@given(meta=json_objects)
def test_metadata_of_any_json(saver: Any, meta: dict[str, Any]) -> None:
    found = stored(saver, checkpoint("c", {}, {}), meta, {})
    # LangGraph itself takes NUL out of top-level texts, adds what the config names, drops `writes`.
    kept = {
        key: item.replace("\0", "") if isinstance(item, str) else item for key, item in meta.items()
    }
    assert exact(found.metadata) == exact(
        {key: item for key, item in kept.items() if key != "writes"}
    )


@many
@example(made={"int": 1, "float": 1.0, "text": "1", "big": 2**70, "minus": -0.0, "empty": ""})
@given(made=st.dictionaries(legal_text, versions, max_size=5))
def test_versions_of_every_kind(saver: Any, made: dict[str, Any]) -> None:
    values = {channel: index for index, channel in enumerate(made)}
    found = stored(saver, checkpoint("c", made, values), metadata(0), made)
    assert exact(found.checkpoint["channel_versions"]) == exact(made)
    assert exact(found.checkpoint["channel_values"]) == exact(values)


@many
@example(values={"null": ("null", b""), "empty bytes": ("bytes", b""), "odd": ("", b"\0\xff")})
@given(values=st.dictionaries(legal_text, typed, max_size=5))
def test_channel_values_of_any_tag_and_bytes(bytes_saver: Any, values: dict[str, Any]) -> None:
    made = dict.fromkeys(values, 1)
    found = stored(bytes_saver, checkpoint("c", made, values), metadata(0), made)
    assert exact(found.checkpoint["channel_values"]) == exact(values)


@many
@given(
    thread=legal_text,
    ns=legal_text | st.just(""),
    made_id=legal_text,
    task=legal_text,
    channel=legal_text,
)
@example(thread="..", ns="a/b|c:%2F", made_id=".", task="", channel="")
@example(thread="a" * 512, ns="\u202e", made_id="𝔘", task="__proto__", channel="constructor")
def test_any_legal_ids(
    saver: Any, thread: str, ns: str, made_id: str, task: str, channel: str
) -> None:
    where = config(thread, None, ns)
    returned = saver.put(
        where, checkpoint(made_id, {channel: 1}, {channel: "v"}), metadata(0), {channel: 1}
    )
    assert returned == config(thread, made_id, ns)
    saver.put_writes(returned, [(channel, "w")], task, task)
    found = saver.get_tuple(returned)
    assert found.config == returned
    assert found.checkpoint["channel_values"] == {channel: "v"}
    assert found.pending_writes == [(task, channel, "w")]
    saver.delete_thread(thread)
    assert saver.get_tuple(where) is None


@many
@given(writes=st.lists(st.tuples(legal_text, typed), max_size=6), path=legal_text)
def test_writes_of_any_tag_and_bytes(bytes_saver: Any, writes: list[Any], path: str) -> None:
    thread = next(THREADS)
    bytes_saver.put_writes(config(thread, "c"), writes, "task", path)
    bytes_saver.put(config(thread), checkpoint("c", {}, {}), metadata(0), {})
    found = bytes_saver.get_tuple(config(thread)).pending_writes
    assert exact([tuple(write) for write in found]) == exact([("task", *write) for write in writes])


@pytest.mark.parametrize("bad", ["nul\0", "surrogate\ud800"])
@pytest.mark.parametrize("where", ["thread", "ns", "id", "channel", "task"])
def test_ids_that_cannot_be_kept_are_refused_and_nothing_is_stored(
    saver: Any, bad: str, where: str
) -> None:
    names = {
        "thread": f"refused {where}",
        "ns": "",
        "id": "c",
        "channel": "log",
        "task": "t",
        where: bad,
    }
    made = checkpoint(names["id"], {names["channel"]: 1}, {names["channel"]: "v"})
    address = config(names["thread"], names["id"], names["ns"])
    with pytest.raises(InvalidError):
        saver.put_writes(address, [(names["channel"], "w")], names["task"])
    if where != "task":
        with pytest.raises(InvalidError):
            saver.put(
                config(names["thread"], None, names["ns"]), made, metadata(0), {names["channel"]: 1}
            )
    assert list(saver.list(None)) == []


def test_absent_empty_and_null_are_three_things(saver: Any) -> None:
    made = {"null": 1, "emptied": 2, "kept": 1}
    saver.put(
        config("t"),
        checkpoint("a", {"emptied": 1}, {"emptied": "old"}),
        metadata(0),
        {"emptied": 1},
    )
    values = {"null": None, "kept": "k"}
    found_at = saver.put(config("t", "a"), checkpoint("b", made, values), metadata(1), made)
    found = saver.get_tuple(found_at).checkpoint
    assert found["channel_values"] == values
    assert found["channel_versions"] == made
