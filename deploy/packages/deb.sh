#!/bin/sh
# Packs the program for Debian and its like, with its unit, its user and its settings.
#   deb.sh PROGRAM VERSION NOTICES FOLDER
set -eu
program=$1 version=$2 notices=$3 out=$4
cd "$(dirname "$0")/../.."
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
architecture=$(dpkg --print-architecture)

install -D -m 755 "$program" "$package/usr/bin/threadkeep"
install -D -m 644 deploy/systemd/threadkeep.service "$package/usr/lib/systemd/system/threadkeep.service"
install -D -m 644 deploy/systemd/sysusers.conf "$package/usr/lib/sysusers.d/threadkeep.conf"
install -D -m 644 deploy/systemd/config.toml "$package/etc/threadkeep/config.toml"
install -D -m 644 deploy/systemd/secrets.conf "$package/usr/share/doc/threadkeep/secrets.conf"
install -D -m 644 "$notices" "$package/usr/share/doc/threadkeep/THIRD-PARTY-NOTICES"
install -D -m 644 LICENSE "$package/usr/share/doc/threadkeep/copyright"

# The newest symbol of glibc that the program asks for is the oldest glibc that it runs on.
glibc=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | cut -d_ -f2 | sort -V | tail -1)
depends="libc6 (>= $glibc)"
if objdump -p "$program" | grep -q 'NEEDED.*libgcc_s'; then
    depends="$depends, libgcc-s1"
fi
mkdir -p "$package/DEBIAN"
sed "s/@VERSION@/$version/; s/@ARCHITECTURE@/$architecture/; s/@DEPENDS@/$depends/" deploy/packages/deb/control >"$package/DEBIAN/control"
install -m 755 deploy/packages/deb/postinst deploy/packages/deb/prerm "$package/DEBIAN/"
echo /etc/threadkeep/config.toml >"$package/DEBIAN/conffiles"
chmod -R go-w "$package"
chmod 755 "$package"
dpkg-deb --root-owner-group --build "$package" "$out/threadkeep_${version}_$architecture.deb"
