"""Databases that LangGraph's own savers filled: every scenario of `equivalence/`, deep agents among them."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg.rows import dict_row

from equivalence.driver import Driver
from equivalence.scenarios import SCENARIOS
from imports.importing import Named, Tenant
from support.postgres import Databases
from support.server import Server


@dataclass
class Source:
    """A database, how it is named, a saver that reads it, and the threads in it."""

    url: str
    saver: Any
    threads: list[str]


@pytest.fixture
def tenant(server: Server) -> Tenant:
    return Tenant(server)


@pytest.fixture(scope="session")
def sqlite_source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    path = tmp_path_factory.mktemp("source") / "checkpoints.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for number, name in enumerate(SCENARIOS):
            driver = Driver(saver, "sync")
            SCENARIOS[name](driver)
            driver.close()
            # Some of the graphs look at the thread `t` while they run, so it gets its name after that.
            for table in ("checkpoints", "writes"):
                named = f"update {table} set thread_id = '{number}/' || thread_id"
                saver.conn.execute(f"{named} where thread_id not like '%/%'")
            saver.conn.commit()
        yield Source(f"sqlite:{path}", saver, threads_of(path))


@pytest.fixture(scope="session")
def postgres_source(databases: Databases) -> Iterator[Source]:
    name = databases.create()
    url = databases.url(name)
    with PostgresSaver.from_conn_string(url) as reader:
        reader.setup()
        for number, scenario in enumerate(SCENARIOS):
            driver = Named(None, "async", f"{number}/")
            driver.saver = driver.run(open_saver(url))
            SCENARIOS[scenario](driver)
            driver.run(driver.saver.conn.close())
            driver.close()
        rows = databases.run("select distinct thread_id from checkpoints", name)
        yield Source(url, reader, [thread for (thread,) in rows])
    databases.drop(name)


async def open_saver(url: str) -> AsyncPostgresSaver:
    connection = await psycopg.AsyncConnection.connect(
        url, autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    saver = AsyncPostgresSaver(connection)
    await saver.setup()
    return saver


@pytest.fixture(params=["sqlite", "postgres"])
def source(request: pytest.FixtureRequest) -> Source:
    """Each of the two."""
    return request.getfixturevalue(f"{request.param}_source")


def threads_of(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("select distinct thread_id from checkpoints").fetchall()
    return [thread for (thread,) in rows]
