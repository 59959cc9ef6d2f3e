"""The image: its folder is whole, and the program serves from it alone, as another user than root, where only the data can be written."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import settings
from support.http import post_json, request
from support.server import free_port
from support.waiting import wait_until

CONTAINER = settings.ROOT / "deploy" / "container"
USER = 65532
# What an engine does with an image: the root cannot be written, the volume and the temporary folder can, the kernel's folders and
# the host's files for names are there.
ENTER = """
root=$1 data=$2 user=$3
shift 3
mount --bind "$root" "$root"
for given in dev proc etc/hosts etc/resolv.conf; do mount --rbind "/$given" "$root/$given"; done
mount --bind "$data" "$root/data"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec chroot ${user:+"--userspec=$user:$user"} "$root" /threadkeep "$@"
"""

Run = Callable[..., "subprocess.Popen[str]"]


def instructions() -> list[list[str]]:
    """Of the last stage of the Dockerfile."""
    lines = (CONTAINER / "Dockerfile").read_text().splitlines()
    found = [it.split(maxsplit=1) for it in lines if it and not it.startswith("#")]
    last = max(number for number, it in enumerate(found) if it[0] == "FROM")
    return found[last:]


def health_check() -> list[str]:
    """The arguments of the program."""
    (text,) = [it[1] for it in instructions() if it[0] == "HEALTHCHECK"]
    program, *arguments = json.loads(text.split("CMD ", 1)[1])
    assert program == "/threadkeep"
    return arguments


def variables() -> dict[str, str]:
    pairs = [it[1] for it in instructions() if it[0] == "ENV"]
    return dict(pair.split("=", 1) for pair in " ".join(pairs).split())


@pytest.fixture(scope="module")
def root(stripped: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("image") / "root"
    subprocess.run([CONTAINER / "root.sh", stripped, folder], check=True)
    for made_by_the_engine in ("data", "dev", "proc"):
        (folder / made_by_the_engine).mkdir()
    for made_by_the_engine in ("hosts", "resolv.conf"):
        (folder / "etc" / made_by_the_engine).touch()
    for above in (folder, *folder.parents[:3]):
        above.chmod(0o755)
    return folder


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Iterator[Run]:
    """Starts the program with these arguments and variables as a container of the image would."""
    data = tmp_path / "data"
    data.mkdir()
    # Who is not root here is root in a namespace, and no other user is there.
    own = os.geteuid() != 0
    if not own:
        os.chown(data, USER, USER)
    enter = ["unshare", "--mount", *(["--map-root-user"] if own else []), "sh", "-euc", ENTER, "sh"]
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **more: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*enter, root, data, "" if own else str(USER), *arguments],
            env={"PATH": os.environ["PATH"], **variables(), **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_last_stage_has_no_system_and_another_user_than_root() -> None:
    found = instructions()
    assert found[0] == ["FROM", "scratch"]
    assert ["USER", f"{USER}:{USER}"] in found
    assert ["VOLUME", variables()["THREADKEEP_DATA_DIR"]] in found
    assert ["ENTRYPOINT", '["/threadkeep"]'] in found


def test_the_folder_has_the_program_its_libraries_and_nothing_else(root: Path) -> None:
    files = {it.relative_to(root).as_posix() for it in root.rglob("*") if it.is_file()}
    libraries = {it for it in files if re.fullmatch(r"lib(64)?/.*\.so\.\d+", it)}
    own = {"threadkeep", "etc/passwd", "etc/group", "etc/nsswitch.conf"}
    by_the_engine = {"etc/hosts", "etc/resolv.conf"}
    assert files - libraries == own | by_the_engine | {"etc/ssl/certs/ca-certificates.crt"}
    assert any("/ld-linux" in it or it.startswith("lib/ld-linux") for it in libraries)


def test_it_serves_from_a_root_that_cannot_be_written(root: Path, run: Run) -> None:
    made, _ = run("keys", "create", "--tenant", "acme").communicate()
    (key,) = re.findall(r"^tk_\S+$", made, re.M)
    port = free_port()
    server = run("serve", THREADKEEP_LISTEN=f"0.0.0.0:{port}")
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        assert server.poll() is None, server.communicate()[0]
        try:
            return request(url, "GET", "/readyz").status == 200
        except OSError:
            return False

    wait_until(ready, "the server of the image")
    body = {"namespace": ["notes"], "key": "a", "value": {"kept": True}}
    assert post_json(url, "/v1/store/put", body, key=key).status == 200
    healthy = run(*health_check(), THREADKEEP_HEALTHCHECK_URL=url)
    assert healthy.communicate() == ("ready\n", None) and healthy.returncode == 0
    server.terminate()
    assert server.wait(settings.PATIENCE_SECONDS) == 0
    unhealthy = run(*health_check(), THREADKEEP_HEALTHCHECK_URL=url)
    assert "nothing listens there" in unhealthy.communicate()[0] and unhealthy.returncode == 1
    assert list((root / "data").iterdir()) == [], "the data is in the volume"


def test_it_finds_hosts_by_name(run: Run) -> None:
    url = f"postgres://user:password@localhost:{free_port()}/threadkeep"
    said, _ = run("tenants", THREADKEEP_DATABASE_URL=url).communicate()
    assert "nothing listens there" in said
