"""A whole story on a client that was generated from the OpenAPI document: see README.md for how.

Needs a running server, THREADKEEP_URL, and THREADKEEP_API_KEY, a key of the whole tenant.
"""

import base64
import io
import os
import sys
from typing import Any, TypeVar

from client import AuthenticatedClient
from client.api.checkpoints import (
    commit_checkpoints,
    get_checkpoint,
    get_state,
    list_checkpoints,
)
from client.api.files import (
    edit_file,
    get_file_content,
    put_file_content,
    read_file,
    write_file,
)
from client.api.service import whoami
from client.api.snapshots import (
    get_snapshot,
    list_snapshots,
    restore_snapshot,
    take_snapshot,
)
from client.api.store import get_item, put_item, run_store_batch, search_items
from client.api.threads import delete_thread, get_thread, list_threads
from client.api.tokens import mint_token, narrow_token
from client.models import (
    Checkpoint,
    Commit,
    CommitOpCheckpoint,
    CommitOpWrites,
    DeleteThread,
    EditFile,
    GetCheckpoint,
    GetItem,
    GetThread,
    Grant,
    GrantedAction,
    Grants,
    ListCheckpoints,
    ListSnapshots,
    MintToken,
    NamespaceGrant,
    NarrowToken,
    NewValue,
    NewWrite,
    Problem,
    ProblemCode,
    PutItem,
    ReadFile,
    RestoreSnapshot,
    RestoreThread,
    SearchItems,
    SnapshotHistory,
    SnapshotLabels,
    SnapshotName,
    StoreBatch,
    StoreOpGet,
    StoreOpPut,
    TakeSnapshot,
    TakeThread,
    WriteFile,
    Writes,
)
from client.types import File

Parsed = TypeVar("Parsed")
MEMORIES = ["ann", "memories"]
FILES = ["ann", "workspace"]
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def good(answer: Parsed | Problem | None) -> Parsed:
    """What was asked for; a refusal ends the story with its code and its detail."""
    if isinstance(answer, Problem):
        sys.exit(f"{answer.status} {answer.code}: {answer.detail}")
    assert answer is not None, "an answer that the document does not name"
    return answer


def refused(answer: object, code: ProblemCode) -> Problem:
    """Whatever goes wrong has one body, with a code for programs."""
    assert isinstance(answer, Problem), answer
    assert answer.code == code, answer
    return answer


def token_for_ann(url: str, key: str) -> AuthenticatedClient:
    """A token that may do a part of what the key may: her own threads, and what is Ann's."""
    with AuthenticatedClient(base_url=url, token=key) as owner:
        everything = [GrantedAction.READ, GrantedAction.APPEND, GrantedAction.WRITE]
        grants = Grants(
            threads=[Grant(owned=True, actions=everything)],
            namespaces=[NamespaceGrant(prefix=["ann"], actions=everything)],
            snapshots=[Grant(owned=True, actions=everything)],
        )
        wish = MintToken(subject="ann", grants=grants, ttl_seconds=600)
        minted = good(mint_token.sync(client=owner, body=wish))
    return AuthenticatedClient(base_url=url, token=minted.token)


def checkpoint(number: int, parent: str | None, said: str) -> CommitOpCheckpoint:
    """One step of a graph. Skeleton and metadata are JSON, values are bytes under a codec's tag."""
    skeleton: dict[str, Any] = {
        "v": 4,
        "id": f"step-{number}",
        "channel_versions": {"messages": number},
    }
    value = NewValue(
        channel="messages",
        version=number,
        tag="json",
        data=base64.b64encode(said.encode()).decode(),
    )
    metadata = {"source": "loop", "step": number}
    return CommitOpCheckpoint(
        checkpoint=Checkpoint(
            checkpoint_id=f"step-{number}",
            parent_checkpoint_id=parent,
            skeleton=skeleton,
            metadata=metadata,
            values=[value],
        )
    )


