"""What threadkeep is asked to store by real runs: graphs and deep agents with scripted models.

A recording saver keeps every skeleton, metadata, value and write as the client sends them; of a
list that grows only the new end. The runs write blanks, and each sample gets prose, ids and random
numbers of its own in their place: what comes twice in the samples is structure, and nothing else.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypedDict

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import get_serializable_checkpoint_metadata
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from messages import answer, call, identifier, javascript, unique
from prose import Prose, Words
from workloads import Scripted

KINDS = ("skeleton", "metadata", "write", "value", "chunk")
SMALL_BYTES_MAX = 1_024
CHUNK_BYTES = (512, 6_000)
FILES = ("/notes.md", "/plan.md", "/src/app.py", "/report.md", "/workspace/data.json")
QUESTIONS = 3
BLANK = "\x7f"
# Blanks, ids, ids of tool calls, the digits behind the point of a version, times.
RANDOM = re.compile(
    rb"\x7f+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\.0\.)\d{12,17}"
    rb"|(?:(?<=call_)|(?<=toolu_01))[A-Za-z0-9]{24}"
    rb"|(?<=20\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+"
)


class Sample(NamedTuple):
    kind: str
    data: bytes


class Recorder(InMemorySaver):
    """Keeps what a run stores."""

    def __init__(self) -> None:
        super().__init__()
        self.samples: list[Sample] = []
        self._last: dict[tuple[str, str], bytes] = {}

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        skeleton = {key: value for key, value in checkpoint.items() if key != "channel_values"}
        self._keep("skeleton", as_json(skeleton))
        self._keep("metadata", as_json(get_serializable_checkpoint_metadata(config, metadata)))
        for channel in new_versions:
            if channel in checkpoint["channel_values"]:
                data = self.serde.dumps_typed(checkpoint["channel_values"][channel])[1]
                self._keep_new(config, channel, data)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        for _, value in writes:
            self._keep("write", self.serde.dumps_typed(value)[1])
        super().put_writes(config, writes, task_id, task_path)

    def _keep_new(self, config: Any, channel: str, data: bytes) -> None:
        """Keep what this version has and the one before had not."""
        where = (str(config["configurable"].get("checkpoint_ns")), channel)
        before, self._last[where] = self._last.get(where, b""), data
        self._keep("value", data[same_start(before, data) :])

    def _keep(self, kind: str, data: bytes) -> None:
        self.samples.append(Sample(kind, data))


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def same_start(before: bytes, data: bytes) -> int:
    """How far two versions of a value agree. The first bytes may hold a count: they are skipped."""
    head, end = min(3, len(before), len(data)), min(len(before), len(data))
    while head < end and before[head] == data[head]:
        head += 1
    return head if head > CHUNK_BYTES[0] else 0


class Blanks:
    """Text for the runs: as long as wanted, and one character throughout."""

    @staticmethod
    def take(length: int) -> str:
        return BLANK * length


def filled(sample: Sample, prose: Prose | Words, chosen: random.Random) -> bytes:
    """The sample with prose, ids and random numbers of its own, the same where they were the same.

    Lengths stay, because MessagePack has written them down; JSON has its quotes and line ends
    escaped.
    """
    is_json = sample.data[:1] in b"{["

    def fill(match: re.Match[bytes]) -> bytes:
        if match[0][:1] != BLANK.encode():
            return known.setdefault(match[0], other(match[0]))
        text = prose.take(len(match[0]))
        return (json.dumps(text)[1:-1] if is_json else text).encode()

    def other(found: bytes) -> bytes:
        if found.isalnum() and not found.isdigit():
            return identifier(chosen, len(found)).encode()
        digits = "0123456789" if b":" in found or found.isdigit() else "0123456789abcdef"
        return re.sub(rb"[0-9a-f]", lambda _: chosen.choice(digits).encode(), found)

    known: dict[bytes, bytes] = {}
    return RANDOM.sub(fill, sample.data)


def pieces(kind: str, data: bytes, chosen: random.Random) -> Iterator[Sample]:
    """The data as it is when small, else cut like the chunks of a large value."""
    at = 0
    while len(data) - at > SMALL_BYTES_MAX and kind not in ("skeleton", "metadata"):
        end = at + chosen.randint(*CHUNK_BYTES)
        yield Sample("chunk", data[at:end])
        at = end
    if at < len(data):
        yield Sample("chunk" if at else kind, data[at:])


def config(chosen: random.Random, number: int) -> dict[str, Any]:
    """A caller's config; every second one is like that of a platform, with ids of its own."""
    more: dict[str, Any] = {}
    if number % 2:
        more = {key: unique(chosen) for key in ("run_id", "assistant_id", "user_id")}
        more |= {"graph_id": "agent", "langgraph_auth_user_id": unique(chosen)}
    return {"configurable": {"thread_id": unique(chosen), **more}, "recursion_limit": 1_000}


