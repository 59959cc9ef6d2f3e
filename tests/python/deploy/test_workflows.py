"""The workflows of GitHub are ones that actionlint takes, and run what the Makefile has."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support import settings

GITHUB = settings.ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def lint(*paths: Path) -> list[str]:
    """What it finds wrong. The programs that it would ask about scripts are there on some machines alone."""
    command = [settings.DEPLOY_BIN / "actionlint", "-oneline", "-no-color"]
    done = subprocess.run(
        [*command, "-shellcheck=", "-pyflakes=", *paths], capture_output=True, text=True
    )
    assert done.returncode in {0, 1}, done.stderr
    return done.stdout.splitlines()


def test_every_workflow_is_right() -> None:
    assert [it.stem for it in WORKFLOWS] == ["ci", "nightly", "release"]
    assert lint(*WORKFLOWS) == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("timeout-minutes", "timeout-minute", 'unexpected key "timeout-minute"'),
        ("${{ matrix.runner }}", "${{ matrix.runners }}", "is not defined"),
        ("needs: [pack, image]", "needs: [pack, images]", "needs job"),
        ("id-token: write", "id-tokens: write", "unknown permission scope"),
        ("ubuntu-24.04-arm", "ubuntu-24.05", "is unknown"),
    ],
)
def test_a_workflow_with_an_error_is_told(
    right: str, wrong: str, said: str, tmp_path: Path
) -> None:
    workflow = tmp_path / "release.yml"
    workflow.write_text((GITHUB / "workflows" / "release.yml").read_text().replace(right, wrong))
    assert any(said in it for it in lint(workflow))


def test_every_target_and_script_that_they_run_is_there() -> None:
    text = "\n".join(it.read_text() for it in WORKFLOWS)
    run = set(re.findall(r"\bmake ([a-z-]+)", text))
    assert run >= {"matrix", "dist", "image"}
    listed = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", (settings.ROOT / "Makefile").read_text(), re.M)
    assert listed
    assert run - set(listed[1].replace("\\", " ").split()) == set()
    scripts = set(re.findall(r"(?:\.ci|tests/setup)/[\w./]+", text))
    assert len(scripts) > 1
    assert [it for it in scripts if not (settings.ROOT / it).exists()] == []


def yaml(path: Path) -> Any:
    """As the reader of the deployment files reads it: the tests' own environment has none."""
    read = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
    python = settings.DEPLOY_BIN / "python"
    return json.loads(subprocess.check_output([python, "-c", read, path], text=True))


def test_the_renewals_look_where_something_is() -> None:
    kept = {
        "cargo": "Cargo.lock",
        "npm": "package-lock.json",
        "pip": "requirements.txt",
        "github-actions": ".github/workflows",
        "docker": "Dockerfile",
    }
    updates = yaml(GITHUB / "dependabot.yml")["updates"]
    assert {it["package-ecosystem"] for it in updates} == kept.keys()
    for update in updates:
        folder = settings.ROOT / update["directory"].removeprefix("/")
        assert (folder / kept[update["package-ecosystem"]]).exists(), update


def test_every_form_for_issues_can_be_shown() -> None:
    forms = [it for it in (GITHUB / "ISSUE_TEMPLATE").iterdir() if it.name != "config.yml"]
    assert len(forms) == 2
    for form in map(yaml, forms):
        assert {"name", "description", "body"} <= form.keys()
        fields = [it for it in form["body"] if it["type"] != "markdown"]
        assert {it["type"] for it in fields} <= {"input", "textarea", "dropdown", "checkboxes"}
        assert len({it["id"] for it in fields}) == len(fields)
        assert all(it["attributes"]["label"] for it in fields)
