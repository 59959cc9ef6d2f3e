"""`threadkeep-sync` as the command that it is: a folder of the desktop in the drive of the cloud."""

import hashlib
import subprocess
import sys
from pathlib import Path

from threadkeep import Client, label
from threadkeep.deepagents import drive_backend

from support.server import Server, clean_environment

USER = "ann@example.test"


def run(
    server: Server, key: str, folder: Path, *options: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "threadkeep.sync", str(folder), "--user", USER, *options],
        env=clean_environment() | {"THREADKEEP_URL": server.url, "THREADKEEP_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_an_agent_wrote_on_the_desktop_is_there_in_the_cloud(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    desktop = drive_backend(USER, "desktop", tmp_path, url=server.url, api_key=api_key)
    desktop.write("/src/a.py", "x = 1\n")
    desktop.upload_files([("/workspace/p.png", bytes(range(256)))])
    desktop.write("/memories/m.md", "remember")
    done = run(server, api_key, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2 uploaded (262 bytes), 0 unchanged" in done.stdout
    cloud = drive_backend(USER, url=server.url, api_key=api_key)
    assert cloud.read("/workspace/src/a.py").file_data["content"] == "x = 1\n"
    assert cloud.download_files(["/p.png"])[0].content == bytes(range(256))
    assert cloud.read("/memories/m.md").file_data["content"] == "remember"


def test_a_second_run_sends_what_changed_and_removes_what_it_is_told_to(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    for at in range(30):
        (tmp_path / f"{at:02}.bin").write_bytes(hashlib.sha256(b"%d" % at).digest() * at)
    assert run(server, api_key, tmp_path).returncode == 0
    (tmp_path / "05.bin").write_bytes(b"x" * 160)
    (tmp_path / "06.bin").unlink()
    dry = run(server, api_key, tmp_path, "--delete", "--dry-run")
    done = run(server, api_key, tmp_path, "--delete")
    assert (dry.returncode, done.returncode) == (0, 0), done.stderr
    summary = "1 uploaded (160 bytes), 28 unchanged, 1 deleted, 0 kept, 0 skipped, 0 failed"
    assert dry.stdout.splitlines()[-1] == f"would be: {summary}"
    assert done.stdout.splitlines()[-1] == summary
    with Client(server.url, api_key=api_key) as client:
        place = (label(USER), "workspace")
        entries = client.files.ls(place, recursive=True).entries
        found = client.files.download(place, [entry.path for entry in entries])
    assert {one.path: one.data for one in found} == {
        f"/{file.name}": file.read_bytes() for file in tmp_path.iterdir()
    }
