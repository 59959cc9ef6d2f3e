"""A document whose blocks run: each ```sh block is followed by one with its answer, ```json or
```text, in which `<name>` stands for what differs from run to run.
"""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import settings
from support.server import clean_environment

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"<([a-z0-9_ ]+)>")
# Between the answers of two blocks; a line of its own that no answer has.
RULE = "=====8<====="


@dataclass(frozen=True)
class Step:
    command: str
    kind: str
    answer: str


def steps(document: Path) -> list[Step]:
    """The commands with their answers. ```console blocks are for people alone."""
    blocks = [it.groups() for it in BLOCK.finditer(document.read_text()) if it[1] != "console"]
    commands, answers = blocks[::2], blocks[1::2]
    assert len(commands) == len(answers), f"{document}: a block without its answer"
    assert {kind for kind, _ in commands} == {"sh"}, document
    assert {kind for kind, _ in answers} <= {"json", "text"}, document
    return [
        Step(command, kind, answer)
        for (_, command), (kind, answer) in zip(commands, answers, strict=True)
    ]


def run(commands: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """Run them in one shell, and what each printed."""
    script = f"\nprintf '\\n{RULE}\\n'\n".join(commands)
    done = subprocess.run(
        ["bash", "-c", f"set -eo pipefail\n{script}"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean_environment() | environment,
        timeout=settings.PATIENCE_SECONDS * 2,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return [it.strip("\n") for it in done.stdout.split(f"\n{RULE}\n")]


def compare(step: Step, printed: str, names: dict[str, Any]) -> None:
    """One name has one value throughout the document: `names` remembers them."""
    if step.kind == "json":
        match(json.loads(step.answer), json.loads(printed), names, step.command)
        return
    parts = NAME.split(step.answer.strip("\n"))
    pattern = "".join("(.+?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    found = re.fullmatch(pattern, printed)
    assert found, f"{step.command}\nprinted\n{printed}"
    for name, value in zip(parts[1::2], found.groups(), strict=True):
        assert names.setdefault(name, value) == value, f"{step.command}: {name}"


def match(expected: Any, found: Any, names: dict[str, Any], at: str) -> None:
    """Equal but for names."""
    if isinstance(expected, str) and (named := NAME.fullmatch(expected)):
        assert names.setdefault(named[1], found) == found, f"{at}: {named[1]}"
    elif isinstance(expected, dict):
        assert isinstance(found, dict), f"{at}: {found}"
        assert expected.keys() == found.keys(), f"{at}: {found}"
        for name, value in expected.items():
            match(value, found[name], names, f"{at}\n{name}")
    elif isinstance(expected, list):
        assert isinstance(found, list), f"{at}: {found}"
        assert len(expected) == len(found), f"{at}: {found}"
        for number, value in enumerate(expected):
            match(value, found[number], names, f"{at}\n{number}")
    else:
        assert type(expected) is type(found), f"{at}: {found}"
        assert expected == found, f"{at}: {found}"
