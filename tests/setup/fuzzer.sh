#!/bin/sh
# Builds cargo-fuzz into target/fuzzer, with a C++ compiler where there is none, and prints the folder of its program.
set -eu
cd "$(dirname "$0")/../.."

version=0.13.2
home=$PWD/target/fuzzer
command -v c++ >/dev/null || tests/setup/system.sh g++ libc6-dev >&2
if ! "$home/bin/cargo-fuzz" --version 2>/dev/null | grep -qx "cargo-fuzz $version"; then
    cargo install --quiet --locked --version "$version" --root "$home" --target-dir "$home/build" cargo-fuzz >&2
    rm -rf "$home/build"
fi
echo "$home/bin"
