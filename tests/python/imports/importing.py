"""Runs `threadkeep import --from`, and compares what a saver tells with what the product tells after it."""

import json
import subprocess
import uuid
from typing import Any

from threadkeep.langgraph import ThreadkeepSaver

from equivalence.differences import same
from equivalence.driver import Driver
from equivalence.normalise import Normaliser
from support import settings
from support.server import Server, clean_environment

NOUNS = ("threads", "checkpoints", "writes", "items", "files")


class Tenant:
    """A tenant that nothing has used, and imports into it."""

    def __init__(self, server: Server):
        self.server = server
        self.name = f"t-{uuid.uuid4().hex[:12]}"
        (self.key,) = server.make_keys([self.name])

    def saver(self) -> ThreadkeepSaver:
        return ThreadkeepSaver(self.server.url, api_key=self.key)

    def command(self, source: str, *options: str) -> list[str]:
        named = ["--from", source, "--tenant", self.name, "--format", "json"]
        return [str(settings.BINARY), "import", *named, *options, *self.server.place.arguments()]

    def run(
        self, source: str, *options: str, **environment: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(source, *options),
            capture_output=True,
            text=True,
            cwd=self.server.place.folder,
            env=clean_environment() | environment,
            timeout=5 * settings.PATIENCE_SECONDS,
        )

    def imported(self, source: str, *options: str, **environment: str) -> dict[str, Any]:
        """Import without a failure, and what the summary says."""
        done = self.run(source, *options, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


def counted(report: dict[str, Any], what: str) -> dict[str, int]:
    """One column of a summary, of the nouns that have something in it."""
    return {noun: report[noun][what] for noun in NOUNS if report[noun][what]}


class Named(Driver):
    """A driver whose threads have a prefix, so that many scenarios fit into one database."""

    def __init__(self, saver: Any, mode: str, prefix: str):
        super().__init__(saver, mode)
        self.prefix = prefix

    def config(self, thread: str = "t", **more: Any) -> dict[str, Any]:
        return super().config(self._named(thread), **more)

    def raw(self, thread: str = "t") -> list[Any]:
        return super().raw(self._named(thread))

    def run(self, task: Any) -> Any:
        """Something asynchronous, on the loop of the graphs."""
        assert self._runner is not None
        return self._runner.run(task)

    def _named(self, thread: str) -> str:
        return thread if thread.startswith(self.prefix) else self.prefix + thread


class Exactly(Normaliser):
    """Plain data with every id and time as it is."""

    def text(self, value: str) -> str:
        return value

    def _message_id(self, message: Any) -> str:
        return message.id


def plain(one: Any) -> dict[str, Any]:
    exactly = Exactly()
    return {
        "config": exactly.config(one.config),
        "checkpoint": exactly(one.checkpoint),
        "metadata": exactly.metadata(one.metadata),
        "parent": exactly.config(one.parent_config),
        "writes": [exactly(list(write)) for write in one.pending_writes or []],
    }


def compare_thread(theirs: Any, ours: ThreadkeepSaver, thread: str) -> int:
    """Every checkpoint of a thread and every delta history, in all namespaces. How many there are."""
    everywhere = {"configurable": {"thread_id": thread}}
    expected, found = list(theirs.list(everywhere)), list(ours.list(everywhere))
    by_place = {"key": lambda one: tuple(Exactly().config(one.config).values())}
    same(
        [plain(one) for one in sorted(expected, **by_place)],
        [plain(one) for one in sorted(found, **by_place)],
    )
    for one in expected:
        versions, values = one.checkpoint["channel_versions"], one.checkpoint["channel_values"]
        counted_channels = (one.metadata or {}).get("counters_since_delta_snapshot", {})
        channels = [it for it in counted_channels if it in versions and it not in values]
        if not channels:
            continue
        ask = {"config": one.config, "channels": channels}
        histories = [saver.get_delta_channel_history(**ask) for saver in (theirs, ours)]
        same(*[Exactly()(dict(history)) for history in histories])
    for ns in {one.config["configurable"]["checkpoint_ns"] for one in expected}:
        latest = {"configurable": {"thread_id": thread, "checkpoint_ns": ns}}
        same(plain(theirs.get_tuple(latest)), plain(ours.get_tuple(latest)))
    return len(expected)
