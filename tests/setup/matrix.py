"""Runs the suites of both languages with the pinned and with the newest peers, and writes the table docs/versions.md.

It asks the package indexes first and rewrites the lock files in tests/setup/newest, from which `make test` takes the newest peers
of its savers' suites. THREADKEEP_PYTHONS names more interpreters for the Python package, e.g. python3.10:python3.13.
"""

import argparse
import os
import sys
from pathlib import Path

import newest
import run_tests
import table
from newest_tree import newest_tree
from peers import NEWEST, PYTHON_PEERS, required
from peers import newest as newest_versions
from process import run
from results import Suite, from_lint
from run_tests import CLIENT, JAVASCRIPT_CLIENT, JAVASCRIPT_TESTS, PYTHON_TESTS, ROOT, SETUP

# tests/python/conftest.py leaves them out on Python 3.10.
NEED_DEEPAGENTS = ("store/test_deepagents.py", "store/test_reference_defects.py")

# Imports every module but those of packages that are not installed: the Claude Agent SDK, which is large, with what needs it,
# and on Python 3.10 what is not published for it.
IMPORT_ALL = """
import importlib, pkgutil, sys, threadkeep
absent = {"claude_agent_sdk", "computer_agent"}
if sys.version_info < (3, 11):
    absent |= {"deepagents", "pyreqwest"}
for module in pkgutil.walk_packages(threadkeep.__path__, "threadkeep."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        if missing.name not in absent:
            raise
"""


def pinned(env: dict[str, str], paths: list[str] | None) -> list[Suite]:
    """As `make test` does: everything, or these folders."""
    workers = run_tests.side_by_side(env)
    suites = run_tests.python_tests("pinned python client", CLIENT, [*workers, "tests"], env)
    folders = [*workers, *(paths or run_tests.suite_folders())]
    suites += run_tests.python_tests("pinned python", PYTHON_TESTS, folders, env)
    suites += run_tests.javascript_tests("pinned javascript client", JAVASCRIPT_CLIENT, env)
    return suites + run_tests.javascript_tests("pinned javascript", JAVASCRIPT_TESTS, env, paths)


def with_newest(env: dict[str, str], paths: list[str] | None) -> list[Suite]:
    folders = [*run_tests.side_by_side(env), *(paths or run_tests.suite_folders())]
    versions = newest_versions("python")
    suites = run_tests.newest_python("newest python", ["--whole"], versions, folders, env)
    suites += run_tests.newest_javascript("newest javascript", paths or [], env)
    return suites + newest_types(env)


def newest_types(env: dict[str, str]) -> list[Suite]:
    """The client package and the suites compile against the types of the newest peers."""
    name = "newest javascript types"
    if missing := run_tests.without_node(name):
        return missing
    code, output = run(f"{name}: set up", [SETUP / "newest_node.sh"], cwd=ROOT, env=env)
    if code != 0:
        return [from_lint(name, output, code)]
    with newest_tree(Path(output.split()[-1])) as tree:
        command: list[str | Path] = [tree / "node_modules" / ".bin" / "tsc"]
        command += ["-p", tree / "tests" / "js"]
        code, output = run(name, command, cwd=tree, env=env)
    return [from_lint(name, output, code)]


def on_interpreter(interpreter: str, env: dict[str, str]) -> tuple[str, list[Suite]]:
    """The title of the column, and the import of every module and the savers' suites."""
    name = Path(interpreter).name
    code, output = run(
        f"{name}: set up", [SETUP / "newest_python.sh", interpreter], cwd=ROOT, env=env
    )
    if code != 0:
        return name, [from_lint(name, output, code)]
    python = Path(output.split()[-1])
    title = python.parents[1].name.replace("newest-py-", "Python ")
    old = title == "Python 3.10"
    versions = required(
        NEWEST / ("requirements-3.10.txt" if old else "requirements.txt"), PYTHON_PEERS
    )
    versions.pop("claude-agent-sdk", None)
    code, output = run(f"{title}: import", [python, "-c", IMPORT_ALL], cwd=ROOT, env=env)
    imported = from_lint(f"{title} import", output, code)
    imported.passed = int(code == 0)
    env = env | run_tests.meant_to_try(versions)
    paths = run_tests.SAVERS_OF_PYTHON
    if old:
        paths = [path for path in paths if path not in NEED_DEEPAGENTS]
    suites = run_tests.python_tests(f"{title} python", PYTHON_TESTS, paths, env, python)
    return title, [imported, *suites]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--locked", action="store_true", help="ask no index")
    arguments.add_argument("--savers", action="store_true", help="only the savers' suites")
    options = arguments.parse_args()
    if not options.locked:
        newest.resolve()
    run_tests.REPORTS.mkdir(parents=True, exist_ok=True)
    env = run_tests.environment()
    paths = run_tests.SAVERS_SUITES if options.savers else None
    columns = {"pinned": pinned(env, paths), "newest": with_newest(env, paths)}
    interpreters = filter(None, os.environ.get("THREADKEEP_PYTHONS", "").split(":"))
    columns |= dict(on_interpreter(interpreter, env) for interpreter in interpreters)
    table.write(columns)
    return run_tests.summarize([suite for suites in columns.values() for suite in suites])


if __name__ == "__main__":
    sys.exit(main())
