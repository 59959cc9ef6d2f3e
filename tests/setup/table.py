"""Writes docs/versions.md: which versions of the peers were tried, and how every suite ended."""

import re

from peers import ROOT, newest, pinned, published
from results import Suite

PAGE = ROOT / "docs" / "versions.md"
LANGUAGES = {"python": "Python", "javascript": "JavaScript"}
HEAD = """\
# Versions that are tested

`make matrix` writes this page. It asks the package indexes for the newest peers, writes them into lock files, and runs the suites with
the pinned peers and with the newest ones. `make test` runs every suite with the pinned peers and the savers' suites with the newest
peers of the lock files, so a release of a peer changes a test run only after `make matrix` has run again.

The newest version that is tried can be older than the newest published one: another peer does not allow it yet.
"""


def write(columns: dict[str, list[Suite]]) -> None:
    PAGE.parent.mkdir(exist_ok=True)
    parts = [HEAD, versions(), results(columns)]
    PAGE.write_text("\n".join(parts))


def versions() -> str:
    """One line per peer: pinned, newest that is tried, newest published."""
    indexes = published()
    lines = [
        f"## Peers (indexes asked on {indexes['asked']})\n",
        "| language | package | pinned | newest tried | newest published |",
        "|---|---|---|---|---|",
    ]
    for language, title in LANGUAGES.items():
        first, last = pinned(language), newest(language)
        for name, latest in indexes[language].items():
            lines.append(f"| {title} | {name} | {first[name]} | {last[name]} | {latest} |")
    return "\n".join(lines) + "\n"


def results(columns: dict[str, list[Suite]]) -> str:
    """One line per suite, one column per set of peers or interpreter; empty where a suite was not run."""
    cells = {
        (row_of(suite.name, title), title): outcome(suite)
        for title, suites in columns.items()
        for suite in suites
    }
    rows = sorted({row for row, _ in cells})
    lines = [
        "## Results\n",
        "A cell is empty where the last run left the suite out (`--savers`, or an interpreter).\n",
        f"| suite | {' | '.join(columns)} |",
        f"|---|{'---|' * len(columns)}",
        *(
            f"| {row} | {' | '.join(cells.get((row, title), '') for title in columns)} |"
            for row in rows
        ),
    ]
    return "\n".join(lines) + "\n"


def row_of(suite: str, column: str) -> str:
    """The suite's name without its column."""
    return re.sub(rf"^{re.escape(column)} ", "", suite)


def outcome(suite: Suite) -> str:
    if suite.failed:
        return f"**{suite.failed} failed**, {suite.passed} passed"
    return f"{suite.passed} passed" if suite.passed else "ok"
