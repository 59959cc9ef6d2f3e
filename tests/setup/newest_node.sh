#!/bin/sh
# Installs the newest peers at the last `make matrix`, and the pinned tools of the JavaScript suites, into target/newest-js by the
# lock file, and prints that folder. A stamp makes a second run cost nothing, and of two at once one waits for the other. Without
# Node.js it says so and does nothing: what needs it is told then.
set -eu
cd "$(dirname "$0")/../.."

if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    echo "no Node.js 20 or newer with npm here: the newest peers of JavaScript are not installed" >&2
    exit 0
fi

lock=tests/setup/newest
folder=$PWD/target/newest-js
mkdir -p "$folder"
exec 9>"$folder.lock"
flock 9

wanted=$(cat $lock/package.json $lock/package-lock.json tests/setup/newest_node.sh | cksum; pwd; node --version)
if [ ! -f "$folder/node_modules/.made-from" ] || [ "$(cat "$folder/node_modules/.made-from")" != "$wanted" ]; then
    cp $lock/package.json $lock/package-lock.json "$folder/"
    # No script of a package runs: what has native code ships it.
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
    printf '%s' "$wanted" >"$folder/node_modules/.made-from"
fi
echo "$folder"