def chat(prose: Blanks, chosen: random.Random, saver: Recorder, number: int) -> None:
    """A graph of one node on add_messages."""

    def reply(_: MessagesState) -> dict[str, Any]:
        return {"messages": [answer(chosen, prose.take(chosen.randint(60, 1_500)), [])]}

    builder = StateGraph(MessagesState)
    builder.add_node(chosen.choice(("chatbot", "answer", "model", "agent")), reply)
    builder.add_edge(START, next(iter(builder.nodes)))
    graph, where = builder.compile(checkpointer=saver), config(chosen, number)
    for _ in range(QUESTIONS):
        graph.invoke({"messages": [HumanMessage(prose.take(chosen.randint(20, 300)))]}, where)


def tools(prose: Blanks, chosen: random.Random, saver: Recorder, number: int) -> None:
    """An agent with tools whose results are prose, code or JSON."""
    agent = create_agent(
        _script(prose, chosen, ("search", "fetch")),
        [_search(prose, chosen), _fetch(prose, chosen)],
        checkpointer=saver,
    )
    _ask(agent, prose, chosen, number)


def deep(prose: Blanks, chosen: random.Random, saver: Recorder, number: int) -> None:
    """A deep agent with a todo list, files and a sub-agent."""
    names = ("search", "write_todos", "write_file", "read_file", "edit_file", "ls", "task")
    agent = create_deep_agent(
        _script(prose, chosen, names), [_search(prose, chosen)], checkpointer=saver
    )
    _ask(agent, prose, chosen, number)


def paused(prose: Blanks, chosen: random.Random, saver: Recorder, number: int) -> None:
    """A workflow with plain fields that stops for a person and goes on with the answer."""

    class State(TypedDict, total=False):
        query: str
        documents: list[dict[str, Any]]
        approved: bool
        summary: str

    def retrieve(state: State) -> State:
        made = [
            {"page_content": prose.take(400), "metadata": {"source": f"{at}.md", "score": 0.5}}
            for at in range(2)
        ]
        return {"documents": made}

    def review(state: State) -> State:
        return {"approved": bool(interrupt({"question": prose.take(80), "options": ["yes", "no"]}))}

    def summarize(state: State) -> State:
        return {"summary": prose.take(500)}

    builder = StateGraph(State)
    for step in (retrieve, review, summarize):
        builder.add_node(step.__name__, step)
    for before, after in ((START, "retrieve"), ("retrieve", "review"), ("review", "summarize")):
        builder.add_edge(before, after)
    graph, where = builder.compile(checkpointer=saver), config(chosen, number)
    graph.invoke({"query": prose.take(60)}, where)
    graph.invoke(Command(resume=True), where)


RUNS: tuple[Callable[[Blanks, random.Random, Recorder, int], None], ...] = (
    chat,
    tools,
    deep,
    paused,
)


def _ask(agent: Any, prose: Prose | Words, chosen: random.Random, number: int) -> None:
    where = config(chosen, number)
    for _ in range(QUESTIONS):
        agent.invoke({"messages": [("user", prose.take(chosen.randint(30, 300)))]}, where)


