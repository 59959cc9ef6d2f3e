"""What SDKs of LangGraph are told of real graphs, against what the graphs tell themselves."""

from typing import Any

import httpx
import pytest
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from agent_server.wire import WireDriver, sdk
from display.shown import project
from equivalence import graphs
from equivalence.agents import agent, calls, recall, talk
from equivalence.scenarios import SCENARIOS
from support.server import Server

# Scenarios that look at few states.
FEW = 5


@pytest.mark.parametrize("name", SCENARIOS)
def test_states_and_histories_are_told_as_the_graph_tells_them(
    saver: Any, server: Server, api_key: str, name: str
) -> None:
    driver = WireDriver(saver, server, api_key)
    try:
        SCENARIOS[name](driver)
    finally:
        driver.close()
    assert driver.compared >= FEW


def test_messages_and_files_of_an_agent_are_shown_whole(
    saver: Any, server: Server, api_key: str
) -> None:
    script = [
        calls(("w", "write_file", {"file_path": "/a.md", "content": "one"})),
        calls(("e", "edit_file", {"file_path": "/a.md", "old_string": "one", "new_string": "two"})),
        recall,
    ]
    graph, driver = agent(saver, script), WireDriver(saver, server, api_key)
    talk(driver, graph, range(1), driver.config())
    values = graph.get_state(driver.config()).values
    shown = driver.client.threads.get_state("t")["values"]
    assert shown["messages"] == project(values["messages"])
    assert [it["type"] for it in shown["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert shown["files"] == project(values["files"])
    only = driver.client.threads.get_state("t", select=["values.files", "next"])
    assert only == {"values": {"files": shown["files"]}, "next": []}
    driver.close()


def test_what_is_not_there_is_told_as_the_sdk_knows_it(server: Server, api_key: str) -> None:
    client = sdk(server, api_key)
    with pytest.raises(NotFoundError) as absent:
        client.threads.get_state("none")
    assert "Thread with ID none not found" in str(absent.value)
    with pytest.raises(NotFoundError):
        client.threads.get_history("none")


def test_a_run_is_refused_with_one_request_and_the_reason(
    saver: Any, server: Server, api_key: str
) -> None:
    graph, driver = graphs.chain("plain", saver), WireDriver(saver, server, api_key)
    driver.invoke(graph, {"log": ["in"]}, driver.config())
    with pytest.raises(UnprocessableEntityError) as refused:
        driver.client.runs.create("t", "agent", input={"log": []})
    assert "ThreadkeepSaver" in str(refused.value)
    for run in (
        lambda: driver.client.runs.wait(None, "agent"),
        lambda: list(driver.client.runs.stream("t", "agent")),
    ):
        with pytest.raises(
            (UnprocessableEntityError, httpx.HTTPStatusError), match=r"422|ThreadkeepSaver"
        ):
            run()
    assert driver.client.runs.list("t") == []
    assert driver.client.crons.search() == [] and driver.client.crons.count() == 0
    driver.close()


def test_the_server_says_what_it_is_without_a_key(server: Server) -> None:
    assert httpx.get(f"{server.url}/ok").json() == {"ok": True}
    info = httpx.get(f"{server.url}/info").json()
    assert info["flags"] == {"assistants": True, "crons": False, "langsmith": False}
    assert info["threadkeep"]["runs"] is False
