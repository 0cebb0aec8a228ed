.PHONY: build release check test test-versions matrix bench bench-meter languages

# The program itself, as bin/inbox-wasm.
build:
	go build -o bin/inbox-wasm ./cmd/inbox-wasm

# What a release consists of, for every system, in dist/: scripts/reproducible.sh shows that it has the same bytes wherever it is built.
release:
	scripts/release.sh

# Format, vet and lint.
check:
	scripts/check.sh

# Everything: installs what is missing, checks, starts private servers, runs every test.
test:
	scripts/test.sh

# The forms and the host on the oldest and the newest PostgreSQL, and on a real MySQL, which it fetches.
test-versions:
	scripts/test-versions.sh

# docs/matrix.md, from the results of the tests; MySQL's are those of test-versions, where it has run.
matrix:
	scripts/matrix.sh

# The host beside hand-written loops and River: the first tables of docs/benchmarks.md, in a quarter of an hour.
bench:
	scripts/bench.sh

# What metering guests costs, beside guests as they are: the table of docs/benchmarks.md.
bench-meter:
	scripts/bench-meter.sh

# The figures of docs/languages.md: a new handler in each language, built and called.
languages:
	scripts/install.sh
	INBOX_LANGUAGES=docs/languages.md go test ./cmd/inbox-wasm/command -run TestNewHandlersRunAsTheyAre -count=1
