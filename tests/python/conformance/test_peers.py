"""This run has the peers that it is meant to try, in these versions and in this environment."""

import json
import re
import sys
from importlib.metadata import distribution

from support import settings

NAMES = (
    "langgraph",
    "langgraph-checkpoint",
    "langchain-core",
    "langchain",
    "deepagents",
    "claude-agent-sdk",
)


def expected_versions() -> dict[str, str]:
    if settings.PEERS is not None:
        return dict(json.loads(settings.PEERS))
    requirements = settings.ROOT / "tests" / "setup" / "requirements.txt"
    pins = dict(re.findall(r"^(\S+)==([^ ;\\]+)", requirements.read_text(), re.MULTILINE))
    return {name: pins[name] for name in NAMES}


def test_the_installed_peers_are_those_that_this_run_is_meant_to_try() -> None:
    expected = expected_versions()
    assert expected, "a run without a peer tries nothing"
    found = {name: distribution(name) for name in expected}
    assert {name: peer.version for name, peer in found.items()} == expected
    for peer in found.values():
        assert str(peer.locate_file("")).startswith(sys.prefix)
