"""Hostile clients in a process of their own: `python -m support.storm` reads who they are from standard input.

The time that it goes on for begins when every attack has what it needs. It answers what each client was told.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from support import settings
from support.asking import Client
from support.attackers import allow_connections
from support.attacks import ATTACKS, Attack, honest
from support.overtaking import Interval
from support.server import Server

FOLDER = settings.ROOT / "tests" / "python"
CONNECTIONS_MAX = 3_000
# What an attack needs may be refused to it while the others are under way.
PREPARATION_SECONDS_MAX = 10
Outcomes = dict[str, dict[str, int]]
Sent = dict[str, list[Interval]]


@dataclass(frozen=True)
class Enemy:
    """One client: what it does, and the tenant's key that its token is made with."""

    attack: str
    key: str


class Storm:
    """Attacks a server while the block runs; `wait` ends with the attack."""

    def __init__(self, server: Server, enemies: list[Enemy], seconds: float):
        clients = [_client(server, number, enemy) for number, enemy in enumerate(enemies)]
        self._order = json.dumps({"seconds": seconds, "clients": clients})
        self._process: subprocess.Popen[str] | None = None
        # By attack: the requests of the client.
        self.sent: Sent = {}

    @contextmanager
    def running(self) -> Iterator["Storm"]:
        self._process = subprocess.Popen(
            [settings.PYTHON, "-m", "support.storm"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=FOLDER,
        )
        try:
            yield self
        finally:
            self._process.kill()
            self._process.wait(settings.PATIENCE_SECONDS)

    def wait(self) -> Outcomes:
        """What every client was told, and how often."""
        assert self._process is not None
        said, _ = self._process.communicate(self._order)
        assert self._process.returncode == 0, f"the attackers ended early: {said}"
        told = json.loads(said)
        self.sent = {attack: [(a, b) for a, b in each] for attack, each in told["sent"].items()}
        outcomes: Outcomes = told["outcomes"]
        return outcomes


def _client(server: Server, number: int, enemy: Enemy) -> dict[str, Any]:
    """With a token of a sandbox, and an address of its own, as clients of a network have."""
    subject = f"enemy-{number}"
    made = server.post("/v1/tokens", {"subject": subject, "ttl_seconds": 7_200}, enemy.key)
    assert made.status == 200, made.body
    client = {"url": server.url, "token": made.json()["token"], "subject": subject}
    return {"attack": enemy.attack, "client": client | {"address": f"127.0.0.{number + 10}"}}


async def _attack(order: dict[str, Any]) -> dict[str, Any]:
    kinds: dict[str, Attack] = ATTACKS | {"honest": honest}
    clients = [(each["attack"], Client(**each["client"])) for each in order["clients"]]
    tasks = [asyncio.ensure_future(kinds[attack](client)) for attack, client in clients]
    first = [asyncio.ensure_future(_begun([client for _, client in clients])), *tasks]
    await asyncio.wait(first, timeout=PREPARATION_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
    ended, _ = await asyncio.wait(
        tasks, timeout=order["seconds"], return_when=asyncio.FIRST_EXCEPTION
    )
    for task in first:
        task.cancel()
    for task in ended:
        task.result()
    return {
        "outcomes": {f"{client.subject}, {attack}": client.outcomes for attack, client in clients},
        "sent": {attack: client.requests for attack, client in clients},
    }


async def _begun(clients: list[Client]) -> None:
    for client in clients:
        await client.begun.wait()


def main() -> None:
    order = json.loads(sys.stdin.read())
    allow_connections(CONNECTIONS_MAX)
    print(json.dumps(asyncio.run(_attack(order))))


if __name__ == "__main__":
    main()
