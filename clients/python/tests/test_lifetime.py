"""Construction, copies, pickling, event loops, forks, closing, and the choice of HTTP core."""

from __future__ import annotations

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
import weakref
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from fake_server import FakeServer
from support import checkpoint, config, metadata
from threadkeep import AsyncClient, Client
from threadkeep.calls import ChannelStorage
from threadkeep.errors import FenceStaleError, InvalidError, LeaseHeldError, ThreadkeepError
from threadkeep.http import transport as transports
from threadkeep.http.settings import settings_of
from threadkeep.http.stdlib_transport import StdlibTransport
from threadkeep.langgraph import ThreadkeepSaver


def put(saver: ThreadkeepSaver, checkpoint_id: str = "c1") -> None:
    saver.put(config(), checkpoint(checkpoint_id, {"a": 1}), metadata(), {"a": 1})


def test_constructing_does_nothing(server: FakeServer) -> None:
    before = threading.active_count()
    saver = ThreadkeepSaver(server.url)
    assert saver._link.connection._pool.transport is None
    assert threading.active_count() == before
    assert server.seen == []


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_of(None, None).url == "http://127.0.0.1:7070"
    monkeypatch.setenv("THREADKEEP_URL", "https://example.org/prefix/")
    monkeypatch.setenv("THREADKEEP_API_KEY", "tk_env")
    assert settings_of(None, None).url == "https://example.org/prefix"
    assert settings_of(None, None).api_key == "tk_env"
    assert settings_of("http://other", "tk_arg").api_key == "tk_arg"


@pytest.mark.parametrize(
    "url", ["ftp://x", "127.0.0.1:7070", "http://", "http://x:port", "http://u@x"]
)
def test_a_wrong_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidError) as raised:
        ThreadkeepSaver(url)
    assert raised.value.field == "url"


def test_other_wrong_settings_are_refused_at_once() -> None:
    for wrong in (
        {"api_key": "a b"},
        {"api_key": "ä"},
        {"api_key": ""},
        {"timeout": 0},
        {"transport": "carrier pigeon"},
    ):
        with pytest.raises(InvalidError):
            ThreadkeepSaver(**wrong)  # type: ignore[arg-type]


def test_a_prefix_in_the_url_is_kept(server: FakeServer, transport: Any) -> None:
    saver = ThreadkeepSaver(server.url + "/prefix/", transport=transport)
    with pytest.raises(ThreadkeepError):
        saver.get_tuple(config())
    assert server.seen[0].path == "/prefix/v1/checkpoints/get"


def test_a_copy_has_its_own_serializer_and_shares_the_rest(saver: ThreadkeepSaver) -> None:
    put(saver)
    clone = copy.copy(saver)
    clone.serde = JsonPlusSerializer(pickle_fallback=True)
    put(clone, "c2")
    assert clone._link is saver._link
    assert saver.serde is not clone.serde
    allowed = saver.with_allowlist([("some", "Type")])
    assert isinstance(allowed, ThreadkeepSaver)
    assert allowed is not saver
    assert allowed._link is saver._link
    assert copy.deepcopy({"saver": saver})["saver"]._link is saver._link


def test_pickling_says_what_to_do(saver: ThreadkeepSaver) -> None:
    with pytest.raises(TypeError, match="construct one in each process"):
        pickle.dumps(saver)


def test_closing_is_optional_and_repeatable(saver: ThreadkeepSaver) -> None:
    with saver:
        put(saver)
    saver.close()
    saver.close()
    put(saver, "c2")


async def test_closing_for_coroutines(saver: ThreadkeepSaver) -> None:
    async with saver:
        assert await saver.aget_tuple(config()) is None
    await saver.aclose()
    assert await saver.aget_tuple(config()) is None


