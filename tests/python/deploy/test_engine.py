"""A container engine builds the image from the Dockerfile's last stage and runs it; only where THREADKEEP_TEST_DOCKER=required."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import settings
from support.http import post_json, request
from support.server import free_port
from support.waiting import wait_until

CONTAINER = settings.ROOT / "deploy" / "container"
# Of the stage before the last, from which that copies: an image of this name stands for it.
PROGRAM = "program"
IMAGE = "threadkeep-of-the-tests"
# As docs/operate/containers.md runs it; the host's network, since an engine of a test's own has none.
OPTIONS = ["--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
OPTIONS += ["--network=host"]


@pytest.fixture(scope="module")
def engine_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment for `docker`: the engine that runs here, else one with folders and a socket of its own, which ends with us."""
    if subprocess.run(["docker", "version"], capture_output=True).returncode == 0:
        yield dict(os.environ)
        return
    folder = tmp_path_factory.mktemp("engine")
    socket = f"unix://{folder}/socket"
    # What it mounts is gone with it.
    command = ["unshare", "--mount", "dockerd", f"--host={socket}", f"--data-root={folder}/data"]
    command += [f"--exec-root={folder}/exec", f"--pidfile={folder}/pid", "--bridge=none"]
    # It leaves the network of this machine as it is.
    command += ["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
    with (folder / "log").open("wb") as log:
        engine = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    environment = os.environ | {"DOCKER_HOST": socket}
    try:
        wait_until(lambda: _answers(engine, environment, folder / "log"), "the container engine")
        yield environment
    finally:
        engine.terminate()
        engine.wait(settings.PATIENCE_SECONDS)


def _answers(engine: "subprocess.Popen[bytes]", environment: dict[str, str], log: Path) -> bool:
    assert engine.poll() is None, log.read_text()[-2000:]
    asked = subprocess.run(["docker", "version"], capture_output=True, env=environment)
    return asked.returncode == 0


class Docker:
    def __init__(self, environment: dict[str, str]):
        self.environment = environment

    def __call__(self, *arguments: str, given: bytes | None = None) -> str:
        done = subprocess.run(
            ["docker", *arguments], input=given, capture_output=True, env=self.environment
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()


@pytest.fixture(scope="module")
def docker(
    engine_of_tests: dict[str, str], stripped: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Docker]:
    """With the image of the program under test."""
    run = Docker(engine_of_tests)
    folder = tmp_path_factory.mktemp("program")
    subprocess.run([CONTAINER / "root.sh", stripped, folder / "image"], check=True)
    (folder / "data").mkdir()
    packed = subprocess.check_output(["tar", "-c", "-C", folder, "image", "data"])
    run("import", "-", PROGRAM, given=packed)
    text = (CONTAINER / "Dockerfile").read_text()
    last = text[text.rindex("\nFROM ") :]
    run("build", "--tag", IMAGE, "-", given=last.encode())
    yield run
    run("rmi", "--force", IMAGE, PROGRAM)


def test_the_image_serves_from_a_volume(docker: Docker) -> None:
    volume = docker("volume", "create").strip()
    port = free_port()
    listen = f"--env=THREADKEEP_LISTEN=127.0.0.1:{port}"
    mounted = [*OPTIONS, f"--volume={volume}:/data"]
    made = docker("run", "--rm", *mounted, IMAGE, "keys", "create", "--tenant", "acme")
    (key,) = re.findall(r"^tk_\S+$", made, re.M)
    container = docker("run", "--detach", *mounted, listen, IMAGE).strip()
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: ready(url, docker, container), "the server in the container")
        body = {"namespace": ["notes"], "key": "a", "value": {"kept": True}}
        assert post_json(url, "/v1/store/put", body, key=key).status == 200
        address = f"--env=THREADKEEP_HEALTHCHECK_URL={url}"
        assert docker("exec", address, container, "/threadkeep", "healthcheck") == "ready\n"
        docker("stop", "--time", str(settings.PATIENCE_SECONDS), container)
        (state,) = json.loads(docker("inspect", container))
        assert (state["State"]["ExitCode"], state["Config"]["User"]) == (0, "65532:65532")
    finally:
        docker("rm", "--force", "--volumes", container)
        docker("volume", "rm", volume)


def ready(url: str, docker: Docker, container: str) -> bool:
    assert docker("inspect", "--format={{.State.Running}}", container).strip() == "true", docker(
        "logs", container
    )
    try:
        return request(url, "GET", "/readyz").status == 200
    except OSError:
        return False
