#!/usr/bin/env bash
# Format, vet and lint. Guests are checked as wasm too: some of their files exist only there.
set -euo pipefail
cd "$(dirname "$0")/.."

guests=(./guest-sdk/go/...)
for handler in ./examples/wasm/*/go; do
	guests+=("$handler/...")
done

echo "== gofmt"
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'not formatted, run gofmt -w on:\n%s\n' "$unformatted" >&2
	exit 1
fi

echo "== go vet"
go vet ./...
GOOS=wasip1 GOARCH=wasm go vet "${guests[@]}"
go -C bench/river vet ./...

echo "== go build, for other systems"
for os in darwin windows; do
	CGO_ENABLED=0 GOOS=$os GOARCH=amd64 go build -o /dev/null ./cmd/inbox-wasm
done

echo "== staticcheck"
# Built first, because `go tool` would build it for wasm too.
go build -modfile=tools/go.mod -o bin/staticcheck honnef.co/go/tools/cmd/staticcheck
bin/staticcheck ./...
GOOS=wasip1 GOARCH=wasm bin/staticcheck "${guests[@]}"
