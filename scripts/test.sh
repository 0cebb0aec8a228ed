#!/usr/bin/env bash
# Passes every test: installs what the machine lacks, checks the sources, starts private
# database servers and runs all tests with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
scripts/check.sh
echo "== go test, beside private servers"
# The race detector watches everything but the inside of WebAssembly's compiler and of SQLite's C, which are not ours, and
# take seven times as long under it.
unwatched=()
for package in github.com/tetratelabs/wazero/... modernc.org/sqlite/lib modernc.org/libc/...; do
	unwatched+=("-gcflags=$package=-race=false")
done
go run ./internal/testserver -- go test -race "${unwatched[@]}" -timeout 15m ./...
echo "== the oldest PostgreSQL, where it can be fetched"
scripts/test-versions.sh floor
