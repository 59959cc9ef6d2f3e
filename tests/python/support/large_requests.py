"""For every operation of the document that reads or changes what is stored: the request on the largest thing that it may be about."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from support.large_things import (
    DRIVE,
    FILES,
    ITEMS,
    MANY,
    SESSION,
    SNAPSHOT,
    STREAM_ENTRIES,
    SUBJECT,
    VERSIONS,
    WHOLE,
    WIDE,
    WITH_ARCHIVE,
)
from support.measured import Measured

Fields = dict[str, Any]
MOST = 1_000


class Ask(NamedTuple):
    body: Any = None
    query: str = ""
    path: Fields = {}
    # Of the tenant that has many things instead of large ones.
    of_many: bool = False
    # The code of the answer: no answer holds as much, or there is no such thing any more.
    refused: str = ""
    # What has to be there before.
    before: Callable[[Measured], Fields] | None = None

    def filled(self, it: Measured) -> "Ask":
        """With what is made for it: ids that the server chooses."""
        if self.before is None:
            return self
        made = self.before(it)
        path = self.path | {name: made[name] for name in made.keys() & {"upload_id"}}
        body = self.body | made["body"] if "body" in made else made.get("bytes", self.body)
        return self._replace(path=path, body=body, query=made.get("query", self.query))


def body(**fields: Any) -> Ask:
    return Ask(fields)


def many(**fields: Any) -> Ask:
    return Ask(fields, of_many=True)


def query(**fields: Any) -> Ask:
    return Ask(query=urlencode(fields, doseq=True, quote_via=quote))


def thread(of: str = WHOLE, /, **fields: Any) -> Ask:
    return Ask(fields or None, path={"thread_id": of})


def session(**fields: Any) -> Ask:
    return Ask(SESSION | fields)


def file(**fields: Any) -> Ask:
    return Ask({"namespace": FILES} | fields)


def drive(**fields: Any) -> Ask:
    return query(subject=SUBJECT, path="/film", **fields)


def upload_begun(it: Measured) -> Fields:
    begun: Fields = it.do("/v1/files/uploads", {"namespace": FILES, "path": "/uploaded"})
    return begun


def upload_with_parts(it: Measured) -> Fields:
    begun = upload_begun(it)
    for part in range(1, 5):
        path = f"/v1/files/uploads/{begun['upload_id']}/parts/{part}"
        it.done("PUT", path, bytes(8 << 20), "application/octet-stream")
    return begun


def version_of_item(it: Measured) -> Fields:
    versions = it.do("/v1/store/history", VERSIONS | {"values": False})["versions"]
    return {"body": {"version": versions[-1]["version"]}}


def part_of_value(it: Measured) -> Fields:
    found = it.do("/v1/checkpoints/get", IN_PARTS | {"value_parts": True})
    return {"body": {"name": found["checkpoint"]["values"][0]["data"]["parts"][0]}}


def signed_address(it: Measured) -> Fields:
    path = f"/api/storage/url?subject={SUBJECT}&path=/film"
    answer = it.send("GET", path, None, {"Accept": "application/json"})
    return {"query": answer.json()["url"].partition("?")[2]}


def lease(it: Measured) -> Fields:
    held = {"thread_id": WHOLE, "holder": "h", "ttl_seconds": 60}
    return {"body": {"fence": it.do("/v1/threads/lease/acquire", held)["fence"]}}


def held(it: Measured) -> Fields:
    lease(it)
    return {}


def exported(it: Measured) -> Fields:
    headers = {"Content-Type": "application/json"}
    answer = it.send("POST", "/v1/export", json.dumps(EXPORTED).encode(), headers)
    assert answer.status == 200, answer.status
    return {"bytes": answer.body}


EXPORTED = {"threads": [WHOLE], "namespaces": [FILES]}
IN_WHOLE = {"thread_id": WHOLE}
IN_PARTS = {"thread_id": "parts"}
BIG_VALUE = {"pad": "a" * (12 << 20)}
# A namespace's root, a stream, a document: what is large of each.
NOTES = {"name": "NOTES.md"}
MESSAGES = {"stream": "messages"}

REQUESTS: dict[str, Ask] = {
    # Checkpoints and threads
    "commit_checkpoints": body(
        **IN_WHOLE,
        ops=[
            {
                "writes": {
                    "checkpoint_id": "0000",
                    "task_id": "t",
                    "writes": [
                        {"idx": 0, "channel": "c", "tag": "bytes", "data": "A" * (16 << 20)}
                    ],
                }
            }
        ],
    ),
    "get_checkpoint": body(**IN_WHOLE),
    "get_channel_history": body(**IN_WHOLE, channels=["messages"]),
    "list_checkpoints": body(thread_id="page", limit=MOST),
    "list_timeline": body(thread_id="documents", limit=MOST),
    "get_value_part": Ask(IN_PARTS, before=part_of_value),
    "put_value_part": body(**IN_WHOLE, index=0, data="A" * (8 << 18)),
    "get_checkpoint_values": query(thread_id=WHOLE),
    "get_state": query(thread_id=WHOLE),
    "delete_checkpoints_of_runs": body(run_ids=["run"] * MOST),
    "prune_threads": body(thread_ids=[WIDE, WHOLE, "page"], strategy="delete"),
    "list_threads": Ask(query=f"limit={MOST}", of_many=True),
    "get_thread": body(**IN_WHOLE),
    "create_thread": body(thread_id="new", metadata={"pad": "a" * 60_000}),
    "update_thread": body(**IN_WHOLE, metadata={"pad": "a" * 60_000}),
    "search_threads": body(limit=MOST, include=["preview"]),
    "count_threads": body(values={"messages": "none"}),
    "follow_threads": Ask(),
    "get_thread_storage": query(thread_id=WIDE),
    "delete_thread": body(thread_id=WIDE),
    "copy_thread": body(source_thread_id=WIDE, target_thread_id="copy"),
    "fork_thread": body(source=WIDE, target="fork", checkpoint_id="0004"),
    "rewind_thread": body(thread_id=WIDE, checkpoint_id="0000", safety=True),
    "acquire_lease": body(**IN_WHOLE, holder="h", ttl_seconds=60),
    "renew_lease": Ask({**IN_WHOLE, "holder": "h", "ttl_seconds": 60}, before=lease),
    "release_lease": Ask({**IN_WHOLE, "holder": "h"}, before=lease),
    "break_lease": Ask(IN_WHOLE, before=held),
    "put_retention_policy": body(thread_id="page", keep_last=1),
    "get_retention_policy": body(thread_id="page"),
    "list_retention_policies": query(limit=MOST),
    "delete_retention_policy": body(thread_id="page"),
    "list_retention_reports": query(limit=MOST),
    "run_retention": body(thread_id="page"),
    # Items
    "run_store_batch": body(
        ops=[{"get": {"namespace": ITEMS, "key": f"/d/{at}"}} for at in range(5)]
    ),
    "put_item": body(namespace=ITEMS, key="/d/0", value=BIG_VALUE),
    "get_item": body(namespace=ITEMS, key="/d/0"),
    "delete_item": body(namespace=ITEMS, key="/d/0"),
    "search_items": body(prefix=ITEMS, limit=MOST),
    "count_items": body(prefix=ITEMS, filter={"content": "other"}),
    "list_namespaces": many(limit=MOST, counts=True),
    "list_largest_namespaces": many(limit=100),
    "list_item_versions": body(**VERSIONS, limit=100),
    "get_item_version": Ask(VERSIONS, before=version_of_item),
    "restore_item_version": Ask(VERSIONS, before=version_of_item),
    "put_namespace_setting": body(namespace=ITEMS, text_fields=["content", "pad"]),
    "get_namespace_setting": body(namespace=ITEMS),
    "delete_namespace_setting": body(namespace=ITEMS),
    "list_namespace_settings": body(),
    "follow_changes": query(ns=MANY)._replace(of_many=True),
    # Files
    "list_files": Ask({"namespace": DRIVE, "path": "/", "recursive": True}, of_many=True),
    "read_file": file(path="/d/0", limit=1_000_000),
    "stat_file": file(path="/d/0"),
    "download_files": file(paths=["/d/0", "/d/1"]),
    "glob_files": Ask({"namespace": DRIVE, "pattern": "**/*"}, of_many=True),
    "grep_files": file(pattern="line"),
    "write_file": file(path="/d/0", content="a" * (15 << 20)),
    "append_file": file(path="/d/0", content="a" * (1 << 20)),
    "edit_file": file(path="/d/0", old_string="line", new_string="word", replace_all=True),
    "upload_files": file(
        files=[{"path": f"/{at}", "bytes": "YSBs" * (2 << 20)} for at in range(2)]
    ),
    "delete_files": file(path="/d"),
    "move_files": file(**{"from": "/d", "to": "/e"}),
    "copy_files": file(**{"from": "/d", "to": "/e"}),
    "get_file_content": query(ns=DRIVE, path="/film"),
    "put_file_content": Ask(
        bytes(24 << 20), query=urlencode({"ns": DRIVE, "path": "/new"}, doseq=True)
    ),
    "get_file_url": query(ns=DRIVE, path="/film"),
    "begin_upload": body(namespace=DRIVE, path="/uploaded"),
    "put_upload_part": Ask(bytes(24 << 20), path={"part": 1}, before=upload_begun),
    "get_upload": Ask(before=upload_with_parts),
    "complete_upload": Ask({}, before=upload_with_parts),
    "abort_upload": Ask(before=upload_with_parts),
    "list_drive": Ask(query=f"subject={SUBJECT}&path=/&recursive=true&limit={MOST}", of_many=True),
    "upload_to_drive": Ask(bytes(24 << 20), query=f"subject={SUBJECT}"),
    "download_from_drive": drive(),
    "delete_from_drive": drive(),
    "get_drive_url": drive(),
    "open_signed_file": Ask(before=signed_address),
    "store_artifacts": Ask(bytes(24 << 20), query=f"subject={SUBJECT}&path=x"),
    "export_tenant": Ask(EXPORTED),
    "import_tenant": Ask(before=exported),
    # Sessions
    "create_session": body(kind="large", key=["new"]),
    "append_entries": session(**MESSAGES, entries=[{"data": BIG_VALUE}]),
    "load_entries": session(**MESSAGES),
    "list_streams": Ask({"kind": "many", "key": ["s-0"]}, of_many=True),
    "list_sessions": many(kind="many", limit=MOST),
    "list_session_kinds": body(),
    "delete_session": session(),
    "put_document": session(**NOTES, content="a" * (12 << 20)),
    "get_document": session(**NOTES),
    "append_document": session(**NOTES, content="a" * (1 << 20)),
    "list_documents": session(),
    "find_documents": body(kind="large", name="NOTES.md"),
    "delete_document": session(**NOTES),
    "add_to_counter": session(counter="turns"),
    "compact_stream": session(
        **MESSAGES,
        through_seq=STREAM_ENTRIES,
        expected_head=STREAM_ENTRIES,
        archive_stream_prefix="old/",
        replacement=[{"data": {"pad": "a" * (4 << 20)}}],
    ),
    # Snapshots
    "take_snapshot": body(threads=[{"thread_id": WIDE}], namespaces=[ITEMS], sessions=[SESSION]),
    "get_snapshot": body(snapshot_id=SNAPSHOT),
    "list_snapshots": many(limit=MOST),
    "delete_snapshot": body(snapshot_id=SNAPSHOT),
    "restore_snapshot": body(snapshot_id=SNAPSHOT, threads="all", namespaces="all", sessions="all"),
    "stage_archive": Ask(bytes(24 << 20), query="workspace=w"),
    "get_archive": query(snapshot_id=WITH_ARCHIVE),
    # Tenants
    "list_audit_events": query(limit=MOST),
    "list_subjects": query(limit=MOST),
    "delete_subject": query(subject=SUBJECT),
    "get_usage": Ask(),
    # The Agent Server wire
    "agent_server_create_thread": body(thread_id=WIDE, if_exists="do_nothing"),
    "agent_server_get_thread": thread(),
    "agent_server_update_thread": thread(metadata={"pad": "a" * 60_000}),
    "agent_server_delete_thread": thread(WIDE),
    "agent_server_copy_thread": thread(WIDE),
    "agent_server_get_thread_storage": thread(WIDE),
    "agent_server_search_threads": body(limit=MOST),
    "agent_server_count_threads": body(values={"messages": "none"}),
    "agent_server_prune_threads": body(thread_ids=[WIDE, WHOLE], strategy="delete"),
    "agent_server_get_state": thread(),
    "agent_server_get_state_at": Ask(path={"thread_id": WIDE, "checkpoint_id": "0004"}),
    "agent_server_get_state_of_checkpoint": thread(
        checkpoint={"checkpoint_id": "0000"}, subgraphs=True
    ),
    "agent_server_update_state": thread(values={"messages": "a" * (12 << 20)}),
    "agent_server_list_states": thread(WIDE)._replace(query=f"limit={MOST}"),
    "agent_server_find_states": thread(WIDE, limit=MOST),
    "agent_server_put_item": body(namespace=ITEMS, key="/d/0", value=BIG_VALUE),
    "agent_server_get_item": query(namespace=".".join(ITEMS), key="/d/0"),
    "agent_server_delete_item": body(namespace=ITEMS, key="/d/0"),
    "agent_server_search_items": body(namespace_prefix=ITEMS, limit=MOST),
    "agent_server_list_namespaces": many(limit=MOST),
    "agent_server_search_assistants": many(limit=MOST),
    "agent_server_count_assistants": many(),
}
# They read nothing that a client stored, or a row of a few hundred bytes.
OF_NOTHING_LARGE = {
    "agent_server_create_assistant", "agent_server_get_root", "agent_server_get_ok", "agent_server_get_info", "get_docs", "get_health", "get_readiness",
    "get_openapi", "get_openapi_msgpack", "get_openapi_agentrail", "get_metrics", "get_info", "get_limits", "whoami",
    "create_key", "revoke_key", "list_keys", "mint_token", "narrow_token", "revoke_token", "list_tokens",
    "list_tenants", "get_tenant_quota", "put_tenant_quota", "rotate_tenant_secrets", "list_tenant_keys", "create_tenant_key", "revoke_tenant_key",
}  # fmt: skip
# Parts of paths of what is about agents and their runs, which this server does not have.
OF_NO_RUNS = ("/runs", "/assistants/{", "/mcp", "/a2a", "/ui", "/commands", "/stream")
