package host

import (
	"fmt"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// A program of WASI settles its rows by its exit code, in every form.
func TestCommandSettlesByItsExitCode(t *testing.T) {
	module := testwasm.GoCommand(t, "engine/testdata/gocommand")
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\nthreads = 2\n"+
			"dead_letter = \"dead\"\nbackoff = { initial = \"1h\", max = \"1h\" }\n", module), untilEmpty)
		b.enqueue("jobs", "work", "exit 0 fine", "exit 75 later", "exit 65 broken", "exit 9 odd", "exit 0 too")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, Delayed: 2, DeadLettered: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name", "error"),
			"exit 65 broken|dead|broken\nexit 75 later|work|later\nexit 9 odd|work|exit: exit code 9; reason: odd\n")
	})
}
