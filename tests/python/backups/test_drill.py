"""The drill: load, backup, lose the disk, restore, doctor, agents go on, and what was ended stays ended."""

from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from threadkeep import Client, ThreadkeepError
from threadkeep.errors import FenceStaleError
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore

from backups.places import Backups, Machines
from support.native import Native, Refused, checkpoint
from support.server import Server

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    said: list[str]


def agent(saver: ThreadkeepSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node(
        "reply", lambda state: {"said": [*state["said"], f"reply {len(state['said'])}"]}
    )
    builder.add_edge(START, "reply")
    builder.add_edge("reply", END)
    return builder.compile(checkpointer=saver)


def say(server: Server, key: str, text: str) -> list[str]:
    """One turn of an agent that knows nothing but the server."""
    with ThreadkeepSaver(server.url, api_key=key) as saver:
        graph = agent(saver)
        before = graph.get_state(CONFIG).values.get("said", [])
        said: list[str] = graph.invoke({"said": [*before, text]}, CONFIG)["said"]
        return said


def status(server: Server, key: str) -> int:
    return server.get("/v1/whoami", key).status


class Lost:
    """A server whose disk is lost after its backup, with what clients held of it."""

    def __init__(self, backups: Backups, machines: Machines):
        self.place = machines.place()
        self.server = machines.serve(self.place, backups.environment)
        server = self.server
        self.key, other = server.make_keys(["acme", "other"])
        with Client(server.url, api_key=self.key) as client:
            self.ann = client.keys.create(subject="ann").key
            self.bob = client.keys.create(subject="bob").key
            made = client.keys.create(name="lost")
            self.lost_key, lost_key_id = made.key, made.key_id
            self.token = client.tokens.mint(
                grants={"threads": [{"id": "t", "actions": ["read"]}]}
            ).token
            self.password = say(server, self.key, "AURORA-42")
            client.files.write(("notes",), "/a.md", "kept")
            address = server.get("/v1/files/url?ns=notes&path=%2Fa.md", self.key)
            self.address = address.json()["url"]
            assert server.get(self.address).status == 200
            self.fence = client.acquire_lease("t", "worker", ttl_seconds=3600).fence
        for subject, key in (("ann", self.ann), ("bob", self.bob)):
            native = Native(server.url, key)
            native.commit(f"{subject}:t", checkpoint("1", {"m": subject.encode()}))
        with ThreadkeepSaver(server.url, api_key=other) as saver:
            agent(saver).invoke({"said": ["elsewhere"]}, CONFIG)
        self.other = other
        with (
            ThreadkeepStore(server.url, api_key=self.key) as store,
            store.changes() as changes,
        ):
            store.put(("users",), "u", {"a": 1})
            self.position = next(iter(changes)).position
        quota = server.command("quotas", "set", "--tenant", "acme", "--items-max", "77")
        assert quota.returncode == 0, quota.stderr
        self.generation = self.thread()["generation"]
        self.manifest = backups.take(self.place)
        # All of this is later than the backup.
        with Client(server.url, api_key=self.key) as client:
            client.keys.revoke(lost_key_id)
            client.subjects.delete("bob")
            client.files.write(("notes",), "/a.md", "written after the backup")
        erased = server.command("erase", "--tenant", "acme", "--subject", "ann")
        assert erased.returncode == 0, erased.stderr
        server.kill()
        self.place.remove()

    def thread(self) -> dict[str, Any]:
        answer = self.server.post("/v1/threads/get", {"thread_id": "t"}, self.key)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json()["thread"]
        return found


@pytest.fixture
def lost(backups: Backups, machines: Machines) -> Lost:
    return Lost(backups, machines)


def test_after_a_lost_disk_agents_go_on_and_what_was_ended_stays_ended(
    lost: Lost, backups: Backups, machines: Machines, engine: str
) -> None:
    assert lost.manifest["engine"] == engine
    place = machines.place()
    report = backups.restore(place)
    assert report["backup"] == lost.manifest
    assert (report["threads"], report["leases_ended"], report["tenants"]) == (4, 1, 2)
    assert report["journal"] == {
        "keys_revoked": 1,
        "subjects_erased": 2,
        "tenant_keys_destroyed": 0,
    }
    examined = backups.run(place, "doctor")
    assert examined.returncode == 0, examined.stdout
    server = machines.serve(place, backups.environment)
    # What was acknowledged before the backup is there, and an agent goes on.
    assert say(server, lost.key, "and now?") == [*lost.password, "and now?", "reply 3"]
    assert "AURORA-42" in lost.password
    with Client(server.url, api_key=lost.key) as client:
        assert client.files.read(("notes",), "/a.md").content == "kept"
    assert say(server, lost.other, "x")[:2] == ["elsewhere", "reply 1"]
    quotas = server.command("quotas", "show", "--tenant", "acme")
    assert "77" in quotas.stdout
    # Keys: revoked, erased with their subjects, and one that was not touched.
    for gone in (lost.lost_key, lost.ann, lost.bob):
        assert status(server, gone) == 401
    assert status(server, lost.other) == 200
    with Client(server.url, api_key=lost.key) as client:
        ids = {it.thread_id for it in client.list_threads().threads}
        assert ids == {"t"}
        subjects = [it.subject for it in client.subjects.list().subjects]
        assert subjects == []
    for act in ("subject_erased", "key_revoked", "secrets_rotated"):
        told = server.command("audit", "--tenant", "acme", "--act", act)
        assert act in told.stdout, told


def test_what_clients_held_is_worth_nothing_at_the_restored_server(
    lost: Lost, backups: Backups, machines: Machines
) -> None:
    place = machines.place()
    backups.restore(place)
    server = machines.serve(place, backups.environment)
    assert status(server, lost.token) == 401
    assert server.get(lost.address).status == 401
    native = Native(server.url, lost.key)
    for held, code in (
        ({"fence": lost.fence}, "fence_stale"),
        ({"generation": lost.generation}, "thread_restored"),
    ):
        with pytest.raises(Refused) as refused:
            native.commit("t", checkpoint("9", {"m": b"late"}), **held)
        assert (refused.value.status, refused.value.code) == (409, code)
    with Client(server.url, api_key=lost.key) as client:
        with pytest.raises(FenceStaleError):
            client.renew_lease("t", "worker", fence=lost.fence, ttl_seconds=60)
        # Nobody holds it, and the next fence is greater than any before.
        assert client.acquire_lease("t", "another", ttl_seconds=60).fence > lost.fence + 1_000_000
    with ThreadkeepStore(server.url, api_key=lost.key) as store:
        with (
            pytest.raises(ThreadkeepError) as refused,
            store.changes(after=lost.position) as changes,
        ):
            next(iter(changes))
        assert refused.value.status == 410


def test_without_the_journal_what_was_ended_comes_back_and_the_command_says_so(
    lost: Lost, backups: Backups, machines: Machines
) -> None:
    """The control of the drill: it is the journal that keeps these away."""
    place = machines.place()
    done = backups.run(
        place,
        *("restore", "--from", f"{backups.folder}/latest"),
        environment={"THREADKEEP_JOURNAL_URL": ""},
    )
    assert done.returncode == 0, done.stderr
    assert "without --journal-url nothing says which keys were revoked" in done.stderr
    server = machines.serve(place, {})
    assert [status(server, key) for key in (lost.lost_key, lost.ann, lost.bob)] == [200] * 3
