package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// pooled is a Postgres database through a private PgBouncer, beside the database itself.
func pooled(t *testing.T, mode string, maxPrepared int) (through, direct testdb.Database) {
	t.Helper()
	direct = onPostgres(t)
	return testdb.Database{Name: "postgres", URL: testdb.StartPgBouncer(t, direct.URL, mode, maxPrepared)}, direct
}

// Behind a pooler in transaction mode whole services run, by leases and by row locks, with every outcome, and
// four threads that meet each other's sessions.
func TestPoolerTransactionModeServesLeasesAndRowLocks(t *testing.T) {
	for _, maxPrepared := range []int{0, 200} {
		for form, declared := range map[string]string{"lease": tables, "row lock": lockTables} {
			t.Run(fmt.Sprintf("%s, max_prepared_statements=%d", form, maxPrepared), func(t *testing.T) {
				db, _ := pooled(t, "transaction", maxPrepared)
				keys := "threads = 4\nmax_attempts = 3\ntimeout = \"200ms\"\nbackoff = { initial = \"1h\", max = \"1h\" }\n"
				b := open(t, db, declared+handler(t, "work", "jobs", keys+`dead_letter = "dead"`)+
					handler(t, "moving", "jobs", keys+`dead_letter = "dead_jobs"`), untilEmpty)
				b.enqueue("jobs", "work", "ok", "drop", "kill", "Snooze", "Delay", "retry", "trap", "loop", "7")
				b.enqueue("jobs", "work", many("ok", 200)...)
				b.enqueue("jobs", "moving", "kill", "ok")
				b.drain()
				equal(t, "counts", b.counts("work"), Counts{Acked: 201, Dropped: 1, DeadLettered: 2, Snoozed: 1, Delayed: 4, Retried: 2})
				equal(t, "rows", b.rows("jobs", "payload", "name", "attempt"),
					"7|work|2\nDelay|work|2\nSnooze|work|1\nkill|dead|1\nloop|work|2\nretry|dead|3\ntrap|work|2\n")
				equal(t, "moved", b.rows("dead_jobs", "payload", "name", "attempt", "error"), "kill|moving|1|because\n")
				equal(t, "counts", b.counts("moving"), Counts{Acked: 1, DeadLettered: 1})
			})
		}
	}
}

// A key that one client has locked is another's to lock behind a pooler in transaction mode, which nothing at
// run time would show (netbox-community/netbox#23009), and a LISTEN stays with a session that nobody reads: the
// start refuses each with one problem that says what to do.
func TestPoolerTransactionModeIsRefusedForLocksAndListeners(t *testing.T) {
	const shared = "needs sessions of its own, and the database is behind a pooler that shares them between transactions, so that "
	const remedy = "connect to the server itself, or set pool_mode = session, or "
	for name, c := range map[string]struct{ declared, keys, problem string }{
		"advisory": {keyedTables, "", "tables.jobs.advisory_lock: " + shared + "its locks would protect nobody; " + remedy + "take the lease form with locked_until"},
		"lease":    {tables, "listen = true", "handlers.work.listen: " + shared + "notifications would get lost; " + remedy + "remove listen; the table is polled"},
		"row lock": {lockTables, "listen = true", "handlers.work.listen: " + shared + "notifications would get lost; " + remedy + "remove listen; the table is polled"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, maxPrepared := range []int{0, 200} {
				t.Run(fmt.Sprintf("max_prepared_statements=%d", maxPrepared), func(t *testing.T) {
					db, _ := pooled(t, "transaction", maxPrepared)
					cfg := parse(t, db, c.declared+handler(t, "work", "jobs", c.keys))
					create(t, connect(t, db), cfg)
					_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
					var problems config.Problems
					if !errors.As(err, &problems) {
						t.Fatalf("got %v", err)
					}
					if len(problems) != 1 || !strings.Contains(problems.Error(), c.problem) {
						t.Errorf("got:\n%v\nwant alone: %s", problems, c.problem)
					}
				})
			}
		})
	}
}

// A handler's own pool means nothing where its sessions are anybody's: what one call leaves would be another's to
// find.
func TestPoolerTransactionModeIsRefusedForPools(t *testing.T) {
	db, direct := pooled(t, "transaction", 200)
	cfg := parse(t, direct, fmt.Sprintf("handler_url = %q\n", db.URL)+writingTables(`locked_until = "locked_until"`)+poolWriter(t, ""))
	create(t, connect(t, direct), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	if err == nil || !strings.Contains(err.Error(), "database.handler_url: a handler's own pool needs sessions of its own") {
		t.Fatalf("got %v", err)
	}
}

// Behind a pooler in session mode every form runs, and a listener is woken.
func TestPoolerSessionModeServesEveryForm(t *testing.T) {
	for form, declared := range map[string]string{"lease": tables, "row lock": lockTables, "advisory": keyedTables} {
		t.Run(form, func(t *testing.T) {
			db, direct := pooled(t, "session", 0)
			toml := declared + strings.Replace(handler(t, "work", "jobs", "listen = true\nthreads = 2"), `"20ms"`, `"1h"`, 1)
			b := open(t, db, toml)
			other := connect(t, direct)
			script(t, other, b.store.Dialect().(dialect.Notifies).Trigger(b.subscriptions()[0].table))
			b.start()
			eventually(t, "the handler listens", func() bool { return b.log.count("msg=listening") > 0 })
			// The start of the listener wakes everybody once, so that one round could be that.
			for round := int64(1); round <= 3; round++ {
				script(t, other, `INSERT INTO jobs (name, payload) SELECT 'work', 'ok' FROM generate_series(1, 20)`)
				b.waitForAcks(20 * round)
			}
			equal(t, "rows", b.rows("jobs", "payload"), "")
		})
	}
}
