"""Lists the calls that the test sends to both servers, in their order.

`{A1}` in a path or body stands for the id of the second checkpoint of thread A.
"""

from typing import Any, NamedTuple

A, B, C, D, E, NONE = (f"00000000-0000-4000-8000-00000000000{n}" for n in (1, 2, 3, 4, 5, 9))
ASSISTANT = "fe096781-5601-53d2-b2f6-0d3403f7e9ca"
NO_CHECKPOINT = "1ef4f797-8335-6428-8001-8a1503f9b875"


class Call(NamedTuple):
    name: str
    method: str
    path: str
    body: Any = None


class Run(NamedTuple):
    """Of the graph: it hears a text, or goes on with an answer."""

    thread_id: str
    said: str | None = None
    resume: Any = None


Step = Call | Run


def get(path: str, name: str = "") -> Call:
    return Call(name or f"GET {path}", "GET", path)


def post(path: str, body: Any, name: str = "") -> Call:
    return Call(name or f"POST {path} {body}", "POST", path, body)


def search(**body: Any) -> list[Step]:
    return [post("/threads/search", body), *([] if "limit" in body else [count(**body)])]


def count(**body: Any) -> Step:
    kept = {name: it for name, it in body.items() if name in ("metadata", "status", "values")}
    return post("/threads/count", kept)


def meta() -> list[Step]:
    return [get("/ok"), get("/info"), get("/threads"), get("/nowhere")]


def threads() -> list[Step]:
    tagged = {"team": "red", "n": 1, "deep": {"a": {"b": [1, 2]}}, "flag": True, "none": None}
    made = [
        {"thread_id": A, "metadata": tagged},
        {"thread_id": B, "metadata": {"team": "blue", "n": "1"}},
        {"thread_id": C},
    ]
    wrong: list[Any] = [
        {"thread_id": 7},
        {"metadata": []},
        {"metadata": "x"},
        {"if_exists": "maybe"},
        {"thread_id": A, "if_exists": "raise"},
        [],
    ]
    return [
        *(post("/threads", body) for body in made),
        post("/threads", {"thread_id": A, "if_exists": "do_nothing", "metadata": {"other": 1}}),
        *(post("/threads", body) for body in wrong),
        get(f"/threads/{A}"),
        get(f"/threads/{NONE}"),
        Call("PATCH", "PATCH", f"/threads/{A}", {"metadata": {"n": 2, "none": None}}),
        Call("PATCH of nothing", "PATCH", f"/threads/{A}", {}),
        Call("PATCH of an absent thread", "PATCH", f"/threads/{NONE}", {"metadata": {}}),
        Call("PATCH with a list", "PATCH", f"/threads/{A}", {"metadata": []}),
        get(f"/threads/{A}", "GET after PATCH"),
    ]


def searches() -> list[Step]:
    metadata: list[Any] = [
        {"team": "red"},
        {"team": "green"},
        {"n": 2},
        {"n": 2.0},
        {"n": "2"},
        {"n": True},
        {"flag": True},
        {"none": None},
        {"absent": None},
        {"deep": {"a": {}}},
        {"deep": {"a": {"b": [1, 2]}}},
        {"deep": {"a": {"b": [1]}}},
        {},
    ]
    wrong: list[Any] = [
        {"limit": 0},
        {"limit": -1},
        {"limit": 1001},
        {"limit": "x"},
        {"offset": -1},
        {"offset": "x"},
        {"status": "asleep"},
        {"sort_by": "color"},
        {"sort_order": "up"},
        {"select": ["color"]},
        {"ids": ["no-uuid"]},
        {"ids": "x"},
        {"metadata": "x"},
        {"extract": {"a": "nowhere.b"}},
    ]
    fine: list[dict[str, Any]] = [
        {},
        {"limit": 2},
        {"limit": 2, "offset": 2},
        {"limit": 2, "offset": 50},
        {"ids": [A, NONE]},
        {"ids": []},
        {"status": "idle"},
        {"status": "busy"},
        {"select": ["thread_id", "metadata"]},
        {"select": []},
        {
            "extract": {
                "team": "metadata.team",
                "absent": "metadata.x.y",
                "b": "metadata.deep.a.b[-1]",
            }
        },
        *(
            {"sort_by": it, "sort_order": "asc"}
            for it in ("thread_id", "status", "created_at", "updated_at")
        ),
        {"sort_by": "created_at"},
        {"status": None, "metadata": None, "sort_by": None, "limit": None},
    ]
    steps: list[Step] = [one for it in metadata for one in search(metadata=it)]
    steps += [post("/threads/search", body) for body in (*fine, *wrong)]
    steps += [post("/threads/count", body) for body in ({"status": "asleep"}, {"metadata": 1})]
    return steps


