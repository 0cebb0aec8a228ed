#!/usr/bin/env bash
# Passes every test: installs what the machine lacks, checks the sources, starts private
# database servers and runs all tests with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
scripts/check.sh
echo "== go test, beside private servers"
# What has goroutines is tested under the race detector. The commands, whose processes the end-to-end tests run under it, and the
# guests, the meter and the model, which mostly compile or search and start nothing, are not: WebAssembly's compiler takes seven times as long there.
plain='/(cmd|examples|guest-sdk|meter|model)(/|$)'
go run ./internal/testserver -- go test -timeout 15m $(go list ./... | grep -E "$plain")
go run ./internal/testserver -- go test -race -timeout 15m $(go list ./... | grep -v -E "$plain")
echo "== the oldest PostgreSQL, where it can be fetched"
scripts/test-versions.sh floor
