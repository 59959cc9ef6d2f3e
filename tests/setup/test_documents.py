"""Documents are as short as they have to be, and their links lead somewhere. mkdocs looks at the links between pages of docs/."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Lines and words at most.
SIZES = {
    "README.md": (150, 1_200),
    "ARCHITECTURE.md": (200, 3_000),
    "clients/python/README.md": (120, 1_200),
    "clients/js/README.md": (120, 1_200),
}
PAGE_LINES_MAX = 300
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.M | re.S)


@pytest.mark.parametrize("name", SIZES)
def test_a_document_is_short(name: str) -> None:
    text = (ROOT / name).read_text()
    lines, words = text.count("\n"), len(text.split())
    lines_max, words_max = SIZES[name]
    assert lines <= lines_max
    assert words <= words_max


def test_every_page_can_be_read_at_once() -> None:
    pages = list((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 40
    assert [it.name for it in pages if it.read_text().count("\n") > PAGE_LINES_MAX] == []


@cache
def anchors(document: Path) -> set[str]:
    """Names of the headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", document.read_text()), re.M)
    return {re.sub(r"[^\w -]", "", it.lower()).replace(" ", "-") for it in headings}


def broken(document: Path) -> list[str]:
    found = []
    for link in LINK.findall(FENCED.sub("", document.read_text())):
        path, _, anchor = link.partition("#")
        if link.startswith("https://"):
            continue
        target = document.parent / path if path else document
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def test_no_link_is_broken() -> None:
    documents = [ROOT / it for it in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    documents += (ROOT / "docs").rglob("*.md")
    documents += [*(ROOT / "clients").glob("*.md"), *(ROOT / "clients").glob("*/README.md")]
    documents += [*(ROOT / "examples").glob("*.md"), *(ROOT / "examples").glob("*/README.md")]
    assert sum(len(LINK.findall(it.read_text())) for it in documents) > 100
    found = {it.relative_to(ROOT).as_posix(): broken(it) for it in documents}
    assert {name: links for name, links in found.items() if links} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A heading: here\n")
    document = tmp_path / "page.md"
    document.write_text(
        "[a](there.md) [b](there.md#a-heading-here) [c](there.md#none) [d](gone.md)\n"
    )
    assert broken(document) == ["there.md#none", "gone.md"]
