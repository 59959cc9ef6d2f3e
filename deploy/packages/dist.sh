#!/bin/sh
# Packs the program into target/packages: a wheel, npm packages, a tarball and, where dpkg-deb is, a .deb; with the licences of all that is in it,
# and a list of that (CycloneDX). `make dist` runs it.
#   THREADKEEP_DIST_BIN   a program that is built already, to try the packing; without it, one is built with the profile `dist`, on Linux
#                         for glibc 2.28
#   THREADKEEP_DIST_OUT   another folder for the packages
set -eu
cd "$(dirname "$0")/../.."
root=$PWD
out=${THREADKEEP_DIST_OUT:-$root/target/packages}
tools=$(tests/setup/deploy.sh)
# Those of all platforms: their licences are told, too.
cargo fetch --locked --quiet
version=$(cargo pkgid --offline | sed 's/.*@//')
system=$(uname -s | tr '[:upper:]' '[:lower:]')
machine=$(uname -m)
case $machine in
x86_64) node_machine=x64 ;;
*) node_machine=arm64 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# pack FOLDER FILE: a folder of the work folder as a tarball.
pack() {
    tar -cf - -C "$work" "$1" | gzip -$level >"$out/$2"
}

# The wheel, by maturin, which builds the program and lists what is in it.
cp -R deploy/packages/python "$work/python"
cp LICENSE "$work/python/"
"$tools/python" deploy/packages/notices.py >"$work/python/THIRD-PARTY-NOTICES"
sed "s|\.\./\.\./\.\./Cargo.toml|$root/Cargo.toml|" deploy/packages/python/pyproject.toml >"$work/python/pyproject.toml"
level=9
# Cargo looks for its settings above the folder that it is called in, which is not this one.
set -- build --out "$work/wheel" --config "$root/.cargo/config.toml"
if [ -n "${THREADKEEP_DIST_BIN:-}" ]; then
    level=1
    # maturin takes the file away: it gets one of its own.
    cp "$THREADKEEP_DIST_BIN" "$work/threadkeep"
    export THREADKEEP_DIST_GIVEN="$work/threadkeep" THREADKEEP_DIST_MANIFEST="$root/Cargo.toml"
    PATH=$root/deploy/packages/given:$PATH
elif [ "$system" = linux ]; then
    "$tools/pip" install -q --disable-pip-version-check --only-binary=:all: --require-hashes --no-deps -r tests/setup/requirements-zig.txt
    set -- "$@" --zig --compatibility manylinux_2_28
    PATH=$tools:$PATH
fi
(cd "$work/python" && "$tools/maturin" "$@" --compression-level $level)
"$tools/python" -m zipfile -e "$work"/wheel/*.whl "$work/unpacked"
program=$work/program
install -m 755 "$work/unpacked/threadkeep_server-$version.data/scripts/threadkeep" "$program"
if ! grep -aq dirty_decay_ms:100 "$program"; then
    echo "the program was built without the settings of .cargo/config.toml" >&2
    exit 1
fi
sed "s|$root|/threadkeep|g" "$work"/unpacked/*.dist-info/sboms/threadkeep.cyclonedx.json >"$out/threadkeep-$version.cyclonedx.json"
cp "$work"/wheel/*.whl "$out/"

# npm: a package for everybody, which takes the program from that of the platform.
cp -R deploy/packages/npm "$work/npm"
cp LICENSE "$work/python/THIRD-PARTY-NOTICES" "$work/npm/"
sed "s/\"0\.0\.0\"/\"$version\"/" deploy/packages/npm/package.json >"$work/npm/package.json"
npm pack --silent --ignore-scripts --pack-destination "$out" "$work/npm"
platform=threadkeep-server-$system-$node_machine
mkdir -p "$work/package/bin"
cp "$program" "$work/package/bin/threadkeep"
cp LICENSE "$work/python/THIRD-PARTY-NOTICES" "$work/package/"
cat >"$work/package/package.json" <<END
{
  "name": "$platform",
  "version": "$version",
  "description": "The program of threadkeep-server for $system on $node_machine",
  "license": "Apache-2.0",
  "os": ["$system"],
  "cpu": ["$node_machine"]
}
END
pack package "$platform-$version.tgz"

# What describes the program: completions of shells, and manual pages. The program writes them itself.
mkdir -p "$work/manuals/completions"
"$program" completions bash >"$work/manuals/completions/threadkeep.bash"
"$program" completions zsh >"$work/manuals/completions/_threadkeep"
"$program" completions fish >"$work/manuals/completions/threadkeep.fish"
"$program" completions powershell >"$work/manuals/completions/threadkeep.ps1"
"$program" man --to "$work/manuals/man/man1"

# The tarball: the program with what a machine without packages needs.
folder=threadkeep-$version-$system-$machine
mkdir -p "$work/$folder"
cp "$program" "$work/$folder/threadkeep"
cp LICENSE README.md CHANGELOG.md "$work/python/THIRD-PARTY-NOTICES" "$work/$folder/"
cp -R deploy/systemd "$work/$folder/systemd"
cp -R "$work/manuals/completions" "$work/manuals/man" "$work/$folder/"
pack "$folder" "$folder.tar.gz"

if command -v dpkg-deb >/dev/null; then
    deploy/packages/deb.sh "$program" "$version" "$work/python/THIRD-PARTY-NOTICES" "$work/manuals" "$out"
fi
(cd "$out" && ls -l)
