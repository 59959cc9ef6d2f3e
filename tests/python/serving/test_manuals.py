"""Completions for shells, and manual pages: they can be read, and leave out no command."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import settings
from support.server import clean_environment

SHELLS = ("bash", "zsh", "fish", "powershell")


def run(*arguments: str | Path, **variables: str) -> str:
    return subprocess.check_output(
        [settings.BINARY, *arguments],
        text=True,
        env=clean_environment() | variables,
        timeout=settings.PATIENCE_SECONDS,
    )


def shown(*command: str) -> list[tuple[str, ...]]:
    """All commands of `--help`, and those below them."""
    part = re.search(r"^Commands:\n(.*?)\n\n", run(*command, "--help"), re.M | re.S)
    names = re.findall(r"^  (\S+)", part[1], re.M) if part else []
    here = [(*command, it) for it in names if it != "help"]
    return [it for one in here for it in (one, *shown(*one))]


def completed(line: str, folder: Path) -> set[str]:
    """What bash proposes at the end of a line."""
    script = folder / "threadkeep.bash"
    script.write_text(run("completions", "bash"))
    words = line.split(" ")
    asked = f"""
        source {script}
        COMP_WORDS=({" ".join(f"'{it}'" for it in words)}) COMP_CWORD={len(words) - 1} COMPREPLY=()
        _threadkeep threadkeep '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return set(subprocess.check_output(["bash", "-euc", asked], text=True).split())


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_its_completions(shell: str, tmp_path: Path) -> None:
    text = run("completions", shell)
    script = tmp_path / "script"
    script.write_text(text)
    assert "healthcheck" in text and "wait-for-database" in text
    # Where the shell itself is there, it says whether it can read them.
    if shutil.which(shell) and shell != "powershell":
        subprocess.run([shell, "-n", script], check=True)


def test_bash_proposes_commands_options_and_values(tmp_path: Path) -> None:
    assert {"keys", "serve", "tenants"} <= completed("threadkeep ", tmp_path)
    assert completed("threadkeep he", tmp_path) >= {"healthcheck", "help"}
    assert {"create", "list", "revoke"} <= completed("threadkeep keys ", tmp_path)
    assert "--tenant" in completed("threadkeep keys create --t", tmp_path)
    assert completed("threadkeep doctor --format ", tmp_path) == {"text", "json"}


def test_each_command_has_a_manual_page(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "man1"
    assert run("man", "--to", folder) == ""
    names = {"-".join(("threadkeep", *it)) for it in shown()}
    assert len(names) > 30
    assert {it.name for it in folder.iterdir()} == {f"{it}.1" for it in names | {"threadkeep"}}


def test_manual_pages_can_be_shown(tmp_path: Path) -> None:
    run("man", "--to", tmp_path)
    groff = [it, "-man", "-Kutf8"] if (it := shutil.which("groff")) else []
    for page in tmp_path.iterdir():
        assert f".TH {page.stem} 1" in page.read_text()
        if groff:
            command = [*groff, "-Tutf8", "-wall", "-z", page]
            done = subprocess.run(command, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), page.name
    if groff:
        command = [*groff, "-Tascii", "-P-cbou", tmp_path / "threadkeep-quotas-set.1"]
        text = subprocess.check_output(command, text=True)
        for part in (
            "Replace a tenant's quota",
            "--bytes-max",
            "THREADKEEP_DATABASE_URL",
            "--json",
        ):
            assert part in text


def test_no_value_of_this_machine_is_in_a_page_or_in_completions(tmp_path: Path) -> None:
    secret = "a-value-that-nobody-shows"
    names = set(re.findall(r"THREADKEEP_[A-Z_]+", run("serve", "--help")))
    assert len(names) > 40
    given = dict.fromkeys(names, secret)
    run("man", "--to", tmp_path, **given)
    texts = [it.read_text() for it in tmp_path.iterdir()]
    texts += [run("completions", it, **given) for it in SHELLS]
    assert not [it for it in texts if secret in it]
    assert os.fspath(settings.ROOT) not in "".join(texts)
