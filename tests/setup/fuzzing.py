"""Runs the fuzz targets for a while."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from process import run
from results import Suite

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests" / "fuzz"
SECONDS = "THREADKEEP_TEST_FUZZ_SECONDS"
# What reads bytes of strangers; the others read what the server itself has stored.
TARGETS = [
    "archives",
    "decoders",
    "display",
    "filters",
    "globs",
    "paths",
    "states",
    "texts",
    "words",
]


def fuzzing(env: Mapping[str, str]) -> list[Suite]:
    script = [ROOT / "tests" / "setup" / "fuzzer.sh"]
    made = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        return [Suite("fuzz", failed=1, reasons=["not run: there is no cargo-fuzz"])]
    program = Path(made.stdout.strip()) / "cargo-fuzz"
    return [fuzz(target, program, env) for target in TARGETS]


def fuzz(target: str, program: Path, env: Mapping[str, str]) -> Suite:
    """New inputs go to a corpus of their own, so that the next run begins where this one ended."""
    corpus = ROOT / "target" / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    # Coverage guides it on any toolchain; a sanitizer would need a nightly one, and safe code leaves it little to find.
    command: list[str | Path] = [program, "run", "--sanitizer", "none", "--fuzz-dir", FUZZ]
    # With one unit a single core compiles the library for half an hour, and takes 10 GB.
    command += ["--codegen-units", "16"]
    command += ["--target-dir", ROOT / "target" / "fuzz", target, corpus, FUZZ / "seeds" / target]
    limits = [f"-max_total_time={env.get(SECONDS, '60')}", "-rss_limit_mb=1024", "-timeout=10"]
    code, _ = run(f"fuzz {target}", [*command, "--", *limits], cwd=ROOT, env={**os.environ, **env})
    if code == 0:
        return Suite(f"fuzz {target}", passed=1)
    return Suite(f"fuzz {target}", failed=1, reasons=["see tests/fuzz/artifacts"])
