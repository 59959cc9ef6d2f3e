"""Cuts connections to PostgreSQL in the middle of each kind of message, and gives them one fault after the other.

Every acknowledged commit is there afterwards, none is half there, none is doubled.
"""

import random
import time

from support import settings
from support.committers import Crowd, Patient
from support.front import Front, Kind, Network
from support.server import Server
from support.waiting import GaveUp, wait_until

# What every conversation has: the start, statements that are prepared, bound, described and executed, and what answers these.
ASKED = {Kind(False, letter) for letter in ["", "P", "D", "B", "E", "S"]}
ANSWERED = {Kind(True, letter) for letter in "RSKZ1tT2DC"}
# Long enough for most messages to come by themselves; then connections are made anew, which have them all. Each time they get longer:
# a server whose connections broke waits up to some seconds before it makes new ones.
NUDGE_SECONDS = 0.5
FAULT_SECONDS_MAX = 2.0


def cut_within(front: Front, kind: Kind) -> None:
    front.cut_within(kind)
    deadline = time.monotonic() + settings.PATIENCE_SECONDS
    patience = NUDGE_SECONDS
    while time.monotonic() < deadline:
        try:
            return wait_until(lambda: front.is_cut_within, f"a message {kind}", patience)
        except GaveUp:
            front.cut()
            patience *= 2
    raise GaveUp(f"no message {kind}")


def wait_for_a_commit(crowd: Crowd) -> None:
    before = crowd.acknowledged
    wait_until(lambda: crowd.acknowledged > before, "a commit after the fault")


def check(server: Server, crowd: Crowd, key: str) -> None:
    crowd.check_stored(Patient(server.url, key))
    examined = server.command("doctor")
    assert examined.returncode == 0, examined.stdout + examined.stderr


def test_a_cut_in_the_middle_of_each_kind_of_message_loses_nothing(
    front: Front, server_behind: Server
) -> None:
    server, key = server_behind, server_behind.new_key()
    with Crowd(server, key) as crowd:
        for kind in sorted(ASKED | ANSWERED):
            cut_within(front, kind)
            wait_for_a_commit(crowd)
    check(server, crowd, key)


def test_random_faults_of_the_network_lose_nothing(front: Front, server_behind: Server) -> None:
    server, key = server_behind, server_behind.new_key()
    dice = random.Random(settings.NETWORK_SECONDS)
    over_at = time.monotonic() + settings.NETWORK_SECONDS
    faults = 0
    with Crowd(server, key) as crowd:
        while time.monotonic() < over_at:
            fault(front, dice)
            faults += 1
            wait_for_a_commit(crowd)
    assert faults > 0
    check(server, crowd, key)


def fault(front: Front, dice: random.Random) -> None:
    """One of them, which is over when it returns."""
    match dice.choice(["cut", "message", *Network]):
        case "cut":
            front.cut()
        case "message":
            cut_within(front, dice.choice(sorted(front.seen & (ASKED | ANSWERED))))
        case Network() as network:
            front.become(network)
            time.sleep(dice.uniform(0, FAULT_SECONDS_MAX))
            front.become(Network.GOOD)
