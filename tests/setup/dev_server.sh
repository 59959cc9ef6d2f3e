#!/bin/sh
# Makes target/dev-server, an environment with LangGraph's development server (every package pinned by hash), and prints
# the folder of its programs.
set -eu
cd "$(dirname "$0")/../.."

pins=tests/setup/requirements-dev-server.txt
venv=$PWD/target/dev-server
wanted=$(cksum <"$pins"; pwd)
if [ ! -f "$venv/.made-from" ] || [ "$(cat "$venv/.made-from")" != "$wanted" ]; then
    rm -rf "$venv"
    mkdir -p target
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r "$pins" >&2
    printf '%s' "$wanted" >"$venv/.made-from"
fi
echo "$venv/bin"