def test_one_saver_on_many_event_loops_leaves_nothing_behind(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    async def work(number: int) -> None:
        name = f"c{number:03}"
        await saver.aput(config(), checkpoint(name, {"a": 1}), metadata(), {"a": 1})
        assert await saver.aget_tuple(config(checkpoint_id=name)) is not None

    loops = []
    for number in range(20):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(work(number))
        loop.close()
        loops.append(weakref.ref(loop))
    del loop
    until = time.monotonic() + 60
    # What a thread of pyreqwest could not let go of at once goes with the next call.
    while any(ref() is not None for ref in loops) and time.monotonic() < until:
        asyncio.run(saver.aget_tuple(config()))
        gc.collect()
        time.sleep(0.01)
    assert [ref for ref in loops if ref() is not None] == []
    assert len(saver._link.acommits._loops) == 0
    if saver.transport in ("asyncio", "pyreqwest"):
        assert len({seen.client_port for seen in server.seen}) == 1, "connections outlive loops"


def test_a_loop_closed_with_work_left_is_let_go(saver: ThreadkeepSaver, server: FakeServer) -> None:
    server.hold = threading.Event()
    loop = asyncio.new_event_loop()
    saver_call = saver.aput(config(), checkpoint("c1"), metadata(), {})
    task = loop.create_task(saver_call)
    loop.run_until_complete(asyncio.sleep(0.05))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop.close()
        server.hold.set()
        asyncio.run(saver.aget_tuple(config()))
        asyncio.run(saver.aput(config(), checkpoint("c2"), metadata(), {}))
        assert loop not in saver._link.acommits._loops
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        del task
        gc.collect()


def test_loops_in_several_threads_at_once(saver: ThreadkeepSaver, server: FakeServer) -> None:
    errors: list[BaseException] = []

    def run(number: int) -> None:
        async def work() -> None:
            for n in range(10):
                await saver.aput_writes(config(checkpoint_id="c"), [("a", n)], f"{number}-{n}")

        try:
            asyncio.run(work())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert len(server.store.threads["t"].writes) == 60


def in_child(work: Any) -> str:
    """Run in a forked child; what it returned, or its error, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                text = str(work())
            except BaseException as error:
                text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_forked_child_goes_on_and_the_parent_is_not_disturbed(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    put(saver)

    def work() -> Any:
        saver.put_writes(config(checkpoint_id="c1"), [("a", 2)], "child")
        asyncio.run(saver.aput_writes(config(checkpoint_id="c1"), [("a", 2)], "child-2"))
        found: Any = saver.get_tuple(config())
        saver.close()
        return saver.transport, found.checkpoint["channel_values"]

    core = "asyncio" if saver.transport == "asyncio" else "stdlib"
    assert in_child(work) == f"('{core}', {{'a': 1}})"
    put(saver, "c2")
    first, *of_child, last = server.seen
    assert first.client_port == last.client_port, "the parent's connection lives"
    assert first.client_port not in {seen.client_port for seen in of_child}
    assert of_child[0].body["writer"] != first.body["writer"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore")
def test_a_child_forked_while_locks_are_held_does_not_hang(
    saver: ThreadkeepSaver, server: FakeServer
) -> None:
    server.hold = threading.Event()
    busy = threading.Thread(target=put, args=(saver,), daemon=True)
    busy.start()
    server.wait_for(1)
    locks = (saver._link.memory._lock, saver._link.commits._lock, saver._link.connection._pool.lock)
    for lock in locks:
        lock.acquire()
    release = server.hold

    def work() -> Any:
        release.set()
        return saver.get_tuple(config("other"))

    try:
        assert in_child(work) == "None"
    finally:
        for lock in locks:
            lock.release()
        release.set()
    busy.join(10)
    assert not busy.is_alive()


def test_a_spawned_process_constructs_its_own(server: FakeServer) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read_in_process, (server.url,)) == "None"


def _read_in_process(url: str) -> str:
    return str(ThreadkeepSaver(url).get_tuple(config()))


def without_the_fast_core(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    lines = "import sys; sys.modules['pyreqwest'] = sys.modules['pyreqwest.client'] = None\n"
    return subprocess.run(
        [sys.executable, *options, "-c", lines + program],
        capture_output=True,
        text=True,
        check=True,
    )


def test_a_missing_core_is_said_once_and_the_other_is_used() -> None:
    run = without_the_fast_core(
        "from threadkeep.langgraph import ThreadkeepSaver\n"
        "savers = [ThreadkeepSaver('https://127.0.0.1') for _ in range(2)]\n"
        "print('constructed', file=sys.stderr)\n"
        "print([saver.transport for saver in savers])\n"
    )
    assert run.stdout == "['stdlib', 'stdlib']\n"
    before, after = run.stderr.split("constructed\n")
    assert (before, after.count("\n")) == ("", 1)
    assert after.startswith("threadkeep: the HTTP core pyreqwest cannot be used here")


@pytest.mark.parametrize("core", ["asyncio", "stdlib"])
def test_a_core_leaves_nothing_open_that_was_dropped(server: FakeServer, core: str) -> None:
    """With -W error the first call works, and a socket that is left open shows."""
    run = without_the_fast_core(
        "import asyncio, gc\n"
        "from threadkeep import AsyncClient, Client\n"
        "from threadkeep.langgraph import ThreadkeepSaver, ThreadkeepStore\n"
        "config = {'configurable': {'thread_id': 't', 'checkpoint_ns': ''}}\n"
        "def use():\n"
        f"    ThreadkeepSaver({server.url!r}, transport={core!r}).get_tuple(config)\n"
        f"    saver = ThreadkeepSaver({server.url!r}, transport={core!r})\n"
        "    asyncio.run(saver.aget_tuple(config))\n"
        f"    Client({server.url!r}, transport={core!r}).limits()\n"
        f"    asyncio.run(AsyncClient({server.url!r}, transport={core!r}).limits())\n"
        "for _ in range(3):\n"
        "    use()\n"
        "    gc.collect()\n"
        f"kept = Client({server.url!r}, transport={core!r})\n"
        "kept.limits()\n",
        "-W",
        "error",
    )
    assert run.stderr == ""


def test_an_explicit_core_is_never_replaced(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "threadkeep.http.pyreqwest_transport", None)
    with pytest.raises(ImportError):
        transports.open_transport(settings_of(server.url, None, transport="pyreqwest"))


def test_proxies_of_the_environment_are_not_for_this_machine(
    server: FakeServer, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    saver = ThreadkeepSaver(server.url, transport=transport)
    assert saver.get_tuple(config()) is None
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    remote = StdlibTransport(settings_of("http://example.org", None))
    assert remote._proxy == ("127.0.0.1", 9)
    assert remote._target("/x") == "http://example.org/x"


def test_the_native_client(server: FakeServer, transport: Any) -> None:
    saver = ThreadkeepSaver(server.url, transport=transport)
    put(saver)
    with Client(server.url, transport=transport) as client:
        client.healthz()
        assert client.limits() == {"ops": 256}
        assert client.whoami().tenant == "default"
        thread = client.get_thread("t")
        assert thread is not None
        assert (thread.checkpoint_count, thread.owner) == (1, None)
        assert client.get_thread("unknown") is None
        takes = client.get_thread_storage("a b&thread_id=c")
        assert server.seen[-1].path == "/v1/threads/storage?thread_id=a+b%26thread_id%3Dc"
        assert takes is not None
        assert (takes.stored_bytes, takes.shared_with, takes.share_saved) == (1, 7, 0.5)
        assert takes.channels == [ChannelStorage("m", 2, 9, 5)]
        page = client.list_threads(limit=5, sort="created", prefix="a b&")
        assert [t.thread_id for t in page.threads] == ["t"]
        assert server.seen[-1].path == "/v1/threads?limit=5&sort=created&prefix=a+b%26"
        lease = client.acquire_lease("t", "me", ttl_seconds=30)
        with pytest.raises(LeaseHeldError):
            client.acquire_lease("t", "you", ttl_seconds=30)
        with pytest.raises(FenceStaleError):
            client.renew_lease("t", "me", fence=lease.fence - 1, ttl_seconds=30)
        assert client.renew_lease("t", "me", fence=lease.fence, ttl_seconds=30).fence == lease.fence
        client.release_lease("t", "me", fence=lease.fence)


async def test_the_native_async_client(server: FakeServer, transport: Any) -> None:
    async with AsyncClient(server.url, transport=transport) as client:
        await client.healthz()
        assert await client.limits() == {"ops": 256}
        assert (await client.whoami()).tenant == "default"
        assert await client.get_thread("t") is None
        assert await client.get_thread_storage("t") is None
        assert (await client.list_threads()).threads == []
        lease = await client.acquire_lease("t", "me", ttl_seconds=30)
        lease = await client.renew_lease("t", "me", fence=lease.fence, ttl_seconds=30)
        await client.release_lease("t", "me", fence=lease.fence)


def test_a_process_ends_after_its_last_answer_was_handed_over(server: FakeServer) -> None:
    """A thread of the HTTP core that was still at it aborted one process of six."""
    pytest.importorskip("pyreqwest")
    program = f"""
import atexit, asyncio, time
begun = time.monotonic()

def tell():
    at = pyreqwest_transport._handed_over.at
    print(at > begun, time.monotonic() - at)

# Registered first, so that it runs last.
atexit.register(tell)
from threadkeep import AsyncClient
from threadkeep.http import pyreqwest_transport
asyncio.run(AsyncClient({server.url!r}, transport="pyreqwest").limits())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    was_handed_over, waited = done.stdout.split()
    assert was_handed_over == "True"
    assert float(waited) >= 0.1


def test_a_client_outlives_the_thread_that_used_it_first(server: FakeServer) -> None:
    """The fast core dies of it where that thread has imported it."""
    program = f"""
import threading
from threadkeep import Client

client = Client({server.url!r})
for _ in range(5):
    thread = threading.Thread(target=client.get_thread, args=("t",))
    thread.start()
    thread.join()
client.get_thread("t")
print(client.transport)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(server.requests("/v1/threads/get")) == 6
