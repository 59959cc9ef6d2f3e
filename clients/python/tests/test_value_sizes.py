"""A value over the limit is refused by its channel, before anything is sent."""

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from threadkeep.errors import TooLargeError
from threadkeep.langgraph.encode import VALUE_BYTES_MAX, Target, checkpoint_op, writes_op

SERDE = JsonPlusSerializer()
TARGET = Target("t", "", "1")


def test_the_error_names_the_channel_its_size_and_the_limit() -> None:
    over = bytes(VALUE_BYTES_MAX + 1)
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": over}
    checkpoint["channel_versions"] = {"messages": "1"}
    with pytest.raises(TooLargeError, match="'messages' has 268435457 bytes") as put:
        checkpoint_op(SERDE, {}, TARGET, checkpoint, {}, {"messages": "1"})
    with pytest.raises(TooLargeError, match="value_bytes_max is 268435456 bytes") as write:
        writes_op(SERDE, TARGET, [("messages", over)], "task", "", 1)
    for error in (put.value, write.value):
        assert (error.field, error.limit) == ("messages", VALUE_BYTES_MAX)


def test_a_value_at_the_limit_is_taken() -> None:
    writes_op(SERDE, TARGET, [("messages", bytes(VALUE_BYTES_MAX))], "task", "", 1)
