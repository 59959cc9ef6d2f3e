"""A newcomer at one terminal: a folder, a shell whose variables stay, a server, and programs in two languages.

Each section of a document is read by itself, on a new server with an empty embedded database and without keys, at the address
that the documents call http://127.0.0.1:7070. What was installed stays for the whole document.
"""

import json
import os
import re
import shlex
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from readmes.blocks import Block
from readmes.javascript_blocks import program
from support import settings
from support.http import request
from support.server import clean_environment, free_port
from support.waiting import wait_until

HERE = Path(__file__).parent
# Each of them runs alone on a busy machine.
SECONDS_MAX = 5 * settings.PATIENCE_SECONDS
SERVE = re.compile(r"^(?:make -C \S+ run|threadkeep serve)\b(?P<arguments>[^#]*)")
STATUS = re.compile(r"^HTTP (\d+)$", re.M)
ANNOUNCED = re.compile(r"#.*?\b([45]\d\d)\b")
# The programs that the tests put before the system's.
CURL = """#!/bin/sh
exec /usr/bin/curl "$@" -w '%{stderr}\\nHTTP %{http_code}\\n'
"""
# What a target does is tested elsewhere; here, that there is one. Packing is the installation itself.
MAKE = """#!/bin/sh
case "$*" in *npm-package) exec /usr/bin/make "$@";; esac
exec /usr/bin/make --dry-run "$@" >/dev/null
"""


class BlockFailed(AssertionError):
    """A block did not run as a reader would expect."""

    def __init__(self, block: Block, why: str):
        # Some programs are one line, and show it with their errors.
        shown = "\n".join(line[:300] for line in why.splitlines())
        super().__init__(f"{block.place}\n{block.text}\n\n{shown}")


