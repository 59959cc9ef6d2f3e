#!/bin/sh
# Installs the system packages that the build and the tests need, and only those that are missing; and those that are named.
set -eu

missing="${*:+ $*}"
command -v cc >/dev/null || missing="$missing gcc libc6-dev"
{ command -v setpriv && command -v flock; } >/dev/null || missing="$missing util-linux"
command -v ps >/dev/null || missing="$missing procps"
command -v curl >/dev/null || missing="$missing curl"
command -v valgrind >/dev/null || missing="$missing valgrind"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v redis-server >/dev/null || missing="$missing redis-server"
if ! command -v python3 >/dev/null; then
    missing="$missing python3 python3-venv"
elif ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    missing="$missing python3-venv"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "please install, by your system's own means:$missing" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
echo "installing$missing"
# Apt gives up where another is at work: of two that set up at once, one waits for the other.
lock="flock --close /var/lib/dpkg"
$lock $as_root apt-get update -q
# shellcheck disable=SC2086  # a list of package names
DEBIAN_FRONTEND=noninteractive $lock $as_root apt-get install -q -y --no-install-recommends $missing
