"""Checks that the program knows every setting in the files of deploy/. It passes over a variable with a wrong name in silence."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from support import settings

DEPLOY = settings.ROOT / "deploy"
CONFIGURATION = settings.ROOT / "docs" / "operate" / "configuration.md"
VARIABLE = re.compile(r"\bTHREADKEEP_[A-Z_]+\b")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Of the files themselves: the image that the compose file takes.
OF_NO_PROGRAM = {"THREADKEEP_IMAGE"}


def files() -> list[Path]:
    """Those that start a server; what packs one has settings of its own."""
    found = [it for it in DEPLOY.rglob("*") if it.is_file() and "packages" not in it.parts]
    return [it for it in found if it.suffix != ".md"]


@cache
def known_flags() -> set[str]:
    help_ = subprocess.check_output([settings.BINARY, "serve", "--help"], text=True)
    return set(re.findall(r"^ +(--[a-z-]+)", help_, re.M))


@cache
def known_variables() -> set[str]:
    """Those of the page, which another test holds against the program, and the files that secrets may lie in."""
    page = CONFIGURATION.read_text()
    named = set(re.findall(r"`(THREADKEEP_[A-Z_]+)`", page))
    secrets = re.search(r"A secret may lie in a file:.*?\n\n", page, re.S)
    assert secrets
    in_files = {f"{it}_FILE" for it in re.findall(r"`(THREADKEEP_[A-Z_]+)`", secrets[0])}
    return named | {it for it in in_files if not it.endswith("_FILE_FILE")}


def unknown(text: str) -> set[str]:
    """Variables, and flags of `threadkeep serve`."""
    served = [line.split("serve", 1)[1] for line in text.splitlines() if "threadkeep serve" in line]
    flags = {flag for line in served for flag in FLAG.findall(line)}
    return set(VARIABLE.findall(text)) - known_variables() - OF_NO_PROGRAM | flags - known_flags()


def test_every_setting_of_the_files_exists() -> None:
    texts = {it.relative_to(DEPLOY).as_posix(): it.read_text() for it in files()}
    assert sum(len(VARIABLE.findall(it)) for it in texts.values()) > 15
    assert {name: unknown(text) for name, text in texts.items() if unknown(text)} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("THREADKEEP_LISTENS: x", {"THREADKEEP_LISTENS"}),
        ("THREADKEEP_REDIS_URL_FILE: x", set()),
        ("THREADKEEP_LISTEN_FILE: x", {"THREADKEEP_LISTEN_FILE"}),
        ("ExecStart=/usr/bin/threadkeep serve --no-such", {"--no-such"}),
        ("ExecStart=/usr/bin/threadkeep serve --data-dir=/var", set()),
    ],
)
def test_a_setting_that_does_not_exist_is_found(text: str, found: set[str]) -> None:
    assert unknown(text) == found
