"""A sandbox has nothing but a token for its own thread: what an agent in it can do, and what it cannot."""

import itertools
import os
import signal
import subprocess
import time
from typing import Any

import pytest
from threadkeep import Client
from threadkeep.errors import InvalidError, NotGrantedError, TokenExpiredError
from threadkeep.langgraph import ThreadkeepSaver

from equivalence.agents import talker
from support import settings
from support.server import Server, clean_environment

AGENT = settings.ROOT / "examples" / "deepagents_memory" / "agent.py"
ALL = ["read", "append", "write"]


def grants(thread: str, *actions: str) -> dict[str, Any]:
    return {"threads": [{"id": thread, "actions": list(actions or ALL)}]}


def of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


def say(saver: ThreadkeepSaver, thread: str, turn: int) -> Any:
    """One turn of a deep agent with tools and files."""
    message = {"role": "user", "content": f"question {turn}"}
    return talker(saver, range(turn, turn + 1), 2).invoke({"messages": [message]}, of(thread))


def run_example(part: str, server: Server, token: str, thread: str) -> tuple[int, str, str]:
    """The example program, which knows the server and the token and nothing else."""
    credentials = {"THREADKEEP_URL": server.url, "THREADKEEP_API_KEY": token}
    done = subprocess.run(
        [settings.PYTHON, AGENT, part, thread],
        capture_output=True,
        text=True,
        env={**clean_environment(), **credentials},
        timeout=settings.PATIENCE_SECONDS * 2,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_example_runs_on_a_token_and_its_user_is_told_when_that_ends(server: Server) -> None:
    owner = Client(server.url, api_key=server.new_key())
    token = owner.tokens.mint(grants=grants("sandbox"), ttl_seconds=600).token
    status, said, _ = run_example("tell", server, token, "sandbox")
    assert (status, said) == (-signal.SIGKILL, "process A answers: ACKNOWLEDGED\n")
    status, said, _ = run_example("ask", server, token, "sandbox")
    assert (status, said.splitlines()[0]) == (0, "process B answers: AURORA-42")
    # The same program on another thread.
    status, said, complaint = run_example("ask", server, token, "of-somebody-else")
    assert (status, said) == (1, "")
    assert "NotGrantedError: the token does not grant this" in complaint
    brief = owner.tokens.mint(grants=grants("sandbox"), ttl_seconds=1)
    time.sleep(1.1)
    status, said, complaint = run_example("ask", server, brief.token, "sandbox")
    assert (status, said) == (1, "")
    last = complaint.strip().splitlines()[-1]
    told = f"the token expired at {brief.expires_at}; ask whoever made it for a new one"
    assert "TokenExpiredError" in complaint and told in complaint, last
    assert token not in server.all_output() and os.environ.get("THREADKEEP_API_KEY") is None


def test_an_agent_in_a_sandbox_sees_its_thread_and_no_other(server: Server) -> None:
    key = server.new_key()
    owner = Client(server.url, api_key=key)
    say(ThreadkeepSaver(server.url, api_key=key), "of-the-owner", 0)
    made = owner.tokens.mint(grants=grants("sandbox"), ttl_seconds=600)
    saver = ThreadkeepSaver(server.url, api_key=made.token)
    sandbox = Client(server.url, api_key=made.token)
    for turn in range(2):
        state = say(saver, "sandbox", turn)
        assert state["messages"][-1].content.startswith("saw ")
    assert len(list(saver.list(of("sandbox")))) > 5
    # What is there and not its own looks like what is not there.
    for other in ("of-the-owner", "nobodys"):
        assert saver.get_tuple(of(other)) is None
        assert list(saver.list(of(other))) == []
        assert sandbox.get_thread(other) is None
        with pytest.raises(NotGrantedError):
            say(saver, other, 0)
        with pytest.raises(NotGrantedError):
            saver.delete_thread(other)
    with pytest.raises(NotGrantedError) as caught:
        sandbox.list_threads()
    assert caught.value.status == 403
    with pytest.raises(NotGrantedError):
        list(saver.list(None))
    with pytest.raises(NotGrantedError):
        sandbox.tokens.mint(grants=grants("sandbox"))
    assert owner.get_thread("of-the-owner") is not None
    assert [it.object for it in owner.audit(act="token_minted").events] == [made.token_id]


def test_a_token_narrows_itself_and_never_widens(server: Server) -> None:
    owner = Client(server.url, api_key=server.new_key())
    token = owner.tokens.mint(grants=grants("sandbox"), ttl_seconds=600)
    say(ThreadkeepSaver(server.url, api_key=token.token), "sandbox", 0)
    sandbox = Client(server.url, api_key=token.token)
    reader = sandbox.tokens.narrow(grants=grants("sandbox", "read"), ttl_seconds=60)
    saver = ThreadkeepSaver(server.url, api_key=reader.token)
    assert saver.get_tuple(of("sandbox")) is not None
    with pytest.raises(NotGrantedError):
        say(saver, "sandbox", 1)
    for wider in (grants("sandbox"), grants("other", "read"), grants("sandbox", "append")):
        with pytest.raises(NotGrantedError):
            Client(server.url, api_key=reader.token).tokens.narrow(grants=wider)
    longer = Client(server.url, api_key=reader.token)
    with pytest.raises((NotGrantedError, InvalidError)):
        longer.tokens.narrow(ttl_seconds=3_600)


def test_an_agent_that_is_at_work_stops_at_expiry(server: Server) -> None:
    owner = Client(server.url, api_key=server.new_key())
    made = owner.tokens.mint(grants=grants("sandbox"), ttl_seconds=10)
    end = time.monotonic() + 10
    saver = ThreadkeepSaver(server.url, api_key=made.token)

    def work() -> None:
        for turn in itertools.count():
            begun = time.monotonic()
            say(saver, "sandbox", turn)
            # A second, because the server's clock is another one.
            assert begun < end + 1, "the token has ended"

    with pytest.raises(TokenExpiredError) as caught:
        work()
    assert caught.value.status == 401
    told = f"the token expired at {made.expires_at}; ask whoever made it for a new one"
    assert caught.value.detail == told
    # What was acknowledged is there.
    assert owner.get_thread("sandbox") is not None


def test_a_prefix_ends_where_a_name_ends(server: Server) -> None:
    key = server.new_key()
    owner = Client(server.url, api_key=key)
    for thread in ("acme:1", "acme-corp", "acme-corp:1", "acme"):
        say(ThreadkeepSaver(server.url, api_key=key), thread, 0)
    prefix = {"threads": [{"prefix": "acme:", "actions": ALL}]}
    token = owner.tokens.mint(grants=prefix, ttl_seconds=600).token
    saver = ThreadkeepSaver(server.url, api_key=token)
    say(saver, "acme:2", 0)
    listed = Client(server.url, api_key=token).list_threads().threads
    assert {it.thread_id for it in listed} == {"acme:1", "acme:2"}
    for other in ("acme-corp", "acme-corp:1", "acme"):
        assert saver.get_tuple(of(other)) is None
        with pytest.raises(NotGrantedError):
            say(saver, other, 1)
    for open_ended in ("acme", "acme-", ""):
        with pytest.raises(InvalidError) as caught:
            owner.tokens.mint(grants={"threads": [{"prefix": open_ended, "actions": ["read"]}]})
        assert (caught.value.status, caught.value.field) == (422, "grants.threads[0]")
