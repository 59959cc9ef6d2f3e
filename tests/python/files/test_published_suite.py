"""The published sandbox suite of langchain-tests, every test of it, with a shell over the files.

It describes an earlier deepagents than 0.7: what it wants otherwise is listed here, and must fail.
"""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from support import settings
from support.server import Server, clean_environment

HERE = Path(__file__).parent
# One of them sees that no test was replaced.
TESTS = 86

# What deepagents 0.7 wants, and the tests that want something else.
DIFFERENCES: dict[str, set[str]] = {
    "glob answers absolute paths, and files only": {
        "test_glob",
        "test_glob_basic_pattern",
        "test_glob_hidden_files_explicitly",
        "test_glob_with_character_class",
        "test_glob_with_directories",
        "test_glob_with_question_mark",
    },
    "a window of lines keeps the newline at its end": {
        "test_aread_large_text_payload_paginated_roundtrip",
        "test_awrite_aread_adownload_large_text_with_escaped_content",
        "test_write_read_download_large_text_with_escaped_content",
    },
    "write replaces a file": {"test_write_existing_file_fails"},
    "the text of an ambiguous edit": {"test_edit_multiple_occurrences_without_replace_all"},
    "a binary file is read whole, whatever its size": {
        "test_read_binary_file_1_mib_returns_error",
        "test_aread_binary_file_1_mib_returns_error",
    },
    "a path that no file has is not found, a relative one too": {
        "test_download_error_invalid_path_relative"
    },
    "a folder is there as long as a file is in it": {"test_ls_lists_nested_directories"},
}


def test_all_published_tests_pass_but_those_of_earlier_versions(
    server: Server, api_key: str, tmp_path: Path
) -> None:
    report = tmp_path / "report.xml"
    # Its marks and fixtures are those of plugins that are off for the other suites.
    command: list[str] = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "addopts=--import-mode=importlib",
    ]
    command += [f"--junitxml={report}", "published.py"]
    environment = clean_environment() | {
        "THREADKEEP_URL": server.url,
        "THREADKEEP_API_KEY": api_key,
    }
    done = subprocess.run(
        command,
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=10 * settings.PATIENCE_SECONDS,
    )
    assert report.exists(), done.stdout + done.stderr
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        outcomes[case.attrib["name"]] = next((it.tag for it in case), "passed")
    assert len(outcomes) == TESTS, sorted(outcomes)
    failed = {name for name, outcome in outcomes.items() if outcome != "passed"}
    expected = {name for names in DIFFERENCES.values() for name in names}
    assert failed == expected, done.stdout[-20_000:]
    assert set(outcomes.values()) <= {"passed", "failure"}
