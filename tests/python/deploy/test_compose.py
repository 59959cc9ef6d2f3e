"""The compose file is one that docker-compose 1.29 reads, with and without its profiles."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import settings

FILE = settings.ROOT / "deploy" / "compose.yaml"
# What docker-compose 1.29.2 reads a file with; its command line asks for a container engine first.
READ = """
import json, sys
from compose.config import config
from compose.config.environment import Environment
folder, name, variables = json.loads(sys.argv[1])
data = config.load(config.find(folder, [name], Environment(variables), None))
print(json.dumps({it["name"]: it for it in data.services}, default=str))
"""
PASSWORDS = {"POSTGRES_PASSWORD": "secret"}


def read(variables: dict[str, str], file: Path = FILE) -> dict[str, Any]:
    """Its services by name. An error of the file is a ValueError that says it."""
    asked = json.dumps([str(file.parent), file.name, variables])
    python = settings.DEPLOY_BIN / "python"
    done = subprocess.run([python, "-c", READ, asked], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def test_the_server_waits_for_postgresql_and_writes_nothing_beside_it() -> None:
    services = read(PASSWORDS)
    server = services["threadkeep"]
    url = "postgres://threadkeep:secret@postgres:5432/threadkeep"
    assert server["environment"]["THREADKEEP_DATABASE_URL"] == url
    assert server["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert server["read_only"] is True and server["cap_drop"] == ["ALL"]
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"] == "secret"


def test_the_health_of_the_server_is_asked_with_the_program_of_the_image() -> None:
    check = read(PASSWORDS)["threadkeep"]["healthcheck"]
    assert check["test"] == ["CMD", "/threadkeep", "healthcheck"]
    help_ = subprocess.check_output([settings.BINARY, *check["test"][2:], "--help"], text=True)
    assert "THREADKEEP_HEALTHCHECK_URL" in help_


def test_others_come_by_profile_alone() -> None:
    profiles = {name: it.get("profiles") for name, it in read(PASSWORDS).items()}
    assert profiles == {
        "threadkeep": None,
        "postgres": None,
        "object-store": ["object-store"],
        "redis": ["redis"],
    }


def test_what_the_environment_does_not_set_the_server_does_not_get() -> None:
    """An empty setting is none that the program takes."""
    given = read(PASSWORDS)["threadkeep"]["environment"]
    assert given["THREADKEEP_REDIS_URL"] is None
    redis = {"THREADKEEP_REDIS_URL": "redis://redis:6379"}
    given = read(PASSWORDS | redis)["threadkeep"]["environment"]
    assert given["THREADKEEP_REDIS_URL"] == redis["THREADKEEP_REDIS_URL"]


def test_without_a_password_it_says_where_to_write_one() -> None:
    with pytest.raises(ValueError, match=r"write it into the file \.env"):
        read({})


def test_an_option_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(FILE.read_text().replace("read_only: true", "readonly: true"))
    with pytest.raises(ValueError, match="readonly"):
        read(PASSWORDS, wrong)
