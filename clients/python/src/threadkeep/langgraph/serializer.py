"""`ThreadkeepSerializer`: LangGraph's serializer with another rule for classes.

Stored bytes name classes. The serializer builds
- the types that LangGraph knows as safe, and those in `allowed_types` or named by a graph's schema,
  or put by this process: by their constructors, as LangGraph does;
- other Pydantic models, dataclasses, NamedTuples and Enums of modules that are imported already:
  with their fields set on a bare instance, so that none of their code runs;
- nothing else: the rest stays plain data, and the log says so once per type.

A constructor never gets an instance of the second kind, whose methods it could call: what holds
one is itself built bare.
"""

from __future__ import annotations

import importlib
import json
import logging
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import Enum
from typing import Any
from uuid import UUID

import ormsgpack
from langgraph.checkpoint.serde import jsonplus
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.event_hooks import emit_serde_event
from langgraph.checkpoint.serde.jsonplus import LC_REVIVER, JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from pydantic import BaseModel

from threadkeep.errors import CodecError
from threadkeep.langgraph import dumps, dumps_v1
from threadkeep.langgraph.bare import (
    dataclass_instance,
    enum_member,
    is_atom,
    named_tuple,
    secret,
)
from threadkeep.langgraph.classes import (
    ORIGINS,
    UnfitError,
    find_class,
    inherits,
)
from threadkeep.langgraph.depth import depth_of
from threadkeep.langgraph.hashing import hashes_inertly

logger = logging.getLogger("threadkeep")

# LangGraph's codes of MessagePack extensions.
SINGLE_ARGUMENT, POSITIONAL, KEYWORDS, METHOD, PYDANTIC_V1, PYDANTIC_V2, ARRAY, SNAPSHOT = range(8)

WARNED_MAX = 1000
"""Types that the log names; beyond them it is silent."""
FAMILIAR_MAX = 1000
NAME_CHARACTERS_MAX = 200
DEPTH_MAX = 4000
"""Levels inside an extension, in arrays: half of what a stack of 8 MiB holds."""
DEPTH_UNCHECKED = 3
"""Extensions inside each other from which on the levels are counted."""

_OPTION = ormsgpack.OPT_NON_STR_KEYS
# Parts of LangGraph that are not public. Without them, no type counts as put by this process.
_encode_other: Any = getattr(jsonplus, "_msgpack_default", None)
_encode_option: int | None = getattr(jsonplus, "_option", None) if _encode_other else None

_met: deque[object] = deque([object()], maxlen=1)
"""Changes whenever a class is encoded that LangGraph's list does not have, in whatever thread."""
_FAMILIAR_NAMES = SAFE_MSGPACK_TYPES | {("re", "Pattern"), ("numpy", "ndarray")}
_safe_makers: dict[tuple[str, str], Any] = {}
_safe_methods: dict[tuple[str, str, str], Any] = {}
_warned: set[tuple[str, str]] = set()


