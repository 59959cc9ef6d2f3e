"""Each package is installed from its file alone, without a network, and its server answers; servers for tests end with their process."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from support import settings
from support.http import request
from support.server import Place, Server, clean_environment
from support.waiting import wait_until

STARTS = """
import time, urllib.request
from threadkeep_server import start
with start("--drain-seconds", "0") as server:
    print(server.url, server.data_dir, flush=True)
    time.sleep(600)
"""
USES_THE_FIXTURE = """
import urllib.request

def test_it_answers(threadkeep_server):
    assert urllib.request.urlopen(f"{threadkeep_server.url}/readyz").status == 200
"""
REFUSES = """
from threadkeep_server import StartError, start
try:
    with start("--no-such-option"):
        pass
except StartError as error:
    print(error)
"""
# The block ends, and so does the server, though the process goes on.
STARTS_AND_STOPS = """
import { start } from "threadkeep-server";
const server = await start({ options: ["--drain-seconds", "0"] });
const answer = await fetch(`${server.url}/readyz`);
await server.stop();
const after = await fetch(`${server.url}/readyz`).catch(() => "gone");
console.log(answer.status, after);
"""
TYPED = """
import { program, type Server, start } from "threadkeep-server";
const server: Server = await start({ options: ["--drain-seconds", "0"], env: { A: "b" } });
const texts: string[] = [server.url, server.dataDir, server.log, program()];
await server.stop();
console.log(texts);
"""
STARTS_IN_NODE = """
import { start } from "threadkeep-server";
const server = await start();
console.log(server.url, server.dataDir);
setTimeout(() => {}, 600_000);
"""


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def environment(**more: str) -> dict[str, str]:
    """Nothing is fetched, and no setting of the caller counts."""
    return clean_environment() | {"npm_config_offline": "true", "PIP_NO_INDEX": "1", **more}


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment(),
        timeout=3 * settings.PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def place() -> Iterator[Place]:
    """The embedded database: a package differs on no engine."""
    made = Place()
    try:
        yield made
    finally:
        made.remove()


def answers(program: Path, place: Place) -> None:
    server = Server(place, binary=program)
    try:
        assert server.start().get("/readyz").status == 200
        assert server.stop() == 0
    finally:
        server.kill()


def ends_with_its_process(*command: str | Path, cwd: Path) -> None:
    """The process, killed with nothing said, is no more, and neither is the server it started."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=cwd, env=environment()
    )
    try:
        assert process.stdout
        url, data = process.stdout.readline().split()
        assert request(url, "GET", "/readyz").status == 200
        assert (Path(data) / "threadkeep.db").is_file()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def gone() -> bool:
        try:
            request(url, "GET", "/readyz")
        except OSError:
            return True
        return False

    wait_until(gone, "the server to end with its process")


