"""The calls of the native clients as requests, and their answers as typed records.

One function per call, used by the blocking and by the asynchronous client alike.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlencode

import ormsgpack

from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.http.transport import Request
from threadkeep.records import record
from threadkeep.tokens import Capabilities, Grants

Sort = Literal["created", "updated", "state_updated", "status", "size", "thread_id"]
Order = Literal["asc", "desc"]
ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
ThreadPart = Literal["preview", "values", "interrupts"]
TitleFrom = Literal["set", "metadata", "first_message"]
TtlStrategy = Literal["delete", "keep_latest"]


@dataclass(frozen=True)
class PreviewMessage:
    """A message of a preview: its `type`, as "human" or "ai", and the beginning of its text."""

    type: str
    text: str


@dataclass(frozen=True)
class PreviewTodos:
    """How much of a plan is done."""

    done: int
    total: int


@dataclass(frozen=True)
class ThreadPreview:
    """The first and the last message of a thread, its todos and its next tasks.

    Each text is one line of at most 200 characters.
    """

    next: list[str]
    """Names of the first 20 tasks that have still to run."""
    interrupts: int
    """Questions that nobody has answered."""
    cut: bool
    """Something was too much, or cannot be shown."""
    first_human: str | None = None
    last_message: PreviewMessage | None = None
    messages: int | None = None
    """How many there are. None: the thread has no list of messages."""
    todos: PreviewTodos | None = None


@dataclass(frozen=True)
class ThreadTtl:
    """The time to live of a thread. The server deletes or prunes a thread that has not changed for
    so long."""

    minutes: float
    strategy: TtlStrategy = "delete"
    """"keep_latest" leaves the newest checkpoint of each namespace."""
    expires_at: str | None = None
    """When that is, as far as nobody changes the thread. Only in answers."""


@dataclass(frozen=True)
class Thread:
    """One thread. Times are as the server writes them; sizes are bytes."""

    thread_id: str
    created_at: str
    updated_at: str
    checkpoint_count: int
    size_bytes: int
    generation: str
    last_step: int | None = None
    forks: int | None = None
    """Checkpoints with more than one child: two writers were at it, or somebody went back. Only
    where one thread is asked for."""
    owner: str | None = None
    graph_id: str | None = None
    assistant_id: str | None = None
    user_id: str | None = None
    title: str | None = None
    """What was set, else the text in `metadata["title"]`, else the first human text."""
    title_from: TitleFrom | None = None
    """Where the title comes from. None without a title, or from a server that does not say."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What was set, and what the metadata of checkpoints says under `graph_id`, `assistant_id` and
    `user_id`."""
    version: int = 0
    """Of title, metadata and ttl: it grows with each change of them. 0: nothing was ever set."""
    ttl: ThreadTtl | None = None
    status: ThreadStatus | None = None
    """As the newest checkpoint of the root graph, its writes and the lease say. "interrupted" waits
    for an answer, or has tasks that nobody runs. None from a server that does not say."""
    state_updated_at: str | None = None
    """When checkpoints or writes last changed."""
    preview: ThreadPreview | None = None
    """Where a search includes it, of threads with checkpoints."""
    values: Any = None
    """Of the newest state, where a search includes them: an object by channel; of a graph with one
    unnamed value, the value. None without checkpoints, and where they cannot be shown."""
    values_preview: bool = False
    """The values are over 256 KiB: they have the messages that lists show, with texts cut at 4 KiB,
    and channels up to 4 KiB."""
    interrupts: dict[str, list[dict[str, Any]]] | None = None
    """The questions of tasks that have still to run, by the id of the task, each with `id` and
    `value`; where a search includes them, as `values`."""
    uuid: str | None = None
    """The id itself where it is a UUID, else a UUID that SDKs and UIs of LangGraph may use as the
    thread's id. None from a server that does not say."""


@dataclass(frozen=True)
class ThreadPage:
    """A page of threads. `next_cursor` is None on the last one."""

    threads: list[Thread]
    next_cursor: str | None


@dataclass(frozen=True)
class ChannelStorage:
    """What a channel of a thread holds, before compression and sharing."""

    channel: str
    versions: int
    logical_bytes: int
    newest_bytes: int


@dataclass(frozen=True)
class RewoundThread:
    """What a rewind removed, or would remove. `checkpoints` are those that stay.
    `safety_snapshot_id` names the snapshot whose restore undoes the rewind."""

    dry_run: bool
    checkpoints: int
    checkpoints_removed: int
    writes_removed: int
    generation: str
    safety_snapshot_id: str | None = None


@dataclass(frozen=True)
class ThreadStorage:
    """What a thread takes. `logical_bytes` are as sent, `stored_bytes` as stored, with everything
    in the content scope that it shares with `shared_with` other threads, its copies."""

    logical_bytes: int
    stored_bytes: int
    content_bytes: int
    share_saved: float
    checkpoints: int
    versions: int
    writes: int
    chunks: int
    shared_with: int
    channels: list[ChannelStorage]


@dataclass(frozen=True)
class Lease:
    """A lease that is held. `fence` only grows; the latest holder has the greatest."""

    fence: int
    expires_at: str