def thread(client: AuthenticatedClient) -> None:
    """A thread comes to be with its first commit; what was read of it goes into the next one."""
    first = Commit(thread_id="trip", ops=[checkpoint(1, None, '["Where to?"]')])
    generation = good(commit_checkpoints.sync(client=client, body=first)).generation
    pending = NewWrite(idx=0, channel="messages", tag="json", data=base64.b64encode(b"1").decode())
    second = Commit(
        thread_id="trip",
        generation=generation,
        ops=[
            CommitOpWrites(
                writes=Writes(checkpoint_id="step-1", task_id="task-1", writes=[pending])
            ),
            checkpoint(2, "step-1", '["Where to?","Norway"]'),
        ],
    )
    good(commit_checkpoints.sync(client=client, body=second))

    got = good(get_checkpoint.sync(client=client, body=GetCheckpoint(thread_id="trip")))
    assert got.checkpoint, got
    assert got.checkpoint.checkpoint_id == "step-2"
    assert got.checkpoint.metadata == {"source": "loop", "step": 2}
    data = got.checkpoint.values[0].data
    assert isinstance(data, str), "whole: differences come only to who asks for them"
    assert base64.b64decode(data) == b'["Where to?","Norway"]'

    shown = good(get_state.sync(client=client, thread_id="trip"))
    assert shown.state, shown
    assert shown.state.values == {"messages": ["Where to?", "Norway"]}, shown.state.values

    page = good(list_checkpoints.sync(client=client, body=ListCheckpoints(thread_id="trip")))
    assert [it.checkpoint_id for it in page.checkpoints] == ["step-2", "step-1"]
    threads = good(list_threads.sync(client=client, limit=10)).threads
    assert [it.thread_id for it in threads] == ["trip"]
    found = good(get_thread.sync(client=client, body=GetThread(thread_id="trip"))).thread
    assert found
    assert found.checkpoint_count == 2
    print("thread: 2 checkpoints, the last one says Norway")


def store(client: AuthenticatedClient) -> None:
    """Items are JSON under namespaces, with versions."""
    wish = PutItem(namespace=MEMORIES, key="food", value={"likes": ["kimchi"], "since": 1.0})
    wish.if_version = 0  # there must be no such item yet
    version = good(put_item.sync(client=client, body=wish, idempotency_key="story-1")).version
    again = good(put_item.sync(client=client, body=wish, idempotency_key="story-1")).version
    assert again == version, "the same request again, the same answer"

    batch = StoreBatch(
        ops=[
            StoreOpPut(put=PutItem(namespace=MEMORIES, key="music", value={"likes": ["fado"]})),
            StoreOpGet(get=GetItem(namespace=MEMORIES, key="food")),
        ]
    )
    assert len(good(run_store_batch.sync(client=client, body=batch)).results) == 2
    search = SearchItems(prefix=["ann"], filter_={"likes": ["fado"]})
    found = good(search_items.sync(client=client, body=search)).items
    assert [it.key for it in found] == ["music"]
    item = good(get_item.sync(client=client, body=GetItem(namespace=MEMORIES, key="food"))).item
    assert item
    assert item.value == wish.value
    nothing = good(get_item.sync(client=client, body=GetItem(namespace=MEMORIES, key="none")))
    assert not nothing.item, "what is not there is absent, and no error"

    stale = PutItem(namespace=MEMORIES, key="food", value={}, if_version=1)
    problem = refused(put_item.sync(client=client, body=stale), ProblemCode.VERSION_CONFLICT)
    assert problem.current_version == version
    print("store: 2 items, found by filter; a stale put is refused")


def files(client: AuthenticatedClient) -> None:
    """Files are text that agents read and edit, or raw bytes that go up and down."""
    path = "/plan.md"
    draft = WriteFile(namespace=FILES, path=path, content="# Plan\n\nGo by boat.\n")
    good(write_file.sync(client=client, body=draft))
    edit = EditFile(namespace=FILES, path=path, old_string="boat", new_string="train")
    good(edit_file.sync(client=client, body=edit))
    read = good(read_file.sync(client=client, body=ReadFile(namespace=FILES, path=path)))
    assert "train" in str(read.to_dict()), read
    upload = File(io.BytesIO(PICTURE))
    stored = good(put_file_content.sync(client=client, body=upload, ns=FILES, path="/fjord.png"))
    assert stored.size_bytes == len(PICTURE)
    picture = good(get_file_content.sync(client=client, ns=FILES, path="/fjord.png"))
    assert isinstance(picture, File)
    assert picture.payload.read() == PICTURE
    part = get_file_content.sync_detailed(
        client=client, ns=FILES, path="/fjord.png", range_="bytes=1-3"
    )
    assert (part.status_code, part.content) == (206, b"PNG")
    missing = get_file_content.sync(client=client, ns=FILES, path="/none.png")
    refused(missing, ProblemCode.NOT_FOUND)
    print(f"files: {len(PICTURE)} bytes up and down, one edit")


def messages(client: AuthenticatedClient, thread_id: str) -> list[Any]:
    """What the thread's newest checkpoint says."""
    state = good(get_state.sync(client=client, thread_id=thread_id)).state
    assert state
    said: list[Any] = state.values["messages"]
    return said