def states() -> list[Step]:
    empty: list[Step] = [
        get(f"/threads/{C}/state", "state of an empty thread"),
        get(f"/threads/{C}/history", "history of an empty thread"),
        get(f"/threads/{NONE}/state", "state of an absent thread"),
        get(f"/threads/{NONE}/history", "history of an absent thread"),
        post(f"/threads/{NONE}/history", {}, "asked history of an absent thread"),
    ]
    ran: list[Step] = [
        Run(A, "hello"),
        Run(A, "again"),
        Run(B, "ask"),
        Run(C, "fail"),
        Run(D, "ask"),
        Run(D, None, "yes"),
    ]
    told: list[Step] = []
    for name, thread in zip("ABCD", (A, B, C, D), strict=True):
        told += [
            get(f"/threads/{thread}", f"thread {name} after its runs"),
            get(f"/threads/{thread}/state", f"state {name}"),
            get(f"/threads/{thread}/state?subgraphs=true", f"state {name} with subgraphs"),
            get(f"/threads/{thread}/history?limit=100", f"history {name}"),
            post(f"/threads/{thread}/history", {"limit": 2}, f"history {name}, two"),
            post(
                f"/threads/{thread}/state/checkpoint",
                {"checkpoint": {}},
                f"state {name} of no checkpoint",
            ),
        ]
    for status in ("idle", "busy", "interrupted", "error"):
        told += search(status=status, select=["thread_id", "status", "interrupts"])
    return [*empty, *ran, *told, *places()]


def places() -> list[Step]:
    """States of thread A at its checkpoints."""
    base = f"/threads/{A}"
    one = "{A1}"
    return [
        get(f"{base}/state/{one}", "state at a checkpoint"),
        get(f"{base}/state/{NO_CHECKPOINT}", "state at an absent checkpoint"),
        get(f"{base}/state/no-uuid", "state at no checkpoint"),
        post(
            f"{base}/state/checkpoint",
            {"checkpoint": {"checkpoint_id": one, "checkpoint_ns": ""}},
            "state of a checkpoint",
        ),
        post(
            f"{base}/state/checkpoint",
            {"checkpoint": {"checkpoint_id": one}, "subgraphs": True},
            "the same with subgraphs",
        ),
        post(f"{base}/state/checkpoint", {}, "state of a checkpoint that is not named"),
        post(f"{base}/history", {"limit": 100, "before": one}, "history before"),
        post(
            f"{base}/history",
            {"limit": 100, "before": {"checkpoint_id": one}},
            "history before a map",
        ),
        post(
            f"{base}/history",
            {"limit": 100, "before": {"configurable": {"checkpoint_id": one}}},
            "history before a config",
        ),
        post(f"{base}/history", {"limit": 100, "metadata": {"step": 1}}, "history by metadata"),
        post(
            f"{base}/history", {"limit": 100, "metadata": {"source": "input"}}, "history by source"
        ),
        post(
            f"{base}/history",
            {"limit": 100, "checkpoint": {"checkpoint_id": one}},
            "history of one checkpoint",
        ),
        post(f"{base}/history", {"limit": 0}, "history of none"),
        post(f"{base}/history", {"limit": 1001}, "history of too many"),
        get(f"{base}/history?limit=x", "history of no number"),
        get(f"{base}/history?before={one}", "history before, by query"),
        Call("PATCH of a state", "PATCH", f"{base}/state", {"metadata": {}}),
        post(f"{base}/state", {"values": [1]}, "update by a list"),
        post(f"{base}/state", {"values": "x"}, "update by a text"),
        post(f"/threads/{NONE}/state", {"values": {"title": "x"}}, "update of an absent thread"),
    ]


def updates() -> list[Step]:
    """Of states: those that threadkeep makes without the graph, and one that it leaves to it."""
    copied, cleared = f"/threads/{A}", f"/threads/{B}"
    fork = {"values": None, "as_node": "__copy__", "checkpoint": {"checkpoint_id": "{A1}"}}
    return [
        post(f"{copied}/state", fork, "copy of a checkpoint"),
        get(f"{copied}/state", "state after a copy"),
        get(f"{copied}/history?limit=2", "history after a copy"),
        post(
            f"{cleared}/state", {"values": None, "as_node": "__end__"}, "end of a thread that asks"
        ),
        get(f"{cleared}/state", "state after its end"),
        get(f"{cleared}/history?limit=2", "history after its end"),
        get(cleared, "thread after its end"),
        post(
            f"{copied}/state", {"values": {"title": "x"}, "as_node": "answer"}, "update as a node"
        ),
    ]


