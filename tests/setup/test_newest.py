"""The suites of the newest peers run with those alone, and the table says what they ran with."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import newest
import peers
import run_tests
import table
from newest_tree import newest_tree
from peers import NEWEST, ROOT
from results import Suite


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_lock_files_name_every_peer(language: str) -> None:
    names = peers.PYTHON_PEERS if language == "python" else peers.JAVASCRIPT_PEERS
    for versions in (peers.pinned(language), peers.newest(language), peers.published()[language]):
        assert tuple(versions) == names


def test_the_lock_files_hold_every_package_by_its_digest_and_name_no_address() -> None:
    for name in ("requirements.txt", "requirements-3.10.txt"):
        text = (NEWEST / name).read_text()
        packages = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
        assert all("==" in entry and "--hash=sha256:" in entry for entry in packages)
        assert "://" not in text
    lock = json.loads((NEWEST / "package-lock.json").read_text())
    installed = [entry for name, entry in lock["packages"].items() if name]
    assert all("integrity" in entry and "resolved" not in entry for entry in installed)


def test_the_newest_go_with_the_tools_that_the_pinned_suites_use() -> None:
    committed = json.loads((NEWEST / "package.json").read_text())
    assert newest.javascript_package() == committed, "run `make matrix`"


def test_the_page_of_versions_is_that_of_the_lock_files() -> None:
    assert table.versions() in table.PAGE.read_text(), "run `make matrix`"


def test_a_run_with_other_peers_than_meant_has_failed() -> None:
    wrong = run_tests.meant_to_try({"langgraph": "0.0.1"})
    env = run_tests.environment() | wrong
    paths = ["conformance/test_peers.py"]
    (suite,) = run_tests.python_tests("wrong peers", run_tests.PYTHON_TESTS, paths, env)
    assert (suite.passed, suite.failed) == (0, 1)


def test_without_node_the_newest_of_javascript_have_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(run_tests, "NODE_BIN", tmp_path / "absent")
    (suite,) = run_tests.newest_javascript("newest javascript", [], {})
    assert (suite.passed, suite.failed) == (0, 1)


RESOLVE = """
const { createRequire } = require("node:module");
const { realpathSync } = require("node:fs");
const [, place, name] = process.argv;
console.log(realpathSync(createRequire(realpathSync(place) + "/x.js").resolve(name)));
"""


def test_every_file_of_the_copied_tree_finds_the_newest(tmp_path: Path) -> None:
    peer = tmp_path / "node_modules" / "@langchain" / "core"
    peer.mkdir(parents=True)
    (peer / "index.js").write_text("")
    with newest_tree(tmp_path) as tree:
        for place in ("tests/js/support", "node_modules/threadkeep", "examples", "clients/js/src"):
            command = ["node", "-e", RESOLVE, tree / place, "@langchain/core"]
            found = subprocess.check_output(command, text=True).strip()
            assert Path(found) == (peer / "index.js").resolve()
        assert (tree / "tests" / "vectors").samefile(ROOT / "tests" / "vectors")
        assert (tree / "node_modules" / "threadkeep").samefile(tree / "clients" / "js")
        assert not list((tree / "clients" / "js").rglob("node_modules"))
    assert not tree.exists()


def test_the_table_has_a_line_per_suite_and_a_column_per_set_of_peers() -> None:
    columns = {
        "pinned": [Suite("pinned python store", passed=3)],
        "Python 3.10": [
            Suite("Python 3.10 import"),
            Suite("Python 3.10 python store", passed=1, failed=2, reasons=["a", "b"]),
        ],
    }
    assert table.results(columns).splitlines()[4:] == [
        "| suite | pinned | Python 3.10 |",
        "|---|---|---|",
        "| import |  | ok |",
        "| python store | 3 passed | **2 failed**, 1 passed |",
    ]
