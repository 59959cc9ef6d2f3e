"""A number that a client holds is refused once another state has taken the place of the one that it names.

Kinds of numbers, each with what can set it back. Each kind says which fields of which operations take it; a field of that sort that no
kind has and that is not in `HARMLESS` fails a test, so a new one needs an entry here.
"""

import itertools
import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from support.http import Answer, request
from support.native import Native, Refused, checkpoint
from support.server import Server

NAMESPACE = ["numbers", "n"]
SESSION = {"kind": "numbers", "key": ["s"]}
# A number comes back one put at a time: so often others change it, and each time the old one is tried.
CHANGES = 4
REFUSALS = {"version_conflict", "head_moved", "thread_restored", "fence_stale"}


class Kind:
    """A sort of number, and one thing that has it."""

    # Field and operations.
    taken_by: ClassVar[dict[str, set[str]]] = {}

    def __init__(self, server: Server, key: str):
        self.server = server
        self.key = key
        self.native = Native(server.url, key)
        self.numbers = itertools.count(1)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.server.post(path, body, self.key)
        assert answer.status in (200, 201), answer
        found: dict[str, Any] = answer.json()
        return found

    def call(self, path: str, body: dict[str, Any]) -> tuple[int, str | None]:
        answer = self.server.post(path, body, self.key)
        return answer.status, answer.code

    def commit(self, **held: Any) -> dict[str, Any]:
        number = f"{next(self.numbers):08d}"
        return self.native.commit("t", checkpoint(number, {"m": number.encode()}), **held)

    def try_commit(self, **held: Any) -> tuple[int, str | None]:
        try:
            self.commit(**held)
        except Refused as refused:
            return refused.status, refused.code
        return 200, None

    # What a snapshot takes.
    part: ClassVar[dict[str, Any]] = {}

    def make(self, text: str) -> Any:
        """A new state. Answers the number that names it."""
        raise NotImplementedError

    def present(self, held: Any) -> tuple[int, str | None]:
        """A write on condition that the number is the present one."""
        raise NotImplementedError

    def delete(self) -> None:
        raise NotImplementedError


