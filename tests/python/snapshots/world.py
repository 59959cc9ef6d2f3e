"""One tenant's threads, items, files and sessions: changes to them, and all of what they show."""

from typing import Any

from threadkeep import Client
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore
from threadkeep.sessions import NewEntry
from threadkeep.snapshots import SessionName

from equivalence import graphs

THREADS = ("t", "..", "a/b ü")
NOTES, FILES = ("ann", "notes"), ("ann", "filesystem")
ROOT = ("ann",)
SESSION = SessionName("test", ("-a/b", "s 🎈"))
WHAT: dict[str, Any] = {"threads": THREADS, "namespaces": [ROOT], "sessions": [SESSION]}
"""All of it, for a snapshot."""


class World:
    """Everything of it is changed by `move`, and told by `shown`."""

    def __init__(self, url: str, api_key: str) -> None:
        self.client = Client(url, api_key=api_key)
        self.store = ThreadkeepStore(url, api_key=api_key)
        self._access = (url, api_key)

    def move(self, step: str) -> None:
        """One turn of each thread, one item, file and entry new, and one of each changed."""
        for thread in THREADS:
            self.graph().invoke({"log": [step]}, config(thread))
        self.store.put(NOTES, step, {"step": step, "odd": "nul \0, lone \ud800"})
        self.store.put(NOTES, "same", {"last": step})
        self.client.files.write(FILES, f"/{step}.md", f"file of {step}\n")
        self.client.files.write(FILES, "/same.md", f"{step}\n" * 500)
        self.client.sessions.append(*SESSION, [NewEntry({"step": step})])
        self.client.sessions.put_document(*SESSION, "NOTES.md", step)

    def empty(self) -> None:
        """Remove all of it."""
        for thread in THREADS:
            self.saver().delete_thread(thread)
        for item in self.store.search(ROOT, limit=1_000):
            self.store.delete(item.namespace, item.key)
        self.client.sessions.delete(*SESSION)

    def take(self, snapshot_id: str | None = None, **more: Any) -> Any:
        """A snapshot of all of it."""
        return self.client.snapshots.take(snapshot_id, **WHAT, **more)

    def graph(self) -> Any:
        """A graph with a delta channel over a saver that remembers nothing of others' calls."""
        return graphs.chain("delta", self.saver())

    def saver(self, **more: Any) -> ThreadkeepSaver:
        url, api_key = self._access
        return ThreadkeepSaver(url, api_key=api_key, **more)

    def shown(self) -> dict[str, Any]:
        """Plain data that is equal where the same is there."""
        threads = {thread: self.thread(thread) for thread in THREADS}
        return {
            "threads": threads,
            "namespaces": self.items(ROOT),
            "sessions": self.session(SESSION),
        }

    def items(self, root: tuple[str, ...]) -> list[Any]:
        """All items below."""
        found = self.store.search(root, limit=1_000)
        return sorted(((item.namespace, item.key, item.value) for item in found), key=_place)

    def session(self, name: SessionName) -> dict[str, Any]:
        """Entries and the document. What comes back has other numbers, still without a gap."""
        log = self.client.sessions.load(*name)
        if log and log.entries:
            numbers = [entry.seq for entry in log.entries]
            assert numbers == list(range(log.head - len(numbers) + 1, log.head + 1))
        document = self.client.sessions.get_document(*name, "NOTES.md")
        return {
            "entries": log and [entry.data for entry in log.entries],
            "document": document and document.content,
        }

    def thread(self, thread_id: str) -> list[Any]:
        return shown(self.graph(), thread_id)


def _place(found: tuple[Any, ...]) -> Any:
    return found[:2]


def config(thread_id: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread_id}}


def shown(graph: Any, thread_id: str) -> list[Any]:
    """State, whole history, and the checkpoints of all namespaces, without the thread's own id."""
    states = [graph.get_state(config(thread_id)), *graph.get_state_history(config(thread_id))]
    stored = graph.checkpointer.list(config(thread_id))
    return [_without(thread_id, one) for one in [*states, *stored]]


def _without(thread_id: str, value: Any) -> Any:
    if isinstance(value, str):
        return "<thread>" if value == thread_id else value
    if isinstance(value, dict):
        return {name: _without(thread_id, item) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (type(value).__name__, *(_without(thread_id, item) for item in value))
    if isinstance(value, list | tuple):
        return [_without(thread_id, item) for item in value]
    return value
