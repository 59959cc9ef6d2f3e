#!/bin/sh
# Makes target/s3, an environment with an S3-compatible server (every package pinned by hash), and prints the server's path.
set -eu
cd "$(dirname "$0")/../.."

pins=tests/setup/requirements-object-store.txt
venv=$PWD/target/s3
wanted=$(cksum <"$pins"; pwd)
if [ ! -f "$venv/.made-from" ] || [ "$(cat "$venv/.made-from")" != "$wanted" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r "$pins" >&2
    printf '%s' "$wanted" >"$venv/.made-from"
fi
echo "$venv/bin/moto_server"
