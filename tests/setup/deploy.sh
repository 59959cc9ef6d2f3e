#!/bin/sh
# Makes target/deploy, an environment with the programs that read the files of deploy/ and .github/, and with maturin, which packs the
# program (every package pinned by hash), and prints the folder of its programs.
set -eu
cd "$(dirname "$0")/../.."

pins=tests/setup/requirements-deploy.txt
venv=$PWD/target/deploy
mkdir -p target
# Workers of the tests come here at once: one makes it, the others wait.
exec 9>"$venv.lock"
if command -v flock >/dev/null; then flock 9; fi
wanted=$(cat "$pins" tests/setup/deploy.sh | cksum; pwd)
if [ ! -f "$venv/.made-from" ] || [ "$(cat "$venv/.made-from")" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r "$pins" >&2
    printf '%s' "$wanted" >"$venv/.made-from"
fi
echo "$venv/bin"
