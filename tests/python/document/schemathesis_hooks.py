"""What schemathesis has to know of this API: how a body of the document becomes MessagePack and back, and who asks for which
form. Runs in the environment of tests/setup/openapi.sh, inside of schemathesis.
"""

import base64
import binascii
import copy
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import schemathesis
from schemathesis import GenerationMode

MSGPACK = "application/msgpack"
BUDGET = "threadkeep-budget-ms"
INT_MIN, INT_MAX = -(1 << 63), (1 << 64) - 1
# Operations whose body is a tar archive.
ARCHIVES = {"stage_archive", "store_artifacts"}
Schema = dict[str, Any]


def resolved(schema: Any, root: Schema) -> Schema:
    while isinstance(schema, dict) and "$ref" in schema:
        found: Any = root
        for name in schema["$ref"].removeprefix("#/").split("/"):
            found = found[name.replace("~1", "/").replace("~0", "~")]
        schema = found
    return schema if isinstance(schema, dict) else {}


def forms(schema: Any, root: Schema) -> Iterator[Schema]:
    """The schema, or what it may be instead of itself."""
    schema = resolved(schema, root)
    alternatives = [*schema.get("oneOf", []), *schema.get("anyOf", [])]
    if alternatives:
        for alternative in alternatives:
            yield from forms(alternative, root)
    else:
        yield schema


def form_of(value: Any, schema: Any, root: Schema) -> Schema:
    """The form that the value most likely has: by its fields, else by its type."""
    found = list(forms(schema, root))
    if isinstance(value, dict):
        for form in found:
            if set(form.get("required", [])) <= value.keys() and form.get("properties"):
                return form
    texts = [form for form in found if form.get("type") == "string"]
    if isinstance(value, str | bytes) and texts:
        return texts[0]
    lists = [form for form in found if "items" in form]
    if isinstance(value, list) and lists:
        return lists[0]
    return found[0] if found else {}


def fields(schema: Schema, root: Schema) -> dict[str, Any]:
    all_fields = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        all_fields |= fields(resolved(part, root), root)
    return all_fields


def to_wire(value: Any, schema: Any, root: Schema) -> Any:
    """Exact JSON becomes its text, data its bytes."""
    form = form_of(value, schema, root)
    if form.get("x-msgpack") == "bin":
        if "contentEncoding" not in form:
            return json.dumps(value).encode()
        try:
            return base64.b64decode(value, validate=True)
        except (TypeError, ValueError):
            return value
    if isinstance(value, dict):
        known = fields(form, root)
        return {name: to_wire(it, known.get(name, {}), root) for name, it in value.items()}
    if isinstance(value, list):
        return [to_wire(it, form.get("items", {}), root) for it in value]
    if isinstance(value, int) and not isinstance(value, bool) and not INT_MIN <= value <= INT_MAX:
        return float(value) if abs(value) < 1 << 1000 else "too large for MessagePack"
    return value


def from_wire(value: Any, schema: Any, root: Schema) -> Any:
    form = form_of(value, schema, root)
    if isinstance(value, bytes):
        if form.get("x-msgpack") == "bin" and "contentEncoding" not in form:
            return json.loads(value)
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        known, others = fields(form, root), form.get("additionalProperties", {})
        return {name: from_wire(it, known.get(name, others), root) for name, it in value.items()}
    if isinstance(value, list):
        return [from_wire(it, form.get("items", {}), root) for it in value]
    return value


def content(holder: Schema, root: Schema) -> Any:
    return resolved(holder, root).get("content", {}).get(MSGPACK, {}).get("schema", {})


