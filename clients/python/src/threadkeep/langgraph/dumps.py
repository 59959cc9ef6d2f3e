"""Gives a dump of a Pydantic model its nested classes back, by the model's own schema.

`model_dump` turns nested models, dataclasses and NamedTuples into containers, and MessagePack
turns tuples into lists. The schema that Pydantic keeps on the class says what stood where. It is
read as data: none of the functions in it is called.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from types import FunctionType
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import ModelPrivateAttr
from pydantic_core import PydanticUndefined

from threadkeep.langgraph.bare import (
    copied_default,
    dataclass_instance,
    enum_member,
    is_atom,
    made_default,
    named_tuple,
)
from threadkeep.langgraph.classes import (
    UnfitError,
    bare_instance,
    inherits,
    own_attribute,
)
from threadkeep.langgraph.hashing import hashes_inertly

Schema = dict[str, Any]

_INNER = {
    "function-after": "schema",
    "function-before": "schema",
    "function-wrap": "schema",
    "default": "schema",
    "nullable": "schema",
    "custom-error": "schema",
    "lax-or-strict": "lax_schema",
    "json-or-python": "python_schema",
}
"""Kinds of schema around another one, and where that one stands."""
_KEYS_AS_STORED = frozenset({"any", "none", "bool", "int", "float", "str", "bytes", "literal"})
_TYPES_OF_ATOMS: dict[str, tuple[type, ...]] = {
    "none": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
    "str": (str,),
    "bytes": (bytes,),
}


_dict = own_attribute(BaseModel, "__dict__")
_fields_set = own_attribute(BaseModel, "__pydantic_fields_set__")
_extra = own_attribute(BaseModel, "__pydantic_extra__")
_private = own_attribute(BaseModel, "__pydantic_private__")


class _Record(NamedTuple):
    """What a model, dataclass or TypedDict says of its fields."""

    fields: dict[str, Schema]
    required: frozenset[str]
    computed: frozenset[str]
    takes_extra: bool
    aliases: dict[str, str]
    """Field names by the names that the dump has instead."""


def model_instance(cls: type, dump: Any) -> Any:
    """An instance of a Pydantic model (v2) from its dump. Raises UnfitError."""
    schema = own_attribute(cls, "__pydantic_core_schema__")
    if type(schema) is not dict:
        raise UnfitError("its Pydantic model is not complete yet")
    walk = _Walk()
    model = walk.inner(schema, "model")
    if model is None or model["cls"] is not cls:
        raise UnfitError("the schema of its Pydantic model is of an unusual kind")
    return walk.model(model, dump)


def refuse_serializer(schema: Schema) -> None:
    """Raises UnfitError for a serializer of the model's own: its dump is not what it was."""
    serializer = schema.get("serialization")
    if serializer is None or serializer.get("when_used") in ("json", "json-unless-none"):
        return
    function = serializer.get("function")
    if function is None or _is_of_pydantic(function):
        return
    raise UnfitError("its Pydantic model has a serializer of its own")


def _is_of_pydantic(function: Any) -> bool:
    if type(function) is not FunctionType:
        return False
    module = function.__globals__.get("__name__")
    return type(module) is str and module.partition(".")[0] in ("pydantic", "pydantic_core")