def ends() -> list[Step]:
    return [
        post(f"/threads/{NONE}/copy", None, "copy of an absent thread"),
        post(f"/threads/{A}/copy", None, "copy"),
        post("/threads/count", {"metadata": {"team": "red"}}, "threads with a copy"),
        post("/threads/prune", {"thread_ids": []}),
        post("/threads/prune", {"thread_ids": [B], "strategy": "keep_latest"}),
        get(f"/threads/{B}/history", "history after a prune"),
        post("/threads/prune", {"thread_ids": [B], "strategy": "all"}),
        post("/threads/prune", {"thread_ids": [D]}),
        get(f"/threads/{D}", "a pruned thread"),
        Call("DELETE", "DELETE", f"/threads/{C}"),
        Call("DELETE again", "DELETE", f"/threads/{C}"),
        get(f"/threads/{C}", "a deleted thread"),
        post("/threads", {"thread_id": "no-uuid"}),
        post("/threads", {"ttl": {"ttl": -1}}),
        *ttls(),
    ]


def ttls() -> list[Step]:
    shown = f"/threads/{E}?include=ttl"
    return [
        post("/threads", {"thread_id": E, "ttl": {"ttl": 90}}, "a thread with a ttl"),
        get(shown, "its ttl"),
        get(f"/threads/{E}", "without its ttl"),
        Call("a new ttl", "PATCH", f"/threads/{E}", {"ttl": {"ttl": 2.5, "strategy": "delete"}}),
        get(shown, "its new ttl"),
        Call("metadata alone", "PATCH", f"/threads/{E}", {"metadata": {"n": 1}}),
        get(shown, "its ttl after metadata"),
        post("/threads", {"ttl": {"ttl": 1, "strategy": "none"}}),
        post("/threads", {"ttl": {"strategy": "delete"}}),
        get(f"/threads/{E}?include=all"),
    ]


def store() -> list[Step]:
    items: list[Any] = [
        {"namespace": ["ann", "notes"], "key": "a", "value": {"n": 1, "tag": "x"}},
        {"namespace": ["ann", "notes"], "key": "b", "value": {"n": 2, "deep": {"a": 1}}},
        {"namespace": ["bob"], "key": "a", "value": {"n": 3}},
    ]
    wrong: list[Any] = [
        {"namespace": [], "key": "a", "value": {}},
        {"namespace": ["a.b"], "key": "a", "value": {}},
        {"namespace": [""], "key": "a", "value": {}},
        {"namespace": ["langgraph"], "key": "a", "value": {}},
        {"namespace": ["a"], "key": "a", "value": 1},
        {"namespace": ["a"], "value": {}},
        {"namespace": "a", "key": "a", "value": {}},
    ]
    put = [Call(f"PUT item {it}", "PUT", "/store/items", it) for it in (*items, *wrong)]
    asked: list[Any] = [
        {},
        {"namespace_prefix": ["ann"]},
        {"namespace_prefix": ["ann"], "filter": {"n": 2}},
        {"namespace_prefix": [], "filter": {"n": {"$gt": 1}}},
        {"namespace_prefix": ["ann"], "limit": 1, "offset": 1},
        {"namespace_prefix": ["ann"], "limit": 0},
        {"namespace_prefix": ["none"]},
        {"namespace_prefix": ["ann"], "filter": {"n": {"$near": 1}}},
    ]
    named: list[Any] = [
        {},
        {"prefix": ["ann"]},
        {"suffix": ["notes"]},
        {"max_depth": 1},
        {"prefix": ["*", "notes"]},
        {"limit": 1},
        {"limit": 1, "offset": 1},
    ]
    return [
        *put,
        get("/store/items?namespace=ann.notes&key=a"),
        get("/store/items?namespace=ann.notes&key=none"),
        get("/store/items?namespace=ann.notes"),
        *(post("/store/items/search", body) for body in asked),
        *(post("/store/namespaces", body) for body in named),
        Call("DELETE item", "DELETE", "/store/items", {"namespace": ["bob"], "key": "a"}),
        Call("DELETE item again", "DELETE", "/store/items", {"namespace": ["bob"], "key": "a"}),
        get("/store/items?namespace=bob&key=a"),
    ]


def others() -> list[Step]:
    return [
        post("/assistants/search", {}),
        post("/assistants/search", {"graph_id": "agent"}),
        post("/assistants/search", {"graph_id": "none"}),
        post("/assistants/search", {"metadata": {"created_by": "system"}}),
        post("/assistants/search", {"limit": 0}),
        post("/assistants/count", {}),
        get(f"/assistants/{ASSISTANT}"),
        get(f"/assistants/{NONE}"),
        post(f"/assistants/{ASSISTANT}/versions", {}),
        get(f"/assistants/{NONE}/schemas"),
        get(f"/assistants/{NONE}/graph"),
        get(f"/threads/{NONE}/runs"),
        get(f"/threads/{A}/runs/{NONE}", "an absent run"),
        Call("DELETE of an absent run", "DELETE", f"/threads/{A}/runs/{NONE}"),
        post("/runs/crons/search", {}),
        post("/runs/crons/count", {}),
    ]


def script() -> list[Step]:
    return [*meta(), *threads(), *searches(), *states(), *store(), *others(), *updates(), *ends()]
