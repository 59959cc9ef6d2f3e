"""Every claim of docs/operate/security.md names tests, and each of them exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate" / "security.md").read_text()
# There are no tests of what is not done.
WITHOUT_TESTS = "What is not protected"
NAMED = re.compile(r"`([a-z][\w/.]*\.(?:rs|py))::(\w+)`")


def claims() -> list[str]:
    """Every line of a list that promises something, with the lines that go on with it."""
    promised, _, _ = PAGE.partition(f"## {WITHOUT_TESTS}")
    return re.findall(r"(?m)^- .*(?:\n  .*)*", promised)


def test_every_claim_names_a_test() -> None:
    assert len(claims()) > 25
    assert [claim for claim in claims() if not NAMED.search(claim)] == []


def test_every_named_test_exists() -> None:
    named = NAMED.findall(PAGE)
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not (ROOT / path).is_file() or not re.search(rf"\b{name}\b", (ROOT / path).read_text())
    ]
    assert missing == []
    assert len(named) >= len(claims())


def test_a_name_in_backquotes_that_looks_like_a_test_is_read_as_one() -> None:
    assert len(re.findall(r"`[^`]*::[^`]*`", PAGE)) == len(NAMED.findall(PAGE))


def test_the_readme_leads_there() -> None:
    assert "(docs/operate/security.md)" in (ROOT / "README.md").read_text()
