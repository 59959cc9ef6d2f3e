#!/bin/sh
# Packs the program for Debian and its like, with its unit, its user, its settings, its completions and its manual pages.
#   deb.sh PROGRAM VERSION NOTICES MANUALS FOLDER
set -eu
program=$1 version=$2 notices=$3 manuals=$4 out=$5
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
# Each shell looks into a folder of its own, bash and fish for the name of the program.
completions=$manuals/completions
install -D -m 644 "$completions/threadkeep.bash" "$package/usr/share/bash-completion/completions/threadkeep"
install -D -m 644 "$completions/_threadkeep" "$package/usr/share/zsh/vendor-completions/_threadkeep"
install -D -m 644 "$completions/threadkeep.fish" "$package/usr/share/fish/vendor_completions.d/threadkeep.fish"
for page in "$manuals"/man/man1/*; do
    install -D -m 644 "$page" "$package/usr/share/man/man1/${page##*/}"
done
# Without its name and time: the same program gives the same package.
gzip -9n "$package"/usr/share/man/man1/*

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
