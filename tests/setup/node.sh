#!/bin/sh
# Installs the pinned node modules of all JavaScript packages here into node_modules, by the lock file, and builds the client
# package. Two stamps make a second run cost nothing. Without Node.js it says so and does nothing: what needs it is told then.
set -eu
cd "$(dirname "$0")/../.."

if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    echo "no Node.js 20 or newer with npm here: nothing of JavaScript is installed" >&2
    exit 0
fi

# is_made_from STAMP WHAT: whether the last run made it from the same.
is_made_from() {
    [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

packages=$(cat package-lock.json package.json clients/js/package.json clients/console/package.json tests/js/package.json examples/*/package.json | cksum; pwd)
if ! is_made_from node_modules/.made-from "$packages"; then
    # No script of a package runs: what has native code ships it.
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
    printf '%s' "$packages" >node_modules/.made-from
fi

client=$(find clients/js/src clients/js/scripts/build.mjs clients/js/tsconfig.build.json tsconfig.json -type f -exec cksum {} + | sort | cksum; pwd)
if [ ! -d clients/js/dist ] || ! is_made_from node_modules/.client-made-from "$client"; then
    node clients/js/scripts/build.mjs >&2
    printf '%s' "$client" >node_modules/.client-made-from
fi
