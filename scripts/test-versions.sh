#!/usr/bin/env bash
# Runs the tests of the forms and of the host on other versions of the servers than the machine's: the oldest
# PostgreSQL that will do and the newest, and a real MySQL in the place of MariaDB. What cannot be fetched is
# said and left out. `scripts/test-versions.sh floor` runs the forms on the oldest PostgreSQL alone.
#
# The results are kept as go test -json in bin/results-NAME.json; `make matrix` reads those of mysql.
set -euo pipefail
cd "$(dirname "$0")/.."

servers=bin/servers
failed=0

# run NAME POSTGRES MYSQL PACKAGE...: on the servers in these folders of bin/servers, or the machine's own for -.
run() {
	local name=$1 postgres=$2 mysql=$3 results=bin/results-$1.json
	shift 3
	local environment=()
	[ "$postgres" = - ] || environment+=("INBOX_TEST_POSTGRES_BIN=$PWD/$servers/$postgres/bin")
	[ "$mysql" = - ] || environment+=("INBOX_TEST_MYSQL_ROOT=$PWD/$servers/$mysql")
	echo "== go test on $name"
	if env "${environment[@]}" go run ./internal/testserver -- go test -json -timeout 15m "$@" >"$results"; then
		grep -c '"Action":"pass".*"Test"' "$results" | sed 's/$/ tests and subtests passed/'
	else
		failed=1
		grep -o '"Action":"fail".*"Test":"[^"]*"' "$results" | sed 's/.*"Test":/failed: /' || tail -n 20 "$results"
	fi
}

# have SERVER, or say that it is not tested.
have() {
	[ -d "$servers/$1" ] || {
		echo "== not run on $1: it could not be fetched"
		return 1
	}
}

mkdir -p bin
if [ "${1:-}" = floor ]; then
	scripts/servers.sh postgres-11
	if have postgres-11; then run floor postgres-11 - -run '/^postgres$' ./forms; fi
	exit "$failed"
fi
rm -f bin/results-*.json
scripts/servers.sh
# MySQL runs beside the oldest PostgreSQL, so that nothing runs twice.
oldest=- mysql=-
if have postgres-11; then oldest=postgres-11; fi
if have mysql; then mysql=mysql; fi
if [ "$oldest$mysql" != -- ]; then
	name=oldest
	if [ "$mysql" != - ]; then name=mysql; fi
	run "$name" "$oldest" "$mysql" ./forms ./host
fi
if have postgres-18; then run newest postgres-18 - -run '/(postgres|lease|row_lock|advisory.*)$' ./forms ./host; fi
exit "$failed"
