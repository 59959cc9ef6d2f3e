"""Slow and hostile clients, all at once: others are answered, memory stays bounded, and whoever can be answered is told what
was wrong.
"""

import asyncio
import threading
from collections.abc import Callable

import pytest

from support import settings
from support.attackers import (
    JSON,
    Target,
    allow_connections,
    bomb,
    idle,
    many,
    sends,
    slowloris,
    stops,
)
from support.bad_bodies import COMMIT, good_commit
from support.native import Native
from support.server import Server

HEAD_SECONDS = 5
GIB = 1 << 30
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


class Probe:
    """Somebody else, who works on meanwhile; and a look at the server's memory."""

    def __init__(self, server: Server, key: str):
        self.server, self.native = server, Native(server.url, key)
        self.answered, self.failures = 0, list[str]()
        self.resident_max = server.resident_bytes()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.native.close()

    def _run(self) -> None:
        while not self._over.wait(0.05):
            try:
                body = good_commit()
                self.native.call(COMMIT, body)
                assert self.native.get(body["thread_id"])["checkpoint"]
                self.answered += 1
            except Exception as error:
                self.failures.append(repr(error))
            self.resident_max = max(self.resident_max, self.server.resident_bytes())


@pytest.fixture
def target(start_server: Callable[..., Server]) -> tuple[Server, Target, str]:
    server = start_server(options=["--head-seconds-max", str(HEAD_SECONDS)])
    keys = server.make_keys(["attacker", "other"])
    return server, Target(server.url, keys[0]), keys[1]


def test_others_are_answered_while_it_is_attacked_from_all_sides(
    target: tuple[Server, Target, str],
) -> None:
    server, at, other = target
    allow_connections(settings.IDLE_CONNECTIONS + 400)
    limit = server.get("/v1/limits", other).json()["body_bytes_max"]
    bombs = {name: bomb(at, name, limit + (1 << 20)) for name in ("gzip", "zstd")}
    before = server.resident_bytes()

    async def attack() -> dict[str, set[str]]:
        attacks = {
            "idle": many(settings.IDLE_CONNECTIONS, lambda: idle(at)),
            "half a preface": many(50, lambda: idle(at, PREFACE[:20])),
            "HTTP/2 without requests": many(50, lambda: idle(at, PREFACE + SETTINGS)),
            "slowloris": many(100, lambda: slowloris(at)),
            "a body that stops": many(50, stops(at, "/v1/threads/get", 1000)),
            "1 GB": many(50, stops(at, "/v1/threads/get", GIB)),
            "gzip": many(8, bombs["gzip"]),
            "zstd": many(8, bombs["zstd"]),
        }
        ends = await asyncio.gather(*attacks.values())
        return dict(zip(attacks, ends, strict=True))

    with Probe(server, other) as probe:
        ends = asyncio.run(attack())

    assert probe.failures == []
    assert probe.answered > 20
    closed = {"closed"}
    assert ends.pop("gzip") <= {"413 too_large", "503 overloaded"}
    assert ends.pop("zstd") <= {"413 too_large", "503 overloaded"}
    # The slowest bodies of whoever holds most end when the memory for bodies is full.
    assert ends.pop("a body that stops") <= {"400 malformed_body", "503 overloaded"}
    assert ends == {
        "idle": closed,
        "half a preface": closed,
        "HTTP/2 without requests": closed,
        "slowloris": closed,
        "1 GB": {"413 too_large"},
    }
    grown = probe.resident_max - before
    assert grown < settings.ATTACK_GROWTH_BYTES_MAX, f"{grown >> 20} MiB more at the worst"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_alone_is_told_which_limit_it_broke(
    server: Server, api_key: str, encoding: str
) -> None:
    limit = server.get("/v1/limits", api_key).json()["body_bytes_max"]
    at = Target(server.url, api_key)

    assert asyncio.run(bomb(at, encoding, limit + 1)()) == "413 too_large"


@pytest.mark.parametrize(
    "path",
    ["/v1/threads", "/v1/files/content", "/api/storage/list", "/healthz", "/openapi.json", "/none"],
)
def test_a_hundred_thousand_parameters_are_refused_with_a_code(
    server: Server, api_key: str, path: str
) -> None:
    at = Target(server.url, api_key)
    query = "&".join(f"p{number}=1" for number in range(100_000))

    assert asyncio.run(sends(at, at.head("GET", f"{path}?{query}"))) == "431 head_too_large"


def test_heads_up_to_their_limits_are_read_and_larger_ones_are_refused(
    server: Server, api_key: str
) -> None:
    at = Target(server.url, api_key)
    limits = server.get("/v1/limits", api_key).json()
    url, head = limits["url_bytes_max"], limits["head_bytes_max"]

    def get(path: str, **headers: str) -> str:
        return asyncio.run(sends(at, at.head("GET", path, **headers)))

    whoami = "/v1/whoami?"
    assert get(whoami + "x" * (url - len(whoami))) == "200"
    assert get(whoami + "x" * (url - len(whoami) + 1)) == "431 head_too_large"
    assert get("/v1/whoami", x_long="x" * (head - 500)) == "200"
    assert get("/v1/whoami", x_long="x" * head) == "431 head_too_large"
    assert get("/v1/whoami", x_long="x" * (1 << 20)) == "431 head_too_large"
    many_headers = {f"x_{number}": "1" for number in range(5_000)}
    assert get("/v1/whoami", **many_headers) == "431 head_too_large"


def test_a_gigabyte_is_refused_before_it_is_sent_wherever_a_body_is_whole(
    server: Server, api_key: str
) -> None:
    at, of_operators = (Target(server.url, key) for key in (api_key, server.new_operator_key()))
    documents = [server.get(path).json() for path in ("/openapi.json", "/agentrail/openapi.json")]
    refusals = {}
    for path, item in [it for document in documents for it in document["paths"].items()]:
        for method, operation in item.items():
            if JSON not in operation.get("requestBody", {}).get("content", {}):
                continue
            plain = path.replace("{", "").replace("}", "")
            asked = of_operators if plain.startswith("/v1/operator/") else at
            head = asked.head(
                method.upper(),
                plain,
                content_type=JSON,
                content_length=str(GIB),
                expect="100-continue",
            )
            refusals[operation["operationId"]] = asyncio.run(sends(asked, head))

    assert len(refusals) > 70
    assert set(refusals.values()) == {"413 too_large"}, refusals
