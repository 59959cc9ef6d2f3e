"""Bodies that are the worst that a schema of the API document lets a client write: for every part of the schema the body of its
example in which that part is as long, as wide or as deep as it gets. In JSON and in MessagePack.
"""

import base64
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgpack  # type: ignore[import-untyped]

Schema = dict[str, Any]
Named = Iterator[tuple[str, Any]]
ENDLESS = "without an end"
# Entries of lists of large entries: as many as any such list may have.
LARGE_ENTRIES = 250
# Of a text that is exact JSON, what fits into the limit of entries of a document.
DOCUMENT_ENTRIES = 400_000
# Of a body.
BODY_ENTRIES = 240_000


@dataclass(frozen=True)
class Exact:
    """JSON that is kept as its text."""

    text: bytes


@dataclass(frozen=True)
class Data:
    """Bytes: base64 in JSON."""

    content: bytes


@dataclass(frozen=True)
class Repeated:
    """A list of equal entries."""

    entry: Any
    count: int


@dataclass(frozen=True)
class Long:
    """A long text. In JSON a control character would be six bytes, in MessagePack it is one, which is six when it is stored as JSON."""

    length: int
    # So that no two are equal.
    end: str = ""


class Choice(str):
    """One of the texts that a schema names."""


def in_json(value: Any) -> bytes:
    if isinstance(value, Exact):
        return value.text
    if isinstance(value, Long):
        return in_json("x" * value.length + value.end)
    if isinstance(value, Data):
        return b'"' + base64.b64encode(value.content) + b'"'
    if isinstance(value, Repeated):
        return b"[" + b",".join([in_json(value.entry)] * value.count) + b"]"
    if isinstance(value, dict):
        fields = (in_json(name) + b":" + in_json(inner) for name, inner in value.items())
        return b"{" + b",".join(fields) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(in_json, value)) + b"]"
    return json.dumps(value).encode()


def in_msgpack(value: Any) -> bytes:
    if isinstance(value, Exact):
        return _packed(value.text)
    if isinstance(value, Long):
        return _packed("\0" * value.length + value.end)
    if isinstance(value, Data):
        return _packed(value.content)
    if isinstance(value, Repeated):
        return b"\xdd" + struct.pack(">I", value.count) + in_msgpack(value.entry) * value.count
    if isinstance(value, dict):
        fields = (in_msgpack(name) + in_msgpack(inner) for name, inner in value.items())
        return b"\xdf" + struct.pack(">I", len(value)) + b"".join(fields)
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(in_msgpack, value))
    return _packed(value)


def _packed(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value)
    return packed


