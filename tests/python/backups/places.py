"""Makes folders of backups, and places that a test loses and restores."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support import settings
from support.postgres import Databases
from support.server import Place, Server, clean_environment


class Backups:
    """A folder of backups with a journal beside them."""

    def __init__(self, folder: Path):
        self.folder = folder / "backups"
        self.journal = folder / "journal-place"
        self.environment = {"THREADKEEP_JOURNAL_URL": str(self.journal)}
        if settings.PG_BIN:
            # Of the version of the tests' own server, or a newer one.
            self.environment["THREADKEEP_POSTGRES_PROGRAMS"] = str(settings.PG_BIN)

    def run(
        self, place: Place, *arguments: str, environment: dict[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a place."""
        return subprocess.run(
            [settings.BINARY, *arguments, *place.arguments()],
            capture_output=True,
            text=True,
            cwd=place.folder,
            env=clean_environment() | self.environment | (environment or {}),
            timeout=settings.PATIENCE_SECONDS,
        )

    def take(self, place: Place, *options: str, **more: Any) -> dict[str, Any]:
        """Back a place up. Answers the manifest."""
        done = self.run(place, "backup", "--to", str(self.folder), *options, **more)
        assert done.returncode == 0, done.stderr
        manifest: dict[str, Any] = json.loads(done.stdout)
        return manifest

    def restore(self, place: Place, name: str = "latest", **more: Any) -> dict[str, Any]:
        """Make the database of a place from a backup. Answers the report."""
        done = self.run(place, "restore", "--from", f"{self.folder}/{name}", **more)
        assert done.returncode == 0, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def entries(self) -> list[dict[str, Any]]:
        """What the journal has, in the order of time."""
        found = sorted((self.journal / "journal").glob("*.json"))
        return [json.loads(it.read_text()) for it in found]


class Machines:
    """Places that a test makes one after the other: what is lost with one is not on the next."""

    def __init__(self, databases: Databases | None):
        self.databases = databases
        self.places: list[Place] = []
        self.servers: list[Server] = []

    def place(self) -> Place:
        place = Place(self.databases)
        self.places.append(place)
        return place

    def serve(
        self, place: Place, environment: dict[str, str], options: Iterable[str] = ()
    ) -> Server:
        server = Server(place, environment=environment, options=list(options))
        self.servers.append(server)
        return server.start()

    def remove(self) -> None:
        for server in self.servers:
            server.kill()
        for place in self.places:
            place.remove()
