"""Agents that mean no harm: they take turns, hold every answer against what they know, and note how long a turn took."""

import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from support import settings
from support.http import post_json
from support.native import Native, Refused, checkpoint, writes
from support.overtaking import Requests, now
from support.server import Server


class Wrong(AssertionError):
    """An answer is not what this agent stored."""


class Agent:
    """One thread, one namespace with items and files. Nobody else writes there."""

    def __init__(self, url: str, key: str, name: str, requests: Requests):
        self.url, self.key, self.name, self.requests = url, key, name, requests
        self.native = Native(url, key)
        self.step = 0

    def turn(self, number: int) -> None:
        self._work(number)
        self._remember(number)
        self._edit(number)

    def _work(self, number: int) -> None:
        for _ in range(3):
            self.step += 1
            at, value = f"{self.step:08}", f"{self.name} {number} {self.step}".encode()
            ops = [checkpoint(at, {"messages": value}, step=self.step), writes(at, "task", [value])]
            self._patiently(partial(self.native.commit, self.name, *ops))
            got = self._patiently(partial(self.native.get, self.name))["checkpoint"]
            same("checkpoint", got["checkpoint_id"], at)
            same("value", [each["data"] for each in got["values"]], [value])
            same("writes", [each["data"] for each in got["writes"]], [value])

    def _remember(self, number: int) -> None:
        item = {"namespace": [self.name, "notes"], "key": "note"}
        self._post("/v1/store/put", item | {"value": {"turn": number}})
        same("item", self._post("/v1/store/get", item)["item"]["value"], {"turn": number})
        found = self._post(
            "/v1/store/search", {"prefix": item["namespace"], "filter": {"turn": {"$eq": number}}}
        )
        same("hits", [each["key"] for each in found["items"]], ["note"])

    def _edit(self, number: int) -> None:
        place = {"namespace": [self.name, "files"], "path": f"/{number}.md"}
        self._post("/v1/files/write", place | {"content": f"turn {number}: to do"})
        self._post("/v1/files/edit", place | {"old_string": "to do", "new_string": "done"})
        same("file", self._post("/v1/files/read", place)["content"], f"turn {number}: done")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        key = {"Idempotency-Key": uuid4().hex}

        def ask() -> Any:
            answer = post_json(self.url, path, body, key=self.key, headers=key)
            if answer.status != 200:
                raise Refused(answer.status, answer.body)
            return json.loads(answer.body)

        return self._patiently(ask)

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """As the clients do: 503 says that it may be asked again. It counts in the time of the turn."""
        until = time.monotonic() + settings.TURN_SECONDS_MAX
        while True:
            sent = now()
            try:
                return call()
            except Refused as refused:
                if refused.status != 503 or time.monotonic() > until:
                    raise
            finally:
                self.requests.note(sent)
            time.sleep(0.1)


def same(what: str, seen: object, expected: object) -> None:
    if seen != expected:
        raise Wrong(f"{what}: {seen!r}, not {expected!r}")


class Turns:
    """Agents of one tenant, who take turns while the block runs."""

    def __init__(self, server: Server, key: str, agents: int = 3):
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self.requests = Requests()
        self._over = threading.Event()
        names = [f"agent-{number}" for number in range(agents)]
        each = [Agent(server.url, key, name, self.requests) for name in names]
        self._threads = [threading.Thread(target=self._run, args=(agent,)) for agent in each]

    def __enter__(self) -> "Turns":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, agent: Agent) -> None:
        number = 0
        while not self._over.wait(0.1):
            number += 1
            begun = time.monotonic()
            try:
                agent.turn(number)
            except Exception as error:
                self.failures.append(f"{agent.name}, turn {number}: {error!r}")
            self.seconds.append(time.monotonic() - begun)
        agent.native.close()