class ThreadkeepSerializer(JsonPlusSerializer):
    """What `ThreadkeepSaver` uses without `serde`; for use inside an `EncryptedSerializer`.

    `allowed_types` are classes, or pairs of module and name, that are built by their constructors.
    Types count as put by this process if it encoded one with a serializer of this class before it
    read one; all serializers and threads share that.
    """

    def __init__(self, *, allowed_types: Iterable[type | tuple[str, ...]] = ()) -> None:
        super().__init__(allowed_msgpack_modules=tuple(allowed_types) or None)
        allowed = self._allowed_msgpack_modules
        self._allowed = frozenset(allowed) if isinstance(allowed, set) else frozenset()

    @property
    def allowed(self) -> frozenset[tuple[str, ...]]:
        """Module and name of the types in `allowed_types` and of the schema."""
        return self._allowed

    def with_msgpack_allowlist(
        self, extra_allowlist: Iterable[tuple[str, ...] | type]
    ) -> ThreadkeepSerializer:
        """A serializer that also allows these; LangGraph calls it with the types of a schema."""
        merged = ThreadkeepSerializer(allowed_types=[*self.allowed, *extra_allowlist])
        return self if merged.allowed == self.allowed else merged

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if obj is None or _encode_option is None or isinstance(obj, (bytes, bytearray)):
            return super().dumps_typed(obj)
        met = _met[0]
        data = ormsgpack.packb(obj, default=_encode, option=_encode_option)
        if _met[0] is not met:
            _note_put(data)
        return "msgpack", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        tag, content = data
        if tag == "msgpack":
            try:
                return ormsgpack.unpackb(content, ext_hook=self._extension, option=_OPTION)
            except ValueError as error:
                detail = "the value is damaged or holds objects too many levels deep"
                raise CodecError(f"{detail}: {error}") from error
        if tag == "json":
            return json.loads(content, object_hook=_JsonValue(self).revived)
        return super().loads_typed(data)

    def _extension(self, code: int, data: bytes) -> Any:
        return _Value(self).built(code, data)

    def maker(self, module: str, name: str) -> Any:
        """What builds a trusted type, None for other types.

        Imports what LangGraph's list or `allowed_types` names.
        """
        key = (module, name)
        maker = _safe_makers.get(key)
        if maker is not None:
            return maker
        if key in SAFE_MSGPACK_TYPES:
            return _safe_maker(key)
        found = find_class(module, name)
        if key in self._allowed:
            return found if found is not None else _imported(module, name)
        return found if found is not None and ORIGINS.is_put(found) else None

    def built_by_langgraph(self, code: int, data: bytes) -> Any:
        """An extension of a later version, by LangGraph's strict list."""
        return self._unpack_ext_hook(code, data)

    def revived_safe(self, value: dict[str, Any]) -> Any:
        """An envelope of the former JSON format, if LangGraph's list has its type."""
        return self._reviver(value)


class _Value:
    """Builds one extension with all that is inside it."""

    __slots__ = ("_bare", "_depth", "_serializer")

    def __init__(self, serializer: ThreadkeepSerializer) -> None:
        self._serializer = serializer
        # How many instances without a constructor there are inside so far.
        self._bare = 0
        self._depth = 0

    def built(self, code: int, data: bytes) -> Any:
        """The value of an extension, of whatever kind."""
        if not 0 <= code <= SNAPSHOT:
            return self._serializer.built_by_langgraph(code, data)
        before = self._bare
        self._depth += 1
        if self._depth == DEPTH_UNCHECKED and depth_of(data, _CODES) > DEPTH_MAX:
            raise ValueError("too deep")  # the decoder makes its own error of it
        parts = ormsgpack.unpackb(data, ext_hook=self.built, option=_OPTION)
        self._depth -= 1
        if code < ARRAY and type(parts) is list and len(parts) > 2:
            if type(parts[0]) is not str or type(parts[1]) is not str:
                return parts[2]
            if code == METHOD:
                return _called(parts)
            return self._named(code, parts, self._bare == before)
        if code == SNAPSHOT:
            return _DeltaSnapshot(parts)
        return _array(parts) if code == ARRAY else parts

    def _named(self, code: int, parts: list[Any], is_inert: bool) -> Any:
        """An instance of the class that the parts name. Inert parts hold no bare instance."""
        maker = self._serializer.maker(parts[0], parts[1])
        if maker is None:
            return self._bare_or_plain(code, parts, "")
        if not is_inert:
            kept = self._container(maker, parts[2])
            reason = "it holds objects of classes that are not in allowed_types"
            return self._bare_or_plain(code, parts, reason) if kept is None else kept
        try:
            if code == SINGLE_ARGUMENT:
                return maker(parts[2])
            return _constructed(code, maker, parts)
        except Exception as error:
            return self._bare_or_plain(code, parts, f"its constructor: {type(error).__name__}")

    def _bare_or_plain(self, code: int, parts: list[Any], trusted: str) -> Any:
        """An instance without constructor; for a trusted type, with what kept it from running."""
        module, name, payload = parts[:3]
        try:
            built = bare(code, module, name, payload)
        except UnfitError as error:
            if trusted:
                _tell_trusted(module, name, trusted)
            else:
                _tell_plain(module, name, str(error))
            return payload
        self._bare += 1
        return built

    def _container(self, maker: Any, payload: Any) -> Any:
        """A container of instances that were built bare: a safe type that calls none of them."""
        if maker is set or maker is frozenset:
            items = payload if type(payload) is list else []
            return maker(items) if all(hashes_inertly(item) for item in items) else None
        if maker is deque and type(payload) is list:
            return deque(payload)
        if maker is _safe_maker(_SEND) and type(payload) is list and type(payload[0]) is str:
            return maker(*payload) if len(payload) == 2 else None
        return None


