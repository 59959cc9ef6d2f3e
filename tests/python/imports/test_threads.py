"""Threads of LangGraph's own savers: after an import every checkpoint, write and history is what they tell of it."""

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from threadkeep.errors import CodecError

from equivalence import raw
from equivalence.agents import talk, talker
from equivalence.differences import same
from equivalence.driver import Driver
from imports.conftest import Source
from imports.importing import Tenant, compare_thread, counted
from imports.sources import held
from support import settings
from support.postgres import Databases
from support.server import clean_environment
from support.waiting import wait_until

COPIES = 5
SHOWN_EVERY_SECONDS = 10.1


def test_every_thread_is_what_its_saver_tells(source: Source, tenant: Tenant) -> None:
    before = held(source.url)
    report = tenant.imported(source.url)
    assert held(source.url) == before
    ours = tenant.saver()
    checkpoints = sum(compare_thread(source.saver, ours, thread) for thread in source.threads)
    assert report["threads"]["imported"] == len(source.threads) > 20
    assert report["checkpoints"]["imported"] == checkpoints > 300
    assert report["writes"]["imported"] > 300
    again = tenant.imported(source.url)
    assert counted(again, "imported") == {} == counted(again, "failed")
    assert counted(again, "unchanged") == counted(report, "imported")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_agent_goes_on_where_it_was_and_new_turns_follow(
    kind: str, tenant: Tenant, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        url = f"sqlite:{tmp_path}/a.db"
        opened: Any = SqliteSaver.from_conn_string(f"{tmp_path}/a.db")
    else:
        databases: Databases = request.getfixturevalue("databases")
        address = databases.url(databases.create())
        url, opened = address, PostgresSaver.from_conn_string(address)
    with opened as theirs:
        theirs.setup()
        told = [Driver(theirs, "sync"), Driver(tenant.saver(), "sync")]
        graph = talker(theirs, range(4), 5)
        talk(told[0], graph, range(3), told[0].config())
        first = tenant.imported(url)
        # The source goes on: a second import brings that and nothing else.
        talk(told[0], graph, range(3, 4), told[0].config())
        second = tenant.imported(url)
        assert second["checkpoints"]["unchanged"] == first["checkpoints"]["imported"]
        assert second["checkpoints"]["imported"] > 0
        stories = []
        for driver in told:
            driver.transcript.clear()
            follower = talker(driver.saver, range(4, 5), 2)
            driver.normalise = type(driver.normalise)()
            driver.all(follower)
            talk(driver, follower, range(4, 5), driver.config())
            driver.all(follower)
            stories.append(driver.transcript)
        same(*stories)


def test_what_was_added_here_stays(tenant: Tenant, tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(f"{tmp_path}/a.db") as theirs:
        chain = raw.Chain(lambda name, *more, **named: getattr(theirs, name)(*more, **named), "t")
        first = chain.put(None, {"a": 1}, {"a": [1]})
        chain.write(first, "task", "", ("a", 1))
        tenant.imported(f"sqlite:{tmp_path}/a.db")
        ours = tenant.saver()
        ours.put_writes(chain.config(first), [("b", 2)], "other", "")
        ours.put(
            chain.config(first),
            raw.checkpoint("z", {"a": 2}, {"a": [2]}),
            raw.metadata(9),
            {"a": 2},
        )
        before = list(ours.list(chain.config()))
        # A write that came late at the source, of a checkpoint that is here.
        chain.write(first, "task", "", ("a", 1), ("c", 3))
        report = tenant.imported(f"sqlite:{tmp_path}/a.db")
        assert counted(report, "imported") == {"threads": 1, "writes": 1}
        after = list(ours.list(chain.config()))
        assert after[0] == before[0]
        assert sorted(after[1].pending_writes) == [
            ("other", "b", 2),
            ("task", "a", 1),
            ("task", "c", 3),
        ]


def test_an_import_that_was_killed_is_taken_up(
    sqlite_source: Source, tenant: Tenant, tmp_path: Path
) -> None:
    path = multiplied(sqlite_source, tmp_path / "many.db")
    ours = tenant.saver()
    process = in_the_middle(tenant, path)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    report = tenant.imported(f"sqlite:{path}")
    assert report["checkpoints"]["unchanged"] > 0 and report["checkpoints"]["imported"] > 0
    with SqliteSaver.from_conn_string(str(path)) as theirs:
        for thread in sqlite_source.threads[::4]:
            compare_thread(theirs, ours, thread)
            compare_thread(theirs, ours, f"{thread} copy {COPIES - 1}")
    assert counted(tenant.imported(f"sqlite:{path}"), "imported") == {}


def test_how_far_it_is_is_shown_meanwhile(
    sqlite_source: Source, tenant: Tenant, tmp_path: Path
) -> None:
    """On the error output: it is shown every ten seconds, which are spent standing still."""
    process = in_the_middle(tenant, multiplied(sqlite_source, tmp_path / "many.db"))
    process.send_signal(signal.SIGSTOP)
    time.sleep(SHOWN_EVERY_SECONDS)
    process.send_signal(signal.SIGCONT)
    report, told = process.communicate(timeout=5 * settings.PATIENCE_SECONDS)
    assert process.returncode == 0, told
    # Between them there may be lines of the log.
    lines = [line for line in told.decode().splitlines() if line.startswith("threadkeep: ")]
    first, *others = lines
    assert first.startswith("threadkeep: importing from ")
    progress = re.compile(r"threadkeep: (\d+) threads, (\d+) checkpoints, .* so far, 0 failed")
    shown = [progress.fullmatch(line) for line in others]
    assert shown and all(shown), told
    reached = [int(it[2]) for it in shown if it]
    assert reached == sorted(reached)
    assert reached[-1] <= json.loads(report)["checkpoints"]["imported"]


def in_the_middle(tenant: Tenant, path: Path) -> "subprocess.Popen[bytes]":
    """An import that has brought something and not all."""
    process = subprocess.Popen(
        tenant.command(f"sqlite:{path}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tenant.server.place.folder,
        env=clean_environment(),
    )
    ours = tenant.saver()
    wait_until(lambda: next(iter(ours.list(None, limit=1)), None), "the first checkpoint to arrive")
    return process


def multiplied(source: Source, path: Path) -> Path:
    """Its database with several copies of every thread."""
    source.saver.conn.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(source.url.removeprefix("sqlite:"), path)
    multiply(path)
    return path


def multiply(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("checkpoints", "writes"):
            columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
            others = ", ".join(name for name in columns if name != "thread_id")
            for copy in range(COPIES):
                connection.execute(
                    f"insert into {table} (thread_id, {others}) select thread_id || ' copy {copy}', {others} "
                    f"from {table} where thread_id not like '% copy %'"
                )


def test_a_dry_run_says_what_would_come_and_writes_nothing(source: Source, tenant: Tenant) -> None:
    report = tenant.imported(source.url, "--dry-run")
    assert report["dry_run"] is True
    assert report["threads"]["imported"] == len(source.threads)
    assert list(tenant.saver().list(None)) == []
    assert counted(tenant.imported(source.url), "imported") == counted(report, "imported")
    assert counted(tenant.imported(source.url, "--dry-run"), "imported") == {}


def test_odd_rows_are_named_and_the_others_come(tenant: Tenant, tmp_path: Path) -> None:
    path = tmp_path / "odd.db"
    with SqliteSaver.from_conn_string(str(path)) as theirs:
        for thread in ("good", "bad", "worse", "pickled"):
            chain = raw.Chain(
                lambda name, *more, **named: getattr(theirs, name)(*more, **named), thread
            )
            chain.put(chain.put(None, {"a": 1}, {"a": [1]}), {"a": 2}, {"a": [2]})
        change = "update checkpoints set {} where thread_id = '{}' and checkpoint_id = 'c0001'"
        for what, thread in [
            ("checkpoint = substr(checkpoint, 1, 40)", "bad"),
            ("metadata = '{\"step\": NaN}'", "worse"),
            ("type = 'pickle'", "pickled"),
        ]:
            theirs.conn.execute(change.format(what, thread))
        theirs.conn.commit()
        done = tenant.run(f"sqlite:{path}")
        report = json.loads(done.stdout)
        assert done.returncode == 1
        assert counted(report, "failed") == {"threads": 3, "checkpoints": 3}
        assert report["checkpoints"]["imported"] == 5
        places = [failure["place"] for failure in report["failures"]]
        assert [json.loads(place.split()[1].rstrip(",")) for place in places] == [
            "bad",
            "pickled",
            "worse",
        ]
        assert all('checkpoint "c0001"' in place for place in places)
        compare_thread(theirs, tenant.saver(), "good")


def test_values_that_only_their_codec_can_read_are_carried(
    databases: Databases, tenant: Tenant
) -> None:
    """Also inline numbers that MessagePack cannot hold, versions that are numbers, and writes without a checkpoint."""
    name = databases.create()
    with PostgresSaver.from_conn_string(databases.url(name)) as theirs:
        theirs.setup()
        chain = raw.Chain(lambda name, *more, **named: getattr(theirs, name)(*more, **named), "t")
        values = {
            "big": 2**70,
            "float": 1.0,
            "text": "\u00e9",
            "no": None,
            "yes": True,
            "list": [1],
        }
        first = chain.put(None, dict.fromkeys(values, 1), values)
        second = chain.put(first, dict.fromkeys(values, 1), values, new=[])
        chain.put(second, {"list": 1.5, "gone": 2}, {"list": [2]})
        chain.write("later", "task", "~1", ("a", [1]))
        compare = lambda: compare_thread(theirs, tenant.saver(), "t")  # noqa: E731
        tenant.imported(databases.url(name))
        assert compare() == 3
        # Its checkpoint comes at last, here: the write is there.
        ours = tenant.saver()
        ours.put(chain.config(second), raw.checkpoint("later", {}, {}), raw.metadata(4), {})
        found = ours.get_tuple(chain.config("later"))
        assert found is not None and found.pending_writes == [("task", "a", [1])]
        databases.run(
            "update checkpoint_blobs set type = 'pickle', blob = 'cos\nsystem\n.' where version = '1.5'",
            name,
        )
    other = Tenant(tenant.server)
    other.imported(databases.url(name))
    config = chain.config("c0003")
    with pytest.raises(CodecError, match="pickle"):
        other.saver().get_tuple(config)
