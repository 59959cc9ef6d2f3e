"""Prints what the shape of the code is measured by: lines and files of each room, traits of the storage, the longest functions.

    python tests/setup/house.py              this tree
    python tests/setup/house.py --commit C   this tree beside that of commit C

Standard library only.
"""

import argparse
import re
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^( *)(?:pub(?:\([a-z ]+\))? )?(?:const )?(?:async )?fn (\w+)")
TRAIT = re.compile(r"^pub(?:\([a-z ]+\))? trait (\w+)")
METHOD = re.compile(r"^    (?:async )?fn \w+")
LONGEST = 10


@dataclass
class Function:
    lines: int
    name: str
    place: str


class House:
    """A tree's Rust sources, without those that hold tests alone."""

    def __init__(self, root: Path):
        self.root = root
        self.files = sorted((root / "src").rglob("*.rs"))
        self.texts = {path: path.read_text().splitlines() for path in self.files}

    def figures(self) -> dict[str, int]:
        """Counts by name, in the order in which they are printed."""
        found = {"files of src": len(self.files), "lines of src": self._lines(self.files)}
        for room in sorted(path for path in (self.root / "src").iterdir() if path.is_dir()):
            found[f"lines of src/{room.name}"] = self._lines(sorted(room.rglob("*.rs")))
        for client in ["python/src", "js/src", "console/src"]:
            found[f"lines of clients/{client}"] = self._client_lines(client)
        for name in ["http", "domain", "storage"]:
            found[f"entries of src/{name}"] = len(list((self.root / "src" / name).iterdir()))
        traits = self._traits()
        found["traits of domain"] = len(traits)
        found["methods of these"] = sum(traits.values())
        return found

    def longest(self) -> list[Function]:
        functions = [it for path in self.files for it in self._functions(path)]
        return sorted(functions, key=lambda it: -it.lines)[:LONGEST]

    def _client_lines(self, client: str) -> int:
        kinds = ("*.py", "*.ts", "*.tsx")
        folder = self.root / "clients" / client
        return sum(
            len(path.read_text().splitlines()) for kind in kinds for path in folder.rglob(kind)
        )

    def _lines(self, files: list[Path]) -> int:
        return sum(len(self.texts[path]) for path in files)

    def _traits(self) -> dict[str, int]:
        """Methods by the name of a public trait of the domain."""
        found: dict[str, int] = {}
        for path in self.files:
            if "domain" not in path.relative_to(self.root).parts:
                continue
            name = None
            for line in self.texts[path]:
                if trait := TRAIT.match(line):
                    name = trait[1]
                    found[name] = 0
                elif line == "}":
                    name = None
                elif name and METHOD.match(line):
                    found[name] += 1
        return found

    def _functions(self, path: Path) -> list[Function]:
        found: list[Function] = []
        open_at: tuple[int, str, str] | None = None
        for number, line in enumerate(self.texts[path]):
            if open_at is None and (begun := FUNCTION.match(line)) and not line.endswith(";"):
                open_at = (number, begun[1], begun[2])
            if open_at and line == open_at[1] + "}":
                place = f"{path.relative_to(self.root)}:{open_at[0] + 1}"
                found.append(Function(number - open_at[0] + 1, open_at[2], place))
                open_at = None
        return found


def at_commit(commit: str, folder: Path) -> House:
    archive = subprocess.check_output(["git", "archive", commit, "src", "clients"], cwd=ROOT)
    with tarfile.open(fileobj=BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
    return House(folder)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--commit", help="another tree beside this one")
    asked = arguments.parse_args()
    now = House(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        before = at_commit(asked.commit, Path(folder)).figures() if asked.commit else {}
    for name, count in now.figures().items():
        earlier = f"{before[name]:>10,}" if name in before else " " * 10 * bool(before)
        print(f"{name:32}{earlier}{count:>10,}")
    print("\nthe longest functions")
    for function in now.longest():
        print(f"{function.lines:>5}  {function.name}  {function.place}")


if __name__ == "__main__":
    main()