class _JsonValue:
    """Revives the objects of one value in the former JSON format, the inner ones first."""

    __slots__ = ("_bare", "_serializer")

    def __init__(self, serializer: ThreadkeepSerializer) -> None:
        self._serializer = serializer
        self._bare = 0

    def revived(self, value: dict[str, Any]) -> Any:
        """What an object means, itself if it names no class."""
        # Checked by type first: an inner object can be an instance with an `__eq__` of its own.
        version, kind, path = value.get("lc"), value.get("type"), value.get("id")
        if type(version) is not int or type(kind) is not str or type(path) is not list:
            return value
        if version not in (1, 2) or kind != "constructor" or len(path) < 2:
            return value
        if any(type(one) is not str for one in path):
            return value
        if version == 1:
            path = getattr(LC_REVIVER, "import_mappings", {}).get(tuple(path), path)
        module, name = ".".join(path[:-1]), path[-1]
        if (module, name) in SAFE_MSGPACK_TYPES and not self._bare:
            return self._serializer.revived_safe(value)
        return value if version == 2 else self._bare_or_plain(module, name, value)

    def _bare_or_plain(self, module: str, name: str, value: dict[str, Any]) -> Any:
        try:
            built = bare(PYDANTIC_V2, module, name, value.get("kwargs", {}))
        except UnfitError as error:
            _tell_plain(module, name, str(error))
            return value
        self._bare += 1
        return built


