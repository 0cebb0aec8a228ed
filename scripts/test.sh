#!/usr/bin/env bash
# Passes every test: installs what the machine lacks, checks the sources, starts private
# database servers and runs all tests with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install.sh
scripts/check.sh
echo "== go test, beside private servers"
go run ./internal/testserver -- go test -race -timeout 15m ./...
echo "== the oldest PostgreSQL, where it can be fetched"
scripts/test-versions.sh floor
