#!/usr/bin/env bash
# Builds what a release consists of into dist/: for each system an archive with the program, the README, the manual pages
# and the completions, and SHA256SUMS. The same commit, version and Go give the same bytes, wherever this runs.
#
#     scripts/release.sh [VERSION]     # default: what git describes
#     TARGETS="linux/arm64" OUT=/tmp/x scripts/release.sh
#
# scripts/reproducible.sh builds twice and compares.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
out=${OUT:-dist}
version=${1:-$(git describe --tags --always --dirty)}
commit=$(git rev-parse HEAD)
if [ -n "$(git status --porcelain)" ]; then
	echo "release.sh: there are changes that are not committed: the program says that its commit is ${commit}-dirty" >&2
	commit=$commit-dirty
fi
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# What could differ from machine to machine and would show in the bytes.
unset GOFLAGS GOEXPERIMENT GOFIPS140
export CGO_ENABLED=0 GOWORK=off GOAMD64=v1 GOARM64=v8.0
command=github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command
flags=(-trimpath -buildvcs=false -ldflags "-s -w -X $command.release=$version -X $command.commit=$commit")

rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== manual pages and completions"
go build -o "$work/archive" ./internal/archive
go run ./internal/manual "$version" "$work/manual"

for target in $targets; do
	echo "== $target"
	os=${target%/*} arch=${target#*/}
	name=inbox-wasm-$version-$os-$arch
	mkdir -p "$work/$name"
	program=inbox-wasm ending=tar.gz
	if [ "$os" = windows ]; then
		program=inbox-wasm.exe ending=zip
	fi
	GOOS=$os GOARCH=$arch go build "${flags[@]}" -o "$work/$name/$program" ./cmd/inbox-wasm
	cp -R README.md CHANGELOG.md docs deploy "$work/manual/." "$work/$name"
	rm -f "$work/$name"/deploy/*.go
	if [ -f LICENSE ]; then
		cp LICENSE "$work/$name"
	fi
	"$work/archive" "$SOURCE_DATE_EPOCH" "$work/$name" "$out/$name.$ending"
done

(cd "$out" && sha256sum -- inbox-wasm-* >SHA256SUMS && cat SHA256SUMS)
