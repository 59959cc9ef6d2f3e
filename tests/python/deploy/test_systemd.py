"""systemd takes the unit, with the secrets beside it, and finds little in it that could be closed further; its settings serve."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import settings
from support.server import clean_environment

SYSTEMD = settings.ROOT / "deploy" / "systemd"
UNIT = "threadkeep.service"
SYSTEM_UNITS = Path("/usr/lib/systemd/system")
# Tenths, as `systemd-analyze security` counts them: 100 is a service without any limit.
EXPOSURE_MAX = 15

Done = subprocess.CompletedProcess[str]


def installed(folder: Path, unit: str) -> Path:
    """A system that has the unit, the program and the secrets, and the targets that each system has."""
    units = folder / "usr" / "lib" / "systemd" / "system"
    added = folder / "etc" / "systemd" / "system" / f"{UNIT}.d"
    for made in (units, added, folder / "usr" / "bin"):
        made.mkdir(parents=True)
    for target in SYSTEM_UNITS.glob("*.target"):
        shutil.copy(target, units)
    (units / UNIT).write_text(unit)
    shutil.copy(SYSTEMD / "secrets.conf", added)
    program = folder / "usr" / "bin" / "threadkeep"
    program.touch()
    program.chmod(0o755)
    return folder


def analyze(command: str, folder: Path, *more: str) -> Done:
    asked = ["systemd-analyze", "--no-pager", f"--root={folder}", *more, command, UNIT]
    return subprocess.run(asked, capture_output=True, text=True)


def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    done = analyze("verify", installed(tmp_path, (SYSTEMD / UNIT).read_text()))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("ProtectHome", "ProtectHomes"), ("@system-service", "@no-such"), ("exec\n", "execs\n")],
)
def test_a_unit_with_an_error_is_told(right: str, wrong: str, tmp_path: Path) -> None:
    text = (SYSTEMD / UNIT).read_text().replace(right, wrong, 1)
    assert wrong.strip() in analyze("verify", installed(tmp_path, text)).stderr


@pytest.mark.parametrize(("taken_out", "passes"), [("$^", True), ("^Protect.*\n|^Priv.*\n", False)])
def test_the_unit_leaves_little_open(taken_out: str, passes: bool, tmp_path: Path) -> None:
    text = re.sub(taken_out, "", (SYSTEMD / UNIT).read_text(), flags=re.M)
    options = ["--offline=yes", f"--threshold={EXPOSURE_MAX}"]
    done = analyze("security", installed(tmp_path, text), *options)
    assert (done.returncode == 0) is passes, done.stdout[-200:] + done.stderr


def test_its_user_is_one_that_systemd_makes(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    made = ["systemd-sysusers", f"--root={tmp_path}", SYSTEMD / "sysusers.conf"]
    subprocess.run(made, check=True, capture_output=True)
    names = {it.split(":")[0] for it in (tmp_path / "etc" / "passwd").read_text().splitlines()}
    unit = (SYSTEMD / UNIT).read_text()
    assert names == {*re.findall(r"^User=(.*)$", unit, re.M)} == {"threadkeep"}


def test_its_settings_are_right(tmp_path: Path) -> None:
    unit = (SYSTEMD / UNIT).read_text()
    given = dict(re.findall(r"^Environment=(THREADKEEP_\w+)=(.*)$", unit, re.M))
    assert given["THREADKEEP_DATA_DIR"] == "/var/lib/threadkeep"
    assert "StateDirectory=threadkeep\n" in unit
    given["THREADKEEP_CONFIG"] = str(SYSTEMD / Path(given["THREADKEEP_CONFIG"]).name)
    done = subprocess.run(
        [settings.BINARY, "config", "check"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment() | given,
    )
    assert done.returncode == 0, done.stderr


def test_each_secret_is_read_where_systemd_puts_it() -> None:
    lines = (SYSTEMD / "secrets.conf").read_text().splitlines()
    loaded = {it.split("=")[1].split(":")[0] for it in lines if it.startswith("LoadCredential=")}
    read = {it.rsplit("%d/")[1] for it in lines if it.startswith("Environment=")}
    assert loaded == read and len(loaded) == 5
