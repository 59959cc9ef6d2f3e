"""The worst requests of every operation of the API document, made by rule from what the document says of it."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

from support import settings
from support.http import JSON, MSGPACK
from support.measured import EVENTS
from support.worst_bodies import ENDLESS, Document, in_json, in_msgpack

FOLDER = settings.ROOT / "openapi"
BYTES = "application/octet-stream"
FORM = "multipart/form-data; boundary=x"
METHODS = {"get", "put", "post", "patch", "delete"}
EVENT_OPERATIONS = {"follow_changes", "follow_threads", "agent_server_follow_events"}
# Of one parameter: what fits into an address.
PARAMETER_BYTES = 30_000
# A member of an archive that stands for more than the archive may.
MEMBER_BYTES = 64 << 20


class Request(NamedTuple):
    name: str
    path: str
    body: bytes | None
    headers: dict[str, str]
    # Of what the body stands for, beside itself.
    packed_bytes: int = 0


class Operation(NamedTuple):
    """One of the document, which has it for JSON and, where bodies are MessagePack too, for that."""

    name: str
    method: str
    path: str
    said: dict[str, Any]
    has_msgpack: bool

    @property
    def parameters(self) -> list[dict[str, Any]]:
        parameters: list[dict[str, Any]] = self.said.get("parameters", [])
        return parameters

    @property
    def media(self) -> dict[str, Any]:
        media: dict[str, Any] = self.said.get("requestBody", {}).get("content", {})
        return media

    @property
    def only_reads(self) -> bool:
        return str(self.said.get("x-permission", "")).endswith(":read")

    @property
    def headers(self) -> dict[str, str]:
        return {"Accept": EVENTS if self.name in EVENT_OPERATIONS else "*/*"}

    def at(self, **values: Any) -> str:
        """Its path, with these values or any others."""
        path = self.path
        for it in self.parameters:
            if it["in"] == "path":
                text = quote(str(values.get(it["name"], "x")), safe="")
                path = path.replace(f"{{{it['name']}}}", text)
        return path


def _document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return document


DOCUMENT = Document(_document("openapi"))


def operations() -> dict[str, Operation]:
    in_msgpack = {
        said["operationId"]
        for methods in _document("openapi-msgpack")["paths"].values()
        for said in methods.values()
        if MSGPACK in said.get("requestBody", {}).get("content", {})
    }
    found = {}
    for path, methods in _document("openapi")["paths"].items():
        for method, said in methods.items():
            name = said["operationId"]
            found[name] = Operation(name, method.upper(), path, said, name in in_msgpack)
    return found


def worst_requests(it: Operation) -> Iterator[Request]:
    """For every part of its body, and every parameter, one in which it is the worst."""
    yield Request("as it is", it.at(), None, it.headers)
    yield from _parameters(it)
    if JSON in it.media:
        yield from _bodies(it)
    elif it.media:
        yield from _bytes(it)


def _bodies(it: Operation) -> Iterator[Request]:
    said = it.media[JSON]
    base = DOCUMENT.typed(said["schema"], said["example"])
    size = settings.MEMORY_BODY_BYTES
    for name, value in DOCUMENT.worst(said["schema"], base, size):
        # A list without an end is refused at the same entry in both forms. Each entry has one byte in this one.
        if not name.endswith(ENDLESS):
            headers = it.headers | {"Content-Type": JSON}
            yield Request(f"{name}, in JSON", it.at(), in_json(value), headers)
        if it.has_msgpack and _differs_in_msgpack(name):
            headers = it.headers | {"Content-Type": MSGPACK}
            yield Request(f"{name}, in MessagePack", it.at(), in_msgpack(value), headers)


def _differs_in_msgpack(name: str) -> bool:
    """Exact JSON is the same text in both, and texts and data of entries are slices of both."""
    return "JSON" not in name and not ("one with" in name or "many with" in name)


def _parameters(it: Operation) -> Iterator[Request]:
    needed = [
        (each["name"], "x")
        for each in it.parameters
        if each["in"] == "query" and each.get("required")
    ]
    for each in it.parameters:
        name, long = each["name"], "x" * PARAMETER_BYTES
        if each["in"] == "header":
            text = "bytes=" + "0-0," * (PARAMETER_BYTES // 4) if name == "Range" else long
            yield Request(f"a long {name}", it.at(), None, it.headers | {name: text})
        elif each["in"] == "path":
            yield Request(f"a long {name}", it.at(**{name: long}), None, it.headers)
        elif each["schema"].get("type") == "array":
            query = "&".join([f"{name}=x"] * (PARAMETER_BYTES // (len(name) + 3)))
            yield Request(f"many of {name}", f"{it.at()}?{query}", None, it.headers)
        else:
            others = "&".join(f"{other}={value}" for other, value in needed if other != name)
            yield Request(f"a long {name}", f"{it.at()}?{others}&{name}={long}", None, it.headers)


def _bytes(it: Operation) -> Iterator[Request]:
    # A form has its own path. A key of the whole tenant says whose drive it means.
    wanted = {"subject"} if FORM.partition(";")[0] in it.media else {"subject", "path"}
    query = "&".join(
        f"{each['name']}={quote('/x', safe='')}"
        for each in it.parameters
        if each["in"] == "query" and (each.get("required") or each["name"] in wanted)
    )
    path = f"{it.at(part=1)}?{query}"
    for name, content in bytes_of_all_kinds().items():
        packed_bytes = MEMBER_BYTES if "gzip" in name and "archive" in said_of(it) else 0
        if FORM.partition(";")[0] in it.media:
            headers = it.headers | {"Content-Type": FORM}
            yield Request(name, path, in_form(content), headers, packed_bytes)
        else:
            headers = it.headers | {"Content-Type": BYTES}
            yield Request(name, path, content, headers, packed_bytes)


def said_of(it: Operation) -> str:
    """What its body is."""
    return str(it.said["requestBody"].get("description", "")).lower()


@cache
def bytes_of_all_kinds() -> dict[str, bytes]:
    """Files, and archives that stand for more than themselves."""
    return {
        "zeros": bytes(settings.MEMORY_BODY_BYTES),
        "one large member, in gzip": gzip.compress(archive([MEMBER_BYTES]), 1),
        "many members": archive([0] * 10_001),
        "an archive that is not packed": archive([settings.MEMORY_BODY_BYTES]),
    }


def archive(sizes: list[int]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as written:
        for number, size in enumerate(sizes):
            member = tarfile.TarInfo(f"{number}")
            member.size = size
            written.addfile(member, io.BytesIO(bytes(size)))
    return packed.getvalue()


def in_form(content: bytes) -> bytes:
    """A form that uploads one file."""
    said = 'Content-Disposition: form-data; name="{}"'
    path = f"--x\r\n{said.format('path')}\r\n\r\n/x\r\n"
    file = f"--x\r\n{said.format('file')}; filename=x\r\n\r\n"
    return (path + file).encode() + content + b"\r\n--x--\r\n"
