"""Turns whatever a graph shows into plain data in which random ids and times are placeholders, numbered as first seen.

Two runs of one scenario are then equal exactly when they differ in nothing but those.
"""

import dataclasses
import re
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
HEX_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f.])")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?")
VERSION = re.compile(r"(?<!\d)(\d{32})\.[\d.e-]+")


class Normaliser:
    """One per transcript: the same id gets the same placeholder everywhere in it."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def __call__(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | bytes):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, BaseMessage):
            return [
                type(value).__name__,
                {**self(value.model_dump()), "id": self._message_id(value)},
            ]
        if isinstance(value, BaseModel):
            return [type(value).__name__, self(dict(value))]
        if isinstance(value, BaseException):
            return ["exception", type(value).__name__, self.text(str(value))]
        if hasattr(value, "_fields"):
            return {name: self(getattr(value, name)) for name in value._fields}
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            return [type(value).__name__, {f.name: self(getattr(value, f.name)) for f in fields}]
        return self._container(value)

    def _container(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self(key): self(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self(item) for item in value]
        if isinstance(value, tuple):
            return ("tuple", *[self(item) for item in value])
        if isinstance(value, set | frozenset):
            return ["set", sorted(map(repr, map(self, value)))]
        slots = getattr(type(value), "__slots__", None)
        if slots:
            return [type(value).__name__, [self(getattr(value, name)) for name in slots]]
        raise TypeError(f"a scenario shows a {type(value).__name__}, teach the normaliser about it")

    def metadata(self, value: Any) -> Any:
        """Metadata is JSON, so its tuples may come back as lists."""
        return self(_lists(value))

    def config(self, value: Any) -> Any:
        """Only what addresses a checkpoint; an in-memory saver echoes the caller's other entries."""
        if value is None:
            return None
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        return {name: self(value["configurable"].get(name)) for name in names}

    def text(self, value: str) -> str:
        value = VERSION.sub(lambda match: f"<version {int(match[1])}>", value)
        value = TIME.sub("<time>", value)
        for pattern in (UUID, HEX_ID):
            value = pattern.sub(lambda match: self._placeholder(match[0]), value)
        return value

    def _message_id(self, message: BaseMessage) -> str:
        """LangGraph gives an id to a message without one while a saver may be writing it: both are seen."""
        if message.id is None or UUID.search(message.id):
            return "<given by LangGraph>"
        return message.id

    def _placeholder(self, found: str) -> str:
        return self._seen.setdefault(found, f"<id {len(self._seen)}>")


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_lists(item) for item in value]
    return value
