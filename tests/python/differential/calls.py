"""The two ways to call a saver, and the random calls that every test of this folder is made of."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from differential import values as v
from differential.exact import address, shown
from differential.model import Key, ModelSaver
from equivalence.differences import same
from equivalence.raw import checkpoint, config

NUMBERS = itertools.count()


class Caller:
    """A saver called sync or async, whichever the test draws."""

    def __init__(self, saver: Any):
        self.saver = saver

    def __call__(
        self, runner: asyncio.Runner | None, method: str, *arguments: Any, **more: Any
    ) -> Any:
        if runner is None:
            found = getattr(self.saver, method)(*arguments, **more)
            return list(found) if method == "list" else found
        found = getattr(self.saver, f"a{method}")(*arguments, **more)
        return runner.run(_collect(found) if method == "list" else found)


async def _collect(found: Any) -> list[Any]:
    return [one async for one in found]


class Calls:
    """Random calls on the model and on other savers; each read must answer the same on all.

    With the in-memory saver beside them the calls are `strict`: those that it answers as the contract says.
    """

    def __init__(self, product: Any, memory: Any = None):
        self.model = ModelSaver()
        self.savers = [Caller(saver) for saver in (product, memory) if saver is not None]
        self.strict = memory is not None
        prefix = f"x{next(NUMBERS)}"
        self.threads = [f"{prefix} a", f"{prefix}/b%2F:ü"]
        self.version = 0
        self.kind = "str"
        self.loop = asyncio.Runner()
        # After a removal only delta channels have a history that is promised.
        self.removed = False

    def run(self, data: Any, steps: int) -> None:
        """Make random calls, then compare everything there is."""
        self.kind = data.draw(
            st.sampled_from(["str", "int"] + ["float"] * (not self.strict)), label="versions"
        )
        weighted = [call for call, weight in self.calls() for _ in range(weight)]
        try:
            self.take_a_turn(data)
            for _ in range(steps):
                data.draw(st.sampled_from(weighted), label="call")(data)
            self.compare_everything()
        finally:
            for thread in self.threads:
                self._everywhere(None, "delete_thread", thread)
            self.loop.close()

    def calls(self) -> list[tuple[Callable[[Any], None], int]]:
        """The calls and how often each is made compared with the others."""
        reads = [
            (self.get, 2),
            (self.list_a_namespace, 2),
            (self.list_a_thread, 1),
            (self.delta_history, 2),
        ]
        writes = [
            (self.take_a_turn, 3),
            (self.put, 4),
            (self.put_writes, 4),
            (self.put_a_copy_beside, 1),
        ]
        return [*reads, *writes, (self.delete_thread, 1)] + [(self.put_again, 1)] * (
            not self.strict
        )

    def _everywhere(
        self, runner: asyncio.Runner | None, method: str, *arguments: Any, **more: Any
    ) -> None:
        for caller in self.savers:
            caller(runner, method, *arguments, **more)
        getattr(self.model, method)(*arguments, **more)

    def _runner(self, data: Any) -> asyncio.Runner | None:
        return self.loop if data.draw(st.booleans(), label="async") else None

    def _place(self, data: Any) -> tuple[str, str]:
        place = data.draw(st.sampled_from([0, 0, 0, 0, *range(1, 8)]), label="place")
        return self.threads[place % 2], v.NAMESPACES[place // 2]

    def _ids(self, thread: str, ns: str) -> list[str]:
        return sorted(key[2] for key in self.model.rows if key[:2] == (thread, ns))

    def _any_row(self, data: Any) -> Key:
        return data.draw(st.sampled_from(sorted(self.model.rows)), label="row")

    def _next_version(self, data: Any, current: Any, kind: str) -> Any:
        """A version after the current one: never used before when strict, else small enough to be used again."""
        if self.strict:
            self.version += 1
            return self.version if kind == "int" else f"{self.version:032}.0.5"
        number = int(str(current or 0).split(".")[0]) + data.draw(st.integers(1, 2))
        return {"int": number, "float": number + 0.5, "str": f"{number:032}.0.5"}[kind]

    # Writing

    def _put(
        self,
        data: Any,
        thread: str,
        ns: str,
        checkpoint_id: str,
        parent: str | None,
        *,
        renew: bool = False,
    ) -> None:
        row = self.model.rows.get((thread, ns, parent or ""))
        before = {} if renew or row is None else v.json_versions(row.skeleton)
        versions, new, held = {}, {}, {}
        channels = data.draw(st.sets(st.sampled_from(v.PLAIN + v.DELTA)), label="channels")
        # A removal keeps the histories of the delta channels that a checkpoint knows, so there it knows all.
        for channel in sorted(channels if self.strict else channels.union(v.DELTA)):
            if channel in before and data.draw(st.booleans(), label=f"carry {channel}"):
                versions[channel] = before[channel]
                continue
            versions[channel] = new[channel] = self._next_version(
                data, before.get(channel), self.kind
            )
            if data.draw(st.booleans(), label=f"{channel} has a value"):
                strategy = v.snapshots if channel in v.DELTA else v.values
                held[channel] = data.draw(strategy, label=channel)
        meta = data.draw(v.metadata(in_64_bits=self.strict), label="metadata")
        if counters := {name: [1, 2] for name in v.DELTA if name in versions and name not in held}:
            meta["counters_since_delta_snapshot"] = counters
        if ":" in ns and data.draw(st.booleans(), label="names its root"):
            meta["parents"] = {"": data.draw(st.sampled_from([*self._ids(thread, ""), "unsaved"]))}
        old = (
            not self.strict and self.kind == "int" and data.draw(st.integers(0, 4), label="v") == 0
        )
        made = checkpoint(checkpoint_id, versions, held, v=3 if old else 4)
        made["versions_seen"] = {"node": dict(before)}
        self._everywhere(self._runner(data), "put", config(thread, parent, ns), made, meta, new)

    def take_a_turn(self, data: Any) -> None:
        """What a graph does: checkpoints one on the other, each with the writes that lead to the next."""
        (thread, ns), runner = self._place(data), self._runner(data)
        parent = data.draw(st.sampled_from([None, *self._ids(thread, ns)][-3:]), label="parent")
        run = data.draw(st.sampled_from(v.RUNS), label="run")
        for step in range(data.draw(st.integers(2, 4), label="length")):
            self.version += 1
            version = self.version if self.kind == "int" else f"{self.version:032}.0.5"
            row = self.model.rows.get((thread, ns, parent or ""))
            versions = {
                **(v.json_versions(row.skeleton) if row else {}),
                "d1": version,
                "log": version,
            }
            versions.update({} if self.strict else {"d2": version})
            meta = {"source": "loop", "step": step, "parents": {}, "run_id": run}
            meta["counters_since_delta_snapshot"] = {
                name: [1, 2] for name in v.DELTA if name in versions
            }
            made = checkpoint(f"t{self.version:04}", versions, {"log": [run, step]})
            new = {name: version for name in versions if versions[name] == version}
            self._everywhere(runner, "put", config(thread, parent, ns), made, meta, new)
            parent = made["id"]
            writes = [("d1", [run, step]), ("d2", step), ("log", step)]
            self._everywhere(
                runner, "put_writes", config(thread, parent, ns), writes, f"task {step}", "~1"
            )

    def put(self, data: Any) -> None:
        thread, ns = self._place(data)
        known = self._ids(thread, ns)
        checkpoint_id = data.draw(
            v.checkpoint_ids.filter(lambda text: text not in known), label="id"
        )
        parents = [None, *known, *known, "never put"]
        if not self.strict:
            parents.append(checkpoint_id)
        self._put(
            data, thread, ns, checkpoint_id, data.draw(st.sampled_from(parents), label="parent")
        )

    def put_again(self, data: Any) -> None:
        """Another checkpoint under an id that exists replaces all of it."""
        if not self.model.rows or self.removed:
            return
        thread, ns, checkpoint_id = self._any_row(data)
        parents = [None, checkpoint_id, "never put", *self._ids(thread, ns)]
        parent = data.draw(st.sampled_from(parents), label="parent")
        if not self._leads_to(thread, ns, parent, checkpoint_id):
            self._put(data, thread, ns, checkpoint_id, parent, renew=True)

    def _leads_to(self, thread: str, ns: str, start: str | None, end: str) -> bool:
        """Whether the way from `start` to its root passes `end`; a parent of its own is kept out by the savers."""
        while start is not None and start != end:
            row = self.model.rows.get((thread, ns, start))
            start = row.parent if row else None
            if start == end:
                return True
        return False

    def put_a_copy_beside(self, data: Any) -> None:
        """What `as_node="__copy__"` does: nothing is new, all values are those of a sibling."""
        if not self.model.rows:
            return
        thread, ns, copied = self._any_row(data)
        made_id = data.draw(v.checkpoint_ids.filter(lambda text: text not in self._ids(thread, ns)))
        found = self.model.get_tuple(config(thread, copied, ns))
        row = self.model.rows[thread, ns, copied]
        if row.bases or row.sends or "__pregel_tasks" in found.checkpoint["channel_versions"]:
            return
        meta = {**found.metadata, "source": "fork"}
        made = {**found.checkpoint, "id": made_id}
        self._everywhere(self._runner(data), "put", config(thread, row.parent, ns), made, meta, {})

    def put_writes(self, data: Any) -> None:
        thread, ns = self._place(data)
        early = data.draw(st.integers(0, 3), label="early") == 0
        known = self._ids(thread, ns)
        ids = v.checkpoint_ids if early or not known else st.sampled_from(known)
        channels = [*v.PLAIN, *v.DELTA, *v.DELTA, *v.SPECIAL, "__pregel_tasks", "__no_writes__"]
        writes = data.draw(
            st.lists(st.tuples(st.sampled_from(channels), v.values), max_size=4), label="writes"
        )
        task, path = data.draw(st.sampled_from(v.TASKS)), data.draw(st.sampled_from(v.PATHS))
        where = config(thread, data.draw(ids, label="id"), ns)
        self._everywhere(self._runner(data), "put_writes", where, writes, task, path)

    def delete_thread(self, data: Any) -> None:
        if data.draw(st.integers(0, 7), label="rarely") == 7:
            self._everywhere(
                self._runner(data), "delete_thread", data.draw(st.sampled_from(self.threads))
            )

    # Reading

    def get(self, data: Any) -> None:
        thread, ns = self._place(data)
        ids = st.sampled_from([None, "", "unknown", *self._ids(thread, ns)])
        where = config(thread, data.draw(ids, label="id"), ns)
        expected, runner = shown(self.model.get_tuple(where)), self._runner(data)
        for caller in self.savers:
            same(expected, shown(caller(runner, "get_tuple", where)))

    def list_a_namespace(self, data: Any) -> None:
        thread, ns = self._place(data)
        before = data.draw(
            st.none() | v.checkpoint_ids.map(lambda text: {"configurable": {"checkpoint_id": text}})
        )
        limit = data.draw(st.none() | st.integers(0, 3), label="limit")
        filter = data.draw(st.none() | v.filters(self.strict), label="filter")
        self._compare_lists(
            data, config(thread, None, ns), filter=filter, before=before, limit=limit
        )

    def list_a_thread(self, data: Any) -> None:
        limit = None if self.strict else data.draw(st.none() | st.integers(0, 5), label="limit")
        where = {"configurable": {"thread_id": data.draw(st.sampled_from(self.threads))}}
        self._compare_lists(data, where, limit=limit)

    def _promised(self, row: Any) -> list[str]:
        """The channels with a defined history: all, but after a removal delta channels without a value."""
        if not self.removed or row is None:
            return [*v.DELTA, "log", "nowhere"]
        return [name for name in v.DELTA if row.values[name][1][0] == "empty"]

    def _compare_lists(self, data: Any, where: Any, **more: Any) -> None:
        """Equal ids in equal order. Among checkpoints of one id in several namespaces any order is right."""
        runner = self._runner(data)
        expected = list(self.model.list(where, **more))
        rows = {
            address(one.config): shown(one)
            for one in self.model.list(where, **{**more, "limit": None})
        }
        for caller in self.savers:
            found = caller(runner, "list", where, **more)
            ids = [address(one.config)[2] for one in found]
            wanted = [address(one.config)[2] for one in expected]
            if caller is not self.savers[0]:
                ids, wanted = sorted(ids), sorted(wanted)
            same(wanted, ids)
            assert len({address(one.config) for one in found}) == len(found)
            for one in found:
                same(rows[address(one.config)], shown(one))

    def delta_history(self, data: Any) -> None:
        thread, ns = self._place(data)
        ids = st.sampled_from([None, "unknown", *self._ids(thread, ns)])
        checkpoint_id = data.draw(ids, label="id")
        where = config(thread, checkpoint_id, ns)
        target = checkpoint_id or self.model.latest(thread, ns) or ""
        channels = self._promised(self.model.rows.get((thread, ns, target)))
        asked = [name for name in channels if data.draw(st.booleans(), label=name)]
        runner = self._runner(data)
        expected = v.histories(self.model.get_delta_channel_history(config=where, channels=asked))
        for caller in self.savers:
            if data.draw(st.booleans(), label="get first"):
                caller(runner, "get_tuple", where)
            found = caller(runner, "get_delta_channel_history", config=where, channels=asked)
            same(expected, v.histories(found))

    def compare_everything(self) -> None:
        """Every checkpoint alone, every thread's list, every history of a delta channel."""
        for thread in self.threads:
            where = {"configurable": {"thread_id": thread}}
            expected = [shown(one) for one in self.model.list(where)]
            for caller in self.savers:
                found = map(shown, caller(self.loop, "list", where))
                same(by_address(expected), by_address(found))
        for thread, ns, checkpoint_id in self.model.rows:
            where = config(thread, checkpoint_id, ns)
            channels = self._promised(self.model.rows[thread, ns, checkpoint_id])
            told = v.histories(
                self.model.get_delta_channel_history(config=where, channels=channels)
            )
            one = shown(self.model.get_tuple(where))
            for caller in self.savers:
                same(one, shown(caller(None, "get_tuple", where)))
                found = caller(None, "get_delta_channel_history", config=where, channels=channels)
                same(told, v.histories(found))


def by_address(tuples: Any) -> list[Any]:
    return sorted(tuples, key=lambda one: one["config"])