class Reader:
    """`stand_ins` says which texts of a block stand for something that is not on this machine, and for what here."""

    def __init__(self, folder: Path, stand_ins: dict[str, str], environment: dict[str, str]):
        self.home = folder / "home"
        self.folder = folder / "empty"
        self.programs = folder / "programs"
        for made in (self.home, self.folder, self.programs):
            made.mkdir()
        (self.home / "threadkeep").symlink_to(settings.ROOT)
        for name, text in (("curl", CURL), ("make", MAKE)):
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)
        (self.programs / "threadkeep").symlink_to(settings.BINARY)
        self.port = free_port()
        address = f"127.0.0.1:{self.port}"
        self.url = f"http://{address}"
        self.stand_ins = {
            "0.0.0.0:7070": address,
            "127.0.0.1:7070": address,
            **stand_ins,
        }
        paths = [str(self.programs), environment.pop("PATH"), os.environ["PATH"]]
        self.first_environment = clean_environment() | environment
        self.first_environment |= {
            "HOME": str(self.home),
            "PATH": ":".join(paths),
            "THREADKEEP_URL": self.url,
            "THREADKEEP_LISTEN": address,
            "THREADKEEP_ALLOW_UNSAFE": "true",
        }
        self.environment = dict(self.first_environment)
        self.cwd = self.folder
        self.sections = 0
        self.printed = ""
        self.database: str | None = None
        self.server: subprocess.Popen[bytes] | None = None
        self.python: subprocess.Popen[str] | None = None
        self.scripts: list[Block] = []

    def read_section(self, blocks: list[Block]) -> None:
        """Run the blocks of one section, in order."""
        self.sections += 1
        data = self.folder.parent / f"data-{self.sections}"
        self.environment = {**self.first_environment, "THREADKEEP_DATA_DIR": str(data)}
        self.cwd = self.folder
        try:
            self._serve([])
            # Who reads a section in the middle has a tenant with this name.
            command = ["threadkeep", "quotas", "set", "--tenant", "acme"]
            made = {"cwd": self.cwd, "env": self.environment, "timeout": SECONDS_MAX}
            subprocess.run(command, check=True, capture_output=True, **made)
            for block in blocks:
                self._read(block)
            self._run_scripts()
        finally:
            self.close()

    def close(self) -> None:
        self._stop()
        if self.python is not None:
            self.python.kill()
            self.python.wait()
            self.python = None

    def _read(self, block: Block) -> None:
        if block.language == "json":
            json.loads(block.text)
        if block.language in ("ts", "js"):
            self.scripts.append(block)
            return
        self._run_scripts()
        if block.language == "sh":
            self._run_shell(block)
        elif block.language == "python":
            self._run_python(block)

    def _local(self, block: Block) -> str:
        """Its text for this machine. What is left out (`…`) may stand in comments alone."""
        text = block.text
        for there, here in self.stand_ins.items():
            text = text.replace(there, here)
        mark = {"sh": "#", "python": "#"}.get(block.language, "//")
        for line in text.splitlines():
            if "…" in line.split(mark)[0]:
                raise BlockFailed(block, f"nothing sets what is left out here: {line}")
        return text

    def _run_shell(self, block: Block) -> None:
        """A server that is started runs on in the background, in the place of the one before."""
        lines: list[str] = []
        heard = ""
        for line in self._local(block).split("\n"):
            if serving := SERVE.match(line):
                heard += self._shell(block, lines)
                self._serve(shlex.split(serving["arguments"]))
                lines = []
            else:
                lines.append(line)
            if "keys create" in line:
                heard += self._shell(block, lines)
                lines = []
                self._wait_for_keys()
        heard += self._shell(block, lines)
        refused = sorted(it for it in STATUS.findall(heard) if it >= "400")
        announced = sorted(ANNOUNCED.findall(block.text))
        if refused != announced:
            raise BlockFailed(block, f"answers {refused} where it says {announced}\n{heard}")

    def _shell(self, block: Block, lines: list[str]) -> str:
        """Run lines in a shell, keep its variables and folder, and return what it said."""
        kept = self.folder.parent / "kept"
        keep = f"(pwd && env -0) >{shlex.quote(str(kept))}"
        script = ["set -eo pipefail", *lines, keep]
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.cwd,
            env=self.environment,
            timeout=SECONDS_MAX,
        )
        if done.returncode != 0:
            raise BlockFailed(block, f"ended with {done.returncode}\n{done.stdout}{done.stderr}")
        folder, variables = kept.read_text().split("\n", 1)
        self.cwd = Path(folder)
        pairs = [it.split("=", 1) for it in variables.rstrip("\0").split("\0")]
        self.environment = dict(pairs)
        self.printed += done.stdout
        return done.stdout + done.stderr

    def _wait_for_keys(self) -> None:
        """Until the server knows the keys in the shell's variables, if they are of its database."""
        if self.environment.get("THREADKEEP_DATABASE_URL") != self.database:
            return
        for value in self.environment.values():
            if value.startswith(("tk_", "tko_")):
                known = partial(request, self.url, "GET", "/v1/whoami", key=value)
                wait_until(lambda known=known: known().status == 200, "the server to see a new key")

    def _run_python(self, block: Block) -> None:
        if self.python is None:
            self.python = subprocess.Popen(
                ["python", str(HERE / "python_blocks.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=self.cwd,
                env=self.environment,
            )
        question = {
            "text": self._local(block),
            "place": block.place,
            "environment": self.environment,
            "folder": str(self.cwd),
        }
        answer = self._ask(self.python, question)
        self.printed += answer["printed"]
        if answer["failure"]:
            raise BlockFailed(block, answer["printed"] + answer["failure"])

    @staticmethod
    def _ask(python: "subprocess.Popen[str]", question: dict[str, Any]) -> Any:
        assert python.stdin is not None
        assert python.stdout is not None
        python.stdin.write(json.dumps(question) + "\n")
        python.stdin.flush()
        return json.loads(python.stdout.readline() or '{"printed": "", "failure": "it ended"}')

    def _run_scripts(self) -> None:
        """The blocks since the last one of another language, as one program that is run, and checked by TypeScript."""
        if not self.scripts:
            return
        first, text = self.scripts[0], program([self._local(it) for it in self.scripts])
        self.scripts = []
        name = re.sub(r"\W+", "_", first.place)
        (self.cwd / f"{name}.mjs").write_text(text)
        (self.cwd / f"{name}.mts").write_text(text)
        self._shell(first, [f"node {name}.mjs"])

    def check_types(self) -> None:
        """TypeScript takes the programs of all documents that were read, with the packages that they installed."""
        programs = sorted(it.name for it in self.folder.glob("*.mts"))
        if not programs:
            return
        options = [
            "--strict",
            "--noEmit",
            "--skipLibCheck",
            "--target",
            "es2023",
            "--module",
            "nodenext",
        ]
        options += ["--typeRoots", str(settings.ROOT / "node_modules/@types"), "--types", "node"]
        tsc = settings.ROOT / "node_modules/.bin/tsc"
        done = subprocess.run(
            [tsc, *options, *programs],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=SECONDS_MAX,
        )
        assert done.returncode == 0, done.stdout

    def _serve(self, arguments: list[str]) -> None:
        self._stop()
        self.database = self.environment.get("THREADKEEP_DATABASE_URL")
        log = self.folder.parent / "server.log"
        with log.open("wb") as out:
            self.server = subprocess.Popen(
                [settings.BINARY, "serve", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.cwd,
                env=self.environment,
            )

        def ready() -> bool:
            assert self.server is not None
            if self.server.poll() is not None:
                raise RuntimeError(f"the server ended: {log.read_text()}")
            try:
                return request(self.url, "GET", "/readyz").status == 200
            except OSError:
                return False

        wait_until(ready, "the server of a document")

    def _stop(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait(settings.PATIENCE_SECONDS)
            self.server = None
