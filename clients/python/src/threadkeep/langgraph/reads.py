"""The reads of a saver as plans: a body to send, and what the answer means.

A plan is used by the blocking and by the asynchronous method alike; it does no I/O itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde.base import SerializerProtocol

from threadkeep import retention
from threadkeep.errors import InvalidError, ProtocolError
from threadkeep.langgraph import history
from threadkeep.langgraph.decode import View, json_of, loaded, reading_answer
from threadkeep.langgraph.encode import Target, exact, target_of, thread_id_of
from threadkeep.langgraph.history import Chain, ChannelHistory, Key
from threadkeep.langgraph.memory import Memory, ReadMark
from threadkeep.retention import Age


class Get:
    """`get_tuple`: the checkpoint, and with it the histories that are asked for next."""

    path = "/v1/checkpoints/get"

    def __init__(self, memory: Memory, target: Target) -> None:
        self._memory = memory
        self.target = target
        self._walk = _Walk(memory, target)
        self.body = {**self._walk.body}
        if channels := memory.channels(target.thread_id):
            self.body["history_channels"] = channels

    def view(self, answer: dict[str, Any]) -> View | None:
        """None when there is no such checkpoint, which only a whole answer can say."""
        thread_id = self.target.thread_id
        with reading_answer():
            channels = frozenset(answer["history_channels"])
            raw = answer.get("checkpoint")
            generation = answer.get("generation")
            view = None if raw is None else View(raw)
            nodes = answer["chain"]
        self._memory.learn(thread_id, generation)
        if view is None:
            self._memory.drop_answers(thread_id)
            return None
        self._memory.seen(thread_id, [(view.checkpoint_ns, view.checkpoint_id)])
        with reading_answer():
            targets = {
                (view.checkpoint_ns, view.checkpoint_id): history.Target(
                    view.parent_id, history.bases_of(view.raw.get("bases") or ()), channels
                )
            }
            self._walk.keep(nodes, targets, answer)
        return view


class History:
    """`get_delta_channel_history`: from memory while that holds, else one request."""

    path = "/v1/checkpoints/history"

    def __init__(self, memory: Memory, target: Target, channels: Sequence[str]) -> None:
        self._memory = memory
        self._target = target
        self._channels = list(dict.fromkeys(channels))

    def remembered(self) -> dict[str, ChannelHistory] | None:
        """The histories, when the last read of this checkpoint brought them along."""
        if not self._channels:
            return {}
        thread_id, checkpoint_ns, checkpoint_id = self._target
        self._memory.asked(thread_id, self._channels)
        if checkpoint_id is None:
            return None
        key = (checkpoint_ns, checkpoint_id)
        chain = self._memory.answer(thread_id, key, self._channels)
        return None if chain is None else self._read(chain, key)

    def body(self) -> dict[str, Any]:
        """The request for what is not remembered."""
        self._walk = _Walk(self._memory, self._target)
        return {**self._walk.body, "channels": self._channels}

    def histories(self, answer: dict[str, Any]) -> dict[str, ChannelHistory]:
        """The histories of an answer; all are empty when the checkpoint does not exist."""
        with reading_answer():
            nodes, bases = answer["chain"], answer["bases"]
            checkpoint_id = answer.get("checkpoint_id")
            if checkpoint_id is None:
                self._memory.drop_answers(self._target.thread_id)
                return {channel: ChannelHistory(None, []) for channel in self._channels}
            key = (self._target.checkpoint_ns, checkpoint_id)
            parent_id = answer.get("parent_checkpoint_id")
            channels = frozenset(self._channels)
            targets = {key: history.Target(parent_id, history.bases_of(bases), channels)}
            return self._read(self._walk.keep(nodes, targets, answer), key)

    def _read(self, chain: Chain, key: Key) -> dict[str, ChannelHistory]:
        return {name: history.history_in(chain, key, name) for name in self._channels}


class List:
    """`list`: page after page, until there is no more or the limit is reached."""

    path = "/v1/checkpoints/list"

    def __init__(
        self,
        memory: Memory,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> None:
        if limit is not None and limit < 0:
            raise InvalidError("limit must not be negative", field="limit", limit=0)
        self._memory = memory
        self._left = limit
        self._thread_id: str | None = None
        self._body: dict[str, Any] | None = {}
        body: dict[str, Any] = self._body if self._body is not None else {}
        if config is not None:
            target = target_of(config)
            self._thread_id = body["thread_id"] = target.thread_id
            checkpoint_ns = (config.get("configurable") or {}).get("checkpoint_ns")
            if checkpoint_ns is not None:
                body["checkpoint_ns"] = checkpoint_ns
            if target.checkpoint_id is not None:
                body["checkpoint_id"] = target.checkpoint_id
            if channels := memory.channels(target.thread_id):
                body["history_channels"] = channels
        bound = (before.get("configurable") or {}).get("checkpoint_id") if before else None
        if bound:
            body["before"] = str(bound)
        if filter:
            body["filter"] = exact(filter, "filter")
        if limit is not None:
            # The same in every page, as the protocol wants; the last page is cut here.
            body["limit"] = limit

    def next_body(self) -> dict[str, Any] | None:
        """The request for the next page, None after the last."""
        if self._body is None or self._left == 0:
            return None
        if self._thread_id is not None:
            self._mark = self._memory.begin_read(self._thread_id)
        return self._body

    def views(self, answer: dict[str, Any]) -> list[View]:
        """The checkpoints of a page."""
        with reading_answer():
            views = [View(raw) for raw in answer["checkpoints"]]
            if self._thread_id is not None and views:
                keys = [(view.checkpoint_ns, view.checkpoint_id) for view in views]
                self._memory.seen(self._thread_id, keys)
                self._keep(self._thread_id, views, answer)
            cursor = answer.get("next_cursor")
        if cursor is not None and self._body is not None:
            if cursor == self._body.get("cursor"):
                raise ProtocolError("the server gave the same page cursor twice")
            self._body = {**self._body, "cursor": cursor}
        else:
            self._body = None
        if self._left is not None:
            views = views[: self._left]
            self._left -= len(views)
        return views

    def _keep(self, thread_id: str, views: list[View], answer: dict[str, Any]) -> None:
        """Remember the histories of a page."""
        asked = frozenset(answer["history_channels"])
        if not asked:
            return
        requested = (self._body or {}).get("history_channels", ())
        nodes = [(raw["checkpoint_ns"], history.node_of(raw)) for raw in answer["chain"]]
        targets = {
            (view.checkpoint_ns, view.checkpoint_id): history.Target(
                view.parent_id,
                history.bases_of(view.raw.get("bases") or ()),
                asked & _channels_answered(view, requested),
            )
            for view in views
        }
        self._memory.keep_page(thread_id, history.chain_of(nodes, targets), self._mark)


def _channels_answered(view: View, requested: Iterable[str]) -> frozenset[str]:
    """The channels whose history a list brings along for one of its checkpoints."""
    counters = json_of(view.raw["metadata"]).get("counters_since_delta_snapshot") or {}
    valued = {value["channel"] for value in view.raw["values"]}
    return frozenset(counters).union(requested) - valued


class _Walk:
    """A read that walks one chain: offers the chain it holds, and joins the difference to it."""

    def __init__(self, memory: Memory, target: Target) -> None:
        self._memory = memory
        self._target = target
        self._mark: ReadMark = memory.begin_read(target.thread_id)
        self._offered = memory.offer(target.thread_id, target.checkpoint_ns)
        self.body: dict[str, Any] = {
            "thread_id": target.thread_id,
            "checkpoint_ns": target.checkpoint_ns,
        }
        if target.checkpoint_id is not None:
            self.body["checkpoint_id"] = target.checkpoint_id
        offered = self._offered
        if offered is not None and offered.first_id and offered.digest:
            self.body["have"] = {"checkpoint_id": offered.first_id, "digest": offered.digest}

    def keep(
        self,
        raw_nodes: Sequence[dict[str, Any]],
        targets: dict[Key, history.Target],
        answer: dict[str, Any],
    ) -> Chain:
        """The whole chain of an answer, remembered for the next read."""
        checkpoint_ns = self._target.checkpoint_ns
        nodes = [(checkpoint_ns, history.node_of(raw)) for raw in raw_nodes]
        continues_at = answer.get("continues_at")
        if continues_at is not None:
            offered = self._offered
            if "have" not in self.body or offered is None or offered.first_id != continues_at:
                raise ProtocolError("the chain continues at a checkpoint that was not offered")
            nodes += [(checkpoint_ns, node) for node in offered.nodes.values()]
        chain = history.chain_of(nodes, targets, answer.get("digest"))
        self._memory.keep(self._target.thread_id, checkpoint_ns, chain, self._mark)
        return chain


def drop_histories(answer: dict[str, Any]) -> None:
    """Take out of an answer what it brings along beside its checkpoints."""
    answer.update(chain=[], history_channels=[])
    for name in ("digest", "continues_at"):
        answer.pop(name, None)
    single = answer.get("checkpoint")
    for view in [single] if single else answer.get("checkpoints") or ():
        view["bases"] = []


def loaded_history(
    serde: SerializerProtocol, channel: str, known: ChannelHistory
) -> DeltaChannelHistory:
    """The history of a channel with its values deserialized anew."""
    result: DeltaChannelHistory = {
        "writes": [
            (write.task_id, channel, loaded(serde, write.tag, write.data, channel))
            for write in known.writes
        ]
    }
    if known.seed is not None:
        result["seed"] = loaded(serde, *known.seed, channel)
    return result


def delete_for_runs_body(run_ids: Sequence[str]) -> dict[str, Any] | None:
    """None when there is nothing to delete."""
    if isinstance(run_ids, str | bytes):
        raise TypeError("run_ids must be a sequence of ids, not one string")
    ids = [str(run_id) for run_id in run_ids]
    return {"run_ids": ids} if ids else None


def prune_body(
    thread_ids: Sequence[str],
    strategy: str,
    *,
    keep_last: int | None = None,
    older_than: Age | None = None,
    keep_interrupted: bool = False,
    dry_run: bool = False,
) -> dict[str, Any]:
    """The body of a prune; `strategy` is LangGraph's."""
    if isinstance(thread_ids, str | bytes):
        raise TypeError("thread_ids must be a sequence of ids, not one string")
    if strategy not in ("keep_latest", "delete"):
        raise ValueError(f"Unknown prune strategy: {strategy!r}")
    return retention.prune_body(
        [thread_id_of(thread_id) for thread_id in thread_ids],
        strategy=strategy,
        keep_last=keep_last,
        older_than=older_than,
        keep_interrupted=keep_interrupted,
        dry_run=dry_run,
    )


def delete_body(thread_id: str, fence: int | None) -> dict[str, Any]:
    """The body of the deletion of a thread, with the fence of the lease that is held on it."""
    return {"thread_id": thread_id} if fence is None else {"thread_id": thread_id, "fence": fence}


class _Forgets(Protocol):
    def forget(self, thread_id: str) -> None: ...


@contextmanager
def forgetting(link: _Forgets, thread_ids: Sequence[str]) -> Iterator[None]:
    """Forget threads before a request that replaces them, and what was read meanwhile after it."""
    for thread_id in thread_ids:
        link.forget(thread_id)
    try:
        yield
    finally:
        for thread_id in thread_ids:
            link.forget(thread_id)


@contextmanager
def deleting_somewhere(memory: Memory) -> Iterator[None]:
    """Drop every remembered answer around a request whose extent only the server knows."""
    memory.drop_all_answers()
    try:
        yield
    finally:
        memory.drop_all_answers()
