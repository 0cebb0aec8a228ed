package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// batches is a handler of batches on the jobs, with more keys.
func batches(t testing.TB, keys string) string {
	t.Helper()
	return fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\n%s\n",
		testwasm.WATFile(t, "engine/testdata/batch.wat"), keys)
}

// calls are the sizes of the guest's calls, in order.
func (b *bench) calls() string {
	var sizes []string
	for line := range strings.Lines(b.log.String()) {
		if _, size, found := strings.Cut(line, `msg="batch of `); found {
			sizes = append(sizes, strings.TrimLeft(size[:2], "0"))
		}
	}
	return strings.Join(sizes, " ")
}

// eachForm runs a test on the jobs in each form, on every database that has it.
func eachForm(t *testing.T, run func(t *testing.T, db testdb.Database, tables string)) {
	t.Helper()
	for form, declared := range map[string]string{"lease": tables, "row lock": lockTables, "advisory": keyedTables} {
		t.Run(form, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				if db.Name == "sqlite" && form == "row lock" {
					t.Skip("no row locks")
				}
				run(t, db, declared)
			})
		})
	}
}

// A thread takes what waits, up to a batch, and waits for no more.
func TestBatchesFillUpWithWhatWaits(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+batches(t, "batch = 4\nclaim = 10"), untilEmpty)
		b.enqueue("jobs", "work", "0", "3", ".", "=3", "0", "0", ".", "0", "4", "0")
		b.drain()
		equal(t, "calls", b.calls(), "4 4 2")
		// What the first call returned is the outcome of its third and fourth message. Without a target
		// dead_letter is a failure.
		equal(t, "counts", b.counts("work"), Counts{Acked: 6, Dropped: 3, Delayed: 1})
		equal(t, "rows", b.rows("jobs", "payload", "attempt"), "4|2\n")
	})
}

// Each message has its own outcome, delay and reason.
func TestBatchIsSettledByMessage(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+batches(t, "batch = 50\ndead_letter = \"dead\"\nbackoff = { initial = \"1h\", max = \"1h\" }"), untilEmpty)
		b.enqueue("jobs", "work", "0", "2", "3", "4", "5", "r", "=2")
		b.drain()
		equal(t, "calls", b.calls(), "7")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Dropped: 1, DeadLettered: 1, Delayed: 3, Snoozed: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name", "attempt", "error"),
			"2|work|2|-\n4|dead|1|-\n5|work|1|-\n=2|work|2|-\nr|work|2|because\n")
	})
}

// One message breaks the call: those that have an outcome keep it, and the others come back one a call.
func TestBrokenBatchComesBackOneByOne(t *testing.T) {
	for face, reason := range map[string]string{"t": "unreachable", "x": "proc_exit(0)", "l": "the deadline passed"} {
		t.Run(face, func(t *testing.T) {
			eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
				b := open(t, db, tables+batches(t, "batch = 10\ntimeout = \"300ms\"\nmax_attempts = 3\ndead_letter = \"dead\"\n"+
					`backoff = { initial = "1ms", max = "1ms" }`), untilEmpty)
				b.enqueue("jobs", "work", "0", "3", ".", face, ".", "0")
				b.drain()
				// Two of the four that come back are fine alone, and the bad one has its two other attempts.
				equal(t, "calls", b.calls(), "6 1 1 1 1 1")
				equal(t, "counts", b.counts("work"), Counts{Acked: 4, Dropped: 1, Delayed: 5, DeadLettered: 1})
				rows := b.rows("jobs", "payload", "name", "attempt", "error")
				if !strings.HasPrefix(rows, face+"|dead|3|") || !strings.Contains(rows, reason) || strings.Count(rows, "\n") != 1 {
					t.Errorf("rows: %q", rows)
				}
				// What came through alone shares calls again.
				if n := len(b.subscriptions()[0].lone.rows); n != 0 {
					t.Errorf("%d rows are remembered", n)
				}
			})
		})
	}
}

// A crash leaves no memory, so a row is not given up for what another one did on its last attempt.
func TestLastAttemptIsAlone(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+batches(t, "batch = 10\nmax_attempts = 3\ndead_letter = \"dead\""), untilEmpty)
		b.enqueue("jobs", "work", ".", "t", ".", "0", "0")
		b.script("UPDATE jobs SET attempt = 3 WHERE id <= 3")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 4, DeadLettered: 1})
		equal(t, "calls", b.calls(), "1 1 1 2")
	})
}

// A row that no handler can be given leaves its batch, not the batch its rows.
func TestUndecodableRowLeavesItsBatch(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+batches(t, "batch = 10\nmax_payload = 100\ndead_letter = \"dead\""), untilEmpty)
		b.write("jobs", forms.Message{Group: "work", Payload: []byte("0")},
			forms.Message{Group: "work", Payload: []byte(strings.Repeat("x", 101))},
			forms.Message{Group: "work", Payload: []byte("3")})
		b.drain()
		equal(t, "calls", b.calls(), "2")
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, Dropped: 1, DeadLettered: 1})
	})
}

// The memory of rows that are to be alone is bounded.
func TestLoneIsBounded(t *testing.T) {
	var l lone
	failed := &engine.Result{Failure: engine.Trap}
	for i := range maxLone + 10 {
		l.learn(&forms.Delivery{ID: forms.ID{int64(i)}}, failed, true)
	}
	if len(l.rows) != maxLone || !l.has(&forms.Delivery{ID: forms.ID{int64(maxLone + 9)}}) {
		t.Errorf("%d rows are remembered", len(l.rows))
	}
}

func TestBatchNeedsItsExport(t *testing.T) {
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	path := filepath.Join(t.TempDir(), "only.wasm")
	only := testwasm.WAT(t, `(module (memory (export "memory") 1) (func (export "inbox_handle_batch") (param i32) (result i32) (i32.const 0)))`)
	if err := os.WriteFile(path, only, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := parse(t, db, tables+handler(t, "single", "jobs", "batch = 5")+
		fmt.Sprintf("[handlers.batches]\nmodule = %q\ntable = \"jobs\"\n", path)+
		fmt.Sprintf("[handlers.fine]\nmodule = %q\ntable = \"jobs\"\nbatch = 2\n", path))
	create(t, connect(t, db), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	var problems config.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	text := problems.Error()
	for _, want := range []string{
		"handlers.single.batch: is 5, and module " + cfg.Handlers[0].Module + " exports no inbox_handle_batch; remove batch, or export inbox_handle_batch (count: i32) -> i32",
		"handlers.batches.batch: is 1, and module " + path + " exports inbox_handle_batch alone; raise batch, or export inbox_handle () -> i32",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	if len(problems) != 2 {
		t.Errorf("%d problems", len(problems))
	}
}