class Document:
    """An API document, whose schemas are looked up."""

    def __init__(self, document: dict[str, Any]):
        self.schemas: dict[str, Schema] = document["components"]["schemas"]

    def forms(self, schema: Schema) -> Iterator[Schema]:
        """What a value may be, but for null."""
        if "$ref" in schema:
            schema = self.schemas[schema["$ref"].rpartition("/")[2]]
            yield from self.forms(schema)
        elif alternatives := schema.get("oneOf", schema.get("anyOf")):
            for alternative in alternatives:
                yield from self.forms(alternative)
        elif schema.get("type") != "null":
            yield schema

    def typed(self, schema: Schema, value: Any) -> Any:
        """A value of an example."""
        form = self.form_of(schema, value)
        if not _has_type(form):
            return Exact(json.dumps(value).encode())
        if isinstance(value, dict):
            return {name: self.typed(_field(form, name), inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.typed(form["items"], inner) for inner in value]
        if isinstance(value, str) and "contentEncoding" in form:
            return Data(base64.b64decode(value))
        return Choice(value) if "enum" in form or "const" in form else value

    def form_of(self, schema: Schema, value: Any) -> Schema:
        found = list(self.forms(schema))
        fitting = [form for form in found if _fits(form, value)]
        return (fitting or found)[0]

    def smallest(self, schema: Schema) -> Any:
        form = next(self.forms(schema))
        if not _has_type(form):
            return Exact(b"0")
        if "const" in form or "enum" in form:
            return Choice(form.get("const", form.get("enum", [""])[0]))
        kind = _kind(form)
        if kind == "object":
            fields = form.get("properties", {})
            return {name: self.smallest(fields[name]) for name in form.get("required", [])}
        if kind == "array":
            return [self.smallest(form["items"])] * form.get("minItems", 0)
        if "contentEncoding" in form:
            return Data(b"")
        return {"string": "a", "boolean": True}.get(kind, form.get("minimum", 1))

    def worst(self, schema: Schema, base: Any, size: int, *, lists: bool = True) -> Named:
        """For each part of the schema, the base with a part that is the worst; `size`: how many bytes that part has. Without `lists`
        no list is made longer than it is.
        """
        for form in self.forms(schema):
            if not _has_type(form):
                yield from _worst_json(size)
            elif "enum" in form or "const" in form:
                continue
            elif _kind(form) == "object" and "properties" in form:
                yield from self._worst_object(form, base, size, lists)
            elif _kind(form) == "object":
                count = size // 12
                yield "many keys", Exact(_object(count))
            elif _kind(form) == "array":
                yield from self._worst_list(form, base, size, lists)
            elif "contentEncoding" in form:
                yield "much data", Data(bytes(size // 4 * 3))
            elif _kind(form) == "string":
                yield "a long text", Long(size)

    def _worst_object(self, form: Schema, base: Any, size: int, lists: bool) -> Named:
        filled = base if _fits(form, base) else self.smallest(form)
        for name, schema in form["properties"].items():
            for what, value in self.worst(schema, filled.get(name), size, lists=lists):
                yield f"{name}: {what}", {**filled, name: value}

    def _worst_list(self, form: Schema, base: Any, size: int, lists: bool) -> Named:
        smallest = self.smallest(form["items"])
        entry = base[0] if isinstance(base, list) and base else smallest
        for what, value in self.worst(form["items"], entry, size, lists=lists):
            yield f"one with {what}", [value]
        if not lists:
            return
        yield ENDLESS, Repeated(smallest, size // max(len(in_msgpack(smallest)), 1))
        yield "as many as a body has", Repeated(smallest, BODY_ENTRIES // _entries(smallest))
        for what, value in self.worst(form["items"], entry, size // LARGE_ENTRIES, lists=False):
            if _is_large(what):
                yield f"many with {what}", [_numbered(value, at) for at in range(LARGE_ENTRIES)]


def _worst_json(size: int) -> Named:
    yield "endless JSON", Exact(b"[" + b"0," * (size // 2) + b"0]")
    yield "deep JSON", Exact(b"[" * (size // 2) + b"]" * (size // 2))
    yield "lists in JSON", Exact(b"[" + b"[]," * min(size // 3, DOCUMENT_ENTRIES) + b"0]")
    yield "names in JSON", Exact(_object(min(size // 12, DOCUMENT_ENTRIES)))
    yield "a text in JSON", Exact(b'{"a":"' + b"x" * size + b'"}')
    yield "a number in JSON", Exact(b"1" * size)


def _is_large(what: str) -> bool:
    ends = (": much data", "a text in JSON")
    return what in ("much data", "a long text") or what.endswith(ends)


def _object(count: int) -> bytes:
    return b"{" + b",".join(b'"%x":{}' % at for at in range(count)) + b"}"


def _entries(value: Any) -> int:
    """How many entries of lists and maps a value has, itself one of them."""
    if isinstance(value, dict):
        return 1 + sum(map(_entries, value.values()))
    return 1 + sum(map(_entries, value)) if isinstance(value, list) else 1


def _numbered(value: Any, at: int) -> Any:
    """Unlike all others: where names may not be equal."""
    if isinstance(value, dict):
        return {name: _numbered(inner, at) for name, inner in value.items()}
    if isinstance(value, list):
        return [_numbered(inner, at) for inner in value]
    if isinstance(value, Long):
        return Long(value.length, f"{at}")
    if isinstance(value, str) and not isinstance(value, Choice):
        return f"{value}{at}"
    return value


def _has_type(form: Schema) -> bool:
    return bool(form.keys() & {"type", "enum", "const"})


def _kind(form: Schema) -> str:
    kinds = form.get("type", "string")
    if isinstance(kinds, str):
        return kinds
    return str(next(it for it in kinds if it != "null"))


def _field(form: Schema, name: str) -> Schema:
    more = form.get("additionalProperties")
    other: Schema = more if isinstance(more, dict) else {}
    field: Schema = form.get("properties", {}).get(name, other)
    return field


def _fits(form: Schema, value: Any) -> bool:
    if isinstance(value, dict):
        names: set[str] = set(form.get("properties", {}))
        return set(form.get("required", [])) <= set(value) <= names
    if isinstance(value, list):
        return _kind(form) == "array"
    if isinstance(value, str | Data):
        return _kind(form) == "string"
    return _has_type(form) and _kind(form) not in ("object", "array", "string")
