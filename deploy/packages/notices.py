"""Prints THIRD-PARTY-NOTICES: whose code is in the program, and under which licence, with each licence's text.

    python deploy/packages/notices.py >THIRD-PARTY-NOTICES

Cargo tells the crates that are linked, and package-lock.json the packages in the console. Standard library only; nothing is fetched.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGETS = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "aarch64-apple-darwin",
]
TEXTS = ("licen[cs]e*", "copying*", "copyright*", "notice*", "unlicense*")
CONSOLE = ["clients/console", "clients/js"]
RULE = "=" * 80
HEAD = """\
threadkeep is licensed under the Apache License 2.0. Its program holds the code below.
Each part lists the packages that come under one text.
"""


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    licence: str
    folder: Path

    def texts(self) -> list[str]:
        """Of the package, and of the C libraries in it, a folder or two below."""
        places = [self.folder, *self.folder.glob("*/"), *self.folder.glob("*/*/")]
        files = {it for place in places for it in place.iterdir() if it.is_file()}
        wanted = sorted(it for it in files if any(_matches(it, text) for text in TEXTS))
        return [it.read_text(errors="replace").strip() for it in wanted]

    def title(self) -> str:
        return f"{self.name} {self.version} ({self.licence})"


def _matches(path: Path, pattern: str) -> bool:
    code = path.suffix in {".rs", ".py", ".c", ".h", ".js", ".ts", ".json", ".toml"}
    return not code and Path(path.name.lower()).match(pattern)


def crates() -> set[Package]:
    """Those that the program is linked with on any of its platforms: not those of builds and tests."""
    return {package for target in TARGETS for package in _crates_of(target)}


def _crates_of(target: str) -> Iterator[Package]:
    asked = ["cargo", "metadata", "--format-version=1", "--locked", "--offline"]
    output = subprocess.check_output([*asked, f"--filter-platform={target}"], cwd=ROOT)
    metadata = json.loads(output)
    linked = _linked(metadata["resolve"])
    for package in metadata["packages"]:
        if package["id"] in linked:
            folder = Path(package["manifest_path"]).parent
            licence = package["license"] or "see its text"
            yield Package(package["name"], package["version"], licence, folder)


def _linked(resolve: dict[str, Any]) -> set[str]:
    """Ids of the packages that the program needs when it runs, itself left out."""
    dependencies = {it["id"]: it["deps"] for it in resolve["nodes"]}
    seen, left = set[str](), [resolve["root"]]
    while left:
        for it in dependencies[left.pop()]:
            is_linked = any(kind["kind"] is None for kind in it["dep_kinds"])
            if is_linked and it["pkg"] not in seen:
                seen.add(it["pkg"])
                left.append(it["pkg"])
    return seen


def modules() -> set[Package]:
    """Those in the pages of the console, which the program serves."""
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    found: set[Package] = set()
    left = [
        (folder, name)
        for folder in CONSOLE
        for name in lock[folder].get("dependencies", {})
    ]
    while left:
        asking, name = left.pop()
        place = _resolved(lock, asking, name)
        entry = lock[place]
        if entry.get("link"):
            continue
        package = Package(
            name, entry["version"], entry.get("license", "?"), ROOT / place
        )
        if package not in found:
            found.add(package)
            left += [(place, it) for it in entry.get("dependencies", {})]
    return found


def _resolved(lock: dict[str, Any], asking: str, name: str) -> str:
    """As Node.js looks: beside who asks, then in each folder above."""
    for above in [asking, *map(str, Path(asking).parents)]:
        place = f"{above}/node_modules/{name}".removeprefix("./")
        if place in lock:
            return place
    raise KeyError(f"{name} of {asking} is not in package-lock.json")


def main() -> int:
    # Texts that differ in their line breaks alone are one.
    shown: dict[str, str] = {}
    by_text: dict[str, set[str]] = defaultdict(set)
    for package in sorted(crates() | modules()):
        if not package.folder.is_dir():
            print(
                f"{package.folder} is not there: run `cargo fetch`, npm ci",
                file=sys.stderr,
            )
            return 1
        texts = package.texts() or [
            f"Published without a text of the licence: {package.licence}."
        ]
        for text in texts:
            words = " ".join(text.split())
            shown.setdefault(words, text)
            by_text[words].add(package.title())
    print(HEAD)
    for words, titles in sorted(by_text.items(), key=lambda it: sorted(it[1])):
        print(f"{RULE}\n" + "\n".join(sorted(titles)) + f"\n\n{shown[words]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
