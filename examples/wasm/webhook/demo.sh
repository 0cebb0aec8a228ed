#!/bin/sh
# The webhook inbox from nothing, with Go alone: builds program and guest, makes the table in a
# SQLite file, writes 20,000 sample events, runs them to the end and prints what happened to them.
set -eu
cd "$(dirname "$0")/../../.."
events=20000
database=bin/demo.db
log=bin/demo.log

mkdir -p bin
rm -f "$database" "$database"-*
export DATABASE_URL="sqlite:$database"

echo "== build the program and the guest"
go build -o bin/inbox-wasm ./cmd/inbox-wasm
GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o bin/webhook.wasm ./examples/wasm/webhook/go

echo "== write $events events"
go run ./examples/wasm/webhook/events -n "$events" -seed 1 -o bin/events.jsonl
bin/inbox-wasm schema --apply
bin/inbox-wasm enqueue webhooks --jsonl bin/events.jsonl --envelope

echo "== run them (the log is in $log)"
if ! bin/inbox-wasm serve --until-empty 2>"$log"; then
	cat "$log" >&2
	exit 1
fi
echo "the generator made: $(go run ./examples/wasm/webhook/events -n "$events" -seed 1 -expect)"
