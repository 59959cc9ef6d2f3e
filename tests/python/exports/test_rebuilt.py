"""A server is destroyed with everything it stored and rebuilt from a file on the other engine: agents find what they left."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

from langgraph.types import Command
from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore

from equivalence import graphs
from equivalence.differences import same
from equivalence.driver import Driver
from support.server import Server

TENANT = "acme"
TURNS = 7
GRAPHS = {
    "chain": graphs.chain,
    "asking": graphs.asking,
    "nested": lambda kind, saver: graphs.nested(kind, saver, own_memory=True),
}
THREADS = [(name, kind) for name in GRAPHS for kind in graphs.KINDS]


def saver_of(server: Server) -> ThreadkeepSaver:
    return ThreadkeepSaver(server.url, api_key=server.make_keys([TENANT])[0])


def run(saver: ThreadkeepSaver, thread: tuple[str, str]) -> None:
    name, kind = thread
    driver = Driver(saver, "sync")
    graph, config = GRAPHS[name](kind, saver), driver.config("/".join(thread))
    for turn in range(TURNS):
        driver.invoke(graph, {"log": [f"turn {turn}"]}, config)
        if name == "asking" and turn != TURNS - 1:
            driver.invoke(graph, Command(resume="Ada"), config)
            driver.invoke(graph, Command(resume="red"), config)
    if name == "chain":
        old = driver.history(graph, config)[4]
        driver.update(graph, old.config, {"log": ["a fork"]}, as_node="b")
    driver.close()


def story(saver: ThreadkeepSaver, thread: tuple[str, str]) -> list[tuple[str, Any]]:
    """Everything that there is to see of a thread."""
    name, kind = thread
    driver = Driver(saver, "sync")
    driver.all(GRAPHS[name](kind, saver), driver.config("/".join(thread)))
    driver.close()
    return driver.transcript


def export(server: Server, file: Path, *more: str) -> None:
    done = server.command("export", "--tenant", TENANT, "--to", str(file), *more)
    assert done.returncode == 0, done.stderr
    assert "NOT ENCRYPTED" in done.stderr


def read_in(server: Server, file: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    return server.command("import", str(file), "--tenant", TENANT, "--format", "json", *more)


def test_agents_find_what_they_left(servers: tuple[Server, Server], tmp_path: Path) -> None:
    first, second = servers
    saver, file, key = saver_of(first), tmp_path / "acme.export", tmp_path / "key"
    for thread in THREADS:
        run(saver, thread)
    before = {thread: story(saver, thread) for thread in THREADS}
    key.write_bytes(b"k" * 40)
    export(first, file, "--signing-key-file", str(key))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    first.kill()
    first.place.remove()
    would = json.loads(read_in(second, file, "--dry-run").stdout)
    assert would["dry_run"] and would["threads"]["created"] == len(THREADS)
    done = read_in(second, file, "--signing-key-file", str(key))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["threads"]["created"] == len(THREADS)
    saver = saver_of(second)
    for thread in THREADS:
        same(before[thread], story(saver, thread))
    # A second file of the rebuilt server says the same, and importing it changes nothing.
    again = tmp_path / "again.export"
    export(second, again)
    repeated = json.loads(read_in(second, again).stdout)
    assert repeated["threads"] == {
        "created": 0,
        "unchanged": len(THREADS),
        "replaced": 0,
        "conflicts": 0,
    }
    # The conversation goes on where it stopped.
    for name, kind in [("chain", "delta"), ("nested", "delta"), ("nested", "plain")]:
        driver = Driver(saver, "sync")
        graph, config = GRAPHS[name](kind, saver), driver.config(f"{name}/{kind}")
        length = len(driver.state(graph, config).values["log"])
        driver.invoke(graph, {"log": ["after the move"]}, config)
        log = driver.state(graph, config).values["log"]
        assert log[length] == "after the move" and len(log) > length + 1
        driver.close()


def test_a_file_that_is_not_whole_changes_nothing(
    servers: tuple[Server, Server], tmp_path: Path
) -> None:
    first, second = servers
    saver, file = saver_of(first), tmp_path / "acme.export"
    for thread in THREADS[:2]:
        run(saver, thread)
    export(first, file)
    whole = file.read_bytes()
    other_key = tmp_path / "key"
    other_key.write_bytes(b"o" * 32)
    saver_of(second)
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 1
    for damaged, what in [
        (whole[:-1], "ends"),
        (whole[: len(whole) // 2], "ends"),
        (bytes(middle), "does not match its check"),
        (b"nothing of ours", "no export"),
    ]:
        file.write_bytes(damaged)
        done = read_in(second, file)
        assert done.returncode == 1 and what in done.stderr, done.stderr
        assert second.place.query("select count(*) from threads") == [(0,)]
    file.write_bytes(whole)
    done = read_in(second, file, "--signing-key-file", str(other_key))
    assert done.returncode == 1 and "not signed" in done.stderr, done.stderr
    assert second.place.query("select count(*) from threads") == [(0,)]
    assert read_in(second, file).returncode == 0


def test_memories_and_files_move_too(servers: tuple[Server, Server], tmp_path: Path) -> None:
    first, second = servers
    file = tmp_path / "acme.export"
    store = ThreadkeepStore(first.url, api_key=first.make_keys([TENANT])[0])
    for number in range(300):
        store.put(("ann", "memories"), f"k{number}", {"n": number, "text": "x" * number})
    store.put(("ann", "memories"), "k7", {"n": 7, "text": "changed"})
    expected = {item.key: item for item in store.search(("ann",), limit=1000)}
    export(first, file, "--namespace", '["ann"]')
    done = read_in(second, file)
    assert json.loads(done.stdout)["items"]["created"] == 300, done.stderr
    moved = ThreadkeepStore(second.url, api_key=second.make_keys([TENANT])[0])
    assert {item.key: item for item in moved.search(("ann",), limit=1000)} == expected
    assert [it.key for it in moved.search(("ann",), filter={"n": {"$gte": 299}})] == ["k299"]
