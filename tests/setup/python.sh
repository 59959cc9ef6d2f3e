#!/bin/sh
# Makes target/py, the project's own Python environment, from requirements.txt (every package pinned by hash), and puts
# the client package in place. Two stamps make a second run cost nothing. The pins are whole, so pip resolves nothing (--no-deps):
# the resolver of an older pip takes a newer release than the pinned one where a package asks for an extra.
set -eu
cd "$(dirname "$0")/../.."

venv=target/py
export PIP_DISABLE_PIP_VERSION_CHECK=1

# is_made_from STAMP WHAT: whether the last run made it from the same.
is_made_from() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

packages=$(cat tests/setup/requirements.txt tests/setup/python.sh | cksum; pwd)
if ! is_made_from "$venv/.packages" "$packages"; then
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "the tests need Python 3.11 or newer as python3" >&2
        exit 1
    fi
    rm -rf "$venv"
    mkdir -p target
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q --only-binary=:all: --require-hashes --no-deps -r tests/setup/requirements.txt
    printf '%s' "$packages" >"$venv/.packages"
fi

client=$(cksum <clients/python/pyproject.toml)
if ! is_made_from "$venv/.client" "$client"; then
    # The build backend is among the pinned packages, so nothing is fetched here.
    "$venv/bin/pip" install -q --no-deps --no-index --no-build-isolation -e clients/python
    "$venv/bin/pip" check
    printf '%s' "$client" >"$venv/.client"
fi