def snapshots(client: AuthenticatedClient) -> None:
    """A thread and items as they are at one moment, and how they come back."""
    labels = SnapshotLabels.from_dict({"trip": "norway"})
    wish = TakeSnapshot(
        snapshot_id="before-sweden",
        threads=[TakeThread(thread_id="trip")],
        namespaces=[MEMORIES],
        labels=labels,
    )
    taken = good(take_snapshot.sync(client=client, body=wish))
    assert (taken.threads[0].checkpoints, taken.namespaces[0].items) == (2, 2), taken
    assert taken.threads[0].history == SnapshotHistory.ALL
    name = SnapshotName(snapshot_id=taken.snapshot_id)
    assert good(get_snapshot.sync(client=client, body=name)) == taken
    page = good(list_snapshots.sync(client=client, body=ListSnapshots(labels=labels)))
    assert [it.snapshot_id for it in page.snapshots] == ["before-sweden"]

    late = checkpoint(3, "step-2", '["Where to?","Norway","Or Sweden"]')
    old = good(commit_checkpoints.sync(client=client, body=Commit(thread_id="trip", ops=[late])))
    forgotten = PutItem(namespace=MEMORIES, key="food", value={})
    good(put_item.sync(client=client, body=forgotten))
    assert messages(client, "trip")[-1] == "Or Sweden"

    would = RestoreSnapshot(snapshot_id=taken.snapshot_id, dry_run=True)
    planned = good(restore_snapshot.sync(client=client, body=would))
    assert (planned.threads[0].replaced_checkpoints, planned.namespaces[0].written) == (3, 1)
    assert messages(client, "trip")[-1] == "Or Sweden", "a dry run changes nothing"

    copied = [RestoreThread(thread_id="trip", into="other trip")]
    beside = RestoreSnapshot(snapshot_id=taken.snapshot_id, threads=copied)
    good(restore_snapshot.sync(client=client, body=beside))
    assert messages(client, "other trip") == ["Where to?", "Norway"]

    in_place = RestoreSnapshot(snapshot_id=taken.snapshot_id, threads="all", namespaces="all")
    done = good(restore_snapshot.sync(client=client, body=in_place, idempotency_key="story-2"))
    assert done.safety_snapshot_id, "what was there before is a snapshot of its own"
    assert messages(client, "trip") == ["Where to?", "Norway"]
    item = good(get_item.sync(client=client, body=GetItem(namespace=MEMORIES, key="food"))).item
    assert item
    assert item.value == {"likes": ["kimchi"], "since": 1.0}

    stale = Commit(thread_id="trip", ops=[late], generation=old.generation)
    refused(commit_checkpoints.sync(client=client, body=stale), ProblemCode.THREAD_RESTORED)
    unknown = SnapshotName(snapshot_id="never taken")
    refused(get_snapshot.sync(client=client, body=unknown), ProblemCode.SNAPSHOT_NOT_FOUND)
    print("snapshots: taken, listed, restored beside and in place; the thread says Norway again")


def refusals(client: AuthenticatedClient, url: str) -> None:
    """A token cannot do more than it was given, nor can what is made of it."""
    foreign = PutItem(namespace=["bob"], key="x", value={})
    refused(put_item.sync(client=client, body=foreign), ProblemCode.NOT_GRANTED)
    bad = Commit(thread_id="", ops=[checkpoint(1, None, "[]")])
    assert refused(commit_checkpoints.sync(client=client, body=bad), ProblemCode.INVALID).field
    only = Grants(namespaces=[NamespaceGrant(prefix=MEMORIES, actions=[GrantedAction.READ])])
    narrowed = good(narrow_token.sync(client=client, body=NarrowToken(grants=only))).token
    with AuthenticatedClient(base_url=url, token=narrowed) as reader:
        read = GetItem(namespace=MEMORIES, key="food")
        assert good(get_item.sync(client=reader, body=read)).item
        write = PutItem(namespace=MEMORIES, key="food", value={})
        refused(put_item.sync(client=reader, body=write), ProblemCode.NOT_GRANTED)
    with AuthenticatedClient(base_url=url, token="tk_nobody") as nobody:
        refused(whoami.sync(client=nobody), ProblemCode.UNAUTHORIZED)
    print("refusals: not granted, invalid, unauthorized")


def main() -> None:
    url, key = os.environ["THREADKEEP_URL"], os.environ["THREADKEEP_API_KEY"]
    with token_for_ann(url, key) as client:
        me = good(whoami.sync(client=client))
        assert (me.subject, me.label) == ("ann", "ann"), me
        thread(client)
        store(client)
        files(client)
        snapshots(client)
        refusals(client, url)
        good(delete_thread.sync(client=client, body=DeleteThread(thread_id="trip")))
        gone = good(get_checkpoint.sync(client=client, body=GetCheckpoint(thread_id="trip")))
        assert not gone.checkpoint
    print("done")


if __name__ == "__main__":
    main()
