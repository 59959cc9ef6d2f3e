"""Runs the fuzz targets for a while: with a fuzzer where there is one, else with many mutations of the seeds."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from process import run
from results import Suite, from_cargo

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "tests" / "fuzz"
SECONDS = "THREADKEEP_TEST_FUZZ_SECONDS"
# What decodes bytes of strangers; the others read what the server itself has stored.
TARGETS = ["display"]


def fuzzing(env: Mapping[str, str]) -> list[Suite]:
    """libFuzzer needs cargo-fuzz and a nightly toolchain, which are not ours to install (tests/fuzz/README.md)."""
    if fuzzer := found_fuzzer():
        return [fuzz(target, fuzzer, env) for target in TARGETS]
    print("no cargo-fuzz with a nightly toolchain here: mutations of the seeds instead", flush=True)
    command = ["cargo", "test", "--release", "--locked", "--test", "fuzz"]
    code, output = run("fuzz", command, cwd=ROOT, env=env)
    return from_cargo(output, code)


def found_fuzzer() -> list[str]:
    for command in (["cargo", "+nightly", "fuzz"], ["cargo-fuzz", "fuzz"]):
        try:
            asked = subprocess.run([*command, "--version"], capture_output=True, check=False)
        except OSError:
            continue
        if asked.returncode == 0:
            return command
    return []


def fuzz(target: str, fuzzer: list[str], env: Mapping[str, str]) -> Suite:
    """New inputs go to a corpus of their own, so that the next run begins where this one ended."""
    corpus = ROOT / "target" / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    command: list[str | Path] = [*fuzzer, "run", "--fuzz-dir", FUZZ, "--target-dir"]
    command += [ROOT / "target" / "fuzz", target, corpus, FUZZ / "seeds" / target]
    limits = [f"-max_total_time={env.get(SECONDS, '60')}", "-rss_limit_mb=1024", "-timeout=10"]
    code, _ = run(f"fuzz {target}", [*command, "--", *limits], cwd=ROOT, env={**os.environ, **env})
    if code == 0:
        return Suite(f"fuzz {target}", passed=1)
    return Suite(f"fuzz {target}", failed=1, reasons=["see tests/fuzz/artifacts"])
