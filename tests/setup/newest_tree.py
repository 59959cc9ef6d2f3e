"""Copies the JavaScript suites and packages below target/newest-js, where every import of a peer finds the newest one.

Node.js looks for a package beside the file that imports it and then upward. So the copies find what lies in
target/newest-js/node_modules, and not the pinned peers of the clone.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peers import ROOT

# Their files import peers; the rest of the tree is linked.
COPIED = (Path("clients/js"), Path("tests/js"), Path("examples"))
LEFT_OUT = {".git", "node_modules", "package.json", "package-lock.json"}


@contextmanager
def newest_tree(installed: Path) -> Iterator[Path]:
    """A tree of one run, laid out as the clone, with the peers of `installed`/node_modules. It is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=installed) as place:
        tree = Path(place)
        _link_or_copy(Path(), tree)
        _link_modules(installed / "node_modules", tree)
        yield tree


def _link_or_copy(folder: Path, tree: Path) -> None:
    for entry in sorted((ROOT / folder).iterdir()):
        path = entry.relative_to(ROOT)
        if entry.name in LEFT_OUT:
            continue
        if path in COPIED:
            ignored = shutil.ignore_patterns("node_modules", "__pycache__")
            shutil.copytree(entry, tree / path, ignore=ignored)
        elif any(path in copied.parents for copied in COPIED):
            (tree / path).mkdir()
            _link_or_copy(path, tree)
        else:
            (tree / path).symlink_to(entry)


def _link_modules(modules: Path, tree: Path) -> None:
    """What is installed, by links, and the copy of the client package as `threadkeep`."""
    (tree / "node_modules").mkdir()
    for entry in modules.iterdir():
        (tree / "node_modules" / entry.name).symlink_to(entry)
    (tree / "node_modules" / "threadkeep").symlink_to(Path("..", "clients", "js"))
