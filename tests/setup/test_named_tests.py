"""Every claim of the pages of security and of promises names tests, and each of them exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SECURITY, PROMISES = "operate/security.md", "internals/promises.md"
# There are no tests of what is not done.
WITHOUT_TESTS = "## What is not protected"
# What a claim says that nothing shows.
NO_TEST = re.compile(r"\bno test\b", re.I)
# A heading below which a list describes a test.
OF_A_TEST = re.compile(r"(?ms)^### .*?(?=^## )")
NAMED = re.compile(r"`([a-z][\w/.]*\.(?:rs|py))::(\w+)`")


def page(name: str) -> str:
    promised, _, _ = OF_A_TEST.sub("", (DOCS / name).read_text()).partition(WITHOUT_TESTS)
    return promised


def claims(name: str) -> list[str]:
    """Every line of a list that promises something, with the lines that go on with it."""
    return re.findall(r"(?m)^- .*(?:\n  .*)*", page(name))


def is_there(path: str, name: str) -> bool:
    """Some are made by macros, which have their names without `fn`."""
    file = ROOT / path
    return file.is_file() and bool(re.search(rf"\b{name}\b", file.read_text()))


@pytest.mark.parametrize("name", [SECURITY, PROMISES])
def test_every_claim_names_a_test(name: str) -> None:
    assert len(claims(name)) > 25
    assert [it for it in claims(name) if not NAMED.search(it) and not NO_TEST.search(it)] == []


def test_no_claim_of_security_is_without_a_test() -> None:
    assert [it for it in claims(SECURITY) if not NAMED.search(it)] == []


def test_each_promise_has_its_sentences() -> None:
    promises = re.split(r"(?m)^## \d\. ", page(PROMISES))[1:]
    assert len(promises) == 8
    assert [it for it in promises if len(re.findall(r"(?m)^- ", it)) < 4] == []


@pytest.mark.parametrize("name", [SECURITY, PROMISES])
def test_every_named_test_exists(name: str) -> None:
    named = NAMED.findall((DOCS / name).read_text())
    assert [f"{path}::{test}" for path, test in named if not is_there(path, test)] == []
    assert len(named) >= len(claims(name)) - len(NO_TEST.findall(page(name)))


@pytest.mark.parametrize("name", [SECURITY, PROMISES])
def test_a_name_in_backquotes_that_looks_like_a_test_is_read_as_one(name: str) -> None:
    text = (DOCS / name).read_text()
    assert len(re.findall(r"`[^`]*::[^`]*`", text)) == len(NAMED.findall(text))


def test_the_readme_leads_to_security_and_the_map_of_the_code_to_the_promises() -> None:
    assert "(docs/operate/security.md)" in (ROOT / "README.md").read_text()
    assert "(docs/internals/promises.md)" in (ROOT / "ARCHITECTURE.md").read_text()
