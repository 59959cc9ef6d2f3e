#!/bin/sh
# Makes target/newest-py, an environment with the newest peers at the last `make matrix` (every package pinned by hash) and the
# client package, and prints its python. With an interpreter as argument it makes target/newest-py-VERSION of that one.
# The Claude Agent SDK, which brings a program of 360 MB, and what needs it come along only if the first argument is --whole.
# Stamps make a second run cost nothing, and of two at once one waits for the other.
set -eu
cd "$(dirname "$0")/../.."

whole=""
if [ "${1-}" = --whole ]; then
    whole=yes
    shift
fi
interpreter=${1:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1
if ! version=$("$interpreter" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); then
    echo "THREADKEEP_PYTHONS: $interpreter is no Python interpreter here" >&2
    exit 1
fi
venv=$PWD/target/newest-py${1:+-$version}
pins=tests/setup/newest/requirements.txt
[ "$version" != 3.10 ] || pins=tests/setup/newest/requirements-3.10.txt

mkdir -p target
exec 9>"$venv.lock"
flock 9

# is_made_from STAMP WHAT: whether the last run made it from the same.
is_made_from() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

packages=$(cat "$pins" tests/setup/newest_python.sh | cksum; pwd; "$interpreter" -VV)
if ! is_made_from "$venv/.packages" "$packages"; then
    rm -rf "$venv"
    "$interpreter" -m venv "$venv" >&2
    awk '/^[^ ]/ { left_out = /^(claude-agent-sdk|computer-agent-py)==/ } !left_out' "$pins" >"$venv/requirements.txt"
    "$venv/bin/pip" install -q --only-binary=:all: --require-hashes --no-deps -r "$venv/requirements.txt" >&2
    printf '%s' "$packages" >"$venv/.packages"
fi
if [ -n "$whole" ] && ! is_made_from "$venv/.whole" "$packages"; then
    "$venv/bin/pip" install -q --only-binary=:all: --require-hashes --no-deps -r "$pins" >&2
    printf '%s' "$packages" >"$venv/.whole"
fi

client=$(cksum <clients/python/pyproject.toml)
if ! is_made_from "$venv/.client" "$client"; then
    # The build backend is among the pinned packages, so nothing is fetched here.
    "$venv/bin/pip" install -q --no-deps --no-index --no-build-isolation -e clients/python >&2
    "$venv/bin/pip" check >&2
    printf '%s' "$client" >"$venv/.client"
fi
echo "$venv/bin/python"