@schemathesis.serializer(MSGPACK)
def pack(context: Any, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    operation = context.case.operation
    schema = content(operation.definition.raw.get("requestBody", {}), operation.schema.raw_schema)
    wire = to_wire(value, schema, operation.schema.raw_schema)
    packed: bytes = msgpack.packb(wire, default=in_64_bits, unicode_errors="surrogatepass")
    return packed


def in_64_bits(value: Any) -> Any:
    """MessagePack has no larger whole numbers: the nearest that it has."""
    if not isinstance(value, int):
        raise TypeError(f"no MessagePack of {value!r}")
    return max(-(1 << 63), min(value, (1 << 64) - 1))


@schemathesis.serializer("application/octet-stream")
def raw(context: Any, value: Any) -> bytes:
    """Of what is sent where an archive belongs, half is one, with what was made up in its file."""
    data = value if isinstance(value, bytes) else getattr(value, "data", None)
    if not isinstance(data, bytes):
        data = str(value).encode(errors="surrogatepass")
    operation = context.case.operation.definition.raw["operationId"]
    if operation not in ARCHIVES or binascii.crc32(data) % 2 == 0:
        return data
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(f"made/{len(data)}.bin")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


@schemathesis.deserializer(MSGPACK)
def unpack(context: Any, response: Any) -> Any:
    root = context.operation.schema.raw_schema
    answers = context.operation.definition.raw["responses"]
    schema = content(answers.get(str(response.status_code), {}), root)
    return from_wire(msgpack.unpackb(response.content), schema, root)


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: Schema) -> None:
    """The fields of a link's body stand in an extension: openapi-generator refuses them in their own place."""
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for answer in operation["responses"].values():
                for link in answer.get("links", {}).values():
                    if "x-request-body" in link:
                        link["requestBody"] = link.pop("x-request-body")


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """A header that nobody knows is no mistake, whatever the document does not list. And a form that is made out of what is none may
    have all that it should lack.
    """
    is_no_form = case.media_type == "multipart/form-data" and not isinstance(case.body, dict)
    return not is_no_form and "x-schemathesis-unknown-property" not in (case.headers or {})


# What other calls go on from. Nearly everything that is made up for them is refused, and nothing would be found to go on with.
BEGINNINGS = {
    "begin_upload",
    "commit_checkpoints",
    "create_session",
    "mint_token",
    "put_document",
    "put_item",
    "put_namespace_setting",
    "put_retention_policy",
    "take_snapshot",
    "write_file",
}


def examples() -> dict[str, Any]:
    """The bodies that the document in JSON shows, by operation."""
    document = json.loads((Path(__file__).parents[3] / "openapi" / "openapi.json").read_text())
    operations = [it for item in document["paths"].values() for it in item.values()]
    bodies = {it["operationId"]: it.get("requestBody", {}).get("content", {}) for it in operations}
    return {name: bodies[name]["application/json"]["example"] for name in BEGINNINGS}


EXAMPLES = examples()


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Half of the valid beginnings are the document's own example, which the one in JSON shows."""
    raw = case.operation.definition.raw
    is_valid = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    chosen = binascii.crc32(repr(case.body).encode(errors="replace")) % 2 == 0
    if is_valid and chosen and raw["operationId"] in BEGINNINGS:
        case.body = copy.deepcopy(EXAMPLES[raw["operationId"]])
    return case


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Where MessagePack is documented it is wanted. And nobody is given so little time that the server has to say so: that is an
    answer of 503, which is none of its defects.
    """
    for name, value in list((case.headers or {}).items()):
        if name.lower() == BUDGET and str(value).isascii() and str(value).isdigit():
            case.headers[name] = str(value) if int(value) > 30_000 else "30000"
    answers = case.operation.definition.raw["responses"].values()
    offered = any(MSGPACK in answer.get("content", {}) for answer in answers)
    names = {name.lower() for name in case.headers or {}}
    if offered and "accept" not in names:
        case.headers = {**(case.headers or {}), "Accept": MSGPACK}


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """A line of each call, for the test that counts them: the type of what was sent, the status, the type of the answer."""
    sent = response.request.headers.get("Content-Type", "") if response.request.body else ""
    answered = response.headers.get("content-type", [""])[0]
    types = [it.split(";")[0].strip() for it in (sent, answered)]
    with Path(os.environ["THREADKEEP_TEST_CALLS"]).open("a") as calls:
        calls.write(f"{types[0]}\t{response.status_code}\t{types[1]}\n")