def _script(prose: Blanks, chosen: random.Random, names: tuple[str, ...]) -> Scripted:
    def arguments(name: str) -> dict[str, Any]:
        path = chosen.choice(FILES)
        return {
            "search": lambda: {"query": prose.take(40)},
            "fetch": lambda: {"url": f"https://example.com/{identifier(chosen, 8)}"},
            "write_todos": lambda: {
                "todos": [
                    {"content": prose.take(50), "status": status}
                    for status in ("completed", "in_progress", "pending")
                ]
            },
            "write_file": lambda: {"file_path": path, "content": prose.take(900)},
            "read_file": lambda: {"file_path": path, "offset": 0, "limit": 100},
            "edit_file": lambda: {
                "file_path": path,
                "old_string": prose.take(60),
                "new_string": prose.take(60),
            },
            "ls": lambda: {"path": "/"},
            "task": lambda: {"description": prose.take(120), "subagent_type": "general-purpose"},
        }[name]()

    def one(final: bool) -> AIMessage:
        if final:
            return answer(chosen, prose.take(chosen.randint(100, 900)), [])
        used = chosen.sample(names, k=min(len(names), chosen.choice((1, 1, 1, 2, 3))))
        text = chosen.choice(("", prose.take(80)))
        return answer(chosen, text, [call(chosen, name, arguments(name)) for name in used])

    return Endless(make=one, chosen=chosen)


class Endless(Scripted):
    """Calls tools a few times, then answers; so does a sub-agent that shares the model."""

    make: Any
    chosen: Any

    def _generate(self, messages: Any, *arguments: Any, **more: Any) -> Any:
        self.script.append(self.make(self.chosen.random() < 0.3))
        return super()._generate(messages, *arguments, **more)


def _search(prose: Blanks, chosen: random.Random) -> Callable[..., Any]:
    def search(query: str) -> str:
        """Look something up."""
        return prose.take(chosen.randint(300, 3_000))

    return search


def _fetch(prose: Blanks, chosen: random.Random) -> Callable[..., Any]:
    def fetch(url: str) -> dict[str, Any]:
        """Get a page."""
        rows = [{"title": prose.take(50), "url": url, "snippet": prose.take(200)} for _ in "ab"]
        return {"results": rows, "total": len(rows), "status": "ok"}

    return fetch


def from_javascript(prose: Blanks, chosen: random.Random) -> list[Sample]:
    """A turn of an agent in JavaScript: integer versions, everything as JSON text."""
    step, found = chosen.randrange(1, 400), []
    said = [javascript("HumanMessage", chosen, prose.take(chosen.randint(20, 300)))]
    for _ in range(3):
        made = call(chosen, "search", {"query": prose.take(40)})
        said.append(javascript("AIMessage", chosen, "", tool_calls=[made]))
        result = prose.take(chosen.randint(300, 3_000))
        more = {"tool_call_id": made["id"], "name": made["name"]}
        said.append(javascript("ToolMessage", chosen, result, **more))
    said.append(javascript("AIMessage", chosen, prose.take(chosen.randint(100, 900))))
    for at in range(3):
        found.append(Sample("skeleton", as_json(_javascript_skeleton(chosen, step + at))))
        metadata = {"source": chosen.choice(("input", "loop")), "step": step + at, "parents": {}}
        found.append(Sample("metadata", as_json(metadata)))
    found.append(Sample("value", as_json(said)))
    for message in said:
        sent = {"lg_name": "Send", "node": "tools", "args": {"messages": [message]}}
        data = as_json(chosen.choice((sent, {"messages": [message]}, [message])))
        found.append(Sample("write", data))
    return found


def _javascript_skeleton(chosen: random.Random, step: int) -> dict[str, Any]:
    nodes = ("model_request", "tools", "todoListMiddleware.after_model")
    versions = {"__start__": 2, "messages": step, "todos": 3, "files": 4, "jumpTo": 5}
    versions |= {f"branch:to:{node}": step - 1 for node in nodes}
    return {
        "v": 4,
        "id": f"{unique(chosen)[:8]}-{unique(chosen)[:4]}-6{unique(chosen)[:3]}-8005-1cbf4b0f2d6a",
        "ts": f"2026-0{chosen.randint(1, 9)}-1{chosen.randint(0, 9)}T08:19:04.{step:03}Z",
        "channel_versions": versions,
        "versions_seen": {
            "__input__": {},
            "__start__": {"__start__": 1},
            **{node: {f"branch:to:{node}": step - 2} for node in nodes},
        },
    }


def samples(prose: Prose | Words, *, seed: int, rounds: int) -> list[Sample]:
    """What `rounds` runs of each kind store."""
    chosen, found = random.Random(seed), []
    for number in range(rounds):
        for run in RUNS:
            saver = Recorder()
            run(Blanks(), chosen, saver, number)
            found += saver.samples
        found += from_javascript(Blanks(), chosen)
    return [
        piece
        for sample in found
        for piece in pieces(sample.kind, filled(sample, prose, chosen), chosen)
    ]
