.PHONY: build check test

# The program itself, as bin/inbox-wasm.
build:
	go build -o bin/inbox-wasm ./cmd/inbox-wasm

# Format, vet and lint.
check:
	scripts/check.sh

# Everything: installs what is missing, checks, starts private servers, runs every test.
test:
	scripts/test.sh
