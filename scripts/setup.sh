#!/bin/sh
# Brings a fresh machine to where `npm start` and `npm test` (argument: test) work: npm packages, and the system tools they use.
# Quick and silent when there is nothing to do.
set -eu
cd "$(dirname "$0")/.."

# npm packages: once, and again whenever the lock file has changed.
stamp=node_modules/.portolan-lock
if ! cmp -s package-lock.json "$stamp"; then
  echo 'Installing npm packages ...'
  npm ci --no-fund --no-audit --loglevel=error
  cp package-lock.json "$stamp"
fi

# The bundle that bin/portolan runs; without one, or with an older one, it runs the source.
bundle=dist/portolan.mjs
if [ ! -f "$bundle" ] || [ -n "$(find src console package.json -newer "$bundle" -print -quit)" ]; then
  node_modules/.bin/node scripts/build.ts --over || echo 'The bundle could not be built; the source runs instead.' >&2
fi

# System tools: a command each, and the Debian package that brings it.
missing=''
need() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || missing="$missing $2"; }
need ip iproute2
need iptables-nft-save iptables
need iptables-legacy-save iptables
need nft nftables
need ipset ipset
need conntrack conntrack
need tcpdump tcpdump
need unshare util-linux
need setpriv util-linux
need curl curl
need sysctl procps
need kubectl kubernetes-client
if [ "${1:-}" = test ]; then
  need openssl openssl
  need chromium chromium
  need ipvsadm ipvsadm
  need busybox busybox-static
  need qemu-system-x86_64 qemu-system-x86
fi
[ -z "$missing" ] && exit 0

packages=$(echo "$missing" | tr ' ' '\n' | sort -u | tr '\n' ' ')
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "These Debian packages are missing; what needs them will be left out: $packages" >&2
  echo "Install them with: sudo apt-get install$packages" >&2
  exit 0
fi
echo "Installing Debian packages: $packages"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
# One by one, so that a package this system does not have does not keep out the others.
for package in $packages; do
  apt-get install -y -q --no-install-recommends "$package" >/dev/null || echo "could not install $package" >&2
done
