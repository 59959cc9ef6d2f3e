"""One script of calls, to threadkeep and to LangGraph's own development server: the answers are the same, but for what is listed."""

from collections.abc import Iterator
from typing import Any

import pytest

from agent_server.official.comparing import ABSENT, differences, told
from agent_server.official.known import KNOWN, explained
from agent_server.official.script import A, Call, Run, script
from agent_server.official.servers import Official, Ours, Side
from support.server import Server


@pytest.fixture(scope="module")
def official() -> Iterator[dict[str, Any]]:
    """What the development server answers to each call."""
    side = Official()
    try:
        yield answers(side)
    finally:
        side.close()


def answers(side: Side) -> dict[str, Any]:
    found: dict[str, Any] = {}
    checkpoints: dict[str, str] = {}
    for step in script():
        if isinstance(step, Run):
            if side.http.get(f"/threads/{step.thread_id}").status_code == 404:
                side.http.post("/threads", json={"thread_id": step.thread_id}).raise_for_status()
            side.run(*step)
            if step.thread_id == A:
                states = side.http.get(f"/threads/{A}/history?limit=100").json()
                by_time = [
                    it["checkpoint_id"] or it["checkpoint"]["checkpoint_id"] for it in states
                ]
                checkpoints = {f"{{A{at}}}": it for at, it in enumerate(reversed(by_time))}
            continue
        assert step.name not in found, step.name
        found[step.name] = told(ask(side, step, checkpoints))
    return found


def ask(side: Side, call: Call, checkpoints: dict[str, str]) -> Any:
    def filled(it: Any) -> Any:
        match it:
            case dict():
                return {name: filled(one) for name, one in it.items()}
            case str():
                for name, checkpoint in checkpoints.items():
                    it = it.replace(name, checkpoint)
        return it

    more = {} if call.body is None else {"json": filled(call.body)}
    return side.http.request(call.method, filled(call.path), **more)


def test_answers_are_those_of_the_development_server(
    official: dict[str, Any], server: Server, api_key: str
) -> None:
    side = Ours(server, api_key)
    try:
        ours = answers(side)
    finally:
        side.close()
    assert ours.keys() == official.keys()
    unknown, met = [], set()
    for name, answer in ours.items():
        theirs = official[name]
        # With another status all is another.
        if answer["status"] != theirs["status"]:
            answer, theirs = ({"status": it["status"]} for it in (answer, theirs))
        for place, we, they in differences(answer, theirs):
            where = f"{name}: {place}"
            known = explained(where, we, they)
            met.update(known)
            if not known:
                unknown.append(f"{where}\n    ours:     {we!r}\n    official: {they!r}")
    assert not unknown, f"{len(unknown)} differences\n" + "\n".join(unknown)
    assert KNOWN.keys() - met == set(), "the servers no longer differ in this"


def test_a_wrong_error_or_number_of_interrupts_is_no_known_difference() -> None:
    asked = {"id": "#1", "value": "Really?"}
    wrong: list[tuple[str, Any, Any]] = [
        ("state that failed: .body.tasks[0].error", "ValueError('it')", "ValueError('it failed')"),
        ("state that failed: .body.tasks[0].error", None, "ValueError('it failed')"),
        ("state that asks: .body.tasks[0].interrupts", [], [asked]),
        ("state that asks: .body.interrupts", [asked, asked], [asked]),
        ("GET /threads/1: .body.interrupts", {}, {"#0": [asked]}),
        ("history of all: .body[0].values.messages", [], ["hello"]),
    ]
    assert [it for it in wrong if explained(*it)] == []
    assert explained("GET /threads/1: .body.error", None, ABSENT)
