"""Reads what the test runners say into counts. What cannot be read counts as a failure."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

CARGO_SUITE = re.compile(r"^\s*(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))")
CARGO_RESULT = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; "
    r"(\d+) filtered out"
)
CARGO_FAILED = re.compile(r"^test (\S+) \.\.\. FAILED")
LAST_LINES = 25
# These may be empty: the program's main file is only a call, and documentation need not hold tests.
MAY_BE_EMPTY = re.compile(r"^(src/main\.rs|src/bin/.*|doc .*)$")


@dataclass
class Suite:
    """One suite's outcome. `failed` also counts what else makes it not good: `reasons`."""

    name: str
    passed: int = 0
    failed: int = 0
    reasons: list[str] = field(default_factory=list)

    def fail(self, reason: str) -> None:
        self.failed += 1
        self.reasons.append(reason)

    def __str__(self) -> str:
        verdict = "FAILED" if self.failed else "ok"
        counts = f"{self.passed} passed, {self.failed} failed" if self.passed or self.failed else ""
        line = f"{verdict:6}  {self.name:40} {counts}".rstrip()
        return "\n".join([line, *(f"            {reason}" for reason in self.reasons)])


def from_lint(name: str, output: str, code: int) -> Suite:
    """Counts only when it fails, and then says the end of what the tool said."""
    if code == 0:
        return Suite(name)
    said = [line for line in output.splitlines() if line.strip()]
    return Suite(name, failed=1, reasons=[f"ended with {code}", *said[-LAST_LINES:]])


def from_cargo(output: str, code: int, *, is_a_part: bool = False) -> list[Suite]:
    """`is_a_part`: tests were left out on purpose."""
    suites: list[Suite] = []
    for line in output.splitlines():
        if started := CARGO_SUITE.match(line):
            path, doc = started.groups()
            suites.append(Suite(f"cargo test {path or f'doc {doc}'}"))
        elif (named := CARGO_FAILED.match(line)) and suites:
            suites[-1].reasons.append(named[1])
        elif (result := CARGO_RESULT.match(line)) and suites:
            passed, failed, ignored, filtered = map(int, result.groups())
            suite = suites[-1]
            suite.passed, suite.failed = suite.passed + passed, suite.failed + failed
            if ignored or (filtered and not is_a_part):
                suite.fail(f"{ignored} ignored, {filtered} filtered out")
    for suite in suites:
        empty = suite.passed == 0 and suite.failed == 0
        if empty and not MAY_BE_EMPTY.match(suite.name.removeprefix("cargo test ")):
            suite.fail("no test ran to its end")
    if not suites or (code != 0 and not any(suite.failed for suite in suites)):
        suites.append(Suite("cargo test", failed=1, reasons=[f"ended with {code}"]))
    return suites


def from_junit(name: str, report: Path, output: str, code: int) -> list[Suite]:
    """One suite per folder of the report's test files."""
    if not report.exists():
        return [Suite(name, failed=1, reasons=[f"no report, ended with {code}"])]
    suites: dict[str, Suite] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        folder = _folder(case.get("classname", ""))
        suite = suites.setdefault(folder, Suite(f"{name} {folder}".strip()))
        _count(case, suite)
    for suite in suites.values():
        if suite.passed == 0 and suite.failed == 0:
            suite.fail("no test")
    if not suites:
        suites[""] = Suite(name, failed=1, reasons=["no test"])
    deselected = re.search(r"(\d+) deselected", output)
    if deselected:
        suites.setdefault("", Suite(name)).fail(f"{deselected[1]} deselected")
    if code != 0 and not any(suite.failed for suite in suites.values()):
        suites.setdefault("", Suite(name)).fail(f"ended with {code}")
    return list(suites.values())


def _folder(classname: str) -> str:
    """Of pytest `a.b.test_file` or `a.b.test_file.TestClass`, of vitest `a/b/file.test.ts`."""
    if classname.endswith(".ts"):
        return Path(classname).parent.as_posix().removeprefix(".")
    words = classname.split(".")
    return "/".join(word for word in words if not word.startswith(("test_", "Test")))


def _count(case: ElementTree.Element, suite: Suite) -> None:
    if case.find("skipped") is not None:
        suite.fail(f"skipped: {case.get('name')}")
    elif case.find("failure") is not None or case.find("error") is not None:
        suite.fail(str(case.get("name")))
    else:
        suite.passed += 1
