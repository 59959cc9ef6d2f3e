"""Limits of checkpoints and threads."""

import json
from typing import Any

from support.limits.rows import (
    ANSWERS,
    ROWS_OF_ONE,
    Asked,
    Over,
    Rows,
    World,
    document,
    packed,
    post,
    shown_by,
    text,
)
from support.native import checkpoint, writes

COMMIT = "/v1/checkpoints/commit"
THREAD = "thread"
PATH_BYTES = 64 << 10


def commit(*ops: dict[str, Any], **more: Any) -> Asked:
    return packed(COMMIT, **{"thread_id": THREAD, "ops": list(ops), **more})


def with_checkpoint(**fields: Any) -> Asked:
    op = checkpoint("c1", {"a": b"\x01"})
    op["checkpoint"].update(fields)
    return commit(op)


def with_writes(count: int = 1, **fields: Any) -> dict[str, Any]:
    op = writes("c1", "task", [b"\x02"] * count)
    op["writes"].update(fields)
    return op


def with_write(**fields: Any) -> Asked:
    op = with_writes()
    op["writes"]["writes"][0].update(fields)
    return commit(op)


def of_value(data: Any) -> Asked:
    return with_write(data=data)


def of_paths(_: World, size: int) -> Asked:
    """Paths that take so many bytes: each counts for every write of its task."""
    ops = [with_writes(size // PATH_BYTES, task_path=text(PATH_BYTES))]
    if size % PATH_BYTES:
        ops.append(with_writes(1, task_id="other", task_path=text(size % PATH_BYTES)))
    return commit(*ops)


def of_skeleton_entries(count: int) -> Asked:
    entries = b",".join([b"0"] * (count - 1))
    return with_checkpoint(skeleton=b'{"a":[' + entries + b"]}")


def of_version(_: World, size: int) -> Asked:
    version = json.dumps(text(size)).encode()
    op = checkpoint("c1", {"a": b"\x01"})
    op["checkpoint"]["skeleton"] = b'{"channel_versions":{"a":' + version + b"}}"
    op["checkpoint"]["values"][0]["version"] = version
    return commit(op)


def of_channels(count: int) -> Asked:
    return commit(checkpoint("c1", {f"c{it}": b"\x01" for it in range(count)}))


def of_part_names(count: int) -> Asked:
    """Values in parts that were never put: who counts them does so before it looks for them."""
    limit, part = 128, 2 << 20
    op = with_writes(0)
    for idx, first in enumerate(range(0, count, limit)):
        names = [bytes([idx, it]) * 16 for it in range(min(limit, count - first))]
        value = {"length": part * len(names), "parts": names}
        op["writes"]["writes"].append({"idx": idx, "channel": "a", "tag": "bytes", "data": value})
    return commit(op)


def of_length(_: World, size: int) -> Asked:
    """A value that says so many bytes, in as many parts as a value has at most."""
    names = [bytes([it]) * 32 for it in range(128)]
    return of_value({"length": size, "parts": names})


def of_difference(count: int) -> Asked:
    ops = [{"insert": b"x"}] * count
    return of_value({"base": bytes(32), "length": count, "ops": ops, "sha256": bytes(32)})


def of_policies(world: World, count: int) -> Asked:
    """One policy more beside all that there may be but one."""

    def policy(number: int) -> Asked:
        thread_id = f"p{number}"
        return post("/v1/retention/policies/put", thread_id=thread_id, expire_after_seconds=9)

    for number in range(1, count):
        world.must(policy(number))
    return policy(count)


def create(**fields: Any) -> Asked:
    return post("/v1/threads/create", thread_id=THREAD, **fields)


def lease(**fields: Any) -> Asked:
    asked = {"thread_id": THREAD, "holder": "h", "ttl_seconds": 60} | fields
    return post("/v1/threads/lease/acquire", **asked)


def policy(**fields: Any) -> Asked:
    return post("/v1/retention/policies/put", **fields)


CHECKPOINTS: Rows = {
    "thread_id_bytes_max": Over(
        lambda _, n: post(
            COMMIT,
            thread_id=text(n),
            ops=[{"writes": {"checkpoint_id": "c", "task_id": "t", "writes": []}}],
        ),
        "thread_id",
    ),
    "title_bytes_max": Over(lambda _, n: create(title=text(n)), "title"),
    "thread_metadata_bytes_max": Over(
        lambda _, n: packed("/v1/threads/create", thread_id=THREAD, metadata=document(n)),
        "metadata",
        "too_large",
    ),
    "checkpoint_ns_bytes_max": Over(
        lambda _, n: with_checkpoint(checkpoint_ns=text(n)), "checkpoint_ns"
    ),
    "checkpoint_id_bytes_max": Over(
        lambda _, n: with_checkpoint(checkpoint_id=text(n)), "checkpoint_id"
    ),
    "task_id_bytes_max": Over(lambda _, n: commit(with_writes(task_id=text(n))), "task_id"),
    "task_path_bytes_max": Over(lambda _, n: commit(with_writes(task_path=text(n))), "task_path"),
    "task_paths_per_commit_bytes_max": Over(of_paths, "task_path"),
    "channel_bytes_max": Over(lambda _, n: with_write(channel=text(n)), "channel"),
    "version_bytes_max": Over(of_version, "channel_versions"),
    "tag_bytes_max": Over(lambda _, n: with_write(tag=text(n)), "tag"),
    "writer_bytes_max": Over(lambda _, n: commit(with_writes(), writer=text(n)), "writer"),
    "value_inline_bytes_max": Over(lambda _, n: of_value(bytes(n)), "data", "too_large"),
    "value_part_bytes": Over(
        lambda _, n: packed("/v1/checkpoints/parts/put", thread_id=THREAD, index=0, data=bytes(n)),
        "data",
    ),
    "value_parts_per_commit_max": Over(
        lambda _, n: of_part_names(n), "parts", at_limit="parts_missing"
    ),
    "document_entries_max": Over(lambda _, n: of_skeleton_entries(n), "skeleton"),
    "ops_per_commit_max": Over(
        lambda _, n: commit(*[with_writes(task_id=str(it)) for it in range(n)]), "ops"
    ),
    "channels_max": Over(lambda _, n: of_channels(n), "values"),
    "writes_per_op_max": Over(lambda _, n: commit(with_writes(n)), "writes"),
    "writes_per_commit_max": Over(
        lambda _, n: commit(with_writes(n // 2), with_writes(n - n // 2, task_id="other")),
        "writes",
    ),
    "ids_per_request_max": Over(
        lambda _, n: post(
            "/v1/checkpoints/prune", thread_ids=[str(it) for it in range(n)], strategy="delete"
        ),
        "thread_ids",
        stores=False,
    ),
    "difference_ops_max": Over(lambda _, n: of_difference(n), "ops", at_limit="resend_whole"),
    "have_values_max": Over(
        lambda _, n: packed("/v1/checkpoints/get", thread_id=THREAD, have_values=[bytes(16)] * n),
        "have_values",
        stores=False,
    ),
    "lease_holder_bytes_max": Over(lambda _, n: lease(holder=text(n)), "holder"),
    "lease_ttl_seconds_max": Over(lambda _, n: lease(ttl_seconds=n), "ttl_seconds"),
    "keep_last_max": Over(lambda _, n: policy(keep_last=n), "keep_last"),
    "retention_seconds_max": Over(
        lambda _, n: policy(expire_after_seconds=n), "expire_after_seconds"
    ),
    "thread_policies_max": Over(of_policies, "thread_id"),
    "extracts_max": Over(
        lambda _, n: post(
            "/threads/search", extract={f"e{it}": f"values.a{it}" for it in range(n)}
        ),
        "extract",
        stores=False,
    ),
    "value_bytes_max": Over(of_length, "data", "too_large", at_limit="parts_missing"),
    "value_in_parts_bytes_min": shown_by(
        "tests/contract/value_parts.rs::values_come_back_whole_and_in_parts"
    ),
    "value_part_seconds_kept": shown_by(
        "tests/contract/value_parts_lives.rs::parts_wait_for_a_day_and_what_was_committed_stays"
    ),
    "list_rows_max": shown_by(f"{ANSWERS}::test_a_page_has_so_many_rows"),
    "list_bytes_max": shown_by(f"{ANSWERS}::test_a_page_ends_with_the_item_that_fills_it"),
    "difference_bytes_min": shown_by(
        "tests/http/differences.rs::only_what_is_durable_and_large_enough_is_a_base"
    ),
    "value_candidates_max": shown_by(
        "src/http/threads/values.rs::so_many_threads_are_opened_and_for_so_long"
    ),
    "subgraph_states_max": shown_by(f"{ANSWERS}::test_an_answer_has_states_of_so_many_subgraphs"),
    "display_bytes_max": shown_by(
        "tests/http/value_parts.rs::what_is_too_large_to_be_shown_is_told_by_its_size",
        "tests/python/hostile/test_memory.py::test_what_is_too_large_to_be_shown_is_told_by_its_size",
    ),
    "storage_report_rows_max": shown_by(f"{ROWS_OF_ONE}::test_a_report_adds_up_so_many_rows"),
}
