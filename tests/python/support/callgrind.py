"""Runs a server under callgrind, and reads the counters of some work of it."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.server import Place, Server
from support.waiting import wait_until


class Counters:
    """Those of a server that runs."""

    def __init__(self, server: Server, folder: Path):
        self.server, self._folder = server, folder

    def of(self, work: Callable[[], object]) -> str:
        """Does the work, and returns the counters of what the server ran meanwhile, in callgrind's form."""
        self._control("--zero")
        work()
        before = self._dumps()
        self._control("--dump")
        # The server writes it when it next gets a turn.
        wait_until(lambda: self._dumps() - before, "the counters to be written")
        (dump,) = self._dumps() - before
        return dump.read_text()

    def _dumps(self) -> set[Path]:
        """Those that are written to their end."""
        return {it for it in self._folder.glob("counted.*") if "\ntotals: " in it.read_text()}

    def _control(self, what: str) -> None:
        command = ["callgrind_control", what, str(self.server.pid)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder)


@contextmanager
def counting(place: Place, binary: Path, *options: str) -> Iterator[Counters]:
    """The server as a program that valgrind runs; `exec` keeps its process. `options` are callgrind's."""
    folder = Path(tempfile.mkdtemp(prefix="tk-counted-"))
    wrapper = folder / "threadkeep"
    files = f"--callgrind-out-file={folder}/counted --log-file={folder}/log"
    valgrind = f"valgrind --tool=callgrind {files} {' '.join(options)}"
    wrapper.write_text(f'#!/bin/sh\nexec {valgrind} "{binary}" "$@"\n')
    wrapper.chmod(0o755)
    server = Server(place, binary=wrapper)
    try:
        yield Counters(server.start(), folder)
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
