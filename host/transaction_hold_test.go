package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// eachLevel runs a test on every database at every level that it keeps. An SQLite database has modes instead.
func eachLevel(t *testing.T, run func(t *testing.T, db testdb.Database, level string)) {
	t.Helper()
	levels := map[string][]string{
		"postgres": {"read_committed", "repeatable_read", "serializable"},
		"mariadb":  {"read_uncommitted", "read_committed", "repeatable_read", "serializable"},
		"sqlite":   {"deferred", "immediate", "exclusive"},
	}
	for _, level := range []string{"read_uncommitted", "read_committed", "repeatable_read", "serializable", "deferred", "immediate", "exclusive"} {
		t.Run(level, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				if !slices.Contains(levels[db.Name], level) {
					t.Skip("the database does not keep it; its refusal is tested with the configuration")
				}
				t.Parallel()
				run(t, db, level)
			})
		})
	}
}

// leveled are a queue whose deliveries' transactions have a level.
func leveled(db testdb.Database, form, level string) string {
	key := "isolation"
	if db.Name == "sqlite" {
		key = "mode"
	}
	return writingTables(form + fmt.Sprintf("\n%s = %q", key, level))
}

const leaseForm = `locked_until = "locked_until"`

// A handler of several leases is delivered once and acked, at every level: its row is extended until its
// transaction has it locked, and left alone from then on. An extension beside the transaction would make the
// ack fail with 40001 at the higher levels.
func TestTransactionalOutlivesItsLease(t *testing.T) {
	eachLevel(t, func(t *testing.T, db testdb.Database, level string) {
		b := openWriting(t, db, leveled(db, leaseForm, level)+writer(t, "lease = \"1s\"\n"))
		b.enqueue("jobs", "work", "s!|!|"+note("", "one"), note("a", "two"))
		stops := []func() error{b.start()}
		if db.Name != "sqlite" { // whose one writer is the transaction
			stops = append(stops, reopen(t, b.options.Config).start())
		}
		eventually(t, "the rows are finished", func() bool { return b.rows("jobs", "id") == "" })
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		equal(t, "notes", b.notes(), "one\ntwo\n")
		if n := b.log.count("lost"); n > 0 {
			t.Errorf("%d lines speak of a loss", n)
		}
		b.idle(db)
	})
}

// The table's level is that of the transaction, in both forms.
func TestTransactionalLevel(t *testing.T) {
	ask := map[string]string{
		"postgres": "SELECT upper(current_setting('transaction_isolation')) AS l",
		"mariadb": "SELECT isolation_level AS l FROM performance_schema.events_transactions_current JOIN performance_schema.threads USING (thread_id) " +
			"WHERE processlist_id = CONNECTION_ID()",
	}
	eachLevel(t, func(t *testing.T, db testdb.Database, level string) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has modes, which no statement answers")
		}
		for _, form := range []string{leaseForm, ""} {
			tables := strings.ReplaceAll(leveled(db, form, level), "jobs", fmt.Sprintf("jobs%d", len(form)))
			b := open(t, db, tables+strings.ReplaceAll(writer(t, "dead_letter = \"dead\"\n"), "jobs", fmt.Sprintf("jobs%d", len(form))))
			b.start()
			table, got := fmt.Sprintf("jobs%d", len(form)), ""
			b.enqueue(table, "work", "k"+ask[db.Name])
			eventually(t, "the answer is there", func() bool { got = b.rows(table, "error"); return strings.Contains(got, "columns") })
			want := strings.ToUpper(strings.ReplaceAll(level, "_", " "))
			if !strings.Contains(got, `[["`+want+`"]]`) {
				t.Errorf("the level is %s, want %s", got, want)
			}
		}
	})
}

// A delivery whose lease was taken before it wrote anything writes nothing, and is reported as lost.
func TestTransactionalLostLease(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := openWriting(t, db, writingTables(leaseForm)+writer(t, ""))
		b.enqueue("jobs", "work", "a!|"+note("", "late"))
		stop := b.start()
		eventually(t, "the row is leased", func() bool { return b.rows("jobs WHERE locked_until IS NOT NULL", "id") != "" })
		b.script("UPDATE jobs SET locked_until = '2099-01-01 00:00:00'")
		eventually(t, "the loss is reported", func() bool { return b.counts("work").Lost == 1 })
		if err := stop(); err != nil {
			t.Error(err)
		}
		equal(t, "notes", b.notes(), "")
		equal(t, "rows", b.rows("jobs", "attempt"), "2\n")
		b.idle(db)
	})
}

// A guest that the stop interrupts has written nothing, and its row is free at once.
func TestTransactionalInterruptedByTheStop(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		b := openWriting(t, db, tables+"[runtime]\ndrain_timeout = \"10ms\"\n"+writer(t, ""))
		b.enqueue("jobs", "work", note("l", "looping"))
		stop := b.start()
		eventually(t, "the guest has the row", func() bool {
			s := b.subscriptions()[0]
			return s.inline == nil && s.settler.inHand() > 0 || s.inline != nil && len(s.inline.inHand()) > 0
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		equal(t, "notes", b.notes(), "")
		if c := b.counts("work"); c.Interrupted+c.Released != 1 {
			t.Errorf("counts are %+v", c)
		}
		equal(t, "the row is free", b.rows("jobs", "id"), "1\n")
		b.idle(db)
	})
}

