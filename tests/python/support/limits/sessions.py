"""Limits of sessions and snapshots."""

import io
import tarfile
from typing import Any
from urllib.parse import urlencode

from support.limits.rows import (
    ANSWERS,
    ROWS_OF_ONE,
    Asked,
    Over,
    Rows,
    Unshown,
    World,
    document,
    nested,
    packed,
    post,
    shown_by,
    text,
)

SESSION = {"kind": "chat", "key": ["a"]}


def append(**fields: Any) -> Asked:
    return post("/v1/sessions/append", **SESSION | {"entries": [{"data": {}}]} | fields)


def take(**fields: Any) -> Asked:
    return post("/v1/snapshots/take", **fields)


def of_key_bytes(_: World, size: int) -> Asked:
    """Each part takes two bytes on top of its text."""
    return append(key=[text(size - 4 - size // 2), text(size // 2)])


def archive(path: str, **query: str) -> Asked:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(tarfile.TarInfo(path))
    asked = f"/v1/snapshots/archive?{urlencode({'workspace': 'w'} | query)}"
    return Asked("PUT", asked, made.getvalue(), "application/octet-stream")


def of_path(size: int) -> str:
    """In parts that every file system takes."""
    return "/".join([text(200)] * (size // 201)) + "/" + text(size % 201 or 1)


SESSIONS: Rows = {
    "session_kind_bytes_max": Over(lambda _, n: append(kind="k" * n), "kind"),
    "session_key_parts_max": Over(lambda _, n: append(key=["ü"] * n), "key"),
    "session_key_bytes_max": Over(of_key_bytes, "key"),
    "session_name_bytes_max": Over(lambda _, n: append(stream=text(n)), "stream"),
    "session_entries_max": Over(lambda _, n: append(entries=[{"data": {}}] * n), "entries"),
    "session_entry_depth_max": Over(lambda _, n: append(entries=[{"data": nested(n)}]), "data"),
    "session_load_bytes_max": shown_by(f"{ANSWERS}::test_a_load_ends_before_it_is_too_large"),
    "session_budget_page_rows": shown_by(
        "tests/contract/sessions.rs::loads_cut_as_they_are_asked_to"
    ),
    "session_documents_max": Unshown("ten thousand sessions have to be made before"),
}

SNAPSHOTS: Rows = {
    "snapshot_id_bytes_max": Over(lambda _, n: take(snapshot_id=text(n)), "snapshot_id"),
    "snapshot_threads_max": Over(
        lambda _, n: take(threads=[{"thread_id": str(it)} for it in range(n)]),
        "threads",
        at_limit="thread_not_found",
    ),
    "snapshot_namespaces_max": Over(
        lambda _, n: take(namespaces=[[f"n{it}"] for it in range(n)]), "namespaces"
    ),
    "snapshot_sessions_max": Over(
        lambda _, n: take(sessions=[{"kind": "chat", "key": [str(it)]} for it in range(n)]),
        "sessions",
        at_limit="session_not_found",
    ),
    "snapshot_labels_max": Over(
        lambda _, n: take(labels={f"l{it}": "" for it in range(n)}), "labels"
    ),
    "snapshot_label_bytes_max": Over(lambda _, n: take(labels={"l": text(n)}), "l"),
    "snapshot_document_bytes_max": Over(
        lambda _, n: packed("/v1/snapshots/take", document=document(n)), "document", "too_large"
    ),
    "snapshot_items_max": shown_by(f"{ROWS_OF_ONE}::test_a_snapshot_has_so_many_items"),
    "workspace_name_bytes_max": Over(
        lambda _, n: archive("f", workspace=text(n)), "workspace", stores=False
    ),
    "workspace_path_bytes_max": Over(lambda _, n: archive(of_path(n)), "archive", stores=False),
    "workspace_links_max": shown_by(
        "src/content/tar/whole/tests.rs::links_lead_inside_or_the_archive_is_refused"
    ),
    "workspace_bytes_max": shown_by(
        "src/content/tar/whole/tests.rs::limits_hold_whatever_the_packing"
    ),
    "workspace_members_max": shown_by(
        "src/content/tar/whole/tests.rs::limits_hold_whatever_the_packing",
        "src/content/tar/whole/tests.rs::folders_have_a_limit_too",
    ),
}
