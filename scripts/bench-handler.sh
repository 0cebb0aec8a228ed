#!/usr/bin/env bash
# Builds the handler that `inbox-wasm bench` carries from its source beside it. The module is committed, so that the program
# builds with Go alone; a test compares what it does with what its source does.
set -euo pipefail
cd "$(dirname "$0")/../internal/bench/handler"

# first is the first of some commands that is there.
first() {
	for name in "$@"; do
		if command -v "$name"; then
			return
		fi
	done
	echo "bench-handler.sh: $* is missing: run scripts/install.sh" >&2
	return 1
}

clang=$(first clang-14 clang)
linker=$(first wasm-ld-14 wasm-ld)
"$clang" --target=wasm32 -O2 -mbulk-memory -Wall -Wextra -Werror -nostdlib "-fuse-ld=$linker" \
	-Wl,--no-entry,--stack-first,--strip-all -o handler.wasm handler.c
