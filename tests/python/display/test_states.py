"""What `GET /v1/state` tells of real graphs, against what the graphs tell themselves."""

import base64
from typing import Any

import pytest

from display.shown import ShownDriver, project
from equivalence import graphs
from equivalence.agents import agent, calls, recall, talk
from equivalence.scenarios import SCENARIOS
from support.server import Server

# Scenarios that look at few states.
FEW = 5


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_state_is_told_as_the_graph_tells_it(
    saver: Any, server: Server, api_key: str, name: str
) -> None:
    driver = ShownDriver(saver, server, api_key)
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
    graph, driver = agent(saver, script), ShownDriver(saver, server, api_key)
    talk(driver, graph, range(1), driver.config())
    values = graph.get_state(driver.config()).values
    shown = driver.get("/v1/state", thread_id="t")["state"]["values"]
    assert shown["messages"] == project(values["messages"])
    assert [it["type"] for it in shown["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert shown["files"] == project(values["files"])
    assert "two" in str(shown["files"]["/a.md"])
    channels = driver.get("/v1/checkpoints/values", thread_id="t")["checkpoint"]["channels"]
    kept = {it["channel"]: it for it in channels}
    assert kept["messages"]["is_delta"] and kept["files"]["is_delta"]
    assert kept["messages"]["value"] == shown["messages"]
    driver.close()


def test_raw_values_are_what_the_saver_stored(saver: Any, server: Server, api_key: str) -> None:
    graph, driver = graphs.chain("plain", saver), ShownDriver(saver, server, api_key)
    driver.invoke(graph, {"log": ["in"]}, driver.config())
    held = saver.get_tuple(driver.config()).checkpoint["channel_values"]
    raw = raw_channels(driver)
    assert {name: loaded(saver, raw[name]["value"]) for name in held} == held
    assert held["log"] == ["in", "a@1", "b@2", "c@3"]


def test_raw_writes_are_what_a_delta_channel_is_replayed_from(
    saver: Any, server: Server, api_key: str
) -> None:
    graph, driver = agent(saver, [recall]), ShownDriver(saver, server, api_key)
    talk(driver, graph, range(1), driver.config())
    written = [loaded(saver, it) for it in raw_channels(driver)["messages"]["writes"]]
    told = [one.type for it in written for one in (it if isinstance(it, list) else [it])]
    assert told == ["human", "ai"]


def raw_channels(driver: ShownDriver) -> dict[str, Any]:
    found = driver.get("/v1/checkpoints/values", thread_id="t", raw="true")["checkpoint"]
    return {it["channel"]: it["raw"] for it in found["channels"]}


def loaded(saver: Any, raw: dict[str, str]) -> Any:
    return saver.serde.loads_typed((raw["tag"], base64.b64decode(raw["data"])))
