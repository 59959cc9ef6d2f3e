#!/bin/sh
# Remakes requirements.txt from requirements.in, with the hashes of every platform's files.
set -eu
cd "$(dirname "$0")"

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
python3 -m venv "$tool"
"$tool/bin/pip" install -q --disable-pip-version-check uv==0.13.8
"$tool/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    "$@" requirements.in -o requirements.txt
