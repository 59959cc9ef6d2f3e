#!/bin/sh
# Installs Debian's chromium and chromium-driver, in which tests open what agents wrote, where they are missing.
set -eu

# Not by `command -v`: a program of the same name elsewhere may be another's build, and tests name the place.
[ -x /usr/bin/chromium ] && [ -x /usr/bin/chromedriver ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "please install, by your system's own means: chromium as /usr/bin/chromium, and chromedriver beside it" >&2
    exit 1
fi
as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo"
echo "installing chromium chromium-driver"
# Apt gives up where another is at work: of two that set up at once, one waits for the other.
lock="flock --close /var/lib/dpkg"
$lock $as_root apt-get update -q
DEBIAN_FRONTEND=noninteractive $lock $as_root apt-get install -q -y --no-install-recommends chromium chromium-driver