class ItemVersion(Kind):
    taken_by: ClassVar = {
        "if_version": {"put_item", "delete_item", "run_store_batch", "restore_item_version"}
    }
    part: ClassVar = {"namespaces": [NAMESPACE]}

    def item(self, text: str, **held: Any) -> dict[str, Any]:
        return {"namespace": NAMESPACE, "key": "k", "value": {"v": text}, **held}

    def make(self, text: str) -> Any:
        return self.post("/v1/store/put", self.item(text))["version"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.call("/v1/store/put", self.item("of A", if_version=held))

    def delete(self) -> None:
        self.post("/v1/store/delete", {"namespace": NAMESPACE, "key": "k"})


class FileVersion(Kind):
    taken_by: ClassVar = {
        "if_version": {
            "append_file",
            "put_file_content",
            "copy_files",
            "delete_files",
            "edit_file",
            "move_files",
            "complete_upload",
            "write_file",
        }
    }
    part: ClassVar = {"namespaces": [NAMESPACE]}

    def put(self, text: str, more: str = "") -> Answer:
        path = "/v1/files/content?" + "&".join(f"ns={label}" for label in NAMESPACE)
        return request(self.server.url, "PUT", f"{path}&path=/f{more}", text.encode(), key=self.key)

    def make(self, text: str) -> Any:
        answer = self.put(text)
        assert answer.status in (200, 201), answer
        return answer.json()["version"]

    def present(self, held: Any) -> tuple[int, str | None]:
        answer = self.put("of A", f"&if_version={held}")
        return answer.status, answer.code

    def delete(self) -> None:
        self.post("/v1/files/delete", {"namespace": NAMESPACE, "path": "/f"})


class ThreadVersion(Kind):
    """Of title and metadata."""

    taken_by: ClassVar = {"if_version": {"update_thread"}}
    part: ClassVar = {"threads": [{"thread_id": "t"}]}

    def changed(self, text: str, **held: Any) -> dict[str, Any]:
        return {"thread_id": "t", "metadata": {"v": text}, **held}

    def make(self, text: str) -> Any:
        self.post("/v1/threads/create", {"thread_id": "t"})
        return self.post("/v1/threads/update", self.changed(text))["thread"]["version"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.call("/v1/threads/update", self.changed("of A", if_version=held))

    def delete(self) -> None:
        self.post("/v1/threads/delete", {"thread_id": "t"})


class OfSession(Kind):
    part: ClassVar = {"sessions": [SESSION]}

    def delete(self) -> None:
        self.post("/v1/sessions/delete", SESSION)


class DocumentVersion(OfSession):
    taken_by: ClassVar = {"if_version": {"put_document", "append_entries"}}

    def document(self, text: str, **held: Any) -> dict[str, Any]:
        return {**SESSION, "name": "d", "content": text, **held}

    def make(self, text: str) -> Any:
        return self.post("/v1/sessions/documents/put", self.document(text))["version"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.call("/v1/sessions/documents/put", self.document("of A", if_version=held))


class StreamHead(OfSession):
    taken_by: ClassVar = {"if_head": {"append_entries"}}

    def entry(self, text: str, **held: Any) -> dict[str, Any]:
        return {**SESSION, "stream": "main", "entries": [{"data": {"said": text}}], **held}

    def make(self, text: str) -> Any:
        return self.post("/v1/sessions/append", self.entry(text))["head"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.call("/v1/sessions/append", self.entry("of A", if_head=held))


class HeadOfOneStream(StreamHead):
    """Of a stream that is deleted alone: its session stays."""

    def make(self, text: str) -> Any:
        self.post("/v1/sessions/append", {**self.entry(text), "stream": "other"})
        return super().make(text)

    def delete(self) -> None:
        self.post("/v1/sessions/delete", {**SESSION, "stream": "main"})


class CompactedHead(StreamHead):
    taken_by: ClassVar = {
        "expected_head": {"compact_stream"},
        "expectedHead": {"agentrail_compact_session"},
        "through_seq": {"compact_stream"},
        "throughSeq": {"agentrail_compact_session"},
    }

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.call(
            "/v1/sessions/compact",
            {
                **SESSION,
                "stream": "main",
                "expected_head": held,
                "through_seq": held,
                "replacement": [],
                "archive_stream_prefix": "archive/",
            },
        )


class Generation(Kind):
    taken_by: ClassVar = {"generation": {"commit_checkpoints", "put_value_part", "delete_thread"}}
    part: ClassVar = {"threads": [{"thread_id": "t"}]}

    def make(self, text: str) -> Any:
        return self.commit()["generation"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.try_commit(generation=held)

    def delete(self) -> None:
        self.post("/v1/threads/delete", {"thread_id": "t"})


class Fence(Generation):
    taken_by: ClassVar = {
        "fence": {
            "commit_checkpoints",
            "put_value_part",
            "delete_thread",
            "renew_lease",
            "release_lease",
            "restore_snapshot",
            "rewind_thread",
        }
    }

    def make(self, text: str) -> Any:
        holder = {"thread_id": "t", "holder": text}
        lease = self.post("/v1/threads/lease/acquire", {**holder, "ttl_seconds": 60})
        self.commit(fence=lease["fence"])
        self.post("/v1/threads/lease/release", {**holder, "fence": lease["fence"]})
        return lease["fence"]

    def present(self, held: Any) -> tuple[int, str | None]:
        return self.try_commit(fence=held)


KINDS = [
    ItemVersion,
    FileVersion,
    ThreadVersion,
    DocumentVersion,
    StreamHead,
    HeadOfOneStream,
    CompactedHead,
    Generation,
    Fence,
]

# Fields that name a place to read from, or a thing, and are no condition of a write: (field, operation), or a field wherever it is.
HARMLESS = {
    "cursor": "listings go on behind a key; what came back is listed under its own",
    "created_after": "a time",
    "created_before": "a time",
    "updated_after": "a time",
    "updated_before": "a time",
    ("before", "list_checkpoints"): "ids of checkpoints are the client's",
    ("before", "list_timeline"): "ids of checkpoints are the client's",
    ("after", "list_timeline"): "ids of checkpoints are the client's",
    ("before", "agent_server_find_states"): "ids of checkpoints are the client's",
    ("before", "agent_server_list_states"): "ids of checkpoints are the client's",
    ("if_exists", "agent_server_create_thread"): "is no number",
    ("since", "list_audit_events"): "a time",
    ("after", "follow_threads"): "a time; what comes back is a thread that has changed",
    ("after", "follow_changes"): "names its log: 410 in another one; what comes back is a change",
    ("after_seq", "load_entries"): "a place to read from; streams that come back have new numbers",
    ("version", "get_drive_url"): "names a version to read",
    ("version", "get_file_url"): "names a version to read",
    ("version", "commit_checkpoints"): "versions of channels are the client's",
    ("version", "get_item_version"): "names a version to read",
    ("version", "restore_item_version"): "names a version to read",
    ("expire_after_seconds", "put_retention_policy"): "a time",
    ("expected_count", "compact_stream"): "goes with `expected_head`",
    ("expectedCount", "agentrail_compact_session"): "goes with `throughSeq`",
}
SOUGHT = re.compile(
    r"^if_|^expected_|^expected[A-Z]|generation$|fence$|version$|head$|Head$|epoch|after|since"
    r"|position|cursor|through|before"
)

# Deleted and made again, a thread goes on under its generation: that names restores, which replace what a client has read.
# Title and metadata that are back are those that the client read, under the version that names them.
GOES_ON = {(Generation, "made again"), (ThreadVersion, "restored and back")}
# A session that is there with other contents is replaced by an import over it alone.
IMPOSSIBLE = {(HeadOfOneStream, "deleted and imported")}


class Way:
    """How an earlier state comes back. Made at the moment to which it leads."""

    def __init__(self, kind: Kind):
        self.kind = kind
        kind.post("/v1/snapshots/take", {"snapshot_id": "s", **kind.part})
        file = kind.server.post("/v1/export", self.exported(), kind.key)
        assert file.status == 200, file
        self.file = file.body

    def exported(self) -> dict[str, Any]:
        part = self.kind.part
        return {**part, "threads": ["t"]} if "threads" in part else part

    def read_in(self, more: str = "") -> None:
        answer = request(
            self.kind.server.url, "POST", f"/v1/import{more}", self.file, key=self.kind.key
        )
        assert answer.status == 200, answer

    def restore(self) -> None:
        self.kind.post("/v1/snapshots/restore", {"snapshot_id": "s"})


def restored(kind: Kind, way: Way) -> None:
    way.restore()


def imported_over(kind: Kind, way: Way) -> None:
    way.read_in("?overwrite=true")


def deleted_and_imported(kind: Kind, way: Way) -> None:
    kind.delete()
    way.read_in()


def deleted_and_imported_over(kind: Kind, way: Way) -> None:
    kind.delete()
    way.read_in("?overwrite=true")


def deleted_and_restored(kind: Kind, way: Way) -> None:
    kind.delete()
    way.restore()


def made_again(kind: Kind, way: Way) -> None:
    kind.delete()
    kind.make("again")


def restored_and_back(kind: Kind, way: Way) -> None:
    """What the restore replaced comes back, too."""
    answer = kind.post("/v1/snapshots/restore", {"snapshot_id": "s"})
    kind.make("between")
    kind.post("/v1/snapshots/restore", {"snapshot_id": answer["safety_snapshot_id"]})


HAPPENINGS: dict[str, Callable[[Kind, Way], None]] = {
    "restored": restored,
    "restored and back": restored_and_back,
    "imported over": imported_over,
    "deleted and imported": deleted_and_imported,
    "deleted and imported over": deleted_and_imported_over,
    "deleted and restored": deleted_and_restored,
    "made again": made_again,
}


@pytest.mark.parametrize("of", KINDS, ids=lambda it: it.__name__)
def test_a_number_is_taken_while_it_is_the_present_one(
    server: Server, api_key: str, of: type[Kind]
) -> None:
    kind = of(server, api_key)
    kind.make("first")
    held = kind.make("A read this")
    status, code = kind.present(held)
    assert status in (200, 201), code


CASES = [
    pytest.param(kind, happening, id=f"{kind.__name__}-{happening}")
    for kind in KINDS
    for happening in HAPPENINGS
    if (kind, happening) not in IMPOSSIBLE
]


@pytest.mark.parametrize(("of", "happening"), CASES)
def test_an_old_number_is_refused(
    server: Server, api_key: str, of: type[Kind], happening: str
) -> None:
    kind = of(server, api_key)
    kind.make("first")
    way = Way(kind)
    held = kind.make("A read this")
    HAPPENINGS[happening](kind, way)
    if (of, happening) in GOES_ON:
        assert kind.present(held)[0] == 200
        return
    for change in range(CHANGES):
        status, code = kind.present(held)
        assert status == 409 and code in REFUSALS, (change, held, status, code)
        kind.make(f"B {change}")


def fields_of(document: dict[str, Any]) -> set[tuple[str, str]]:
    """(field, operation) of all that is sent and looks like such a number."""
    schemas = document["components"]["schemas"]

    def inside(schema: dict[str, Any], seen: frozenset[str]) -> set[str]:
        if name := schema.get("$ref", "").rsplit("/", 1)[-1]:
            return set() if name in seen else inside(schemas[name], seen | {name})
        properties = schema.get("properties", {})
        parts = [*properties.values(), schema.get("items", {})]
        for choice in ("oneOf", "anyOf", "allOf"):
            parts += schema.get(choice, [])
        return set(properties).union(*(inside(part, seen) for part in parts if part))

    found = set()
    for path in document["paths"].values():
        for operation in path.values():
            names = {it["name"] for it in operation.get("parameters", [])}
            for content in operation.get("requestBody", {}).get("content", {}).values():
                names |= inside(content.get("schema", {}), frozenset())
            found |= {(name, operation["operationId"]) for name in names if SOUGHT.search(name)}
    return found


def test_every_number_that_is_sent_has_a_kind_or_a_reason(server: Server) -> None:
    documents = [
        server.get(path).json()
        for path in ("/openapi.json", "/openapi-msgpack.json", "/agentrail/openapi.json")
    ]
    sent = set().union(*(fields_of(document) for document in documents))
    taken = {
        (field, operation)
        for kind in KINDS
        for field, operations in kind.taken_by.items()
        for operation in operations
    }
    assert not taken - sent, "an entry names an operation that does not take the field"
    harmless = {(field, operation) for field, operation in sent if field in HARMLESS}
    assert sent - taken - harmless - set(HARMLESS) == set()
