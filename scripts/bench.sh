#!/usr/bin/env bash
# Measures the host beside hand-written loops on private servers with their default durability and on SQLite, and beside River
# on Postgres, and writes the tables into docs/benchmarks.md. Arguments go to `inbox-wasm bench`.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

if [ "${1-}" != inside ]; then
	go build -o bin/inbox-wasm ./cmd/inbox-wasm
	(cd bench/river && go build -o ../../bin/river .)
	exec go run ./internal/testserver -durable -- "$0" inside "$@"
fi
shift

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT

host=${INBOX_TEST_MARIADB#*@}
host=${host%/}
mariadb --no-defaults --host="${host%:*}" --port="${host#*:}" --user=root --execute='CREATE DATABASE bench'

echo "== Postgres" >&2
bin/inbox-wasm bench --url "$INBOX_TEST_POSTGRES" --beside River=bin/river --latency --json "$@" >"$reports/postgres.json"
echo "== MariaDB" >&2
bin/inbox-wasm bench --url "${INBOX_TEST_MARIADB}bench" --latency --json "$@" >"$reports/mariadb.json"
echo "== SQLite" >&2
bin/inbox-wasm bench --latency --json "$@" >"$reports/sqlite.json"
go run ./internal/benchdoc docs/benchmarks.md "$reports"/{postgres,mariadb,sqlite}.json
