"""The server held against its documents by schemathesis: examples, what bounds and types make possible and impossible, random
bodies, and calls that follow each other by the links. Every document, so both media types.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from support import settings
from support.http import JSON, MSGPACK
from support.openapi import run_tool
from support.server import Server

FOLDER = Path(__file__).parent
# Left out: what the document cannot say of a body (bytes instead of characters, one field against another, what is there
# already) is told by 422 and 409, which it names; so an answer that is not a success contradicts nothing.
NOT_PROMISED = "positive_data_acceptance"
# What only another document names is no mistake of this one.
METHODS_OF_OTHERS = "unsupported_method,allow_header_conformance"
# They go on for as long as the caller listens, which schemathesis would do forever.
ENDLESS = ("follow_changes", "follow_threads", "agent_server_follow_events")
IN_JSON, IN_MSGPACK, OF_AGENTRAIL = (
    "/openapi.json",
    "/openapi-msgpack.json",
    "/agentrail/openapi.json",
)
SHORT = ["--phases", "examples,fuzzing", "--max-examples", "2"]
LINKS = ["--phases", "stateful", "--mode", "positive", "--max-examples"]
COVERAGE = ["--phases", "coverage"]
LONG = ["--phases", "fuzzing", "--max-examples", "60"]
# The first ones are always run. The last ones are repeated, with other seeds, until there were requests enough.
ROUNDS = [
    (IN_JSON, SHORT),
    (IN_MSGPACK, SHORT),
    (OF_AGENTRAIL, SHORT),
    (IN_JSON, [*LINKS, "80"]),
    (IN_MSGPACK, COVERAGE),
    (IN_JSON, COVERAGE),
    (OF_AGENTRAIL, COVERAGE),
    (IN_MSGPACK, [*LINKS, "40"]),
    (IN_JSON, LONG),
    (IN_MSGPACK, LONG),
    (OF_AGENTRAIL, LONG),
    (IN_JSON, [*LINKS, "200"]),
    (IN_MSGPACK, [*LINKS, "200"]),
]
ROUNDS_MIN, ROUNDS_MAX, REPEATED = 4, 120, 5
# Links of the document that are followed at least: by each round, of which another seed may lead elsewhere, and by the best one.
LINKS_MIN_EACH, LINKS_MIN = 1, 5


def requests_so_far(server: Server) -> int:
    metrics = server.metrics()
    counts = re.findall(r"^threadkeep_http_request_seconds_count\{.*\} (\d+)$", metrics, re.M)
    return sum(map(int, counts))


def server_errors(server: Server) -> list[str]:
    metrics = server.metrics()
    counts = re.findall(r'^threadkeep_http_request_seconds_count\{.*status="5.*$', metrics, re.M)
    # It may not have been ready when it was asked for the first time.
    return [it for it in counts if "/readyz" not in it]


def accepted_by_type(calls: Path) -> Counter[tuple[str, str]]:
    """How many requests of a type succeeded with an answer of a type: what the server could read, and not only that it was sent."""
    lines = [line.split("\t") for line in calls.read_text().splitlines()]
    return Counter((sent, answered) for sent, status, answered in lines if status.startswith("2"))


def test_no_answer_contradicts_the_document(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server()
    key = server.make_keys(["acme"])[0]
    calls = tmp_path / "calls"
    links = 0
    for number in range(ROUNDS_MAX):
        if number >= ROUNDS_MIN and requests_so_far(server) >= settings.SCHEMATHESIS_REQUESTS:
            break
        at = number if number < len(ROUNDS) else len(ROUNDS) - 1 - number % REPEATED
        document, options = ROUNDS[at]
        left_out = NOT_PROMISED if document == IN_JSON else f"{NOT_PROMISED},{METHODS_OF_OTHERS}"
        done = run_tool(
            "schemathesis",
            *("--config-file", str(FOLDER / "schemathesis.toml")),
            *("run", f"{server.url}{document}", "--header", f"Authorization: Bearer {key}"),
            *options,
            *("--seed", str(number), "--continue-on-failure", "--warnings", "off"),
            *("--exclude-checks", left_out),
            *(part for name in ENDLESS for part in ("--exclude-operation-id", name)),
            *("--suppress-health-check", "all"),
            cwd=tmp_path,
            SCHEMATHESIS_HOOKS="schemathesis_hooks",
            PYTHONPATH=str(FOLDER),
            THREADKEEP_TEST_CALLS=str(calls),
        )
        assert done.returncode == 0, f"round {number}\n{done.stdout}{done.stderr}"
        assert server_errors(server) == []
        if "stateful" in options:
            followed = re.search(r"API Links: +(\d+) covered", done.stdout)
            assert followed, done.stdout
            assert int(followed[1]) >= LINKS_MIN_EACH, f"round {number}\n{done.stdout}"
            links = max(links, int(followed[1]))
    assert links >= LINKS_MIN
    accepted = accepted_by_type(calls)
    assert min(accepted[JSON, JSON], accepted[MSGPACK, MSGPACK]) > 0, accepted
    assert accepted["", MSGPACK] > 0, accepted
    assert requests_so_far(server) >= settings.SCHEMATHESIS_REQUESTS
    assert server.running()
