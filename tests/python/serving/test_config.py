"""Settings from a file and secrets from files, on the real program: which of several wins, what is refused, and what `config` prints."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from support import settings
from support.server import Place, Server, clean_environment

SECRET = "a-password-that-nobody-shows"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threadkeep.toml"


def run(*arguments: str | Path, **variables: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [settings.BINARY, *arguments],
        capture_output=True,
        text=True,
        env=clean_environment() | {name: str(value) for name, value in variables.items()},
        timeout=settings.PATIENCE_SECONDS,
    )


def shown(*arguments: str | Path, **variables: str | Path) -> dict[str, str]:
    """Each setting with its line of `config show`."""
    done = run("config", "show", *arguments, **variables)
    assert done.returncode == 0, done.stderr
    lines = [line.removeprefix("# ") for line in done.stdout.splitlines()]
    return {line.split(" = ")[0].removesuffix(" ="): line for line in lines}


def test_a_flag_goes_before_a_variable_a_variable_before_the_file_the_file_before_the_default(
    file: Path,
) -> None:
    file.write_text("busy-seconds = 7\nretention-interval = 8\nhead-seconds-max = 9\n")
    config = ["--config", file]
    told = shown(
        *config,
        "--busy-seconds",
        "17",
        THREADKEEP_BUSY_SECONDS="27",
        THREADKEEP_RETENTION_INTERVAL="28",
    )

    assert told["busy-seconds"] == "busy-seconds = 17  # the command line"
    assert told["retention-interval"] == "retention-interval = 28  # THREADKEEP_RETENTION_INTERVAL"
    assert told["head-seconds-max"] == f"head-seconds-max = 9  # {file}"
    assert told["connections"] == "connections = 8  # default"


def test_a_server_runs_with_the_file(file: Path) -> None:
    place = Place()
    file.write_text('log-format = "json"\nno-console = true\n')
    server = Server(place, environment={"THREADKEEP_CONFIG": str(file)})
    try:
        server.start()
        assert server.get("/console/").status == 404
        assert server.log.read_text().startswith('{"timestamp"')
    finally:
        server.kill()
        place.remove()


def test_what_is_shown_is_a_file_with_the_same_settings(file: Path) -> None:
    file.write_text(
        'cors-origin = ["https://a.example"]\nkeyless = true\nlisten = "127.0.0.1:7171"\n'
    )
    first = run("config", "show", "--config", file)
    again = file.with_name("again.toml")
    again.write_text(first.stdout)
    second = run("config", "show", "--config", again)

    assert second.returncode == 0, second.stderr
    assert tomllib.loads(first.stdout) == tomllib.loads(second.stdout)
    assert tomllib.loads(first.stdout)["cors-origin"] == ["https://a.example"]


def test_secrets_are_read_from_files_and_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text(f"postgres://me:{SECRET}@127.0.0.1:1/db\n")
    named = {"THREADKEEP_DATABASE_URL_FILE": secret}

    told = shown(**named)["database-url"]
    assert told == "database-url = (hidden)  # THREADKEEP_DATABASE_URL_FILE"
    away = run("tenants", **named)
    assert (away.returncode, SECRET in away.stderr) == (8, False)
    assert "the database at 127.0.0.1:1" in away.stderr


def test_what_is_wrong_is_said_in_a_sentence(file: Path, tmp_path: Path) -> None:
    for text, code, sentence in [
        ("lisen = 1", 2, "`lisen` is no setting; did you mean `listen`?"),
        ("listen = [", 2, "line 1: "),
        ("connections = 1", 2, "invalid value '1' for '--connections <CONNECTIONS>'"),
        ("keyless = 'yes'", 2, "`keyless` is true or false"),
        ("tls-cert = '/none'\ntls-key = '/none'", 4, "the certificate /none cannot be read"),
        ("issuers = '/none'", 4, "/none"),
    ]:
        file.write_text(text)
        done = run("config", "check", "--config", file)
        assert done.returncode == code, done.stderr
        assert sentence in done.stderr
        assert "panicked" not in done.stderr

    file.write_text("")
    assert run("config", "check", "--config", file).stdout == "the settings are right\n"
    assert run("config", "check", "--config", tmp_path / "none").returncode == 4
    assert run("config", "check", "--config", tmp_path).returncode == 7
    file.write_bytes(b"listen = '\xff'")
    assert run("config", "check", "--config", file).returncode == 2
    file.write_text("#" * (1 << 20) + "\n")
    assert run("config", "check", "--config", file).returncode == 2
    both = {"THREADKEEP_DATABASE_URL": "sqlite://x", "THREADKEEP_DATABASE_URL_FILE": file}
    assert "are both set" in run("config", "check", **both).stderr
