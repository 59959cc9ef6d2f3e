"""Answers of the server as dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, TypeVar

from threadkeep.errors import ProtocolError


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


Record = TypeVar("Record", bound=_Dataclass)


def record(kind: type[Record], answer: object) -> Record:
    """A record of an answer. Fields of later servers are ignored, missing ones are an error."""
    if not isinstance(answer, Mapping):
        raise ProtocolError(f"the answer holds no {kind.__name__}")
    known = {field.name for field in fields(kind)}
    try:
        return kind(**{name: value for name, value in answer.items() if name in known})
    except TypeError as error:
        raise ProtocolError(f"the answer is no {kind.__name__}: {error}") from error


def listed(kind: type[Record], answer: Mapping[str, Any], field: str) -> list[Record]:
    """The records of an answer's list."""
    return [record(kind, one) for one in rows(answer, field)]


def rows(answer: Mapping[str, Any], field: str) -> list[Any]:
    """An answer's list as it came."""
    found = answer.get(field)
    if not isinstance(found, list):
        raise ProtocolError(f"the answer holds no {field}")
    return found
