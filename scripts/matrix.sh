#!/usr/bin/env bash
# Runs the tests that docs/matrix.md counts and writes it. What MySQL's cells say is taken from the last
# run of scripts/test-versions.sh on this machine.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p bin
results=bin/matrix.json
# A test that fails has its cell; the program fails for it in the end.
go run ./internal/testserver -- go test -json -timeout 15m ./forms/... ./host/... ./internal/e2e/... >"$results" || true
mysql=()
if [ -s bin/results-mysql.json ]; then
	mysql=(-mysql bin/results-mysql.json)
fi
go run ./internal/matrix -results "$results" "${mysql[@]}" -out docs/matrix.md