class _Walk:
    """One schema, with the definitions it refers to."""

    def __init__(self) -> None:
        self._definitions: dict[str, Schema] = {}

    def inner(self, schema: Schema, *kinds: str) -> Schema | None:
        """The schema of one of these kinds inside functions, defaults and the like."""
        for _ in range(100):
            refuse_serializer(schema)
            kind = schema["type"]
            if kind in kinds:
                return schema
            if kind == "definitions":
                self._definitions |= {one["ref"]: one for one in schema["definitions"]}
                schema = schema["schema"]
            elif kind == "definition-ref":
                schema = self._definitions[schema["schema_ref"]]
            elif kind in _INNER and _INNER[kind] in schema:
                schema = schema[_INNER[kind]]
            else:
                return schema if not kinds else None
        raise UnfitError("the schema of its Pydantic model is of an unusual kind")

    def filled(self, outer: Schema, value: Any) -> Any:
        """A value of a dump as it was before, as far as the schema tells. Raises UnfitError."""
        schema = self.inner(outer)
        if schema is None or (value is None and self.inner(outer, "nullable") is not None):
            return value
        kind = schema["type"]
        if kind == "model":
            is_dump = type(value) is dict or schema.get("root_model")
            return self.model(schema, value) if is_dump else value
        if kind in ("union", "tagged-union"):
            choice = self._chosen(schema, value)
            return value if choice is None else self.filled(choice, value)
        if kind == "chain":
            for step in schema["steps"]:
                value = self.filled(step, value)
            return value
        return self._filled_container(kind, schema, value)

    def _filled_container(self, kind: str, schema: Schema, value: Any) -> Any:
        if type(value) is dict:
            return self._filled_dict(kind, schema, value)
        if type(value) is list:
            return self._filled_list(kind, schema, value)
        if type(value) is deque and "items_schema" in schema:
            return deque([self.filled(schema["items_schema"], item) for item in value])
        return value

    def model(self, schema: Schema, dump: Any) -> Any:
        """An instance of a model from its dump. Raises UnfitError."""
        cls = schema["cls"]
        refuse_serializer(schema)
        instance = bare_instance(cls)
        if schema.get("root_model"):
            _dict.__get__(instance)["root"] = self.filled(schema["schema"], dump)
            _fields_set.__set__(instance, {"root"})
            return instance
        record = self._record(schema)
        if record is None or type(dump) is not dict:
            raise UnfitError("the schema of its Pydantic model is of an unusual kind")
        stored = {record.aliases.get(name) or name: value for name, value in dump.items()}
        left = stored.keys() - record.fields.keys() - record.computed
        extra = {name: value for name, value in stored.items() if name in left}
        _dict.__get__(instance).update(self._fields(record, stored))
        _fields_set.__set__(instance, stored.keys() & record.fields.keys())
        _extra.__set__(instance, extra if record.takes_extra else None)
        _private.__set__(instance, _private_defaults(cls))
        return instance

    def _fields(self, record: _Record, dump: dict[str, Any]) -> dict[str, Any]:
        """The values of the fields, filled or by default; a required one that is missing is not."""
        done = {}
        for name, field in record.fields.items():
            if name in dump:
                done[name] = self.filled(field["schema"], dump[name])
                continue
            schema = self.inner(field["schema"], "default")
            if schema is None:
                continue
            if "default" in schema:
                done[name] = copied_default(schema["default"])
            elif "default_factory" in schema:
                done[name] = made_default(schema["default_factory"])
        return done

    def _filled_dict(self, kind: str, schema: Schema, value: dict[Any, Any]) -> Any:
        if kind == "dict":
            keys, values = schema.get("keys_schema"), schema.get("values_schema")
            return {
                self._key(keys, key): item if values is None else self.filled(values, item)
                for key, item in value.items()
            }
        if kind in ("dataclass", "typed-dict"):
            record = self._record(schema)
            if record is None:
                return value
            done = {
                name: self.filled(record.fields[name]["schema"], item)
                if name in record.fields
                else item
                for name, item in value.items()
                if name not in record.computed
            }
            return dataclass_instance(schema["cls"], done) if kind == "dataclass" else done
        return value

    def _filled_list(self, kind: str, schema: Schema, value: list[Any]) -> Any:
        if kind in ("list", "generator"):
            items = schema.get("items_schema")
            return value if items is None else [self.filled(items, item) for item in value]
        if kind == "tuple":
            schemas = list(schema["items_schema"])
            at = schema.get("variadic_item_index")
            if at is not None:
                schemas[at : at + 1] = [schemas[at]] * (len(value) - len(schemas) + 1)
            if len(schemas) != len(value):
                return tuple(value)
            return tuple(self.filled(one, item) for one, item in zip(schemas, value, strict=True))
        fields = self._tuple_fields(schema)
        if fields is not None and len(fields[1]) == len(value):
            pairs = zip(fields[1], value, strict=True)
            filled = {name: self.filled(one, item) for (name, one), item in pairs}
            return named_tuple(fields[0], filled)
        return value

    def _tuple_fields(self, schema: Schema) -> tuple[type, list[tuple[str, Schema]]] | None:
        """Class and fields of a NamedTuple: a kind of its own, in older Pydantic a call."""
        if schema["type"] == "named-tuple":
            return schema["cls"], [(one["name"], one["schema"]) for one in schema["fields"]]
        if schema["type"] == "call" and "arguments_schema" in schema:
            arguments = self.inner(schema["arguments_schema"], "arguments")
            if arguments is not None and type(schema["function"]) is type:
                listed = arguments["arguments_schema"]
                return schema["function"], [(one["name"], one["schema"]) for one in listed]
        return None

    def _key(self, schema: Schema | None, key: Any) -> Any:
        """A key of a dictionary: MessagePack holds Enum members and UUIDs as their values."""
        inner = None if schema is None else self.inner(schema)
        if inner is None or inner["type"] in _KEYS_AS_STORED:
            return key
        if inner["type"] == "enum":
            member = enum_member(inner["cls"], key)
            if hashes_inertly(member):
                return member
        if inner["type"] == "uuid" and type(key) is str:
            return UUID(key)
        if inner["type"] == "tuple" and type(key) is tuple:
            return key
        raise UnfitError("its Pydantic model has a dictionary with unusual keys")

    def _record(self, schema: Schema) -> _Record | None:
        """The fields of a model, dataclass or TypedDict."""
        inner: Schema | None = schema
        if schema["type"] in ("model", "dataclass"):
            inner = self.inner(schema["schema"], "model-fields", "dataclass-args")
        if inner is None:
            return None
        listed = inner["fields"]
        fields = {one["name"]: one for one in listed} if isinstance(listed, list) else listed
        computed = inner.get("computed_fields") or ()
        config = schema.get("config") or {}
        extra = inner.get("extra_behavior") or config.get("extra_fields_behavior")
        aliases: dict[str, str] = {
            str(field["serialization_alias"]): name
            for name, field in fields.items()
            if config.get("serialize_by_alias") and "serialization_alias" in field
        }
        required = {name for name, field in fields.items() if self._is_required(inner, field)}
        return _Record(
            fields,
            frozenset(required),
            frozenset(one["property_name"] for one in computed),
            extra == "allow" or "extras_schema" in inner,
            aliases,
        )

    def _is_required(self, inner: Schema, field: Schema) -> bool:
        if field.get("serialization_exclude") or field.get("init_only"):
            return False
        if inner["type"] == "typed-dict":
            return bool(field.get("required", inner.get("total", True)))
        # A dump has every field, whether or not it has a default.
        return True

    def _chosen(self, schema: Schema, value: Any) -> Schema | None:
        """The alternative that fits a value best, the first of equals; None if none does."""
        listed = schema["choices"]
        choices = listed.values() if isinstance(listed, dict) else listed
        best, best_fit = None, -1
        for one in choices:
            choice = one[0] if isinstance(one, tuple) else one
            if type(choice) is not dict:
                continue
            fit = self._fit(choice, value)
            if fit is not None and fit > best_fit:
                best, best_fit = choice, fit
        return best

    def _fit(self, outer: Schema, value: Any) -> int | None:
        """How many named fields an alternative explains; None if the value cannot be its dump."""
        schema = self.inner(outer)
        if schema is None or (value is None and self.inner(outer, "nullable") is not None):
            return 0
        kind = schema["type"]
        if kind in ("union", "tagged-union"):
            choice = self._chosen(schema, value)
            return None if choice is None else self._fit(choice, value)
        if kind == "model" and schema.get("root_model"):
            return self._fit(schema["schema"], value)
        if type(value) is dict:
            return self._fit_dict(kind, schema, value)
        if type(value) is list:
            return self._fit_list(kind, schema, value)
        return 0 if _may_be(kind, schema, value) else None

    def _fit_dict(self, kind: str, schema: Schema, value: dict[Any, Any]) -> int | None:
        if kind in ("dict", "any"):
            return 0
        record = self._record(schema) if kind in ("model", "dataclass", "typed-dict") else None
        if record is None or not record.required <= value.keys():
            return None
        if not record.takes_extra and not value.keys() <= record.fields.keys() | record.computed:
            return None
        known = value.keys() & record.fields.keys()
        if any(self._fit(record.fields[name]["schema"], value[name]) is None for name in known):
            return None
        return len(known)

    def _fit_list(self, kind: str, schema: Schema, value: list[Any]) -> int | None:
        if kind == "any":
            return 0
        if kind == "list":
            items = schema.get("items_schema")
            fits = [0 if items is None else self._fit(items, item) for item in value]
            return None if None in fits else max((fit or 0 for fit in fits), default=0)
        if kind == "tuple" and schema.get("variadic_item_index") is None:
            return 0 if len(schema["items_schema"]) == len(value) else None
        fields = self._tuple_fields(schema)
        if fields is not None:
            return len(value) if len(fields[1]) == len(value) else None
        return 0 if kind in ("tuple", "generator", "chain") else None


def _private_defaults(cls: type) -> dict[str, Any] | None:
    """Private attributes with their defaults. One whose default is of a function stays unset."""
    listed = own_attribute(cls, "__private_attributes__")
    if type(listed) is not dict or not listed:
        return None
    done = {}
    for name, one in listed.items():
        try:
            if type(one) is not ModelPrivateAttr:
                continue
            if one.default_factory is not None:
                done[name] = made_default(one.default_factory)
            elif one.default is not PydanticUndefined:
                done[name] = copied_default(one.default)
        except UnfitError:
            continue
    return done


def _may_be(kind: str, schema: Schema, value: Any) -> bool:
    """Whether a value that is no container can be of this kind."""
    if kind == "literal":
        return any(_is_same(one, value) for one in schema["expected"])
    if not is_atom(value):
        return True
    if kind in _TYPES_OF_ATOMS:
        return type(value) in _TYPES_OF_ATOMS[kind]
    return kind not in ("model", "dataclass", "typed-dict", "dict", "list", "tuple")


def _is_same(one: Any, other: Any) -> bool:
    if is_atom(one) and type(other) is type(one):
        return bool(one == other)
    return one is other and inherits(type(one), Enum)
