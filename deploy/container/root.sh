#!/bin/sh
# Makes the root folder of the image: the program, the shared libraries that it loads, and the authorities that TLS trusts.
#   root.sh PROGRAM FOLDER
set -eu
program=$1
root=$2

mkdir -p "$root/etc/ssl/certs" "$root/tmp"
install -m 755 "$program" "$root/threadkeep"
# Each line of ldd has one path: the library's, or the loader's.
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root${library%/*}"
    cp -L "$library" "$root$library"
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'threadkeep:x:65532:65532::/data:/' >"$root/etc/passwd"
echo 'threadkeep:x:65532:' >"$root/etc/group"
# Names of hosts: of the machine's own file first, then of the DNS.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
