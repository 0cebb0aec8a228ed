#!/usr/bin/env bash
# Builds the release of HEAD twice, from two clones in two folders and with two build caches, and compares the bytes.
#
#     scripts/reproducible.sh              # every system, in some minutes
#     TARGETS=linux/amd64 scripts/reproducible.sh
set -euo pipefail
cd "$(dirname "$0")/.."

here=$PWD
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
for place in one another/place; do
	git clone --quiet --no-hardlinks "$here" "$work/$place"
done
# One of the two has nothing in its cache, so that it cannot take the other's work.
GOCACHE=$work/cache OUT=$work/one/dist "$work/one/scripts/release.sh" reproducible
(umask 077 && OUT=$work/another/place/dist "$work/another/place/scripts/release.sh" reproducible)
diff "$work/one/dist/SHA256SUMS" "$work/another/place/dist/SHA256SUMS"
echo "both are the same"
