"""A fake server and a saver on it for each test, once per HTTP core."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from fake_server import FakeServer
from threadkeep.http import retry
from threadkeep.langgraph import ThreadkeepSaver

# The same examples in every run; a slow machine fails none of them.
settings.register_profile(
    "threadkeep", derandomize=True, deadline=None, database=None, print_blob=True
)
settings.load_profile("threadkeep")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer().start()
    yield fake
    fake.stop()


@pytest.fixture(params=["asyncio", "pyreqwest", "stdlib"])
def transport(request: pytest.FixtureRequest) -> str:
    if request.param == "pyreqwest":
        pytest.importorskip("pyreqwest")
    return str(request.param)


@pytest.fixture
def saver(server: FakeServer, transport: str) -> Iterator[ThreadkeepSaver]:
    made = ThreadkeepSaver(server.url, transport=transport)
    assert made.transport == transport
    yield made
    made.close()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries wait a tenth of their time, and no key of the environment is used."""
    monkeypatch.setattr(retry, "WAIT_SECONDS_FIRST", 0.01)
    monkeypatch.delenv("THREADKEEP_API_KEY", raising=False)
    monkeypatch.delenv("THREADKEEP_URL", raising=False)
