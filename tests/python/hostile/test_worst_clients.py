"""The worst client of each kind: alone, then sixteen of them at once. Agents of another tenant finish every turn beside them, the
server stays the same process and within its memory, and every answer is right.
"""

from collections.abc import Iterator

import pytest

from support import settings
from support.attacks import ATTACKS
from support.embeddings_endpoint import EmbeddingsEndpoint
from support.postgres import Databases
from support.server import Place, Server
from support.storm import Enemy, Outcomes, Storm
from support.turns import Turns

# One tenant, sixteen tenants, sixteen honest clients; a quarter of the time for each of the hostile rounds of both engines.
HOSTILE_ROUNDS = 4
HONEST_SHARE = 4


# Those whose work is the database's; the others do the same on both engines.
OF_THE_DATABASE = ["large commits", "searches", "revocations", "followers", "greps"]
# What an attack is told that is not let in at all: it shows nothing.
NOT_LET_IN = {"401 unauthorized", "403 not_granted", "404 not_found"}


def serve(place: Place) -> Iterator[Server]:
    """All settings are the defaults, but that it makes embeddings, which some attack."""
    endpoint = EmbeddingsEndpoint()
    server = Server(place, options=endpoint.options())
    try:
        yield server.start()
    finally:
        server.kill()
        endpoint.stop()
        place.remove()


@pytest.fixture
def serving(engine_databases: Databases | None) -> Iterator[Server]:
    yield from serve(Place(engine_databases))


@pytest.fixture
def on_sqlite() -> Iterator[Server]:
    yield from serve(Place())


@pytest.fixture
def on_postgresql(databases: Databases) -> Iterator[Server]:
    yield from serve(Place(databases))


def attacked(
    server: Server,
    enemies: list[Enemy],
    innocent: str,
    seconds: float,
    turn_seconds_max: float = settings.TURN_SECONDS_MAX,
) -> Outcomes:
    """Agents of the innocent tenant finish their turns while the others attack. Tells what those were told."""
    pid = server.pid
    turns = Turns(server, innocent)
    with Storm(server, enemies, seconds).running() as storm, turns:
        outcomes = storm.wait()

    assert server.running(), server.tail()
    assert server.pid == pid
    assert turns.failures == [], outcomes
    assert len(turns.seconds) >= 3
    assert max(turns.seconds) <= turn_seconds_max, (sorted(turns.seconds)[-5:], outcomes)
    resident = server.resident_bytes_max()
    assert resident <= settings.HOSTILE_RESIDENT_BYTES_MAX, (f"{resident >> 20} MiB", outcomes)
    return outcomes


def attacked_alone(server: Server, attack: str) -> None:
    enemy, innocent = server.make_keys(["enemy", "innocent"])

    (told,) = attacked(
        server,
        [Enemy(attack, enemy)],
        innocent,
        settings.HOSTILE_ALONE_SECONDS,
        settings.ALONE_TURN_SECONDS_MAX,
    ).values()

    assert told["connected"] > 0
    assert not told.keys() & NOT_LET_IN, told


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_neighbour_is_answered_beside(attack: str, on_sqlite: Server) -> None:
    attacked_alone(on_sqlite, attack)


@pytest.mark.parametrize("attack", OF_THE_DATABASE)
def test_a_neighbour_is_answered_on_postgresql_beside(attack: str, on_postgresql: Server) -> None:
    attacked_alone(on_postgresql, attack)


def test_agents_finish_their_turns_beside_the_sixteen_worst_clients_of_one_tenant(
    serving: Server,
) -> None:
    enemy, innocent = serving.make_keys(["enemy", "innocent"])

    attacked(
        serving,
        [Enemy(attack, enemy) for attack in ATTACKS],
        innocent,
        settings.HOSTILE_SECONDS / HOSTILE_ROUNDS,
    )


def test_agents_finish_their_turns_beside_the_worst_clients_of_sixteen_tenants(
    serving: Server,
) -> None:
    names = [f"enemy-{number}" for number in range(len(ATTACKS))]
    *enemies, innocent = serving.make_keys([*names, "innocent"])

    attacked(
        serving,
        [Enemy(attack, key) for attack, key in zip(ATTACKS, enemies, strict=True)],
        innocent,
        settings.HOSTILE_SECONDS / HOSTILE_ROUNDS,
    )


def test_agents_finish_their_turns_beside_sixteen_honest_clients(serving: Server) -> None:
    honest, innocent = serving.make_keys(["honest", "innocent"])

    told = attacked(
        serving,
        [Enemy("honest", honest)] * len(ATTACKS),
        innocent,
        settings.HOSTILE_SECONDS / HOSTILE_ROUNDS / HONEST_SHARE,
    )

    assert all(set(each) == {"200", "connected"} for each in told.values()), told
