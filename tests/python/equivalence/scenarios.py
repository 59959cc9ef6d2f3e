"""Every scenario once, as a function of a driver. Each checks that it did what its name says, then shows everything.

The names are those of the behaviours that a checkpointer exists for.
"""

from collections.abc import Callable
from typing import Any

from langgraph.types import Command, Send

from equivalence import graphs
from equivalence.agents import agent, calls, parallel_calls, recall, talk, talker
from equivalence.driver import Driver
from support import settings

SCENARIOS: dict[str, Callable[[Driver], None]] = {}
DURABILITIES = ("sync", "async", "exit")


def scenario(name: str, **fixed: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function under a name, with some arguments fixed."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        assert name not in SCENARIOS, f"two scenarios are called {name}"
        SCENARIOS[name] = lambda driver: function(driver, **fixed)
        return function

    return register


def agent_scenario(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """One of deepagents: registered only where that is published for this Python."""
    return scenario(name) if settings.HAS_DEEPAGENTS else lambda function: function


def on_both_kinds(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(function: Callable[..., None]) -> Callable[..., None]:
        for kind in graphs.KINDS:
            scenario(f"{name}, {kind} channels", kind=kind)(function)
        return function

    return register


@on_both_kinds("two questions in one node, asked in two turns")
def interrupt_and_resume_twice(driver: Driver, kind: str) -> None:
    graph, config = graphs.asking(kind, driver.saver), driver.config()
    for turn, (name, colour) in enumerate([("Ada", "red"), ("Bob", {"r": 1})]):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
        driver.all(graph)
        driver.invoke(graph, None, config)
        driver.all(graph)
        driver.invoke(graph, Command(resume=name), config)
        driver.all(graph)
        driver.invoke(graph, Command(resume=colour, update={"log": ["by hand"]}), config)
        driver.all(graph)
    log = driver.state(graph, config).values["log"]
    assert "Ada likes red" in log and "Bob likes {'r': 1}" in log, log


@on_both_kinds("static breakpoints before and after nodes")
def static_breakpoints(driver: Driver, kind: str) -> None:
    graph = graphs.chain(kind, driver.saver, interrupt_before=["b"], interrupt_after=["b"])
    config = driver.config()
    driver.invoke(graph, {"log": ["in"]}, config)
    assert driver.state(graph, config).next == ("b",)
    driver.invoke(graph, None, config)
    assert driver.state(graph, config).next == ("c",)
    driver.all(graph)
    driver.invoke(graph, None, config)
    assert driver.state(graph, config).next == ()
    driver.all(graph)


@on_both_kinds("four branches of which one fails twice, then a resume")
def failing_fan_out(driver: Driver, kind: str) -> None:
    failing = {1}
    graph, config = graphs.fan_out(kind, driver.saver, failing), driver.config()
    for value in ({"log": ["in"]}, None):
        driver.invoke(graph, value, config)
        tasks = driver.state(graph, config).tasks
        failed = [number for number, task in enumerate(tasks) if task.error]
        assert failed == [1], tasks
        driver.all(graph)
    failing.clear()
    driver.invoke(graph, None, config)
    log = driver.state(graph, config).values["log"]
    assert [entry for entry in log if entry.startswith("branch")] == [
        f"branch {n}" for n in range(4)
    ]
    driver.all(graph)


@on_both_kinds("a subgraph that remembers from turn to turn")
def subgraph_with_memory(driver: Driver, kind: str) -> None:
    graph, config = graphs.nested(kind, driver.saver, own_memory=True), driver.config()
    for turn in range(3):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
        driver.all(graph)
    assert driver.state(graph, config).values["note"] == 9


@on_both_kinds("a subgraph that forgets, interrupted inside")
def subgraph_interrupted(driver: Driver, kind: str) -> None:
    graph = graphs.nested(kind, driver.saver, own_memory=False, asks=True)
    config = driver.config()
    for turn in range(2):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
        inside = driver.state(graph, config).tasks[0]
        assert inside.interrupts and inside.state is not None
        driver.all(graph)
        driver.invoke(graph, Command(resume=f"answer {turn}"), config)
        driver.all(graph)


@on_both_kinds("update_state on the head and on an old checkpoint")
def update_state(driver: Driver, kind: str) -> None:
    graph, config = graphs.chain(kind, driver.saver), driver.config()
    driver.invoke(graph, {"log": ["in"]}, config)
    driver.update(graph, config, {"log": ["on the head"]})
    driver.all(graph)
    old = driver.history(graph, config)[2]
    forked = driver.update(graph, old.config, {"log": ["on the old one"]}, as_node="b")
    driver.all(graph)
    driver.invoke(graph, None, forked)
    log = driver.state(graph, config).values["log"]
    assert "on the old one" in log and "on the head" not in log, log
    driver.all(graph)


@on_both_kinds("update_state on a thread that does not exist yet")
def update_state_first(driver: Driver, kind: str) -> None:
    graph, config = graphs.chain(kind, driver.saver), driver.config()
    driver.update(graph, config, {"log": ["first"]}, as_node="a")
    driver.all(graph)
    driver.invoke(graph, None, config)
    assert driver.state(graph, config).values["log"] == ["first", "b@1", "c@2"]
    driver.all(graph)


@on_both_kinds("a checkpoint copied beside itself")
def copy_node(driver: Driver, kind: str) -> None:
    graph, config = graphs.chain(kind, driver.saver, names="abcdef"), driver.config()
    driver.invoke(graph, {"log": ["in"]}, config)
    old = driver.history(graph, config)[3]
    copied = driver.update(graph, old.config, None, as_node="__copy__")
    assert driver.state(graph, copied).values == old.values
    driver.all(graph)
    driver.invoke(graph, None, copied)
    assert len(driver.state(graph, config).values["log"]) == 7
    driver.all(graph)


@on_both_kinds("a replay from an old checkpoint, twice")
def time_travel(driver: Driver, kind: str) -> None:
    graph, config = graphs.chain(kind, driver.saver, names="abcdef"), driver.config()
    driver.invoke(graph, {"log": ["in"]}, config)
    for _ in range(2):
        old = next(one for one in driver.history(graph, config) if one.next == ("c",))
        driver.invoke(graph, None, old.config)
        driver.all(graph)
    driver.invoke(graph, {"log": ["another turn"]}, old.config)
    driver.all(graph)


@on_both_kinds("a replay of a turn with a subgraph that remembers")
def time_travel_into_a_subgraph(driver: Driver, kind: str) -> None:
    graph, config = graphs.nested(kind, driver.saver, own_memory=True), driver.config()
    for turn in range(2):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
    old = [one for one in driver.history(graph, config) if one.next == ("child",)][-1]
    driver.invoke(graph, None, old.config)
    driver.all(graph)


# In sync durability: else LangGraph lends a saver the set of those that have come, and goes on adding to it while that stores.
def join_of_branches(driver: Driver, kind: str, how: str) -> None:
    graph, config = graphs.joined(kind, driver.saver, how, asks=True), driver.config()
    for turn in range(2):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config, durability="sync")
        assert len(driver.state(graph, config).tasks) == 2
        driver.all(graph)
        driver.invoke(graph, Command(resume=f"answer {turn}"), config, durability="sync")
        driver.each(graph)
    log = driver.state(graph, config).values["log"]
    assert log[-4:] == ["answer 1", "right@6", "more@8", "join@9"], log
    stops = graphs.joined(kind, driver.saver, how, interrupt_before=["more", "join"])
    driver.invoke(stops, {"log": ["stop"]}, config, durability="sync")
    for node in ("more", "join"):
        assert driver.state(stops, config).next == (node,)
        driver.all(stops)
        driver.invoke(stops, None, config, durability="sync")
    driver.all(stops)


for _kind in graphs.KINDS:
    for _how in graphs.JOINS:
        _name = f"two branches joined by {_how}, {_kind} channels"
        scenario(_name, kind=_kind, how=_how)(join_of_branches)


@on_both_kinds("nodes that say where to go next")
def command_goto(driver: Driver, kind: str) -> None:
    graph, config = graphs.routed(kind, driver.saver), driver.config()
    driver.invoke(graph, {"log": ["in"]}, config)
    driver.each(graph)
    log = driver.state(graph, config).values["log"]
    assert log[-1].startswith("last@") and "sent@1" in log, log
    driver.invoke(graph, Command(goto="right", update={"log": ["sent there"]}), config)
    driver.each(graph)
    goto = Command(goto=[Send("left", {"log": []}), "child"])
    driver.invoke(graph, goto, config)
    driver.each(graph)
    assert "left@0" in driver.state(graph, config).values["log"]


@on_both_kinds("a subgraph in a subgraph, interrupted in the innermost")
def subgraphs_two_deep(driver: Driver, kind: str) -> None:
    _two_deep(driver, graphs.two_deep(kind, driver.saver))


for _level in ("middle", "innermost"):

    @scenario(f"a subgraph in a subgraph, the {_level} one remembers", level=_level)
    def subgraph_with_memory_two_deep(driver: Driver, level: str) -> None:
        _two_deep(driver, graphs.two_deep("plain", driver.saver, remembers=level))


def _two_deep(driver: Driver, graph: Any) -> None:
    config = driver.config()
    for turn in range(2):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
        for answer in ("red", {"b": 1}):
            middle = driver.state(graph, config).tasks[0].state
            innermost = middle.tasks[0].state
            assert innermost.tasks[0].interrupts, innermost
            driver.each(graph)
            for inner in (middle, innermost):
                names = inner.config["configurable"]
                within = driver.config(checkpoint_ns=names["checkpoint_ns"])
                driver.state(graph, within)
                driver.history(graph, within)
            driver.invoke(graph, Command(resume=answer), config)
        driver.each(graph)


@scenario("a workflow of the functional API")
def functional_api(driver: Driver) -> None:
    graph, config = graphs.functional(driver.saver), driver.config()
    for turn in range(2):
        driver.invoke(graph, [1, 2, 3 + turn], config)
        assert driver.state(graph, config).interrupts
        driver.each(graph)
        driver.invoke(graph, Command(resume=f"answer {turn}"), config)
        driver.each(graph)
    assert driver.state(graph, config).values == {"text": "answer 1: 14"}
    for thread, numbers in [("quiet", []), ("failing", [-1])]:
        config = driver.config(thread)
        driver.invoke(graph, numbers, config)
        driver.all(graph, config)
    assert driver.state(graph, config).tasks[0].error


def durability(driver: Driver, kind: str, durability: str) -> None:
    graph, config = graphs.looping(kind, driver.saver, steps=9), driver.config()
    for turn in range(2):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config, durability=durability)
        driver.all(graph)
    assert len(driver.state(graph, config).values["log"]) == 20


for _kind in graphs.KINDS:
    for _durability in DURABILITIES:
        _name = f"durability {_durability}, {_kind} channels"
        scenario(_name, kind=_kind, durability=_durability)(durability)


@scenario("an interrupt under durability exit")
def interrupted_at_exit(driver: Driver) -> None:
    graph, config = graphs.asking("delta", driver.saver), driver.config()
    driver.invoke(graph, {"log": ["in"]}, config, durability="exit")
    driver.all(graph)
    for answer in ("Ada", "red"):
        driver.invoke(graph, Command(resume=answer), config, durability="exit")
        driver.all(graph)


@scenario("a run filtered by its metadata")
def history_with_filter(driver: Driver) -> None:
    graph = graphs.chain("plain", driver.saver)
    for number in range(3):
        config = {**driver.config(), "metadata": {"number": number, "user_id": "ada"}}
        driver.invoke(graph, {"log": [f"run {number}"]}, config)
    assert len(driver.history(graph, driver.config(), filter={"number": 1})) == 5
    assert len(driver.history(graph, driver.config(), filter={"number": 1, "source": "input"})) == 1
    newest = driver.history(graph, driver.config(), limit=2)
    assert len(driver.history(graph, driver.config(), before=newest[1].config, limit=4)) == 4


@agent_scenario("five parallel tools")
def parallel_tools(driver: Driver) -> None:
    graph = agent(driver.saver, [calls(*parallel_calls()), recall, recall])
    config = driver.config()
    talk(driver, graph, range(1), config)
    driver.all(graph)
    talk(driver, graph, range(1, 2), config)
    messages = driver.state(graph, config).values["messages"]
    assert [one.tool_call_id for one in messages if one.type == "tool"] == [
        f"p{n}" for n in range(5)
    ]
    driver.all(graph)


@agent_scenario("a sub-agent called by the task tool")
def sub_agent(driver: Driver) -> None:
    write = calls(("w", "write_file", {"file_path": "/a.md", "content": "by the child"}))
    delegate = {"description": "look it up", "subagent_type": "general-purpose"}
    script = [calls(("t", "task", delegate)), calls(("s", "search", {"query": "x"})), write]
    graph = agent(driver.saver, [*script, recall, recall, recall])
    talk(driver, graph, range(2), driver.config())
    state = driver.state(graph, driver.config())
    assert "/a.md" in state.values["files"]
    driver.all(graph)


@agent_scenario("a tool that needs approval")
def human_in_the_loop(driver: Driver) -> None:
    script = [calls((f"c{n}", "search", {"query": f"q{n}"})) for n in range(2)]
    graph = agent(driver.saver, [*script, recall], interrupt_on={"search": True})
    config = driver.config()
    talk(driver, graph, range(1), config)
    for decision in ({"type": "approve"}, {"type": "reject", "message": "no"}):
        assert driver.state(graph, config).interrupts
        driver.all(graph)
        driver.invoke(graph, Command(resume={"decisions": [decision]}), config)
    driver.all(graph)


@agent_scenario("an agent's thread of more than sixty updates")
def long_agent_thread(driver: Driver) -> None:
    turns = range(12)
    graph = talker(driver.saver, turns, tools=2)
    talk(driver, graph, turns, driver.config())
    updates = sum(write[1] == "messages" for one in driver.raw() for write in one.pending_writes)
    assert updates > 60, updates
    driver.all(graph)