// A delivery whose connection is lost does not ack, and what it wrote is gone.
func TestTransactionalLostConnection(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has no connection that could be lost")
		}
		keys := ""
		if strings.Contains(tables, leaseForm) {
			keys = "lease = \"2s\"\n"
		}
		b := openWriting(t, db, tables+writer(t, keys))
		killer := connect(t, db)
		b.enqueue("jobs", "work", "s"+note("", "lost")+"|!")
		stop := b.start()
		eventually(t, "the guest has written", func() bool { return writing(t, killer) })
		b.kill(killer)
		eventually(t, "the delivery has ended", func() bool {
			c := b.counts("work")
			return c.Lost+c.Delayed+c.Unsettled > 0
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		// The row may have been delivered again before the stop. That delivery could not have acked if the lost
		// one had left its note, which is the key.
		want := ""
		if c := b.counts("work"); c.Acked > 0 {
			want = "lost\n"
		}
		equal(t, "notes", b.notes(), want)
		b.idle(db)
	})
}

// writing reports whether a transaction that is not committed has written a note.
func writing(t *testing.T, s store.Store) (found bool) {
	t.Helper()
	session, err := s.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sql, o := "SELECT 1 FROM pg_locks WHERE relation = 'notes'::regclass AND mode = 'RowExclusiveLock'", store.TxOptions{}
	if s.Dialect().Name() == "MySQL" {
		// The server's own view of transactions is a cache that lives for as long as it is asked for.
		sql, o.Level = "SELECT note FROM notes", dialect.ReadUncommitted
	}
	tx, err := session.BeginWork(t.Context(), o, store.Step{Statement: &dialect.Statement{SQL: sql}, Row: func([][]byte) error {
		found = true
		return nil
	}})
	if err == nil {
		err = tx.Rollback()
	}
	if err := errors.Join(err, session.Release()); err != nil {
		t.Fatal(err)
	}
	return found
}

// Of two deliveries that wait for each other one acks, and the other has written nothing.
func TestTransactionalDeadlock(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has one transaction at a time")
		}
		b := openWriting(t, db, tables+writer(t, "threads = 2\n"))
		b.script("CREATE TABLE pairs (id int PRIMARY KEY, n int NOT NULL)")
		b.script("INSERT INTO pairs VALUES (1, 0), (2, 0)")
		step := func(id int) string { return fmt.Sprintf("UPDATE pairs SET n = n + 1 WHERE id = %d", id) }
		b.enqueue("jobs", "work", "a"+step(1)+"|!|"+step(2), "a"+step(2)+"|!|"+step(1))
		stop := b.start()
		eventually(t, "both have ended", func() bool {
			c := b.counts("work")
			return c.Acked >= 1 && c.Delayed+c.Unsettled >= 1
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		// The other may have been delivered again before the stop, and have acked then.
		acked := b.counts("work").Acked
		equal(t, "pairs", b.query("SELECT CAST(id * 10 + n AS char(2)) FROM pairs ORDER BY id"), fmt.Sprintf("1%d\n2%d\n", acked, acked))
		equal(t, "rows left", strings.Count(b.rows("jobs", "id"), "\n"), 2-int(acked))
		b.idle(db)
	})
}

// Transactions take turns where the pool has not one for each, and one connection is left for the rest.
func TestTransactionalSmallPool(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		cfg := strings.Replace(writingTables(leaseForm), "[tables", "max_connections = 2\n[tables", 1)
		b := openWriting(t, db, cfg+writer(t, "threads = 4\n"), untilEmpty)
		var payloads []string
		for i := range 40 {
			payloads = append(payloads, note("a", fmt.Sprintf("%02d", i)))
		}
		b.enqueue("jobs", "work", payloads...)
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 40})
		equal(t, "notes", strings.Count(b.notes(), "\n"), 40)
		if n := b.log.count("fewer rows run at once"); n != 1 {
			t.Errorf("%d warnings of the pool", n)
		}
	})
}

// The lock on a FIFO group and the transaction of its head do not get in each other's way.
func TestTransactionalFIFO(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		if strings.Contains(tables, "advisory_lock") {
			t.Skip("fifo and advisory_lock exclude each other")
		}
		tables = strings.Replace(tables, "[tables.dead_jobs]", "fifo = true\n[tables.dead_jobs]", 1)
		b := openWriting(t, db, tables+writer(t, "threads = 3\ngroup = \"*\"\n"), untilEmpty)
		b.script("INSERT INTO notes VALUES ('last')")
		for _, group := range []string{"one", "two"} {
			step := "aUPDATE notes SET note = '" + group + "%d' WHERE note = '%s'"
			b.script("INSERT INTO notes VALUES ('" + group + "0')")
			for n := range 5 {
				b.enqueue("jobs", group, fmt.Sprintf(step, n+1, fmt.Sprint(group, n)))
			}
		}
		b.drain()
		equal(t, "notes", b.notes(), "last\none5\ntwo5\n")
		equal(t, "counts", b.counts("work"), Counts{Acked: 10})
		b.idle(db)
	})
}
