"""The counts of `make test` are right, and nothing that did not run passes for something that did."""

from pathlib import Path

import pytest

from results import LAST_LINES, from_cargo, from_junit, from_lint

CARGO = """
   Compiling threadkeep v0.1.0
     Running unittests src/lib.rs (target/debug/deps/threadkeep-1)

running 2 tests
test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running unittests src/main.rs (target/debug/deps/threadkeep-2)
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/suite.rs (target/debug/deps/suite-3)
test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s

   Doc-tests threadkeep
test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


def cargo(output: str, code: int = 0) -> tuple[int, int]:
    suites = from_cargo(output, code)
    return sum(suite.passed for suite in suites), sum(suite.failed for suite in suites)


def junit(tmp_path: Path, cases: str, output: str = "", code: int = 0) -> tuple[int, int]:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    suites = from_junit("python", report, output, code)
    return sum(suite.passed for suite in suites), sum(suite.failed for suite in suites)


def case(classname: str, inner: str = "") -> str:
    return f'<testcase classname="{classname}" name="t">{inner}</testcase>'


def test_cargo_suites_are_summed() -> None:
    assert cargo(CARGO) == (7, 0)


def test_a_failed_rust_test_counts_once() -> None:
    assert cargo(CARGO.replace("5 passed; 0 failed", "4 passed; 1 failed"), 101) == (6, 1)


def test_tests_that_are_left_out_fail_unless_that_is_meant() -> None:
    part = CARGO.replace(
        "5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered",
        "2 passed; 0 failed; 0 ignored; 0 measured; 3 filtered",
    )
    assert cargo(part) == (4, 1)
    assert [it.failed for it in from_cargo(part, 0, is_a_part=True)] == [0, 0, 0, 0]


def test_a_failed_rust_test_is_named() -> None:
    failed = CARGO.replace(
        "test result: ok. 5 passed; 0 failed",
        "test store::puts ... FAILED\ntest result: FAILED. 4 passed; 1 failed",
    )
    named = [it for it in from_cargo(failed, 101) if it.failed]
    assert [str(it) for it in named] == [
        "FAILED  cargo test tests/suite.rs                4 passed, 1 failed\n"
        "            store::puts"
    ]


def test_a_lint_that_fails_says_the_end_of_what_it_said() -> None:
    assert str(from_lint("clippy", "fine\n", 0)) == "ok      clippy"
    output = "".join(f"line {number}\n\n" for number in range(100))
    suite = from_lint("clippy", output, 101)
    assert suite.failed == 1
    assert suite.reasons == [
        "ended with 101",
        *(f"line {number}" for number in range(100 - LAST_LINES, 100)),
    ]


@pytest.mark.parametrize("what", ["ignored", "filtered out"])
def test_a_rust_test_that_is_left_out_is_a_failure(what: str) -> None:
    assert cargo(CARGO.replace(f"0 {what}", f"3 {what}", 1)) == (7, 1)


def test_a_rust_suite_without_a_test_is_a_failure() -> None:
    assert cargo(CARGO.replace("5 passed", "0 passed")) == (2, 1)


def test_a_rust_suite_that_crashes_is_a_failure() -> None:
    crashed = CARGO.replace("test result: ok. 5 passed", "signal: 6, SIGABRT")
    assert cargo(crashed, 101) == (2, 1)


def test_a_build_that_fails_is_a_failure() -> None:
    assert cargo("error[E0308]: mismatched types", 101) == (0, 1)


def test_a_bad_exit_status_alone_is_a_failure() -> None:
    assert cargo(CARGO, 101) == (7, 1)


def test_junit_cases_are_counted_by_folder(tmp_path: Path) -> None:
    cases = case("faults.test_a") + case("faults.test_b.TestX") + case("hostile.test_c")
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    counted = {suite.name: suite.passed for suite in from_junit("python", report, "", 0)}
    assert counted == {"python faults": 2, "python hostile": 1}


def test_files_of_javascript_are_counted_by_folder(tmp_path: Path) -> None:
    cases = case("wire/chat.test.ts") + case("wire/other.test.ts") + case("one.test.ts")
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    counted = {suite.name: suite.passed for suite in from_junit("javascript", report, "", 0)}
    assert counted == {"javascript wire": 2, "javascript": 1}


@pytest.mark.parametrize("inner", ["<failure/>", "<error/>", "<skipped/>"])
def test_a_case_that_did_not_pass_is_a_failure(tmp_path: Path, inner: str) -> None:
    assert junit(tmp_path, case("a.test_a") + case("a.test_a", inner)) == (1, 1)


def test_deselected_cases_are_a_failure(tmp_path: Path) -> None:
    assert junit(tmp_path, case("a.test_a"), "1 passed, 2 deselected in 0.1s") == (1, 1)


def test_a_report_without_a_case_is_a_failure(tmp_path: Path) -> None:
    assert junit(tmp_path, "", code=5) == (0, 1)


def test_a_missing_report_is_a_failure(tmp_path: Path) -> None:
    (suite,) = from_junit("python", tmp_path / "none.xml", "", 0)
    assert suite.failed == 1


def test_an_interrupted_run_is_a_failure(tmp_path: Path) -> None:
    assert junit(tmp_path, case("a.test_a"), code=2) == (1, 1)
