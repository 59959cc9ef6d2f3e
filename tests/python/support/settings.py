"""Every size and place of the Python suites: variable, default, meaning. Read nowhere else."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name, default))


def _place(name: str) -> Path | None:
    value = os.environ.get(name)
    return Path(value).resolve() if value else None


# The program under test.
BINARY = _place("THREADKEEP_BIN") or ROOT / "target" / "debug" / "threadkeep"
# An earlier version of it; unset, no test of two versions is made (upgrades/).
EARLIER_BINARY = _place("THREADKEEP_TEST_EARLIER_BIN")
# Folder with initdb and postgres (tests/setup/postgres.sh prints it).
PG_BIN = _place("THREADKEEP_TEST_PG_BIN")
# Folder of a second PostgreSQL, one without pgvector; unset: the suite has no such variant.
PG_PLAIN_BIN = _place("THREADKEEP_TEST_PG_PLAIN_BIN")
# An S3-compatible server (tests/setup/object_store.sh prints it).
S3_BIN = _place("THREADKEEP_TEST_S3_BIN") or ROOT / "target" / "s3" / "bin" / "moto_server"
# The programs that read the OpenAPI document (tests/setup/openapi.sh prints their folder).
OPENAPI_BIN = _place("THREADKEEP_TEST_OPENAPI_BIN") or ROOT / "target" / "openapi" / "bin"
# The programs that read the files of deploy/ and .github/ (tests/setup/deploy.sh prints their folder).
DEPLOY_BIN = _place("THREADKEEP_TEST_DEPLOY_BIN") or ROOT / "target" / "deploy" / "bin"
# A container engine is there, or dockerd for one of the tests' own: the image is built and run by it.
HAS_CONTAINERS = os.environ.get("THREADKEEP_TEST_DOCKER") == "required"
# LangGraph's own development server, which the wire is held against.
DEV_SERVER_BIN = _place("THREADKEEP_TEST_DEV_SERVER_BIN") or ROOT / "target" / "dev-server" / "bin"
# Name and version of each peer that this run is meant to try, as JSON; unset, those of requirements.txt.
PEERS = os.environ.get("THREADKEEP_TEST_PEERS")
# deepagents is published for Python 3.11 and later.
HAS_DEEPAGENTS = sys.version_info >= (3, 11)
# The weights of an embedding model (tests/setup/weights.sh prints their folder).
WEIGHTS = _place("THREADKEEP_TEST_WEIGHTS")
# A running PostgreSQL to make databases on instead of starting one. The fault tests, which crash
# theirs, always start it.
DATABASE_URL = os.environ.get("THREADKEEP_TEST_DATABASE_URL")

# Random ids of threads that LangGraph's SDK reaches by their aliases.
ALIAS_IDS = _number("THREADKEEP_TEST_ALIAS_IDS", 100)

# Threads that an earlier version leaves behind (upgrades/).
UPGRADE_THREADS = _number("THREADKEEP_TEST_UPGRADE_THREADS", 2_000)

# Faults: how often the server is killed and the database is shut down under load, how many
# commits are acknowledged in between, and by how many clients at once.
KILLS = _number("THREADKEEP_TEST_KILLS", 3)
DATABASE_SHUTDOWNS = _number("THREADKEEP_TEST_DATABASE_SHUTDOWNS", 1)
COMMITS_BETWEEN_FAULTS = _number("THREADKEEP_TEST_COMMITS_BETWEEN_FAULTS", 40)
COMMITTERS = _number("THREADKEEP_TEST_COMMITTERS", 4)
# How long the network between server and database has one fault after the other.
NETWORK_SECONDS = _number("THREADKEEP_TEST_NETWORK_SECONDS", 12)
# How long the server is away in a rolling restart under agents.
RESTART_SECONDS = _number("THREADKEEP_TEST_RESTART_SECONDS", 2)

# Concurrency: tasks with a thread each, tasks that share one thread, and how long they run.
TASKS_APART = _number("THREADKEEP_TEST_TASKS_APART", 64)
TASKS_TOGETHER = _number("THREADKEEP_TEST_TASKS_TOGETHER", 8)
# Tasks that call each other: how deep. The paths of 26 levels were over the limit once.
NESTED_TASKS = _number("THREADKEEP_TEST_NESTED_TASKS", 150)
CONCURRENCY_SECONDS = _number("THREADKEEP_TEST_CONCURRENCY_SECONDS", 8)
# How much the server's memory may grow between the end of the warm-up (the first half) and the end.
RSS_GROWTH_PERCENT_MAX = _number("THREADKEEP_TEST_RSS_GROWTH_PERCENT_MAX", 50)
# What it may grow by on top, so that a small process is not judged by its caches.
RSS_GROWTH_BYTES_FREE = _number("THREADKEEP_TEST_RSS_GROWTH_MIB_FREE", 48) << 20

# A value that fits into no body, in mebibytes: more than 64, at most 255.
LARGE_VALUE_MIB = _number("THREADKEEP_TEST_LARGE_VALUE_MIB", 80)

# Requests that schemathesis sends to each engine.
SCHEMATHESIS_REQUESTS = _number("THREADKEEP_TEST_SCHEMATHESIS_REQUESTS", 400)

# Attacks: connections that say nothing, and what the server may grow by meanwhile. Bodies that are being read may
# take 256 MiB together.
IDLE_CONNECTIONS = _number("THREADKEEP_TEST_IDLE_CONNECTIONS", 3_000)
ATTACK_GROWTH_BYTES_MAX = _number("THREADKEEP_TEST_ATTACK_GROWTH_MIB_MAX", 512) << 20

# The worst clients: how long they go on, in all rounds of both engines together; how long each goes on alone.
HOSTILE_SECONDS = _number("THREADKEEP_TEST_HOSTILE_SECONDS", 24)
HOSTILE_ALONE_SECONDS = _number("THREADKEEP_TEST_HOSTILE_ALONE_SECONDS", 2)
# What others notice of it: the longest turn of an agent beside one of them and beside all, and all memory that the server may ever
# take. A build without optimization shares its two cores with sixteen attackers.
ALONE_TURN_SECONDS_MAX = _number("THREADKEEP_TEST_ALONE_TURN_SECONDS_MAX", 15)
TURN_SECONDS_MAX = _number("THREADKEEP_TEST_TURN_SECONDS_MAX", 60)
HOSTILE_RESIDENT_BYTES_MAX = _number("THREADKEEP_TEST_HOSTILE_RESIDENT_MIB_MAX", 1_024) << 20

# What one request takes: the size of the part of its body that is the worst.
MEMORY_BODY_BYTES = _number("THREADKEEP_TEST_MEMORY_BODY_MIB", 2) << 20
# And how many requests each of many clients sends at one time.
MEMORY_TURNS = _number("THREADKEEP_TEST_MEMORY_TURNS", 3)

# The store: items that a scan goes through while others change them.
SCAN_ITEMS = _number("THREADKEEP_TEST_SCAN_ITEMS", 3_000)
# The change feed: changes beside followers that take none, and what the server may grow by then.
STALL_CHANGES = _number("THREADKEEP_TEST_STALL_CHANGES", 20_000)
STALL_GROWTH_BYTES_MAX = _number("THREADKEEP_TEST_STALL_GROWTH_MIB_MAX", 24) << 20
# Recall: vectors of 384 dimensions. Over 5,000, so that PostgreSQL asks its index.
VECTORS = _number("THREADKEEP_TEST_VECTORS", 6000)

# Contents: the size of the file, and of the archive, that goes up and down in bounded memory.
CONTENT_MIB = _number("THREADKEEP_TEST_CONTENT_MIB", 160)

# Archives: the size of the workspace that is archived twice.
WORKSPACE_MIB = _number("THREADKEEP_TEST_WORKSPACE_MIB", 24)

# Snapshots: random conversations per graph that are taken and restored.
SNAPSHOT_SEEDS = _number("THREADKEEP_TEST_SNAPSHOT_SEEDS", 1)
# And how many checkpoints a thread has, and files a namespace, that are taken and restored while others commit.
SNAPSHOT_SIZE = _number("THREADKEEP_TEST_SNAPSHOT_SIZE", 200)

# Damages: how many random ones of the embedded database's file are tried.
DAMAGES = _number("THREADKEEP_TEST_DAMAGES", 12)

# How long to wait for something that must happen before giving up. Never a measure of speed.
PATIENCE_SECONDS = _number("THREADKEEP_TEST_PATIENCE_SECONDS", 60)

PYTHON = sys.executable
