"""A disk whose power fails: what a server did not sync is gone. `power.c` keeps the copy of what it did."""

import shutil
import subprocess
from pathlib import Path

from support.server import Place, Server

SOURCE = Path(__file__).with_name("power.c")


class Disk:
    """The disk of one server on the embedded database, whose `--data-dir` stands on it."""

    def __init__(self, place: Place):
        self.folder = place.folder / "data"
        self.copy = place.folder / "disk"
        library = place.folder / "power.so"
        compile_ = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror"]
        subprocess.run([*compile_, "-o", library, SOURCE, "-ldl"], check=True)
        self.environment = {
            "LD_PRELOAD": str(library),
            "DISK_FOLDER": str(self.folder),
            "DISK_COPY": str(self.copy),
        }

    def lose_power(self, server: Server) -> list[str]:
        """Ends the server at once and leaves the folder with what it synced. Names the files."""
        server.kill()
        shutil.rmtree(self.folder)
        shutil.copytree(self.copy, self.folder)
        return sorted(it.name for it in self.folder.rglob("*") if it.is_file())