def bare(code: int, module: str, name: str, payload: Any) -> Any:
    """An instance of an imported class, made without its code. Raises UnfitError."""
    cls = find_class(module, name)
    if cls is None:
        raise UnfitError("no module that is imported has a class of this name at its top")
    try:
        return _bare_of(code, cls, payload)
    except (RecursionError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise UnfitError(f"its class is of an unusual kind ({type(error).__name__})") from error


def _bare_of(code: int, cls: type, payload: Any) -> Any:
    is_enum = inherits(cls, Enum)
    if code == SINGLE_ARGUMENT:
        return enum_member(cls, payload) if is_enum else secret(cls, payload)
    if is_enum:
        raise UnfitError("its class is an Enum, its value is not")
    if code in (PYDANTIC_V1, PYDANTIC_V2):
        if inherits(cls, BaseModel):
            return dumps.model_instance(cls, payload)
        if dumps_v1.is_model(cls):
            return dumps_v1.model_instance(cls, payload)
    if code == KEYWORDS and inherits(cls, tuple):
        return named_tuple(cls, payload)
    return dataclass_instance(cls, payload)


def _constructed(code: int, maker: Any, parts: list[Any]) -> Any:
    """An instance as LangGraph builds it. Raises whatever the constructor raises."""
    values = parts[2]
    if code == POSITIONAL:
        is_timed = parts[:2] == _SEND_PARTS and len(values) == 3
        return maker(*values[:2], timeout=values[2]) if is_timed else maker(*values)
    return _from_keywords(code, maker, values)


def _from_keywords(code: int, maker: Any, values: Any) -> Any:
    """By the constructor; a Pydantic model whose validation fails is made without it."""
    try:
        return maker(**values)
    except Exception:
        if code == PYDANTIC_V2:
            return maker.model_construct(**values)
        if code == PYDANTIC_V1:
            return maker.construct(**values)
        raise


def _called(parts: list[Any]) -> Any:
    """The result of one of the methods that LangGraph's list has."""
    module, name, payload = parts[:3]
    method = parts[3] if len(parts) > 3 else None
    if is_atom(payload) and type(method) is str:
        key = (module, name, method)
        call = _safe_methods.get(key)
        if call is None and key in SAFE_MSGPACK_METHODS:
            call = _safe_methods[key] = getattr(_imported(module, name), method)
        if call is not None:
            try:
                return call(payload)
            except Exception:
                return payload
    _tell_plain(module, name, "its class is no Pydantic model, dataclass, NamedTuple or Enum")
    return payload


def _array(parts: Any) -> Any:
    """A NumPy array; None, as in LangGraph, where it cannot be made."""
    try:
        kind, shape, order, content = parts
        if type(kind) is not str or type(order) is not str or type(content) is not bytes:
            return None
        if any(type(size) is not int for size in shape):
            return None
        numpy = importlib.import_module("numpy")
        return numpy.frombuffer(content, dtype=numpy.dtype(kind)).reshape(shape, order=order)
    except Exception:
        return None


def _encode(value: Any) -> Any:
    """What MessagePack has no type for. Encoders are kept by id: a metaclass can forbid hashing."""
    known = _encoders.get(id(type(value)))
    return known[0](value) if known is not None else _encode_unknown(value)


def _encode_unknown(value: Any) -> Any:
    cls = type(value)
    if (cls.__module__, cls.__name__) not in _FAMILIAR_NAMES:
        _met.append(object())
    elif len(_encoders) < FAMILIAR_MAX:
        encoder = _encode_other
        if issubclass(cls, BaseModel):
            encoder = _encode_model
        _encoders[id(cls)] = (encoder, cls)
    return _encode_other(value)


def _encode_model(value: Any) -> Any:
    """A message or document as LangGraph encodes it, without its search for the kind of value."""
    cls = type(value)
    parts = (cls.__module__, cls.__name__, value.model_dump(), "model_validate_json")
    return ormsgpack.Ext(PYDANTIC_V2, _packed(parts))


def _encode_datetime(value: datetime) -> Any:
    return ormsgpack.Ext(
        METHOD, _packed(("datetime", "datetime", value.isoformat(), "fromisoformat"))
    )


def _encode_uuid(value: UUID) -> Any:
    return ormsgpack.Ext(SINGLE_ARGUMENT, _packed(("uuid", "UUID", value.hex)))


def _packed(parts: tuple[Any, ...]) -> bytes:
    return ormsgpack.packb(parts, default=_encode, option=_encode_option)


_encoders: dict[int, tuple[Callable[[Any], Any], type]] = {
    id(datetime): (_encode_datetime, datetime),
    id(UUID): (_encode_uuid, UUID),
}


def _note_put(data: bytes) -> None:
    """The process put a value with a class in it: note the names of all that it holds."""
    names: set[tuple[str, str]] = set()

    def collect(code: int, inner: bytes) -> Any:
        parts = ormsgpack.unpackb(inner, ext_hook=collect, option=_OPTION)
        if code in _BUILDERS and code != METHOD and {type(parts[0]), type(parts[1])} == {str}:
            names.add((parts[0], parts[1]))

    ormsgpack.unpackb(data, ext_hook=collect, option=_OPTION)
    ORIGINS.note_put(names - SAFE_MSGPACK_TYPES)


def _safe_maker(key: tuple[str, str]) -> Any:
    maker = _safe_makers.get(key)
    if maker is None:
        maker = _safe_makers[key] = _imported(*key)
    return maker


def _imported(module: str, name: str) -> Any:
    """By a name from a list of LangGraph's or the user's own, None if there is no such thing."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _tell_plain(module: str, name: str, reason: str) -> None:
    emit_serde_event({"kind": "msgpack_blocked", "module": module, "name": name})
    if _is_first(module, name):
        logger.warning(
            "%s was read as plain data: %s. If the bytes are trusted, "
            "ThreadkeepSaver(allowed_types=[(%r, %r)]) builds it",
            _shown(module, name),
            reason,
            module[:NAME_CHARACTERS_MAX],
            name[:NAME_CHARACTERS_MAX],
        )


def _tell_trusted(module: str, name: str, reason: str) -> None:
    if _is_first(module, name):
        logger.warning("%s was read as plain data: %s", _shown(module, name), reason)


def _is_first(module: str, name: str) -> bool:
    key = (module[:NAME_CHARACTERS_MAX], name[:NAME_CHARACTERS_MAX])
    if key in _warned or len(_warned) >= WARNED_MAX:
        return False
    _warned.add(key)
    return True


def _shown(module: str, name: str) -> str:
    return repr(f"{module}.{name}"[:NAME_CHARACTERS_MAX])


_BUILDERS = frozenset({SINGLE_ARGUMENT, POSITIONAL, KEYWORDS, METHOD, PYDANTIC_V1, PYDANTIC_V2})
_CODES = _BUILDERS | {ARRAY, SNAPSHOT}
_SEND = ("langgraph.types", "Send")
_SEND_PARTS = list(_SEND)