@pytest.fixture(scope="module")
def environment_of_python(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which the wheel is installed; its python finds the tests' own packages behind it."""
    folder = tmp_path_factory.mktemp("python") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
    run(*pip, "install", "-q", "--no-deps", one(packages, "*.whl"), cwd=folder)
    others = one(folder, "lib/python*/site-packages") / "others.pth"
    others.write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


@pytest.fixture(scope="module")
def project_of_node(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("node")
    (folder / "package.json").write_text('{"type": "module"}')
    files = [one(packages, "threadkeep-server-[0-9]*.tgz"), one(packages, "*-linux-*.tgz")]
    run("npm", "install", "--no-audit", "--no-fund", *files, cwd=folder)
    return folder


def test_the_wheel_brings_the_program_under_both_names(
    environment_of_python: Path, place: Place, tmp_path: Path
) -> None:
    version = run(settings.BINARY, "--version", cwd=tmp_path)
    for name in ("threadkeep", "threadkeep-server"):
        assert run(environment_of_python / name, "--version", cwd=tmp_path) == version
    answers(environment_of_python / "threadkeep-server", place)


def test_a_server_of_python_ends_with_its_process(
    environment_of_python: Path, tmp_path: Path
) -> None:
    ends_with_its_process(environment_of_python / "python", "-c", STARTS, cwd=tmp_path)


def test_a_server_that_does_not_start_says_why(environment_of_python: Path, tmp_path: Path) -> None:
    said = run(environment_of_python / "python", "-c", REFUSES, cwd=tmp_path)
    assert "unexpected argument '--no-such-option'" in said


def test_pytest_has_the_server_as_a_fixture(environment_of_python: Path, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(USES_THE_FIXTURE)
    pytest_ = [environment_of_python / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert "1 passed" in run(*pytest_, cwd=tmp_path)


def test_the_npm_package_brings_the_program(project_of_node: Path, place: Place) -> None:
    version = run(settings.BINARY, "--version", cwd=project_of_node)
    npx = ["npx", "--no-install", "threadkeep-server"]
    assert run(*npx, "--version", cwd=project_of_node) == version
    answers(project_of_node / "node_modules" / ".bin" / "threadkeep-server", place)


def test_a_server_of_node_ends_when_told_and_with_its_process(project_of_node: Path) -> None:
    node = ["node", "--input-type=module", "-e"]
    assert run(*node, STARTS_AND_STOPS, cwd=project_of_node) == "200 gone\n"
    ends_with_its_process(*node, STARTS_IN_NODE, cwd=project_of_node)


def test_the_npm_package_has_its_types(project_of_node: Path) -> None:
    (project_of_node / "typed.ts").write_text(TYPED)
    modules = settings.ROOT / "node_modules"
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    options += ["--typeRoots", str(modules / "@types"), "--types", "node"]
    run(modules / ".bin" / "tsc", *options, "typed.ts", cwd=project_of_node)


def test_the_tarball_brings_the_program_and_its_licences(
    packages: Path, place: Place, tmp_path: Path
) -> None:
    with tarfile.open(one(packages, "*.tar.gz")) as tarball:
        tarball.extractall(tmp_path, filter="data")
    folder = one(tmp_path, "threadkeep-*")
    names = {it.name for it in folder.iterdir()}
    assert names == {
        "threadkeep",
        "LICENSE",
        "THIRD-PARTY-NOTICES",
        "README.md",
        "CHANGELOG.md",
        "systemd",
        "completions",
        "man",
    }
    completions = {it.name for it in (folder / "completions").iterdir()}
    shells = {"threadkeep.bash", "_threadkeep", "threadkeep.fish", "threadkeep.ps1"}
    assert completions == shells
    bash = folder / "completions" / "threadkeep.bash"
    assert bash.read_text() == run(settings.BINARY, "completions", "bash", cwd=tmp_path)
    pages = {it.name for it in (folder / "man" / "man1").iterdir()}
    assert {"threadkeep.1", "threadkeep-serve.1", "threadkeep-keys-create.1"} < pages
    answers(folder / "threadkeep", place)


def test_the_deb_brings_the_program_with_its_unit(
    packages: Path, place: Place, tmp_path: Path
) -> None:
    deb = one(packages, "*.deb")
    subprocess.run(["dpkg-deb", "-x", deb, tmp_path], check=True)
    answers(tmp_path / "usr" / "bin" / "threadkeep", place)
    share = tmp_path / "usr" / "share"
    assert (share / "bash-completion/completions/threadkeep").is_file()
    assert (share / "zsh/vendor-completions/_threadkeep").is_file()
    assert (share / "fish/vendor_completions.d/threadkeep.fish").is_file()
    with gzip.open(share / "man/man1/threadkeep-keys-create.1.gz", "rt") as page:
        assert ".TH threadkeep-keys-create 1" in page.read()
    assert [it for it in (share / "man" / "man1").iterdir() if it.suffix != ".gz"] == []
    unit = (tmp_path / "usr/lib/systemd/system/threadkeep.service").read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", unit, re.M)
    (config,) = re.findall(r"^Environment=THREADKEEP_CONFIG=(.*)$", unit, re.M)
    assert os.access(tmp_path / program[1:], os.X_OK) and (tmp_path / config[1:]).is_file()
    fields = run("dpkg-deb", "--field", deb, "Depends", "Version", cwd=tmp_path)
    assert f"libc6 (>= {'.'.join(map(str, glibc(tmp_path / program[1:])))})" in fields
    assert run(settings.BINARY, "--version", cwd=tmp_path).split()[-1] in fields


def glibc(program: Path) -> tuple[int, ...]:
    """The newest glibc of which the program asks for a symbol: it does not start on an older one."""
    symbols = subprocess.check_output(["objdump", "-T", program], text=True)
    return max(tuple(map(int, it.split("."))) for it in re.findall(r"GLIBC_([\d.]+)", symbols))


def test_the_wheel_says_the_glibc_that_its_program_needs(packages: Path, tmp_path: Path) -> None:
    wheel = one(packages, "*.whl")
    with ZipFile(wheel) as files:
        (name,) = [it for it in files.namelist() if it.endswith(".data/scripts/threadkeep")]
        program = Path(files.extract(name, tmp_path))
    (promised,) = re.findall(r"manylinux_(\d+_\d+)_", wheel.name)
    assert glibc(program) <= tuple(map(int, promised.split("_")))


def test_what_is_in_the_program_is_listed_with_its_licences(packages: Path) -> None:
    """Two programs list it: each crate of the notices is one of the list of maturin, without a path of this machine."""
    text = one(packages, "*.cyclonedx.json").read_text()
    assert str(settings.ROOT) not in text
    listed = {(it["name"], it["version"]) for it in json.loads(text)["components"]}
    with ZipFile(one(packages, "*.whl")) as files:
        (name,) = [it for it in files.namelist() if it.endswith("/THIRD-PARTY-NOTICES")]
        notices = files.read(name).decode()
    titles = re.findall(r"^=+\n((?:\S+ \S+ \(.*\)\n)+)\n", notices, re.M)
    noticed = {tuple(it.split(" ")[:2]) for part in titles for it in part.splitlines()}
    assert {name for name, _ in noticed} >= {"sqlx", "rustls", "libsqlite3-sys", "react"}
    assert len(noticed & listed) > 200
    of_the_console = {name for name, _ in noticed - listed}
    lock = json.loads((settings.ROOT / "package-lock.json").read_text())["packages"]
    assert {it for it in of_the_console if f"node_modules/{it}" not in lock} == set()


def test_all_packages_have_the_version_of_the_program(packages: Path) -> None:
    version = run(settings.BINARY, "--version", cwd=packages).split()[-1]
    versions = set(
        re.findall(r"[-_](\d+\.\d+\.\d+)", " ".join(it.name for it in packages.iterdir()))
    )
    client = tomllib.loads((settings.ROOT / "clients" / "python" / "pyproject.toml").read_text())
    (server,) = client["project"]["optional-dependencies"]["server"]
    assert versions | {server.removeprefix("threadkeep-server==")} == {version}
    main = one(packages, "threadkeep-server-[0-9]*.tgz")
    with tarfile.open(main) as tarball:
        file = tarball.extractfile("package/package.json")
        assert file
        asked = json.load(file)["optionalDependencies"]
    assert set(asked.values()) == {version} and len(asked) == 3