@dataclass(frozen=True)
class Identity:
    """Who the server takes the caller for."""

    tenant: str
    subject: str | None = None
    label: str | None = None
    """The namespace label of the subject."""
    label_with_colons: str | None = None
    """Its former label, which leaves `:` as it is; None from a server that has no other."""
    credential: str | None = None
    """The id of the key or token in use; no secret."""
    expires_at: str | None = None
    """Of a token."""
    grants: Grants | None = None
    """None where the whole tenant is granted."""
    operator: bool = False
    """Whether it is the key of an operator, who looks after all tenants."""
    capabilities: Capabilities | None = None
    """What it may do with some thing of each kind; None from a server that does not tell."""


@dataclass(frozen=True)
class ServerInfo:
    """What the server is. Without a key or token: `name`, `version` and `keyless` alone."""

    name: str
    version: str
    keyless: bool
    """Whether local programs need no key."""
    engine: str | None = None
    """`postgres` or `sqlite`."""
    started_at: str | None = None
    """When the process began that answered."""
    features: dict[str, Any] | None = None
    """What the server has been set up with: `ServerFeatures` of the API document."""


def post(path: str, body: Mapping[str, Any], *, nullable: Collection[str] = ()) -> Request:
    """A call with a body; entries that are None are left out, but for those of `nullable`."""
    try:
        present = {
            name: value for name, value in body.items() if value is not None or name in nullable
        }
        return Request("POST", path, ormsgpack.packb(present))
    except (ormsgpack.MsgpackEncodeError, UnicodeEncodeError) as error:
        raise InvalidError(f"the request cannot be encoded: {error}") from error


def once(path: str, body: Mapping[str, Any], *, nullable: Collection[str] = ()) -> Request:
    """A write that takes effect once, however often it is sent. Else as `post`."""
    return post(path, body, nullable=nullable)._replace(idempotency_key=uuid.uuid4().hex)


def get(path: str, query: Mapping[str, Any] | None = None) -> Request:
    """A call without a body; entries that are None are left out."""
    present = {name: value for name, value in (query or {}).items() if value is not None}
    return Request("GET", f"{path}?{urlencode(present)}" if present else path)


def thread_page(answer: dict[str, Any]) -> ThreadPage:
    """A page of `GET /v1/threads`."""
    threads = answer.get("threads")
    if not isinstance(threads, list):
        raise ProtocolError("the answer holds no threads")
    return ThreadPage([thread_of(thread) for thread in threads], answer.get("next_cursor"))


def thread_or_none(answer: dict[str, Any]) -> Thread | None:
    """The thread of `threads/get`; absent only when it does not exist."""
    found = answer.get("thread")
    return None if found is None else thread_of(found)


def thread_of(found: object) -> Thread:
    """A thread of an answer. A server that knows no metadata sends none."""
    thread = record(Thread, found)
    text: Any = thread.metadata or b"{}"  # as the answer has it: JSON in bytes
    preview = None if thread.preview is None else _preview_of(thread.preview)
    ttl = None if thread.ttl is None else record(ThreadTtl, thread.ttl)
    try:
        return replace(thread, metadata=json.loads(text), preview=preview, ttl=ttl)
    except (TypeError, ValueError) as error:
        raise ProtocolError("the metadata of a thread is no JSON") from error


def _preview_of(found: object) -> ThreadPreview:
    preview = record(ThreadPreview, found)
    message, todos = preview.last_message, preview.todos
    return replace(
        preview,
        last_message=None if message is None else record(PreviewMessage, message),
        todos=None if todos is None else record(PreviewTodos, todos),
    )


def storage_or_none(answer: dict[str, Any]) -> ThreadStorage | None:
    """The sizes of `GET /v1/threads/storage`; absent only when there is no such thread."""
    found = answer.get("storage")
    if found is None:
        return None
    channels = found.get("channels") if isinstance(found, dict) else None
    if not isinstance(channels, list):
        raise ProtocolError("the answer holds no channels")
    listed = [record(ChannelStorage, channel) for channel in channels]
    return record(ThreadStorage, {**found, "channels": listed})


def fork_body(
    source: str, target: str, checkpoint_id: str, checkpoint_ns: str | None
) -> dict[str, Any]:
    """The body of a fork."""
    return {
        "source": source,
        "target": target,
        "checkpoint_id": checkpoint_id,
        "checkpoint_ns": checkpoint_ns,
    }


def checkpoints_of(answer: Mapping[str, Any]) -> int:
    """How many checkpoints a fork has."""
    found = answer.get("checkpoints")
    if not isinstance(found, int):
        raise ProtocolError("the answer does not say how many checkpoints there are")
    return found


def rewind_body(
    thread_id: str, checkpoint_id: str, checkpoint_ns: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """The body of a rewind."""
    place = {"thread_id": thread_id, "checkpoint_id": checkpoint_id, "checkpoint_ns": checkpoint_ns}
    return {**place, **options}


def lease_body(
    thread_id: str, holder: str, *, fence: int | None = None, ttl_seconds: float | None = None
) -> dict[str, Any]:
    """The body of the three lease calls."""
    return {"thread_id": thread_id, "holder": holder, "fence": fence, "ttl_seconds": ttl_seconds}
