"""The threadkeep server as one program, and servers for tests: `with start() as server: ... server.url`."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Server", "StartError", "program", "start"]

START_SECONDS_MAX = 60
LISTENING = "listening on "
# The shell ends the server when its standard input ends, which happens however this process ends. It closes its standard output, so
# that this ends with the server.
UNTIL_INPUT_ENDS = (
    '"$@" </dev/null & exec >&-; read -r line; kill "$!" 2>/dev/null; wait "$!"'
)


class StartError(RuntimeError):
    """The server did not start; the text is what it said."""


@dataclass(frozen=True)
class Server:
    """A server that runs. Without a key it answers programs of this machine, as tenant `default`."""

    url: str
    data_dir: Path
    log: Path


def program() -> Path:
    """The program of this package."""
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")),
    ]
    # Where pip installs with `--target` or `--prefix`.
    folders += [str(above / "bin") for above in Path(__file__).resolve().parents[1:5]]
    for folder in folders:
        found = Path(folder, "threadkeep.exe" if os.name == "nt" else "threadkeep")
        if found.is_file():
            return found
    raise FileNotFoundError(
        f"the program threadkeep is in none of {', '.join(folders)}"
    )


@contextmanager
def start(*options: str, env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Runs a server on a free port of this machine, with an embedded database in a temporary folder.

    It ends with the block, or with this process. `options` are those of `threadkeep serve`; `env` adds variables. Settings of
    threadkeep in the environment of this process do not count.
    """
    with tempfile.TemporaryDirectory(prefix="threadkeep-") as folder:
        server = Server("", Path(folder, "data"), Path(folder, "log"))
        command = [str(program()), "serve", "--listen", "127.0.0.1:0"]
        command += ["--data-dir", str(server.data_dir), *options]
        with server.log.open("wb") as log:
            process = subprocess.Popen(
                ["sh", "-c", UNTIL_INPUT_ENDS, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=_environment(env or {}),
                cwd=folder,
                # Ctrl-C is for this process, which then ends the block.
                start_new_session=True,
            )
        try:
            url = _listening(process, server.log)
            _wait_until_ready(url, server.log)
            yield Server(url, server.data_dir, server.log)
        finally:
            assert process.stdin and process.stdout
            process.stdin.close()
            process.wait()
            process.stdout.close()


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    own = {
        name: it
        for name, it in os.environ.items()
        if not name.startswith("THREADKEEP_")
    }
    return {**own, **more}


def _listening(process: subprocess.Popen[bytes], log: Path) -> str:
    assert process.stdout
    for line in process.stdout:
        text = line.decode()
        if text.startswith(LISTENING):
            return text[len(LISTENING) :].strip()
    raise StartError(log.read_text(errors="replace").strip())


def _wait_until_ready(url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=START_SECONDS_MAX):
                return
        except (urllib.error.URLError, OSError) as error:
            if time.monotonic() > until:
                raise StartError(log.read_text(errors="replace").strip()) from error
        time.sleep(0.02)
