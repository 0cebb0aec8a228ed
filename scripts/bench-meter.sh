#!/usr/bin/env bash
# What the meter costs: the table of docs/benchmarks.md, of the kernels in Go and in those of C and Rust whose compilers
# are here. ROUNDS says how many rounds are run, 11 by default.
set -euo pipefail
cd "$(dirname "$0")/.."

kernels=host/engine/meter/kernels/testdata
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# first is the first of some commands that is there.
first() {
	for name in "$@"; do
		if command -v "$name"; then
			return
		fi
	done
	return 1
}

linker=$(first wasm-ld-22 wasm-ld-14 wasm-ld) || linker=
clang=$(first clang-22 clang-14 clang) || clang=
if [ -n "$clang" ] && [ -n "$linker" ]; then
	"$clang" --target=wasm32 -O2 -nostdlib -ffreestanding "-fuse-ld=$linker" -Wl,--no-entry -o "$built/c.wasm" $kernels/c/kernels.c
else
	echo "left out: C, for want of clang and lld: apt-get install --no-install-recommends clang-22 lld-22" >&2
fi
# The rustc that comes first may be one without a standard library for WebAssembly.
rustc=
for candidate in rustc /usr/bin/rustc; do
	if command -v "$candidate" >/dev/null && [ -d "$("$candidate" --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ]; then
		rustc=$candidate
		break
	fi
done
linker=$(first wasm-ld-14 wasm-ld) || linker= # Debian's Rust has libraries that later ones do not read
if [ -n "$rustc" ] && [ -n "$linker" ]; then
	"$rustc" --crate-type=cdylib --target=wasm32-unknown-unknown -C opt-level=3 -C strip=symbols "-Clinker=$linker" \
		-o "$built/rust.wasm" $kernels/rust/kernels.rs
else
	echo "left out: Rust, for want of rustc for wasm32-unknown-unknown and lld: apt-get install --no-install-recommends rustc libstd-rust-dev-wasm32 lld-14" >&2
fi

INBOX_KERNELS=$built INBOX_BENCH=${ROUNDS:-11} go test ./host/engine/meter/kernels -run TestMeterCost -count=1 -v
